"""Writes docs/reference from the code itself: commands, public names, settings.

python docs/generate.py            write the pages
python docs/generate.py --check    say which pages are out of date, and fail if any is
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import holdfast
from holdfast import config

FOLDER = Path(__file__).parent / "reference"
MADE = "<!-- Made by `make docs`. Do not edit. -->\n\n"


def cli_page() -> str:
    """Every command with its help, in the order of `holdfast --help`."""
    import typer

    from holdfast.cli.app import app, load_commands

    load_commands()
    root = typer.main.get_command(app)
    parts = ["# Command line\n", "Exit codes: 0 fine, 1 not found or refused, 2 wrong usage.\n"]
    for name, command in _commands(root):
        parts.append(f"## holdfast {name}\n")
        parts.append(f"{inspect.cleandoc(command.help or '')}\n")
        rows = [row for parameter in command.params if (row := _parameter(parameter))]
        if rows:
            parts.append("| | |\n|---|---|\n" + "\n".join(rows) + "\n")
    return MADE + "\n".join(parts)


def _commands(group: object, before: str = "") -> Iterator[tuple[str, Any]]:
    """The commands of a group by name, those of a group inside it right after it."""
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        yield before + name, command
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")


def _parameter(parameter: object) -> str:
    if "--help" in getattr(parameter, "opts", ()):
        return ""
    names = ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))  # type: ignore[attr-defined]
    if parameter.param_type_name == "argument":  # type: ignore[attr-defined]
        names = f"`{parameter.metavar or parameter.name.upper()}`"  # type: ignore[attr-defined]
    default = parameter.default  # type: ignore[attr-defined]
    shown = f" Default: `{default}`." if isinstance(default, int | str | float) and default not in ("", False) else ""
    return f"| {names} | {(getattr(parameter, 'help', '') or '').strip()}{shown} |"


def api_page() -> str:
    """The public names, each with its docstring; of classes, each public method."""
    parts = ["# Python\n", "Everything here is imported from `holdfast`.\n"]
    for name in holdfast.__all__:
        thing = getattr(holdfast, name)
        parts.append(f"## {name}\n")
        parts.append(f"{_prose(inspect.getdoc(thing) or '')}\n")
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            parts.extend(_members(thing))
    return MADE + "\n".join(parts)


def _prose(text: str) -> str:
    """A docstring as Markdown: doctest lines become a code block."""
    lines, code = [], False
    for line in text.split("\n"):
        starts = line.startswith(">>> ")
        if starts and not code:
            lines.append("```pycon")
        if code and not line.strip():
            lines.append("```")
        code = starts or (code and bool(line.strip()))
        lines.append(line)
    return "\n".join([*lines, "```"] if code else lines)


def _members(thing: type) -> list[str]:
    found = []
    for name, member in vars(thing).items():
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(member, classmethod | property)):
            continue
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        signature = "" if isinstance(member, property) else _signature(function)
        found.append(f"### {thing.__name__}.{name}\n")
        if signature:
            found.append(f"```text\n{name}{signature}\n```\n")
        found.append(f"{inspect.getdoc(function) or ''}\n")
    return found


def _signature(function: object) -> str:
    signature = inspect.signature(function)  # type: ignore[arg-type]
    kept = [parameter for name, parameter in signature.parameters.items() if name not in ("self", "cls")]
    plain = [
        parameter.replace(default="…") if callable(parameter.default) and parameter.default is not parameter.empty
        else parameter
        for parameter in kept
    ]  # fmt: skip
    return str(signature.replace(parameters=plain)).replace("'", "")


def settings_page() -> str:
    """Every setting."""
    rows = [
        f"| `{known.name}` | `HOLDFAST_{known.name.upper()}` | `{known.default!r}` | {known.metadata['help']} |"
        for known in fields(config.Settings)
    ]
    return (
        MADE
        + "# Settings\n\nDefaults, then `config.toml` in the per-user config folder, then environment variables. A "
        "name that does not exist is an error. `holdfast settings` shows what is in force and where it comes from.\n\n"
        "| setting | variable | default | what it does |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


PAGES = {"cli.md": cli_page, "api.md": api_page, "settings.md": settings_page}


def main() -> None:
    stale = []
    for name, make in PAGES.items():
        page, text = FOLDER / name, make()
        if page.exists() and page.read_text("utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            FOLDER.mkdir(exist_ok=True)
            page.write_text(text, "utf-8")
    if "--check" in sys.argv and stale:
        sys.exit(f"out of date: {', '.join(stale)}; run `make docs`")


if __name__ == "__main__":
    main()
