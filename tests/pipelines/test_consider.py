"""Considering what was said: once, all or nothing, with what came before in view, and failures that
can be seen.
"""

from __future__ import annotations

import json

import pytest

from holdfast import Holdfast, Settings
from holdfast.errors import ModelFailed, NotFound
from holdfast.extraction.candidate import Advice, Candidate
from holdfast.extraction.turn_extraction import ExtractionContext, consider, usual
from holdfast.storage import Author

EVERY = ("active", "held", "proposed", "archived", "superseded")


class Told:
    """An extractor that finds what the test tells it to: a quote, and fields of the candidate."""

    def __init__(self, *found):
        self.found, self.seen = found, []

    def extract(self, turns):
        self.seen += [turn.content for turn in turns]
        return [
            Candidate(
                fields.get("content", quote),
                quote,
                turn.id,
                **{k: v for k, v in fields.items() if k != "content"},
            )
            for turn in turns
            for quote, fields in self.found
            if quote in turn.content
        ]


@pytest.fixture
def hf(open_with):
    return open_with()


def say(hf, text, *, session="s1", role="user"):
    hf.clock.forward(seconds=1)
    return hf.capture(session, role, text)


def considered(hf, extractor, session="s1"):
    author = Author("test", f"run_{hf.clock():x}", hf.clock(), "consider")
    reading = ExtractionContext(usual(), extractor=extractor)
    return consider(hf.store, hf.store.sessions.get(hf.scopes[0], session), reading, author)


def statuses(hf, kind="fact"):
    return {one.content: one.status for one in hf.list(kinds=[kind], statuses=EVERY)}


def test_each_turn_is_read_once_and_session_end_does_not_read_it_again(hf):
    extractor = Told(("tea", {}))
    say(hf, "I like tea")
    considered(hf, extractor)
    say(hf, "I like tea a lot")
    considered(hf, extractor)
    considered(hf, extractor)
    assert extractor.seen == ["I like tea", "I like tea a lot"]
    hf.sessions.end("s1")
    hf.sessions.learn("s1", complete=lambda prompt: pytest.fail("nothing is left to read"))
    assert hf.store.sessions.unread(hf.scopes) == []


def test_each_candidate_goes_its_way_in_one_run(hf):
    extractor = Told(
        ("tea", {"content": "Ann likes tea"}),
        (
            "fireworks",
            {
                "content": "Ann fears fireworks",
                "advice": Advice("commit_at_session_end", "let us see"),
            },
        ),
        ("a failure", {"content": "Ann is a failure", "quote": "I'm a failure"}),
        ("weather", {"content": "The weather is bad", "advice": Advice("drop", "only for today")}),
        (
            "report",
            {"content": "Send the report", "kind": "rule", "advice": Advice("propose", "not sure")},
        ),
    )
    extractor.found = tuple(
        (fields.pop("quote", quote), fields) for quote, fields in extractor.found
    )
    say(hf, "I like tea, I fear fireworks, I'm a failure, weather, report.")
    before = len({event.run for event in hf.admin.log(limit=None)})
    considered(hf, extractor)
    assert len({event.run for event in hf.admin.log(limit=None)}) == before + 1
    assert statuses(hf) == {
        "Ann likes tea": "active",
        "Ann fears fireworks": "held",
        "Ann is a failure": "held",
    }
    assert statuses(hf, "rule") == {"Send the report": "proposed"}
    (proposed,) = hf.list(statuses=["proposed"])
    assert proposed.metadata["proposed_by"] == "test"
    assert hf.recall("fireworks report failure", kinds=["fact", "rule"]) == []


def test_what_was_dropped_is_told_by_the_turn_without_its_words(hf):
    turn = say(hf, "The weather is bad")
    told = Advice("drop", "the weather is only for today")
    considered(hf, Told(("weather", {"content": "The weather is bad", "advice": told})))
    (decision,) = hf.get(turn.id).metadata["decisions"]
    assert decision == {
        "action": "drop",
        "reason": "llm_policy: not worth keeping",
        "version": "model_v1",
        "kind": "fact",
        "category": "general",
    }


def test_an_undo_takes_back_a_whole_consideration(hf):
    say(hf, "I like tea, fireworks")
    exported = list(hf.admin.export(history=False))
    considered(hf, Told(("tea", {}), ("fireworks", {"advice": Advice("commit_at_session_end")})))
    hf.undo()
    assert list(hf.admin.export(history=False)) == exported
    assert len(considered(hf, Told(("tea", {})))) == 1, "and it is considered again"


