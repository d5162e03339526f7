"""Secrets and look-alikes in the surroundings in which coding sessions show them: logs, diffs,
configuration, talk.

The surroundings are written by hand; the values are drawn anew from a seed, so that no file of this
repository holds anything that looks like a live key. `«…»` marks where a value goes. A look-alike
is a text in which nothing may be hidden.
"""

from __future__ import annotations

import base64
import random
import re
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

Make = Callable[[random.Random], str]
LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM, HEX, WORD = LOWER + UPPER + DIGITS, DIGITS + "abcdef", LOWER + UPPER + DIGITS + "_-"
WORDS = re.findall(
    r"\w+",
    "anchor basil copper delta ember falcon garnet harbor indigo juniper kernel lantern marble "
    "nectar orchid pepper "
    "quartz raven saddle timber umber velvet walnut yonder zephyr",
)


class Sample(NamedTuple):
    """A text and the values in it that must not stay; of a look-alike there are none."""

    kind: str
    text: str
    secrets: tuple[str, ...] = ()


def drawn(alphabet: str, length: int, prefix: str = "") -> Make:
    """Values of a prefix and so many characters, with at least one digit and one letter among
    them.
    """

    def make(chance: random.Random) -> str:
        while True:
            tail = "".join(chance.choice(alphabet) for _ in range(length))
            if re.search(r"\d", tail) and re.search(r"[A-Za-z]", tail):
                return prefix + tail

    return make


def joined(*parts: Make | str) -> Make:
    """Values made of several parts, one after the other."""
    return lambda chance: "".join(part if isinstance(part, str) else part(chance) for part in parts)


def encoded(make: Make) -> Make:
    """The same in base64, as Kubernetes and Docker keep it."""
    return lambda chance: base64.b64encode(make(chance).encode()).decode()


def password(chance: random.Random) -> str:
    """What a person would choose: a word, figures, a mark."""
    word, other = chance.sample(WORDS, 2)
    return chance.choice(
        (
            f"{word.title()}{chance.randint(10, 9999)}!",
            f"{word}-{other}-{chance.randint(10, 99)}",
            f"{word[0].upper()}{word[1:3]}#{other}{chance.randint(1, 99)}",
            f"{other}{chance.choice('$%&+')}{chance.randint(100, 999)}{word.upper()[:2]}",
        )
    )


def _armour(chance: random.Random) -> str:
    lines = [
        "".join(chance.choice(ALNUM + "+/") for _ in range(64)) for _ in range(chance.randint(4, 9))
    ]
    return "\n".join(lines)


def _escaped_armour(chance: random.Random) -> str:
    return _armour(chance).replace("\n", "\\n")


def _segment(length: int) -> Make:
    return drawn(WORD, length, "eyJ")


JWT = joined(_segment(30), ".", _segment(60), ".", drawn(WORD, 43))
AWS_SECRET = drawn(ALNUM + "/+", 40)

