"""Who may do what: the one table, and that every verb of an open memory goes by it."""

from __future__ import annotations

from contextlib import closing

import apsw
import pytest

from holdfast import Holdfast, Settings
from holdfast.errors import NeedsPerson, RowDamaged
from holdfast.ingest import commit, permissions
from holdfast.ingest.permissions import ACTORS, VERBS
from holdfast.integrations.agent_tools import talking
from holdfast.integrations.anthropic import MemoryFiles
from holdfast.integrations.mem0 import Memory as Mem0Memory
from holdfast.server.mcp.dispatch import Methods
from holdfast.storage import SQLiteStore
from holdfast.storage.postgres import PostgresStore
from holdfast.storage.store_types import Author
from holdfast.types import STATUSES

NAMES = {
    "person": "cli:ann",
    "program": "library",
    "agent": "agent:helper",
    "importer": "import:notes",
    "model": "worker:w",
}
WORDS, OTHERS = "Ann drinks green tea", "Ann drinks black coffee"
ROWS = {
    (actor, verb): {
        state: outcomes[actor] for known, state, outcomes in permissions.table() if known == verb
    }
    for actor in ACTORS
    for verb in VERBS
}


@pytest.fixture(params=["sqlite", "postgres"])
def acting(request, tmp_path, clock):
    """Opens one store anew for each scene: `acting("agent:helper", "user:ann1")`."""
    if request.param == "sqlite":
        store = SQLiteStore(tmp_path / "memory.db", clock=clock)
    else:
        store = PostgresStore(request.getfixturevalue("postgres_store_url"), clock=clock)

    def opened(actor, scope="user:ann", approval="none"):
        settings = Settings(embedding_models="none", approval=approval)
        return Holdfast(store, [scope], settings=settings, clock=clock, actor=actor)

    yield opened
    store.close()


def made(opened, state, actor, *, put_away=False):
    """A memory in a state, and the run that an undo would take back; with `put_away`, one that
    upkeep let fade.
    """
    ann, other = opened("cli:ann"), opened("agent:other")
    if state == "new":
        return None, ""
    memory = {
        "free": lambda: other.remember(WORDS),
        "written": lambda: ann.remember(WORDS),
        "confirmed": lambda: ann.confirm(ann.remember(WORDS).id),
        "waiting": lambda: other.reviews.propose(WORDS),
        "own": lambda: opened(actor).reviews.propose(WORDS),
        "rejected": lambda: ann.reviews.reject(other.reviews.propose(WORDS).id),
        "forgotten": lambda: ann.forget(ann.remember(WORDS).id)[0],
    }[state]()
    if put_away and memory.status == "active":
        author = Author("worker:w", "run_upkeep", ann.clock(), "decay")
        ann.store.write(
            author,
            lambda tx: commit.set_status(tx, memory, "faded", at=author.at, reason="unused"),
        )
    return memory, ann.last_run or other.last_run


def undone(opened, state):
    """The run that is to be taken back: an agent's, a person's, or one that decided about a
    proposal.
    """
    ann, other = opened("cli:ann"), opened("agent:other")
    if state == "free":
        other.remember(WORDS)
        return other.last_run
    if state == "written":
        ann.remember(WORDS)
        return ann.last_run
    proposed = other.reviews.propose(WORDS)
    ann.reviews.approve(proposed.id) if state == "waiting" else ann.reviews.reject(proposed.id)
    return ann.last_run


def done(hf, verb, memory, run):
    """What a verb came to: allow, propose or refuse."""
    verbs = {
        "remember": lambda: hf.remember(WORDS),
        "propose": lambda: hf.reviews.propose(WORDS),
        "correct": lambda: hf.correct(memory.id, OTHERS),
        "undo": lambda: hf.undo(run),
        "approve": lambda: hf.reviews.approve(memory.id),
        "reject": lambda: hf.reviews.reject(memory.id),
        "purge": lambda: hf.admin.purge(memory.id),
    }
    try:
        result = verbs[verb]() if verb in verbs else getattr(hf, verb)(memory.id)
    except NeedsPerson as error:
        assert "person" in str(error)
        return "refuse"
    proposed = verb in ("remember", "correct") and result.status == "proposed"
    return "propose" if proposed else "allow"


