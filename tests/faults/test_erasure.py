"""A word that was written on every path there is, and then purged, is in no byte of any file, nor
in later exports.

Another process has the store open all the while. Whoever adds a verb says here how it writes, or
that it only reads.
"""

from __future__ import annotations

import inspect
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_type_hints

import apsw
import pytest

from holdfast.client import Holdfast
from holdfast.errors import NotFound
from holdfast.extraction.job_types import Worker
from holdfast.maintenance.job_runner import drain
from holdfast.records.roots import RecordRoot
from holdfast.storage import protocol
from holdfast.storage.protocol import Transaction
from holdfast.storage.store_types import KnownFile
from holdfast.types import STATUSES, Edge, Entity, Scope, Triple
from patience import PATIENCE
from verbs import every_verb, verbs_of

HOLDING = Path(__file__).parent / "holding.py"
Said = tuple[tuple[Any, ...], dict[str, Any]]
"""What to purge: arguments of `Holdfast.purge`."""


@pytest.fixture
def word() -> str:
    """A word that nobody has ever written: pronounceable, so that it is not taken for a secret."""
    chance = random.SystemRandom()
    return (
        "Zephy"
        + "".join(chance.choice("bdfgklmnprst") + chance.choice("aeiou") for _ in range(6))
        + "quokk"
    )


