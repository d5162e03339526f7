"""Erasing for good: what goes along, what stays, what is made again, and what the receipt says. On
every backend.
"""

from __future__ import annotations

import json
import threading

import pytest

from holdfast.client import Holdfast
from holdfast.erasure import derived
from holdfast.erasure.receipt import Receipt
from holdfast.errors import Conflict, InvalidInput, NotFound, Refused
from holdfast.models.embeddings.tiers import Tiers
from holdfast.storage import SQLiteStore
from holdfast.storage.postgres import PostgresStore
from holdfast.types import STATUSES, SUMMARY, Edge, Progress, Scope

ANN = Scope("user", "ann")


@pytest.fixture(params=["sqlite", "postgres"])
def hf(request, tmp_path, clock, fake):
    """Ann's memory, with the fake embedder and a clock that stands still."""
    if request.param == "sqlite":
        store = SQLiteStore(tmp_path / "memory.db", clock=clock)
    else:
        store = PostgresStore(request.getfixturevalue("postgres_store_url"), clock=clock)
    with Holdfast(store, [ANN], tiers=Tiers.of(fake, clock=clock), clock=clock) as opened:
        yield opened


def made_of(hf, content, *sources, kind="fact", **fields):
    """A memory that was made of others."""
    new = hf.remember(content, kind=kind, **fields)
    hf.admin.write(
        "link", lambda w: [w.link(Edge(ANN, new.id, one.id, "derived_from", 0)) for one in sources]
    )
    return new


def everything(hf):
    """All that a store says, the journal too."""
    return "".join(hf.admin.export(vectors=True))


def going(plan):
    return {one.memory.id: one.why for one in plan.going}


def kept(plan):
    return {one.memory.id: one.why for one in plan.kept}


def test_what_is_made_of_nothing_else_goes_along_to_the_last(hf):
    turn = hf.capture("s1", "user", "I take fluoxetine daily")
    fact = made_of(hf, "User takes fluoxetine", turn)
    insight = made_of(hf, "Health came up", fact, kind="reflection")
    plan = hf.admin.plan_purge(turn.id)
    assert going(plan) == {
        turn.id: derived.NAMED,
        fact.id: derived.ALONE,
        insight.id: derived.ALONE,
    }
    assert hf.admin.purge(turn.id).memories == 3
    assert "fluoxetine" not in everything(hf)
    assert hf.list(statuses=STATUSES) == []


def test_a_fact_that_another_source_says_as_well_stays(hf):
    one, other = (hf.capture(session, "user", "I live in Lisbon now") for session in ("s1", "s2"))
    fact = made_of(hf, "User lives in Lisbon", one, other, quote="I live in Lisbon")
    assert kept(hf.admin.plan_purge(one.id)) == {
        fact.id: derived.SAID_ELSEWHERE,
        other.id: "says the same words",
    }
    hf.admin.purge(one.id)
    assert [edge.target for edge in hf.admin.links(fact.id)] == [other.id]


def test_a_fact_that_says_what_only_the_erased_source_said_goes(hf):
    one = hf.capture("s1", "user", "My sister Clara is a nurse")
    other = hf.capture("s2", "user", "My sister called again")
    fact = made_of(hf, "The user's sister Clara is a nurse", one, other)
    assert going(hf.admin.plan_purge(one.id))[fact.id] == derived.REPEATS
    hf.admin.purge(one.id)
    assert "clara" not in everything(hf).lower()


def test_a_fact_that_is_told_with_an_erased_question_goes_and_its_answer_is_read_again(hf):
    asked = hf.capture("s1", "assistant", "I see.\nHow many sisters called Clara do you have?")
    other = hf.capture("s1", "assistant", "Do you like the sea?")
    answer = hf.capture("s1", "user", "I have four of them")
    told = 'The user has four (asked: "How many sisters called Clara do you have?")'
    fact = made_of(hf, told, answer, quote="I have four", metadata={"session": "s1"})
    assert fact.id not in going(hf.admin.plan_purge(other.id))
    assert going(hf.admin.plan_purge(asked.id))[fact.id] == derived.ASKED
    hf.admin.purge(asked.id)
    assert "clara" not in everything(hf).lower()
    assert {memory.id for memory in hf.list()} == {other.id, answer.id}


@pytest.mark.parametrize(
    "fields", [{"quote": "blue bicycle"}, {"metadata": {"quotes": ["a blue bicycle"]}}]
)
def test_a_fact_whose_quote_only_the_erased_source_has_goes(hf, fields):
    one = hf.capture("s1", "user", "I ride a blue bicycle")
    other = hf.capture("s2", "user", "the bicycle, blue as it is, broke")
    fact = made_of(hf, "Rides", one, other, **fields)
    assert going(hf.admin.plan_purge(one.id))[fact.id] == derived.REPEATS


