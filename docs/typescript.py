"""Writes the TypeScript client, `index.js` and `index.d.ts` in clients/typescript, from the OpenAPI
document of `holdfast serve`.

python docs/typescript.py            write the files
python docs/typescript.py --check    say which files are out of date, and fail if any is
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generate import openapi

FOLDER = Path(__file__).resolve().parents[1] / "clients" / "typescript"
MADE = "// Written by docs/typescript.py from the OpenAPI document; do not edit.\n"
PREFIX = "/api/memory/"
# mem0 has a client of its own for these routes.
LEFT_OUT = f"{PREFIX}mem0/"
EVERYWHERE = ("user_id", "thread_id", "memory_mode")
SCALARS = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
Route = tuple[str, str, dict[str, Any]]


def javascript(schema: dict[str, Any]) -> str:
    """The methods, each a request."""
    parts = [
        MADE,
        'import { Connection } from "./connection.js";\n',
        'export { HoldfastError } from "./connection.js";\n',
        "/** The memory that a `holdfast serve` offers. */",
        "export class Holdfast extends Connection {",
    ]
    for method, path, route in _routes(schema):
        filled = re.sub(r"\{(\w+)\}", r"${encodeURIComponent(\1)}", path)
        names = [*_path_names(route), *(["body"] if "requestBody" in route else []), "query"]
        sent = "{ body, query }" if "requestBody" in route else "{ query }"
        parts.append(f"  {_comment(route['description'])}")
        parts.append(f"  {_camel(route['operationId'])}({', '.join(names)}) {{")
        parts.append(f'    return this.request("{method.upper()}", `{filled}`, {sent});')
        parts.append("  }\n")
    return "\n".join(parts).rstrip() + "\n}\n"


def declarations(schema: dict[str, Any]) -> str:
    """The types of the methods, and of everything that they take and give."""
    parts = [
        MADE,
        'import { Connection } from "./connection.js";\n',
        'export { HoldfastError, type Options } from "./connection.js";\n',
        *_interfaces(schema["components"]["schemas"]),
        "/** What every request may say. */",
        _interface("Everywhere", _everywhere(schema)),
        "/** The memory that a `holdfast serve` offers. */",
        "export declare class Holdfast extends Connection {",
    ]
    for _, _, route in _routes(schema):
        taken = [f"{name}: string" for name in _path_names(route)]
        if "requestBody" in route:
            mark = "" if route["requestBody"].get("required") else "?"
            taken.append(f"body{mark}: {_type(_json(route['requestBody']))}")
        taken.append(f"query?: {_query(route)}")
        parts.append(f"  {_comment(route['description'])}")
        parts.append(f"  {_camel(route['operationId'])}({', '.join(taken)}): {_given(route)};\n")
    return "\n".join(parts).rstrip() + "\n}\n"


def _routes(schema: dict[str, Any]) -> Iterator[Route]:
    for path, methods in schema["paths"].items():
        if path.startswith(PREFIX) and not path.startswith(LEFT_OUT):
            for method, route in methods.items():
                yield method, path, route


def _path_names(route: dict[str, Any]) -> list[str]:
    return [one["name"] for one in route.get("parameters", ()) if one["in"] == "path"]


def _query(route: dict[str, Any]) -> str:
    own = [
        f"{one['name']}?: {_type(one['schema'])}"
        for one in route.get("parameters", ())
        if one["in"] == "query" and one["name"] not in EVERYWHERE
    ]
    return f"Everywhere & {{ {'; '.join(own)} }}" if own else "Everywhere"


def _given(route: dict[str, Any]) -> str:
    answer = next(one for status, one in route["responses"].items() if status.startswith("2"))
    return f"Promise<{_type(_json(answer))}>"


def _json(part: dict[str, Any]) -> dict[str, Any]:
    """The schema of a body, of whichever type."""
    found: dict[str, Any] = next(iter(part["content"].values()))["schema"]
    return found


def _everywhere(schema: dict[str, Any]) -> dict[str, Any]:
    _, _, route = next(_routes(schema))
    known = {one["name"]: one for one in route["parameters"]}
    shapes = {name: {**known[name]["schema"], **_about(known[name])} for name in EVERYWHERE}
    return {"properties": shapes}


def _about(part: dict[str, Any]) -> dict[str, Any]:
    return {"description": part["description"]} if "description" in part else {}


def _interfaces(schemas: dict[str, Any]) -> Iterator[str]:
    for name, shape in sorted(schemas.items()):
        if about := shape.get("description"):
            yield _comment(about)
        if "properties" in shape:
            yield _interface(name, shape)
        else:
            yield f"export type {name} = {_type(shape)};\n"


def _interface(name: str, shape: dict[str, Any]) -> str:
    needed = shape.get("required", ())
    lines = [f"export interface {name} {{"]
    for key, value in shape["properties"].items():
        if about := value.get("description"):
            lines.append(f"  {_comment(about)}")
        lines.append(f"  {key}{'' if key in needed else '?'}: {_type(value)};")
    return "\n".join([*lines, "}\n"])


def _type(shape: dict[str, Any]) -> str:
    """The type of a value."""
    if "$ref" in shape:
        return str(shape["$ref"]).rpartition("/")[2]
    if "anyOf" in shape:
        return " | ".join(dict.fromkeys(map(_type, shape["anyOf"])))
    if "enum" in shape or "const" in shape:
        return " | ".join(map(json.dumps, shape.get("enum", [shape.get("const")])))
    match shape.get("type"):
        case "array":
            return _array(shape)
        case "object":
            more = shape.get("additionalProperties", True)
            return f"{{ [key: string]: {_type(more) if isinstance(more, dict) else 'unknown'} }}"
        case other:
            return SCALARS.get(str(other), "unknown")


def _array(shape: dict[str, Any]) -> str:
    if "prefixItems" in shape:
        return f"[{', '.join(map(_type, shape['prefixItems']))}]"
    return f"Array<{_type(shape.get('items', {}))}>"


def _camel(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(word.capitalize() for word in more)


def _comment(text: str) -> str:
    return f"/** {' '.join(text.split()).replace('*/', '* /')} */"


FILES = {"index.js": javascript, "index.d.ts": declarations}


def main() -> None:
    schema = openapi()
    stale = []
    for name, make in FILES.items():
        file, text = FOLDER / name, make(schema)
        if file.exists() and file.read_text("utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            file.write_text(text, "utf-8")
    if "--check" in sys.argv and stale:
        sys.exit(f"out of date: {', '.join(stale)}; run `make docs`")


if __name__ == "__main__":
    main()
