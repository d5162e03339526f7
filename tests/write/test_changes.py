"""Change: what becomes of an earlier fact when somebody says something new."""

from __future__ import annotations

import json

import pytest

from holdfast import Holdfast, Settings
from holdfast.extraction.candidate import Candidate
from holdfast.extraction.reconcile import Add, Coexist, Supersede, contradiction, decide
from holdfast.extraction.session_extraction import learn
from holdfast.extraction.similarity.change_words import words_of
from holdfast.extraction.similarity.changes import LABELS, change, features, probabilities
from holdfast.extraction.turn_extraction import ExtractionContext, usual
from holdfast.models.reranker import Reranker
from holdfast.storage import Author
from holdfast.types import DAY, Memory, Scope, Triple

OFFLINE = Settings(embedding_models="none")
EARLIER = 1_700_000_000_000_000
LATER = EARLIER + 200 * DAY
# What a model that reads both statements says, in the order of `LABELS`: it fulfils a plan.
FULFILLED = (-6.0, -6.0, -6.0, 0.0, -6.0, -6.0)


def known(text, author="", trust="derived", **fields):
    """A fact that was learned; with `trust="user"` one that somebody stored."""
    times = dict.fromkeys(("created_at", "updated_at", "event_time"), EARLIER)
    return Memory(
        id="fact_1", scope=Scope("user", "ann"), kind="fact", content=text, author=author, **times
    ).with_(trust=trust, **fields)


def decided(old, new, author="", at=LATER, read=None):
    earlier = known(old, author) if isinstance(old, str) else old
    return decide(Candidate(new, new, author=author), [earlier], at, read)


WITH_AND_WITHOUT_READER = pytest.mark.parametrize("read", [None, Reranker().changes])


REPLACED = [
    ("Vivo en Madrid", "Me mudé a Valencia, ya no vivo en Madrid"),
    ("Ich arbeite bei Siemens", "Inzwischen arbeite ich bei SAP, bei Siemens habe ich gekündigt"),
    ("J'habite à Lyon", "J'ai quitté Lyon, maintenant j'habite à Bordeaux"),
    ("Я живу в Москве", "Я переехал в Казань, теперь живу там"),
    ("東京に住んでいます", "先月大阪に引っ越しました。今は大阪に住んでいます"),
    ("I live in Lisbon", "I moved to Porto last month"),
    ("My boss is Martin", "Martin left, so I report to Ingrid now"),
    ("We drive a Corolla", "We sold the Corolla and drive a Kia now"),
    ("My boss is Martin", "My boss is Ingrid"),
    ("The user's favourite tea is sencha", "The user's favourite tea is assam"),
    ("Meine Lieblingsfarbe ist Blau", "Meine Lieblingsfarbe ist Grün"),
    ("Mi color favorito es azul", "Mi color favorito es verde"),
    ("Mon film préféré est Amélie", "Mon film préféré est Nikita"),
    ("Моя любимая книга — Идиот", "Моя любимая книга — Бесы"),
    ("我最喜欢的电影是阿甘正传", "我最喜欢的电影是活着"),
    ("好きな映画は生きるです", "好きな映画は七人の侍です"),
    ("My car is a Volvo", "My car is a Kia"),
    ("The user's partner is Sofia", "The user's partner is Emma"),
    ("我老婆叫小红", "我老婆叫小丽"),
    ("The user has 12 chickens.", "The user has 9 chickens."),
    ("The user has tried three Korean restaurants.", "The user has tried four Korean restaurants."),
    ("The meeting with the bank is on Tuesday", "The meeting with the bank was moved to Friday"),
]
BOTH = [
    ("I speak German", "I also speak Dutch"),
    ("We have a dog named Rex", "We adopted a second dog too, Rex stays the boss"),
    ("Tengo un perro", "También tengo un gato"),
    ("Ich spreche Englisch", "Ich lerne jetzt auch Spanisch"),
    ("我喜欢篮球", "我也喜欢游泳"),
    ("I live in Austin", "My cousin moved from Austin to Denver"),
    ("Vivo en Madrid", "Mi hermana se mudó a Valencia"),
    ("Ich arbeite bei der Bank", "Meine Schwägerin hat bei der Bank gekündigt"),
    ("I live in Paris", "If I lived in Rome I would move to the old town"),
    ("I teach maths", "Had a dream that I quit teaching"),
    ("The user flew to Rome on May 3, 2023.", "The user flew to Oslo on June 9, 2023."),
    ("My car is a Volvo", "My car is broken"),
    ("My boss is Martin", "My boss is on holiday"),
    ("My wife is Liz", "My wife is Elizabeth"),
    ("My girlfriend is Emma", "My girlfriend is Spanish"),
    ("My favourite tea is sencha", "My favourite cup is blue"),
    ("The user has two cats.", "The user has three deadlines this week."),
    ("We use uv instead of pip", "We use ruff instead of flake8"),
    ("Wir nehmen Tee statt Kaffee", "Wir nehmen den Zug statt das Auto"),
]


