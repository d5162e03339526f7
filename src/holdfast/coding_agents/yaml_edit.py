"""Entries added to and removed from a section of YAML text. Comments, order and every other byte
stay.

Text is inserted and cut out at places that a YAML parser names. A change after which the file would
mean anything else than before, apart from our entry, is refused.
"""

from __future__ import annotations

import json
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ..errors import InvalidInput
from ..text.full_yaml import NotYAML, load
from .json_edit import Insertion, Path

COMMENT = "# Holdfast: long-term memory."
"""Stands above a section that we created, so that we know it again."""
INDENT = "  "


def insert(text: str, insertion: Insertion) -> str:
    """`text` with one more entry in a section, which is created if it is missing."""
    (section, name), values = insertion
    longer = _inserted(text, section, name, values)
    expected = load(text)
    expected[section] = {**(expected.get(section) or {}), name: values}
    return _checked(longer, expected, section)


def remove(text: str, path: Path) -> str:
    """`text` without an entry of a section, and without the section if we created it."""
    section, name = (str(step) for step in path)
    shorter = _removed(text, section, name)
    expected = load(text)
    del expected[section][name]
    if not expected[section] and not load(shorter).get(section):
        expected[section] = load(shorter).get(section)
    if section not in load(shorter):
        del expected[section]
    return _checked(shorter, expected, section)


def _checked(
    text: str,
    expected: dict[str, Any],
    section: str,
) -> str:
    try:
        same = load(text) == expected
    except NotYAML:
        same = False
    if not same:
        raise InvalidInput(
            f"The section {section} is written in a way in which nothing can be added or taken "
            "out safely. Nothing was changed. Write one line for each of its entries and try again."
        )
    return text


def _inserted(
    text: str,
    section: str,
    name: str,
    values: dict[str, Any],
) -> str:
    there = _member(_root(text), section)
    if there is None:
        block = "\n".join([COMMENT, f"{section}:", *_lines(name, values, INDENT), ""])
        return text + _line_ends(text, f"\n{block}" if text else block)
    key, value = there
    if isinstance(value, MappingNode) and value.flow_style:
        own = f"{json.dumps(name)}: {json.dumps(values, ensure_ascii=False)}"
        if not value.value:
            place = value.start_mark.index + 1
            return text[:place] + own + text[place:]
        place = _end(text, value.value[-1][1])
        return f"{text[:place]}, {own}{text[place:]}"
    if isinstance(value, MappingNode):
        indent = " " * value.value[0][0].start_mark.column
        place = _line_end(text, _end(text, value))
    else:
        indent = " " * key.start_mark.column + INDENT
        place = _line_end(text, key.end_mark.index)
    block = "\n".join(["", *_lines(name, values, indent)])
    return text[:place] + _line_ends(text, block) + text[place:]


def _removed(
    text: str,
    section: str,
    name: str,
) -> str:
    there = _member(_root(text), section)
    ours = _member(there[1], name) if there else None
    if there is None or ours is None:
        return text
    among = there[1].value
    number = next(place for place, (key, _) in enumerate(among) if key is ours[0])
    if there[1].flow_style:
        return _removed_from_flow(text, among, number)
    start = ours[0].start_mark.index - ours[0].start_mark.column
    end = _line_end(text, max(ours[0].end_mark.index, _end(text, ours[1])))
    if len(among) == 1:
        head = there[0].start_mark.index - there[0].start_mark.column
        marker = _line_ends(text, f"{COMMENT}\n")
        if text[:head].endswith(marker):
            start = head - len(marker)
            end = end + len(_newline_at(text, end))
    # With the end of the line before, which `insert` wrote.
    return text[: start - len(_newline_before(text, start))] + text[end:]


def _removed_from_flow(
    text: str,
    among: list[tuple[Node, Node]],
    number: int,
) -> str:
    key, value = among[number]
    start = _end(text, among[number - 1][1]) if number > 0 else key.start_mark.index
    more = number == 0 and len(among) > 1
    end = among[1][0].start_mark.index if more else _end(text, value)
    return text[:start] + text[end:]


def _root(text: str) -> Node | None:
    root: Node | None = YAML(typ="safe", pure=True).compose(text)
    return root


def _member(node: Node | None, name: str) -> tuple[ScalarNode, Any] | None:
    if not isinstance(node, MappingNode):
        return None
    found = [pair for pair in node.value if pair[0].value == name]
    return found[-1] if found else None


def _end(text: str, node: Node) -> int:
    """Where the text of a node ends, without the comments and blank lines behind it; 0 if it is
    empty.
    """
    if isinstance(node, MappingNode) and not node.flow_style:
        key, value = node.value[-1]
        # An empty value may be positioned lines below its key.
        return max(int(key.end_mark.index), _end(text, value))
    if isinstance(node, SequenceNode) and not node.flow_style:
        return _end(text, node.value[-1])
    start: int = node.start_mark.index
    end: int = node.end_mark.index
    return start + len(text[start:end].rstrip()) if end > start else 0


def _lines(
    name: str,
    values: dict[str, Any],
    indent: str,
) -> list[str]:
    # A JSON value is also a YAML one.
    fields = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
    return [f"{indent}{name}:", *(f"{indent}{INDENT}{field}" for field in fields)]


def _line_ends(text: str, new: str) -> str:
    return new.replace("\n", "\r\n") if "\r\n" in text else new


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    end = len(text) if end < 0 else end
    return end - 1 if end > place and text[end - 1] == "\r" else end


def _newline_at(text: str, place: int) -> str:
    return next((one for one in ("\r\n", "\n") if text.startswith(one, place)), "")


def _newline_before(text: str, place: int) -> str:
    return next((one for one in ("\r\n", "\n") if text[:place].endswith(one)), "")
