"""Safety events and feedback: kept apart from memory, without a word of what was said, for as long
as is promised.

Every test runs on a file, in memory and on Postgres.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from holdfast.audit import PATHS, open_audit
from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.errors import InvalidInput, NotFound, StoreClosed
from holdfast.feedback import LABELS, open_feedback
from holdfast.types import STATUSES

WORDS_ONLY = Settings(embedding_models="none")


@pytest.fixture(params=["sqlite", "memory", "postgres"])
def place(request, tmp_path):
    """Where the memories are, beside which the rest lies."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return ":memory:" if request.param == "memory" else str(tmp_path / "memory.db")


@pytest.fixture
def audit(place, clock):
    log = open_audit(place, clock=clock)
    yield log
    log.close()


@pytest.fixture
def feedback(place, clock):
    log = open_feedback(place, clock=clock)
    yield log
    log.close()


def test_a_session_is_kept_as_a_hash_only(audit, feedback, place, tmp_path):
    event = audit.record(session="Tuesday with Ann", level=2, path="rules", owner="user:ann")
    given = feedback.add(session="Tuesday with Ann", label="positive", owner="user:ann")
    assert event.session == given.session == hashlib.sha256(b"Tuesday with Ann").hexdigest()
    assert "Tuesday" not in str(audit.list()) + str(feedback.list())
    assert all(
        b"Tuesday" not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()
    )


def test_there_is_no_field_for_what_was_said():
    from dataclasses import fields

    from holdfast.audit import SafetyEvent
    from holdfast.feedback import Feedback

    assert [field.name for field in fields(SafetyEvent)] == [
        "id",
        "at",
        "session",
        "owner",
        "level",
        "path",
        "keep_until",
    ]
    assert [field.name for field in fields(Feedback)] == [
        "id",
        "at",
        "session",
        "owner",
        "label",
        "source",
    ]


def test_whose_session_it_was_is_not_kept_where_nothing_is_on_disk(audit, feedback, place):
    event = audit.record(session="s", level=1, path="model", owner="user:ann")
    given = feedback.add(session="s", label="skip", owner="user:ann")
    expected = None if place == ":memory:" else "user:ann"
    assert (event.owner, given.owner) == (expected, expected)
    assert [one.owner for one in (*audit.list(), *feedback.list())] == [expected, expected]


@pytest.mark.parametrize(("level", "path"), [(4, "rules"), (-1, "rules"), (1, "hearsay")])
def test_levels_and_paths_are_those_that_are_named(audit, level, path):
    with pytest.raises(InvalidInput):
        audit.record(session="s", level=level, path=path)
    assert audit.list() == []


def test_labels_are_those_that_are_named(feedback):
    for label in LABELS:
        assert feedback.add(session="s", label=label).label == label
    with pytest.raises(InvalidInput):
        feedback.add(session="s", label="splendid")
    assert feedback.count() == len(LABELS)


def test_events_go_after_ninety_days_unless_they_were_extended(audit, clock):
    first, second = (audit.record(session="s", level=1, path=path) for path in PATHS[:2])
    audit.extend(second.id, days=100)
    clock.forward(days=89)
    assert audit.purge() == 0
    clock.forward(days=1)
    assert audit.purge() == 1
    assert [one.id for one in audit.list()] == [second.id]
    clock.forward(days=10)
    assert audit.purge() == 1
    with pytest.raises(NotFound):
        audit.extend(first.id, days=1)


def test_feedback_goes_after_a_hundred_and_eighty_days(feedback, clock):
    feedback.add(session="s", label="negative")
    clock.forward(days=179)
    assert feedback.purge() == 0
    clock.forward(days=1)
    assert (feedback.purge(), feedback.count()) == (1, 0)


def test_one_owner_can_be_counted_taken_off_and_forgotten(place, audit, feedback):
    if place == ":memory:":
        pytest.skip("nobody is named there")
    for owner in ("user:ann", "user:bob"):
        audit.record(session="s", level=1, path="rules", owner=owner)
        feedback.add(session="s", label="skip", owner=owner)
    assert (audit.count(owner="user:ann"), feedback.count(owner="user:ann")) == (1, 1)
    assert (audit.unlink("user:ann"), feedback.forget("user:ann")) == (1, 1)
    assert sorted(str(one.owner) for one in audit.list()) == ["None", "user:bob"]
    assert [one.owner for one in feedback.list()] == ["user:bob"]


def test_what_is_newest_comes_first_and_a_limit_is_kept(audit, clock):
    events = []
    for level in (0, 1, 2):
        events.append(audit.record(session="s", level=level, path="rules"))
        clock.forward(hours=1)
    assert [one.id for one in audit.list(limit=2)] == [events[2].id, events[1].id]


def test_nothing_of_it_is_recalled_listed_or_exported(place, audit, feedback, tmp_path):
    """OC-30."""
    with Holdfast.open(place, scope="user:ann", settings=WORDS_ONLY, background=False) as hf:
        hf.remember("Prefers green tea")
        audit.record(session="crisis night", level=3, path="rules", owner="user:ann")
        feedback.add(session="crisis night", label="negative", owner="user:ann")
        for question in (
            "crisis night",
            "safety level rules",
            "negative feedback",
            audit.list()[0].id,
        ):
            assert [hit.memory.content for hit in hf.recall(question)] in (
                [],
                ["Prefers green tea"],
            )
        assert [one.content for one in hf.list(statuses=STATUSES)] == ["Prefers green tea"]
        bundle = "".join(hf.admin.export(vectors=True))
        assert not {audit.list()[0].id, feedback.list()[0].id, audit.list()[0].session} & set(
            bundle.split('"')
        )


def test_looking_makes_no_file_and_a_file_is_private(place, audit, feedback, tmp_path):
    assert (audit.list(), audit.count(), feedback.list(), feedback.count()) == ([], 0, [], 0)
    assert not list(tmp_path.glob("*.db"))
    if Path(place).parent == tmp_path:
        audit.record(session="s", level=0, path="person")
        assert (tmp_path / "audit.db").stat().st_mode & 0o777 == 0o600


def test_closing_twice_equals_once_and_later_calls_say_so(audit, feedback):
    for log in (audit, feedback):
        log.close()
        log.close()
        with pytest.raises(StoreClosed):
            log.list()


def test_what_is_purged_leaves_no_byte_in_the_file(tmp_path, clock):
    log = open_audit(tmp_path / "memory.db", clock=clock)
    event = log.record(session="s", level=1, path="rules", owner="user:zanzibar")
    clock.forward(days=91)
    log.purge()
    log.close()
    left = (tmp_path / "audit.db").read_bytes()
    assert b"zanzibar" not in left and event.session.encode() not in left
