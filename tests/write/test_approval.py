"""Memories that wait for a person: proposed by anybody, decided by a person, never by the one who
proposed.
"""

from __future__ import annotations

import pytest

from holdfast import Holdfast, Settings
from holdfast.errors import Conflict, NeedsPerson, NotFound
from holdfast.extraction.job_types import Worker
from holdfast.extraction.reconcile import Add, Bump, Coexist, Supersede
from holdfast.maintenance.schedule import once
from holdfast.storage import SQLiteStore
from holdfast.storage.postgres import PostgresStore
from holdfast.types import Edge, Scope, Triple

OFFLINE = Settings(embedding_models="none")
ANN = Scope("user", "ann")
MACHINES = ["agent:helper", "mcp:editor", "worker:host:1"]


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path, clock):
    if request.param == "sqlite":
        opened = SQLiteStore(tmp_path / "memory.db", clock=clock)
    else:
        opened = PostgresStore(request.getfixturevalue("postgres_store_url"), clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def acting(store, clock):
    """Ann's memory as somebody uses it: `acting("agent:helper")`."""
    return lambda actor, scope=ANN: Holdfast(
        store, [scope], settings=OFFLINE, clock=clock, actor=actor
    )


@pytest.fixture
def agent(acting):
    return acting("agent:helper")


@pytest.fixture
def ann(acting):
    return acting("cli:ann")


def statuses(hf, *memories):
    return [hf.get(memory.id).status for memory in memories]


def as_told(memories):
    """Memories without when they were last used: that is seen, not told, and no undo takes it
    back.
    """
    return [memory.with_(last_accessed=None) for memory in memories]


def test_a_proposal_is_kept_with_who_when_and_why_and_is_not_recalled(agent, ann):
    tea = agent.reviews.propose(
        "Ann prefers green tea",
        category="preferences",
        reason="said once",
        quote="green tea, please",
    )
    assert (tea.status, tea.metadata["proposed_by"], tea.metadata["policy"]["reason"]) == (
        "proposed",
        "agent:helper",
        "said once",
    )
    assert tea.metadata["proposed_at"] == "2026-03-18T12:00:00+00:00"
    assert ann.recall("green tea") == []
    assert ann.reviews.list() == [tea]


def test_a_person_approves_and_it_is_recalled_and_undone(agent, ann):
    tea = agent.reviews.propose("Ann prefers green tea")
    approved = ann.reviews.approve(tea.id)
    assert (approved.id, approved.status, approved.metadata["approved_by"]) == (
        tea.id,
        "active",
        "cli:ann",
    )
    assert [hit.memory.id for hit in ann.recall("green tea")] == [tea.id]
    ann.undo(ann.last_run)
    assert as_told(ann.reviews.list()) == [tea]
    assert ann.recall("green tea") == []


def test_an_approved_memory_is_vouched_for(agent, ann):
    rule = agent.reviews.propose("Deploy on Fridays", kind="rule", trust="external")
    assert ann.reviews.approve(rule.id).trust == "user"


@pytest.mark.parametrize("actor", MACHINES)
def test_a_machine_neither_approves_nor_rejects_whoever_proposed_it(acting, ann, actor):
    own, anns = (
        acting(actor).reviews.propose("The server is called blue"),
        ann.reviews.propose("The door code has changed"),
    )
    for memory in (own, anns):
        for decide in (acting(actor).reviews.approve, acting(actor).reviews.reject):
            with pytest.raises(NeedsPerson, match=r"waits for a person.*holdfast review"):
                decide(memory.id)
    assert statuses(ann, own, anns) == ["proposed", "proposed"]


def test_a_program_approves_what_another_proposed_but_not_what_it_did(acting, agent):
    library = acting("library")
    own, other = (
        library.reviews.propose("Ann plays chess"),
        agent.reviews.propose("Ann plays the piano"),
    )
    with pytest.raises(NeedsPerson, match="somebody else"):
        library.reviews.approve(own.id)
    assert library.reviews.approve(other.id).status == "active"
    assert library.reviews.reject(own.id).status == "archived"


@pytest.mark.parametrize("actor", ["cli:ann", "http:ann"])
def test_a_person_approves_what_they_proposed(acting, actor):
    ann = acting(actor)
    assert ann.reviews.approve(ann.reviews.propose("Ann plays chess").id).status == "active"


@pytest.mark.parametrize("status", ["proposed", "held"])
@pytest.mark.parametrize("actor", MACHINES)
@pytest.mark.parametrize("way", ["restore", "confirm", "correct"])
def test_no_verb_is_a_way_round(acting, ann, actor, status, way):
    machine = acting(actor)
    memory = machine.reviews.propose("Ann allows every deployment")
    if status == "held":
        ann.admin.write("hold", lambda tx: tx.change(memory, status="held"))
    verb = getattr(machine, way)
    with pytest.raises(NeedsPerson):
        verb(memory.id, "Ann allows it all") if way == "correct" else verb(memory.id)
    assert statuses(ann, memory) == [status]
    assert ann.recall("deployment") == []


@pytest.mark.parametrize("put_away", ["archive", "forget"])
def test_putting_it_away_and_bringing_it_back_is_no_way_round(agent, ann, put_away):
    memory = agent.reviews.propose("Ann allows every deployment")
    getattr(agent, put_away)(memory.id)
    with pytest.raises(NeedsPerson):
        agent.restore(memory.id)
    with pytest.raises(NeedsPerson):
        agent.correct(memory.id, "Ann allows all of it")


def test_a_candidate_that_was_never_committed_is_not_brought_back_by_an_agent(agent, ann):
    memory = ann.remember(
        "Ann is often tired",
        metadata={"policy": {"action": "require_repetition", "reason": "once"}},
    )
    ann.archive(memory.id, reason="not repeated")
    with pytest.raises(NeedsPerson):
        agent.restore(memory.id)
    kept = ann.remember(
        "Ann sails", metadata={"policy": {"action": "commit_now", "timing": "immediate"}}
    )
    ann.admin.evict(kinds=["fact"], keep=0, spare_unconsolidated=False)
    assert agent.restore(kept.id).status == "active"


def test_an_agent_takes_back_no_decision(agent, ann):
    """Neither a rejection, nor that a person took an approval back."""
    tea, chess = (
        agent.reviews.propose("Ann prefers green tea"),
        agent.reviews.propose("Ann plays chess"),
    )
    ann.reviews.reject(tea.id, "wrong")
    with pytest.raises(NeedsPerson, match="Only a person"):
        agent.undo(ann.last_run)
    ann.reviews.approve(chess.id)
    ann.undo(ann.last_run)
    with pytest.raises(NeedsPerson):
        agent.undo(ann.last_run)
    assert statuses(ann, tea, chess) == ["archived", "proposed"]


def test_an_agent_may_withdraw_its_proposal_and_undo_its_own_work(agent, ann):
    agent.reviews.propose("Ann prefers green tea")
    agent.undo(agent.last_run)
    assert ann.reviews.list() == []
    fact = agent.remember("Ann plays chess")
    agent.archive(fact.id)
    agent.undo(agent.last_run)
    assert statuses(ann, fact) == ["active"]


def test_approving_what_is_known_renews_it_instead_of_doubling_it(agent, ann, clock):
    known = ann.remember("Ann prefers green tea to any coffee", confidence=0.6)
    turn = ann.capture("s1", "user", "I really prefer green tea to any coffee")
    again = agent.reviews.propose("Ann really prefers green tea to any coffee", confidence=0.9)
    ann.admin.write(
        "link", lambda tx: tx.link(Edge(ANN, again.id, turn.id, "derived_from", clock()))
    )
    assert isinstance(ann.reviews.preview(again.id).decision, Bump)
    stands = ann.reviews.approve(again.id)
    assert (stands.id, stands.confidence) == (known.id, 0.9)
    assert statuses(ann, known, again) == ["active", "superseded"]
    assert {(edge.target, edge.relation) for edge in ann.admin.links(known.id)} == {
        (again.id, "supersedes"),
        (turn.id, "derived_from"),
    }
    ann.undo()
    assert as_told([ann.get(known.id), *ann.reviews.list()]) == [known, again]


def test_two_proposals_of_the_same_become_one_memory(agent, ann):
    one = agent.reviews.propose("Ann prefers green tea to any coffee")
    two = agent.reviews.propose("Ann really prefers green tea to any coffee")
    assert ann.reviews.approve(two.id).id == ann.reviews.approve(one.id).id == two.id


def test_what_contradicts_takes_the_place_of_what_was_known(agent, ann):
    porto = ann.remember("Ann lives in Porto", triple=Triple("Ann", "LIVES_IN", "Porto"))
    lisbon = agent.reviews.propose(
        "Ann lives in Lisbon", triple=Triple("Ann", "LIVES_IN", "Lisbon")
    )
    assert isinstance(ann.reviews.preview(lisbon.id).decision, Supersede)
    ann.reviews.approve(lisbon.id)
    assert statuses(ann, porto, lisbon) == ["superseded", "active"]
    ann.undo()
    assert statuses(ann, porto, lisbon) == ["active", "proposed"]


def test_what_a_person_confirmed_stands_beside_it(agent, ann):
    porto = ann.remember("Ann lives in Porto", triple=Triple("Ann", "LIVES_IN", "Porto"))
    ann.confirm(porto.id)
    lisbon = agent.reviews.propose(
        "Ann lives in Lisbon", triple=Triple("Ann", "LIVES_IN", "Lisbon")
    )
    assert isinstance(ann.reviews.preview(lisbon.id).decision, Coexist)
    ann.reviews.approve(lisbon.id)
    assert statuses(ann, porto, lisbon) == ["active", "active"]
    assert [edge.relation for edge in ann.admin.links(lisbon.id)] == ["conflicts_with"]


def test_approving_in_other_words_stores_those_and_keeps_the_proposal_behind_them(agent, ann):
    tea = agent.reviews.propose(
        "Ann hates coffee", quote="not my cup of tea", triple=Triple("Ann", "HATES", "coffee")
    )
    stands = ann.reviews.approve(tea.id, "Ann would rather not drink coffee")
    assert (stands.content, stands.quote, stands.triple) == (
        "Ann would rather not drink coffee",
        "not my cup of tea",
        None,
    )
    assert statuses(ann, tea, stands) == ["superseded", "active"]
    assert [edge.target for edge in ann.admin.links(stands.id)] == [tea.id]
    ann.undo()
    assert ann.reviews.list() == [tea]


def test_correcting_a_proposal_is_approving_it_in_other_words(agent, ann):
    tea = agent.reviews.propose("Ann hates coffee")
    assert ann.correct(tea.id, "Ann avoids coffee").metadata["approved_by"] == "cli:ann"


def test_secrets_in_the_words_of_a_person_are_redacted_too(agent, ann):
    key = agent.reviews.propose("The key of the shop changed")
    stands = ann.reviews.approve(key.id, "The key is sk-proj-4Tb9LwXq2ZrN7vKcYh3MdPf8EaGs6Ju1")
    assert "4Tb9LwXq2ZrN7vKcYh3MdPf8EaGs6Ju1" not in stands.content


def test_what_was_decided_is_not_decided_again(agent, ann):
    tea, chess = (
        agent.reviews.propose("Ann prefers green tea"),
        agent.reviews.propose("Ann plays chess"),
    )
    ann.reviews.approve(tea.id)
    ann.reviews.reject(chess.id, "she stopped")
    for decide in (ann.reviews.approve, ann.reviews.reject):
        with pytest.raises(Conflict, match="does not wait"):
            decide(tea.id)
        with pytest.raises(Conflict, match="does not wait"):
            decide(chess.id)
    assert ann.get(chess.id).status_reason == "rejected: she stopped"


def test_nothing_is_proposed_twice(agent, ann):
    """Not what waits, not what is known, and not what a person has turned down."""
    waits, known = agent.reviews.propose("Ann prefers green tea"), ann.remember("Ann plays chess")
    assert agent.reviews.propose("ann prefers  green tea") == waits
    assert agent.reviews.propose("Ann plays chess").id == known.id
    ann.reviews.reject(waits.id)
    assert agent.reviews.propose("Ann prefers green tea").status == "archived"
    assert ann.reviews.list() == []


def test_what_was_only_put_away_may_be_proposed_again(agent, ann):
    old = ann.remember("Ann prefers green tea")
    ann.forget(old.id)
    assert agent.reviews.propose("Ann prefers green tea").status == "proposed"


def test_what_nobody_decides_on_expires_and_can_wait_again(agent, ann, clock):
    old = agent.reviews.propose("Ann prefers green tea")
    clock.forward(days=20)
    young = agent.reviews.propose("Ann plays chess")
    clock.forward(days=11)
    assert [memory.id for memory in ann.reviews.expire()] == [old.id]
    assert ann.get(old.id).status_reason == "expired: nobody decided within 30 days"
    assert ann.reviews.list() == [young]
    assert ann.reviews.expire() == []
    assert agent.reviews.propose("Ann prefers green tea").id != old.id  # nobody has turned it down
    with pytest.raises(NeedsPerson):
        agent.restore(old.id)
    assert ann.restore(old.id).status == "proposed"
    assert ann.reviews.expire() == []  # it waits from now on


def test_maintenance_expires_them_with_the_decay(agent, ann, store, clock):
    old = agent.reviews.propose("Ann prefers green tea")
    worker = Worker(store, agent.tiers, clock, scopes=[ANN])
    assert once(worker, ["decay"]) == 0
    clock.forward(days=31)
    assert once(worker, ["decay"]) == 1
    assert statuses(ann, old) == ["archived"]
    assert once(worker, ["decay"]) == 0


def test_the_nearest_memory_is_one_that_has_to_do_with_it(agent, ann):
    tea = ann.remember("Ann drinks green tea in the morning")
    ann.remember("The shop opens at nine")
    near, new = (
        agent.reviews.propose("Ann drinks black tea in the morning"),
        agent.reviews.propose("Bob repairs bicycles"),
    )
    assert ann.reviews.preview(near.id).nearest == tea
    assert ann.reviews.preview(new.id).nearest is None
    assert isinstance(ann.reviews.preview(new.id).decision, Add)


def test_proposals_stay_with_their_owner(acting, agent, ann):
    tea = agent.reviews.propose("Ann prefers green tea")
    bob = acting("cli:bob", Scope("user", "bob"))
    assert bob.reviews.list() == []
    for verb in (bob.reviews.approve, bob.reviews.reject, bob.reviews.preview):
        with pytest.raises(NotFound):
            verb(tea.id)
