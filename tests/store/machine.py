"""Random histories of a store against a dictionary that says what must be there.

The model knows nothing of SQL or journals: a memory is a few fields and a set of words, a run is
what it left before and after. A run can be undone when everything it touched still is as the run
left it, and when nothing made later would be left hanging.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from holdfast.errors import Conflict, NotFound, Refused
from holdfast.ingest import commit
from holdfast.ingest.capture import turn
from holdfast.ingest.commit import Draft
from holdfast.storage import Filter, Store, Transaction
from holdfast.testing.scene import ANN, BOB, START, link, write
from holdfast.text.tokens import index_terms
from holdfast.types import STATUSES, Memory, Scope

WORDS = ("tea", "coffee", "river", "москва", "東京", "geneve", "seven", "blue")
SESSIONS = ("morning", "evening")
SCOPES = (ANN, BOB)
Key = tuple[Any, ...]
Opener = Callable[[], Store]

words = st.sampled_from(WORDS)
phrases = st.lists(words, min_size=1, max_size=4).map(" ".join)
scopes = st.sampled_from(SCOPES)


@dataclass
class Run:
    """What one run did to each thing: what was there before, and what it left. None where nothing
    was.
    """

    scope: Scope
    before: dict[Key, Any] = field(default_factory=dict)
    after: dict[Key, Any] = field(default_factory=dict)


class StoreMachine(RuleBasedStateMachine):
    """Subclass it with `open_store`, which opens the same data each time; `lasting`: whether it
    outlives closing.
    """

    lasting = True
    memories = Bundle("memories")
    runs = Bundle("runs")

    def open_store(self) -> Store:
        """A store on the data of this machine."""
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        self.store = self.open_store()
        self.now, self.count = START, 0
        self.things: dict[Key, Any] = {}
        self.history: dict[str, Run] = {}
        self.purged: set[Key] = set()

    # The model

    @contextmanager
    def run(self, scope: Scope) -> Iterator[str]:
        """A run: the model's changes inside are noted as its doing."""
        self.count += 1
        run, before = f"run_{self.count:04d}", dict(self.things)
        yield run
        noted = Run(scope)
        for key in before.keys() | self.things.keys():
            if before.get(key) != self.things.get(key):
                noted.before[key], noted.after[key] = before.get(key), self.things.get(key)
        self.history[run] = noted

    def note(self, memory: Memory) -> None:
        """What the model keeps of a memory."""
        self.things["memory", memory.scope, memory.id] = {
            "content": memory.content,
            "kind": memory.kind,
            "status": memory.status,
            "protected": memory.protected,
            "confidence": memory.confidence,
            "session": memory.session,
            "updated_at": memory.updated_at,
            "status_at": memory.status_at,
            "status_reason": memory.status_reason,
        }

    def change(self, memory: Memory, **fields: Any) -> None:
        key = ("memory", memory.scope, memory.id)
        self.things[key] = {**self.things[key], **fields}

    def known(self, memory: Memory) -> dict[str, Any] | None:
        """The memory as the model has it, None when it is gone."""
        thing: dict[str, Any] | None = self.things.get(("memory", memory.scope, memory.id))
        return thing

    def of_kind(self, noun: str) -> dict[Key, Any]:
        return {key: thing for key, thing in self.things.items() if key[0] == noun}

    def tick(self) -> int:
        self.now += 1_000_000
        return self.now

    def do(self, run: str, work: Callable[[Transaction], Any]) -> Any:
        return write(self.store, work, run=run, when=self.now)

    def fresh(self, tx: Transaction, memory: Memory) -> Memory:
        found = tx.memory(memory.scope, memory.id)
        assert found is not None
        return found

    # The verbs

    @rule(target=memories, scope=scopes, text=phrases, confidence=st.sampled_from((0.5, 1.0)))
    def remember(self, scope: Scope, text: str, confidence: float) -> Any:
        new = commit.build(
            Draft(content=text, confidence=confidence), scope, at=self.tick(), max_bytes=1000
        )
        twins = [
            key
            for key, thing in self.of_kind("memory").items()
            if (key[1], thing["kind"], thing["status"], thing["content"])
            == (scope, "fact", "active", text)
        ]
        with self.run(scope) as run:
            stored = self.do(run, lambda tx: commit.remember(tx, [new])[0])
            assert (stored.id == new.id) == (not twins)
            assert not twins or ("memory", scope, stored.id) in twins
            if twins:
                old = self.known(stored)
                assert old is not None
                self.change(
                    stored, confidence=max(old["confidence"], confidence), updated_at=self.now
                )
            else:
                self.note(stored)
        return stored

    @rule(target=memories, scope=scopes, session=st.sampled_from(SESSIONS), text=phrases)
    def capture(self, scope: Scope, session: str, text: str) -> Any:
        new = commit.build(
            turn(session=session, role="user", text=text), scope, at=self.tick(), max_bytes=1000
        )
        with self.run(scope) as run:
            stored = self.do(run, lambda tx: commit.remember(tx, [new])[0])
            self.note(stored)
            self.things.setdefault(("session", scope, session), True)
        return stored

    @rule(memory=memories, status=st.sampled_from(("archived", "active", "faded")))
    def set_status(self, memory: Memory, status: str) -> None:
        if self.known(memory) is None:
            return
        self.tick()
        with self.run(memory.scope) as run:
            self.do(
                run,
                lambda tx: commit.set_status(
                    tx, self.fresh(tx, memory), status, at=self.now, reason=status
                ),
            )
            if self.things["memory", memory.scope, memory.id]["status"] != status:
                self.change(
                    memory,
                    status=status,
                    status_at=self.now,
                    status_reason=status,
                    updated_at=self.now,
                )

    @rule(memory=memories)
    def confirm(self, memory: Memory) -> None:
        if self.known(memory) is None:
            return
        self.tick()
        with self.run(memory.scope) as run:
            self.do(run, lambda tx: commit.confirm(tx, self.fresh(tx, memory), at=self.now))
            if not self.things["memory", memory.scope, memory.id]["protected"]:
                self.change(memory, protected=True, confidence=1.0, updated_at=self.now)

    @rule(target=memories, memory=memories, text=phrases)
    def correct(self, memory: Memory, text: str) -> Any:
        if self.known(memory) is None:
            return multiple()
        new = commit.build(Draft(content=text), memory.scope, at=self.tick(), max_bytes=1000)
        with self.run(memory.scope) as run:
            stored = self.do(run, lambda tx: commit.correct(tx, self.fresh(tx, memory), new))
            if self.things["memory", memory.scope, memory.id]["status"] != "superseded":
                reason = f"corrected by {stored.id}"
                self.change(
                    memory,
                    status="superseded",
                    status_at=self.now,
                    status_reason=reason,
                    updated_at=self.now,
                )
            self.note(stored)
            self.things["edge", memory.scope, stored.id, memory.id] = "supersedes"
        return stored

    @rule(source=memories, target_=memories)
    def connect(self, source: Memory, target_: Memory) -> None:
        key = ("edge", source.scope, source.id, target_.id)
        if (
            source.scope != target_.scope
            or key in self.things
            or not self.known(source)
            or not self.known(target_)
        ):
            return
        with self.run(source.scope) as run:
            self.do(run, lambda tx: tx.link(link(source, target_)))
            self.things[key] = "derived_from"

    @rule(memory=memories)
    def purge(self, memory: Memory) -> None:
        if self.known(memory) is None:
            return
        key = ("memory", memory.scope, memory.id)
        with self.run(memory.scope) as run:
            self.do(run, lambda tx: tx.erasure.memory(self.fresh(tx, memory)))
            del self.things[key]
            for edge in [
                edge
                for edge in self.of_kind("edge")
                if edge[1] == memory.scope and memory.id in edge[2:]
            ]:
                del self.things[edge]
        self.purged.add(key)

    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        if not self.history:
            return
        # Lately made runs first: they are the ones that can usually be undone.
        wanted = data.draw(st.sampled_from(sorted(self.history, reverse=True)))
        old = self.history[wanted]
        self.tick()
        with self.run(old.scope) as run:
            if not self.may_undo(old):
                with pytest.raises((Conflict, Refused, NotFound)):
                    self.do(run, lambda tx: tx.undo([old.scope], wanted))
                return
            self.do(run, lambda tx: tx.undo([old.scope], wanted))
            for key, before in old.before.items():
                self.take_back(key, before, old.after[key])

    def may_undo(self, run: Run) -> bool:
        """Whether everything is as the run left it, and nothing made later would hang in the
        air.
        """
        if not run.before or self.purged & run.before.keys():
            return False
        for key, before in run.before.items():
            now, after = self.things.get(key), run.after[key]
            if (now is None) != (after is None):
                return False
            if now is None or key[0] != "memory":
                continue
            touched = (
                after.keys()
                if before is None
                else [name for name in after if before[name] != after[name]]
            )
            if any(now[name] != after[name] for name in touched if name != "updated_at"):
                return False
        for key, before in run.before.items():
            if (
                key[0] == "edge"
                and before is not None
                and not all(self.will_be(key[1], end, run) for end in key[2:])
            ):
                return False
        return not any(
            self.stands_on(key, run) for key, before in run.before.items() if before is None
        )

    def will_be(self, scope: Scope, memory: str, run: Run) -> bool:
        """Whether a memory will be there once the run is undone."""
        key = ("memory", scope, memory)
        return (run.before[key] if key in run.before else self.things.get(key)) is not None

    def stands_on(self, key: Key, run: Run) -> bool:
        """Whether something that the run did not make itself points to a thing."""
        others = {
            other: thing
            for other, thing in self.things.items()
            if run.before.get(other, 1) is not None
        }
        if key[0] == "memory":
            return any(
                other[0] == "edge" and other[1] == key[1] and key[2] in other[2:]
                for other in others
            )
        if key[0] == "session":
            memories = ((other, thing) for other, thing in others.items() if other[0] == "memory")
            return any(
                other[1] == key[1] and thing["session"] == key[2] for other, thing in memories
            )
        return False

    def take_back(self, key: Key, before: Any, after: Any) -> None:
        if before is None:
            del self.things[key]
        elif after is None or key[0] != "memory":
            self.things[key] = before
        else:
            now = self.things[key]
            touched = [
                name for name in before if before[name] != after[name] and name != "updated_at"
            ]
            if now["updated_at"] == after["updated_at"]:
                touched.append("updated_at")
            self.things[key] = {**now, **{name: before[name] for name in touched}}

    @rule()
    def reopen(self) -> None:
        if self.lasting:
            self.store.close()
            self.store = self.open_store()

    # What must hold after each step

    @invariant()
    def memories_are_what_the_model_says(self) -> None:
        expected = self.of_kind("memory")
        for scope in SCOPES:
            stored = self.store.list(Filter((scope,), statuses=STATUSES), order="oldest")
            told = {
                one.id: {name: getattr(one, name) for name in expected["memory", scope, one.id]}
                for one in stored
                if ("memory", scope, one.id) in expected
            }
            assert told == {key[2]: thing for key, thing in expected.items() if key[1] == scope}
            assert len(stored) == len(told)
            assert self.store.get([scope], [one.id for one in stored]) == stored

    @invariant()
    def edges_and_sessions_are_what_the_model_says(self) -> None:
        edges = {
            (edge.source, edge.target): edge.relation
            for key in self.of_kind("memory")
            for edge in self.store.edges(key[1], key[2])
        }
        assert edges == {key[2:]: relation for key, relation in self.of_kind("edge").items()}
        sessions = {
            ("session", session.scope, session.id) for session in self.store.sessions.list(SCOPES)
        }
        assert sessions == set(self.of_kind("session"))

    @rule(word=words, scope=scopes, statuses=st.sampled_from((("active",), STATUSES)))
    def search(self, word: str, scope: Scope, statuses: Any) -> None:
        for term in index_terms(word):
            expected = {
                key[2]
                for key, thing in self.of_kind("memory").items()
                if key[1] == scope
                and thing["status"] in statuses
                and term in index_terms(thing["content"])
            }
            ranked = self.store.by_text(Filter((scope,), statuses=statuses), [term], 1000)
            assert {
                one.id for one in self.store.get([scope], [seq for seq, _ in ranked])
            } == expected
            assert len(ranked) == len(expected)

    @rule(scope=scopes)
    def totals(self, scope: Scope) -> None:
        texts = [
            index_terms(thing["content"])
            for key, thing in self.of_kind("memory").items()
            if key[1] == scope and thing["status"] == "active"
        ]
        terms = sorted({term for word in WORDS for term in index_terms(word)})
        corpus = self.store.corpus([scope], terms)
        assert corpus.size == len(texts)
        assert corpus.size * corpus.mean_length == pytest.approx(sum(map(len, texts)))
        assert corpus.frequency == {term: sum(term in text for text in texts) for term in terms}

    def teardown(self) -> None:
        if hasattr(self, "store"):
            for scope in SCOPES:
                self.totals(scope)
            assert list(self.store.check()) == []
            self.store.close()
