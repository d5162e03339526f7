"""Chats between people that others published: LUFY and Synthetic-Persona-Chat.

LUFY (github.com/ryuichi-sumida/LUFY): 17 people chat about their lives in four sessions with each
of three companions, all of them named Luke. Synthetic-Persona-Chat
(github.com/google-research-datasets/Synthetic-Persona-Chat): two who get to know each other. Both
come without dates, and the second without names, so each chat gets those of its number. The second
is CC BY 4.0, as its repository says; LUFY by its data card, for its repository has no licence file.
No text of either is shipped.
"""

from __future__ import annotations

import csv
import hashlib
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

_CELLS = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
FIRST_DAY = 1_672_567_200_000_000  # 1 January 2023, 10 o'clock
DAY = 86_400_000_000
PERSONA_CHATS = "Synthetic-Persona-Chat_valid.csv"
NAMES = (
    *("Anna", "Ben", "Carla", "Daniel", "Elena", "Felix", "Grace", "Hugo", "Irene", "Jonas"),
    *("Karen", "Leo", "Maya", "Nick", "Olga", "Paul", "Rita", "Simon", "Tessa", "Victor"),
)
_SPOKEN = re.compile(r"User ([12]): *(.*)")

Chat = tuple[str, int, list[tuple[str, str]]]
"""Its name, when it was, and who said what."""


def lufy(folder: Path) -> Iterator[Chat]:
    """The sessions of LUFY; `folder` is its `Dataset`."""
    for path in sorted(folder.glob("*/*/Session*/Annotator0.xlsx")):
        system, person, session = path.parts[-4:-1]
        number = int(session.removeprefix("Session"))
        label = system.lower().replace(" ", "-")
        with_whom = f"lufy-{label}-{person.lower()}"
        said = [
            (row.get("B", "").strip(), row.get("C", "").strip()) for row in list(_rows(path))[1:]
        ]
        at = _first_day(with_whom) + (number - 1) * 7 * DAY
        yield f"{with_whom}-{number}", at, [each for each in said if all(each)]


def person_of(name: str) -> str:
    """Who talks in a chat of LUFY, in all of their sessions; the chat itself in the other set."""
    return name.split("-")[-2] if name.startswith("lufy-") else name


def persona_chats(path: Path) -> Iterator[Chat]:
    """The chats of one file of Synthetic-Persona-Chat; without those that leave the names open."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        text = row["Best Generated Conversation"]
        if re.search(r"[\[(]user", text, re.IGNORECASE):
            continue
        name = f"spc-{number}"
        first = _number(name) % len(NAMES)
        speakers = {"1": NAMES[first], "2": NAMES[(first + 7) % len(NAMES)]}
        said = [(speakers[who], words.strip()) for who, words in _SPOKEN.findall(text)]
        yield name, _first_day(name), [each for each in said if each[1]]


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4])


def _first_day(name: str) -> int:
    return FIRST_DAY + _number(name) % 700 * DAY


def _rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of the first sheet, by the letters of their columns."""
    with zipfile.ZipFile(path) as file:
        shared = "xl/sharedStrings.xml"
        known = ElementTree.fromstring(file.read(shared)) if shared in file.namelist() else ()
        texts = [_text(each) for each in known]
        sheet = ElementTree.fromstring(file.read("xl/worksheets/sheet1.xml"))
    for row in sheet.iter(f"{_CELLS}row"):
        yield {cell.get("r", "")[:1]: _value(cell, texts) for cell in row.iter(f"{_CELLS}c")}


def _text(element: ElementTree.Element) -> str:
    return "".join(part.text or "" for part in element.iter(f"{_CELLS}t"))


def _value(cell: ElementTree.Element, texts: list[str]) -> str:
    value = cell.find(f"{_CELLS}v")
    if value is None or not value.text:
        return _text(cell)
    return texts[int(value.text)] if cell.get("t") == "s" else value.text