# Without a word of change, or in a way that words alone do not show.
READ_AS_REPLACED = [
    ("Ich wohne in Berlin", "Ich bin nach Hamburg gezogen"),
    ("I live in Queens, in a studio", "so it turns out I'm a Jersey person now. Hoboken!"),
    # Neither is sure alone, and both say the same.
    ("彼氏のタクヤと同棲して一年", "タクヤとは別れました。部屋が広い"),
]


@WITH_AND_WITHOUT_READER
@pytest.mark.parametrize(("old", "new"), REPLACED)
def test_a_new_value_takes_the_place_of_the_old_one(old, new, read):
    decision = decided(old, new, read=read)
    assert isinstance(decision, Supersede) and not decision.fulfils
    assert decision.old.content == old


@pytest.mark.parametrize(("old", "new"), READ_AS_REPLACED)
def test_a_model_that_reads_both_finds_what_words_alone_do_not_show(old, new):
    assert isinstance(decided(old, new, read=Reranker().changes), Supersede)
    assert not isinstance(decided(old, new), Supersede)


@WITH_AND_WITHOUT_READER
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Vivo en Madrid", "Me mudé a Valencia"),
        ("我在北京租房", "以前在北京租房，现在搬到成都了"),
        ("J'habite à Lyon", "J'ai déménagé à Bordeaux"),
        ("Wir wohnen in Köln", "Früher Köln und Lärm, inzwischen wohnen wir in der Eifel"),
    ],
)
def test_a_change_that_is_not_certain_is_kept_as_the_later_state(old, new, read):
    assert isinstance(decided(old, new, read=read), Coexist | Supersede)


@WITH_AND_WITHOUT_READER
@pytest.mark.parametrize(("old", "new"), BOTH)
def test_what_is_added_wished_or_said_of_others_replaces_nothing(old, new, read):
    assert isinstance(decided(old, new, read=read), Add | Coexist)


@pytest.mark.parametrize(
    ("plan", "done"),
    [
        ("I'll take the driving test on Friday", "Passed the driving test!"),
        ("Ich will im Mai die Prüfung machen", "Prüfung bestanden, geschafft!"),
    ],
)
def test_a_plan_is_carried_out_and_not_contradicted(plan, done):
    decision = decided(plan, done)
    assert isinstance(decision, Supersede) and decision.fulfils


TRACKING = "The user will start tracking their sleep with their Fitbit Versa 3"
CONFERENCE = "The user is going to a transgender conference this month (2023-07)"


def test_a_plan_is_not_carried_out_by_a_plan():
    said = "The user will use their Fitbit Versa 3 for tracking their sleep from next week on"
    assert decided(TRACKING, said, read=lambda *_: FULFILLED) == Add(Candidate(said, said))
    done = "The user has been tracking their sleep with their Fitbit Versa 3"
    assert decided(TRACKING, done, read=lambda *_: FULFILLED).fulfils


@pytest.mark.parametrize("day", ["2023-07-10", "2023-07", "2023-06-29 to 2023-07-02"])
def test_what_happened_on_the_day_of_a_plan_carries_it_out(day):
    went = f"The user went to the transgender conference ({day}) and it was great"
    assert decided(CONFERENCE, went, read=Reranker().changes).fulfils


