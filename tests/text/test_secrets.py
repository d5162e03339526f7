"""What the scanner hides and what it leaves alone. Secrets are put together here, so that no other scanner wakes."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.text.secrets import Secret, find_secrets, redact

MIXED = "a1B2c3D4e5F6g7H8"
HEX = "0123456789abcdef"
BODY = "\n".join([base64.b64encode(bytes(range(48))).decode()] * 4)

TOKENS = {
    "aws-access-key": ["AKIA" + "QWERTY2345ASDFGH", "ASIA" + "QWERTY2345ASDFGH"],
    "github-token": ["ghp_" + "a1B2" * 9, "gho_" + MIXED * 3, "github_pat_" + MIXED + "_" + MIXED * 3],
    "gitlab-token": ["glpat-" + "a1B2c" * 4],
    "slack-token": ["xoxb-" + "1234567890-" * 2 + MIXED, "xapp-1-" + MIXED * 2],
    "google-api-key": ["AIza" + "a1B2c" * 7],
    "google-oauth-secret": ["GOCSPX-" + "a1B2" * 7],
    "stripe-key": ["sk_live_" + MIXED * 2, "rk_live_" + MIXED * 2],
    "openai-key": ["sk-" + MIXED * 3, "sk-proj-" + MIXED * 4],
    "anthropic-key": ["sk-ant-api03-" + MIXED * 5],
    "npm-token": ["npm_" + "a1B2" * 9],
    "pypi-token": ["pypi-AgEIcHlwaS5vcmc" + MIXED * 3],
    "huggingface-token": ["hf_" + "aBcDeFgHiJ" * 4],
    "sendgrid-key": ["SG." + "a1B2c3D4e5F" * 2 + "." + MIXED * 2],
    "twilio-key": ["SK" + HEX * 2],
    "discord-token": ["M" + "a1B2c3D4" * 3 + ".a1B2c3." + MIXED * 2],
    "digitalocean-token": ["dop_v1_" + HEX * 4],
    "databricks-token": ["dapi" + HEX * 2],
    "shopify-token": ["shpat_" + HEX * 2],
    "mailgun-key": ["key-" + HEX * 2],
    "linear-key": ["lin_api_" + MIXED * 3],
    "notion-token": ["secret_" + MIXED * 3, "ntn_" + MIXED * 3],
    "vault-token": ["hvs." + MIXED * 2],
    "age-key": ["AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0" * 4],
    "jwt": ["eyJ" + MIXED + ".eyJ" + MIXED + "." + MIXED * 2],
}
IN_CONTEXT = [
    ("slack-webhook", "https://hooks.slack.com/services/", "T" + MIXED + "/B" + MIXED),
    ("azure-key", "AccountName=x;AccountKey=", MIXED * 4 + "=="),
    ("telegram-token", "bot 123456789:", "AAa1B" * 7),
    ("aws-secret-key", "aws_secret_access_key = ", "a1B2c3D4e5" * 4),
    ("heroku-key", "HEROKU_API_KEY=", "01234567-89ab-cdef-0123-456789abcdef"),
    ("url-password", "postgres://ann:", "s3same"),
    ("auth-header", "Authorization: Bearer ", MIXED * 2),
    ("auth-header", "authorization: Basic ", base64.b64encode(b"ann:hunter2").decode()),
    ("auth-header", '{"registry.example.org": {"auth": "', base64.b64encode(b"ann:hunter2").decode()),
]
NAMED = """
    password=HIDE|DB_PASSWORD=HIDE|"password": "HIDE"|export TOKEN=HIDE|secret: HIDE|api_key = 'HIDE'
    refreshToken: "HIDE"|config['password'] = 'HIDE'|<password>HIDE</password>|mysql --password HIDE db
    curl -u ann:HIDE https://x|Server=x;User ID=sa;Password=HIDE;|https://x/?a=b&access_token=HIDE&c=d
    \\"password\\": \\"HIDE\\"|ENV API_KEY HIDE|my password is HIDE|My password is now HIDE.
    the wifi password for guests: HIDE|I changed my password to HIDE|ann and password HIDE|the API key is HIDE
    mein Passwort ist HIDE|Kennwort: HIDE|mi contraseña es HIDE|mon mot de passe est HIDE|a senha é HIDE
    docker login -u ann -p HIDE registry.example.org|mysql -u root -p'HIDE' shop|the sudo password HIDE works
    het wachtwoord is HIDE|мой пароль: HIDE|我的密码是HIDE|パスワードはHIDEです