@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_does_what_the_table_says_in_every_state(acting, actor, verb):
    """And what is refused or proposed leaves the memory as it was."""
    for number, (state, outcome) in enumerate(ROWS[actor, verb].items()):

        def opened(who, number=number):
            return acting(who, f"user:ann{number}")

        if verb == "undo":
            memory, run = None, undone(opened, state)
        else:
            memory, run = made(opened, state, NAMES[actor], put_away=verb == "restore")
        before = opened("cli:ann").list(statuses=STATUSES)
        assert done(opened(NAMES[actor]), verb, memory, run) == outcome, (actor, verb, state)
        if outcome == "refuse":
            assert opened("cli:ann").list(statuses=STATUSES) == before
        if outcome == "propose" and memory is not None:
            assert opened("cli:ann").get(memory.id) == memory


def test_the_table_names_every_verb_actor_and_state():
    assert {verb for verb, _, _ in permissions.table()} == set(VERBS)
    assert {state for _, state, _ in permissions.table()} == set(permissions.STATES)
    assert all(set(outcomes) == set(ACTORS) for _, _, outcomes in permissions.table())


@pytest.mark.parametrize(
    ("actor", "kind"),
    [
        ("cli:ann", "person"),
        ("http:ann", "person"),
        ("mcp:editor", "agent"),
        ("agent:tea", "agent"),
        ("worker:host:1", "model"),
        ("hook", "importer"),
        ("library", "program"),
        ("mine", "program"),
    ],
)
def test_who_is_what(actor, kind):
    assert permissions.kind_of(actor) == kind


# Rules, and words that people have decided on


@pytest.mark.parametrize(
    ("approval", "kind", "status"),
    [
        ("none", "rule", "active"),
        ("rules", "rule", "proposed"),
        ("rules", "fact", "active"),
        ("all", "fact", "proposed"),
    ],
)
def test_what_an_agent_stores_waits_for_a_person_where_that_is_set(acting, approval, kind, status):
    assert acting("agent:helper", approval=approval).remember(WORDS, kind=kind).status == status


def test_a_rule_that_a_person_states_is_active_whatever_is_set(acting):
    assert acting("cli:ann", approval="all").remember(WORDS, kind="rule").status == "active"


@pytest.mark.parametrize("said", [WORDS, f"  {WORDS.upper()}. ", f"“{WORDS}!”"])
@pytest.mark.parametrize(
    "fields", [{}, {"category": "other"}, {"kind": "rule"}, {"author": "someone"}]
)
def test_words_that_a_person_turned_down_are_not_stored_in_another_dress(acting, said, fields):
    agent, ann = acting("agent:helper"), acting("cli:ann")
    rejected = ann.reviews.reject(agent.reviews.propose(WORDS).id, "not true")
    with pytest.raises(NeedsPerson, match=rejected.id):
        agent.remember(said, **fields)
    assert ann.list() == []


def test_what_waits_already_comes_back_and_is_not_stored_a_second_time(acting):
    agent, ann = acting("agent:helper"), acting("cli:ann")
    waiting = agent.reviews.propose(WORDS, kind="rule")
    assert agent.remember(WORDS, kind="rule").id == waiting.id
    assert ann.reviews.list() == [waiting]


def test_a_proposal_that_nobody_decided_on_is_proposed_again_and_never_active(acting, clock):
    agent, ann = acting("agent:helper"), acting("cli:ann")
    agent.reviews.propose(WORDS)
    clock.forward(days=40)
    ann.reviews.expire()
    assert agent.remember(WORDS).status == "proposed"


def test_one_refused_memory_of_many_keeps_all_of_them_from_being_stored(acting):
    agent, ann = acting("agent:helper"), acting("cli:ann")
    ann.reviews.reject(agent.reviews.propose(WORDS).id)
    with pytest.raises(NeedsPerson):
        agent.remember_many(["Ann plays chess", WORDS])
    assert ann.list() == []


