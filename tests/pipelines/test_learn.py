"""Learning from conversations: ended sessions become facts with quotes and sources, once, by
workers or at once.
"""

from __future__ import annotations

import pytest

from holdfast import Holdfast, Settings
from holdfast.errors import Conflict
from holdfast.extraction import runner
from holdfast.extraction.apply import pages
from holdfast.extraction.candidate import Candidate
from holdfast.extraction.job_types import Worker
from holdfast.extraction.progress import SUMMARY
from holdfast.extraction.session_extraction import LEARN, SummarySink, learn
from holdfast.extraction.turn_extraction import ExtractionContext, usual
from holdfast.maintenance.job_runner import drain
from holdfast.models.embeddings.tiers import Tiers
from holdfast.storage import Author
from holdfast.types import Triple

OFFLINE = Settings(embedding_models="none")


class Told:
    """An extractor that finds what the test tells it to, by the text of a turn."""

    def __init__(self, *found):
        self.found, self.pages = found, []

    def extract(self, turns):
        self.pages.append(len(turns))
        return [
            Candidate(content, quote, turn.id, triple=triple, confidence=0.8)
            for turn in turns
            for quote, content, triple in self.found
            if quote in turn.content
        ]


@pytest.fixture
def hf(tmp_path, clock):
    with Holdfast.open(
        tmp_path / "memory.db", scope="user:ann", settings=OFFLINE, clock=clock
    ) as hf:
        yield hf


def talk(hf, session, *texts):
    for text in texts:
        hf.clock.forward(seconds=1)
        hf.capture(session, "user", text)
    hf.clock.forward(seconds=1)
    hf.sessions.end(session)
    return hf.store.sessions.get(hf.scopes[0], session)


def read(hf, session, extractor):
    return runner.read(hf.store, session, SummarySink(hf.store, by(extractor)))


def save(hf, tx, found):
    return runner.save(tx, SummarySink(hf.store, by(Told())), found, at=hf.clock())


def mark(hf, session):
    """How far a session was read to its end."""
    found = hf.store.progress.list(hf.scopes[0], session)
    return next((one for one in found if one.sink == SUMMARY), None)


def test_jobs_of_conversations_that_were_read_long_ago_are_not_listed_for_ever(hf):
    talk(hf, "s1", "I love green tea.")
    hf.admin.maintain("consolidate")
    assert [job.key for job in hf.store.jobs.list()] == ["s1"]
    hf.clock.forward(days=31)
    hf.admin.maintain("consolidate")
    assert hf.store.jobs.list() == []
    assert hf.store.sessions.unread(hf.scopes) == [], "nor is it read again"


def author(hf):
    return Author("test", f"run_{hf.clock():x}", hf.clock(), "learn")


def by(extractor):
    return ExtractionContext(usual(), extractor=extractor)


def learned(hf, session, extractor):
    return learn(hf.store, session, by(extractor), author(hf)).new


def facts(hf, status="active"):
    return {memory.content for memory in hf.list(kinds=["fact"], statuses=[status])}


def home(place):
    return Triple("Ann", "LIVES_IN", place)


def test_what_was_said_becomes_a_fact_with_its_quote_and_its_source(hf):
    session = talk(hf, "s1", "By the way, I live in Lisbon now.")
    assert (
        learned(hf, session, Told(("live in Lisbon", "Ann lives in Lisbon", home("Lisbon")))) == 1
    )
    (fact,) = hf.list(kinds=["fact"])
    assert (fact.content, fact.quote, fact.source, fact.decay_rate) == (
        "Ann lives in Lisbon",
        "live in Lisbon",
        "consolidation",
        0.0,
    )
    (turn,) = hf.list(kinds=["turn"])
    assert [(edge.relation, edge.target) for edge in hf.admin.links(fact.id)] == [
        ("derived_from", turn.id)
    ]


def test_consolidating_again_changes_nothing(hf):
    """YO-09."""
    session = talk(hf, "s1", "I live in Lisbon")
    extractor = Told(("live in Lisbon", "Ann lives in Lisbon", home("Lisbon")))
    learned(hf, session, extractor)
    before = list(hf.admin.export())
    again = hf.store.sessions.get(hf.scopes[0], "s1")
    assert hf.store.sessions.unread(hf.scopes) == []
    assert read(hf, again, extractor) is None
    assert list(hf.admin.export()) == before


def test_a_session_without_facts_is_marked_too(hf):
    """YO-10."""
    session = talk(hf, "s1", "hello")
    assert learned(hf, session, Told()) == 0
    assert mark(hf, "s1").detail == {"outcome": "no_output"}
    assert hf.store.sessions.unread(hf.scopes) == []


def test_turns_are_read_in_pages_of_thirty(hf):
    """YO-05."""
    session = talk(hf, "s1", *(f"turn number {number}" for number in range(65)))
    extractor = Told()
    read(hf, session, extractor)
    assert extractor.pages == [30, 30, 5]
    assert [len(page) for page in pages(range(65))] == [30, 30, 5]


def test_an_open_session_is_never_read(hf, clock):
    """D9."""
    hf.capture("s1", "user", "I live in Lisbon")
    worker = Worker(hf.store, Tiers([], environ={}), clock, scopes=hf.scopes, extractor=Told())
    assert drain(worker) == 0
    assert mark(hf, "s1") is None


