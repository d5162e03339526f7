"""Decisions by approval: an agent offers options or recommends one, and a person agrees.

An agent's proposal alone is not a decision; it takes a person's answer. A yes to the next step of
the work ("shall I run the tests?") decides nothing durable: the proposal must be a choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .coding_session import Said, Session
from .cue_words import Words
from .note import LONGEST_QUOTE, Note
from .note_judge import THRESHOLDS, NoteJudge
from .statements import decision

# What an option is dressed with: bold type, "(recommended)".
_MARKS = re.compile(r"\*\*|__|\s*\((?:recommended|my pick|preferred|default)\)", re.IGNORECASE)
# Letters that only names of tools, files and types have.
_NAME = re.compile(r"[A-Z0-9`_./]")
# Characters of an answer that only names what it picks.
_LONGEST_PICK = 60
# The same where words are not parted, and words where they are.
_LONGEST_NAME = 15
_MOST_IN_PICK = 4
# Characters; a longer one is a task of its own.
_LONGEST_ANSWER = 300
_FEWEST_OPTIONS = 2
# Lines before a list that may ask for a choice.
_LINES_BEFORE = 3
# Sentences at the end of what an agent says: a plain yes answers one of them.
_LAST_SENTENCES = 3
# Words behind a yes that is only a yes.
_MOST_BEHIND_YES = 3
_SENTENCE_END = re.compile(r"(?<=[.!])\s+(?=[A-ZÀ-Þ])|(?<=[。！])(?=\S)")
_CHINESE = "一二三四"
_KEY = re.compile(r"[a-z\d]", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]{2}")
_GOES_ON = re.compile(r"[.,:/-]?\d")
# Somebody who answers several questions picks nothing.
_SEVERAL_ANSWERS = re.compile(r"\n\s*(?:2|b)[.):]", re.IGNORECASE)
# Letters that a name has where every word has a capital: "Git Integration" names nothing.
_NAME_IN_TITLE = re.compile(r"\w[A-Z]|[0-9`_./]")
# The same without what only joins two words: "besoin/requirements".
_NAME_IN_CODE = re.compile(r"\w[A-Z]|[0-9`_]|\w\.\w")
# In Chinese and Japanese, names of tools are in Latin letters.
_LATIN = re.compile(r"[A-Za-z]{2}")
# What was done, and not what could be.
_DONE = re.compile(r"[A-Z]?[a-z]+ed\b(?! by\b)")


@dataclass(frozen=True, slots=True)
class _Proposal:
    """What was proposed, its turn, and the exact words."""

    what: str
    quote: str
    said: Said
    words: Words
    key: str = ""
    """The number or letter of an option."""
    place: int = 0
    """Where an option stands in its list."""


def approved(session: Session, judge: NoteJudge | None = None) -> Iterator[Note]:
    """Decisions a person took by answering a proposal; with a judge, only those that last."""
    for place, answer in enumerate(session.said):
        if not answer.by_user or not 0 < len(answer.own) <= _LONGEST_ANSWER:
            continue
        proposer = _before(session.said[:place])
        chosen = _chosen(proposer, answer) if proposer else None
        if chosen is not None and _lasts(chosen, judge):
            turns = (chosen.said.turn.id, answer.turn.id)
            yield decision(
                chosen.words,
                chosen.what,
                chosen.quote,
                turns,
                0.85,
            )


def _lasts(chosen: _Proposal, judge: NoteJudge | None) -> bool:
    """Whether a choice is more than the next step of the work: it would be worth a note if the
    person had said it.
    """
    if chosen.words.begins("proposal.step", chosen.what):
        return False
    named = chosen.what.split("(")[0]
    if chosen.words.code != "en":
        # The judge reads English only. What has a name is more than the next step.
        name = _NAME_IN_CODE if chosen.words.language.spaced else _LATIN
        return bool(_LETTERS.search(named) and name.search(named))
    if judge is None:
        # A number alone says nothing to the next reader.
        return bool(_LETTERS.search(named))
    verdicts = judge.judge([f"let's go with {chosen.what}"])
    return verdicts is None or verdicts[0].worth >= THRESHOLDS["approved"]


def _before(said: Sequence[Said]) -> list[Said]:
    """What the agent said directly before; a long message spans several turns."""
    last: list[Said] = []
    for one in reversed(said):
        if one.by_user:
            break
        last.insert(0, one)
    return last[-2:]


def _chosen(proposer: Sequence[Said], answer: Said) -> _Proposal | None:
    # The list directly before the answer, never an older one.
    options = _options(proposer[-1])
    if len(options) >= _FEWEST_OPTIONS and not _SEVERAL_ANSWERS.search(answer.own):
        picked = _picked(options, answer)
        if picked is not None:
            return picked
    return _recommended(proposer, answer)


# The line where an option stands, and what was found there.
_Option = tuple[int, re.Match[str]]


def _options(said: Said) -> list[_Proposal]:
    """The options of the last list of a message; none if the message does not ask for a choice
    directly before or behind that list.
    """
    lines = said.text.split("\n")
    for words in said.words:
        matches = [(at, words.begins("proposal.option", line)) for at, line in enumerate(lines)]
        found = _last_list([(at, match) for at, match in matches if match])
        if not found:
            continue
        first, last = found[0][0], found[-1][0]
        before = [line for line in lines[:first] if line.strip()][-_LINES_BEFORE:]
        around = "\n".join((*before, lines[first], *lines[last + 1 :]))
        if not words.says("proposal.asks", around) or words.says("guard.clarifies", around):
            return []
        return list(_alternatives(said, words, [match for _, match in found]))
    return []


def _last_list(found: Sequence[_Option]) -> list[_Option]:
    """The options at the end whose numbers or letters follow each other."""
    last: list[_Option] = []
    for option in found:
        key = _number(option[1]["key"])
        if last and key != _number(last[-1][1]["key"]) + 1:
            last = []
        last.append(option)
    return last


def _number(key: str) -> int:
    return _CHINESE.index(key) if key in _CHINESE else ord(key.lower())


def _alternatives(
    said: Said,
    words: Words,
    found: Sequence[re.Match[str]],
) -> Iterator[_Proposal]:
    for place, match in enumerate(found):
        whole = _MARKS.sub("", match["said"]).strip(" *_")
        # Otherwise it is something to answer, a heading or a summary, and not to choose.
        if "?" not in whole and not whole.endswith(":") and not _DONE.match(whole):
            # What an agent adds, for and against it, was said while there was a choice.
            quote = _SENTENCE_END.split(match["said"].strip(), maxsplit=1)[0][:LONGEST_QUOTE]
            what = _MARKS.sub("", quote).strip(" *_")
            yield _Proposal(what, quote, said, words, match["key"].lower(), place)


def _picked(options: Sequence[_Proposal], answer: Said) -> _Proposal | None:
    """The option an answer picks, by its number or by a name that only it has."""
    for words in answer.words:
        opening = words.begins("proposal.picks", answer.own)
        rest = answer.own[opening.end() :] if opening else answer.own
        for option in options:
            if option.place >= len(words.ordinals):
                break
            which = words.ordinals[option.place].match(rest)
            if (
                which
                # "C" is no third of a list with numbers.
                and (not _KEY.fullmatch(which[0]) or which[0].lower() == option.key)
                and words.begins("proposal.ends", rest[which.end() :])
                # "2.3.2" is the number of something else.
                and not _GOES_ON.match(rest, which.end())
            ):
                return option
    first = answer.sentences[0].text if answer.sentences else ""
    if _asks(answer) or not (_says_which(answer) or _is_short(answer)):
        # "I cannot find Postgres" names an option, and picks none.
        return None
    named = [option for option in options if _is_named(option, options, first)]
    if len(named) == 1:
        return named[0]
    return None


def _is_short(answer: Said) -> bool:
    """Whether an answer has no room for more than the name of what it picks."""
    spaced = all(words.language.spaced for words in answer.words)
    return len(answer.own) <= (_LONGEST_PICK if spaced else _LONGEST_NAME) and (
        len(answer.own.split()) <= _MOST_IN_PICK
    )


def _says_which(answer: Said) -> bool:
    """Whether an answer begins by picking something: "let's go with …"."""
    openings = (words.begins("proposal.picks", answer.own) for words in answer.words)
    return any(opening and len(opening[0]) > 2 for opening in openings)


def _is_named(
    option: _Proposal,
    options: Sequence[_Proposal],
    answer: str,
) -> bool:
    """Whether an answer contains a name that only this option's heading has."""
    others = {name for one in options if one is not option for name in _names(one.what)}
    own = "|".join(map(re.escape, _names(option.what) - others))
    return bool(own) and re.search(rf"(?<!\w)(?:{own})(?!\w)", answer, re.IGNORECASE) is not None


