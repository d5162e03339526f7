"""What a person does to their memory from inside a conversation, in plain words and with
/memory.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from holdfast.agents.agent_runner import RoleAgent
from holdfast.agents.conversation import Conversation
from holdfast.agents.memory_commands import CANCELLED, GUEST, KEPT, NO_MATCH, NOTHING
from holdfast.agents.role import load_role
from holdfast.agents.utterance import understood
from holdfast.agents.watcher import Watcher
from holdfast.errors import Refused
from holdfast.text.spoken_commands import answer, command

DATA = Path(__file__).parent.parent / "data"
LABELLED = [
    line.split("\t")
    for line in (DATA / "control.tsv").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
ROLE = """\
apiVersion: initrunner/v1
kind: Agent
metadata: {{name: helper}}
spec:
  role: You help.
  model: {{provider: offline}}
  memory: {memory}
"""


class Asked:
    """A model that answers anything with one sentence, and keeps count."""

    def __init__(self) -> None:
        self.prompts: list[object] = []
        self.model = FunctionModel(self._answer)

    def _answer(self, messages, info):
        self.prompts.append(messages)
        return ModelResponse(parts=[TextPart("The model answers.")])


@pytest.fixture
def model():
    return Asked()


@pytest.fixture
def begin(tmp_path, clock, model):
    """Begins a conversation with the agent of a role file; the same file each time, as after a
    restart.
    """
    opened = []

    def begin_(memory="{embeddings: {provider: none}}", *, use_memory=True):
        file = tmp_path / "role.yaml"
        file.write_text(ROLE.format(memory=memory))
        agent = RoleAgent.open(
            load_role(file), model=model.model, clock=clock, use_memory=use_memory
        )
        opened.append(agent)
        return Conversation(agent)

    yield begin_
    for agent in opened:
        agent.close()


@pytest.fixture
def talk(begin):
    return begin()


@pytest.fixture
def hf(talk):
    return talk.agent.memory.hf


def say(talk, text):
    return talk.say(text).text


def active(hf):
    return [memory.content for memory in hf.list()][::-1]


# What is a command


def name_of(text):
    found = understood(text)
    return found and found.name


@pytest.mark.parametrize(
    "quotation",
    [
        '"Forget about the old flat."',
        "“What do you know about me?”",
        "'forget everything'",
        "„Vergiss alles über mich“",
        "«Oublie tout»",
        '"forget everything you know about me" is a line from a film',
    ],
)
def test_what_somebody_quotes_is_no_command(quotation):
    assert command(quotation) is None and understood(quotation) is None


def test_a_topic_may_stand_in_quotation_marks():
    assert command('Forget about "Project X"').about == "Project X"


def test_the_labelled_list_is_large_and_speaks_seven_languages():
    assert len(LABELLED) >= 150
    assert {language for language, _, _ in LABELLED} == {"en", "de", "es", "fr", "ru", "zh", "ja"}
    assert sum(label == "-" for _, label, _ in LABELLED) >= 75


@pytest.mark.parametrize("text", [text for _, label, text in LABELLED if label == "-"])
def test_what_is_no_command_is_never_taken_for_one(text):
    assert understood(text) is None


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "ru", "zh", "ja"])
def test_nine_commands_of_ten_are_understood_and_none_as_another(language):
    ours = [
        (label, name_of(text))
        for code, label, text in LABELLED
        if code == language and label != "-"
    ]
    assert [pair for pair in ours if pair[1] not in (None, pair[0])] == []
    assert sum(label == found for label, found in ours) >= 0.9 * len(ours)


def test_real_conversations_hold_no_command():
    """Of the people in the question set nobody talks to a memory."""
    questions = json.loads((DATA / "longmemeval_excerpt.json").read_text(encoding="utf-8"))
    said = [turn["content"] for turn in _user_turns(questions)]
    assert len(said) > 100
    assert [text for text in said if understood(text)] == []


def _user_turns(value):
    if isinstance(value, dict):
        if value.get("role") == "user" and isinstance(value.get("content"), str):
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _user_turns(one)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("Could you please forget about the old flat?", "the old flat"),
        ("FORGET WHAT YOU KNOW ABOUT Anna!", "Anna"),
        ("忘掉关于安娜的一切", "安娜"),
        ("アンナについて忘れてください。", "アンナ"),
        ("Oublie tout ce que tu sais sur l’appartement", "l'appartement"),
    ],
)
def test_what_it_is_about_is_read_from_it(text, about):
    assert command(text).about == about


@pytest.mark.parametrize(
    "text", ["", " ", "?", "\n", "forget everything\nand this", "x" * 10_000, "forget " * 5_000]
)
def test_any_text_can_be_asked_about(text):
    assert command(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y", "yes"),
        ("Yes!", "yes"),
        ("ja", "yes"),
        ("oui", "yes"),
        ("да", "yes"),
        ("是的", "yes"),
        ("はい", "yes"),
        ("n", "no"),
        ("Nein.", "no"),
        ("forget it", "no"),
        ("不要", "no"),
        ("2", 2),
        ("#2", 2),
        ("２", 2),
        ("2番", 2),
        ("all", "all"),
        ("undo", "undo"),
        ("I was 12 then", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_short_answers(text, said):
    assert answer(text) == said


# What becomes of it


def test_a_command_reaches_neither_the_model_nor_the_history(talk, hf, model):
    heard = []
    turn = talk.say("What do you know about me?", watcher=Watcher(text=heard.append))
    assert (turn.text, heard, turn.messages) == (NOTHING, [NOTHING], ())
    assert (model.prompts, talk.history, hf.sessions.list()) == ([], [], [])


def test_anything_else_reaches_the_model(talk, model):
    assert say(talk, "I can't forget about him") == "The model answers."
    assert len(model.prompts) == 1


def test_looking_makes_no_store(begin, tmp_path):
    talk = begin("{embeddings: {provider: none}, store_path: never.db}")
    assert [
        say(talk, text)
        for text in ("What do you know about me?", "forget about tea", "forget everything")
    ] == [
        NOTHING,
        NO_MATCH,
        NOTHING,
    ]
    assert "0 facts" in say(talk, "memory status")
    assert not talk.agent.memory.exists


def test_guests_have_nothing_to_show_or_edit(begin, model):
    talk = begin(use_memory=False)
    for text in (
        "What do you know about me?",
        "forget about tea",
        "remember that I like tea",
        "don't remember this",
    ):
        assert say(talk, text) == GUEST
    assert talk.control.slash("list") == GUEST
    assert say(talk, "Hello") == "The model answers."


def test_the_list_is_numbered_by_sort_in_the_order_of_insertion(talk, hf):
    hf.remember("Likes tea")
    hf.remember("Answer briefly", kind="rule")
    hf.remember("Talked about Porto", kind="episode")
    hf.remember("Plays chess")
    told = say(talk, "What do you remember about me?")
    assert told.startswith(
        "Facts:\n1. Likes tea\n2. Plays chess\n\nSessions:\n1. Talked about Porto\n\nRules:\n1. Ans"
    )


def test_five_forgotten_facts_do_not_hide_the_sixth(talk, hf):
    """The limit comes after the filter."""
    old = [hf.remember(f"Old fact number {number}") for number in range(60)]
    hf.forget(*(one.id for one in old))
    hf.remember("Likes tea")
    assert "1. Likes tea" in say(talk, "list my memories")


def test_one_match_is_forgotten_after_a_yes_and_comes_back_with_undo(talk, hf):
    hf.remember("Likes green tea")
    hf.remember("Plays chess")
    assert "Likes green tea" in say(talk, "forget about tea")
    assert active(hf) == ["Likes green tea", "Plays chess"]
    assert say(talk, "yes").startswith("Forgotten: Likes green tea")
    assert active(hf) == ["Plays chess"]
    assert say(talk, "undo") == "It is as it was before."
    assert active(hf) == ["Likes green tea", "Plays chess"]


def test_undo_is_for_what_was_just_done(talk, hf, model):
    hf.remember("Likes green tea")
    say(talk, "forget about tea")
    say(talk, "yes")
    say(talk, "Hello")
    assert say(talk, "undo") == "The model answers."
    assert active(hf) == []


@pytest.mark.parametrize("text", ["no", "n", "nope", "", "nein"])
def test_a_no_keeps_it(talk, hf, text):
    hf.remember("Likes green tea")
    say(talk, "forget about tea")
    assert say(talk, text) == KEPT
    assert active(hf) == ["Likes green tea"]


def test_going_on_with_something_else_keeps_it_too(talk, hf):
    hf.remember("Likes green tea")
    say(talk, "forget about tea")
    assert say(talk, "What is the weather like?") == "The model answers."
    assert say(talk, "yes") == "The model answers."
    assert active(hf) == ["Likes green tea"]


def test_several_matches_are_a_numbered_choice_and_a_bad_number_keeps_it(talk, hf):
    for content in ("Likes green tea", "Plays chess", "Drinks tea in the morning"):
        hf.remember(content)
    told = say(talk, "forget about tea")
    assert "1. " in told and "2. " in told and "chess" not in told
    assert say(talk, "7") == "Please say a number from 1 to 2, or no to keep them all."
    chosen = told.split("2. ")[1].split("\n")[0]
    assert say(talk, "2") == f"Forget this fact? {chosen}\nSay yes to forget it [y/N]."
    assert chosen in active(hf)
    assert say(talk, "yes").startswith(f"Forgotten: {chosen}")
    assert chosen not in active(hf)
    assert len(active(hf)) == 2


def test_all_of_several_is_asked_once_more(talk, hf):
    for content in ("Likes green tea", "Plays chess", "Drinks tea in the morning"):
        hf.remember(content)
    say(talk, "forget about tea")
    assert say(talk, "all").startswith("Forget all 2")
    say(talk, "yes")
    assert active(hf) == ["Plays chess"]


def test_what_it_was_learned_from_goes_with_it(talk, hf, clock):
    """Otherwise the turn would be recalled and tell it all again."""
    from holdfast.types import Edge

    turn = hf.capture("s1", "user", "My sister Anna lives in Porto")
    fact = hf.remember("The user's sister Anna lives in Porto")
    hf.admin.write(
        "link",
        lambda tx: tx.link(Edge(hf.scopes[0], fact.id, turn.id, "derived_from", clock())),
    )
    say(talk, "forget about Anna")
    assert "1 message" in say(talk, "yes")
    assert hf.recall("Where does Anna live?") == []
    say(talk, "undo")
    assert {hit.memory.id for hit in hf.recall("Where does Anna live?")} == {turn.id, fact.id}


def test_a_turn_can_be_forgotten_where_there_is_no_fact(talk, hf):
    hf.capture("s1", "user", "My sister Anna lives in Porto")
    say(talk, "forget about Anna")
    say(talk, "yes")
    assert hf.recall("Anna") == []


def test_what_waits_can_be_forgotten(talk, hf):
    hf.reviews.propose("The user likes mushrooms")
    say(talk, "forget that I like mushrooms")
    say(talk, "yes")
    assert hf.reviews.list() == []


def test_forgetting_by_number(talk, hf):
    hf.remember("Likes tea")
    hf.remember("Plays chess")
    hf.remember("Answer briefly", kind="rule")
    assert say(talk, "forget fact 9") == "Fact #9 does not exist (only 2 fact(s))."
    say(talk, "forget #2")
    say(talk, "yes")
    assert active(hf) == ["Likes tea", "Answer briefly"]
    assert say(talk, "forget #1").startswith("I found 2 memories")
    assert say(talk, "forget #7") == NO_MATCH


def test_a_question_survives_a_restart(begin, clock):
    first = begin()
    hf = first.agent.memory.hf
    hf.remember("Likes green tea")
    say(first, "forget about tea")
    first.agent.close()
    second = begin()
    second.resume()
    assert say(second, "yes").startswith("Forgotten")
    assert active(second.agent.memory.hf) == []


def test_a_question_of_last_week_is_forgotten(begin, clock, model):
    first = begin()
    first.agent.memory.hf.remember("Likes green tea")
    say(first, "forget about tea")
    clock.forward(days=7)
    second = begin()
    second.resume()
    assert say(second, "yes") == "The model answers."


def test_a_question_hides_no_conversation_that_could_be_resumed(begin):
    first = begin()
    say(first, "Hello")
    second = begin()
    second.agent.memory.hf.remember("Likes green tea")
    say(second, "forget about tea")
    assert begin().resume() == 2


@pytest.mark.parametrize("text", ["y", "yes", "CLEAR", "Clear", "no", "", "ok"])
def test_only_the_typed_word_wipes(talk, hf, text):
    hf.remember("Likes tea")
    assert "Type clear" in say(talk, "Forget everything")
    assert say(talk, text) == CANCELLED
    assert say(talk, "clear") == "The model answers."
    assert active(hf) == ["Likes tea"]


@pytest.mark.parametrize("word", ["clear", " clear ", "purge"])
def test_the_word_wipes_whatever_waits_as_well_and_can_be_undone(talk, hf, word):
    hf.remember("Likes tea")
    hf.reviews.propose("Plays chess")
    hf.capture("s1", "user", "I live in Porto")
    say(talk, "Forget everything you know about me")
    assert say(talk, word).startswith("I forgot 3 memories")
    assert hf.list(statuses=("active", "proposed", "held")) == []
    say(talk, "undo")
    assert len(hf.list(statuses=("active", "proposed"))) == 3


def test_recall_is_switched_on_and_off_and_rules_apply_all_the_same(begin, hf, talk):
    hf.remember("Answer in German", kind="rule")
    hf.remember("Talked of tea and the garden")
    say(talk, "What about tea in the garden?")
    for switch, reminded in (("off", False), ("on", True)):
        assert say(talk, f"turn recall {switch}") == f"Proactive recall is now {switch}."
        assert f"recall is {switch}" in say(talk, "memory status")
        resumed = begin()
        resumed.resume()
        assert bool(resumed.agent.recalled) is reminded
        assert "Answer in German" in resumed.agent.memory.procedures()


def test_clearing_rules_keeps_the_switch(talk, hf):
    hf.remember("Answer in German", kind="rule")
    say(talk, "turn recall on")
    talk.control.slash("clear rules")
    say(talk, "clear")
    assert (active(hf), hf.store.profiles.get(hf.scopes[0])["proactive_recall"]) == ([], True)


@pytest.mark.parametrize(
    ("text", "kind", "content"),
    [
        ("Remember that I prefer tea over coffee", "fact", "The user prefers tea over coffee"),
        ("Merk dir, dass meine Schwester Clara heißt", "fact", "meine Schwester Clara heißt"),
        ("remember: never use emojis", "rule", "Never use emojis"),
        ("记住我喜欢喝茶", "fact", "我喜欢喝茶"),
    ],
)
def test_what_a_person_says_is_kept_as_theirs(talk, hf, text, kind, content):
    assert content in say(talk, text)
    (stored,) = hf.list()
    assert (stored.kind, stored.content, stored.trust) == (kind, content, "user")
    assert hf.history(stored.id)[0].actor.startswith("cli:")


def test_saying_it_again_says_which_memory_it_is(talk, hf):
    say(talk, "Remember that I prefer tea over coffee")
    assert say(talk, "Please remember that I prefer tea over coffee.").startswith(
        "I knew that already: The user prefers"
    )
    assert len(hf.list()) == 1


def test_what_must_not_be_kept_is_not(talk, hf):
    assert say(talk, "Remember to never ask if I'm safe").startswith("I won't keep that")
    assert "secret" in say(talk, "Remember that my key is sk-proj-4Tb9LwXq2ZrN7vKcYh3MdPf8EaGs6Ju1")
    assert hf.list() == []


def test_an_agent_that_keeps_no_facts_answers_itself(begin):
    talk = begin("{embeddings: {provider: none}, semantic: {enabled: false}}")
    assert say(talk, "Remember that I prefer tea") == "The model answers."


def test_what_the_last_turn_left_behind_is_not_kept(talk, hf, clock):
    hf.remember("Plays chess")
    clock.forward(minutes=1)
    say(talk, "My boss is terrible")
    # As a tool of the agent does.
    talk.agent.memory.remember("semantic", "The user's boss is terrible")
    assert "1 memory" in say(talk, "Don't remember this")
    assert active(hf) == ["Plays chess"]
    assert say(talk, "off the record") == "Okay, I won't keep that."


def test_what_was_forgotten_is_not_told_by_the_reminder(begin):
    first = begin()
    first.agent.memory.hf.remember("Likes green tea with milk")
    say(first, "Which green tea?")
    second = begin()
    second.resume()
    assert "milk" in second.agent.recalled
    say(second, "forget about green tea")
    say(second, "yes")
    assert second.agent.recalled == ""


# /memory


def test_slash_forms(talk, hf):
    slash = talk.control.slash
    hf.remember("Likes tea")
    hf.remember("Answer briefly", kind="rule")
    assert slash("status").startswith("I have 1 fact, 0 session summaries and 1 style rule saved")
    assert slash("list rules").startswith("Rules:\n1. Answer briefly")
    assert slash("list sessions") == "I don't have any saved session summaries for you right now."
    assert slash("recall on") == "Proactive recall is now on."
    assert slash("forget rule 2") == "Rule #2 does not exist (only 1 rule(s))."
    assert "[y/N]" in slash("forget fact 1")
    assert say(talk, "") == KEPT
    slash("forget fact #1")
    say(talk, "y")
    assert active(hf) == ["Answer briefly"]
    assert "Type clear" in slash("clear all")
    assert say(talk, "clear").startswith("I forgot 1 memory")


@pytest.mark.parametrize(
    "rest", ["forget", "forget fact", "forget everything now", "clear", "clear it", "recall"]
)
def test_a_slash_form_that_is_wrong_says_what_is_right(talk, rest):
    assert "/memory forget fact|session|rule N" in talk.control.slash(rest)


@pytest.mark.parametrize(
    "rest", ["", "tea", "list of books", "status of the project", "recall of cars"]
)
def test_other_words_are_a_search(talk, rest):
    assert talk.control.slash(rest) is None


def test_two_owners_of_one_store_forget_apart(begin):
    ann = begin("{embeddings: {provider: none}, store_path: shared.db, scope: 'user:ann'}")
    ann.agent.memory.hf.remember("Ann likes tea")
    bob = begin("{embeddings: {provider: none}, store_path: shared.db, scope: 'user:bob'}")
    bob.agent.memory.hf.remember("Bob likes tea")
    assert "Ann" not in say(bob, "forget about tea")
    say(bob, "yes")
    say(bob, "forget everything")
    say(bob, "clear")
    assert active(ann.agent.memory.hf) == ["Ann likes tea"]


# This session, from now on, and again


def test_nothing_of_a_conversation_is_kept_once_that_is_asked(talk, hf):
    say(talk, "Hello there")
    say(talk, "remember that I like tea")
    hf.remember("The agent noted something")
    told = say(talk, "Actually, do not save or remember any of that")
    assert "forgot 2 memories" in told
    assert active(hf) == []
    say(talk, "I play chess")
    talk.end()
    assert (active(hf), hf.sessions.list()) == ([], [])


def test_forgetting_a_conversation_can_be_undone(talk, hf):
    say(talk, "remember that I like tea")
    say(talk, "please don't save any of this conversation")
    assert say(talk, "undo") == "It is as it was before."
    assert len(active(hf)) == 1
    assert not talk.agent.memory.paused


def test_what_was_known_before_a_conversation_stays(begin, clock):
    first = begin()
    say(first, "remember that I like tea")
    clock.forward(seconds=60)
    second = begin()
    say(second, "please don't save any of this conversation")
    assert len(active(second.agent.memory.hf)) == 1


def test_a_pause_lasts_until_it_is_taken_back(talk, hf):
    assert "from now on" in say(talk, "Stop remembering what I say for now.")
    with pytest.raises(Refused):
        talk.agent.memory.remember("semantic", "Secret")
    say(talk, "My secret is cake")
    assert hf.sessions.list() == []
    say(talk, "You can remember things again.")
    assert talk.agent.memory.remember("semantic", "Public").content == "Public"


def test_the_rest_of_a_message_is_answered_by_the_agent(talk, hf, model):
    told = say(talk, "Please don't save my last message. And why does the loop never end?")
    assert told.startswith("Okay, I won't keep that.") and told.endswith("The model answers.")
    assert len(model.prompts) == 1


def test_i_do_not_remember_reaches_the_agent(talk, model):
    assert say(talk, "I don't remember the argument") == "The model answers."


def test_status_says_that_recall_is_on_until_it_is_switched_off(talk):
    assert "Proactive recall is on" in talk.slash("status")
    say(talk, "turn off recall")
    assert "Proactive recall is off" in talk.slash("status")


def test_only_what_is_about_a_name_is_listed(talk, hf):
    hf.remember("Ann plays the cello")
    hf.remember("They planned an annual trip")
    assert [one.content for one in talk.about("Ann")] == ["Ann plays the cello"]
    assert talk.about("Zoe") == []


def test_settings_show_and_switch(talk, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert talk.command("settings", "").splitlines() == [
        "memory of this conversation: on (/settings memory on|off)",
        "recall unasked: on (/settings recall on|off)",
        "memory of this project: off (/settings project memory on|off)",
    ]
    assert talk.command("settings", "recall off") == "Proactive recall is now off."
    talk.command("settings", "memory off")
    assert talk.agent.memory.paused
    assert talk.command("settings", "volume up").startswith("/settings ")


def test_the_memory_of_a_project_is_switched_on_for_later_conversations_too(
    begin, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    talk = begin()
    assert "is on" in talk.command("settings", "project memory on")
    assert "memory of this project: on" in talk.command("settings", "")
    talk.end()
    later = begin()
    assert later.project.enabled
    assert "is off" in later.command("settings", "project-memory off")
    later.end()
    assert not begin().project.enabled


def test_guests_have_no_settings(begin):
    assert begin(use_memory=False).command("settings", "") == GUEST