@pytest.mark.parametrize(
    "went",
    [
        "The user went to a pride parade last Friday (2023-07-14)",
        "The user had dinner with the family last night (2023-07-14)",
    ],
)
def test_something_else_on_the_day_of_a_plan_leaves_it_open(went):
    assert not isinstance(decided(CONFERENCE, went, read=Reranker().changes), Supersede)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # A favourite and what somebody else is keen on.
        (
            "Painting landscapes is the user's favorite",
            "Seven years now, and the user has finally found their muses: painting and pottery",
        ),
        (
            "The user saw that their follower count on Facebook has remained steady at around 800",
            "The user just noticed that their Twitter follower count has jumped from 420 to 540",
        ),
        ("The user's colleague is Rob", "The user got promoted at work, after a long time"),
        # Nothing in common but a figure.
        (
            "The user has been wearing their Fitbit non-stop since they got it three weeks ago",
            "The user is currently using size 13 batteries",
        ),
        (
            "The user is truly grateful for all the support they have got from friends and mentors",
            "The user has known these friends for 4 years, since they moved",
        ),
    ],
)
def test_what_conversations_say_of_another_matter_replaces_nothing(old, new):
    assert not isinstance(decided(old, new, read=Reranker().changes), Supersede)


def test_memories_that_say_the_same_end_together():
    told = (
        "The user has worn their black Converse four times already",
        "The user loves their black Converse and has worn them four times already",
        "The user has worn their black Converse to a wedding",
        "The user has black boots",
    )
    first, *rest = (known(text).with_(id=f"fact_{at}") for at, text in enumerate(told))
    new = "The user has worn their black Converse six times by now"
    decision = decide(Candidate(new, new), [first, *rest], LATER, Reranker().changes)
    assert isinstance(decision, Supersede) and decision.old == first
    assert [one.content for one in decision.others] == [told[1]]


def test_a_trade_is_no_employer_that_another_replaces():
    works = [
        Triple("user", "WORKS_AT", where)
        for where in ("digital marketing for a while", "Digital Specialist at Acme", "Bosch")
    ]
    trade, acme, bosch = (Candidate(each.object, each.object, triple=each) for each in works)
    assert contradiction(acme, trade) is None and contradiction(bosch, trade) is None
    assert contradiction(bosch, acme)
    agents = [Triple("user", "WORKS_AT", where) for where in ("an agent", "a real estate agent")]
    one, other = (Candidate(each.object, each.object, triple=each) for each in agents)
    assert contradiction(one, other) is None and contradiction(other, one) is None


def test_an_article_is_no_opposite():
    one, other = "Adopted the small cat from a shelter", "Adopted a small cat from the shelter"
    assert not isinstance(decided(one, other), Supersede)


@pytest.mark.parametrize("change_of", [{"author": "Ben"}, {"event_time": LATER}])
def test_what_another_says_or_what_was_said_later_stays(change_of):
    old = known("I live in Lisbon", "Ann").with_(**change_of)
    assert isinstance(decided(old, "I moved to Porto last month", "Ann"), Add)


# Models that read both are sure of these, words alone are not: no reason to end what was stored.
UNCERTAIN = [
    ("Ich wohne in Berlin", "Ich bin nach Hamburg gezogen"),
    ("I live in Queens, in a studio", "so it turns out I'm a Jersey person now. Hoboken!"),
    ("I like green tea", "I don't like green tea"),
]
CERTAIN = [
    ("My boss is Martin", "My boss is Ingrid"),
    ("Vivo en Madrid", "Me mudé a Valencia, ya no vivo en Madrid"),
    ("Ich arbeite bei Siemens", "Inzwischen arbeite ich bei SAP, bei Siemens habe ich gekündigt"),
]


@pytest.mark.parametrize(("old", "new"), UNCERTAIN)
def test_what_somebody_stored_stays_beside_what_was_learned(old, new):
    read = Reranker().changes
    assert isinstance(decided(old, new, read=read), Supersede)
    decision = decided(known(old, trust="user"), new, read=read)
    assert isinstance(decision, Coexist) and decision.old.content == old