def test_some_of_many_are_stored_and_some_proposed_in_their_order(acting):
    agent = acting("agent:helper", approval="rules")
    stored = agent.remember_many([{"content": "Always test", "kind": "rule"}, "Ann plays chess"])
    assert [(one.content, one.status) for one in stored] == [
        ("Always test", "proposed"),
        ("Ann plays chess", "active"),
    ]


def test_what_a_conversation_teaches_does_not_bring_back_words_that_were_turned_down(acting):
    ann = acting("cli:ann")
    for session in ("s1", "s2"):
        ann.capture(session, "user", "I live in Lisbon.")
        ann.capture(session, "assistant", "Noted.")
        if session == "s1":
            ann.reviews.reject(
                acting("agent:helper").reviews.propose("The user lives in Lisbon").id
            )
        ann.sessions.extract(session)
    assert ann.list(kinds=["fact"]) == []
    (dropped,) = ann.explain(ann.list(kinds=["turn"])[-1].id).dropped
    assert dropped.reason == "a person has turned the same words down"


# Corrections that are proposed


def test_an_approved_correction_takes_the_place_of_what_was_confirmed(acting):
    agent, ann = acting("agent:helper"), acting("cli:ann")
    tea = ann.confirm(ann.remember(WORDS).id)
    proposed = agent.correct(tea.id, OTHERS, reason="she said so")
    assert ann.reviews.preview(proposed.id).told.startswith(f"It would take the place of {tea.id}")
    new = ann.reviews.approve(proposed.id)
    assert (new.content, new.protected, ann.get(tea.id).status) == (OTHERS, True, "superseded")
    assert [one.content for one in ann.list()] == [OTHERS]


def test_proposing_the_same_correction_twice_equals_once(acting):
    agent, ann = acting("agent:helper"), acting("cli:ann")
    tea = ann.remember(WORDS)
    first = agent.correct(tea.id, OTHERS)
    assert agent.correct(tea.id, OTHERS).id == first.id
    ann.reviews.reject(first.id)
    with pytest.raises(NeedsPerson):
        agent.correct(tea.id, OTHERS)


# Ways round the verbs


def test_a_transaction_of_an_agents_own_changes_nothing_that_a_person_confirmed(acting):
    agent, ann = acting("agent:helper"), acting("cli:ann")
    tea = ann.confirm(ann.remember(WORDS).id)
    ways = [
        lambda tx: tx.change(tea, protected=False),
        lambda tx: tx.change(tea, status="archived"),
        lambda tx: tx.change(tea, valid_until=1),
        lambda tx: tx.remove(tea),
        lambda tx: commit.rewrite(tx, tea, tea.with_(content=OTHERS)),
    ]
    for way in ways:
        with pytest.raises(NeedsPerson):
            agent.admin.write("put", way)
    assert ann.get(tea.id) == tea


def test_an_agent_does_not_let_all_proposals_expire_today(acting):
    agent = acting("agent:helper")
    agent.reviews.propose(WORDS)
    with pytest.raises(NeedsPerson):
        agent.reviews.expire(days=0)


def test_an_agent_erases_neither_a_session_nor_everything(acting):
    agent = acting("agent:helper")
    for what in ({"session": "s1"}, {"owner": True}):
        with pytest.raises(NeedsPerson, match="holdfast purge"):
            agent.admin.purge(**what)


def test_an_agent_changes_and_deletes_what_agents_stored_through_mem0(acting):
    memory = Mem0Memory(acting("agent:helper"))
    id_ = memory.add(WORDS, infer=False, user_id="ann")["results"][0]["id"]
    memory.update(id_, OTHERS)
    memory.delete(id_)
    assert memory.get(id_) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda m, id_: m.update(id_, OTHERS),
        lambda m, id_: m.delete(id_),
        lambda m, id_: m.delete_all(user_id="ann"),
    ],
)
def test_mem0_in_an_agents_hands_leaves_what_a_person_wrote(acting, change):
    ann = acting("cli:ann")
    tea = ann.remember(WORDS)
    with pytest.raises(NeedsPerson):
        change(Mem0Memory(acting("agent:helper")), tea.id)
    assert ann.get(tea.id) == tea