def test_a_summary_goes_with_one_of_its_sources_and_its_session_is_read_again(hf):
    one, other = (
        hf.capture("s1", "user", text) for text in ("I fear the exam", "The weather is fine")
    )
    hf.sessions.end("s1")
    mark = Progress(ANN, "s1", SUMMARY, hf.clock(), hf.clock(), {"outcome": "extracted"})
    hf.admin.write("stamp", lambda w: w.progress.put(mark))
    arc = made_of(hf, "Somebody was worried", one, other, kind="episode")
    assert hf.store.sessions.unread([ANN]) == []
    plan = hf.admin.plan_purge(one.id)
    assert going(plan)[arc.id] == derived.RETOLD and "extracted again" in plan.again[0]
    hf.admin.purge(one.id)
    assert [session.id for session in hf.store.sessions.unread([ANN])] == ["s1"]
    assert [memory.id for memory in hf.list()] == [other.id]


def test_episodes_that_a_lost_summary_was_made_of_are_consolidated_again(hf):
    one, other = (hf.remember(text, kind="episode") for text in ("Went to Narvik", "Went home"))
    hf.admin.consolidate(lambda prompt: "fact: Likes Narvik")
    assert hf.get(other.id).consolidated_at is not None
    assert "consolidated again" in hf.admin.purge(one.id).again[0]
    assert hf.get(other.id).consolidated_at is None
    assert "narvik" not in everything(hf).lower()


def test_earlier_wordings_go_with_the_one_that_took_their_place(hf):
    first = hf.remember("Lives in Porto")
    second = hf.correct(first.id, "Lives in Lisbon", reason="she moved from Porto")
    third = hf.correct(second.id, "Lives in Faro")
    assert going(hf.admin.plan_purge(third.id)) == {
        third.id: derived.NAMED,
        second.id: derived.OLDER,
        first.id: derived.OLDER,
    }
    hf.admin.purge(third.id)
    assert "porto" not in everything(hf).lower()


def test_the_wording_that_took_its_place_stays(hf):
    first = hf.remember("Lives in Porto")
    second = hf.correct(first.id, "Lives in Lisbon", reason="she moved from Porto")
    hf.admin.purge(first.id)
    assert [one.id for one in hf.list()] == [second.id]
    assert "porto" not in everything(hf).lower()


def test_what_it_was_made_of_stays_unless_it_is_asked_for(hf):
    turn = hf.capture("s1", "user", "I take fluoxetine daily")
    fact = made_of(hf, "User takes fluoxetine", turn)
    assert kept(hf.admin.plan_purge(fact.id)) == {turn.id: derived.SOURCE_STAYS}
    assert hf.admin.purge(fact.id).kept == {turn.id: derived.SOURCE_STAYS}
    again = made_of(hf, "User takes fluoxetine", turn)
    assert hf.admin.purge(again.id, sources=True).memories == 2
    assert "fluoxetine" not in everything(hf)


def test_a_session_goes_with_its_messages_jobs_and_what_was_learned_from_it(hf):
    hf.capture("dear diary", "user", "I collect stamps")
    turn = hf.capture("s2", "user", "I collect stamps and coins")
    hf.sessions.append("dear diary", [{"text": "stamps!"}, {"text": "more"}])
    hf.remember("Collects things", metadata={"session": "dear diary"})
    both = made_of(
        hf, "User collects stamps", *hf.list(kinds=["turn"]), metadata={"session": "dear diary"}
    )
    hf.store.jobs.enqueue(ANN, "learn", "dear diary", watermark=1)
    receipt = hf.admin.purge(session="dear diary")
    assert (receipt.counts["sessions"], receipt.counts["messages"], receipt.counts["jobs"]) == (
        1,
        2,
        1,
    )
    assert {one.id for one in hf.list()} == {turn.id, both.id}
    assert hf.get(both.id).metadata == {"session": "(erased)"}
    assert "dear diary" not in everything(hf)
    assert hf.admin.check() == []


def test_a_session_that_goes_without_its_turns_is_named_nowhere_else(hf):
    turn = hf.capture("s2", "user", "I collect stamps")
    hf.sessions.append("dear diary", [{"text": "stamps!"}])
    fact = hf.remember("Collects things", metadata={"session": "dear diary"})
    assert hf.sessions.purge("dear diary") == 1
    assert {one.id for one in hf.list()} == {turn.id, fact.id}
    assert hf.get(fact.id).metadata == {"session": "(erased)"}
    assert "dear diary" not in everything(hf)
    assert [job.kind for job in hf.store.jobs.list([ANN]) if job.status == "pending"] == ["scrub"]
    assert hf.admin.check() == []


