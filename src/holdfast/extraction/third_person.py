"""Rewrite English from first to third person: "I prefer tea" becomes "Ann prefers tea".

The author's name appears once, then "they": gender is never guessed. Verbs agree.

Only words used as pronouns change. Addresses, names, titles, abbreviations, code and quoted text
stay verbatim. If it is unclear whether a word is a pronoun, or which verb belongs to it, nothing is
rewritten: the author is quoted instead, `Ann said: "…"`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from .verb_forms import (
    ADVERBS,
    AFTER_INFINITIVE,
    IRREGULAR,
    MODALS,
    NEVER_VERBS,
    SECOND_AFTER_AUXILIARY,
    SECOND_AFTER_VERB,
    is_adverb,
    is_participle,
    listed,
    paired,
    pattern,
    third_person,
)

NOBODY = "the user"

# One token each: what stands between marks that keep it as it is, a chunk that no plain word looks
# like, a word, or whatever is between words.
_TOKEN = re.compile(
    r"""
      (?P<kept>
        # Code, quotations, titles.
        `[^`\n]+` | "[^"\n]*" | “[^”\n]*” | „[^“”\n]*[“”] | «[^»\n]*»
        # 'My Way', not the kids' and parents' car.
      | (?<!\w)'(?=\w)[^'\n]{2,80}(?<=\w)'(?!\w)
        # *My Way*; one word alone is only stressed.
      | (?<!\w)(?P<mark>[*_]{1,2})(?=\w)[^*_\n]*\s[^*_\n]*(?P=mark)(?!\w)
        # Placeholders, tags, links, redactions.
      | \{[^{}\n]*\} | <[^<>\n]+> | \[[^\[\]\n]*\]
        # Addresses, paths, handles, formulas.
      | [^\s,;()—–]*[@/\\_=<>{}\#$~|+^&%`][^\s,;()—–]*
        # Options of commands; numbers.
      | (?<!\w)--\w[\w-]* | (?<![\w-])-\w\b | \d\w*
        # A call.
      | \w+\([^()\n]*\)
        # us:de, notes.txt, i.e.
      | \w+(?::\w+)+ | \w+(?:\.\w+)+\.?
      )
    | (?P<word>[^\W\d_][\w'’-]*)
    | [^\w"`“„«'*_{<\[@/\\=>}\#$~|+^&%-]+ | .
    """,
    re.VERBOSE | re.DOTALL,
)
# "in Oslo.I work": two sentences, and no address.
_UNSPACED = re.compile(r"\w\w\.(?:I|My|We|Our|I['’]\w+)\.?")
# "me/my wife": words, and perhaps pronouns, run together.
_JOINED = re.compile(r"(?:\w|['’])+(?:[/&+](?:\w|['’])+)+")
_SENTENCE_END = re.compile(r"[.!?…:]['\")\]]*\s|\n")
_CLAUSE_END = re.compile(r"[.,;:!?()—–…]")
# Latin capitals with accents, too.
_CAPITAL = re.compile(r"[A-ZÀ-Þ]")

_PRONOUNS = listed("pronouns")
_FUSED = paired("fused")
_OBJECTS = paired("objects")
_SEVERAL = ("us", "ourselves")
_OWN = paired("own")
_MANY = paired("plural")
_AFTER_HAD = listed("after_had")
_COUNTRY = listed("after_us_as_country")
_BEFORE_PAGE = listed("before_us_as_page")
_PAGE = listed("after_us_as_page")
_JOINING = listed("joining")
# Somebody named or called by what they are, and nothing before that in the clause: "Tom ", "my best
# friend ".
_SOMEBODY = re.compile(
    r"(?:^|[,;:.!?—–]\s|\b(?:that|when|where|if|because|since|while|as)\s)"
    r"\s*(?:(?:[Mm]y|[Oo]ur|[Tt]he)\s(?:[\w'-]+\s){1,3}|(?:[A-ZÀ-Þ][\w'-]+\s){1,3})$"
)
_OTHER_SUBJECTS = listed("other_subjects")
_LIKE_HABIT = re.compile(rf"\b(?:{pattern('like_habit')})\b", re.IGNORECASE)
_LIKE_PAST = re.compile(rf"\b(?:{pattern('like_past')})\b", re.IGNORECASE)
# "World War I", "type I diabetes"; but "the type I like".
_NUMBERED = listed("numbered")
_CALLED = listed("called")
_NUMBERED_THINGS = listed("numbered_things")
# Exclamations that only look like possession.
_EXCLAIMED = listed("exclaimed")
_ARTICLES = listed("articles")
# After these, and after prepositions and the like, "mine" is no pit.
_BEFORE_MINE = listed("before_mine")
_DETERMINERS = listed("determiners")
_AFTER_VERB = _ARTICLES | {"my", "our"}
_BEFORE_ME_TIME = listed("before_me_time")
_INVERTED = listed("inverted")
# Kin are written with a capital by many: "My Mom", "My Aunt Clara".
TITLES_OF_KIN = listed("titles_of_kin")


class _Doubtful(Exception):
    """Raised if it is unclear how to rewrite a clause."""


@dataclass(
    frozen=True,
    slots=True,
    eq=False,
)
class _Token:
    text: str
    kind: str
    """`word`, `kept` for what never changes, or `mark` for what is between words."""

    @property
    def lower(self) -> str:
        return self.text.replace("’", "'").lower()

    @property
    def capital(self) -> bool:
        return bool(_CAPITAL.match(self.text))


def retell(clause: str, author: str) -> str:
    """The clause as a statement about `author`, or about the user if nobody is named."""
    name = author or NOBODY
    try:
        told = _Teller(name, _tokens(clause)).told().strip()
    except _Doubtful:
        told = f'{name} said: "{clause.strip()}"'
    return _capitalised(told)


def _tokens(clause: str) -> list[_Token]:
    return [_Token(match[0], _kind(match)) for match in _TOKEN.finditer(clause)]


def _kind(match: re.Match[str]) -> str:
    if match["word"]:
        return "word"
    if match["kept"] is None:
        return "mark"
    return "kept"


def _capitalised(text: str) -> str:
    """The text with an initial capital, unless it begins with an address, code or "iPhone"."""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    plain = first.strip(".,;:!?").isalpha() and first[1:] == first[1:].lower()
    if plain or "'" in first:
        return text[:1].upper() + text[1:]
    return text


class _Teller:
    """Rewrites word by word; the result of a word depends on who was named before it."""

    def __init__(self, name: str, tokens: list[_Token]) -> None:
        self.name = name
        self.tokens = tokens
        self.place = 0
        self.named = False
        self.before = ""
        """The last word that is no adverb."""
        self.verb_of = ""
        """Whose verb is still to come: "one" person's, "many", or nobody's."""
        self.second: frozenset[str] = frozenset()
        """Verbs that, joined to the last one, have to agree like it."""
        self.verb_at = 0
        clause = "".join(token.text for token in tokens)
        self.tense = (
            "past" if _LIKE_PAST.search(clause) else "habit" if _LIKE_HABIT.search(clause) else ""
        )

    def told(self) -> str:
        spoken = [token for token in self.tokens if token.kind == "word"]
        if len(spoken) > 2 and all(token.text.isupper() for token in spoken):
            # Shouted: abbreviations and pronouns look alike.
            raise _Doubtful
        told = []
        for place, token in enumerate(self.tokens):
            self.place = place
            told.append(self._told(token))
            if token.kind == "word" and not is_adverb(token.lower):
                self.before = token.lower
            if self._is_other_subject(token):
                # Whose verb comes next is not known.
                self.second = frozenset()
        return "".join(told)

    def _told(self, token: _Token) -> str:
        if token.kind == "kept":
            return self._kept(token)
        if token.kind == "mark":
            return self._mark(token)
        if self._is_pronoun(token):
            if self.verb_of == "one" and token.lower not in ("i", "we"):
                raise _Doubtful  # a verb was to come
            return self._pronoun(token)
        if self._is_verb(token):
            return self._agreeing(token.text)
        return token.text

    def _kept(self, token: _Token) -> str:
        parts = (
            re.split(r"[/&+]", token.text)
            if _JOINED.fullmatch(token.text)
            else [token.lower.strip("*_")]
        )
        if any(part in _PRONOUNS for part in parts) or _UNSPACED.search(token.text):
            raise _Doubtful
        self.before = token.text
        return token.text

    def _mark(self, token: _Token) -> str:
        ends = _CLAUSE_END.search(token.text)
        if ends and self.verb_of == "one" and self._word_after(self.place) is not None:
            raise _Doubtful  # "I, for one, prefer tea"
        if ends:
            self.verb_of = ""
        return token.text

    # -- which words are pronouns

    def _is_pronoun(self, token: _Token) -> bool:
        lower = token.lower
        if lower.startswith(("i'", "we'")) and lower not in _FUSED:
            raise _Doubtful  # "I'd've"
        if lower not in _PRONOUNS and lower not in _FUSED:
            return False
        if lower == "i":
            return self._is_i()
        if token.text.startswith(("I'", "I’")):
            return not self._is_in_a_name()
        if len(token.text) > 1 and token.text.isupper():
            return self._is_shouted(token)
        if token.capital:
            return self._is_capital_pronoun()
        return self._is_small_pronoun(lower)

    def _is_i(self) -> bool:
        """Whether "I" is the pronoun, not a numeral, item or name part: "How I Met Your Mother"."""
        before = self._neighbour(-1)
        after = self._neighbour(1)
        left = self._mark_at(-1).strip()
        right = self._mark_at(1).strip()
        item = right.startswith(")") and (before is None or bool(left))  # "(i)", "i)"
        if item or (after is not None and after.text[0] in "=+<>"):  # "i = 0"
            return False
        named_after = (
            after is not None
            and after.capital
            and after.lower not in _PRONOUNS
            and after.lower not in _FUSED
        )
        if self._begins(self.place) and named_after:
            # "I Am Legend", "I Google everything".
            raise _Doubtful
        if self._begins(self.place) or before is None or left:
            return True
        if before.lower in _CALLED:
            raise _Doubtful  # a film called I Am Sam
        numbered = (
            before.lower in _NUMBERED and after is not None and after.lower in _NUMBERED_THINGS
        )
        if numbered or before.text == "War":
            return False
        return not self._is_numeral_after(before, after, right, named_after)

    def _is_numeral_after(
        self,
        before: _Token,
        after: _Token | None,
        right: str,
        named_after: bool,
    ) -> bool:
        """Whether "I" belongs to the capitalised word before it."""
        if not before.capital or before.lower in _PRONOUNS:
            return False
        if named_after:
            return True
        if self._begins(self.tokens.index(before)):
            # "When I …": the capital is that of the sentence.
            return False
        if after is not None and not right and after.lower in ("is", "was", "has"):
            # "Elizabeth I was …", "… the Brownie I was given".
            raise _Doubtful
        return after is None or bool(right)

    def _is_in_a_name(self) -> bool:
        """Whether capitalised words stand on both sides: "Baby I'm Yours"."""
        before = self._neighbour(-1)
        after = self._neighbour(1)
        if before is None or after is None or self._mark_at(-1).strip():
            return False
        return before.capital and after.capital and not self._begins(self.tokens.index(before))

    def _is_shouted(self, token: _Token) -> bool:
        """Return False for an abbreviation, which stays: US, IM, "Portland, ME".

        Raises _Doubtful for every other word in capitals.
        """
        before = self._neighbour(-1)
        if (
            token.text == "ME"
            and before is not None
            and (before.capital or self._mark_at(-1).strip())
        ):
            return False  # Portland, ME
        if token.text in ("US", "IM", "ME"):
            if token.text == "ME":
                raise _Doubtful
            return False
        raise _Doubtful

    def _is_capital_pronoun(self) -> bool:
        """Whether a capital only marks a sentence start.

        Elsewhere the word belongs to a name, or it is doubtful.
        """
        before = self._neighbour(-1)
        after = self._neighbour(1)
        token = self.tokens[self.place]
        if self._begins(self.place):
            if token.lower in _FUSED or after is None or not after.capital or after.lower == "i":
                return True
            if after.lower in TITLES_OF_KIN or after.lower.removesuffix("'s") in TITLES_OF_KIN:
                return True
            # "My Neighbor Totoro is …", "My Fitbit is …".
            raise _Doubtful
        beside = [one for one in (before, after) if one is not None and one.kind == "word"]
        if any(one.capital for one in beside):
            return False
        raise _Doubtful

    def _is_small_pronoun(self, lower: str) -> bool:
        before = self._neighbour(-1)
        after = self._neighbour(1)
        previous, following = (one.lower if one is not None else "" for one in (before, after))
        if lower == "me" and previous in _BEFORE_ME_TIME:
            raise _Doubtful  # "some me time"
        match lower:
            case "my":
                return following not in _EXCLAIMED and after is not None
            case "us":
                country = previous in _ARTICLES or following in _COUNTRY
                page = previous in _BEFORE_PAGE and following in _PAGE
                return not country and not page
            case "mine":
                # "to mine coal".
                digs = previous == "to" and after is not None and not self._mark_at(1).strip()
                return not digs and (
                    previous in _BEFORE_MINE or previous in NEVER_VERBS - _DETERMINERS
                )
        return lower not in ("im", "ive") or after is not None

    # -- what they become

    def _pronoun(self, token: _Token) -> str:
        lower = token.lower
        starts = self._begins(self.place)
        if lower in _FUSED:
            verb = "had" if lower.endswith("'d") and self._had() else _FUSED[lower]
            told = f"{self._subject(lower)} {self._agreeing(verb)}"
        elif lower in ("i", "we"):
            told = self._subject(lower)
        elif lower in _OBJECTS:
            told = self._once(
                f"{self.name} and others" if lower in _SEVERAL else self.name, _OBJECTS[lower]
            )
        else:
            told = self._once(f"{self.name}'s", _OWN[lower])
        if starts and self._mark_at(-1).rstrip()[-1:] in tuple(".!?…"):
            return _capitalised(told)
        return told

    def _had(self) -> bool:
        """Whether "I'd" is "I had": "I'd been", "I'd better"."""
        following = self._word_after(self.place)
        if following is None:
            return False
        return following in _AFTER_HAD or is_participle(following)

    def _subject(self, pronoun: str) -> str:
        many = pronoun.startswith("we")
        previous = self._neighbour(-1)
        inverted = previous is not None and previous.lower in _INVERTED and previous.text != "May"
        if inverted and not self._mark_at(-1).strip():
            # "not only do I love tea".
            raise _Doubtful
        alone = not many and not self.named and not self._is_one_of_several(pronoun)
        self.verb_of = "one" if alone else "many"
        self.second = frozenset()
        return self._once(f"{self.name} and others" if many else self.name, "they")

    def _is_one_of_several(self, pronoun: str) -> bool:
        """Whether this is "Tom and I" or "my wife and I", not "it rains and I …"."""
        following = self._word_after(self.place)
        if self.before != "and" or pronoun != "i" or following in ("am", "was"):
            return False
        before = (
            "".join(token.text for token in self.tokens[: self.place]).rstrip().removesuffix("and")
        )
        return bool(_SOMEBODY.search(before))

    def _once(self, name: str, later: str) -> str:
        if self.named:
            return later
        self.named = True
        return name

    # -- verbs

    def _is_verb(self, token: _Token) -> bool:
        """Whether this word is the expected verb, or a second one that must agree too."""
        lower = token.lower
        if not self.verb_of and self._is_second(lower):
            self.verb_of = "one"
        return bool(self.verb_of) and not self._is_adverb(lower)

    def _is_adverb(self, word: str) -> bool:
        following = self._neighbour(1)
        # "I kind of like", not "I sort socks".
        if word in ("kind", "sort"):
            return following is not None and following.lower == "of"
        return is_adverb(word)

    def _agreeing(self, verb: str) -> str:
        one = self.verb_of == "one"
        self.verb_of = ""
        lower = verb.lower().replace("’", "'")
        if not one:
            return _MANY.get(lower, verb)
        if lower in NEVER_VERBS or (lower.endswith("ing") and third_person(lower) == lower):
            raise _Doubtful
        told = third_person(verb, tense=self.tense)
        agrees = told != verb and lower not in IRREGULAR
        self.second = SECOND_AFTER_VERB if agrees else SECOND_AFTER_AUXILIARY
        if lower in MODALS:
            self.second = frozenset()
        self.verb_at = self.place
        return told

    def _is_other_subject(self, token: _Token) -> bool:
        if token.lower in _OTHER_SUBJECTS:
            return True
        following = self._neighbour(1)
        joined = following is not None and following.lower in _JOINING
        return (
            token.lower in ("it", "you", "that", "this")
            and not joined
            and not self._mark_at(1).strip()
        )

    def _is_second(self, word: str) -> bool:
        """Whether a verb agrees like the one before it.

        Few do after "wants to", where "and go" is an infinitive too.
        """
        if self.before not in _JOINING or not self._may_be_second(word):
            return False
        spoken = [token for token in self.tokens[self.verb_at : self.place] if token.kind == "word"]
        infinitive = any(
            one.lower == "to" and not two.capital and two.lower not in NEVER_VERBS
            for one, two in pairwise(spoken)
        )
        return not infinitive or word in AFTER_INFINITIVE

    def _may_be_second(self, word: str) -> bool:
        """Whether a word can be a verb like the last one. After "sold" few are: most are nouns as
        well, unless something follows that only a verb has, as in "and drive a Golf".
        """
        if word in self.second:
            return True
        following = self._neighbour(1)
        takes = following is not None and following.lower in _AFTER_VERB
        now = third_person(word, tense="past") != word
        return bool(self.second) and word in SECOND_AFTER_VERB and takes and now

    # -- what is around

    def _neighbour(self, step: int) -> _Token | None:
        """The nearest token on this side that is not punctuation."""
        place = self.place + step
        while 0 <= place < len(self.tokens):
            if self.tokens[place].kind != "mark":
                return self.tokens[place]
            place += step
        return None

    def _mark_at(self, step: int) -> str:
        place = self.place + step
        beside = self.tokens[place] if 0 <= place < len(self.tokens) else None
        if beside is not None and beside.kind == "mark":
            return beside.text
        return ""

    def _word_after(self, place: int) -> str | None:
        following = (token.lower for token in self.tokens[place + 1 :] if token.kind == "word")
        return next((word for word in following if word not in ADVERBS), None)

    def _begins(self, place: int) -> bool:
        """Whether the token at this position begins a sentence."""
        if all(token.kind == "mark" for token in self.tokens[:place]):
            return True
        before = self.tokens[place - 1]
        return before.kind == "mark" and bool(_SENTENCE_END.search(before.text))