# Tokens that show what they are. Each is put into every one of the surroundings below.
TOKENS: dict[str, tuple[str, Make]] = {
    "aws access key": ("AWS_ACCESS_KEY_ID", drawn(UPPER + "234567", 16, "AKIA")),
    "github token": ("GITHUB_TOKEN", drawn(ALNUM, 36, "ghp_")),
    "github app token": ("GH_TOKEN", drawn(ALNUM, 36, "ghs_")),
    "github fine-grained": (
        "GITHUB_PAT",
        joined(drawn(ALNUM, 22, "github_pat_"), "_", drawn(ALNUM, 59)),
    ),
    "gitlab token": ("GITLAB_TOKEN", drawn(WORD, 20, "glpat-")),
    "slack bot token": (
        "SLACK_BOT_TOKEN",
        joined("xoxb-", drawn(DIGITS + "a", 12), "-", drawn(ALNUM, 24)),
    ),
    "stripe key": ("STRIPE_SECRET_KEY", drawn(ALNUM, 24, "sk_live_")),
    "stripe webhook": ("STRIPE_WEBHOOK_SECRET", drawn(ALNUM, 32, "whsec_")),
    "openai key": ("OPENAI_API_KEY", drawn(ALNUM, 48, "sk-proj-")),
    "anthropic key": ("ANTHROPIC_API_KEY", drawn(WORD, 90, "sk-ant-api03-")),
    "google key": ("GOOGLE_API_KEY", drawn(ALNUM, 35, "AIza")),
    "google oauth secret": ("GOOGLE_CLIENT_SECRET", drawn(ALNUM, 28, "GOCSPX-")),
    "hugging face token": ("HF_TOKEN", drawn(ALNUM, 34, "hf_")),
    "npm token": ("NPM_TOKEN", drawn(ALNUM, 36, "npm_")),
    "pypi token": ("TWINE_PASSWORD", drawn(WORD, 120, "pypi-AgEIcHlwaS5vcmc")),
    "sendgrid key": ("SENDGRID_API_KEY", joined("SG.", drawn(ALNUM, 22), ".", drawn(ALNUM, 43))),
    "digitalocean token": ("DIGITALOCEAN_TOKEN", drawn(HEX, 64, "dop_v1_")),
    "databricks token": ("DATABRICKS_TOKEN", drawn(HEX, 32, "dapi")),
    "shopify token": ("SHOPIFY_ACCESS_TOKEN", drawn(HEX, 32, "shpat_")),
    "linear key": ("LINEAR_API_KEY", drawn(ALNUM, 40, "lin_api_")),
    "vault token": ("VAULT_TOKEN", drawn(ALNUM, 24, "hvs.")),
    "json web token": ("SESSION_TOKEN", JWT),
}
SURROUNDINGS = (
    "+{name}=«{name}»",
    "--- a/config/production.yml\n+++ b/config/production.yml\n@@ -3,2 +3,3 @@\n   retries: 3\n-  "
    '{lower}: "changeme"\n'
    '+  {lower}: "«{name}»"',
    "$ export {name}='«{name}»' && make deploy",
    (
        "2026-03-02T10:11:12.412Z DEBUG http request headers={{'authorization': 'Bearer «{name}»', "
        "'accept': '*/*'}}"
    ),
    "So I pasted «{name}» into the dashboard and the second request went through.",
    'Traceback (most recent call last):\n  File "app/client.py", line 41, in connect\n    raise '
    'ValueError(f"rejected: '
    '{{token}}")\nValueError: rejected: «{name}»',
    '{{"env": {{"{name}": "«{name}»", "NODE_ENV": "production"}}, "cwd": "/srv/app"}}',
    'client = Client(base_url=URL, credential="«{name}»", timeout=30)',
)

