"""Writes docs/reference from the code itself: commands, public names, routes, settings.

python docs/generate.py            write the pages
python docs/generate.py --check    say which pages are out of date, and fail if any is
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import holdfast
from holdfast import config, errors

FOLDER = Path(__file__).parent / "reference"
LONGEST = 100  # characters of a signature on one line
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
    if "--help" in getattr(parameter, "opts", ()) or getattr(parameter, "hidden", False):
        return ""
    names = ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))  # type: ignore[attr-defined]
    if parameter.param_type_name == "argument":  # type: ignore[attr-defined]
        names = f"`{parameter.metavar or parameter.name.upper()}`"  # type: ignore[attr-defined]
    default = parameter.default  # type: ignore[attr-defined]
    shown = (
        f" Default: `{default}`."
        if isinstance(default, int | str | float) and default not in ("", False)
        else ""
    )
    return f"| {names} | {(getattr(parameter, 'help', '') or '').strip()}{shown} |"


NAMED = """What names of types in it stand for:

| name | what to give |
|---|---|
| `ScopeLike` | whose memory it is: a text such as `"user:alice"`, or a `Scope` |
| `Ref` | the id of a memory, or its number |
| `Moment` | a `datetime` (UTC if it has no time zone), microseconds since 1970 UTC, or None |
| `Micros` | a returned time: microseconds since 1970 UTC; see `holdfast.types.to_datetime` |
| `Fields` | title, author, role, session, confidence, decay_rate, source, trust, quote, tags, \
metadata, triple |
| `DatedFields` | the same with event_time, valid_from, valid_until |
| `AllFields` | the same with kind and category too |
| `Complete` | a language model: a function from a prompt to its answer |