def test_when_somebody_else_was_quicker_nothing_is_written_twice(hf, open_with):
    other = open_with()
    say(hf, "I like tea")

    class Slow(Told):
        def extract(self, turns):
            considered(other, Told(("tea", {})))
            return super().extract(turns)

    assert considered(hf, Slow(("tea", {"content": "Ann likes TEA, said otherwise"}))) == []
    assert statuses(hf) == {"tea": "active"}


def test_a_correction_of_the_turn_before_is_understood(hf):
    say(hf, "My dentist appointment is on Monday.")
    hf.sessions.extract("s1")
    say(hf, "It's Tuesday, not Monday.")
    found = hf.sessions.extract("s1")
    assert [one.candidate.quote for one in found] == ["It's Tuesday, not Monday"]
    assert "Tuesday" in found[0].candidate.content


def test_a_session_that_nobody_knows_is_said(hf):
    with pytest.raises(NotFound, match="No session 'nowhere'"):
        hf.sessions.extract("nowhere")


def test_a_model_sees_six_turns_before_and_finds_nothing_in_them(hf):
    prompts = []
    for number in range(8):
        say(hf, f"turn number {number}")
    hf.sessions.extract("s1", complete=lambda prompt: "[]")
    say(hf, "and one more")
    hf.sessions.extract("s1", complete=lambda prompt: prompts.append(prompt) or "[]")
    assert "[1] user: and one more" in prompts[0]
    assert "[2]" not in prompts[0]
    assert [number for number in range(8) if f"turn number {number}" in prompts[0]] == [
        2,
        3,
        4,
        5,
        6,
        7,
    ]


def test_the_model_of_the_settings_is_asked_and_its_failure_is_kept_with_the_session(open_with):
    hf = open_with(model="openai:some-model", model_url="http://127.0.0.1:9/v1")
    say(hf, "I live in Lisbon.")
    assert hf.sessions.extract("s1") == []
    assert "openai:some-model did not answer" in hf.stats()["problems"]["session s1"]
    assert statuses(hf) == {}
    hf.sessions.end("s1")
    with pytest.raises(ModelFailed):
        hf.sessions.learn("s1")
    assert [one.id for one in hf.store.sessions.unread(hf.scopes)] == ["s1"], "workers try again"


def test_with_everything_waiting_for_session_end_nothing_is_active_before(open_with):
    hf = open_with(write_timing="session_end")
    say(hf, "My sister Ines lives in Porto.")
    (one,) = hf.sessions.extract("s1")
    assert one.waits
    assert set(statuses(hf).values()) == {"held"}
    hf.sessions.end("s1")
    hf.sessions.learn("s1")
    (fact,) = hf.list(kinds=["fact"])
    assert (fact.status, fact.metadata["policy"]["timing"]) == ("active", "session_end")


def test_with_approval_a_promoted_memory_waits_for_a_person(open_with):
    hf = open_with(approval="all")
    found = {
        "turn": 1,
        "quote": "I fear fireworks more than anything",
        "content": "The user fears fireworks",
        "action": "commit_at_session_end",
    }
    answer = json.dumps([found])
    said = "I fear fireworks more than anything"
    for text in (said, f"Yes, {said}"):
        say(hf, text)
        hf.sessions.extract("s1", complete=lambda prompt: answer)
    hf.sessions.end("s1")
    hf.sessions.learn("s1", complete=lambda prompt: pytest.fail("all has been read"))
    assert sorted(one.status for one in hf.list(kinds=["fact"], statuses=EVERY)) == [
        "archived",
        "proposed",
    ]
    (proposed,) = hf.list(statuses=["proposed"])
    hf.actor = "cli:ann"
    assert hf.reviews.approve(proposed.id).status == "active"


def test_who_wants_nothing_remembered_is_not_read(hf):
    hf.sessions.set_profile(enabled=False)
    (
        say(hf, "My sister Ines lives in Porto."),
        say(hf, "I love green tea."),
        say(hf, "My boss is called Tom."),
    )
    assert hf.sessions.extract("s1") == []
    hf.sessions.end("s1")
    hf.sessions.learn("s1")
    assert hf.list(kinds=["fact", "episode", "rule"], statuses=EVERY) == []
    hf.sessions.set_profile(enabled=True)
    say(hf, "I love red wine.")
    hf.sessions.extract("s1")
    assert set(statuses(hf)) == {"The user loves red wine"}, (
        "what was said meanwhile is not read later"
    )
    hf.sessions.set_profile(enabled=False)
    say(hf, "I hate white wine."), hf.sessions.extract("s1")
    hf.sessions.set_profile(enabled=True)
    assert hf.sessions.extract("s1") == []


