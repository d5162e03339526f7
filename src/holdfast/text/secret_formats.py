"""Secrets that show by themselves what they are: the known token formats, as data.

Ordinary prose has no word of fifteen characters, so most texts never come here. Those that do meet a rule only if
one of its cues is in the text. Repetition is possessive or bounded, so time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

# A token starts where no letter or digit stands before it, or after the \n of text that is still JSON-escaped.
# Checked after the match: patterns that begin with a literal are searched for much faster.
_INSIDE = re.compile(r"(?<=[A-Za-z0-9])(?<!\\[nrt])")

SHORTEST = 15  # no format below fits into a shorter stretch without white space
Finder = Callable[[str], Iterator[re.Match[str]]]

# kind, cues, pattern; the group `secret` is what goes, the whole match where there is none.
_TOKENS = (
    ("aws-access-key", "AKIA ASIA ABIA ACCA", r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,}+"),
    ("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{36,}+"),
    ("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- glsoat-", r"gl[a-z]{2,5}-[\w.-]{20,}+"),
    ("slack-token", "xox", r"xox[abceoprs](?:\.xox[a-z])?-(?=[A-Za-z-]{0,40}+\d)[A-Za-z0-9-]{10,}+"),
    ("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}+"),
    ("slack-webhook", "hooks.slack", r"hooks\.slack\.com/[a-z]{1,20}/(?P<secret>[\w/+-]{20,}+)"),
    ("discord-webhook", "/api/webhooks/", r"/api/webhooks/(?P<secret>\d{15,21}/[\w-]{50,}+)"),
    ("discord-token", ".", r"[MNO][\w-]{22,27}\.[\w-]{6,7}\.[\w-]{27,}+"),
    ("google-api-key", "AIza", r"AIza[\w-]{33,39}+(?![\w-])"),
    ("google-oauth-secret", "GOCSPX-", r"GOCSPX-[\w-]{20,}+"),
    ("google-oauth-token", "ya29.", r"ya29\.[\w-]{20,}+"),
    ("stripe-key", "k_live_ k_test_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}+"),
    ("stripe-webhook", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,}+"),
    ("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{20,}+"),
    ("openai-key", "sk-", r"sk-(?:[a-zA-Z0-9]{2,12}-){0,3}(?=[A-Za-z_-]{0,40}+\d)[A-Za-z0-9_]{16,}+[\w-]*+"),
    ("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}+"),
    ("pypi-token", "pypi-", r"pypi-(?=[A-Za-z_-]{0,60}+\d)[\w-]{36,}+"),
    ("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,}+"),
    ("sendgrid-key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{16,}+"),
    ("twilio-key", "SK", r"SK[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("telegram-token", ":", r":(?<=\d{8}:)(?P<secret>(?=\w{0,34}[a-z])(?=\w{0,34}[A-Z])[\w-]{35}(?![\w-]))"),
    ("digitalocean-token", "_v1_", r"do[opr]_v1_[a-f0-9]{40,}+"),
    ("azure-key", "AccountKey= SharedAccessKey=", r"(?:Account|SharedAccess)Key=(?P<secret>[\w+/-]{32,}+={0,2})"),
    ("azure-sas", "sig=", r"[?&;]sig=(?P<secret>[\w%+/-]{30,}+=?)"),
    ("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32,}+"),
    ("mailgun-key", "key-", r"(?<![-_])key-[a-z0-9]{32}(?![A-Za-z0-9-])"),
    ("heroku-key", "HRKU-", r"HRKU-[\w-]{30,}+"),
    ("linear-key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}+"),
    ("notion-token", "secret_ ntn_", r"(?:secret|ntn)_[A-Za-z0-9]{40,}+"),
    ("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{20,}+"),
    ("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}+"),
    ("jwt", "eyJ", r"eyJ(?:(?<![\w-]eyJ)|(?<=\\[nrt]eyJ))[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*+(?>(?:\.[\w-]++)*)"),
    ("atlassian-token", "ATATT3", r"ATATT3[\w=-]{50,}+"),
    ("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("cloud-token", "dckr_pat_ rubygems_ pscale_ sbp_ sb_secret_ figd_ sntrys_ sntryu_ fo1_",
     r"(?:dckr_pat|rubygems|pscale_[a-z]{2,5}|sbp|sb_secret|figd|sntry[su]|fo1)_[\w=+/-]{20,}+"),
    ("cloud-token", "NRAK- PMAK- tskey- pul- sq0", r"(?:NRAK|PMAK|tskey-[a-z]{2,9}|pul|sq0[a-z]{3})-[\w-]{20,}+"),
    ("cloud-token", "dp.pt. dp.st. dp.ct. dp.sa.", r"dp\.[a-z]{2}\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{32,}+"),
    ("cloud-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}+"),
    ("grafana-token", "glsa_ glc_", r"gl(?:sa|c)_[\w+/=]{30,}+"),
    ("llm-key", "gsk_ r8_ xai- pplx- nvapi-", r"(?:gsk_|r8_|xai-|pplx-|nvapi-)[\w-]{32,}+"),
    ("private-key", "PRIVATE",
     r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
     r"(?P<secret>(?=[^-]{0,400}?[A-Za-z0-9+/]{16})(?>(?:[^-]|-(?!----)){16,20000})(?=-----END)"
     r"|(?>(?:(?>(?:\s|\\[nr])*)[A-Za-z0-9+/=]{16,}+)+))"),
    ("aws-secret-key", "AKIA ASIA aws AWS Aws",
     r"(?:AKIA|ASIA|aws|AWS|Aws|[sS]ecret|SECRET)[^\n]{0,60}?(?<![\w/+=])"
     r"(?P<secret>(?=[a-z0-9/+]{0,39}[A-Z])(?=[A-Z0-9/+]{0,39}[a-z])(?=[A-Za-z/+]{0,39}\d)[A-Za-z0-9/+]{40})(?![\w/+=])"),
    ("heroku-key", "heroku Heroku HEROKU",
     r"(?i:heroku)[^\n]{0,40}?(?P<secret>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?![\w-])"),
)  # fmt: skip


class Secret(NamedTuple):
    """A secret's place in the text, and its kind, such as `github-token` or `password`."""

    start: int
    end: int
    kind: str


def _by_cue() -> dict[str, list[tuple[str, Finder]]]:
    rules: dict[str, list[tuple[str, Finder]]] = {}
    for kind, cues, pattern in _TOKENS:
        finder = re.compile(pattern, re.ASCII).finditer
        for cue in cues.split():
            rules.setdefault(cue, []).append((kind, finder))
    return rules


_BY_CUE = tuple(_by_cue().items())


def find_tokens(text: str) -> list[Secret]:
    """Every token of a known format in `text`; one that two cues lead to may be listed twice."""
    return [
        found
        for cue, rules in _BY_CUE
        if cue in text
        for kind, finder in rules
        for match in finder(text)
        if (found := _found(kind, match))
    ]


def _found(kind: str, match: re.Match[str]) -> Secret | None:
    group = "secret" if "secret" in match.re.groupindex else 0
    start, end = match.span(group)
    if _is_filler(match.string[start:end]) or (not group and _INSIDE.match(match.string, start)):
        return None
    return Secret(start, end, kind)


def _is_filler(token: str) -> bool:
    """Whether documentation wrote this: `ghp_xxxxxxxx`, `sk-000000000000`."""
    tail = token[len(token) // 2 :]
    return len(set(tail)) < 3