@pytest.mark.parametrize(("old", "new"), CERTAIN)
def test_what_somebody_stored_gives_way_where_it_is_certain(old, new):
    stored = known(old, trust="user")
    assert isinstance(decided(stored, new, read=Reranker().changes), Supersede)


def test_words_alone_end_what_somebody_stored_only_by_another_value_of_its_slot():
    stored = known("I live in Lisbon", trust="user")
    assert isinstance(decided(stored, "I moved to Porto last month"), Coexist)
    homes = [Triple("user", "LIVES_IN", city) for city in ("Lisbon", "Porto")]
    stored = stored.with_(triple=homes[0])
    moved = Candidate("I live in Porto", "I live in Porto", triple=homes[1])
    assert isinstance(decide(moved, [stored], LATER), Supersede)


def test_a_plan_that_somebody_stored_is_not_ended_by_the_words_of_one_model():
    plan, done = "Call the plumber about the tap", "The tap works again, the plumber came"
    stored = known(plan, trust="user")
    decision = decided(stored, done, read=lambda *_: FULFILLED)
    assert isinstance(decided(known(plan), done, read=lambda *_: FULFILLED), Supersede)
    assert isinstance(decision, Coexist)


def test_what_a_person_confirmed_stays_beside_the_new():
    old = known("I live in Lisbon", protected=True)
    assert isinstance(decided(old, "I moved to Porto last month"), Coexist | Add)


def test_probabilities_add_up_and_every_feature_has_a_weight():
    found = features(words_of("I live in Lisbon"), words_of("I moved to Porto"))
    chances = probabilities(found)
    assert set(chances) == set(LABELS) and sum(chances.values()) == pytest.approx(1)
    assert change("I live in Lisbon", "I moved to Porto").label == "replaces"


# In a store


class Told:
    """An extractor that takes every turn as a fact in its own words."""

    def extract(self, turns):
        return [Candidate(turn.content, turn.content, turn.id) for turn in turns]


@pytest.fixture
def hf(tmp_path, clock):
    with Holdfast.open(
        tmp_path / "memory.db", scope="user:ann", settings=OFFLINE, clock=clock
    ) as hf:
        yield hf


def said(hf, session, text):
    hf.clock.forward(days=1)
    hf.capture(session, "user", text)
    hf.sessions.end(session)
    found = hf.store.sessions.get(hf.scopes[0], session)
    author = Author("test", f"run_{hf.clock():x}", hf.clock(), "learn")
    learn(hf.store, found, ExtractionContext(usual(), extractor=Told()), author)


def test_the_old_home_leaves_recall_and_keeps_its_date_and_quote(hf):
    said(hf, "s1", "Vivo en Madrid")
    said(hf, "s2", "Me mudé a Valencia, ya no vivo en Madrid")
    (new,) = hf.list(kinds=["fact"])
    (old,) = hf.list(kinds=["fact"], statuses=["superseded"])
    assert (new.content, old.content) == (
        "Me mudé a Valencia, ya no vivo en Madrid",
        "Vivo en Madrid",
    )
    assert old.quote and new.quote and old.event_time < new.event_time
    assert old.id not in [hit.memory.id for hit in hf.recall("Madrid", kinds=["fact"])]
    assert (new.id, "supersedes", old.id) in {
        (edge.source, edge.relation, edge.target) for edge in hf.admin.links(new.id)
    }


def test_two_facts_that_may_exclude_each_other_are_shown_as_earlier_and_later(hf, cli, tmp_path):
    said(hf, "s1", "I work at the bakery")
    said(hf, "s2", "I work at the town library these days")
    assert len(hf.list(kinds=["fact"])) == 2
    block = hf.context("work at the bakery or the library").turn
    shown = [line for line in block.splitlines() if "lier, 20" in line or "later, 20" in line]
    assert [line.partition("(")[2].partition(",")[0] for line in sorted(shown)] == [
        "earlier",
        "later",
    ]
    where = ("--store", tmp_path / "memory.db", "--scope", "user:ann")
    listed = json.loads(cli("list", "--kind", "fact", "--json", *where).out)
    assert {one["content"]: one["state"] for one in listed} == {
        "I work at the bakery": "earlier",
        "I work at the town library these days": "later",
    }
    assert "active, earlier" in cli("list", "--kind", "fact", *where).out


