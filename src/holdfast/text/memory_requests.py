"""Memory requests in plain words, anywhere in a message.

`spoken_commands.py` recognises whole utterances that are commands; this module reads sentences. It
splits a message into sentences and clauses, skips what is not the speaker's own prose (quotations,
code, text to be translated), strips courtesies from the start of each clause, and matches the rest
against a grammar (`request_grammar.py`): a verb of keeping or forgetting, a negation, the subject
(this conversation, the last message, a topic), and the time from which it applies. Requests to
forget are also read in any order (`request_slots.py`). A learned reader (`request_model.py`)
decides unless it is in doubt.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from . import request_model
from .removal_requests import read_removal, removal_cues
from .request_grammar import KINDS, Kind, RequestGrammar, folded, grammars, respelled
from .request_slots import read_slots
from .spoken_commands import is_idiom

# Characters; longer texts are pasted rather than said.
LONGEST = 4_000
# Characters; also bounds the cost of a pattern.
LONGEST_SENTENCE = 600
# Characters of something to remember; a topic to forget is much shorter.
LONGEST_TOPIC = 300

# Chances from which the learned reader is believed: without any word about memory; against signs of
# small talk; against the grammar; and where the grammar finds the same or nothing.
CLEAR = 0.98
CERTAIN = 0.9
SURE = 0.9
LIKELY = 0.8
# Kinds that take nothing away.
HARMLESS = ("list", "remember")

# A message with less is read by the grammar alone; letters count where no spaces part the words.
MIN_WORDS = 3
MIN_LETTERS = 5
WITH_TOPIC = ("forget_topic", "remember")

_PLAIN = str.maketrans(
    {
        "’": "'",
        "‘": "'",
        "´": "'",
        "ʼ": "'",
        "“": '"',
        "”": '"',
        "„": '"',
        "，": ",",
        "：": ":",
    }
)
# Code, and lines of a program or a shell, contain no requests.
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_CODE_LINE = re.compile(r"^\s*(?://|#(?!\d)|/\*|\*|--|\$ |>|<!--|;;).*$", re.MULTILINE)
# A file, a path or a name in a program.
_CODE_NAME = re.compile(
    r"(?<![@\w.-])[\w-]+\.(?:c|cpp|cs|css|csv|docx?|env|go|h|html?|ini|ipynb|java|jsx?|json|kt|lock|log"
    r"|md|pdf|php|pptx?|py|rb|rs|sh|sql|toml|tsx?|txt|xlsx?|xml|ya?ml)\b|(?<!\w)[.~]?/\w+"
    r"|\b[a-z]+_[a-z]\w*|\w\(\)"
)
# Quotations in paired marks. A single straight quote opens one only before a letter and after a
# space or bracket.
_QUOTED = re.compile(
    r"\"[^\"\n]{2,300}\"|«[^»\n]{2,300}»|「[^」\n]{2,300}」|『[^』\n]{2,300}』|《[^》\n]{2,300}》"
    r"|(?<![^\s(\[:,])'(?=\w)[^'\n]*(?:'(?=\w)[^'\n]*)*'(?!\w)"
)
# A key or a hash: no reader of words has learned from those.
_TOKEN = re.compile(r"[!-~]{30}")
_UNSPACED = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]")
# Placeholder of a quotation: a letter that no supported language uses, so it counts as a word.
_MARK = "\ua66e"
_SENTENCE = re.compile(r"[.!?…]+(?=\s|$|[\"')\]])|[。！？]+|\n+")
_ENDS = " \t,.;:!?…。、！？~\"'()-–—"


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """A request about memory: its kind, its topic, and the rest of the message."""

    kind: Kind
    topic: str = ""
    rest: str = ""
    """All other sentences of the message."""


@dataclass(frozen=True, slots=True)
class _Found:
    kind: Kind
    topic: str
    span: tuple[int, int]
    back: bool
    """Whether a pronoun refers to something said before."""
    weak: bool
    """Whether the pronoun counts only if the earlier text is about memory."""
    start: int
    sure: bool = True
    """Whether it is certain enough to replace another reading."""


@lru_cache(maxsize=256)  # several rules read the same message
def read_request(text: str) -> MemoryRequest | None:
    """Return the memory request in a message, in any language; None if there is none.

    >>> read_request("Thanks! And please don't keep any of this.").kind
    'forget_session'
    >>> read_request("I don't remember the argument.")
    """
    if len(text) > LONGEST or is_idiom(text):
        return None
    said, quotes = own_words(text)
    known, language = _by_grammar(said, quotes)
    unlearned = known and language not in request_model.LANGUAGES
    unreadable = _says_little(said) or _TOKEN.search(said) or len(said) > request_model.READ
    if unlearned or unreadable:
        return known
    return _weighed(known, said, quotes)


def _weighed(known: MemoryRequest | None, said: str, quotes: Sequence[str]) -> MemoryRequest | None:
    """Return the request that the learned reader finds, or what is known by the grammar where the
    reader is in doubt.
    """
    chances = request_model.kinds_of(said)
    kind = max(KINDS, key=lambda each: chances[each])
    if chances[request_model.NONE] >= SURE:
        return None
    if chances[kind] < _enough(kind, known, said):
        return known
    if known and kind == "remember" and known.kind not in HARMLESS:
        return known  # "don't remember this": never keep what is to be forgotten
    if known and known.kind == kind and kind not in WITH_TOPIC:
        return known  # the grammar also knows which sentences belong to the request
    # "I will always remember that …" differs from a request by the signs of small talk alone.
    certain = chances[kind] >= CERTAIN and kind != "remember"
    if known or is_about_memory(said, certain=certain):
        return _learned(kind, said, quotes) or known
    return None


def _enough(kind: Kind, known: MemoryRequest | None, said: str) -> float:
    """Return the chance from which a kind is believed, given what is known by the grammar."""
    # A message without a word about memory is nearly always a statement or a question.
    if not any(grammar.reads(said) for grammar in grammars()):
        return CLEAR
    return SURE if known and known.kind != kind else LIKELY


def _says_little(said: str) -> bool:
    """Whether a message is too short for the learned reader: "again", "start over".

    >>> _says_little("try again!")
    True
    >>> _says_little("别记这个了")
    False
    """
    words = len(re.findall(r"\w+", said))
    letters = len(_UNSPACED.findall(said))
    return letters < MIN_LETTERS if letters else words < MIN_WORDS


def _by_grammar(said: str, quotes: Sequence[str]) -> tuple[MemoryRequest | None, str]:
    """Return the request that the grammar of a language reads, and that language's code."""
    for grammar in grammars():
        if grammar.reads(said) and (found := _read(grammar, said, quotes)):
            return found, grammar.code
    return None, ""