def test_what_is_said_after_a_session_was_read_is_read_the_next_time_and_only_that(hf):
    extractor = Told(
        ("live in Lisbon", "Ann lives in Lisbon", None), ("plays chess", "Ann plays chess", None)
    )
    learned(hf, talk(hf, "s1", "I live in Lisbon"), extractor)
    session = talk(hf, "s1", "Ann plays chess")
    assert [turn.content for turn in read(hf, session, extractor).found.found.turns] == [
        "Ann plays chess"
    ]
    learned(hf, session, extractor)
    assert facts(hf) == {"Ann lives in Lisbon", "Ann plays chess"}


def test_a_session_that_goes_on_while_it_is_read_is_read_again(hf):
    session = talk(hf, "s1", "I live in Lisbon")
    found = read(hf, session, Told())
    hf.clock.forward(seconds=1)
    hf.capture("s1", "user", "one more thing")
    with pytest.raises(Conflict):
        hf.store.write(author(hf), lambda tx: save(hf, tx, found))


def test_what_is_known_is_renewed_and_linked_not_stored_again(hf):
    """YO-06."""
    known = hf.remember("Ann likes green tea in the morning", confidence=0.6, decay_rate=0.1)
    extractor = Told(("green tea", "Ann likes green tea in the mornings", None))
    assert learned(hf, talk(hf, "s1", "green tea is what I like in the mornings"), extractor) == 0
    assert hf.get(known.id).confidence == 0.8
    assert len(hf.admin.links(known.id)) == 1


def test_two_equal_facts_of_one_session_are_one(hf):
    extractor = Told(
        ("Lisbon", "Ann lives in Lisbon", None), ("lisbon", "ann lives in LISBON", None)
    )
    assert learned(hf, talk(hf, "s1", "Lisbon, yes, lisbon"), extractor) == 1


def test_a_new_home_takes_the_place_of_the_old_one(hf):
    """YO-08: the old one is retired and demoted, and the two are linked."""
    learned(
        hf, talk(hf, "s1", "I live in Porto"), Told(("Porto", "Ann lives in Porto", home("Porto")))
    )
    learned(
        hf,
        talk(hf, "s2", "I moved to Lisbon"),
        Told(("Lisbon", "Ann lives in Lisbon", home("Lisbon"))),
    )
    (old,), (new,) = hf.list(kinds=["fact"], statuses=["superseded"]), hf.list(kinds=["fact"])
    assert (old.content, new.content) == ("Ann lives in Porto", "Ann lives in Lisbon")
    assert (old.confidence, old.decay_rate) == (0.3, 0.5)
    assert ("supersedes", old.id) in [
        (edge.relation, edge.target) for edge in hf.admin.links(new.id)
    ]


def test_a_confirmed_fact_is_not_demoted_but_marked_as_contradicted(hf):
    learned(
        hf, talk(hf, "s1", "I live in Porto"), Told(("Porto", "Ann lives in Porto", home("Porto")))
    )
    old = hf.confirm(hf.list(kinds=["fact"])[0].id)
    learned(
        hf,
        talk(hf, "s2", "I moved to Lisbon"),
        Told(("Lisbon", "Ann lives in Lisbon", home("Lisbon"))),
    )
    assert hf.get(old.id).confidence == 1.0
    assert [edge.relation for edge in hf.admin.links(old.id)][-1] == "conflicts_with"


def test_what_was_said_earlier_does_not_replace_what_was_said_later(hf):
    later = hf.remember(
        "Ann lives in Lisbon", triple=home("Lisbon"), event_time=hf.clock() + 10**12
    )
    learned(
        hf, talk(hf, "s1", "I live in Porto"), Told(("Porto", "Ann lives in Porto", home("Porto")))
    )
    assert facts(hf) == {"Ann lives in Lisbon"}
    assert hf.get(later.id).confidence == 1.0


def test_a_candidate_whose_words_nobody_said_is_dropped(hf):
    class Liar:
        def extract(self, turns):
            return [Candidate("Ann owns a yacht", "owns a yacht", turns[0].id)]

    assert learned(hf, talk(hf, "s1", "hello there"), Liar()) == 0


def test_a_worker_learns_from_every_ended_session(hf, clock):
    for name in ("s1", "s2"):
        talk(hf, name, f"I keep {name} in Lisbon")
    worker = Worker(
        hf.store,
        Tiers([], environ={}),
        clock,
        scopes=hf.scopes,
        extractor=Told(("Lisbon", "Ann knows Lisbon", None)),
    )
    assert drain(worker) == 2
    assert facts(hf) == {"Ann knows Lisbon"}
    assert {job.kind for job in hf.store.jobs.list(hf.scopes)} == {LEARN.name}
    assert drain(worker) == 0


def test_the_rules_learn_without_a_model(hf, clock):
    talk(hf, "s1", "I love green tea, and my sister Ines lives in Lisbon.", "What time is it?")
    drain(Worker(hf.store, Tiers([], environ={}), clock, scopes=hf.scopes))
    assert any("tea" in fact for fact in facts(hf))
    assert any("Ines" in fact for fact in facts(hf))


def test_an_undo_takes_back_what_was_learned(hf):
    learned(
        hf,
        talk(hf, "s1", "I live in Lisbon"),
        Told(("live in Lisbon", "Ann lives in Lisbon", None)),
    )
    hf.undo()
    assert facts(hf) == set()
    assert len(hf.store.sessions.unread(hf.scopes)) == 1