def test_all_that_say_the_old_value_leave_recall(hf):
    said(hf, "s1", "I've worn my black Converse four times already")
    said(hf, "s2", "I love my black Converse, I've worn them four times already")
    said(hf, "s3", "I've worn my black Converse six times already by now")
    (now,) = hf.list(kinds=["fact"])
    assert now.content.endswith("six times already by now")
    gone = hf.list(kinds=["fact"], statuses=["superseded"])
    assert len(gone) == 2 and all(now.id in one.status_reason for one in gone)


def test_a_fulfilled_plan_leaves_recall_and_keeps_its_confidence(hf):
    said(hf, "s1", "I'll take the driving test on Friday")
    said(hf, "s2", "Passed the driving test!")
    (plan,) = hf.list(kinds=["fact"], statuses=["superseded"])
    assert plan.content == "I'll take the driving test on Friday"
    assert plan.confidence == 0.8 and "carried out" in plan.status_reason


@pytest.mark.parametrize(
    "old, new",
    [
        ("Melanie wants to be brave for her family", "Melanie signed up for a pottery class"),
        ("Jon is gonna take a shot at his own business", "Jon has been to Paris yesterday"),
        ("The support group has given Caroline courage", "Now the work starts for Caroline"),
    ],
)
def test_the_name_of_who_speaks_is_nothing_in_common(old, new):
    author = next(name for name in ("Melanie", "Jon", "Caroline") if name in old)
    assert not isinstance(decided(old, new, author, read=Reranker().changes), Supersede)


def learned_from(earlier, later, clock, tmp_path):
    """The quotes of the facts that hold, and of those superseded, after two sessions."""
    with Holdfast.open(tmp_path / "memory.db", scope="user:ann", clock=clock) as hf:
        for session, text in (("first", earlier), ("second", later)):
            hf.capture(session, "user", text)
            hf.sessions.end(session)
            hf.sessions.learn(session)
            clock.forward(days=60)
        listed = [hf.list(kinds=["fact"], statuses=[one]) for one in ("active", "superseded")]
    return [[one.quote for one in facts] for facts in listed]


@pytest.mark.parametrize(
    "earlier, later",
    [
        # The date that is put behind "last week" makes no bygone event of it.
        ("I live in Hamburg.", "I moved to Lisbon last week."),
        ("My daughter is 6.", "My daughter turned 7 yesterday!"),
        # Worth keeping because it changes what is known, and clear to who knows it.
        ("I'm dating Tom.", "Tom and I broke up."),
        ("My phone is a Pixel 7.", "I finally upgraded to an iPhone 16."),
        (
            "We use Jenkins for our builds.",
            "We switched our builds from Jenkins to GitHub Actions.",
        ),
        (
            "I've read 12 books this year so far, mostly novels.",
            "I've read 15 books this year so far, mostly novels.",
        ),
        ("I'm learning the cello.", "I gave up the cello, too loud for the neighbours."),
    ],
)
def test_what_somebody_said_in_passing_takes_the_place_of_what_was(earlier, later, clock, tmp_path):
    now, gone = learned_from(earlier, later, clock, tmp_path)
    assert gone == [earlier.rstrip(".")]
    assert [quote in later for quote in now] == [True]


@pytest.mark.parametrize(
    "earlier, later",
    [
        ("I live in Hamburg.", "My brother lives in Lisbon now."),
        ("I live in Hamburg.", "I'd love to live in Lisbon."),
        ("My car is a Prius.", "My neighbour's car is a Golf."),
        ("My favourite colour is blue.", "My daughter's favourite colour is red."),
        ("I have two cats.", "We also adopted a dog yesterday."),
        ("I live in Hamburg.", "I moved to a bigger flat last week."),
    ],
)
def test_what_is_true_beside_it_leaves_it_alone(earlier, later, clock, tmp_path):
    now, gone = learned_from(earlier, later, clock, tmp_path)
    assert gone == []
    assert earlier.rstrip(".") in now
