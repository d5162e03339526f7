"""Whether a value is a secret, judged by its name and notation; placeholders, types and code are
not.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal

# password: may be a short, guessable word. token: needs digits. key: must look random. pin: a
# number.
Name = Literal["password", "token", "key", "pin"]
# Notation. quoted: "value". bare: name=value. told: the name is value. url: user:value@host.
How = Literal["quoted", "bare", "told", "url"]


def words(text: str) -> tuple[str, ...]:
    """Split `text` into words, because a long table is more readable as prose than as a list."""
    return tuple(text.split())


# Words used in place of a secret. A value of only such words means "insert yours here".
_FILLER_WORDS = frozenset(
    words("""
    password passwd passwort passphrase passcode pass pwd pw kennwort contrasena contraseña
    clave senha parola secret token key apikey api auth access credential credentials user
    username name value string text str int bool boolean bytes number float object any none null
    nil undefined true false yes no on off default empty unset unknown changeme change me
    changeit replace replaceme insert enter put set fill fixme todo tbd here this that your my
    the our new old current confirm repeat again required optional requested hidden masked
    redacted removed omitted encrypted hashed sensitive secretstr optionalstr example sample
    dummy fake test testing demo placeholder foo bar baz qux foobar invalid incorrect wrong
    correct valid weak strong expired missing needed secure safe unsafe stored saved sent same
    different client server private public hash field input type env var variable config
    settings file path url id app prod dev local admin root self args kwargs prompt ask generate
    generated auto random managed external keyring vault keychain basic bearer digest length min
    max count limit and or is not a an to of for in by it if with was be must should see readme
    docs