# Secrets that only their surroundings give away: each text is written for its value.
IN_PLACE: dict[str, tuple[Make, tuple[str, ...]]] = {
    "password assigned": (
        password,
        (
            "DB_PASSWORD=«v»",
            "+spring.datasource.password=«v»",
            "postgres:\n  image: postgres:16\n  environment:\n    POSTGRES_PASSWORD: «v»",
            "mysql -u root -p'«v»' shop < dump.sql\nmysql --password=«v» shop -e 'select 1'",
            'conn = psycopg.connect(host="db", user="app", password="«v»")',
            '{"user": "deploy", "password": "«v»", "host": "10.0.0.4"}',
            "[client]\nuser = backup\npassword = «v»",
            'net use Z: \\\\nas\\share /user:ann "«v»" failed; SMB_PASS=«v»',
            "- redis-cli -a nothing\n+ REDIS_PASSWORD=«v» redis-cli ping",
            '<add key="SmtpPassword" value="x" /> became <SmtpPassword>«v»</SmtpPassword>',
        ),
    ),
    "password told": (
        password,
        (
            "the admin password is «v», please change it after the demo",
            "Login with user admin and password: «v»",
            "ann: what's the wifi password?\nbob: wifi password is «v»",
            "Das Passwort für den Testserver lautet «v»",
            "La contraseña del servidor es «v»",
            "пароль от стенда: «v»",
            "我的密码是 «v»",
            "My password for the staging box was «v» until yesterday.",
        ),
    ),
    "connection string": (
        drawn(ALNUM, 16),
        (
            "DATABASE_URL=postgresql://app:«v»@db.internal:5432/shop",
            (
                "could not connect to "
                "mongodb+srv://root:«v»@cluster0.ab1cd.mongodb.net/admin?retryWrites=true"
            ),
            "broker_url = 'amqp://worker:«v»@rabbit:5672//'",
            "redis://:«v»@cache:6379/0 timed out after 5s",
            "git remote set-url origin https://ci-bot:«v»@git.example.org/team/app.git",
            'engine = create_engine("mysql+pymysql://root:«v»@127.0.0.1/app")',
            "Server=tcp:sql1,1433;Database=shop;User ID=app;Password=«v»;Encrypt=true;",
            "curl -u deploy:«v» https://artifacts.example.org/api/list",
        ),
    ),
    "aws secret key": (
        AWS_SECRET,
        (
            "aws_secret_access_key = «v»",
            "+AWS_SECRET_ACCESS_KEY=«v»",
            '{"AccessKeyId": "AKIAEXAMPLE", "SecretAccessKey": "«v»"}',
            '  secret_key: "«v»"   # aws, rotate in May',
            "boto3.client('s3', aws_secret_access_key='«v»')",
            "Using AWS secret «v» from the environment",
            "s3cmd --secret_key=«v» ls",
            "export AWS_SECRET_KEY='«v»'",
        ),
    ),
    "private key": (
        _armour,
        (
            "-----BEGIN RSA PRIVATE KEY-----\n«v»\n-----END RSA PRIVATE KEY-----",
            (
                "$ cat ~/.ssh/id_ed25519\n-----BEGIN OPENSSH PRIVATE KEY-----\n«v»\n-----END "
                "OPENSSH "
                "PRIVATE KEY-----"
            ),
            "+-----BEGIN PRIVATE KEY-----\n«v»\n-----END PRIVATE KEY-----",
            "tls.key: |\n-----BEGIN EC PRIVATE KEY-----\n«v»\n-----END EC PRIVATE KEY-----",
        ),
    ),
    "private key in JSON": (
        _escaped_armour,
        (
            '"private_key": "-----BEGIN PRIVATE KEY-----\\n«v»\\n-----END PRIVATE KEY-----\\n"',
            'GOOGLE_CREDENTIALS=\'{"type": "service_account", "private_key": "-----BEGIN '
            "PRIVATE KEY-----\\n«v»\\n"
            "-----END PRIVATE KEY-----\\n\"}'",
        ),
    ),
    "opaque bearer token": (
        drawn(ALNUM, 40),
        (
            "curl -H 'Authorization: Bearer «v»' https://api.example.org/v2/jobs",
            "Authorization: Token «v»",
            "< x-api-key: «v»",
            'headers = {"X-Auth-Token": "«v»"}',
            "GET /v1/export?access_token=«v»&format=csv HTTP/1.1",
            "//registry.example.org/:_authToken=«v»",
            "INFO  refreshed access token: «v» (expires in 3600)",
            "client_secret=«v»&grant_type=client_credentials",
        ),
    ),
    "basic credentials": (
        encoded(joined("deploy:", password)),
        (
            "Authorization: Basic «v»",
            '{"auths": {"registry.example.org": {"auth": "«v»"}}}',
            "headers={'Authorization': 'Basic «v»'}",
            "+_auth=«v»",
        ),
    ),
    "webhook": (
        joined(
            "T", drawn(UPPER + DIGITS, 8), "/B", drawn(UPPER + DIGITS, 8), "/", drawn(ALNUM, 24)
        ),
        (
            "SLACK_WEBHOOK=https://hooks.slack.com/services/«v»",
            'requests.post("https://hooks.slack.com/services/«v»", json=body)',
            "-  url: https://hooks.slack.com/services/«v»",
            "notify failed for https://hooks.slack.com/services/«v»: 404",
        ),
    ),
    "storage key": (
        joined(drawn(ALNUM + "+/", 86), "=="),
        (
            "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=«v»;EndpointSuffix=core.windows.net",
            "Endpoint=sb://bus.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey=«v»",
            'AZURE_STORAGE_KEY="«v»"',
            "+  storage_account_key: «v»",
        ),
    ),
    "application secret": (
        drawn(ALNUM + "!@#%^&*", 50),
        (
            "SECRET_KEY = '«v»'",
            '+DJANGO_SECRET_KEY="«v»"',
            'app.config["SECRET_KEY"] = "«v»"',
            'jwt:\n  secret: "«v»"',
        ),
    ),
    "hex key": (
        drawn(HEX, 64),
        (
            "ENCRYPTION_KEY=«v»",
            "RAILS_MASTER_KEY=«v»",
            'config.signing_secret = "«v»"',
            "DATADOG_API_KEY: «v»",
            '+  api_key = "«v»"',
            "session_secret: «v»",
        ),
    ),
    "netrc and friends": (
        password,
        (
            "machine git.example.org login ann password «v»",
            "sshpass -p '«v»' ssh root@10.0.0.9 uptime",
            "echo '«v»' | sudo -S true   # sudo password «v»",
            "ansible_become_pass: «v»",
            "PGPASSWORD=«v» psql -h db -U app shop",
            "docker login -u ann -p «v» registry.example.org",
        ),
    ),
}


