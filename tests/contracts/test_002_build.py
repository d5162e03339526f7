"""Seed 002, the two phases: sessions that are read, files that come of it, jobs that are held,
tried and given up.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from holdfast import config
from holdfast.client import Holdfast
from holdfast.erasure.project_files import clear_project_memory
from holdfast.extraction.coding.project_settings import Building, ProjectSettings, settings_from
from holdfast.extraction.job_types import Worker
from holdfast.maintenance import project_jobs
from holdfast.projects import artifacts
from holdfast.storage.store_types import Author
from holdfast.types import Scope, new_id

PROJECT, OTHER = Scope("project", "shop-1a2b3c4d"), Scope("project", "blog-5e6f7a8b")
SAID = (
    "We decided to use pnpm instead of npm because npm breaks the lock file.",
    "I deploy the shop with `make deploy`.",
)
MEMORY = "# Memory\n\nDeploy with `make deploy`. Use pnpm instead of npm: npm breaks the lock file."
STAGE_ONE = {
    "rollout_summary": "Deployed the shop.",
    "rollout_slug": "Deploy Shop",
    "raw_memory": "- Deploy with `make deploy`.",
}
PHASE_TWO = {
    "memory_md": MEMORY,
    "memory_summary": "Deploy with make.",
    "skills": [
        {
            "name": "Deploy Playbook",
            "content": "Run `make deploy`.",
            "scripts": [{"path": "deploy.sh", "content": "make deploy"}],
        }
    ],
}


class Model:
    """A model that gives one answer to each phase, and counts how often it was asked."""

    def __init__(self, first=STAGE_ONE, second=PHASE_TWO):
        self.first, self.second, self.asked = first, second, []

    def __call__(self, prompt):
        answer = self.second if "# Raw memories" in prompt else self.first
        self.asked.append(prompt)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, str) else json.dumps(answer)

    @property
    def calls(self):
        """How often it was asked in the first phase, and in the second."""
        second = sum("# Raw memories" in prompt for prompt in self.asked)
        return len(self.asked) - second, second


class Yard:
    """A project with sessions, and a builder."""

    def __init__(self, hf, clock, data):
        self.hf, self.clock, self.building = hf, clock, Building(data)

    def talk(self, session, *turns, scope=PROJECT):
        view = self.hf.scoped(scope)
        said = turns or SAID
        view.capture_many({"session": session, "role": "user", "text": text} for text in said)
        view.sessions.end(session)

    def worker(self, *, scope=PROJECT, **building):
        return Worker(
            self.hf.store,
            self.hf.tiers,
            self.clock,
            [scope],
            name="w",
            building=replace(self.building, **building),
        )

    def build(self, model=None, *, scope=PROJECT, **building):
        return project_jobs.build_memory(self.worker(scope=scope, default=model, **building))

    def plan(self, scope=PROJECT, **building):
        return project_jobs.plan(
            self.hf.store, scope, replace(self.building, **building), self.clock()
        )

    def file(self, name, scope=PROJECT):
        return (self.building.folder(scope) / name).read_text("utf-8")

    def files(self, scope=PROJECT):
        return project_jobs.standing(self.hf.store, scope, self.building).files

    def author(self):
        return Author("cli:ann", new_id("run", self.clock()), self.clock(), "project")


@pytest.fixture
def yard(tmp_path, clock):
    hf = Holdfast.open(tmp_path / "memory.db", scope=PROJECT, clock=clock, background=False)
    yield Yard(hf, clock, tmp_path / "data")
    hf.close()


# Files


def test_op_02_two_calls_give_the_three_outputs(yard):
    yard.talk("thread-1")
    yard.clock.forward(hours=13)
    model = Model()
    done = yard.build(model)
    assert (done.read, done.files, done.failed) == (1, True, [])
    assert model.calls == (1, 1)
    assert yard.file("MEMORY.md") == f"{MEMORY}\n"
    assert yard.file("memory_summary.md") == "Deploy with make.\n"
    assert yard.file("skills/deploy-playbook/SKILL.md") == "Run `make deploy`.\n"
    assert yard.file("skills/deploy-playbook/scripts/deploy.sh") == "make deploy\n"
    assert yard.file("rollout_summaries/thread-1-deploy_shop.md").endswith(
        "\n\nDeployed the shop.\n"
    )
    assert yard.file("raw_memories.md").startswith(
        "# Raw Memories\n\n## thread-1\nupdated_at: 2026-03-18"
    )


def test_op_03_nothing_changed_nothing_is_asked(yard):
    yard.talk("thread-1")
    yard.clock.forward(hours=13)
    yard.build(Model())
    model = Model()
    done = yard.build(model)
    assert (model.asked, done.read, done.files) == ([], 0, False)


def test_sessions_whose_ids_come_to_the_same_file_name_have_a_file_each(yard):
    ids = ("a/b", "a-b", "a b", ".", "x" * 150, "x" * 151)
    for session in ids:
        yard.talk(session)
    yard.clock.forward(hours=13)
    yard.build(Model(first=STAGE_ONE | {"rollout_slug": None}))
    told = [
        yard.file(name).splitlines()[0]
        for name in yard.files()
        if name.startswith("rollout_summaries/")
    ]
    assert sorted(told) == sorted(f"thread_id: {session}" for session in ids)


def test_op_04_a_session_that_went_on_is_read_again(yard):
    yard.talk("thread-1")
    yard.talk("thread-2")
    yard.clock.forward(hours=13)
    yard.build(Model())
    yard.talk("thread-1", "And deploy on Fridays never.")
    yard.clock.forward(hours=13)
    model = Model()
    yard.build(model)
    assert model.calls == (1, 1)


def test_op_05_too_old_too_recent_or_going_on(yard):
    yard.talk("old")
    yard.clock.forward(days=31, hours=-13)
    yard.talk("ready")
    yard.talk("current")
    yard.clock.forward(hours=2)
    yard.talk("recent")
    yard.clock.forward(hours=11)
    found = yard.plan(skipped=frozenset({"current"}))
    assert [one.id for one in found.read] == ["ready"]
    assert {one.session.id: one.reason for one in found.passed} == {
        "recent": "it was active in the last 12 hours",
        "current": "it is still active",
        "old": "it is older than 30 days",
    }


def test_sixty_four_sessions_in_one_go_and_the_rest_in_the_next(yard):
    for number in range(70):
        yard.talk(f"s{number:02}")
        yard.clock.forward(minutes=1)
    yard.clock.forward(hours=13)
    model = Model()
    assert yard.build(model).read == 64
    assert model.calls == (64, 1)
    assert yard.build(model).read == 6


# What models get wrong


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I could not find anything.", "stage1 JSON parse failure"),
        ({"rollout_summary": "x", "raw_memory": "y"}, "stage1 JSON schema validation failure"),
        (STAGE_ONE | {"extra": 1}, "stage1 JSON schema validation failure"),
        (STAGE_ONE | {"raw_memory": ["y"]}, "stage1 JSON schema validation failure"),
        (RuntimeError("overloaded"), "stage1 model error: overloaded"),
    ],
)
def test_op_07_what_cannot_be_used_fails_that_session_only(yard, answer, reason):
    yard.talk("good")
    yard.clock.forward(minutes=1)
    yard.talk("bad", "BAD session")
    yard.clock.forward(hours=13)

    class Mixed(Model):
        def __call__(self, prompt):
            self.first = answer if "BAD session" in prompt else STAGE_ONE
            return super().__call__(prompt)

    done = yard.build(Mixed(), settings=ProjectSettings(stage1_concurrency=1))
    assert (done.read, [(job.key, job.error) for job in done.failed]) == (1, [("bad", reason)])
    assert "good" in yard.file("raw_memories.md")


def test_op_07_three_tries_then_the_session_has_to_change(yard):
    yard.talk("thread-1")
    yard.clock.forward(hours=13)
    broken = Model(first="no JSON")
    yard.build(broken)
    yard.build(broken)
    assert broken.calls == (1, 0), "not before its time"
    for tries in (2, 3, 3):
        yard.clock.forward(seconds=120)
        yard.build(broken)
        assert broken.calls == (tries, 0)
    yard.clock.forward(days=2)
    yard.build(broken)
    assert broken.calls == (3, 0)
    assert "failed three times: stage1 JSON parse failure" in yard.plan().passed[0].reason
    yard.talk("thread-1", "one more thing")
    yard.clock.forward(hours=13)
    assert yard.build(Model()).read == 1


def test_op_08_a_session_that_teaches_nothing_leaves_nothing(yard):
    yard.talk("thread-1")
    yard.talk("thread-2")
    yard.clock.forward(hours=13)
    yard.build(Model())
    yard.talk("thread-1", "never mind")
    yard.clock.forward(hours=13)
    empty = Model(first={"rollout_summary": "", "rollout_slug": None, "raw_memory": ""})
    yard.build(empty)
    assert empty.calls == (1, 1)
    assert re.findall(r"^## (.*)", yard.file("raw_memories.md"), re.MULTILINE) == ["thread-2"]
    assert yard.build(empty).read == 0, "read once, though nothing came of it"


def test_op_10_without_outputs_the_files_go(yard):
    yard.talk("thread-1")
    yard.clock.forward(hours=13)
    yard.build(Model())
    yard.talk("thread-1", "never mind")
    yard.clock.forward(hours=13)
    yard.build(Model(first={"rollout_summary": "", "rollout_slug": None, "raw_memory": ""}))
    assert yard.files() == ["raw_memories.md"]
    assert yard.file("raw_memories.md") == "# Raw Memories\n\nNo raw memories yet.\n"


@pytest.mark.parametrize("wrapped", ["```json\n{}\n```", "Here you are: {} Anything else?"])
def test_op_25_json_in_a_fence_or_with_chatter_is_accepted(yard, wrapped):
    yard.talk("thread-1")
    yard.clock.forward(hours=13)
    answers = [wrapped.replace("{}", json.dumps(one)) for one in (STAGE_ONE, PHASE_TWO)]
    assert yard.build(Model(*answers)).files


def test_op_23_the_small_model_puts_together_and_the_default_stands_in(yard):
    yard.talk("thread-1")
    yard.clock.forward(hours=13)
    default, smol = Model(), Model()
    project_jobs.build_memory(yard.worker(default=default, smol=smol))
    assert (default.calls, smol.calls) == ((1, 0), (0, 1))


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ("no", "phase2 JSON parse failure"),
        (PHASE_TWO | {"memory_md": " "}, "phase2 JSON schema validation failure"),
        ({"memory_md": "x", "memory_summary": "y"}, "phase2 JSON schema validation failure"),
        (RuntimeError("down"), "phase2 model error: down"),
    ],
)
def test_op_23_a_failed_second_phase_leaves_the_files_alone(yard, second, reason):
    yard.talk("thread-1")
    yard.clock.forward(hours=13)
    yard.build(Model())
    before = yard.file("MEMORY.md")
    yard.talk("thread-2")
    yard.clock.forward(hours=13)
    done = yard.build(Model(second=second))
    assert ([job.error for job in done.failed], done.files) == ([reason], False)
    assert yard.file("MEMORY.md") == before
    yard.clock.forward(seconds=180)
    assert yard.build(Model()).files


# Skills


def test_op_16_what_is_no_longer_produced_disappears(yard):
    yard.talk("thread-1")
    yard.clock.forward(hours=13)
    two = PHASE_TWO | {"skills": [*PHASE_TWO["skills"], {"name": "Other", "content": "Stays."}]}
    yard.build(Model(second=two))
    assert "skills/deploy-playbook/scripts/deploy.sh" in yard.files()
    project_jobs.build.enqueue(yard.hf.store, PROJECT, yard.author())
    yard.build(
        Model(
            second=PHASE_TWO
            | {"skills": [{"name": "Deploy Playbook", "content": "New."}, two["skills"][1]]}
        )
    )
    assert [name for name in yard.files() if name.startswith("skills/")] == [
        "skills/deploy-playbook/SKILL.md",
        "skills/other/SKILL.md",
    ]
    project_jobs.build.enqueue(yard.hf.store, PROJECT, yard.author())
    yard.build(Model(second=PHASE_TWO | {"skills": [two["skills"][1]]}))
    assert [name for name in yard.files() if name.startswith("skills/")] == [
        "skills/other/SKILL.md"
    ]
    assert not (yard.building.folder(PROJECT) / "skills" / "deploy-playbook").exists()


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../x.sh",
        "a/../../x.sh",
        "./x.sh",
        "a//b",
        "c:x",
        "a b.sh",
        "x\0.sh",
        "",
        "ä.sh",
    ],
)
def test_a_path_that_leads_elsewhere_is_left_out(path):
    skill = artifacts.skill_of(
        {"name": "s", "content": "c", "scripts": [{"path": path, "content": "x"}]}
    )
    assert skill is not None
    assert skill.files == {}


@pytest.mark.parametrize(
    ("skill", "files"),
    [
        ({"name": "s", "content": "x", "scripts": 5}, ["skills/s/SKILL.md"]),
        ({"name": "s", "content": ["x"], "scripts": [{"path": "a", "content": 5}]}, []),
        (
            {
                "name": "s",
                "content": "x",
                "scripts": [{"path": path, "content": "y"} for path in ("a", "a/b", "c/d")],
            },
            ["skills/s/SKILL.md", "skills/s/scripts/a", "skills/s/scripts/c/d"],
        ),
        (
            {"name": "s", "content": "x", "examples": [{"path": "a" * 300, "content": "y"}]},
            ["skills/s/SKILL.md"],
        ),
        ({"name": "s", "content": "half a pair: \ud800"}, ["skills/s/SKILL.md"]),
    ],
    ids=["no list", "no text", "a file and a folder", "too long", "not for a file"],
)
def test_a_playbook_that_a_model_got_wrong_spoils_no_other_file(yard, skill, files):
    yard.talk("thread-1")
    yard.clock.forward(hours=13)
    assert yard.build(Model(second=PHASE_TWO | {"skills": [skill]})).files
    assert [name for name in yard.files() if name.startswith("skills/")] == files


def test_a_skill_needs_a_name_and_something_in_it():
    assert artifacts.skill_of({"name": "!!!", "content": "x"}) is None
    assert artifacts.skill_of({"name": "x", "content": " "}) is None
    assert artifacts.skill_of("x") is None
    assert artifacts.skill_name(" Release: v2 / Über-Plan ") == "release-v2-ber-plan"
    assert len(artifacts.skill_name("x" * 99)) == 64


# Jobs


def test_op_12_enqueued_with_an_older_clock_it_is_built_again(yard):
    yard.talk("thread-1")
    yard.clock.forward(hours=13)
    yard.build(Model())
    (job,) = [job for job in yard.hf.store.jobs.list([PROJECT]) if job.kind == "project-build"]
    yard.clock.forward(hours=-5)
    project_jobs.build.enqueue(yard.hf.store, PROJECT, yard.author())
    (again,) = [job for job in yard.hf.store.jobs.list([PROJECT]) if job.kind == "project-build"]
    assert (again.watermark, again.retries_left, again.retry_at) == (
        job.done_watermark + 1,
        3,
        None,
    )
    model = Model()
    yard.build(model)
    assert model.calls == (0, 1)


def test_op_13_a_builder_that_lost_its_lease_writes_nothing(yard):
    yard.talk("thread-1")
    yard.clock.forward(hours=13)
    yard.build(Model())
    project_jobs.build.enqueue(yard.hf.store, PROJECT, yard.author())

    class Slow(Model):
        def __call__(self, prompt):
            yard.clock.forward(seconds=181)  # the lease runs out, and another builder takes the job
            assert project_jobs.build_memory(yard.worker(default=Model())).files
            return super().__call__(prompt)

    late = Slow(second=PHASE_TWO | {"memory_md": "Too late."})
    done = yard.build(late)
    assert (late.calls, done.files) == ((0, 1), False)
    assert yard.file("MEMORY.md") == f"{MEMORY}\n"


def test_never_two_builders(yard):
    yard.talk("thread-1")
    yard.clock.forward(hours=13)
    others = []

    class Watched(Model):
        def __call__(self, prompt):
            if "# Raw memories" in prompt:
                others.append(project_jobs.build_memory(yard.worker(default=Model())))
            return super().__call__(prompt)

    assert yard.build(Watched()).files
    assert [one.files for one in others] == [False]


def test_projects_do_not_meet(yard):
    yard.talk("thread-1")
    yard.talk(
        "thread-2",
        "We decided to use Hugo instead of Jekyll because builds are faster.",
        scope=OTHER,
    )
    yard.clock.forward(hours=13)
    yard.build()
    yard.build(scope=OTHER)
    assert "pnpm" in yard.file("MEMORY.md")
    assert "Hugo" not in yard.file("MEMORY.md")
    assert "Hugo" in yard.file("MEMORY.md", OTHER)
    clear_project_memory(yard.hf.store, PROJECT, yard.building, yard.author())
    assert (yard.files(), "MEMORY.md" in yard.files(OTHER)) == ([], True)
    assert yard.build(scope=OTHER).read == 0
    assert yard.build().read == 1


# Secrets


def test_op_18_no_secret_on_disk_or_in_the_store(yard, tmp_path):
    secrets = {
        "aws": "AKIA" + "Q3EGR7DKXU2LW5ZB",
        "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.dBjftJeZ4CVPmB92K27u",
        "openai": "sk-" + "proj-a1B2c3D4e5F6g7H8i9J0k1L2",
        "github": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6",
        "password": "hunter2-x9",
        "url": "s3cr3tpw9",
        "pem": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7",
    }
    text = (
        f"{secrets['aws']} {secrets['jwt']} {secrets['openai']} {secrets['github']} "
        f"password={secrets['password']} "
        f"postgres://app:{secrets['url']}@db/x in task_management_module\n"
        f"-----BEGIN PRIVATE KEY-----\n{secrets['pem']}\n-----END PRIVATE KEY-----"
    )
    yard.talk("thread-1", text)
    yard.clock.forward(hours=13)
    first = dict.fromkeys(STAGE_ONE, text)
    second = PHASE_TWO | {
        "memory_md": text,
        "memory_summary": text,
        "skills": [
            {
                "name": f"Deploy with {secrets['aws']}",
                "content": text,
                "scripts": [
                    {"path": "s.sh", "content": text},
                    {"path": f"{secrets['github']}.sh", "content": "x"},
                ],
            }
        ],
    }
    model = Model(first, second)
    assert yard.build(model).files
    on_disk = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in secrets.values():
        assert secret.encode() not in on_disk
        assert all(secret not in prompt for prompt in model.asked)
        assert not any(secret.lower() in str(path).lower() for path in tmp_path.rglob("*")), (
            "nor in a file's name"
        )
    assert "task_management_module" in yard.file("MEMORY.md")


# Without a model


def test_rules_build_the_same_files(yard):
    yard.talk("thread-1")
    yard.talk(
        "thread-2",
        "Always run the linter before you commit in this repo.",
        "To deploy:\n1. run `make build`\n2. run `make deploy`",
    )
    yard.clock.forward(hours=13)
    assert yard.build().files
    memory = yard.file("MEMORY.md")
    assert "## Decisions" in memory
    assert "pnpm" in memory
    assert "(thread-1, 2026-03-18, current)" in memory
    assert [name for name in yard.files() if name.endswith("SKILL.md")]
    assert "pnpm" in yard.file("memory_summary.md")
    before = {name: yard.file(name) for name in yard.files()}
    project_jobs.build.enqueue(yard.hf.store, PROJECT, yard.author())
    yard.build()
    assert {name: yard.file(name) for name in yard.files()} == before


def test_what_a_person_wrote_between_the_marks_stays(yard):
    yard.talk("thread-1")
    yard.clock.forward(hours=13)
    yard.build()
    path = yard.building.folder(PROJECT) / "MEMORY.md"
    path.write_text(
        path.read_text().replace("<!-- yours:begin -->\n", "<!-- yours:begin -->\nAsk Ann first.\n")
    )
    yard.talk("thread-2", "We decided to use Vite instead of webpack because it starts faster.")
    yard.clock.forward(hours=13)
    yard.build()
    assert "<!-- yours:begin -->\nAsk Ann first.\n<!-- yours:end -->" in yard.file("MEMORY.md")
    assert "Vite" in yard.file("MEMORY.md")
    yard.clock.forward(hours=1)
    project_jobs.build.enqueue(yard.hf.store, PROJECT, yard.author())
    yard.build(Model())
    assert "Ask Ann first." in yard.file("MEMORY.md"), "a text without such a region gets one"


# Erasing


def test_what_is_purged_is_not_in_the_files(yard):
    yard.building = Building(config.data_folder())
    yard.talk("thread-1")
    yard.talk("thread-2", "We decided to use Vite instead of webpack because it starts faster.")
    yard.clock.forward(hours=13)
    yard.build()
    path = yard.building.folder(PROJECT) / "MEMORY.md"
    path.write_text(
        path.read_text().replace("<!-- yours:begin -->\n", "<!-- yours:begin -->\nAsk Ann first.\n")
    )
    receipt = yard.hf.admin.purge(session="thread-2")
    assert ("built memory", "clean") in [(place.name, place.state) for place in receipt.places]
    words = b"".join(one.read_bytes() for one in yard.building.data.rglob("*") if one.is_file())
    assert b"Vite" not in words
    assert b"pnpm" in words
    assert b"Ask Ann first." in words
    yard.hf.admin.purge(owner=True)
    assert yard.files() == []


# Settings


def test_every_key_and_its_default():
    assert settings_from({}, "x") == ProjectSettings()
    assert settings_from(
        {"enabled": True, "maxRolloutAgeDays": 7, "min_rollout_idle_hours": 1}, "x"
    ) == ProjectSettings(enabled=True, max_rollout_age_days=7, min_rollout_idle_hours=1)
    documented = {
        "enabled": False,
        "maxRolloutAgeDays": 30,
        "minRolloutIdleHours": 12,
        "maxRolloutsPerStartup": 64,
        "summaryInjectionTokenLimit": 5000,
        "threadScanLimit": 300,
        "maxRawMemoriesForGlobal": 200,
        "stage1Concurrency": 8,
        "stage1LeaseSeconds": 120,
        "stage1RetryDelaySeconds": 120,
        "phase2LeaseSeconds": 180,
        "phase2RetryDelaySeconds": 180,
        "phase2HeartbeatSeconds": 30,
        "rolloutPayloadPercent": 0.7,
        "fallbackTokenLimit": 16000,
    }
    assert settings_from(documented, "x") == ProjectSettings()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {"enabeld": True},
            "memories has no key 'enabeld' (holdfast.yaml). Did you mean 'enabled'?",
        ),
        ({"enabled": "yes"}, "memories.enabled must be true or false, not 'yes' (holdfast.yaml)."),
        (
            {"maxRolloutAgeDays": -1},
            "memories.max_rollout_age_days must be a whole number, not -1 (holdfast.yaml).",
        ),
        ({"rolloutPayloadPercent": 70}, "memories.rollout_payload_percent must be a share above 0"),
    ],
)
def test_a_mistake_in_the_settings_is_named(values, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        settings_from(values, "holdfast.yaml")