def is_about_memory(text: str, *, certain: bool = False) -> bool:
    """Whether a message with the words of a request may be one: it is no text to work on, and,
    unless that is certain, no sentence is small talk, or about a file, a table, a text or the like.

    >>> is_about_memory("Delete everything about Bob.")
    True
    >>> is_about_memory("Delete everything about Bob from the users table.")
    False
    """
    said, _ = own_words(text)
    for grammar in grammars():
        if not grammar.reads(said):
            continue
        if _is_to_be_worked_on(grammar, said):
            return False
        for sentence in () if certain else _sentences(said):
            spelled = respelled(grammar, sentence.strip())
            if grammar.idle.search(spelled) or _is_elsewhere(grammar, spelled):
                return False
    return True


def own_words(text: str) -> tuple[str, list[str]]:
    """Normalise a message: plain characters, no code, and a placeholder for each quotation."""
    plain = unicodedata.normalize("NFKC", text).translate(_PLAIN)
    plain = _CODE_LINE.sub("", _CODE.sub(" ", plain))
    quotes: list[str] = []

    def mark(found: re.Match[str]) -> str:
        quotes.append(found[0])
        return _MARK

    return re.sub(r"[^\S\n]+", " ", _QUOTED.sub(mark, plain)).strip(), quotes


def _learned(kind: Kind, said: str, quotes: Sequence[str]) -> MemoryRequest | None:
    """Return the request of a kind with the topic that the learned reader finds; None without the
    topic it needs, and where a statement is all that is said.
    """
    topic = ""
    if kind in WITH_TOPIC:
        found = request_model.topic_of(said, kind)
        topic = _put_back(found.strip(_ENDS), said, said, quotes)
        if not topic or not said.replace(found, "", 1).strip(_ENDS):
            return None
    sentences = [one.strip() for one in _sentences(said) if one.strip(_ENDS)]
    asking = max(sentences, key=lambda one: request_model.kinds_of(one)[kind])
    return MemoryRequest(kind, topic, " ".join(one for one in sentences if one != asking))


