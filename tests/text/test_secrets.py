"""What the scanner hides and what it leaves alone. Secrets are put together here, so that no other
scanner wakes.
"""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.text.secret_formats import ALPHABETS, TABLE, formats
from holdfast.text.secrets import Secret, find_secrets, redact

MIXED = "a1B2c3D4e5F6g7H8"
HEX = "0123456789abcdef"
GITHUB = "ghp_" + "a1B2" * 9
UUID = "01234567-89ab-cdef-0123-456789abcdef"
BODY = "\n".join([base64.b64encode(bytes(range(48))).decode()] * 4)
words = str.split


def cases(table: str) -> list[str]:
    return [case for line in table.strip().splitlines() for case in line.strip().split("|")]


TOKENS = {
    "aws-access-key": [start + "QWERTY2345ASDFGH" for start in ("AKIA", "ASIA", "ABIA", "ACCA")],
    "github-token": [
        *(f"gh{letter}_" + "a1B2" * 9 for letter in "pousr"),
        "gho_" + MIXED * 3,
        "github_pat_" + MIXED + "_" + MIXED * 3,
    ],
    "gitlab-token": [
        f"gl{of}-" + "a1B2c" * 4 for of in ("pat", "dt", "rt", "cbt", "ptt", "ft", "soat")
    ],
    "slack-token": ["xoxb-" + "1234567890-" * 2 + MIXED, "xapp-1-" + MIXED * 2],
    "google-api-key": ["AIza" + "a1B2c" * 7],
    "google-oauth-secret": ["GOCSPX-" + "a1B2" * 7],
    "google-oauth-token": ["ya29." + MIXED * 2],
    "stripe-key": [f"{of}k_{at}_" + MIXED * 2 for of in "sr" for at in ("live", "test")],
    "stripe-webhook": ["whsec_" + MIXED * 2],
    "openai-key": ["sk-" + MIXED * 3, "sk-proj-" + MIXED * 4],
    "anthropic-key": ["sk-ant-api03-" + MIXED * 5, "sk-ant-" + "aBcDeFgHiJ" * 3],
    "npm-token": ["npm_" + "a1B2" * 9],
    "pypi-token": ["pypi-AgEIcHlwaS5vcmc" + MIXED * 3],
    "huggingface-token": ["hf_" + "aBcDeFgHiJ" * 4, "api_org_" + "aBcDeFgHiJ" * 4],
    "sendgrid-key": ["SG." + "a1B2c3D4e5F" * 2 + "." + MIXED * 2],
    "twilio-key": ["SK" + HEX * 2],
    "discord-token": ["M" + "a1B2c3D4" * 3 + ".a1B2c3." + MIXED * 2],
    "digitalocean-token": ["dop_v1_" + HEX * 4],
    "databricks-token": ["dapi" + HEX * 2],
    "shopify-token": [f"shp{of}_" + HEX * 2 for of in ("at", "ca", "pa", "ss")],
    "mailgun-key": ["key-" + HEX * 2],
    "heroku-key": ["HRKU-" + MIXED * 2],
    "linear-key": ["lin_api_" + MIXED * 3, "lin_oauth_" + MIXED * 3],
    "notion-token": ["secret_" + MIXED * 3, "ntn_" + MIXED * 3],
    "vault-token": [f"hv{of}." + MIXED * 2 for of in "sbr"],
    "age-key": ["AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0" * 4],
    "jwt": ["eyJ" + MIXED + ".eyJ" + MIXED + "." + MIXED * 2],
    "atlassian-token": ["ATATT3" + MIXED * 4],
    "airtable-token": ["pat" + MIXED[:14] + "." + HEX * 4],
    "docker-token": ["dckr_pat_" + MIXED * 2],
    "cloud-token": [MIXED[:14] + ".atlasv1." + MIXED * 3],
    "grafana-token": ["glsa_" + MIXED * 2, "glc_" + MIXED * 2],
    "llm-key": [start + MIXED * 2 for start in words("gsk_ r8_ xai- pplx- nvapi-")],
}
IN_CONTEXT = [
    ("slack-webhook", "https://hooks.slack.com/services/", "T" + MIXED + "/B" + MIXED),
    ("discord-webhook", "https://discord.com/api/webhooks/", "123456789012345678/" + MIXED * 4),
    ("azure-key", "AccountName=x;AccountKey=", MIXED * 4 + "=="),
    ("azure-key", "Endpoint=sb://x/;SharedAccessKey=", MIXED * 4 + "="),
    ("azure-sas", "https://x.blob.core.windows.net/y?sv=2024&sig=", MIXED * 2 + "%2B"),
    ("telegram-token", "bot 123456789:", "AAa1B" * 7),
    ("aws-secret-key", "aws_secret_access_key = ", "a1B2c3D4e5" * 4),
    ("aws-secret-key", "AWS, the other half: ", "a1B2c3D4e5" * 4),
    ("aws-secret-key", "Aws, the other half: ", "a1B2c3D4e5" * 4),
    ("aws-secret-key", "AKIA[REDACTED:aws-access-key] and ", "a1B2c3D4e5" * 4),
    ("aws-secret-key", "ASIA[REDACTED:aws-access-key] and ", "a1B2c3D4e5" * 4),
    ("heroku-key", "HEROKU_API_KEY=", UUID),
    ("heroku-key", "the Heroku one is ", UUID),
    ("heroku-key", "heroku auth gave ", UUID),
    ("heroku-key", "heroku", UUID),
    ("url-password", "postgres://ann:", "s3same"),
    ("auth-header", "Authorization: Bearer ", MIXED * 2),
    ("auth-header", "sent as bearer ", MIXED * 2),
    ("auth-header", "authorization: Basic ", base64.b64encode(b"ann:hunter2").decode()),
    (
        "auth-header",
        '{"registry.example.org": {"auth": "',
        base64.b64encode(b"ann:hunter2").decode(),
    ),
]
AROUND = ["{}", "use {} please", '"{}",', "`{}`", "a\\n{}\\nb", "({}).", "https://x/?t={}&y=1"]
NAMED = """
    password=HIDE|DB_PASSWORD=HIDE|"password": "HIDE"|export TOKEN=HIDE|secret: HIDE
    api_key = 'HIDE'
    refreshToken: "HIDE"|config['password'] = 'HIDE'|<password>HIDE</password>
    mysql --password HIDE db
    curl -u ann:HIDE https://x|Server=x;User ID=sa;Password=HIDE;
    https://x/?a=b&access_token=HIDE&c=d
    \\"password\\": \\"HIDE\\"|ENV API_KEY HIDE|my password is HIDE|My password is now HIDE.
    the wifi password for guests: HIDE|I changed my password to HIDE|ann and password HIDE
    the API key is HIDE
    mein Passwort ist HIDE|Kennwort: HIDE|mi contraseña es HIDE|mon mot de passe est HIDE
    a senha é HIDE
    docker login -u ann -p HIDE registry.example.org|mysql -u root -p'HIDE' shop
    the sudo password HIDE works
    podman login -u ann -p HIDE registry.example.org|sshpass -p HIDE ssh db|login ann password HIDE
    curl --user ann:HIDE https://x|with password HIDE|mit dem Passwort HIDE|con la contraseña HIDE
    avec le mot de passe HIDE|DB_PASSWORD_2=HIDE|TOKEN_PROD=HIDE|password1: HIDE
    the token "HIDE" works
    cmd --api-token HIDE|ARG DB_PASSWORD HIDE|open 'https://x/?password=HIDE'
    https://x/?token=HIDE&d1|my password is HIDE(see note 3)
    mysql --password 'HIDE' db|log in with password 'HIDE'.|the Wi-Fi password “HIDE” is old
    user ann, pw `HIDE`
    İİ PASSWORD=HIDE bye|https://x/?access_token=HIDE&c=d1|(DB_PASSWORD=HIDE).
    het wachtwoord is HIDE|мой пароль: HIDE|我的密码是HIDE|パスワードはHIDEです
"""
LOOK_ALIKES = """
    task_management_module|keyboard_shortcut_map|risk-assessment-report|tokenizer_config_path
    disk_usage_threshold
    password: str|password: Optional[str] = None|password=None|password = self.password
    login(user, password=pwd)
    token = get_token()|token = parts[2]|token = os.environ["TOKEN"]|API_KEY=${API_KEY}
    api_key: <your-key>
    mysql -p shop|mysql -P 3306 shop|docker login -p $TOKEN registry|{"auth": "oauth2-proxy"}
    {"auth": "basic"}
    token: xxxxx|password: ********|password=changeme
    "password": "Password must be at least 8 characters"
    password = "password"|max_tokens=4096|next_page_token=CAUQAA12345|nextPageToken: "abc123def456"
    primary_key=True
    cache_key = "user:123:x"|the password is stored hashed|the password is SHA-256 hashed
    my password is wrong
    password: minimum 8 characters|the password is 8-16 characters long|das Passwort ist falsch
    la contraseña es incorrecta|le mot de passe est incorrect|пароль: обязательно|密码是必填项
    the secret is in the sauce
    the key is under the mat|bearer of bad news|tests pass: 1234
    postgres://user:password@localhost/db
    https://example.com:8080/path@v2|git@github.com:org/repo.git|pin: numpy==1.26.4
    9fceb02d0ae598e95dc970b74767f19372d61af8
    token revoked in commit 9fceb02d0ae598e95dc970b74767f19372d61af8
    550e8400-e29b-41d4-a716-446655440000
    sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
    "jsonwebtoken": "^9.0.2"
    "integrity": "sha512-cxlTbGBOrBiAD6Yl2fJPtyWwEU9TRBy4sHTY1Ha6TxJ8KTyx6yVkO0DGfVTzJyWc=="
    data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
    monkey=banana12|compass=north42
    ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7vbqajDhA ann@host|password: /run/secrets/db
    password: ${{ secrets.DB }}
    the xtoken=hunter2x9|jsonwebtoken=hunter2x9|JSONWEBTOKEN=hunter2x9|eXToken=hunter2x9
    we pass to hunter2x9
    token_url a1B2c3D4e5F6g7H8x9Y8|token-type a1B2c3D4e5F6g7H8x9Y8|the key is "hunter2x9"
    key=hunter2x9
    password = load(user1)|password = getpass2(name)|the password 'field' is empty
    we pass "hunter2x9" to it
    the password "user_name" field|the password oauth2flow is gone|the password rules apply to web2
    the bearer long-awaited-news|Authorization: Bearer make_token42(me)
    {"auth": "applicationdefault"}
    files with -----BEGIN RSA PRIVATE KEY----- are rejected|ghp_ tokens are classic
    sk-learn-based-model-for-2024
"""
# What secrets are called, and what a key or a token has to be called besides.
NAMES = {
    "password": [
        *words("""
        password passwd passwort passphrase passcode pwd kennwort contraseña contrasena contraseña
        motdepasse
        mot_de_passe mot-de-passe senha wachtwoord lösenord adgangskode salasana hasło haslo parola
        пароль пароля паролем 密码 密碼 口令 パスワード 비밀번호 암호 pass pw
    """),
        "mot de passe",
    ],
    "token": words("""
        token secret credentials credential _auth schlüssel clave clé chave jeton geheimnis secreto
        segredo
        токен ключ секрет 令牌 密钥 トークン
    """),
}
OF_SECRET_KEYS = words("""
    api access auth secret private encryption signing master account service deploy consumer license
    admin shared
    app application webhook client storage subscription hmac jwt ssh tls decryption encrypt sign
    project root
    wifi wlan wpa network
""")
OF_HARMLESS_TOKENS = words("""
    page next prev continuation csrf xsrf stop start end pad eos bos mask unk sep cls special sync
    cancel cancellation
    public pub cache primary foreign sort partition idempotency row object index lookup translation
    routing i host
    tests checks design syntax parse lexer current max min num per input output prompt completion
    total
    unexpected invalid
""")
# What documentation and forms write where a secret goes.
PLACEHOLDERS = words("""
    your-password-here my-secret-token the-new-passwd put-your-api-key-here
    enter-passphrase-or-passcode change-me
    changeme changeit replaceme replace-this-value insert-access-token fill-in-credentials fixme
    todo-set-pwd tbd-here
    user-pass admin-pw passwort-kennwort contrasena-contraseña-clave senha-parola apikey-auth
    username-credential
    name-string text-str int-bool-boolean bytes-number-float any-object none-null-nil
    undefined-unknown true-false
    yes-no on-off default-empty unset that-our-old current-confirm-repeat-again
    required-optional-requested
    hidden-masked redacted-removed-omitted encrypted-hashed-sensitive secretstr optionalstr
    example-sample dummy-fake
    test-testing-demo-placeholder foo-bar-baz-qux foobar invalid-incorrect-wrong correct-valid
    weak-strong
    expired-missing-needed secure-safe-unsafe stored-saved-sent same-different client-server
    private-public
    hash-field-input type-env-var-variable config-settings-file-path url-id-app prod-dev-local
    root-self args-kwargs
    prompt-ask generate-generated auto-random managed-external keyring-vault-keychain
    basic-bearer-digest
    length-min-max-count-limit and-is-not a-an-to-of for-in-by-it if-with-was be-must-should
    see-readme-docs test-1
""")
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
    eyJ-|eyJa.|sk-a-|ghp_|xoxb-|AKIA|aws secret |://a:b|bearer |-----BEGIN PRIVATE KEY-----
    password=|password="
    password is |password for the |token=token=|key |AccountKey=|密码
