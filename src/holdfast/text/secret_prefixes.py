"""Keys recognised by a fixed prefix: one line each, from which the patterns are built.

A line has the kind, the prefixes, the alphabet of the rest, and its minimum length; `=` before the
number means an exact length or range. For a prefix that other names share, the number ends in `?`:
then no word may precede it, and the rest must look random, so that a name such as
`live_configuration_of_the_project` is kept. To support a new key, add a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

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


# CamelCase with parts as long as words, and the same with numbers: `ReadSshKey2From14d`.
_NAME = re.compile(r"[a-z]*(?:[A-Z][a-z]{2,}|[A-Z]{2,5}(?=[A-Z]|$))*")
_NUMBERED_NAME = re.compile(r"[a-z]{2,}\d{0,2}(?:[A-Z][a-z]{1,}\d{0,2}){1,}[a-z]?")


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