def _read(
    grammar: RequestGrammar,
    said: str,
    quotes: Sequence[str],
) -> MemoryRequest | None:
    if _is_to_be_worked_on(grammar, said):
        return None
    sentences = [one.strip() for one in _sentences(said) if one.strip(_ENDS)]
    withdrawn = _withdrawal(grammar, sentences)
    if withdrawn is not None:
        return MemoryRequest(
            "resume", rest=" ".join((*sentences[:withdrawn], *sentences[withdrawn + 2 :]))
        )
    first: MemoryRequest | None = None
    unnamed: MemoryRequest | None = None
    for place, sentence in enumerate(sentences):
        spelled = respelled(grammar, sentence)
        too_long = len(spelled) > LONGEST_SENTENCE
        if too_long or not grammar.trigger.search(spelled) or grammar.idle.search(spelled):
            continue
        by_slots = _by_slots(grammar, spelled)
        if by_slots and by_slots.kind == "forget_session" and _is_upcoming(grammar, sentences):
            by_slots = None
        usual = _first(grammar, spelled)
        found = _narrowed(grammar, usual, by_slots)
        request = _in_context(grammar, found, said, sentences, place, quotes) if found else None
        if found is None or request is None:
            continue
        if usual is None and found.back:
            # Other cues may tell what the pronoun stands for.
            unnamed = unnamed or request
        elif first is None or {first.kind, request.kind} == {"pause", "resume"}:
            # "I asked you to save nothing for a while. You can go on now.": the later request wins.
            first = request
    if first is None:
        first = _removal(grammar, said, sentences, quotes)
        # A topic that is the request itself is none.
        if first is None or (unnamed and first.topic == sentences[0].strip(_ENDS)):
            first = unnamed
    return first


def _is_to_be_worked_on(grammar: RequestGrammar, said: str) -> bool:
    """Whether a message hands over a text, to be translated for example."""
    return bool(grammar.nothing.search(folded(said) if grammar.fold else said))


def _is_upcoming(grammar: RequestGrammar, sentences: Sequence[str]) -> bool:
    """Whether a message announces what is still to be said."""
    return any(_has(grammar, grammar.slots.patterns["later"], sentence) for sentence in sentences)


def _in_context(
    grammar: RequestGrammar,
    found: _Found,
    said: str,
    sentences: Sequence[str],
    place: int,
    quotes: Sequence[str],
) -> MemoryRequest | None:
    """Resolve what was found in a sentence by the sentences around it; None if it is no request."""
    sentence = sentences[place]
    spelled = respelled(grammar, sentence)
    if found.kind != "remember" and _is_elsewhere(grammar, spelled[found.start :]):
        return None
    # Keep the topic as written.
    if grammar.fold:
        found = replace(found, topic=sentence[slice(*found.span)].strip(_ENDS))
    before = sentences[:place]
    after = sentences[place + 1 :]
    # Folding keeps positions, so the topic can be taken from the original sentence.
    kind, topic = _settled(grammar, found, sentence if grammar.fold else spelled, before, after)
    if kind is None:
        return None
    return MemoryRequest(
        kind, _put_back(topic, said, sentence, quotes), " ".join((*before, *after))
    )


def _removal(
    grammar: RequestGrammar,
    said: str,
    sentences: Sequence[str],
    quotes: Sequence[str],
) -> MemoryRequest | None:
    """Return a request to remove a topic that only cue words reveal."""
    cues = removal_cues(grammar.code)
    if cues is None:
        return None
    spelled = [respelled(grammar, sentence) for sentence in sentences]
    found = read_removal(cues, spelled, partial(_may_ask, grammar))
    if found is None or _is_elsewhere(grammar, spelled[found.asking]):
        return None
    # Folding keeps positions, so the topic can be taken from the original sentence.
    named = (sentences if grammar.fold else spelled)[found.sentence]
    topic = _put_back(named[found.span].strip(_ENDS), said, sentences[found.sentence], quotes)
    rest = " ".join((*sentences[: found.asking], *sentences[found.asking + 1 :]))
    return MemoryRequest("forget_topic", topic, rest)