"""
LOOK_ALIKES = """
    task_management_module|keyboard_shortcut_map|risk-assessment-report|tokenizer_config_path|disk_usage_threshold
    password: str|password: Optional[str] = None|password=None|password = self.password|login(user, password=pwd)
    token = get_token()|token = parts[2]|token = os.environ["TOKEN"]|API_KEY=${API_KEY}|api_key: <your-key>
    mysql -p shop|mysql -P 3306 shop|docker login -p $TOKEN registry|{"auth": "oauth2-proxy"}|{"auth": "basic"}
    token: xxxxx|password: ********|password=changeme|"password": "Password must be at least 8 characters"
    password = "password"|max_tokens=4096|next_page_token=CAUQAA12345|nextPageToken: "abc123def456"|primary_key=True
    cache_key = "user:123:x"|the password is stored hashed|the password is SHA-256 hashed|my password is wrong
    password: minimum 8 characters|the password is 8-16 characters long|das Passwort ist falsch
    la contraseña es incorrecta|le mot de passe est incorrect|пароль: обязательно|密码是必填项
    the secret is in the sauce
    the key is under the mat|bearer of bad news|tests pass: 1234|postgres://user:password@localhost/db
    https://example.com:8080/path@v2|git@github.com:org/repo.git|pin: numpy==1.26.4
    9fceb02d0ae598e95dc970b74767f19372d61af8|token revoked in commit 9fceb02d0ae598e95dc970b74767f19372d61af8
    550e8400-e29b-41d4-a716-446655440000|sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
    "jsonwebtoken": "^9.0.2"|"integrity": "sha512-cxlTbGBOrBiAD6Yl2fJPtyWwEU9TRBy4sHTY1Ha6TxJ8KTyx6yVkO0DGfVTzJyWc=="
    data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk|monkey=banana12|compass=north42
    ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7vbqajDhA ann@host|password: /run/secrets/db|password: ${{ secrets.DB }}
    files with -----BEGIN RSA PRIVATE KEY----- are rejected|ghp_ tokens are classic|sk-learn-based-model-for-2024
"""
WORDS = [
    "password",
    "token",
    "key",
    "pin",
    "=",
    ":",
    " is ",
    " ",
    "\n",
    '"',
    "'",
    "://",
    "@",
    "(",
    ".",
    "\\n",
    "密码是",
    "İ",
]
VALUES = [
    "hunter2",
    "4821",
    MIXED * 2,
    "ghp_" + "a1B2" * 9,
    "sk-",
    "eyJ",
    "[REDACTED:password]",
    "-----BEGIN PRIVATE KEY-----",
]
SCRAPS = st.lists(st.sampled_from(WORDS + VALUES), max_size=14).map("".join)
BEGINNINGS = """
    eyJ-|eyJa.|sk-a-|ghp_|xoxb-|AKIA|aws secret |://a:b|bearer |-----BEGIN PRIVATE KEY-----|password=|password="
    password is |password for the |token=token=|key |AccountKey=|密码
