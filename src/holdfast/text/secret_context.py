"""Secrets recognised only by their context: `password=hunter2`, "my password is …", user:pass@host.

A name (password, token, api key, in several languages) and a link (`=`, `:`, "is") lead to a value,
which `secret_values` judges. Each name costs a bounded look-ahead, so the time is linear in the
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..languages import in_every_language
from .secret_formats import Secret
from .secret_values import How, Name, is_random, is_secret, looks_drawn, words


def _listed(key: str) -> tuple[str, ...]:
    """Return the comma-separated entries of all languages under this key."""
    entries: list[str] = []
    for _, table in in_every_language("secrets"):
        entries += filter(None, str(table.get(key, "")).split(", "))
    return tuple(dict.fromkeys(entries))


def _any(key: str) -> str:
    return "|".join(_listed(key))


# Names of passwords, also inside DB_PASSWORD and mypassword.
_PASSWORDS = _listed("passwords")
# These count only at the start of a word: `DB_PASS` and `authToken`, not `compass`, `jsonwebtoken`
# or `monkey`.
_OTHERS = _listed("names")
# Prefixes of all names: searching these few strings is faster than a pattern.
_CORES = _listed("cores")
_FOREIGN_CORES = tuple(name for name in _PASSWORDS + _OTHERS if not name.isascii())
# Modifiers that make a plain key a secret one, and modifiers that make a key or token harmless.
_TELLING = words("""
    api access auth secret private encryption signing master account service deploy consumer
    license admin shared app application webhook client storage subscription hmac jwt ssh tls
    decryption encrypt sign project root wifi wlan wpa network
""")
_HARMLESS = words("""
    page next prev continuation csrf xsrf stop start end pad eos bos mask unk sep cls special
    sync cancel cancellation public pub cache primary foreign sort partition idempotency row
    object index lookup translation routing i host tests checks design syntax parse lexer
    current max min num per input output prompt completion total unexpected invalid