def _may_ask(grammar: RequestGrammar, sentence: str) -> bool:
    """Whether a sentence may be a request: neither small talk nor a factual question."""
    if grammar.idle.search(sentence):
        return False
    asked = sentence.rstrip(" \"')").endswith(("?", "？"))
    polite = any(polite for _, _, polite in _clauses(grammar, sentence))
    return polite or not asked or bool(grammar.tags.search(sentence))


def _withdrawal(grammar: RequestGrammar, sentences: Sequence[str]) -> int | None:
    """Return the index of the sentence that, alone or with the next one, withdraws an earlier
    request to store nothing.
    """
    for place, sentence in enumerate(sentences):
        both = " ".join((sentence, *sentences[place + 1 : place + 2]))
        if grammar.withdrawn.search(respelled(grammar, both[:LONGEST_SENTENCE])):
            return place
    return None


def _sentences(said: str) -> Iterator[str]:
    start = 0
    for mark in _SENTENCE.finditer(said):
        yield said[start : mark.end()]
        start = mark.end()
    yield said[start:]


def _first(grammar: RequestGrammar, sentence: str) -> _Found | None:
    """Return the request of a sentence, by priority of kinds, then by order of clauses."""
    asked = sentence.rstrip(" \"')").endswith(("?", "？")) and not grammar.tags.search(sentence)
    clauses = list(_clauses(grammar, sentence))
    for kind in KINDS:
        for start, body, polite in clauses:
            if asked and kind != "list" and not polite:
                continue
            for pattern in grammar.kinds[kind]:
                match = pattern.match(sentence, body)
                if match is None or grammar.reports.search(sentence[:start]):
                    continue
                parts = match.groupdict()
                topic = parts.get("topic") or ""
                span = match.span("topic") if topic else (0, 0)
                weak = bool(parts.get("weak"))
                return _Found(
                    kind, topic.strip(_ENDS), span, weak or bool(parts.get("back")), weak, start
                )
    return None


def _by_slots(grammar: RequestGrammar, sentence: str) -> _Found | None:
    """Return what a sentence asks to forget by the slots that it consists of."""
    read = read_slots(grammar.slots, sentence)
    if read is None or not _may_ask(grammar, sentence):
        return None
    topic = sentence[slice(*read.span)].strip(_ENDS)
    return _Found(read.kind, topic, read.span, read.back, weak=False, start=0, sure=read.sure)


def _narrowed(
    grammar: RequestGrammar, found: _Found | None, by_slots: _Found | None
) -> _Found | None:
    """Choose between two readings of a sentence: slots may narrow what is forgotten, not widen
    it.
    """
    if found is None or by_slots is None:
        return found or by_slots
    pronoun = found.kind == "forget_topic" and grammar.slots.patterns["it"].fullmatch(found.topic)
    unnamed = not found.topic and (found.back or found.kind == "forget_topic")
    if pronoun or (unnamed and not by_slots.back):
        return found if by_slots.kind == "forget_session" else by_slots
    if by_slots.back:
        return by_slots if found.kind == "pause" and by_slots.kind == "forget_last" else found
    if not by_slots.sure:
        return by_slots if found.kind in ("pause", "remember") else found
    wider: Mapping[Kind, tuple[Kind, ...]] = {
        "forget_topic": ("forget_session", "pause", "forget_last", "remember"),
        # A topic that is "my latest remark" is none.
        "forget_last": ("forget_session", "pause", "forget_topic"),
        "forget_session": (),
    }
    return by_slots if found.kind in wider[by_slots.kind] else found


def _is_elsewhere(grammar: RequestGrammar, sentence: str) -> bool:
    """Whether a clause is about a file, a table, a text or the like, and not about memory."""
    if not (grammar.elsewhere.search(sentence) or _CODE_NAME.search(sentence)):
        return False
    return not grammar.slots.patterns["memory"].search(sentence)