def test_messages_of_other_sessions_no_longer_quote_it(hf):
    note = hf.remember('Said "no" to Zoë')
    quoting = {
        "parts": [
            {"text": f"I recall: {note.content}!"},
            {"args": json.dumps({"content": note.content})},
        ]
    }
    hf.sessions.append("s1", [quoting, {"text": "something else"}])
    assert hf.admin.purge(note.id).counts["quotations"] == 1
    bodies = [message.body for message in hf.sessions.messages("s1")]
    assert bodies[0]["parts"][0] == {"text": "I recall: (erased)!"}
    assert json.loads(bodies[0]["parts"][1]["args"]) == {"content": "(erased)"}
    assert bodies[1] == {"text": "something else"}


def test_a_text_that_looks_like_json_does_not_damage_what_quotes_it(hf):
    note = hf.remember('","role":"assistant","text":"')
    hf.sessions.append(
        "s1", [{"kind": "x", "role": "assistant", "text": f"he wrote {note.content}"}]
    )
    hf.admin.purge(note.id)
    assert hf.sessions.messages("s1")[0].body == {
        "kind": "x",
        "role": "assistant",
        "text": "he wrote (erased)",
    }


def test_many_memories_that_are_quoted_at_once(hf):
    notes = [hf.remember(f"Remarkable thing number {number} of many") for number in range(30)]
    hf.sessions.append(
        "s1",
        [{"text": note.content} for note in notes]
        + [{"text": "Remarkable thing number 31 of many"}],
    )
    assert hf.admin.purge(*(note.id for note in notes)).counts["quotations"] == 30
    assert [message.body["text"] for message in hf.sessions.messages("s1")] == ["(erased)"] * 30 + [
        "Remarkable thing number 31 of many"
    ]


def test_a_short_text_is_not_cut_out_of_longer_ones(hf):
    tea = hf.remember("tea")
    hf.sessions.append("s1", [{"text": "a steam engine"}, {"text": "tea"}])
    hf.admin.purge(tea.id)
    assert [message.body["text"] for message in hf.sessions.messages("s1")] == [
        "a steam engine",
        "(erased)",
    ]


def test_a_memory_that_only_the_journal_knows_can_be_purged(hf):
    note = hf.remember("Zanzibar it is", title="Zanzibar")
    hf.undo()
    assert "Zanzibar" in everything(hf)
    assert hf.admin.purge(note.id).memories == 1
    assert "zanzibar" not in everything(hf).lower()
    with pytest.raises(NotFound):
        hf.admin.purge(note.id)


def test_a_name_that_only_the_erased_memory_used_goes_and_the_person_stays(hf):
    hf.remember("Saw @bob today")
    going_ = hf.remember("Saw @robert today")
    hf.entities.merge("@bob", "@robert")
    assert hf.admin.purge(going_.id).counts["names"] >= 1
    (bob,) = hf.entities.list()
    assert "robert" not in str((bob, everything(hf))).lower()
    assert hf.admin.check() == []


def test_an_owner_goes_and_others_stay_as_they_are(hf):
    bob = hf.scoped("user:bob")
    (
        hf.remember("Ann's @secret"),
        hf.capture("s1", "user", "Ann speaks"),
        hf.sessions.append("s1", [{"a": "Ann"}]),
    )
    bob.remember("Bob's own"), bob.capture("s1", "user", "Bob speaks")
    hf.recall("Ann"), bob.recall("Bob")
    before = "".join(bob.admin.export(vectors=True))
    said = []
    plan = hf.admin.plan_purge(owner=True)
    receipt = hf.admin.purge(owner=True, progress=lambda *step: said.append(step))
    assert plan.counts == receipt.counts
    total = len(receipt.items) + sum(receipt.counts.values())
    assert [step for step, _ in said[: len(receipt.items)]] == [1, 2, 3, 4, 5, 6]
    assert {all_ for _, all_ in said} == {total} and said[-1] == (total, total)
    assert said == sorted(said)
    # And a session, a message, and whom they name: two.
    assert (receipt.memories, len(receipt.items)) == (
        2,
        6,
    )
    assert (
        hf.list(statuses=STATUSES),
        hf.sessions.list(),
        hf.entities.list(),
        hf.recall("Ann"),
    ) == (
        [],
        [],
        [],
        [],
    )
    assert [event.before for event in hf.admin.log()] == [{"purged": True}]
    assert "".join(bob.admin.export(vectors=True)) == before
    assert [hit.memory.content for hit in bob.recall("who speaks?", limit=1)] == ["Bob speaks"]
    assert hf.admin.check() == []


