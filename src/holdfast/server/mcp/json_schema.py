"""JSON Schema of tools, and validation of arguments.

This validates the few keywords in use, so that a tool behaves the same over every transport and the
stdio server loads no library for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from ...errors import InvalidInput
from ...types import Micros, from_datetime

Schema = dict[str, Any]
Arguments = Mapping[str, Any]
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def text(about: str, **more: Any) -> Schema:
    """Return the schema of a text."""
    return {"type": "string", "description": about, **more}


def whole(
    about: str,
    *,
    least: int,
    most: int,
) -> Schema:
    """Return the schema of an integer in a range."""
    return {"type": "integer", "description": about, "minimum": least, "maximum": most}


def several(
    items: Schema,
    about: str = "",
    **more: Any,
) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items, **({"description": about} if about else {}), **more}


def texts(
    about: str,
    *,
    among: Iterable[str] = (),
    **more: Any,
) -> Schema:
    """Return the schema of a list of texts, or of given words."""
    words = list(among)
    return several(
        {"type": "string", **({"enum": words} if words else {})},
        about,
        **more,
    )


def shape(
    needed: Mapping[str, Schema],
    further: Mapping[str, Schema] | None = None,
    *,
    open_: bool = False,
) -> Schema:
    """Return the schema of an object with required and optional fields."""
    return {
        "type": "object",
        "properties": {**needed, **(further or {})},
        "required": list(needed),
        "additionalProperties": open_,
    }


def check(
    value: Any,
    schema: Schema,
    name: str = "",
) -> None:
    """Raise InvalidInput with the first violation of a schema."""
    wanted = TYPES[schema["type"]]
    # In Python True is an integer; in JSON it is not.
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise InvalidInput(
            f"{name or 'The arguments'} must be {_called(schema)}. Nothing was done."
        )
    if isinstance(value, dict):
        _check_object(value, schema, name)
    elif isinstance(value, list):
        _check_array(value, schema, name)
    elif value not in schema.get("enum", [value]):
        raise InvalidInput(f"{name} has no {value!r}. Use one of: {', '.join(schema['enum'])}.")
    elif "minimum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        raise InvalidInput(f"{name} must be from {schema['minimum']} to {schema['maximum']}.")


def _check_object(
    value: dict[str, Any],
    schema: Schema,
    name: str,
) -> None:
    known = schema["properties"]
    under = f"{name}." if name else ""
    if missing := [one for one in schema["required"] if one not in value]:
        strange = "" if schema["additionalProperties"] else _first_strange(value, known)
        raise InvalidInput(f"{under}{missing[0]} is missing{strange}. Nothing was done.")
    for key, one in value.items():
        if key in known:
            check(one, known[key], f"{under}{key}")
        elif not schema["additionalProperties"]:
            raise InvalidInput(
                f"There is no argument {under}{key}. There are: {', '.join(known) or 'none'}."
            )


def _first_strange(value: dict[str, Any], known: Schema) -> str:
    """Name an argument that was given perhaps in place of the missing one."""
    for key in value:
        if key not in known:
            return f", and there is no {key}"
    return ""


def _check_array(
    value: list[Any],
    schema: Schema,
    name: str,
) -> None:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        raise InvalidInput(
            f"{name} must have from {schema.get('minItems', 0)} to {schema['maxItems']} entries."
        )
    for place, one in enumerate(value):
        check(one, schema["items"], f"{name}[{place}]")


def _called(schema: Schema) -> str:
    article = "an" if schema["type"][0] in "aeiou" else "a"
    return f"{article} {schema['type']}"


def time_argument(
    arguments: Arguments,
    name: str,
    *,
    end: bool = False,
) -> Micros | None:
    """Parse a time argument: ISO 8601; a day alone means its beginning, or its `end`."""
    value = arguments.get(name)
    if not value:
        return None
    try:
        written = datetime.fromisoformat(value)
        # Only a day without a time has this length.
        if end and len(value) == len("2026-03-31"):
            # A day ends when the next begins.
            written += timedelta(days=1)
        return from_datetime(written)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{name} is not a time: {value!r}. Write it like 2026-03-31 or 2026-03-31T18:00Z."
        ) from error