def _clauses(grammar: RequestGrammar, sentence: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the start of each clause, the start of its request after more and more courtesies, and
    whether it is polite.
    """
    seen: set[int] = set()
    for start in (0, *(mark.end() for mark in grammar.starts.finditer(sentence))):
        body = start
        polite = False
        while body not in seen:
            seen.add(body)
            polite = polite or bool(grammar.questions.match(sentence, body))
            yield start, body, polite
            lead = grammar.lead.match(sentence, body)
            if lead and lead.end() > body:
                body = lead.end()


def _settled(
    grammar: RequestGrammar,
    found: _Found,
    sentence: str,
    before: Sequence[str],
    after: Sequence[str],
) -> tuple[Kind | None, str]:
    """Resolve kind and topic in context: pronouns refer to what was said before."""
    if found.kind == "pause" and _has(grammar, grammar.past, sentence):
        return "forget_session", ""
    if found.kind in ("forget_last", "forget_topic") and found.back:
        return _forgotten(
            grammar,
            found,
            sentence,
            before,
            after,
        )
    if found.kind == "remember":
        return _remembered(
            grammar,
            found,
            sentence,
            before,
            after,
        )
    return found.kind, found.topic


def _forgotten(
    grammar: RequestGrammar,
    found: _Found,
    sentence: str,
    before: Sequence[str],
    after: Sequence[str],
) -> tuple[Kind | None, str]:
    """Resolve what a pronoun asks to forget: the last message, the whole conversation, or the topic
    named before.
    """
    if found.weak and not any(_has(grammar, grammar.known, one) for one in (*before, sentence)):
        # "There is a typo in my text. Remove it." is about the text.
        return None, ""
    if found.topic:
        return found.kind, found.topic
    if any(_has(grammar, grammar.rest, one) for one in (sentence[found.start :], *after)):
        return "forget_session", ""
    said = _meant(grammar, [*before, sentence[: found.start]])
    other = _refers(grammar, said)
    if other is not None or not said:
        return other or "forget_last", ""
    return found.kind, said.strip(_ENDS)


def _remembered(
    grammar: RequestGrammar,
    found: _Found,
    sentence: str,
    before: Sequence[str],
    after: Sequence[str],
) -> tuple[Kind | None, str]:
    """Resolve what to remember, which may precede or follow the request; None if it is only small
    talk.
    """
    if not found.topic:
        said = _meant(grammar, [*before, sentence[: found.start]])
        if not said and after:
            # As in "Remember this for me. I'm left-handed."
            said = after[0]
        if said and "?" not in said:
            return ("remember", said.strip(_ENDS))
        return (None, "")
    aside = sentence[: found.span[0]].rstrip().endswith((",", "、"))
    if not aside and _has(grammar, grammar.personal, found.topic):
        return "remember", found.topic
    # "Remember: correlation is not causation. Is that why …?" is small talk, and so is "Remember, I
    # like tea. What …?".
    asks = any(one.rstrip().endswith(("?", "？")) for one in (*before, *after))
    # Only in English is a comma here a sign of small talk; elsewhere it is normal grammar.
    told_as_truth = aside and grammar.code == "en" and not grammar.personal.search(found.topic)
    if asks or told_as_truth:
        return (None, "")
    return ("remember", found.topic)


def _meant(grammar: RequestGrammar, earlier: Sequence[str]) -> str:
    """Return what a pronoun refers to: the last statement before it, preferably one about the
    speaker.
    """
    said = [one for one in reversed(earlier) if one.strip(_ENDS)]
    cues = (grammar.personal, grammar.last, grammar.rest)
    own = (one for one in said if any(_has(grammar, cue, one) for cue in cues))
    return next(own, said[0] if said else "")


def _refers(grammar: RequestGrammar, said: str) -> Kind | None:
    """Return the kind of request if a pronoun refers to a message or conversation that was just
    named.
    """
    if _has(grammar, grammar.rest, said):
        return "forget_session"
    if _has(grammar, grammar.last, said):
        return "forget_last"
    return None


def _has(
    grammar: RequestGrammar,
    cue: re.Pattern[str],
    text: str,
) -> bool:
    """Whether a cue occurs in a text, after correcting its spelling."""
    return bool(cue.search(respelled(grammar, text)))


def _put_back(
    topic: str,
    said: str,
    sentence: str,
    quotes: Sequence[str],
) -> str:
    """Replace the placeholders in a topic with their quotations."""
    if _MARK not in topic:
        return topic
    index = said[: max(0, said.find(sentence))].count(_MARK) + sentence[
        : max(0, sentence.find(topic))
    ].count(_MARK)
    for quote in quotes[index:]:
        topic = topic.replace(_MARK, quote, 1)
    return topic.replace(_MARK, "")
