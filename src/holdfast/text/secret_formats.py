"""Secrets with a recognisable format: the known token formats, as data.

Keys recognised by a fixed prefix have a line each in `TABLE`; formats with more structure have a
pattern. Ordinary prose has no word of fifteen characters, so most texts skip this module. The
others are checked only against rules whose cue occurs in a long word, or in the text. Repetition is
possessive or bounded, so the time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from .secret_values import looks_drawn

# A token starts after no letter or digit, or after the \n of JSON-escaped text. Checked after the
# match, because patterns that start with a literal are searched much faster.
_INSIDE = re.compile(r"(?<=[A-Za-z0-9])(?<!\\[nrt])")

# The same for prefixes that also occur in names: `my-key-…`.
_AFTER_WORD = re.compile(r"(?<=[\w.+/-])(?<!\\[nrt])")

# Length of the shortest format below, without white space.
SHORTEST = 15

# Alphabets of keys. Characters such as `-` and `_` are included if a key may contain them.
ALPHABETS = {
    "hex": "a-f0-9",
    "Hex": "A-Fa-f0-9",
    "lower": "a-z0-9",
    "upper": "A-Z0-9",
    "alnum": "A-Za-z0-9",
    "name": "A-Za-z0-9_",
    "word": r"\w-",
    "dotted": r"\w.-",
    "base64": r"\w+/=-",
}

# Keys recognised by a fixed prefix: kind, prefixes, alphabet of the rest, and its minimum length;
# `=` before the number means an exact length or range. For a prefix that other names share, the
# number ends in `?`: then no word may precede it, and the rest must look random, so that a name
# such as `live_configuration_of_the_project` is kept. To support a new key, add a line.
TABLE = """
github-token        ghp_ gho_ ghu_ ghs_ ghr_                                        alnum   30
github-token        github_pat_                                                     name    36
gitlab-token        glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat-           dotted  20
gitlab-token        gloas- glagent- glffct- glimt- glwt- GR1348941                  word    20?
gitlab-token        _gitlab_session=                                                lower   32
bitbucket-token     ATBB                                                            alnum   24?
atlassian-token     ATATT3 ATCTT3                                                   base64  50
trello-token        ATTA                                                            alnum   60?
google-oauth-secret GOCSPX-                                                         word    20
google-oauth-token  ya29. 1//0                                                      word    20
google-api-key      AQ.                                                             word    40?
anthropic-key       sk-ant-                                                         word    20
npm-token           npm_                                                            alnum   30
huggingface-token   hf_ api_org_                                                    alnum   30
stripe-key          sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_           alnum   10
stripe-webhook      whsec_                                                          base64  20
digitalocean-token  dop_v1_ doo_v1_ dor_v1_                                         hex     40
shopify-token       shpat_ shpca_ shppa_ shpss_                                     Hex     32
heroku-key          HRKU-                                                           word    30
linear-key          lin_api_ lin_oauth_                                             alnum   32?
notion-token        secret_ ntn_                                                    alnum   40
vault-token         hvs. hvb. hvr.                                                  word    20
grafana-token       glsa_ glc_ eyJrIjoi                                             base64  30?
llm-key             gsk_ r8_ xai- pplx- nvapi- csk- tgp_v1_ fw_ lsv2_pt_ lsv2_sk_   word    30?
llm-key             pcsk_ tvly- sk-or-v1- sk-lf- fc- e2b_ apify_api_ wandb_v1_      word    30?
aws-bedrock-key     ABSK                                                            base64  60?
aws-bedrock-key     bedrock-api-key-                                                base64  20
amazon-token        amzn.mws. amzn1.oa2-cs.v1. Atza|                                word    30?
alibaba-key         LTAI                                                            alnum   16?
yandex-key          AQVN YCA YCM                                                    word    35?
jfrog-key           AKCp                                                            alnum   60?
jfrog-key           cmVmdGtu                                                        alnum   50?
1password-token     ops_eyJ                                                         base64  60?
sourcegraph-token   sgp_ slk_                                                       name    40?
fly-token           fm1_ fm2_ fm1a_ fm1r_ fm2a_ fm2r_ fo1_                          base64  40?
brevo-key           xkeysib- xsmtpsib-                                              word    40
shippo-token        shippo_live_ shippo_test_                                       Hex     30
typeform-token      tfp_                                                            word    36?
clojars-token       CLOJARS_                                                        alnum   50?
newrelic-key        NRAK- NRII- NRJS- NRAA- NRIQ- NRRA-                             word    18
prefect-token       pnu_ pnb_                                                       alnum   32?
readme-key          rdme_                                                           lower   40?
scalingo-token      tk-us- tk-eu-                                                   word    40?
square-token        EAAA                                                            word    =22-60?
square-token        sq0atp- sq0csp- sq0idp-                                         word    20
facebook-token      EAAM EAAC EAAB EAAG EAAD                                        alnum   60?
flutterwave-key     FLWSECK- FLWPUBK- FLWSECK_TEST- FLWPUBK_TEST-                   word    12
easypost-key        EZAK EZTK                                                       alnum   50?
vercel-token        vcp_ vci_ vca_ vcr_ vck_                                        alnum   24?
adobe-secret        p8e-                                                            alnum   =32?
clickhouse-key      4b1d                                                            alnum   =38?
cloudflare-key      v1.0- cfk_ cfut_ cfat_                                          word    40?
defined-key         dnkey-                                                          base64  50
octopus-key         API-                                                            upper   =26?
openshift-token     sha256~                                                         word    =43?
postman-key         PMAK-                                                           word    20
netlify-token       nfp_                                                            alnum   36
figma-token         figd_ figo_ figp_ figdr_                                        base64  20
rubygems-key        rubygems_                                                       base64  20
nuget-key           oy2                                                             lower   =43?
crates-token        cio                                                             alnum   =32?
docker-token        dckr_pat_ dckr_oat_                                             word    20
pulumi-token        pul-                                                            word    20?
supabase-key        sbp_ sb_secret_                                                 base64  20
planetscale-token   pscale_tkn_ pscale_oauth_ pscale_pw_                            base64  20
sentry-token        sntrys_ sntryu_                                                 base64  20
tailscale-key       tskey-auth- tskey-api- tskey-client- tskey-scim- tskey-webhook- word    20
doppler-token       dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.                  dotted  32
sonar-token         squ_ sqp_ sqa_ sqco_                                            alnum   36?
snyk-token          snyk_uat. snyk_sat.                                             dotted  30
hubspot-token       pat-na1- pat-na2- pat-eu1-                                      word    32
dynatrace-token     dt0c01. dt0s01. dt0s02. dt0s16.                                 dotted  60
infracost-key       ico-                                                            alnum   =32?
intra42-secret      s-s4t2ud- s-s4t2af-                                             hex     =64
plaid-token         access-sandbox- access-development- access-production-          word    32
duffel-token        duffel_test_ duffel_live_                                       base64  36
frameio-token       fio-u-                                                          base64  50
settlemint-token    sm_pat_ sm_aat_ sm_sat_                                         alnum   16
lob-key             live_pub_ test_pub_                                             hex     30?
gocardless-token    live_                                                           base64  =40?
lob-key             live_ test_                                                     hex     =35?
mailgun-key         pubkey- key-                                                    lower   =32?
contentful-token    CFPAT-                                                          word    36
circleci-token      CCIPAT_                                                         name    50
buildkite-token     bkua_ bkaa_ bkpt_                                               lower   36
razorpay-key        rzp_live_ rzp_test_                                             alnum   14
posthog-key         phx_ phs_                                                       alnum   36?
resend-key          re_                                                             name    =33?
intercom-token      dG9rO                                                           base64  50?
jwt                 ZXlK                                                            base64  70?
dropbox-token       sl.                                                             word    100?
voiceflow-key       VF.DM. VF.WS. VF.                                               dotted  38?
pubnub-key          sec-c- sub-c- pub-c-                                            word    36?
elevenlabs-key      sk_                                                             hex     =48?
klaviyo-key         pk_                                                             hex     =34?
freemius-key        flb_live_ flb_test_                                             alnum   18
cloud-token         bb_pr_ bb_ma_ shltm_ ddp_ ddo_ vtwn_ rnd_ napi_ CCDB1_          alnum   28?
cloud-token         cal_live_ tr_prod_ tr_dev_ signkey-prod- secret-live- hcaik_    word    20?
cloud-token         BBFF- rh-api- endr+ patSAT- shpua_ EZHK lsk_live_ lsk_test_     word    16?
wallet-key          xprv yprv zprv                                                  alnum   100?
"""

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


class Format(NamedTuple):
    """A key format: kind, prefixes and pattern; the pattern has a group `drawn` if that part must
    look random.
    """

    kind: str
    beginnings: tuple[str, ...]
    pattern: str


def formats() -> Iterator[Format]:
    """Yield a pattern for every line of the table."""
    for line in TABLE.strip().splitlines():
        kind, *beginnings, alphabet, length = line.split()
        yield Format(kind, tuple(beginnings), _pattern(beginnings, ALPHABETS[alphabet], length))


def _pattern(
    beginnings: list[str],
    alphabet: str,
    length: str,
) -> str:
    heads = "|".join(re.escape(one) for one in sorted(beginnings, key=len, reverse=True))
    name = "?P<drawn>" if length.endswith("?") else "?:"
    number = length.strip("=?").replace("-", ",")
    if length.startswith("="):
        return rf"(?:{heads})({name}[{alphabet}]{{{number}}})(?![\w-])"
    return rf"(?:{heads})({name}[{alphabet}]{{{number},}}+)"


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
