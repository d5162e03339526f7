"""Writes docs/reference from the code itself: commands, public names, routes, settings.

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
    *families, common = [base for base in thing.__mro__ if base.__module__.startswith(thing.__module__)]
    for name, member in (item for family in (common, *families) for item in vars(family).items()):
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


def http_page() -> str:
    """Every route with what it takes and gives, then every shape, from the OpenAPI schema."""
    schema = _openapi()
    parts = [
        "# HTTP\n",
        "What `holdfast serve` answers, all of it under `/api/memory`; the same for programs is at `/openapi.json`. "
        "Every route also takes the query parameters `user_id`, `thread_id` and `memory_mode`; every error is a "
        "[Problem](#problem). What has a * must be given.\n",
    ]
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            parts.append(f"## {method.upper()} {path.removeprefix('/api/memory')}\n")
            parts.append(f"{route['description']}\n")
            parts.extend(_route_parts(route))
    parts.append("# Shapes\n")
    for name, shape in sorted(schema["components"]["schemas"].items()):
        parts.append(f"## {name}\n")
        parts.append(f"{shape.get('description', '')}\n")
        required = shape.get("required", ())
        rows = [_row(field, of, of, required=field in required) for field, of in shape["properties"].items()]
        parts.append("| | | |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    return MADE + "\n".join(parts)


def _openapi() -> dict[str, Any]:
    from contextlib import closing

    from holdfast.audit import open_audit
    from holdfast.feedback import open_feedback
    from holdfast.server.app import create_app
    from holdfast.server.keys import KeyFile

    settings, nowhere = holdfast.Settings(embedding_models="none"), ":memory:"
    with (
        holdfast.Holdfast.open(nowhere, scope="user:me", settings=settings, background=False) as hf,
        closing(open_audit(nowhere)) as audit,
        closing(open_feedback(nowhere)) as feedback,
    ):
        return create_app(hf, KeyFile(Path("keys.jsonl")), audit=audit, feedback=feedback).openapi()


def _route_parts(route: dict[str, Any]) -> Iterator[str]:
    everywhere = ("user_id", "thread_id", "memory_mode")
    taken = [one for one in route.get("parameters", ()) if one["name"] not in everywhere]
    if taken:
        rows = [_row(one["name"], one["schema"], one, required=one.get("required", False)) for one in taken]
        yield "| | | |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    body = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body:
        yield f"Takes {_shape(body)}.\n"
    status, answer = next((code, one) for code, one in route["responses"].items() if code.startswith("2"))
    content = answer["content"]
    given = _shape(content["application/json"]["schema"]) if "application/json" in content else next(iter(content))
    yield f"Answers {status} with {given}.\n"


def _row(name: str, schema: dict[str, Any], told: dict[str, Any], *, required: bool) -> str:
    default = schema.get("default")
    about = (told.get("description") or "") + (f" Default: `{default}`." if default not in (None, "", [], {}) else "")
    return f"| `{name}`{' *' if required else ''} | {_shape(schema)} | {about.strip()} |".replace("\n", " ")


def _shape(schema: dict[str, Any]) -> str:
    """What a JSON schema stands for, in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_shape(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if schema.get("type") == "array":
        inside = [schema["items"]] if "items" in schema else schema.get("prefixItems", [])
        return f"list of {' and '.join(_shape(one) for one in inside)}"
    return {"string": "text", "object": "object", "null": "null"}.get(schema.get("type", ""), schema.get("type", "any"))


PAGES = {"cli.md": cli_page, "api.md": api_page, "http.md": http_page, "settings.md": settings_page}


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
