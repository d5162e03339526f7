"""Spoken memory commands: list memories, forget something, remember something.

Only a whole utterance is a command, apart from courtesies: "forget about the old flat" is one, "I
can't forget about him" and "forget it, let's talk about tea" are not, nor is what stands between
quotation marks, which somebody else said. A missed command is answered by the agent; a false one
interrupts the user. So the cues, which are data, are many and narrow. The write policy and its cues
decide what must not be remembered at all.

The section `commands` of a language file holds
- `before`, `requests`, `after`: courtesies around a command. A question is a command only if it
  starts as a request;
- `unnamed`, `passing`: what cannot be the topic of "forget about …" (pronouns, small talk), and
  what makes an utterance one about the present ("forget about the report for today");
- `dismiss`: "forget it", which is not a command;
- `idiom`: "forget it, let's talk about tea", "what do you remember about Anna?": they sound like a
  request to the memory, and the agent answers them;
- `say`: short answers to questions of the memory;
- `utterances`: the commands, each a pattern for the whole utterance. `about` and `said` are the
  topic, `number` is a list position, `facts`, `sessions` and `rules` name the list.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from ..languages import LanguageData, in_every_language

LANGUAGES = tuple(each.code for each, _ in in_every_language("commands"))
# Characters; a longer utterance says more than a command.
LONGEST = 300
# Characters after "forget about".
LONGEST_SUBJECT = 60
SORTS = ("facts", "sessions", "rules")

# In order of priority: "forget everything about me" is about everything, not about "me".
Name = Literal[
    "wipe",
    "forget_number",
    "forget_about",
    "recall_on",
    "recall_off",
    "remember_rule",
    "remember_fact",
    "status",
    "list",
    "forget_last",
    "forget_session",
    "pause",
    "resume",
]
READ: tuple[Name, ...] = ("forget_last", "forget_session", "pause", "resume")
"""Commands without cues here; `memory_requests.py` recognises them."""
NAMES: tuple[Name, ...] = tuple(name for name in get_args(Name) if name not in READ)
# Commands that are usually questions.
ASKED = frozenset(("status", "list"))
Answer = Literal["yes", "no", "all", "undo"]

_QUOTES = str.maketrans(
    {
        "’": "'",
        "‘": "'",
        "`": "'",
        "“": '"',
        "”": '"',
        "„": '"',
        "«": '"',
        "»": '"',
    }
)
# At the start, up to the mark that closes it; an apostrophe inside a word closes nothing.
_QUOTATION = re.compile(r"""["'「『]((?:[^"'」』]|(?<=\w)'(?=\w))*)["'」』]""")
_END = " .!?。…~\"'"
_CLAUSE = re.compile(r"[,;:!?。、]|[.] | [-–—] ")
_SENTENCE = re.compile(r"[.!?](?= )|[。!?](?=\S)")
_NUMBER = re.compile(
    r"(?:the |option |number |no\.? ?|nr\.? ?|nummer |número |numéro |номер |№ "
    r"?|第)?#?(?P<number>\d{1,6})"
    r"(?:[.):]|st|nd|rd|th|番目?|つ目|[条个号])?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Command:
    """A memory command with its topic, list number or text to store."""

    name: Name
    about: str = ""
    number: int = 0
    sort: str = ""
    """facts, sessions or rules; empty for all of them."""


@dataclass(frozen=True, slots=True)
class _Language:
    before: re.Pattern[str]
    requests: re.Pattern[str]
    after: re.Pattern[str]
    unnamed: re.Pattern[str]
    passing: re.Pattern[str]
    dismiss: re.Pattern[str]
    idiom: re.Pattern[str]
    say: Mapping[Answer, re.Pattern[str]]
    commands: Mapping[Name, tuple[re.Pattern[str], ...]]


def command(text: str) -> Command | None:
    """Return the command in an utterance, in any language; None if there is none.

    >>> command("Please forget about the old flat.")
    Command(name='forget_about', about='the old flat', number=0, sort='')
    >>> command("I can't forget about the old flat")
    """
    said = _plain(text)
    if not said or len(said) > LONGEST or "\n" in said or _is_quoted(said):
        return None
    asked = said.rstrip(" \"'").endswith("?")
    return next(
        (found for language in _languages() if (found := _read(language, said, asked=asked))), None
    )


def answer(text: str) -> Answer | int | None:
    """Return the meaning of a short reply: yes, no, all, undo, or a number; None for anything else.

    >>> [answer(text) for text in ("Yes!", "nein", "2.", "#3", "let's talk about tea")]
    ['yes', 'no', 2, 3, None]
    """
    said = _plain(text).strip(_END)
    if number := _NUMBER.fullmatch(said):
        return int(number["number"])
    for language in _languages():
        for name, words in language.say.items():
            if words.fullmatch(said):
                return name
    if dismissive(text):
        return "no"
    return None


def dismissive(text: str) -> bool:
    """Whether an utterance is "forget it" or similar, which means the topic and not the memory."""
    said = _plain(text).strip(_END)
    return any(language.dismiss.fullmatch(said) for language in _languages())


def is_idiom(text: str) -> bool:
    """Whether an utterance sounds like a request to the memory and is none, by its idiom."""
    said = _plain(text).strip(_END)
    return any(language.idiom.fullmatch(said) for language in _languages())


def only_courtesies(text: str) -> bool:
    """Whether a text is only "please", "thanks" and the like."""
    said = _plain(text).strip(_END + ",、")
    return not said or any(language.after.fullmatch(f" {said}") for language in _languages())


def _read(
    language: _Language,
    said: str,
    *,
    asked: bool,
) -> Command | None:
    heard = list(_without_courtesies(language, said.strip(_END)))
    for name in NAMES:
        for text, requested in heard:
            if asked and not requested and name not in ASKED:
                continue
            for pattern in language.commands[name]:
                match = pattern.fullmatch(text)
                if match and (found := _found(language, name, match.groupdict())):
                    return found
    return None


def _found(
    language: _Language,
    name: Name,
    parts: Mapping[str, str | None],
) -> Command | None:
    sort = next((sort for sort in SORTS if parts.get(sort)), "")
    if name == "forget_about":
        about = (parts.get("about") or "").strip(_END)
        if _is_subject(language, about):
            return Command(name, about, sort=sort)
        return None
    said = (parts.get("said") or "").strip(" ")
    if said and _SENTENCE.search(said):
        return None
    return Command(name, said, int(parts.get("number") or 0), sort)


def _is_quoted(said: str) -> bool:
    """Whether an utterance begins with a quotation of more than a name, such as "forget it all"."""
    quotation = _QUOTATION.match(said)
    return quotation is not None and " " in quotation[1].strip()


def _is_subject(language: _Language, about: str) -> bool:
    if not about or len(about) > LONGEST_SUBJECT or _CLAUSE.search(about):
        return False
    return not language.unnamed.fullmatch(about) and not language.passing.search(about)


def _without_courtesies(language: _Language, said: str) -> Iterator[tuple[str, bool]]:
    """Yield an utterance with more and more courtesies removed, and whether it was phrased as a
    request.
    """
    requested = False
    while said:
        shorter = said
        while shorter:
            yield shorter, requested
            end = language.after.search(shorter)
            shorter = shorter[: end.start()].strip(_END + ",、") if end else ""
        request = language.requests.match(said)
        begin = request or language.before.match(said)
        requested = requested or request is not None
        said = said[begin.end() :] if begin else ""


def _plain(text: str) -> str:
    """Normalise full-width and typographic characters, and white space to single spaces."""
    plain = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    return re.sub(r"[^\S\n]+", " ", plain).strip()


@cache
def _languages() -> tuple[_Language, ...]:
    return tuple(_load(data, cues) for data, cues in in_every_language("commands"))


def _load(data: LanguageData, cues: Mapping[str, Any]) -> _Language:
    begins, ends = (r"\b[ ,:]*", r"[ ,]+") if data.spaced else (r"[ ,:、]*", r"[ ,、]*")
    commands: Mapping[str, Any] = cues["utterances"]
    if wrong := set(commands) ^ set(NAMES):
        raise ValueError(f"{data.code}.toml, section commands: {', '.join(sorted(wrong))}")
    return _Language(
        before=_compiled(rf"(?:{cues['before']}){begins}"),
        requests=_compiled(rf"(?:{cues['requests']}){begins}"),
        after=_compiled(rf"{ends}(?:{cues['after']})$"),
        unnamed=_compiled(cues["unnamed"]),
        passing=_compiled(cues["passing"]),
        dismiss=_compiled(cues["dismiss"]),
        idiom=_compiled(cues["idiom"]),
        say={name: _compiled(cues["say"][name]) for name in get_args(Answer)},
        commands={name: tuple(map(_compiled, commands[name])) for name in NAMES},
    )


def _compiled(cue: str) -> re.Pattern[str]:
    return re.compile(cue, re.IGNORECASE)