def _hash(length: int) -> Make:
    return drawn(HEX, length)


def _uuid(chance: random.Random) -> str:
    digits = "".join(chance.choice(HEX) for _ in range(32))
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _name(chance: random.Random) -> str:
    parts = ["key", "token", "secret", "password", "auth", *chance.sample(WORDS, 3)]
    return "_".join(chance.sample(parts, 3))


def _camel(chance: random.Random) -> str:
    return "".join(part.title() for part in _name(chance).split("_"))


def _base64(length: int) -> Make:
    return drawn(ALNUM + "+/", length)


def _number(chance: random.Random) -> str:
    return str(chance.randint(1000, 999_999))


# What must stay: texts with values that look random, and texts that only speak of secrets.
LOOK_ALIKES: dict[str, tuple[Make, tuple[str, ...]]] = {
    "commit": (
        _hash(40),
        (
            "commit «v»",
            "Merge «v» into main",
            "git revert «v» fixed the build",
            "HEAD is now at «v» Fix flaky test",
            "uses: actions/checkout@«v»",
            "Bisecting: the first bad commit is «v»",
            "rev: «v»  # pre-commit hook",
            "- base «v»\n+ head «v»",
            "cherry picked from commit «v»",
            "submodule vendor/lib at «v»",
        ),
    ),
    "digest": (
        _hash(64),
        (
            "sha256:«v»",
            "FROM python:3.12-slim@sha256:«v»",
            'checksum = "«v»"',
            "    --hash=sha256:«v» \\",
            "docker pull app@sha256:«v»",
            'ETag: "«v»"',
            "digest «v» matches",
            "«v»  holdfast-0.1.0.tar.gz",
            "content_hash=«v»",
            "layer «v»: already exists",
            "cache key «v» not found, building",
            "image id «v»",
        ),
    ),
    "lock file": (
        joined(_base64(86), "=="),
        (
            '      "integrity": "sha512-«v»",',
            "golang.org/x/net v0.24.0 h1:«v»",
            "  resolution: {integrity: sha512-«v»}",
            ('resolved "https://registry.npmjs.org/ms/-/ms-2.1.3.tgz#sha512-«v»"'),
            '    {file = "attrs-24.2.0-py3-none-any.whl", hash = "sha256-«v»"},',
            "github.com/pkg/errors v0.9.1/go.mod h1:«v»",
            'integrity sha384-«v» crossorigin="anonymous"',
            'narHash = "sha256-«v»"',
        ),
    ),
    "uuid": (
        _uuid,
        (
            "request_id=«v» took 41 ms",
            '"id": "«v»"',
            "DELETE /api/orders/«v» 204",
            "trace «v» span 3",
            "uuid: «v»",
            "job «v» finished",
            "correlation-id: «v»",
            "user «v» logged in",
            "session «v» resumed",
            "tenant_id = '«v»'",
            "X-Request-Id: «v»",
            "ON CONFLICT (id) DO NOTHING -- «v»",
            "partition «v» is behind",
        ),
    ),
    "identifier": (
        _name,
        (
            "def «v»(self) -> None:",
            "from app.«v» import load",
            "the column «v» is nullable",
            "«v» = None",
            "rename «v» to something shorter",
            "SELECT «v» FROM settings",
            "test_«v» passed",
            "KeyError: '«v»'",
            "kwargs.pop('«v»', None)",
            "i18n key `«v»` is missing",
            "drop index idx_«v»",
            "feature flag «v» is on",
            "self.«v» = «v»",
            "logger.debug('«v» updated')",
            "«v»: Mapped[str] = mapped_column()",
            "export * from './«v»'",
        ),
    ),
    "class name": (
        _camel,
        (
            "class «v»Error(Exception):",
            "new «v»Factory().create()",
            "«v»Provider is deprecated",
            "import { «v» } from './«v»'",
            "<«v» key={item.id} />",
            "at com.example.«v».main(«v».java:14)",
            "struct «v» { ttl: u64 }",
            "interface «v» {}",
        ),
    ),
    "reference": (
        lambda chance: _name(chance).upper(),
        (
            'password = os.environ["«v»"]',
            "token: ${{ secrets.«v» }}",
            "api_key=${«v»}",
            "export TOKEN=$«v»",
            "valueFrom: {secretKeyRef: {name: app, key: «v»}}",
            "password: !vault «v»",
            "secret = settings.«v»",
            "API_KEY=<your-api-key>  # «v»",
            "const key = process.env.«v»;",
            "Missing environment variable «v»",
            "key = keyring.get_password('app', '«v»')",
            "OPENAI_API_KEY=sk-... goes into «v»",
            "{{ «v» }} is filled in by the chart",
        ),
    ),
    "placeholder": (
        lambda chance: chance.choice(WORDS),
        (
            "password: changeme  # «v»",
            "API_KEY=your_api_key_here  # «v»",
            'token = "xxxxxxxxxxxxxxxxxxxxxxxx"  # «v»',
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx for «v»",
            "AWS_SECRET_ACCESS_KEY=******** («v»)",
            "set PASSWORD=<password> before «v»",
            "mysql -p    # asks for the password of «v»",
            "sk-000000000000000000000000000000000000000000000000 in «v»",
            'password="" for «v»',
            "secret: null  # «v»",
        ),
    ),
    "talk of secrets": (
        lambda chance: chance.choice(WORDS),
        (
            "The password must be at least 12 characters for «v».",
            ("Rotate the API key of «v» every 90 days."),
            "I forgot my password for «v», can you send a reset link?",
            "We store tokens hashed, never in clear, in «v».",
            "max_tokens: 4096 for «v»",
            "the tokenizer splits «v» into three tokens",
            "token count 128000 in «v»",
            "Press any key to continue with «v»",
            "primary key («v», id)",
            "keyboard shortcut map for «v»",
            "secret santa for team «v»",
            "passing 14 tests of «v»",
            ("the key insight about «v» is caching"),
            "pass rate 98.2% on «v»",
            "no password is needed for «v» on localhost",
            "csrf_token is rendered by «v»",
        ),
    ),
    "image": (
        _base64(120),
        (
            '<img src="data:image/png;base64,iVBORw0KGgo«v»" />',
            ("background: url(data:image/gif;base64,R0lGOD«v»);"),
            "src: url(data:font/woff2;base64,d09GMgABAAAAA«v») format('woff2')",
            '"thumb": "data:image/jpeg;base64,/9j/4AAQ«v»"',
            "//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjoz«v»",
        ),
    ),
    "public key": (
        _base64(68),
        (
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI«v» ann@laptop",
            ("ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB«v» deploy"),
            "-----BEGIN CERTIFICATE-----\nMIID«v»\n«v»\n-----END CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----\nMFkwEwYH«v»\n-----END PUBLIC KEY-----",
            "Host key fingerprint is SHA256:«v»",
            "github.com ecdsa-sha2-nistp256 AAAAE2Vj«v»",
        ),
    ),
    "build output": (
        _hash(8),
        (
            "dist/assets/index-«v».js  41.2 kB",
            "main.«v».css",
            "webpack compiled chunk «v» in 812 ms",
            "app-«v»-7d9f5 Running",
            "/nix/store/«v»k3v5n7q9s1x3z5b7d9f1-python3-3.12.4",
            "Layer «v»: Pushed",
            "pod/web-«v»-x2x4z ready",
            "chunk-«v».mjs",
            "out/«v»/report.html",
            "static/js/2.«v».chunk.js.map",
            "build «v» succeeded",
        ),
    ),
    "record number": (
        joined(lambda chance: f"{chance.randint(0x60000000, 0x6FFFFFFF):x}", _hash(16)),
        (
            "ObjectId('«v»')",
            '{"_id": "«v»", "qty": 3}',
            "sentry event «v» was grouped",
            "span_id=«v»",
            "message-id: <«v»@mail.example.org>",
            "deal «v» moved to won",
            "row «v» is a duplicate",
            "ticket ref «v»",
            "blob «v» not found",
            "traceparent: 00-«v»00000000-«v»",
        ),
    ),
    "count and version": (
        _number,
        (
            "pin the version to 1.«v».0",
            "tokens used: «v»",
            "port «v» is taken",
            "line «v»: key error",
            "took «v» ms for 3 keys",
            "id=«v» key=status value=done",
            "password_min_length = «v»",
            "token_limit: «v»",
            "PIN «v» of the board is an output",
            "exit code 1 after «v» requests",
            "Issue #«v»: token refresh is slow",
            "cache_key_version = «v»",
            "session timeout «v» seconds",
            "api version 2026-03-«v»",
        ),
    ),
    "cloud name": (
        _number,
        (
            "arn:aws:iam::00000«v»:role/deploy-key-rotation",
            "projects/shop-«v»/secrets/db-password/versions/3",
            "gs://shop-backups-«v»/keys/2026/",
            "s3://logs-«v»/auth/token/2026-03-01.gz",
            "ecr: 12«v».dkr.ecr.eu-west-1.amazonaws.com/app",
            "secretsmanager get-secret-value --secret-id prod/db-«v»",
            "kms key alias/app-«v»",
            "vault kv get secret/app/«v»",
            "op://infra/db-«v»/password",
            "ssm:/prod/db-«v»/password",
        ),
    ),
    "path and url": (
        _uuid,
        (
            "https://app.example.org/reset-password?step=2&lang=en#«v»",
            "/var/lib/tokens/«v»/current.json",
            "GET /oauth/token/introspect 200 id «v»",
            "tests/fixtures/api_key/«v».json",
            "file:///srv/keys/«v».pub",
            "docs/how-to/rotate-the-signing-key.md («v»)",
            "http://localhost:3000/auth/callback?state=«v»",
            "C:\\Users\\ann\\AppData\\Local\\Token\\«v»",
            ("open /etc/ssl/private: permission denied («v»)"),
        ),
    ),
}
_MARK = re.compile("«[^»]*»")


def secrets(seed: int = 2026) -> Iterator[Sample]:
    """Every secret in every one of its surroundings."""
    chance = random.Random(seed)
    for kind, (name, make) in TOKENS.items():
        for around in SURROUNDINGS:
            yield _sample(
                kind, around.format(name=name, lower=name.lower()), make(chance), hidden=True
            )
    for kind, (make, texts) in IN_PLACE.items():
        for text in texts:
            yield _sample(kind, text, make(chance), hidden=True)


def look_alikes(seed: int = 2027, rounds: int = 3) -> Iterator[Sample]:
    """Every look-alike so many times, each with a value of its own."""
    chance = random.Random(seed)
    for _ in range(rounds):
        for kind, (make, texts) in LOOK_ALIKES.items():
            for text in texts:
                yield _sample(kind, text, make(chance), hidden=False)


def _sample(kind: str, text: str, value: str, *, hidden: bool) -> Sample:
    return Sample(kind, _MARK.sub(lambda _: value, text), (value,) if hidden else ())