def test_an_owner_who_was_erased_can_begin_anew_and_nothing_comes_back(hf):
    hf.remember("First life")
    run = hf.last_run
    hf.admin.purge(owner=True)
    with pytest.raises(Refused):
        hf.undo(hf.admin.log()[0].run)
    with pytest.raises(NotFound):
        hf.undo(run)
    hf.remember("Second life")
    assert [hit.memory.content for hit in hf.recall("which life?")] == ["Second life"]
    assert hf.admin.check() == []


def test_a_plan_is_what_happens_and_changes_nothing(hf):
    turn = hf.capture("s1", "user", "I met @clara in Rome")
    made_of(hf, "User met Clara in Rome", turn)
    hf.recall("Rome")
    before = everything(hf)
    plan = hf.admin.plan_purge(session="s1")
    assert everything(hf) == before
    receipt = hf.admin.purge(session="s1")
    assert plan.counts == receipt.counts
    assert [item.id for item in receipt.items if item.noun == "memory"] == list(going(plan))


def test_the_receipt_proves_and_does_not_tell(hf, clock):
    note = hf.remember("Prefers green tea")
    receipt = hf.admin.purge(note.id)
    text = json.dumps(receipt.as_json())
    assert "green" not in text
    assert receipt.covers("Prefers green tea") and not receipt.covers("Prefers green te")
    assert Receipt.from_json(text) == receipt
    assert (receipt.at, receipt.actor, receipt.store) == (clock.now, "library", hf.store.location)
    other = hf.remember("Prefers green tea")
    assert hf.admin.purge(other.id).items[0].sha256 != receipt.items[0].sha256


def test_the_receipt_names_every_place_and_claims_only_what_is_so(hf):
    states = {place.name: place.state for place in hf.admin.purge(hf.remember("tea").id).places}
    assert {"memories", "journal", "vectors", "messages", "jobs"} <= {
        name for name in states if states[name] == "clean"
    }
    on_server = isinstance(hf.store, PostgresStore)
    assert states["server log" if on_server else "log"] == ("beyond" if on_server else "clean")


@pytest.mark.parametrize(
    ("refs", "how"),
    [
        ((), {}),
        (("a",), {"session": "s"}),
        (("a",), {"owner": True}),
        ((), {"session": "s", "owner": True}),
    ],
)
def test_exactly_one_thing_is_to_be_named(hf, refs, how):
    with pytest.raises(InvalidInput):
        hf.admin.purge(*refs, **how)


def test_what_is_not_there_is_said_and_nothing_is_erased(hf):
    tea = hf.remember("tea")
    for refs, how in (((tea.id, "fact_none"), {}), ((), {"session": "nobody"})):
        with pytest.raises(NotFound):
            hf.admin.purge(*refs, **how)
    with pytest.raises(NotFound):
        hf.scoped("user:nobody").admin.purge(owner=True)
    assert hf.get(tea.id) == tea


def test_another_owner_cannot_be_reached_by_id_or_session(hf):
    tea = hf.remember("tea")
    hf.capture("s1", "user", "Ann speaks")
    bob = hf.scoped("user:bob")
    bob.remember("Bob's own")
    for refs, how in (((tea.id,), {}), ((tea.seq,), {}), ((), {"session": "s1"})):
        with pytest.raises(NotFound):
            bob.admin.purge(*refs, **how)
    assert len(hf.list()) == 2


def test_others_may_write_meanwhile_and_nothing_of_theirs_is_lost(hf):
    doomed = [hf.capture("s1", "user", f"doomed {number}").id for number in range(5)]
    failures = []

    def write():
        view = hf.scoped("user:ann")
        try:
            for number in range(20):
                view.remember(f"kept {number}")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for id_ in doomed:
        hf.admin.purge(id_)
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(hf.list(kinds=["fact"], statuses=STATUSES)) == 20
    assert hf.list(kinds=["turn"]) == [] and hf.admin.check() == []


def test_a_reflection_on_what_was_erased_meanwhile_is_not_kept(hf):
    facts = [hf.remember(f"Fact {number} on Narvik") for number in range(3)]

    def purging(prompt):
        hf.admin.purge(facts[0].id)
        return "Narvik, again and again."

    with pytest.raises(Conflict):
        hf.admin.reflect(purging)
    assert hf.list(kinds=["reflection"]) == []
