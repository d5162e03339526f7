"""Secrets with a recognisable format: the known token formats, as data.

Keys recognised by a fixed prefix have a line each in `secret_prefixes`; formats with more structure
are here. Ordinary prose has no word of fifteen characters, so most texts skip this module. The
others are checked only against rules whose cue occurs in a long word, or in the text. Repetition is
possessive or bounded, so the time is linear in the text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from .secret_prefixes import formats, looks_drawn

# A token starts after no letter or digit, or after the \n of JSON-escaped text. Checked after the
# match, because patterns that start with a literal are searched much faster.
_INSIDE = re.compile(r"(?<=[A-Za-z0-9])(?<!\\[nrt])")

# The same for prefixes that also occur in names: `my-key-…`.
_AFTER_WORD = re.compile(r"(?<=[\w.+/-])(?<!\\[nrt])")

# Length of the shortest format below, without white space.
SHORTEST = 15

# Kind, cues, pattern. The group `secret` is redacted, or the whole match without one. All within
# one word.
_TOKENS = (
    ("aws-access-key", "AKIA ASIA ABIA ACCA", r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (
        "slack-token",
        "xox",
        r"xox[abceoprs](?:\.xox[a-z])?-(?=[A-Za-z-]{0,40}+\d)[A-Za-z0-9-]{10,}+",
    ),
    ("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}+"),
    ("slack-webhook", "hooks.slack", r"hooks\.slack\.com/[a-z]{1,20}/(?P<secret>[\w/+-]{20,}+)"),
    ("discord-webhook", "/api/webhooks/", r"/api/webhooks/(?P<secret>\d{15,21}/[\w-]{50,}+)"),
    ("discord-token", ".", r"[MNO][\w-]{22,27}\.[\w-]{6,7}\.[\w-]{27,}+"),
    ("google-api-key", "AIza", r"AIza[\w-]{33,39}+(?![\w-])"),
    (
        "openai-key",
        "sk-",
        r"sk-(?:[a-zA-Z0-9]{2,12}-){0,3}(?=[A-Za-z_-]{0,40}+\d)[A-Za-z0-9_]{16,}+[\w-]*+",
    ),
    ("pypi-token", "pypi-", r"pypi-(?=[A-Za-z_-]{0,60}+\d)[\w-]{36,}+"),
    ("sendgrid-key", "SG.", r"SG\.(?:[\w=-]{16,32}\.[\w=-]{16,}+|[\w=-]{60,}+)"),
    ("twilio-key", "SK", r"SK[0-9a-f]{32}(?![0-9A-Za-z])"),
    (
        "telegram-token",
        ":",
        r":(?<=\d{8}:)(?P<secret>(?=\w{0,34}[a-z])(?=\w{0,34}[A-Z])[\w-]{35}(?![\w-]))",
    ),
    (
        "azure-key",
        "AccountKey= SharedAccessKey=",
        r"(?:Account|SharedAccess)Key=(?P<secret>[\w+/-]{32,}+={0,2})",
    ),
    ("azure-sas", "sig=", r"[?&;]sig=(?P<secret>[\w%+/-]{30,}+=?)"),
    ("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    ("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}+"),
    (
        "jwt",
        "eyJ",
        r"eyJ(?:(?<![\w-]eyJ)|(?<=\\[nrt]eyJ))[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*+(?>(?:\.[\w-]++)*)",
    ),
    ("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("cloud-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}+"),
    ("jwt", ".ey", r"ey[A-Za-z0-9]{17,}+\.ey[\w/-]{17,}+\.[\w/-]*+={0,2}"),
    ("mailchimp-key", "-us", r"-us(?<=(?P<secret>[a-f0-9]{32})-us)\d{1,2}(?!\w)"),
    ("maxmind-key", "_mmk", r"_mmk(?<=(?P<secret>[A-Za-z0-9]{6}_[A-Za-z0-9]{29})_mmk)(?!\w)"),
    (
        "azure-client-secret",
        "Q~",
        r"Q~(?:(?<=[^\w~.-][\w~.]{3}\dQ~)|(?<=\A[\w~.]{3}\dQ~))(?P<secret>[\w~.-]{31,34}+)(?![\w~-])",
    ),
    (
        "azure-key",
        "+ASt +AMC +ABa +AEh +ARm +ACR AzSe AzFu AZDO ACDb JQQJ99",
        r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{32,76}?(?:\+A(?:St|MC|Ba|Eh|Rm|CR)|Az(?:Se|Fu)|AZDO|ACDb|JQQJ99)"
        r"[A-Za-z0-9+/]{4,40}+={0,2}",
    ),
    ("harness-token", "pat. sat.", r"[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}(?!\w)"),
    (
        "authress-key",
        ".acc_ .acc-",
        r"[a-z]{2,8}_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[\w+/=-]{30,}+",
    ),
    ("1password-key", "A3-", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3,4}[A-Z0-9]{5}(?![A-Z0-9])"),
    ("teams-webhook", ".webhook.office.com/", r"\.webhook\.office\.com/(?P<secret>[\w@/-]{60,}+)"),
    (
        "webhook",
        "hooks.zapier.com/ .tines.com/",
        r"(?:hooks\.zapier|\.tines)\.com/(?:hooks/catch|webhook)/(?P<secret>[\w/-]{8,}+)",
    ),
    ("facebook-token", "|", r"\|(?<=\d{15}\|)(?P<secret>[\w-]{27})(?![\w-])"),
    ("zoho-token", "1000.", r"1000\.[a-f0-9]{32}\.[a-f0-9]{32}"),
    ("salesforce-token", "00D", r"00D[A-Za-z0-9]{12}!(?P<secret>[\w.]{60,}+)"),
    (
        "braintree-token",
        "access_token$",
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{10,20}\$(?P<secret>[a-f0-9]{32})",
    ),
    (
        "launchdarkly-key",
        "sdk- api-",
        r"(?<![\w-])(?:sdk|api)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![\w-])",
    ),
    ("yandex-token", "t1.", r"t1\.[A-Z][\w-]{8,}+={0,2}\.[\w-]{80,}+"),
    ("mapbox-token", "pk. sk.", r"[ps]k\.[A-Za-z0-9]{30,}+(?:\.[\w-]{20,}+)?"),
)
# The same for formats that may contain white space, so cues are searched in the whole text.
_SPREAD = (
    (
        "private-key",
        "PRIVATE",
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"(?P<secret>(?=[^-]{0,400}?[A-Za-z0-9+/]{16})(?>(?:[^-]|-(?!----)){16,20000})(?=-----END)"
        r"|(?>(?:(?>(?:\s|\\[nr])*)[A-Za-z0-9+/=]{16,}+)+))",
    ),
    (
        "aws-secret-key",
        "AKIA ASIA aws AWS Aws",
        r"(?:AKIA|ASIA|aws|AWS|Aws|[sS]ecret|SECRET)[^\n]{0,60}?(?<![\w/+=])"
        r"(?P<secret>(?=[a-z0-9/+]{0,39}[A-Z])(?=[A-Z0-9/+]{0,39}[a-z])(?=[A-Za-z/+]{0,39}\d)[A-Za-z0-9/+]{40})(?![\w/+=])",
    ),
    (
        "heroku-key",
        "heroku Heroku HEROKU",
        r"(?i:heroku)[^\n]{0,40}?(?P<secret>(?i:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}))(?![\w-])",
    ),
    (
        "sidekiq-key",
        "CONTRIBSYS contribsys",
        r"(?i:contribsys__com)[^\w\n]{1,8}(?:(?i:set|global|--local)[ \t]{1,3})?"
        r"(?P<secret>[0-9a-f]{8}:[0-9a-f]{8})(?!\w)",
    ),
)


class Secret(NamedTuple):
    """Position of a secret in the text, and its kind, such as `github-token` or `password`."""

    start: int
    end: int
    kind: str


# Kind and pattern.
_Rule = tuple[str, str]


def _by_cue(rows: tuple[tuple[str, str, str], ...]) -> dict[str, list[_Rule]]:
    rules: dict[str, list[_Rule]] = {}
    for kind, cues, pattern in rows:
        for cue in cues.split():
            rules.setdefault(cue, []).append((kind, pattern))
    return rules


# Compiled when a cue first occurs, because most processes need few patterns.
_compiled = cache(lambda pattern: re.compile(pattern, re.ASCII))
_IN_WORDS = tuple(
    _by_cue(
        (*((one.kind, " ".join(one.beginnings), one.pattern) for one in formats()), *_TOKENS)
    ).items()
)
_IN_TEXT = tuple(_by_cue(_SPREAD).items())


def find_tokens(text: str) -> list[Secret]:
    """Return every token of a known format in `text`; one found through two cues may be listed
    twice.
    """
    long_words = "\n".join(
        {word for word in text.split() if len(word) >= SHORTEST and not word.isalpha()}
    )
    met = [rules for cue, rules in _IN_WORDS if cue in long_words] if long_words else []
    met += [rules for cue, rules in _IN_TEXT if cue in text]
    return [
        found
        for kind, pattern in dict.fromkeys(rule for rules in met for rule in rules)
        for match in _compiled(pattern).finditer(text)
        if (found := _found(kind, match))
    ]


def _found(kind: str, match: re.Match[str]) -> Secret | None:
    groups = match.re.groupindex
    group = "secret" if "secret" in groups else 0
    start, end = match.span(group)
    if _is_filler(match.string[start:end]) or (not group and _INSIDE.match(match.string, start)):
        return None
    if "drawn" in groups and (
        not looks_drawn(match["drawn"]) or _AFTER_WORD.match(match.string, start)
    ):
        return None
    return Secret(start, end, kind)


def _is_filler(token: str) -> bool:
    """Whether this is a documentation example: `ghp_xxxxxxxx`, `sk-000000000000`."""
    tail = token[len(token) // 2 :]
    return len(set(tail)) < 3