"""


@pytest.mark.parametrize("kind", TOKENS)
def test_a_known_token_is_replaced_by_its_kind(kind: str) -> None:
    for token in TOKENS[kind]:
        redacted = [redact(around.format(token))[0] for around in AROUND]
        assert redacted == [around.format(f"[REDACTED:{kind}]") for around in AROUND]


DRAWN = {
    "hex": "0a1b2c3d4e5f6789",
    "Hex": "0a1B2c3D4e5F6789",
    "lower": "k3v5n7q9s1x2z4b6",
    "upper": "K3V5N7Q9S1X2Z4B6",
}
PROSE = [
    "my key is {}, please use it",
    "the deploy failed with {} in the log",
    "({})",
    '"{}"',
    "{}",
]


@pytest.mark.parametrize(
    "line", [line.split() for line in TABLE.strip().splitlines()], ids=lambda line: line[1]
)
def test_a_key_of_every_line_of_the_table_is_hidden_in_prose(line: list[str]) -> None:
    kind, *beginnings, alphabet, length = line
    least = int(length.strip("=?").split("-")[0])
    tail = (DRAWN.get(alphabet, MIXED) * 20)[:least]
    for beginning in beginnings:
        for around in PROSE:
            redacted = redact(around.format(beginning + tail))[0]
            assert tail not in redacted and "[REDACTED:" in redacted, (kind, beginning, around)


def test_every_pattern_of_the_table_repeats_without_a_way_back() -> None:
    for one in formats():
        assert one.pattern.count("{") == 1, "one repetition"
        assert one.pattern.endswith("}+)") or one.pattern.endswith("(?![\\w-])"), (
            "possessive, or of one length"
        )
    assert all("(" not in alphabet for alphabet in ALPHABETS.values())


@pytest.mark.parametrize(
    "text",
    [
        "live_configuration_of_the_whole_project_file",
        "sl.configuration_of_the_client_" * 5,
        "secret_santa_2024_planning",
        "test_pub_sub_message_is_delivered_once",
        "EAAAbcdefghijklmnopqrstuvwxyz",
        "tk-us-east-configuration-of-it",
    ],
)
def test_a_name_that_begins_like_a_key_stays(text: str) -> None:
    assert redact(text) == (text, [])


SHAPES = """
    var githubToken string = "HIDE"|gh_TOKEN ?= "HIDE"|gh_TOKEN ::= "HIDE"|gh_TOKEN :::= "HIDE"
    $ghToken .= "HIDE"
    System.setProperty("GH_TOKEN", "HIDE")|val token: String = "HIDE"|let token: &str = "HIDE";
    token ??= "HIDE"
    <add key="ApiToken" value="HIDE" />|IAMToken = "HIDE"|roninAPIKey := HIDE