"""


def cases(table: str) -> list[str]:
    return [case for line in table.strip().splitlines() for case in line.strip().split("|")]


@pytest.mark.parametrize(("kind", "token"), [(kind, token) for kind, tokens in TOKENS.items() for token in tokens])
@pytest.mark.parametrize(
    "around", ["{}", "use {} please", '"{}",', "`{}`", "a\\n{}\\nb", "({}).", "https://x/?t={}&y=1"]
)
def test_a_known_token_is_replaced_by_its_kind(kind: str, token: str, around: str) -> None:
    assert redact(around.format(token))[0] == around.format(f"[REDACTED:{kind}]")


@pytest.mark.parametrize(("kind", "before", "secret"), IN_CONTEXT)
def test_only_the_secret_part_is_replaced(kind: str, before: str, secret: str) -> None:
    after = "@db/x" if kind == "url-password" else '" and more' if before.endswith('"') else " and more"
    assert redact(before + secret + after)[0] == f"{before}[REDACTED:{kind}]{after}"


@pytest.mark.parametrize("label", ["RSA ", "EC ", "OPENSSH ", ""])
@pytest.mark.parametrize("newline", ["\n", "\\n"])
def test_the_body_of_a_private_key_is_replaced(label: str, newline: str) -> None:
    key = f"-----BEGIN {label}PRIVATE KEY-----\n{BODY}\n-----END {label}PRIVATE KEY-----".replace("\n", newline)
    redacted = redact(f"my key:{newline}{key}{newline}bye")[0]
    assert BODY[:20] not in redacted
    assert "[REDACTED:private-key]" in redacted
    assert redacted.endswith("bye")


def test_a_private_key_without_its_end_is_replaced() -> None:
    redacted = redact(f"-----BEGIN PRIVATE KEY-----\n{BODY}")[0]
    assert redacted == "-----BEGIN PRIVATE KEY-----[REDACTED:private-key]"


@pytest.mark.parametrize("case", cases(NAMED))
def test_a_value_named_as_a_secret_is_replaced(case: str) -> None:
    redacted, secrets = redact(case.replace("HIDE", "hunter2x9"))
    assert [secret.kind for secret in secrets] in (["password"], ["token"])
    assert redacted == case.replace("HIDE", f"[REDACTED:{secrets[0].kind}]")


@pytest.mark.parametrize("password", ["Sommer2024!", "p&ss(w0rd", "it's-99", "correct-horse-battery", "12345678"])
def test_odd_passwords_go_as_a_whole(password: str) -> None:
    quote = '"' if "'" in password else ""
    assert redact(f"DB_PASSWORD={quote}{password}{quote}\n")[0] == f"DB_PASSWORD={quote}[REDACTED:password]{quote}\n"


def test_a_random_string_close_to_a_telling_word_is_a_secret() -> None:
    assert redact(f"here is the key we use in prod {MIXED}x9Y8")[0] == "here is the key we use in prod [REDACTED:token]"


@pytest.mark.parametrize("case", cases(LOOK_ALIKES))
def test_look_alikes_are_left_alone(case: str) -> None:
    assert redact(case) == (case, [])


def test_secrets_come_in_order_with_their_places() -> None:
    text = f"pin is 4821, password=hunter2 and {'ghp_' + 'a1B2' * 9}"
    found = find_secrets(text)
    assert [(text[s.start : s.end][:7], s.kind) for s in found] == [
        ("4821", "pin"),
        ("hunter2", "password"),
        ("ghp_a1B", "github-token"),
    ]
    assert isinstance(found[0], Secret)


def test_a_named_token_has_the_kind_of_its_format() -> None:
    assert [secret.kind for secret in find_secrets("token=" + "ghp_" + "a1B2" * 9)] == ["github-token"]


@settings(deadline=None)
@given(st.one_of(st.text(), SCRAPS))
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redact(text)[0]
    assert redact(once) == (once, [])


@settings(deadline=None)
@given(SCRAPS)
def test_found_places_are_ordered_and_apart(text: str) -> None:
    found = find_secrets(text)
    edges = [edge for secret in found for edge in (secret.start, secret.end)]
    assert edges == sorted(edges)
    assert all(secret.start < secret.end <= len(text) for secret in found)


@pytest.mark.parametrize("unit", ["a", "=", '"', "'", "-", "_", ".", ":", "/", "\\", "[", "\n", "1", "aA1"])
def test_a_million_characters_without_secrets_are_no_burden(unit: str) -> None:
    assert find_secrets(unit * (1_000_000 // len(unit))) == []


@pytest.mark.parametrize("unit", cases(BEGINNINGS))
def test_a_text_made_of_beginnings_takes_linear_time(unit: str) -> None:
    assert find_secrets(unit * (50_000 // len(unit))) == []


def test_a_secret_of_any_length_goes_as_a_whole() -> None:
    long = MIXED * 5_000
    assert redact(f"token={long} end")[0] == "token=[REDACTED:token] end"