def test_the_memory_tool_is_an_agents_whoever_opened_the_memory(acting):
    ann = acting("cli:ann")
    tea = ann.remember(WORDS)
    files = MemoryFiles(ann)
    path = next(path for path in files._files())
    for change in (lambda: files.delete(path), lambda: files.str_replace(path, "green", "black")):
        with pytest.raises(NeedsPerson):
            change()
    assert ann.get(tea.id) == tea


def test_a_rule_written_as_a_file_waits_where_rules_do(acting):
    files = MemoryFiles(acting("library", approval="rules"))
    assert "proposed for review" in files.create("/memories/rules/tea.md", "Always offer tea")
    assert [one.content for one in acting("cli:ann").reviews.list()] == ["Always offer tea"]


def test_the_tools_of_an_agent_say_that_a_correction_waits(acting):
    ann = acting("cli:ann")
    tea = ann.confirm(ann.remember(WORDS).id)
    tools = {tool.__name__: tool for tool in talking(acting("agent:helper"))}
    answer = tools["correct_fact"](tea.id, OTHERS)
    assert (answer["success"], "proposed for review" in answer["message"]) == (False, True)
    assert tools["confirm_fact"](tea.id)["success"] is False
    assert ann.get(tea.id) == tea


# What a model is told over MCP


def told(hf, tool, **arguments):
    answer = Methods(lambda: hf).answer(
        "tools/call", {"name": tool, "arguments": arguments}, client="editor"
    )
    return answer["content"][0]["text"]


def test_over_mcp_a_correction_of_what_a_person_confirmed_is_proposed_and_said_to_be(acting):
    ann = acting("cli:ann")
    tea = ann.confirm(ann.remember(WORDS).id)
    said = told(ann, "memory_correct", id=tea.id, content=OTHERS)
    assert said.startswith("Not done yet: proposed for review.")
    assert f"Until then {tea.id} stands as it is." in said
    assert ann.get(tea.id) == tea


def test_over_mcp_what_a_person_wrote_is_not_forgotten_and_the_model_is_told_who_can(acting):
    ann = acting("cli:ann")
    tea = ann.remember(WORDS)
    assert f"Only a person may do that: holdfast forget {tea.id}" in told(
        ann, "memory_forget", ids=[tea.id]
    )
    assert ann.get(tea.id).status == "active"


def test_over_mcp_a_rule_waits_where_rules_do_and_is_not_proposed_twice(acting):
    ann = acting("cli:ann", approval="rules")
    first = told(ann, "memory_remember", content="Always offer tea", kind="rule")
    assert first.startswith("Not done yet: proposed for review.")
    (waiting,) = ann.reviews.list()
    again = told(ann, "memory_remember", content="always offer tea.", kind="rule")
    assert f"already waits for review: {waiting.id}" in again
    assert ann.reviews.list() == [waiting]


def test_over_mcp_rejected_words_stay_rejected(acting):
    ann = acting("cli:ann", approval="rules")
    told(ann, "memory_remember", content="Always offer tea", kind="rule")
    ann.reviews.reject(ann.reviews.list()[0].id)
    assert "Only a person may do that" in told(
        ann, "memory_remember", content="Always offer tea", kind="rule"
    )
    assert ann.list() == []


@pytest.mark.parametrize("column", ["actor", "verb", "after"])
def test_a_damaged_journal_entry_allows_an_agent_nothing(tmp_path, clock, column):
    """That Ann wrote it is only in the entry: without it, the memory would pass for anybody's."""
    path = tmp_path / "memory.db"
    settings = Settings(embedding_models="none")

    def opened(actor):
        return Holdfast.open(path, scope="user:ann", settings=settings, clock=clock, actor=actor)

    with opened("cli:ann") as ann:
        memory = ann.remember(WORDS)
    with closing(apsw.Connection(str(path))) as file:
        file.execute(f"UPDATE events SET {column} = CAST(x'7bff' AS TEXT)")
    with opened("agent:helper") as helper:
        with pytest.raises(RowDamaged):
            helper.correct(memory.id, OTHERS)
        with pytest.raises(RowDamaged):
            helper.admin.write("change", lambda tx: tx.change(memory, category="drinks"))
        assert helper.get(memory.id) == memory
    with opened("cli:ann") as ann:
        assert ann.correct(memory.id, OTHERS).content == OTHERS
