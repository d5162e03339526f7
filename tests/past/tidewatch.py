"""Thirteen sessions of three weeks on an invented project, as four coding agents would have held
them.

Tidewatch serves tide tables: a FastAPI service, Postgres, a small web front end. What is said is
written by us; the formats in which it is kept are those of the tools (see written.py).
"""

from __future__ import annotations

from typing import NamedTuple


class Run(NamedTuple):
    """A command that was run, its exit status and what it printed."""

    command: str
    status: int = 0
    output: str = ""


class Edit(NamedTuple):
    """A file that was changed."""

    path: str


class Past(NamedTuple):
    """One session: who held it, when, and what was said and done; the person first, then by turns
    of who speaks.
    """

    agent: str
    id: str
    day: int
    title: str
    entries: tuple[tuple[str, str] | Run | Edit, ...]


def me(text: str) -> tuple[str, str]:
    return "user", text


def it(text: str) -> tuple[str, str]:
    return "assistant", text


SESSIONS = (
    Past(
        "claude-code",
        "7c1d52aa-0a4e-4f5c-9a51-1f2e3d4c5b01",
        1,
        "Set up the project",
        (
            me("Let's set up tidewatch. Look at what is there and tell me what is missing."),
            Run("ls -la", 0, "pyproject.toml  README.md  src  tests"),
            it(
                "There is a pyproject.toml with setuptools, a src layout and no lock file. I "
                "could use "
                "pip-tools, Poetry or uv "
                "to lock the dependencies. Which one do you want?"
            ),
            me(
                "We'll use uv instead of pip-tools because it resolves the whole thing in two "
                "seconds. "
                "Never commit to main "
                "directly in this repo, always open a branch."
            ),
            it("Understood. I set up uv and a branch."),
            Run("uv sync --all-groups", 0, "Resolved 84 packages in 1.9s"),
            Run("uv run pytest -q", 0, "3 passed in 0.41s"),
            Edit("pyproject.toml"),
            Run("uv run pytest -q", 0, "3 passed in 0.40s"),
            it("Everything is locked; the three tests pass."),
            me("great, thanks!"),
        ),
    ),
    Past(
        "claude-code",
        "b83f0e14-6c2d-4a7b-8e15-2a3b4c5d6e02",
        2,
        ("Timetable returns 500 on Sundays"),
        (
            me("The timetable endpoint returns 500 on Sundays. Find out why and fix it."),
            Run(
                "uv run pytest -q tests/test_timetable.py",
                1,
                (
                    "FAILED tests/test_timetable.py::test_sunday - KeyError: 'sunday'\n1 failed, 6 "
                    "passed"
                ),
            ),
            it("The handler looks the weekday up in a dictionary that has no entry for Sunday."),
            Edit("src/tidewatch/timetable.py"),
            Run("uv run pytest -q tests/test_timetable.py", 0, "7 passed in 0.52s"),
            it(
                "Fixed: the cause was that `DEPARTURES` had no key for days without ferries, and I "
                "fixed it by returning an "
                "empty list for such days."
            ),
            me("ok. And please keep answers short, I prefer short answers with the command first."),
            it("Will do."),
        ),
    ),
    Past(
        "codex",
        "019df76a-4a2b-7c33-8d44-7a8b9c0d1e03",
        4,
        "Choose a database",
        (
            me("we need to store five years of readings. sqlite or postgres?"),
            it(
                "SQLite would do for one station. With forty stations writing at once, Postgres "
                "is the "
                "safer choice; Timescale "
                "is an option on top of it."
            ),
            me(
                "Let's go with Postgres rather than SQLite because forty stations write at the "
                "same "
                "time. No Timescale for now, "
                "it is not on our hosting."
            ),
            it("I add Postgres 16 with psycopg and write the first migration."),
            Run("docker compose up -d db", 0, "Container tidewatch-db-1  Started"),
            Run(
                "uv run alembic upgrade head",
                1,
                (
                    'sqlalchemy.exc.OperationalError: connection to server at "localhost", port '
                    "5432 "
                    "failed: Connection refused"
                ),
            ),
            it("Postgres was still starting. I wait for it to be healthy first."),
            Run("docker compose up -d --wait db", 0, "Container tidewatch-db-1  Healthy"),
            Run("uv run alembic upgrade head", 0, "Running upgrade  -> 0001, readings"),
            it(
                "The migration runs now. The failure was caused by starting the migration before "
                "the "
                "database was ready; "
                "`docker compose up -d --wait db` fixes it."
            ),
        ),
    ),
    Past(
        "claude-code",
        "e5a94c70-13d8-4be2-a6f9-3c4d5e6f7a04",
        5,
        "How to deploy",
        (
            me(
                "I'll tell you how we deploy, write it down.\n\nTo deploy to production:\n1. run "
                "`uv "
                "run pytest -q`\n"
                "2. run `docker build -t tidewatch .`\n3. run `./ops/ship.sh production`\n4. check "
                "https://tides.example.org/health"
            ),
            it("Noted. Shall I do it now?"),
            me("yes"),
            Run("uv run pytest -q", 0, "41 passed in 2.10s"),
            Run("docker build -t tidewatch .", 0, "naming to docker.io/library/tidewatch done"),
            Run("./ops/ship.sh production", 0, "shipped 2026-05-08-1"),
            Run("curl -s https://tides.example.org/health", 0, '{"status":"ok"}'),
            it("Deployed, the health check answers ok."),
        ),
    ),
    Past(
        "pi",
        "6d1f0c22-0000-4000-8000-000000000005",
        6,
        "Slow nearest-station query",
        (
            me("GET /nearest takes 3 seconds. make it fast"),
            Run(
                "uv run python scripts/profile_nearest.py",
                0,
                ("nearest: 2.9 s, 40 rows scanned 2.1M times"),
            ),
            it(
                "It computes distances to every reading instead of every station. I could add "
                "PostGIS, "
                "or compute the distance "
                "on the stations table only."
            ),
            me(
                "no PostGIS please. We decided to keep plain Postgres without extensions "
                "because the "
                "hosting does not allow them."
            ),
            Edit("src/tidewatch/nearest.py"),
            Run("uv run python scripts/profile_nearest.py", 0, "nearest: 11 ms"),
            it(
                "11 ms now: the query joins the forty stations first and then takes the "
                "latest reading "
                "of one."
            ),
        ),
    ),
    Past(
        "gemini",
        "ab12cd34-0000-4000-8000-000000000006",
        8,
        "Front end build",
        (
            me("the front end build takes ninety seconds, that is too slow"),
            Run("npm run build", 0, "Built in 94s"),
            it(
                "Most of it is the webpack TypeScript loader. Vite would build the same code "
                "in a few "
                "seconds."
            ),
            me("ok, switch to Vite instead of webpack, builds have to stay below ten seconds"),
            Edit("web/vite.config.ts"),
            Run(
                "npm run build",
                1,
                (
                    "error TS2307: Cannot find module 'vite/client' or its "
                    "corresponding type declarations."
                ),
            ),
            it("The types are missing in tsconfig."),
            Edit("web/tsconfig.json"),
            Run("npm run build", 0, "built in 4.1s"),
            it(
                "Fixed by adding `vite/client` to `types` in web/tsconfig.json; the build "
                "takes "
                "4.1 s."
            ),
        ),
    ),
    Past(
        "claude-code",
        "2d6b81f3-95c7-4d1e-b04a-4d5e6f7a8b07",
        9,
        "Flaky clock test",
        (
            me("test_rollover fails every now and then in CI. why?"),
            Run("uv run pytest -q tests/test_rollover.py", 0, "2 passed"),
            Run(
                "TZ=Pacific/Auckland uv run pytest -q tests/test_rollover.py",
                1,
                (
                    "FAILED tests/test_rollover.py::test_rollover - AssertionError: assert "
                    "'2026-05-12' "
                    "== '2026-05-11'"
                ),
            ),
            it("It uses `date.today()`, so it depends on the machine's time zone."),
            Edit("tests/test_rollover.py"),
            Run("TZ=Pacific/Auckland uv run pytest -q tests/test_rollover.py", 0, "2 passed"),
            it(
                "The cause was `date.today()` in the test, which follows the local time zone; "
                "I fixed "
                "it by passing a clock in."
            ),
            me(
                "Always inject the clock in this project, never call datetime.now() or "
                "date.today() "
                "directly."
            ),
        ),
    ),
    Past(
        "codex",
        "019e1b77-0c5d-7e21-9f62-8b9c0d1e2f08",
        11,
        "Caching, tried and dropped",
        (
            me("Let's cache the timetable in Redis."),
            it("I add Redis to docker compose and cache the answers for a minute."),
            Run("docker compose up -d redis", 0, "Container tidewatch-redis-1  Started"),
            Run("uv run pytest -q", 0, "44 passed in 2.31s"),
            me(
                "Actually, let's not. Forget about Redis, an in-process cache is enough for "
                "one "
                "instance."
            ),
            it("I take Redis out again and use functools.lru_cache with a ttl key."),
            Edit("src/tidewatch/timetable.py"),
            Run("uv run pytest -q", 0, "44 passed in 2.25s"),
        ),
    ),
    Past(
        "claude-code",
        "90c4e7a6-2f5b-4e83-9d71-5e6f7a8b9c09",
        12,
        "Secrets in the log",
        (
            me(
                "someone pasted this into the ticket: "
                "DATABASE_URL=postgresql://tide:Walrus4711x@db.internal/tide — is it in our "
                "logs too?"
            ),
            Run(
                "grep -rn Walrus logs/ | head",
                0,
                ("logs/app.log:812: connecting to postgresql://tide:Walrus4711x@db.internal/tide"),
            ),
            it("Yes, the connection string is logged at start-up. I mask it."),
            Edit("src/tidewatch/db.py"),
            me("Never log connection strings in this repo."),
            it("It is masked now, and a test checks it."),
            Run("uv run pytest -q", 0, "45 passed in 2.28s"),
        ),
    ),
    Past(
        "pi",
        "a3b52e88-0000-4000-8000-000000000010",
        13,
        "What could we do next",
        (
            me("what do you think, should we move to Kubernetes at some point?"),
            it(
                "For one service and one database a single machine with docker compose is simpler. "
                "Kubernetes would pay off with "
                "several teams. You might consider it next year."
            ),
            me("yeah maybe. would be nice to have blue-green deploys though"),
            it("That works with compose as well, with two projects and a proxy in front."),
            me("let me think about it"),
        ),
    ),
    Past(
        "claude-code",
        "4f17d2b9-8ae0-4c56-b3e8-6f7a8b9c0d11",
        15,
        "Importing old readings",
        (
            me("import the CSV files of 2021 to 2025"),
            Run(
                "uv run python -m tidewatch.importer data/2021.csv",
                1,
                (
                    "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xb0 in position 118: "
                    "invalid "
                    "start byte"
                ),
            ),
            it("The old logger wrote Latin-1."),
            Edit("src/tidewatch/importer.py"),
            Run("uv run python -m tidewatch.importer data/2021.csv", 0, "imported 525600 readings"),
            it(
                "Fixed by opening files before 2023 with `encoding='latin-1'`; the cause was "
                "the "
                "degree sign of the old logger."
            ),
            me("good. To import a year, run `uv run python -m tidewatch.importer data/YEAR.csv`"),
            Run("uv run python -m tidewatch.importer data/2022.csv", 0, "imported 525600 readings"),
        ),
    ),
    Past(
        "gemini",
        "cd780f5e-0000-4000-8000-000000000012",
        17,
        "Second deploy",
        (
            me("deploy the importer please, the usual way"),
            Run("uv run pytest -q", 0, "47 passed in 2.40s"),
            Run("docker build -t tidewatch .", 0, "done"),
            Run(
                "./ops/ship.sh production", 1, "error: working tree is dirty, commit or stash first"
            ),
            it(
                "The ship script refuses a dirty tree. I commit the version bump on a branch first."
            ),
            Run("git commit -am 'Bump version'", 0, "[release 4f1c2aa] Bump version"),
            Run("./ops/ship.sh production", 0, "shipped 2026-05-20-1"),
            Run("curl -s https://tides.example.org/health", 0, '{"status":"ok"}'),
            it(
                "Shipped. The failure was caused by uncommitted changes; committing them "
                "first fixed "
                "it."
            ),
        ),
    ),
    Past(
        "codex",
        "019e44aa-71e6-7b09-8c13-9c0d1e2f3a13",
        19,
        "Coding style",
        (
            me(
                "two more rules for this codebase: always add type hints to public functions, and "
                "never catch bare Exception "
                "outside the request boundary."
            ),
            it("I note both and add mypy to the checks."),
            Run(
                "uv run mypy src",
                1,
                "src/tidewatch/nearest.py:31: error: Function is missing a "
                "return type annotation\n"
                "Found 1 error in 1 file",
            ),
            Edit("src/tidewatch/nearest.py"),
            Run("uv run mypy src", 0, "Success: no issues found in 14 source files"),
            Run("uv run pytest -q", 0, "47 passed in 2.41s"),
            me("In general I prefer small commits, in every project."),
        ),
    ),
)
