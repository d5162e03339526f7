"""What somebody has, told inside a question: "a case for my iPhone 13 Pro?" says who owns one."""

from __future__ import annotations

from collections.abc import Iterator

from .patterns import Language
from .third_person import NOBODY
from .vocabulary import straight


def possessions(
    language: Language,
    question: str,
    author: str,
) -> Iterator[tuple[str, str]]:
    """What a question says that its author has: the statement, and the words it rests on."""
    who = author or NOBODY
    for found in language.cue("owned").finditer(straight(question)):
        what = found["what"].strip()
        words = what.lower().split()
        if language.cue("no_thing").search(what) or any(
            word.strip(",") in language.kin for word in words
        ):
            continue
        content = f"{who[:1].upper()}{who[1:]} has {_with_article(what)}"
        yield content, question[found.start() : found.end()].strip()


def _with_article(what: str) -> str:
    """ "a new laptop, Dell XPS 13", but "Amazon Swords": several things have no article."""
    first, *_ = what.split()
    *_, last = what.partition(",")[0].split()
    if last.endswith("s") and not last.endswith("ss"):
        return what
    return f"an {what}" if first[:1].lower() in "aeiou" or first.startswith("8") else f"a {what}"