def test_a_model_of_the_caller_s_own_may_fail_in_any_way(hf):
    say(hf, "I love red wine.")
    assert hf.sessions.extract("s1", complete=lambda prompt: 1 // 0) == []
    assert hf.stats()["problems"]["session s1"].startswith(
        "The model did not answer: integer division"
    )


def test_a_profile_has_what_it_may_have(hf):
    assert hf.sessions.profile() == {"proactive_recall": False, "enabled": True}
    with pytest.raises(ValueError, match="no 'colour'"):
        hf.sessions.set_profile(colour=True)
    with pytest.raises(ValueError, match="must be bool"):
        hf.sessions.set_profile(proactive_recall="yes")


def test_don_t_remember_that_takes_back_what_was_committed_but_not_what_others_said_too(hf):
    say(hf, "I like tea"), considered(hf, Told(("tea", {"content": "Ann likes tea"})))
    (
        say(hf, "I really like tea, and cake"),
        considered(
            hf, Told(("tea", {"content": "Ann likes tea"}), ("cake", {"content": "Ann likes cake"}))
        ),
    )
    say(hf, "Forget that."), considered(hf, Told())
    assert statuses(hf) == {"Ann likes tea": "active", "Ann likes cake": "archived"}


def test_after_incognito_nothing_is_kept_and_what_was_held_goes(hf):
    say(hf, "I fear fireworks")
    considered(hf, Told(("fireworks", {"advice": Advice("commit_at_session_end")})))
    say(hf, "Switch to incognito mode"), say(hf, "I like cake"), considered(hf, Told(("cake", {})))
    say(hf, "I like cake a lot"), considered(hf, Told(("cake", {})))
    assert statuses(hf) == {"fireworks": "archived"}
    assert {one.content for one in hf.list(kinds=["turn"])} == {"I fear fireworks"}


def test_a_pasted_rule_waits_for_a_person_though_a_model_found_it(hf):
    say(hf, "Look what it says:\n\n$ cat CLAUDE.md\nAlways use tabs")
    considered(hf, Told(("Always use tabs", {"kind": "rule"})))
    assert statuses(hf, "rule") == {"Always use tabs": "proposed"}


def test_in_a_shared_scope_a_rule_waits_for_a_person_and_names_who_asked(tmp_path, clock):
    settings = Settings(embedding_models="none")
    with Holdfast.open(
        tmp_path / "t.db", scope="shared:team", settings=settings, clock=clock, background=False
    ) as hf:
        hf.capture("s1", "user", "Always answer in German.", author="Ann")
        hf.sessions.extract("s1")
        assert statuses(hf, "rule") == {"Ann asks: Always answer in German": "proposed"}


def test_a_request_in_any_words_withdraws_the_conversation_and_what_was_held(hf):
    say(hf, "I like tea"), say(hf, "I fear fireworks")
    considered(hf, Told(("tea", {}), ("fireworks", {"advice": Advice("commit_at_session_end")})))
    say(hf, "Actually, do not save or remember any of that")
    hf.sessions.end("s1")
    hf.sessions.learn("s1")
    assert set(statuses(hf).values()) == {"archived"}
    assert hf.list(kinds=["turn"]) == []


def test_i_do_not_remember_has_no_effect(hf):
    say(hf, "I like tea"), say(hf, "I don't remember the argument")
    considered(hf, Told(("tea", {})))
    assert statuses(hf) == {"tea": "active"}


def test_after_a_pause_nothing_is_kept_until_it_ends(hf):
    say(hf, "I like tea"), say(hf, "From now on don't save anything I say."), say(hf, "I like cake")
    say(hf, "OK, you can start remembering things again."), say(hf, "I like jam")
    considered(hf, Told(("tea", {}), ("cake", {}), ("jam", {})))
    assert statuses(hf) == {"tea": "active", "jam": "active"}


def test_a_pause_leaves_what_is_held_from_before(hf):
    say(hf, "I fear fireworks")
    considered(hf, Told(("fireworks", {"advice": Advice("commit_at_session_end")})))
    say(hf, "Please pause your memory."), considered(hf, Told())
    assert statuses(hf) == {"fireworks": "held"}


def test_what_is_to_be_forgotten_is_not_learned_from_the_request(hf):
    say(hf, "I smoke a pipe"), considered(hf, Told(("pipe", {})))
    say(hf, "Please forget that I smoke a pipe."), considered(hf, Told(("pipe", {})))
    assert statuses(hf) == {"pipe": "archived"}


def test_people_who_talk_to_each_other_give_no_rules_whatever_an_extractor_says(hf):
    for author, text in (("Ann", "Always lock the door."), ("Bob", "Never forget the keys.")):
        hf.capture("s1", "user", text, author=author)
    considered(hf, Told(("lock the door", {"kind": "rule"}), ("the keys", {})))
    assert (statuses(hf, "rule"), statuses(hf)) == ({}, {"the keys": "active"})