def _names(what: str) -> set[str]:
    """Words of an option that look like names: capitals inside a line, digits, code."""
    heading = re.split(r"\s[–—-]\s|:\s|\.\s|,\s", what, maxsplit=1)[0]
    words = heading.split()
    letters = [word[0] for word in words if word[0].isalpha()]
    title = len(words) > 1 and all(map(str.isupper, letters))
    looks = _NAME_IN_TITLE if title else _NAME
    return {
        name.lower()
        for word in words
        if len(name := word.strip("`,.()")) > 2 and looks.search(word)
    }


def _recommended(proposer: Sequence[Said], answer: Said) -> _Proposal | None:
    """The agent's latest recommendation, if the answer is a plain yes."""
    if _asks(answer) or not agrees(answer):
        return None
    one = proposer[-1]
    for sentence in reversed(one.sentences[-_LAST_SENTENCES:]):
        for words in one.words:
            suggests = words.says("proposal.suggests", sentence.text)
            if suggests and words.says("proposal.choice", sentence.text):
                what = _MARKS.sub("", sentence.text[suggests.end() :]).strip(" ,:*")
                if what:
                    return _Proposal(what, one.verbatim(sentence.text), one, words)
                return None
    return None


def agrees(answer: Said) -> bool:
    """Whether an answer is a plain yes."""
    first = answer.own.strip()
    return any(
        (yes := words.begins("proposal.yes", first))
        and not words.says("proposal.but", first)
        and _is_all(words, first[yes.end() :].strip(" ,.;:!–—-"))
        for words in answer.words
    )


def _is_all(words: Words, rest: str) -> bool:
    """Whether nothing but the yes was said: "yep, let's continue" agrees to go on with the work."""
    few = len(rest.split()) <= _MOST_BEHIND_YES and not words.says("guard.next", rest)
    return few or bool(words.begins("proposal.yes", rest))


def _asks(answer: Said) -> bool:
    return any(sentence.asks for sentence in answer.sentences)