@pytest.fixture
def held_open(hf: Holdfast, tmp_path: Path) -> Iterator[None]:
    """Another process that has the store open."""
    command = [sys.executable, str(HOLDING), hf.store.location, "user:ann"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None and other.stdout.readline()
        yield
        assert other.stdin is not None
        other.stdin.close()
        assert other.wait(timeout=PATIENCE) == 0


def left(folder: Path, word: str) -> list[str]:
    """The files that hold the word, or what an index would hold of it."""
    needles = {word.encode(), word.lower().encode(), word.lower()[4:-3].encode()}
    return [
        file.name
        for file in sorted(folder.rglob("*"))
        if file.is_file() and any(n in file.read_bytes() for n in needles)
    ]


# How each verb writes

WAYS: dict[str, Callable[[Holdfast, str], Said]] = {}


def way(
    *verbs: str,
) -> Callable[[Callable[[Holdfast, str], Said]], Callable[[Holdfast, str], Said]]:
    """Notes how these verbs write the word, and what has to be purged afterwards."""

    def note(write: Callable[[Holdfast, str], Said]) -> Callable[[Holdfast, str], Said]:
        for verb in verbs:
            WAYS[verb] = write
        return write

    return note


def remembered(hf: Holdfast, word: str, **fields: Any) -> str:
    return hf.remember(f"Keeps bees in the garden of {word}", **fields).id


@way("remember")
def _(hf: Holdfast, word: str) -> Said:
    every = {
        "title": word,
        "category": word,
        "author": word,
        "role": word,
        "source": word,
        "tags": (word,),
    }
    deep = {
        "quote": word,
        "triple": Triple("User", word, word, word, word),
        "metadata": {"a": [{word: word}]},
    }
    one = hf.remember(f"Keeps bees at {word}", session="s1", **every, **deep)
    return (
        one.id,
        *(kind_of(hf, word, kind) for kind in ("rule", "skill", "episode", "document")),
    ), {}


def kind_of(hf: Holdfast, word: str, kind: str) -> str:
    return remembered(hf, f"{word} as {kind}", kind=kind)


@way("remember_many")
def _(hf: Holdfast, word: str) -> Said:
    return tuple(
        one.id for one in hf.remember_many([f"{word} one", {"content": "two", "title": word}])
    ), {}


@way(
    "capture",
    "capture_many",
    "sessions.end",
    "sessions.end_idle",
    "sessions.messages",
    "sessions.append",
)
def _(hf: Holdfast, word: str) -> Said:
    session = f"talk {word}"
    hf.capture(session, "user", f"I met @{word} today", author=word)
    hf.capture_many(
        [{"session": session, "role": word, "text": f"and {word} again", "author": word}]
    )
    hf.sessions.append(
        session, [{"role": "user", "parts": [{"content": f"met {word}"}]}], metadata={"about": word}
    )
    hf.sessions.end(session, reason=word, metadata={"approach_context": {"a": word}})
    hf.sessions.append("other", [{"kind": "tool", "args": f'{{"content": "I met @{word} today"}}'}])
    return (), {"session": session}


@way("correct")
def _(hf: Holdfast, word: str) -> Said:
    old = hf.remember("Keeps bees in the garden")
    return (hf.correct(old.id, f"Keeps bees in {word}", reason=f"it was {word}").id,), {}


@way("confirm", "archive", "restore", "forget", "admin.evict")
def _(hf: Holdfast, word: str) -> Said:
    one = remembered(hf, word)
    hf.confirm(one), hf.archive(one, reason=f"about {word}"), hf.restore(one), hf.forget(one)
    other = remembered(hf, f"{word} too")
    hf.admin.evict(kinds=["fact"], keep=0)
    return (one, other), {}


@way("entities.merge")
def _(hf: Holdfast, word: str) -> Said:
    going = hf.remember(f"Saw @{word} at the market").id
    hf.remember("Saw @bob at the market")
    hf.entities.merge("@bob", f"@{word}")
    return (going,), {}


@way("entities.split")
def _(hf: Holdfast, word: str) -> Said:
    going = WAYS["entities.merge"](hf, word)
    hf.entities.split("@bob", f"@{word}")
    return going


@way("entities.rename")
def _(hf: Holdfast, word: str) -> Said:
    going = hf.remember("Saw @carla at the market").id
    hf.entities.rename("@carla", word)
    hf.entities.rename(word, "Carla again")
    return (going,), {}


@way("undo")
def _(hf: Holdfast, word: str) -> Said:
    one = remembered(hf, word, title=word)
    hf.undo()
    return (one,), {}


@way("admin.write")
def _(hf: Holdfast, word: str) -> Said:
    one = hf.get(remembered(hf, word))
    going = hf.get(remembered(hf, f"{word} was here"))

    def work(tx: Transaction) -> None:
        tx.change(one, title=word, status="held", status_reason=word, metadata={"said": word})
        tx.link(Edge(one.scope, one.id, going.id, "conflicts_with", 0, f"because of {word}"))
        tx.entities.put(
            Entity("ent_x", one.scope, word, "person", 0, (f"{word} junior",), f"lives with {word}")
        )
        tx.entities.mention(one.scope, entity="ent_x", memory=one.id)
        tx.files.put(one.scope, [KnownFile(f"/home/{word}", f"{word}.md", one.id, 1, 1, "")])
        tx.remove(going)

    hf.admin.write("change", work)
    return (one.id, going.id), {}


@way("reviews.propose", "reviews.list", "reviews.reject", "reviews.expire")
def _(hf: Holdfast, word: str) -> Said:
    one, other = (
        hf.reviews.propose(f"{word} {number} is the word", reason=f"for {word}")
        for number in ("one", "two")
    )
    hf.reviews.reject(one.id, reason=f"not {word}")
    hf.reviews.expire(days=0)
    return (one.id, other.id), {}


@way("reviews.approve", "reviews.preview")
def _(hf: Holdfast, word: str) -> Said:
    one = hf.reviews.propose(f"Lives near {word}")
    hf.actor = "cli:ann"  # who proposes does not approve, unless it is a person
    return (one.id, hf.reviews.approve(one.id, f"Lives in {word}").id), {}


@way("sessions.extract", "sessions.learn", "admin.maintain")
def _(hf: Holdfast, word: str) -> Said:
    for text in (
        f"My name is {word} and I live in {word}.",
        f"I work for {word} and I love {word} a lot.",
        "It rains.",
    ):
        hf.capture("talk", "user", text, author=word)
        hf.sessions.extract("talk")
    hf.sessions.end("talk")
    hf.sessions.learn("talk")
    hf.admin.maintain()
    derived = [
        one for one in hf.list(statuses=STATUSES) if one.kind != "turn" and word in one.content
    ]
    assert derived, "nothing was learned, so this shows nothing"
    return (), {"session": "talk"}


@way("admin.reflect", "admin.decay", "admin.reembed")
def _(hf: Holdfast, word: str) -> Said:
    hf.clock.forward(days=7)  # since the last time
    ids = [hf.remember(f"Thing {number} about {word}", category=word).id for number in range(3)]
    hf.remember("Keeps bees")
    reflection = hf.admin.reflect()
    assert reflection is not None and word in reflection.content
    hf.admin.decay(), hf.admin.reembed()
    return tuple(ids), {}


@way("admin.consolidate")
def _(hf: Holdfast, word: str) -> Said:
    going, staying = (
        hf.remember(text, kind="episode").id for text in (f"Went to {word}", "Went to the market")
    )
    hf.admin.consolidate(lambda prompt: f"fact: Likes {word}\nfact: Likes markets")
    assert staying
    return (going,), {}


@way("admin.import_", "admin.export")
def _(hf: Holdfast, word: str) -> Said:
    other = Holdfast.open(":memory:", scope="user:ann", settings=hf.settings, background=False)
    with other:
        one = remembered(other, word, title=word)
        other.archive(one)
        hf.admin.import_(list(other.admin.export(vectors=True)))
    return (one,), {}


@way("admin.sync")
def _(hf: Holdfast, word: str) -> Said:
    with TemporaryDirectory() as folder:
        other = Path(folder) / "other.db"
        with Holdfast.open(other, scope="user:ann", settings=hf.settings, background=False) as away:
            one = remembered(away, word, title=word)
            away.capture("s9", "user", f"Heard of {word}")
            turn = away.list(kinds=["turn"])[0].id
        hf.admin.sync(other)
    return (one, turn), {}


@way("projects.index")
def _(hf: Holdfast, word: str) -> Said:
    with TemporaryDirectory() as folder:
        place = RecordRoot(Path(folder) / ".holdfast", hf.scopes[0], "project")
        note, talk = Path(folder) / "note.md", Path(folder) / "s8.jsonl"
        note.write_text(
            f"---\ntitle: On {word}\nlabels: [{word}]\n---\nBees of @{word}.\n\n# "
            f"{word}\n\nMore "
            "bees."
        )
        said = {
            "sessionId": "s8",
            "parentUuid": None,
            "uuid": "u",
            "type": "user",
            "cwd": f"/home/{word}",
        }
        talk.write_text(
            json.dumps({**said, "message": {"content": f"I met @{word} and went on and on " * 9}})
        )
        opened = Holdfast(
            hf.store,
            hf.scopes,
            settings=hf.settings,
            tiers=hf.tiers,
            clock=hf.clock,
            places=[place],
        )
        assert opened.projects.index([note, talk]).chunks == 2
        before = hf.list(kinds=["document"])
        note.write_text(f"Nothing but {word}.")
        opened.projects.index()
    # The journal keeps what a file said before.
    hf.admin.purge(*(one.id for one in (*before, *hf.list(kinds=["document"]))))
    return (), {"session": "s8"}


@way("projects.import_sessions")
def _(hf: Holdfast, word: str) -> Said:
    with TemporaryDirectory() as folder:
        talk = Path(folder) / "s6.jsonl"
        said = {
            "sessionId": "s6",
            "parentUuid": None,
            "uuid": "u",
            "type": "user",
            "cwd": f"/home/{word}",
        }
        talk.write_text(
            json.dumps({**said, "message": {"content": f"I met @{word} on the way to the market"}})
        )
        assert hf.projects.import_sessions(talk).chunks == 1
    return (), {"session": "s6"}


@way("records.extract")
def _(hf: Holdfast, word: str) -> Said:
    hf.capture(
        "s7", "user", f"We'll use {word} instead of SQLite because {word} has concurrent writers."
    )
    hf.sessions.end("s7")
    with TemporaryDirectory() as folder:
        place = RecordRoot(Path(folder) / ".holdfast", hf.scopes[0], "project")
        opened = Holdfast(
            hf.store,
            hf.scopes,
            settings=hf.settings,
            tiers=hf.tiers,
            clock=hf.clock,
            places=[place],
        )
        (record,) = opened.records.extract("s7").records
        opened.admin.purge(record)  # here, where its file is
        assert left(Path(folder), word) == []
    return (), {"session": "s7"}


@way("sessions.set_profile", "sessions.profile")
def _(hf: Holdfast, word: str) -> Said:
    hf.admin.write("profile", lambda tx: tx.profiles.put(hf.scopes[0], {"called": word}))
    return (), {"owner": True}


@way("admin.purge", "admin.plan_purge", "admin.finish_purge", "sessions.purge")
def _(hf: Holdfast, word: str) -> Said:
    one, other = remembered(hf, word), remembered(hf, f"{word} too")
    hf.sessions.append(f"gone {word}", [{"said": word}])
    hf.sessions.purge(f"gone {word}")
    hf.admin.plan_purge(one)
    hf.admin.purge(one)
    hf.admin.finish_purge()
    return (other,), {}


@way(
    "records.add",
    "records.update",
    "records.reclassify",
    "records.move",
    "records.delete",
    "records.clear",
    "records.sync_files",
)
def _(hf: Holdfast, word: str) -> Said:
    with TemporaryDirectory() as folder:
        places = (
            RecordRoot(Path(folder) / ".holdfast", hf.scopes[0], "project"),
            RecordRoot(Path(folder) / "own", Scope("assistant", "ann"), "assistant"),
        )
        scopes = [place.scope for place in places]
        opened = Holdfast(
            hf.store, scopes, settings=hf.settings, tiers=hf.tiers, clock=hf.clock, places=places
        )
        added = opened.records.add(
            f"Keeps bees at {word}.",
            category="decisions",
            title=word,
            keywords=[word],
            aliases=[f"{word} junior"],
            source={"path": f"/home/{word}"},
            evidence=[f"https://bees.org/{word}"],
            quote=f"said {word}",
        )
        opened.records.update(added.id, body=f"Keeps no bees at {word}.", title=f"{word}: no bees")
        file = places[0].root / opened.records.reclassify(added.id, "incidents").metadata["file"]
        file.write_text(file.read_text().replace("status:", f"owner:   {word}  # {word}\nstatus:"))
        assert opened.records.sync_files().read == 1
        opened.records.update(added.id, keywords=[f"{word} the second"])
        opened.records.move(added.id, "assistant")
        gone = opened.records.add(f"Also of {word}.", category="incidents", title=word)
        opened.records.delete(gone.id)
        opened.records.clear("assistant")
        # One of them was in two places.
        assert opened.admin.purge(added.id, gone.id).counts["memories"] == 3
        assert not list(Path(folder).rglob("*.md"))
    return (remembered(hf, word),), {}


@way("records.reanchor")
def _(hf: Holdfast, word: str) -> Said:
    with TemporaryDirectory() as folder:
        place, code = (
            RecordRoot(Path(folder) / ".holdfast", hf.scopes[0], "project"),
            Path(folder) / f"{word}.py",
        )
        code.write_text(f"keeps = {word!r}\n")
        opened = Holdfast(
            hf.store,
            hf.scopes,
            settings=hf.settings,
            tiers=hf.tiers,
            clock=hf.clock,
            places=[place],
        )
        cited = opened.records.add(
            "Keeps bees.", category="decisions", evidence=[{"file": code.name, "note": word}]
        )
        assert "hash" in opened.records.reanchor(cited.id).metadata["evidence"][0]
        opened.admin.purge(cited.id)
    return (remembered(hf, word),), {}


READING = {
    "open",
    "scoped",
    "close",
    "recall",
    "context",
    "sessions.working_memory",
    "explain",
    "get",
    "list",
    "entities.list",
    "entities.get",
    "entities.duplicates",
    "history",
    "admin.links",
    "admin.log",
    "sessions.list",
    "stats",
    "admin.check",
    "records.brief",
    "records.verify",
    "records.list",
    "admin.warnings",
    "admin.embedding_problems",
    "records.publish",
    "records.withdraw",  # they write to no place of ours, but into a file that a person names
}

# What a project's memory is built of, and that it is erased, is in contracts/test_002_build.py.
PROJECTS = {"projects.view", "projects.build", "projects.clear"}

# By which of the ways above each verb of a transaction is used; those that only read are not asked.
WRITERS = {
    "add": "remember",
    "add_many": "remember_many",
    "change": "confirm",
    "remove": "undo",
    "link": "correct",
    "undo": "undo",
    "restore_row": "admin.import_",
    "sessions.put": "capture",
    "sessions.begin_many": "capture_many",
    "sessions.go_on": "capture",
    "sessions.add_messages": "sessions.append",
    "progress.put": "sessions.extract",
    "profiles.put": "sessions.set_profile",
    "entities.put": "entities.merge",
    "entities.add_many": "capture_many",
    "entities.remove": "entities.merge",
    "entities.mention": "capture",
    "entities.mention_many": "capture",
    "entities.unmention": "entities.split",
    "files.put": "records.add",
    "jobs.enqueue": "admin.purge",
    "jobs.finish": "admin.maintain",
    "erasure.memory": "admin.purge",
    "erasure.session": "sessions.purge",
    "erasure.entity": "entities.merge",
    "erasure.scope": "sessions.profile",
    "erasure.redact": "admin.purge",
    "replication.note_error": "admin.sync",
}
WRITER_READING = {
    "memory",
    "same_words",
    "surplus",
    "touched",
    "edges",
    "events",
    "sessions.get",
    "sessions.list",
    "sessions.memories",
    "sessions.messages",
    "sessions.message_counts",
    "sessions.next_position",
    "sessions.places",
    "progress.get",
    "progress.list",
    "profiles.get",
    "entities.get",
    "entities.list",
    "entities.named",
    "entities.with_names",
    "entities.existing",
    "entities.mentioning",
    "entities.mentions_of",
    "entities.pairs",
    "entities.companions",
    "entities.recently_mentioned",
    "files.list",
    "files.stats",
    "erasure.entities_of",
    "erasure.removed",
    "erasure.contents",
    "erasure.sizes",
    "replication.is_sound",
    "replication.entries",
}
WRITER_DROPPING = {"jobs.drop", "files.drop", "progress.drop"}
# Rows that come from another store as they are; what they hold was written there by one of the
# verbs above.
WRITER_COPYING = {
    "restore_many",
    "replication.purges",
    "replication.lineages",
    "replication.pending",
    "replication.apply",
    "replication.take_messages",
    "replication.replica_id",
    "replication.position",
    "replication.set_position",
}


def transaction_verbs() -> set[str]:
    """The verbs of a transaction, and those of its tables behind the table's name."""
    found = verbs_of(Transaction)
    for name, table in inspect.getmembers(Transaction, lambda one: isinstance(one, property)):
        kind = get_type_hints(table.fget, vars(protocol))["return"]
        found |= {f"{name}.{verb}" for verb in verbs_of(kind)}
    return found


def test_every_verb_says_how_it_writes_or_that_it_only_reads():
    assert every_verb() == WAYS.keys() | READING | PROJECTS
    assert transaction_verbs() == WRITERS.keys() | WRITER_READING | WRITER_DROPPING | WRITER_COPYING
    assert WAYS.keys() >= set(WRITERS.values())


@pytest.mark.parametrize(
    "write",
    dict.fromkeys(WAYS.values()),
    ids=lambda write: next(v for v in WAYS if WAYS[v] is write),
)
def test_what_was_written_and_purged_is_nowhere(hf, word, write, tmp_path, held_open):
    refs, how = write(hf, word)
    assert left(tmp_path, word), "it was never there, so this shows nothing"
    receipt = hf.admin.purge(*refs, **how)
    assert receipt.pending == ()
    assert left(tmp_path, word) == []
    assert word.lower() not in "".join(hf.admin.export(vectors=True)).lower()
    assert hf.admin.check() == []


def test_an_owner_who_is_purged_is_nowhere(hf, word, tmp_path, held_open):
    for write in dict.fromkeys(WAYS.values()):
        write(hf, word)
    hf.store.jobs.enqueue(hf.scopes[0], "tidy", word, watermark=1)
    job = hf.store.jobs.claim(["tidy"], scopes=hf.scopes, worker=word, now=0, lease=1)
    assert job is not None and hf.store.jobs.fail(job, error=f"cannot read {word}", retry_at=0)
    kept = hf.scoped("user:bob").remember("Lives next door")
    receipt = hf.admin.purge(owner=True)
    assert receipt.pending == () and receipt.memories > 20
    assert left(tmp_path, word) == []
    assert (
        word.lower()
        not in "".join([*hf.admin.export(), *hf.scoped("user:bob").admin.export()]).lower()
    )
    assert (
        hf.admin.check(),
        hf.list(statuses=STATUSES),
        hf.sessions.list(),
        hf.entities.list(),
    ) == (
        [],
        [],
        [],
        [],
    )
    assert hf.scoped("user:bob").get(kept.id) == kept


def test_what_was_purged_here_is_purged_in_a_store_that_is_synced_afterwards(hf, word, tmp_path):
    one = remembered(hf, word, title=word)
    hf.capture(f"talk {word}", "user", f"I met @{word}")
    hf.admin.sync(tmp_path / "other.db")
    hf.admin.purge(one), hf.admin.purge(session=f"talk {word}")
    assert left(tmp_path, word) == ["other.db"]
    hf.admin.sync(tmp_path / "other.db")
    assert left(tmp_path, word) == []


def test_a_question_leaves_no_trace(hf, word, tmp_path):
    tea = hf.remember("Prefers green tea")
    hf.recall(f"who is {word}?"), hf.context(f"tell me of {word}"), hf.explain(tea.id, word)
    with pytest.raises(NotFound):
        hf.entities.get(word)
    hf.close()
    assert left(tmp_path, word) == []


def test_a_job_that_failed_over_a_memory_does_not_quote_it_any_more(hf, word, tmp_path):
    one = hf.get(remembered(hf, word))
    hf.store.jobs.enqueue(one.scope, "tidy", "k", watermark=1)
    job = hf.store.jobs.claim(["tidy"], scopes=hf.scopes, worker="w", now=0, lease=1)
    assert job is not None and hf.store.jobs.fail(
        job, error=f"no idea what to make of {one.content!r}", retry_at=0
    )
    hf.admin.purge(one.id)
    assert left(tmp_path, word) == []
    assert [job.error for job in hf.store.jobs.list(hf.scopes) if job.kind == "tidy"] == [
        "no idea what to make of '(erased)'"
    ]


def test_a_reader_that_holds_up_the_log_is_told_of_and_made_good(hf, word, tmp_path):
    one = remembered(hf, word)
    reader = apsw.Connection(hf.store.location)
    reader.execute("BEGIN; SELECT count(*) FROM memories")
    receipt = hf.admin.purge(one, wait=0)
    assert [place.name for place in receipt.pending] == ["log"]
    assert "purge --finish" in receipt.pending[0].detail
    assert left(tmp_path, word) != []  # which is why it does not say otherwise
    assert [job.status for job in hf.store.jobs.list(hf.scopes) if job.kind == "scrub"] == ["error"]
    reader.execute("COMMIT")
    assert {place.state for place in hf.admin.finish_purge()} == {"clean"}
    reader.close()
    assert left(tmp_path, word) == []


CRASH = """
import os, sys
from holdfast.config import Settings
from holdfast.client import Holdfast
from holdfast.storage import SQLiteStore
SQLiteStore.scrub = lambda self, wait=0.0: os._exit(9)
settings = Settings(embedding_models="none")
hf = Holdfast.open(sys.argv[1], scope="user:ann", settings=settings, background=False)
hf.admin.purge(sys.argv[2])
"""


def test_a_crash_after_the_commit_is_made_good_by_the_next_worker(hf, word, tmp_path):
    one = remembered(hf, word)
    done = subprocess.run(
        [sys.executable, "-c", CRASH, hf.store.location, one], check=False, timeout=PATIENCE
    )
    assert done.returncode == 9
    with pytest.raises(NotFound):
        hf.get(one)
    assert left(tmp_path, word) != []
    drain(Worker(hf.store, hf.tiers, clock=lambda: 2**52))
    assert left(tmp_path, word) == []
    assert [job.status for job in hf.store.jobs.list(hf.scopes) if job.kind == "scrub"] == ["done"]
