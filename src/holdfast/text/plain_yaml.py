"""The simple YAML of most front matter, read and written without a YAML library.

Importing a library takes longer than most commands, and reading one file with it longer than
reading twenty without. Only unambiguous YAML is read here; for everything else `NotPlain` hands
over to the library. Everything written here can be read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from .lazy_regex import later

# Nesting of brackets in one value.
DEEPEST = 50
# Maximum width of a list on one line.
WIDTH = 100

# Words to which YAML parsers give different meanings.
_SPECIAL = frozenset(
    ("true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf", "none")
)
_WORDS = later(r"(?:[^\W\d_]|/)(?:[\w ./()+@&;!?'$%=~-]*[\w./()+@&;!?'$%=~-])?")
_SENTENCE = later(r"(?:[^\W\d_]|/)(?:[\w ,./()+@&;!?'$%=~-]*[\w./()+@&;!?'$%=~-])?")
_NUMBER = later(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")
_TIME = later(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?(?:Z|[+-]\d\d:\d\d)")
_DAY = later(r"\d{4}-\d\d-\d\d")
_ENTRY = later(r"([A-Za-z_][\w-]*):(?:[ ]+(\S.*))?")
_PIECE = later(
    r"""[ ]*(?:(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>,)"""
    r"""|"(?P<double>[^"\\]*)"|'(?P<single>[^']*)'"""
    r"""|(?P<key>[A-Za-z_][\w-]*):(?=[ ])|(?P<plain>[^\s\[\]{},"'][^\[\]{},"]*))"""
)
_UNPRINTABLE = later("[\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


class NotPlain(ValueError):
    """Possibly valid YAML, but not simple enough for this module."""


def read(text: str) -> dict[str, Any]:
    """Parse front matter; raises NotPlain if a YAML library must decide."""
    values: dict[str, Any] = {}
    text = text.replace("\r\n", "\n")
    if _UNPRINTABLE.search(text.replace("\n", "")):
        raise NotPlain
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    place = 0
    while place < len(lines):
        key, written = _entry(lines[place])
        if key in values:
            raise NotPlain
        place += 1
        below = _indented(lines, place)
        if below and written is not None:
            raise NotPlain
        place += len(below)
        values[key] = _nested(below) if below else None if written is None else _value(written)
    return values


def _entry(line: str) -> tuple[str, str | None]:
    match = _ENTRY.fullmatch(line.rstrip(" "))
    if match is None or match[1].casefold() in _SPECIAL:
        raise NotPlain
    return match[1], match[2]


def _indented(lines: Sequence[str], start: int) -> list[str]:
    """Return the lines that belong to the key above: indented ones, or list items."""
    end = start
    while end < len(lines) and lines[end].startswith((" ", "- ")):
        end += 1
    return list(lines[start:end])


def _nested(lines: Sequence[str]) -> Any:
    indent = len(lines[0]) - len(lines[0].lstrip(" "))
    flat = [line[indent:] for line in lines]
    if any(
        line[:indent].strip() or own.startswith((" ", "#"))
        for line, own in zip(lines, flat, strict=True)
    ):
        raise NotPlain
    if all(own.startswith("- ") for own in flat):
        return [_value(own[2:].strip(" ")) for own in flat]
    entries = [_entry(own) for own in flat]
    if not indent or len(dict(entries)) < len(entries):
        raise NotPlain
    return {key: None if written is None else _value(written) for key, written in entries}


def _value(written: str) -> Any:
    if written[0] not in "[{\"'":
        return _scalar(written.rstrip(" "), _SENTENCE)
    if written.count("[") + written.count("{") > DEEPEST:
        raise NotPlain
    pieces = _pieces(written)
    value = _flow(next(pieces), pieces)
    if next(pieces, None) is not None:
        raise NotPlain
    return value


def _pieces(written: str) -> Iterator[re.Match[str]]:
    place = 0
    written = written.rstrip(" ")
    while place < len(written):
        match = _PIECE.match(written, place)
        if match is None:
            raise NotPlain
        yield match
        place = match.end()


def _flow(piece: re.Match[str], rest: Iterator[re.Match[str]]) -> Any:
    match piece.lastgroup:
        case "double" | "single":
            return piece[piece.lastgroup]
        case "plain":
            return _scalar(piece["plain"].rstrip(" "), _WORDS)
        case "open":
            if piece["open"] == "[":
                return _items(rest)
            return _pairs(rest)
    raise NotPlain


def _items(rest: Iterator[re.Match[str]]) -> list[Any]:
    items: list[Any] = []
    for piece in rest:
        if piece["close"] == "]" and not items:
            return items
        items.append(_flow(piece, rest))
        if _goes_on(rest, "]"):
            continue
        return items
    raise NotPlain


def _pairs(rest: Iterator[re.Match[str]]) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for piece in rest:
        if piece["close"] == "}" and not pairs:
            return pairs
        key = piece["key"]
        value = next(rest, None)
        if key is None or key in pairs or key.casefold() in _SPECIAL or value is None:
            raise NotPlain
        pairs[key] = _flow(value, rest)
        if _goes_on(rest, "}"):
            continue
        return pairs
    raise NotPlain


def _goes_on(rest: Iterator[re.Match[str]], end: str) -> bool:
    piece = next(rest, None)
    if piece is None or not (piece["comma"] or piece["close"] == end):
        raise NotPlain
    return bool(piece["comma"])


def _scalar(written: str, plain: re.Pattern[str]) -> Any:
    if written in ("true", "false"):
        return written == "true"
    if _NUMBER.fullmatch(written):
        if "." in written:
            return float(written)
        return int(written)
    try:
        if _TIME.fullmatch(written):
            return datetime.fromisoformat(written)
        if _DAY.fullmatch(written):
            return date.fromisoformat(written)
    except ValueError:
        raise NotPlain from None
    if not plain.fullmatch(written) or written.casefold() in _SPECIAL:
        raise NotPlain
    return written


def write(
    key: str,
    value: Any,
    *,
    eol: str = "\n",
    indent: str = "",
) -> str:
    """Write one front matter entry with its line ends.

    >>> print(write("keywords", ["pnpm", "a: b"]), end="")
    keywords: [pnpm, "a: b"]
    """
    match value:
        case Mapping() if value:
            inner = "".join(
                write(name, one, eol=eol, indent=indent + "  ") for name, one in value.items()
            )
            return f"{indent}{key}:{eol}{inner}"
        case list() | tuple() if (
            any(isinstance(one, Mapping) for one in value) or len(_written(value)) > WIDTH
        ):
            return f"{indent}{key}:{eol}" + "".join(
                f"{indent}  - {_written(one)}{eol}" for one in value
            )
    return f"{indent}{key}: {_written(value, _SENTENCE)}{eol}"


def _written(value: Any, plain: re.Pattern[str] = _WORDS) -> str:
    match value:
        case str():
            sure = plain.fullmatch(value) and value.casefold() not in _SPECIAL
            return value if sure and len(value) <= 10 * WIDTH else _quoted(value)
        case bool() | None:
            return {
                True: "true",
                False: "false",
                None: '""',
            }[value]
        case datetime() | date():
            return value.isoformat()
        case Mapping():
            return "{" + ", ".join(f"{name}: {_written(one)}" for name, one in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_written, value)) + "]"
    return str(value)


def _quoted(text: str) -> str:
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    )
    return '"' + _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'