""")
)
_WORDS = re.compile(r"[^\W\d_]+|\d+")
_REFERENCE = re.compile(
    r"[$%<{@!*&#]?[{(<]|\$\w|%\w+%$|%[sdrvq]$|<|\*\*|!!?[a-z]+$|(?:os|process|env|config|settings|self|this|args|opts|options|ctx"
    r"|request|req|response|res|user|data|params|props|state|secrets|vars?|local|module|app|cfg|conf|system|ENV)\b[.\[]"
    r"|(?:vault|op|env|file|ssm|secret|arn|kms|keyring|ref\+\w+|https?|ftp|s3|gs)://?|arn:|enc\[|ENC\[|sha\d{1,3}[-:]"
    r"|md5:|data:|(?:\.{0,2}|~)/|[A-Za-z]:\\",
    re.ASCII,
)
_MASK = re.compile(r"\.{3}|…|\*{3}|x{4}|X{4}|•|#{4}|_{4}|-{4}|0{8}")
_VERSION = re.compile(r"[~^<>=v]{0,2}\d{1,5}(?:\.[\dx*]{1,8}){1,3}(?:[-+.][\w.]{1,20})?$", re.ASCII)
_CODE = re.compile(r"[^\W\d]\w*(?:(?:\.|->|::|\?\.)[^\W\d]\w*)+$")
_NAME_LIKE = re.compile(
    r"[a-z]+(?:[_-][a-z]+)*$|[A-Z]+(?:_[A-Z]+)*$|[A-Za-z][a-z]*(?:[A-Z][a-z]+)*$"
)
_PATH = re.compile(r"[\w.~@-]*(?:/[\w.@-]+){2,}/?$|[\w/-]+\.[a-z]{2,4}$")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+$")
_TECHNICAL = re.compile(
    r"(?:sha|md|aes|rsa|ed|base|utf|pbkdf|argon|bcrypt|scrypt|hmac|oauth|oidc|saml|tls|ssl|x\.?509|http|jwt|bip|fido)-?\d"
    r"|\d+(?:[.,]\d+)?[-–]?(?:bit|byte|char|digit|day|hour|minute|second|week|month|year|ms|min|kb|mb|k\b|%|x\b|th|nd|st|rd)"
    r"|\d+[-–]\d+$|(?:19|20)\d\d-\d\d(?:-\d\d)?|\d{1,2}[:.]\d{2}$",
    re.IGNORECASE,
)
# Minimum length of a password in a URL; manuals write `user:p@host`.
SHORTEST_IN_URL = 2
# Digits of a number that may be a token: dates, milliseconds and sizes have fewer.
LONG_NUMBER = 16
LEAST_LETTERS = 16
_LETTERS = re.compile(r"(?:[a-z]{16,64}|[A-Z]{16,64})$")
_LOWER = re.compile(r"[a-z0-9]{24,128}$")
_NO_VOWEL = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}")
# Characters that people use in passwords.
_MARKS = re.compile(r"[!@#$%^&*+=?~]")
# CamelCase with parts as long as words, and the same with numbers: `ReadSshKey2From14d`.
_NAME = re.compile(r"[a-z]*(?:[A-Z][a-z]{2,}|[A-Z]{2,5}(?=[A-Z]|$))*")
_NUMBERED_NAME = re.compile(r"[a-z]{2,}\d{0,2}(?:[A-Z][a-z]{1,}\d{0,2}){1,}[a-z]?")


def is_secret(
    value: str,
    *,
    name: Name,
    how: How,
) -> bool:
    """Whether `value`, with this class of name and this notation, must be redacted."""
    if name == "pin":
        return value.isdecimal() and 4 <= len(value) <= 8
    if how == "url":
        return len(value) >= SHORTEST_IN_URL and not is_placeholder(value, least=2)
    if (
        is_placeholder(value)
        or _is_place(value)
        or (how in ("bare", "told") and _CODE.match(value))
    ):
        return False
    if name == "key":
        return is_random(value) or _is_random_lower(value)
    if name == "token":
        return _is_tokenlike(value, how)
    return _is_passwordlike(value, how)


def is_placeholder(value: str, *, least: int = 3) -> bool:
    """Whether `value` only stands for a secret: `<your-key>`, `${TOKEN}`, `xxxx`, `changeme`.

    A value of fewer than `least` different characters is a placeholder.
    """
    if (
        _REFERENCE.match(value)
        or _MASK.search(value)
        or "REDACTED" in value
        or len(set(value)) < least
    ):
        return True
    words = (match[0] for match in _WORDS.finditer(value.lower()))
    return all(word in _FILLER_WORDS or (len(word) == 1 and word.isdecimal()) for word in words)


def is_random(value: str) -> bool:
    """Whether `value` looks random: long, mixed, and changing character class far more often than
    words.
    """
    if len(value) < 20 or _is_digest(value):
        return False
    classes = [
        "d" if c.isdecimal() else "u" if c.isupper() else "l" if c.isalpha() else "" for c in value
    ]
    changes = sum(a != b for a, b in pairwise(classes))
    return {"d", "u", "l"} <= set(classes) and changes / len(value) >= 0.3 and len(set(value)) >= 10


def _is_random_lower(value: str) -> bool:
    """Whether a value without capitals looks random: long, digits throughout, and letters that
    hexadecimal digests lack.
    """
    if len(value) < 24 or not _LOWER.match(value):
        return False
    changes = sum(a.isdecimal() != b.isdecimal() for a, b in pairwise(value))
    return changes / len(value) >= 0.2 and any(char > "f" for char in value)


def _is_digest(value: str) -> bool:
    return bool(
        re.match(r"AAAA[BCE]3Nza|AAAAE2Vj|sha\d{1,3}-|iVBORw0KGgo|/9j/4|R0lGOD|MIIB[IC]jAN", value)
    )


def _is_place(value: str) -> bool:
    return bool(_VERSION.match(value) or _EMAIL.match(value) or _PATH.match(value))


def _is_tokenlike(value: str, how: How) -> bool:
    if len(value) < 8:
        return False
    if " " in value:
        return len(value) >= 24 and is_random(value)
    digits = sum(c.isdecimal() for c in value)
    if digits == 0:
        return (bool(_MARKS.search(value)) and how == "quoted") or (
            how != "told" and _is_scrambled(value)
        )
    if digits == len(value):
        return how != "told" and digits >= LONG_NUMBER
    return not _TECHNICAL.match(value) and not _is_numbered_name(value)


def _is_scrambled(value: str) -> bool:
    """Whether letters alone look random: long, with more consecutive consonants than words have, or
    in mixed case.
    """
    if _LETTERS.match(value):
        return bool(_NO_VOWEL.search(value.lower()))
    return (
        len(value) >= LEAST_LETTERS and value.isascii() and value.isalpha() and looks_drawn(value)
    )


def _is_numbered_name(value: str) -> bool:
    """Whether this is a name with a number, not a token: `user_token_2`, `oauth2-proxy`,
    `v1beta1`.
    """
    parts = re.split(r"[_.:-]", value)
    return len(value) < 40 and all(
        re.fullmatch(r"[a-z]*\d{0,2}|[A-Z]*\d{0,2}|\d{1,4}", part) for part in parts
    )


def _is_passwordlike(value: str, how: How) -> bool:
    if len(value) < 4:
        return False
    if " " in value:
        return how == "quoted" and _is_passphrase(value)
    if how == "quoted":
        return True
    if value.isalpha() or _NAME_LIKE.match(value):
        return (how == "bare" and "-" in value) or (value.isalpha() and len(value) >= 18)
    if how == "told" and _TECHNICAL.match(value):
        return False
    return (
        any(c.isdecimal() for c in value)
        or bool(_MARKS.search(value.rstrip("!?")))
        or how == "bare"
    )


def _is_passphrase(value: str) -> bool:
    words = value.split()
    fillers = sum(word in _FILLER_WORDS for word in words)
    return (
        len(words) >= 3 and fillers < 2 and all(word.isalpha() and word.islower() for word in words)
    )


def looks_drawn(tail: str) -> bool:
    """Whether no person would write this: it has digits, or mixed case without the order of words.

    >>> looks_drawn("k3Jd9sLq0aZx"), looks_drawn("GkwFDQoHqzXDVsC")
    (True, True)
    >>> looks_drawn("Configuration-file_name")
    False
    """
    # Fillers: xxxxxxxx, 00000000, ABABABAB.
    if len(set(tail)) < 5:
        return False
    if sum(map(str.isdecimal, tail)) >= 2:
        return not _NUMBERED_NAME.fullmatch(tail)
    if _NAME.fullmatch(tail):
        return False
    cases = [char.isupper() for char in tail if char.isalpha()]
    return sum(a != b for a, b in pairwise(cases)) >= len(tail) * 0.3