A wrong argument raises an [error](#errors) that says what to pass instead; nothing is written.
"""


def api_page() -> str:
    """The public names, each with its docstring; of classes, each field and public method."""
    parts = ["# Python\n", "Everything here is imported from `holdfast`.\n", NAMED]
    things = {name: getattr(holdfast, name) for name in holdfast.__all__}
    for name, thing in things.items():
        if not issubclass(thing, Exception):
            parts.append(f"## {name}\n")
            parts.append(f"{_prose(inspect.getdoc(thing) or '')}\n")
            parts.extend(_fields(thing))
            parts.extend(_members(thing))
            parts.extend(_namespaces(thing))
    return MADE + "\n".join([*parts, *_errors(), *_testing()])


def _namespaces(thing: type) -> Iterator[str]:
    """The namespaces of a memory, each with its verbs; those of the awaitable one are the same."""
    if thing is holdfast.AsyncHoldfast:
        yield (
            "The verbs of [Holdfast](#holdfast) and of its namespaces, each to be awaited, with "
            "the same arguments and results; `admin.export` is an asynchronous iterator. "
            "`blocking` is the `Holdfast` behind it.\n"
        )
    if thing is not holdfast.Holdfast:
        return
    settings = holdfast.Settings(embedding_models="none")
    with holdfast.Holdfast.open(":memory:", scope="user:me", settings=settings) as hf:
        for name, member in vars(thing).items():
            if isinstance(member, property):
                yield f"## Holdfast.{name}\n"
                yield f"{_prose(inspect.getdoc(member) or '')}\n"
                yield from _members(type(getattr(hf, name)), f"{name}.")


def _fields(thing: type) -> Iterator[str]:
    """What a value is made of; of the settings, where that stands."""
    if thing is config.Settings:
        yield "Each [setting](settings.md) is a field, e.g. `Settings(recall_limit=5)`.\n"
    elif is_dataclass(thing):
        rows = [
            f"| `{one.name}` | `{one.type}` |".replace(" | None", r" \| None")
            for one in fields(thing)
        ]
        yield "| field | type |\n|---|---|\n" + "\n".join(rows) + "\n"


def _errors() -> Iterator[str]:
    """Every error, with what it is a kind of, and what it says if it has nothing better to say."""
    known = [
        one
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, errors.HoldfastError)
    ]
    rows = [
        (
            f"| `{one.__name__}` | {', '.join(f'`{base.__name__}`' for base in one.__bases__)} | "
            f"{inspect.getdoc(one)} |"
        )
        for one in known
    ]
    yield "## Errors\n"
    common = ", ".join(f"`{one.__name__}`" for one in known if one.__name__ in holdfast.__all__)
    yield (
        "Whatever Holdfast raises on purpose is a `HoldfastError`. All of them are in "
        "`holdfast.errors`; "
        f"{common} are in `holdfast` too.\n"
    )
    yield "| error | is a | what it means |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _testing() -> Iterator[str]:
    """How somebody else's store is held against the promises of one."""
    from holdfast import testing

    yield "## A store of your own\n"
    yield (
        "`Holdfast(store, scopes)` opens a memory over any object that keeps the promises of "
        "`holdfast.storage.Store`. "
        "`holdfast.testing` has them as tests, for pytest.\n"
    )
    told = [
        part
        for part in (inspect.getdoc(testing) or "").split("\n\n")
        if not part.startswith("Belongs here")
    ]
    yield "\n\n".join(told) + "\n"


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


def _members(thing: type, before: str = "") -> list[str]:
    """The methods and properties of a class, family by family; a verb that the class itself wraps
    is told once.
    """
    own, *families = [base for base in thing.__mro__ if base.__module__.startswith("holdfast")]
    members = {
        name: member
        for family in (*families[-1:], *families[:-1], own)
        for name, member in vars(family).items()
    }
    found = []
    for name, member in members.items():
        if name.startswith("_") or not (
            inspect.isfunction(member) or isinstance(member, classmethod | property)
        ):
            continue
        # A namespace has a section of its own, and a verb that only forwards has the other one's.
        if isinstance(member, property) and thing is holdfast.Holdfast:
            continue
        if thing is holdfast.AsyncHoldfast and hasattr(member, "__wrapped__"):
            continue
        function = (
            member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        )
        signature = "" if isinstance(member, property) else _signature(name, function)
        shown = f"{before}{name}" if before else f"{thing.__name__}.{name}"
        found.append(f"### {shown}\n")
        if signature:
            found.append(f"```text\n{signature}\n```\n")
        found.append(f"{inspect.getdoc(function) or ''}\n")
    return found


class _Plain(str):
    """A text that a signature shows without quotation marks."""

    __repr__ = str.__str__


def _signature(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    kept = [
        parameter.replace(
            annotation=_Plain(parameter.annotation),
            default=_Plain("…") if inspect.isfunction(parameter.default) else parameter.default,
        )
        for known, parameter in signature.parameters.items()
        if known not in ("self", "cls")
    ]
    plain = signature.replace(
        parameters=kept, return_annotation=_Plain(signature.return_annotation)
    )
    line = f"{name}{plain}"
    if len(line) <= LONGEST:
        return line
    return (
        f"{name}(\n"
        + "".join(f"    {one},\n" for one in _each(kept))
        + f") -> {plain.return_annotation}"
    )


def _each(parameters: list[inspect.Parameter]) -> list[str]:
    """Parameters as they are written one below the other; a star stands before those that must be
    named.
    """
    shown = list[str]()
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not any(
            one.startswith("*") for one in shown
        ):
            shown.append("*")
        shown.append(str(parameter))
    return shown


def settings_page() -> str:
    """Every setting."""
    rows = [
        (
            f"| `{known.name}` | `HOLDFAST_{known.name.upper()}` | `{known.default!r}` | "
            f"{known.metadata['help']} |"
        )
        for known in fields(config.Settings)
    ]
    return (
        MADE + "# Settings\n\nDefaults, then `config.toml` in the per-user config folder, then "
        "environment variables. A "
        "name that does not exist is an error. `holdfast settings` shows what is in force and "
        "where it comes from.\n\n"
        "| setting | variable | default | what it does |\n|---|---|---|---|\n"
        + "\n".join(rows)
        + "\n"
    )


def http_page() -> str:
    """Every route with what it takes and gives, then every shape, from the OpenAPI schema."""
    schema = openapi()
    parts = [
        "# HTTP\n",
        "What `holdfast serve` answers, all of it under `/api/memory`; the same for programs is "
        "at `/openapi.json`. "
        "Every route also takes the query parameters `user_id`, `thread_id` and `memory_mode`; "
        "every error is a "
        "[Problem](#problem). What has a * must be given.\n",
    ]
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            parts.append(f"## {method.upper()} {path.removeprefix('/api/memory')}\n")
            parts.append(f"{route['description']}\n")
            parts.extend(_route_parts(route))
    parts.append("## Shapes\n")
    for name, shape in sorted(schema["components"]["schemas"].items()):
        parts.append(f"### {name}\n")
        parts.append(f"{shape.get('description', '')}\n")
        required = shape.get("required", ())
        rows = [
            _row(field, of, of, required=field in required)
            for field, of in shape["properties"].items()
        ]
        parts.append("| | | |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    return MADE + "\n".join(parts)


def openapi() -> dict[str, Any]:
    """The OpenAPI document of a server."""
    from contextlib import closing

    from holdfast.audit import open_audit
    from holdfast.feedback import open_feedback
    from holdfast.server.api_keys import KeyFile
    from holdfast.server.http_app import create_app

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
        rows = [
            _row(one["name"], one["schema"], one, required=one.get("required", False))
            for one in taken
        ]
        yield "| | | |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    body = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body:
        yield f"Takes {_shape(body)}.\n"
    status, answer = next(
        (code, one) for code, one in route["responses"].items() if code.startswith("2")
    )
    content = answer["content"]
    given = (
        _shape(content["application/json"]["schema"])
        if "application/json" in content
        else next(iter(content))
    )
    yield f"Answers {status} with {given}.\n"


def _row(name: str, schema: dict[str, Any], told: dict[str, Any], *, required: bool) -> str:
    default = schema.get("default")
    about = (told.get("description") or "") + (
        f" Default: `{default}`." if default not in (None, "", [], {}) else ""
    )
    return f"| `{name}`{' *' if required else ''} | {_shape(schema)} | {about.strip()} |".replace(
        "\n", " "
    )


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
    return {"string": "text", "object": "object", "null": "null"}.get(
        schema.get("type", ""), schema.get("type", "any")
    )


OUTCOMES = {"allow": "yes", "propose": "proposes", "refuse": "no"}


def permissions_page() -> str:
    """Who may do what, from the table that the code goes by."""
    from holdfast.ingest import permissions

    parts = [
        "# Who may do what",
        "Every verb, and so every way in (library, command line, HTTP, MCP, adapters, agents' "
        "tools), goes by this "
        "table. *yes*: done at once. *proposes*: nothing changes yet; the words wait for a person "
        "(`holdfast review`). "
        "*no*: refused with `NeedsPerson`, which says what a person can do instead.",
        "## Actors",
        "| actor | who that is |\n|---|---|\n"
        + "\n".join(f"| {actor} | {told} |" for actor, told in permissions.ACTORS.items()),
        "## What people have done to a memory so far",
        "| state | what it means |\n|---|---|\n"
        + "\n".join(f"| {state} | {told} |" for state, told in permissions.STATES.items()),
        "## The table",
        _permission_rows(),
        "With the setting `approval` (`rules` or `all`), what an agent, an importer or a model "
        "remembers anew is "
        "proposed where the table says yes. Words are compared without regard to case, spacing "
        "and punctuation around "
        "them, whatever their kind, category or author. To undo is to do something to a run: free "
        "is a run of agents, "
        "written one of anybody else, waiting and rejected one that decided about a proposal.",
    ]
    return MADE + "\n\n".join(parts) + "\n"


def _permission_rows() -> str:
    from holdfast.ingest import permissions

    head = (
        f"| verb | state | {' | '.join(permissions.ACTORS)} "
        f"|\n|---|---|{'---|' * len(permissions.ACTORS)}\n"
    )
    rows = (
        (
            f"| {verb} | {state} | "
            f"{' | '.join(OUTCOMES[outcomes[actor]] for actor in permissions.ACTORS)} |"
        )
        for verb, state, outcomes in permissions.table()
    )
    return head + "\n".join(rows)


PAGES = {
    "permissions.md": permissions_page,
    "cli.md": cli_page,
    "api.md": api_page,
    "http.md": http_page,
    "settings.md": settings_page,
}


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