"""


@pytest.mark.parametrize("case", cases(SHAPES))
def test_assignments_of_many_languages_are_known(case: str) -> None:
    value = "k3v5n7q9s1x2z4b6" * 2
    assert redact(case.replace("HIDE", value))[0] == case.replace("HIDE", "[REDACTED:token]")


@pytest.mark.parametrize(
    "around", ["<apiToken>\n    {}\n</apiToken>", "api_token: |\n  {}\n", "api_token: >-\n  {}\n"]
)
def test_a_value_on_a_line_of_its_own_is_known(around: str) -> None:
    assert redact(around.format(MIXED * 2))[0] == around.format("[REDACTED:token]")


def test_names_that_stand_in_a_list_are_no_values() -> None:
    for text in (
        '("password", "user_name")',
        '["token", "proxy.example.com:3128"]',
        '("api_key", "githubPrivateKeyNew")',
    ):
        assert redact(text) == (text, [])


@pytest.mark.parametrize("password", ["p4", "a1b", "s3s"])
def test_a_short_password_in_a_url_is_hidden(password: str) -> None:
    assert (
        redact(f"redis://:{password}@cache:6379/0")[0]
        == "redis://:[REDACTED:url-password]@cache:6379/0"
    )


@pytest.mark.parametrize(
    "url",
    [
        "ftp://u:p@host/x",
        "postgres://user:password@localhost/db",
        "amqp://u:%s@mq",
        "http://u:***@h",
    ],
)
def test_what_a_manual_writes_for_a_password_in_a_url_stays(url: str) -> None:
    assert redact(url) == (url, [])


def _with_check_digit(digits: str) -> str:
    doubled = sum(int(d) * 2 - 9 * (int(d) > 4) for d in digits[::-2]) + sum(
        map(int, digits[-2::-2])
    )
    return digits + str(-doubled % 10)


@pytest.mark.parametrize(
    "start",
    ["411111111111111", "555500001234567", "222100001234567", "60110000123456", "37828224631000"],
)
def test_a_card_number_is_hidden_if_its_check_digit_is_right(start: str) -> None:
    number = _with_check_digit(start.ljust(14 if start.startswith("37") else 15, "3"))
    assert redact(f"charge {number} now")[0] == "charge [REDACTED:card-number] now"
    wrong = number[:-1] + str((int(number[-1]) + 1) % 10)
    assert redact(f"charge {wrong} now")[1] == []


def test_a_card_number_in_groups_is_hidden_and_one_inside_another_number_is_not() -> None:
    number = _with_check_digit("411111111111111")
    grouped = " ".join(number[at : at + 4] for at in range(0, 16, 4))
    assert redact(f"card {grouped}, exp 12/27")[0] == "card [REDACTED:card-number], exp 12/27"
    for text in (f"id={number}", f"0.{number}", f"{number}77", f"/{number}/x", f"a{number}"):
        assert redact(text)[1] == []


SEED = words("legal winner thank year wave sausage worth useful legal winner thank yellow")


@pytest.mark.parametrize(
    "around",
    [
        " ".join,
        ", ".join,
        "\n".join,
        lambda seed: " ".join(s.upper() for s in seed),
        lambda seed: " ".join(f"{n}. {w}" for n, w in enumerate(seed, 1)),
    ],
)
def test_a_seed_phrase_is_hidden(around) -> None:
    redacted = redact(f"My wallet: {around(SEED)}. Keep it!")[0]
    assert "[REDACTED:seed-phrase]" in redacted
    assert not {"sausage", "YELLOW", "yellow", "SAUSAGE"} & set(redacted.replace(".", " ").split())
    assert redacted.startswith("My wallet: ") and redacted.endswith(" Keep it!")


def test_eleven_words_of_the_list_and_a_chant_of_one_are_no_seed_phrase() -> None:
    for text in (
        " ".join(SEED[:11]),
        " ".join(["legal"] * 24),
        "We went home after the long day and slept until noon",
    ):
        assert redact(text)[1] == []


def test_the_values_of_a_kubernetes_secret_are_hidden_and_those_of_a_config_map_are_not() -> None:
    secret = (
        "apiVersion: v1\nkind: Secret\ndata:\n  extra: YWRtaW46czNjcmV0\nmetadata:\n  name: "
        "some-name-here\n"
    )
    other = "---\nkind: ConfigMap\ndata:\n  level: configuration-level\n"
    redacted = redact(secret + other)[0]
    assert redacted == secret.replace("YWRtaW46czNjcmV0", "[REDACTED:kubernetes-secret]") + other


def test_a_key_that_is_repeated_without_its_name_is_hidden_everywhere() -> None:
    value = "k3v5n7q9s1x2z4b6" * 2
    assert value not in redact(f"token = '{value}'\nretry with {value} later, then {value}")[0]


@pytest.mark.parametrize(("kind", "before", "secret"), IN_CONTEXT)
def test_only_the_secret_part_is_replaced(kind: str, before: str, secret: str) -> None:
    after = (
        "@db/x" if kind == "url-password" else '" and more' if before.endswith('"') else " and more"
    )
    assert redact(before + secret + after)[0] == f"{before}[REDACTED:{kind}]{after}"


@pytest.mark.parametrize("label", ["RSA ", "EC ", "OPENSSH ", ""])
@pytest.mark.parametrize("newline", ["\n", "\\n"])
def test_the_body_of_a_private_key_is_replaced(label: str, newline: str) -> None:
    key = f"-----BEGIN {label}PRIVATE KEY-----\n{BODY}\n-----END {label}PRIVATE KEY-----".replace(
        "\n", newline
    )
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


@pytest.mark.parametrize("kind", NAMES)
def test_secrets_are_known_by_name_in_many_languages(kind: str) -> None:
    lines = [f"{name}: HIDE" for name in NAMES[kind]]
    redacted = [redact(line.replace("HIDE", "hunter2x9"))[0] for line in lines]
    assert redacted == [line.replace("HIDE", f"[REDACTED:{kind}]") for line in lines]


def test_a_mere_key_is_a_secret_one_if_a_word_before_it_says_so() -> None:
    assert redact("key = hunter2x9")[1] == []
    redacted = [redact(f"{word}_key = hunter2x9")[0] for word in OF_SECRET_KEYS]
    assert redacted == [f"{word}_key = [REDACTED:token]" for word in OF_SECRET_KEYS]


def test_a_token_is_harmless_if_a_word_before_it_says_so() -> None:
    assert redact("my_token = hunter2x9")[1] != []
    assert [word for word in OF_HARMLESS_TOKENS if redact(f"{word}_token = hunter2x9")[1]] == []


def test_what_stands_where_a_secret_goes_is_none() -> None:
    assert [text for text in PLACEHOLDERS if redact(f'DB_PASSWORD="{text}"')[1]] == []
    assert redact('DB_PASSWORD="your-aunt-here"')[1] != []


@pytest.mark.parametrize(
    "password", ["Sommer2024!", "p&ss(w0rd", "it's-99", "correct-horse-battery", "hunter!2(x9"]
)
def test_odd_passwords_go_as_a_whole(password: str) -> None:
    quote = '"' if "'" in password else ""
    assert (
        redact(f"DB_PASSWORD={quote}{password}{quote}\n")[0]
        == f"DB_PASSWORD={quote}[REDACTED:password]{quote}\n"
    )


def test_a_password_ends_before_what_ends_the_sentence_or_the_argument() -> None:
    assert redact("(DB_PASSWORD=p&w0rd).")[0] == "(DB_PASSWORD=[REDACTED:password])."
    far = "and so on " * 40
    assert (
        redact(f"{far}Password=hunter2;Server=db1")[0]
        == f"{far}Password=[REDACTED:password];Server=db1"
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("admin_pass=hunter2x9", "password"),
        ("admin_pw=hunter2x9", "password"),
        ("wifi pin: 4821", "pin"),
        (f"key={MIXED}x9Y8", "token"),
    ],
)
def test_what_was_hidden_is_called_what_it_was_called(text: str, kind: str) -> None:
    assert [secret.kind for secret in find_secrets(text)] == [kind]


def test_one_name_may_follow_upon_the_value_of_another() -> None:
    assert (
        redact("密码是hunter2密码是hunter3")[0]
        == "密码是[REDACTED:password]密码是[REDACTED:password]"
    )


def test_a_random_string_close_to_a_telling_word_is_a_secret() -> None:
    assert (
        redact(f"here is the key we use in prod {MIXED}x9Y8")[0]
        == "here is the key we use in prod [REDACTED:token]"
    )
    assert redact(f"key{' ' * 60}{MIXED}x9Y8")[1] != [], "it ends 80 characters after the name"
    assert redact(f"key{' ' * 61}{MIXED}x9Y8")[1] == []
    assert redact(f"the key:\n{MIXED}x9Y8")[1] == []


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
    assert (
        redact(f"{GITHUB} token={GITHUB}")[0]
        == "[REDACTED:github-token] token=[REDACTED:github-token]"
    )
    assert redact(f"password=xoxb-1234567890-{MIXED}")[0] == "password=[REDACTED:slack-token]"


def test_two_secrets_side_by_side_stay_two_and_those_that_overlap_become_one() -> None:
    assert (
        redact(f"https://x?sig={MIXED * 2}={GITHUB}")[0]
        == "https://x?sig=[REDACTED:azure-sas][REDACTED:github-token]"
    )
    assert (
        redact(f"AccountKey={MIXED * 4}=={GITHUB} bye")[0] == "AccountKey=[REDACTED:azure-key] bye"
    )


def test_hiding_one_secret_may_show_another() -> None:
    text = f"see {GITHUB} and password:hunter2.{GITHUB} bye"
    redacted, secrets = redact(text)
    assert redacted == (
        "see [REDACTED:github-token] and password:[REDACTED:password].[REDACTED:github-token] bye"
    )
    assert [text[secret.start : secret.end] for secret in secrets] == [GITHUB, "hunter2", GITHUB]


def test_what_was_redacted_before_names_nothing_and_is_not_hidden_again() -> None:
    for text in ("[REDACTED:password]: hunter2x9", 'password="x9y[REDACTED:token]"'):
        assert redact(text) == (text, [])
    assert (
        redact("[REDACTED:pin] password=hunter2 bye")[0]
        == "[REDACTED:pin] password=[REDACTED:password] bye"
    )


def test_even_short_words_may_be_secrets() -> None:
    assert redact("PIN is 4821")[0] == "PIN is [REDACTED:pin]"
    assert redact("xoxb-1234567890")[0] == "[REDACTED:slack-token]"


def test_a_token_begins_a_word_and_does_not_end_in_one_or_two_letters_repeated() -> None:
    assert redact(f"x{GITHUB}")[1] == []
    for filler in ("x" * 36, "ab" * 18, "a1B2c3D4e5F6" + "0" * 24):
        assert redact(f"ghp_{filler}")[1] == []
    assert redact("ghp_" + "abc" * 12)[1] != []


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


@pytest.mark.parametrize(
    "unit", ["a", "=", '"', "'", "-", "_", ".", ":", "/", "\\", "[", "\n", "1", "aA1"]
)
def test_a_million_characters_without_secrets_are_no_burden(unit: str) -> None:
    assert find_secrets(unit * (1_000_000 // len(unit))) == []


@pytest.mark.parametrize("unit", cases(BEGINNINGS))
def test_a_text_made_of_beginnings_takes_linear_time(unit: str) -> None:
    assert find_secrets(unit * (50_000 // len(unit))) == []


def test_a_secret_of_any_length_goes_as_a_whole() -> None:
    long = MIXED * 5_000
    assert redact(f"token={long} end")[0] == "token=[REDACTED:token] end"