""")
# Classes of names without a modifier; every other one names a token.
_LONELY: dict[str, Name] = {
    "pass": "password",
    "pw": "password",
    "pin": "pin",
    "key": "key",
}
_SUFFIX = (
    r"(?:[_-]?\d{1,3}|[_-](?:prod|production|dev|staging|stage|test|live|old|new|primary|secondary"
    r"|base|value))?"
)
_NAME = re.compile(
    rf"(?:(?P<password>{_any('passwords')})|(?P<other>{_any('names')})){_SUFFIX}"
    r"(?![a-zß-ɏа-я])"
)

# Characters of a value read at first; a secret is extended to its end.
LONGEST = 512
# Characters of a value that suffice to judge it.
ENOUGH = 80
# Minimum length of a value that only follows its name in an argument list.
LEAST_ARGUMENT = 12
# Maximum distance between a name and the end of a random string.
NEAR = 80
_QUOTES = "\"'`“”‘’«»„"
# A quoted value ends at the same quote, which may be escaped in JSON nested in JSON.
_QUOTED = (
    rf"[bruf]{{0,2}}(?:(?P<quote>\\?[\"'`])|[“”‘’«»„])"
    rf"(?P<quoted>(?>(?:(?(quote)(?!(?P=quote))|(?![“”‘’«»„]))(?:\\.|[^\n\\])){{1,{LONGEST}}}))"
)
# A bare value ends at white space, or where an argument ends in code, URLs and connection strings.
_BARE = rf"(?P<bare>[^\s{_QUOTES},;&<>(){{}}\[\]|\\\u3000-\u303f]{{1,{LONGEST}}}+)"
# A told value ends with the sentence, or where a script without spaces starts.
_TELL = r"(?P<told>[!#-&*-Z\\^_a-z|~\u00a1-\u00aa\u00ac-\u00ba\u00bc-\u024f\u0400-\u04ff]{4,512})"
_ABOUT = rf"(?:[ \t](?:{_any('about')})\b[^.:\n?!=]{{1,40}}?)?"
_IS = (
    rf"(?:(?:[ \t](?:{_any('changed')}))?[ \t]{{1,3}}(?:{_any('told')})(?![^\W\d_])"
    rf"|['’]s\b|[ \t]{{0,3}}(?:[:：=]|{_any('joined')})|[ \t]{{1,2}}[—–-](?=[ \t]))"
    rf"(?:[ \t]{{1,3}}(?:{_any('now')})\b)?"
    r"[ \t]{0,3}[:：]?[ \t]{0,3}"
)
# `=`, `:`, `=>`, and the assignments of PHP, make and JavaScript: `.=`, `?=`, `::=`, `+=`, `??=`,
# `||=`.
_LINK = r"(?:=>|:{1,3}=|[.?+]=|(?:\?\?|\|\|)=|[=:：＝](?![=:]))"
# YAML may have the value on the next line, after `|` or `>`.
_BLOCK = r"(?:[|>][-+]?[ \t]{0,4}\n[ \t]{1,24})?"
_ASSIGNED = re.compile(
    rf"(?:\\?[\"'`])?\]?[ \t]{{0,8}}{_LINK}[ \t]{{0,8}}{_BLOCK}(?:{_QUOTED}|{_BARE})"
)
# A type between name and value: Go's `var apiToken string = "…"`, Kotlin's and Rust's `token: &str
# = "…"`.
_TYPED = re.compile(
    rf"(?:[ \t]{{0,2}}:)?[ \t]{{1,3}}[\w.*&\[\]<>?']{{1,40}}[ \t]{{0,3}}:?=[ \t]{{0,3}}{_QUOTED}"
)
# `setProperty("API_TOKEN", "…")`: the argument after the name. Lists of names look the same.
_ARGUMENT = re.compile(rf"\\?[\"'`][ \t]{{0,3}},[ \t]{{0,3}}{_QUOTED}")
# As in `<add key="Password" value="…" />`.
_ATTRIBUTE = re.compile(rf"[\"'][ \t]{{1,4}}value[ \t]?=[ \t]?{_QUOTED}", re.IGNORECASE)
_TOLD = re.compile(rf"{_ABOUT}{_IS}(?:{_QUOTED}|{_TELL})", re.IGNORECASE)
_ELEMENT = re.compile(r">\s{0,80}(?P<bare>[^<>\s]{3,512})\s{0,80}(?=</)")
_WORDS_IN_ELEMENT = re.compile(r">(?P<words>[^<>\n]{0,200}[ \t{}][^<>\n]{0,200})</")
_ELEMENT_WORD = re.compile(r"[\w.+/=-]{16,200}+", re.ASCII)
# `--db-password x`, and in a Dockerfile `ENV DB_PASSWORD x`: only a space before the value.
_FLAG_START = re.compile(r"(?:^|\s)(?:--(?:[a-z]+-)*|(?:ENV|ARG)[ \t]+[A-Z0-9_]*)$")
_FLAG_VALUE = re.compile(rf"[ \t]{{1,2}}(?:{_QUOTED}|{_BARE})")
_BESIDE = re.compile(rf"[ \t]{_QUOTED}")
# Judged as a told value, because the quotes may also enclose the name of a field.
_PASSWORD_BESIDE = re.compile(rf"[ \t][{_QUOTES}]{_TELL}(?=[{_QUOTES}])")
_MODIFIER = re.compile(r"([A-Z]?[a-z]+|[A-Z]+)[ _-]?$")
_RUN = re.compile(r"(?<![\w+/=.:@#-])(?P<bare>[\w+/=-]{20,}+)(?![.@/])", re.ASCII)
_REST = re.compile(rf"[^\s{_QUOTES}<>]*+")
# A password may contain characters that end an argument elsewhere, `DB_PASS=p&ss(w0rd`, if a digit
# follows them.
_ODD_TAIL = re.compile(rf"[&|(){{}}\[\]](?=\D{{0,99}}\d)[^\s=;,:{_QUOTES}<>\\]{{1,100}}(?=\s|$)")
_DOTTED = re.compile(r"[\w.:>-]*\w$")
_HOWS: tuple[How, ...] = ("quoted", "bare", "told", "url")


class _Rule(NamedTuple):
    kind: str
    cues: tuple[str, ...]
    name: Name
    pattern: re.Pattern[str]


_RULES = (
    _Rule(
        "url-password",
        ("://",),
        "password",
        re.compile(r"://[^\s:/?#@\"'<>`]{0,100}:(?P<url>[^\s/\"'<>`]{1,200})@(?=[\w\[.%{$<-])"),
    ),
    _Rule(
        "auth-header",
        ("bearer", "authorization"),
        "token",
        re.compile(
            r"\b(?:bearer|authorization[\"']?[ \t]{0,4}[:=][ "
            r"\t]{0,4}[\"']?(?:bearer|basic|token|apikey|digest))"
            r"[ \t]{1,4}(?P<bare>[\w.~+/=:-]{8,512})",
            re.IGNORECASE,
        ),
    ),
    _Rule(
        "password",
        tuple(f"{name} " for name in _listed("spoken")),
        "password",
        re.compile(
            rf"\b(?:{_any('with')})[ \t](?:(?:{_any('article')})[ \t])?(?:{_any('spoken')})"
            rf"[ \t]{_TELL}",
            re.IGNORECASE,
        ),
    ),
    _Rule(
        "password",
        ("password ", "sshpass ", "curl "),
        "password",
        re.compile(
            r"(?:\b(?:login|user)[ \t]\S{1,80}[ \t]{1,4}password[ \t]|\bsshpass[ \t]-p[ \t]{0,2}"
            r"|[ \t](?:-u|--user)[ \t=]{1,2}['\"]?(?:[^\s:'\"]{1,80}[\"']?|(?<=[\"'])):)"
            r"[\"']?(?P<bare>[^\s\"']{1,200})",
            re.IGNORECASE,
        ),
    ),
    _Rule(
        "password",
        ("docker login", "podman login", "mysql"),
        "password",
        re.compile(
            r"\b(?:(?:docker|podman)[ \t]login\b[^\n]{0,120}?[ \t]-p[ \t=]{1,2}"
            r"|mysql\w{0,9}[ \t][^\n]{0,120}?[ \t]-p(?=[\w\"']))[\"']?(?P<bare>[^\s\"']{1,200})"
        ),
    ),
    _Rule(
        # Registry credentials in Docker's configuration.
        "auth-header",
        ('"auth"',),
        "token",
        re.compile(r'"auth"[ \t]{0,4}:[ \t]{0,4}"(?P<quoted>[A-Za-z0-9+/]{12,512}={0,2})"'),
    ),
)


_RULES_BY_CUE = {
    cue: [rule for rule in _RULES if cue in rule.cues] for rule in _RULES for cue in rule.cues
}

# Strings of which a text must contain one, within one word, for any match here.
LEADS = tuple({lead.split()[-1] for lead in (*_CORES, *_FOREIGN_CORES, *_RULES_BY_CUE)})


def find_named(text: str) -> list[Secret]:
    """Return every value in `text` that its context identifies as a secret."""
    lower = text.lower()
    found = []
    for cue, rules in _RULES_BY_CUE.items():
        # Rare; a rule that several cues share may then run twice.
        if cue in lower:
            found += [
                secret
                for rule in rules
                for match in rule.pattern.finditer(text)
                if (secret := _judged(match, rule.name, rule.kind))
            ]
    found.extend(_named(text, lower))
    return found


def _named(text: str, lower: str) -> Iterator[Secret]:
    # Some letters get longer in lower case, but positions must stay valid.
    if len(lower) != len(text):
        lower = "".join(small if len(small := char.lower()) == 1 else char for char in text)
    done = 0
    for position in _places(lower):
        match = _NAME.match(lower, position) if position >= done else None
        if match and (name := _class_of(match, text)):
            for secret in (*_linked(text, match, name), *_close_by(text, match.end())):
                done = max(done, secret.end)
                yield secret


def _places(lower: str) -> list[int]:
    """Return the positions where a name may start, in order."""
    cores = _CORES if lower.isascii() else _CORES + _FOREIGN_CORES
    places: list[int] = []
    for core in cores:
        place = lower.find(core)
        while place >= 0:
            places.append(place)
            place = lower.find(core, place + 1)
    return sorted(places)


def _class_of(match: re.Match[str], text: str) -> Name | None:
    """Return the class of a matched name; None if it is part of another word, or harmless."""
    word = match["other"]
    start = match.start()
    if word is None:
        return "password"
    before = _MODIFIER.search(text, max(0, start - 16), start)
    modifier = before[1].lower() if before else ""
    if modifier in _HARMLESS:
        return None
    if modifier in _TELLING and word not in ("pass", "pw", "pin"):
        return "token"
    if _is_inside(text, start):
        return None
    return _LONELY.get(word, "token")


def _is_inside(text: str, start: int) -> bool:
    """Whether the word at `start` is only the end of another word; `authToken` and `IAMToken` are
    two words.
    """
    if not text[start - 1 : start].isalpha():
        return False
    before = text[max(0, start - 2) : start]
    is_camel = text[start].isupper() and text[start + 1 : start + 2].islower()
    return not (text[start].isupper() and before[-1].islower()) and not (
        is_camel and before.isupper()
    )


def _linked(
    text: str,
    name_match: re.Match[str],
    name: Name,
) -> Iterator[Secret]:
    """Yield the value assigned to the name."""
    start, end = name_match.span()
    beside = {"token": (_BESIDE,), "password": (_PASSWORD_BESIDE,)}.get(name, ())
    # The verb "pass" is too common in prose: one may pass a thing to `another`.
    told = () if name_match["other"] == "pass" else (_TOLD, *beside)
    flag = (_FLAG_VALUE,) if _FLAG_START.search(text, max(0, start - 40), start) else ()
    yield from _in_element(text, end)
    for pattern in (_ASSIGNED, _TYPED, _ARGUMENT, _ATTRIBUTE, _ELEMENT, *told, *flag):
        match = pattern.match(text, end)
        if match and _is_call(match):
            return
        if match and pattern is _ARGUMENT and not _is_argument(match["quoted"]):
            continue
        if match and (secret := _judged(match, name, name)):
            yield secret
            return


def _in_element(text: str, end: int) -> Iterator[Secret]:
    """Yield random strings among the words of an element: `<secret>{id AQAAABAAA x7…}</secret>`."""
    element = _WORDS_IN_ELEMENT.match(text, end)
    if element:
        for word in _ELEMENT_WORD.finditer(text, element.start("words"), element.end("words")):
            if looks_drawn(word[0]) and is_secret(word[0], name="token", how="quoted"):
                yield Secret(word.start(), word.end(), "token")


def _is_argument(value: str) -> bool:
    """Whether the argument after a name is its value; `("password", "user_name")` are two names."""
    return (
        len(value) >= LEAST_ARGUMENT
        and looks_drawn(value)
        and is_secret(value, name="token", how="quoted")
    )


def _close_by(text: str, end: int) -> Iterator[Secret]:
    """Yield random strings shortly after a name on the same line; none if the name continues, as in
    `token_url`.
    """
    if text[end : end + 1] in ("_", "-"):
        return
    newline = text.find("\n", end, end + NEAR)
    for run in _RUN.finditer(text, end, newline if newline >= 0 else end + NEAR):
        if is_random(run["bare"]):
            yield Secret(run.start(), _end_of_run(text, run.end()), "token")


def _judged(
    match: re.Match[str],
    name: Name,
    kind: str,
) -> Secret | None:
    groups = match.groupdict()
    how = next(how for how in _HOWS if groups.get(how))
    start = match.start(how)
    text = match.string
    for end in _ends(match, how, name):
        if is_secret(text[start : min(end, start + ENOUGH)], name=name, how=how):
            # The pattern stopped at its length limit, so extend to the end.
            whole = _end_of_run(text, end) if end - start >= LONGEST - 8 else end
            return Secret(start, whole, "token" if kind == "key" else kind)
    return None


def _ends(
    match: re.Match[str],
    how: How,
    name: Name,
) -> Iterator[int]:
    """Yield possible ends of the value, the furthest first."""
    end = match.end(how)
    if how == "bare" and name == "password" and (tail := _ODD_TAIL.match(match.string, end)):
        yield end + len(tail[0].rstrip(".,:;)]}"))
    yield end if how == "quoted" else match.start(how) + len(match[how].rstrip(".,:;"))


def _is_call(match: re.Match[str]) -> bool:
    """Whether the value is a call or an index, and so code: `token = parts[2]`, `password =
    ask(user1)`.
    """
    bare = match.groupdict().get("bare")
    return bool(
        bare and match.string[match.end() : match.end() + 1] in tuple("([{") and _DOTTED.match(bare)
    )


def _end_of_run(text: str, position: int) -> int:
    rest = _REST.match(text, position)
    if rest:
        return rest.end()
    return position
