"""The scorer of what is learned: what counts as right, and which half is for testing."""

from __future__ import annotations

import json
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from holdfast.benchmark import Asked, Pool
from holdfast.extraction.candidate import Candidate
from holdfast.types import Memory, Scope

BENCH = Path(__file__).parent.parent / "bench"
sys.path.append(str(BENCH))  # behind everything else: nothing of ours may hide another's module

import chats  # noqa: E402
import fact_labels  # noqa: E402
import instructions  # noqa: E402
import learned_recall  # noqa: E402
import learning  # noqa: E402
import report_page  # noqa: E402
import titles  # noqa: E402
import updates  # noqa: E402


def labelled(name, turns, facts):
    talk = fact_labels.Conversation(
        name, fact_labels.UNDATED, {str(at): fact_labels.Said("", one) for at, one in turns.items()}
    )
    return fact_labels.Labelled("assistant", "en", talk, facts)


def test_right_found_and_missed_are_counted(monkeypatch):
    said = {
        0: "I have a cat called Luna. It was so nice to meet her at the shelter in Leeds.",
        1: "Nothing else happened, thanks.",
    }
    facts = {
        "0": [
            {"quote": "a cat called Luna", "kind": "fact", "weight": 2},
            {"quote": "at the shelter in Leeds", "kind": "event", "weight": 1},
        ],
        "1": [],
    }
    source = "one/0"
    found = [
        Candidate("The user has a cat called Luna", "I have a cat called Luna", source),
        Candidate("It was so nice to meet her", "It was so nice to meet her", source),
        Candidate("The user said nothing else", "Nothing else happened", "one/1"),
    ]
    monkeypatch.setattr(learning, "learned", lambda talk: found)
    score = learning.score([labelled("one", said, facts)])["assistant"].figures()
    assert (score["stored"], score["precision"], score["facts"]) == (3, 0.333, 2)
    assert (score["unresolved"], score["wrong"], score["unjudged"]) == (0.333, 0.333, 3)
    assert score["recall"] == {"all": 0.5, "event": 0.0, "fact": 1.0, "must": 1.0}


def test_a_label_says_what_a_stored_statement_is_worth(monkeypatch):
    said = {0: "I like long walks. I sold the car that Ines gave me."}
    facts = {"0": [{"quote": "I sold the car", "kind": "event", "weight": 2}]}
    found = [
        Candidate("The user likes long walks", "I like long walks", "one/0"),
        Candidate("The user sold the car", "I sold the car that Ines gave me", "one/0"),
    ]
    labels = [
        fact_labels.StatementLabel("0", "", fact_labels.statement_key(found[0].content), "trivial"),
        fact_labels.StatementLabel("0", found[1].quote, "told in other words", "wrong"),
    ]
    monkeypatch.setattr(learning, "learned", lambda talk: found)
    monkeypatch.setattr(learning, "statement_labels", lambda each: labels)
    score = learning.score([labelled("one", said, facts)])["assistant"].figures()
    assert (score["precision"], score["trivial"], score["wrong"]) == (0.5, 0.5, 0.5)
    # What was told wrongly is not found, whatever words it has.
    assert score["recall"]["all"] == 0.0 and score["unjudged"] == 0


def test_data_is_found_in_any_folder_and_what_is_missing_is_named(tmp_path, capsys):
    where = fact_labels.LONGMEMEVAL, fact_labels.LOCOMO
    for folder in (tmp_path / "flat", tmp_path / "sets" / "deep", tmp_path / "none"):
        folder.mkdir(parents=True)
    (tmp_path / "flat" / where[1]).write_text("[]")
    (tmp_path / "sets" / "deep" / where[0]).write_text("[]")
    assert fact_labels.missing(tmp_path / "flat") == [where[0]]
    assert fact_labels.missing(tmp_path / "sets") == [where[1]]
    assert fact_labels.missing(tmp_path) == []
    labelled = fact_labels.read(tmp_path / "none")
    assert {one.source for one in labelled} == {"languages"}
    told = capsys.readouterr().err
    assert where[0] in told and where[1] in told


def sheet(path, rows):
    """A spreadsheet as LUFY has them."""
    shared = sorted({text for row in rows for text in row})
    cells = "".join(
        "<row>"
        + "".join(
            f'<c r="{letter}1" t="s"><v>{shared.index(text)}</v></c>'
            for letter, text in zip("ABC", row, strict=True)
        )
        + "</row>"
        for row in rows
    )
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    texts = "".join(f"<si><t>{text}</t></si>" for text in shared)
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("xl/sharedStrings.xml", f"<sst {space}>{texts}</sst>")
        file.writestr("xl/worksheets/sheet1.xml", f"<worksheet {space}>{cells}</worksheet>")


def test_chats_are_read_as_they_were_published(tmp_path, monkeypatch):
    rows = [
        ("important?", "speaker", "utterance"),
        ("", "Luke", "How are you?"),
        ("", "", ""),
        ("1", "Ava", "I study law."),
    ]
    sheet(tmp_path / "LUFY" / "LUFY" / "Ava" / "Session2" / "Annotator0.xlsx", rows)
    (tmp_path / chats.PERSONA_CHATS).write_text(
        "Best Generated Conversation\n"
        '"User 1: Hello!\nUser 2: I am a nurse."\n'
        '"User 1: I am [user 1 name].\nUser 2: Nice."\n'
    )
    row = {"language": "en", "at": [0, 11], "statement": "", "label": "useful"}
    labels = {"lufy-lufy-ava-2": [row | {"turn": "lufy-lufy-ava-2#1"}], "spc-0": []}
    monkeypatch.setattr(fact_labels, "_rows_of", lambda name: labels)
    first, second = fact_labels.read_chats(tmp_path)
    assert [one.text for one in first.talk.turns.values()] == ["How are you?", "I study law."]
    assert first.talk.turns["1"].speaker == "Ava"
    assert fact_labels.statement_labels(first)[0].words == "I study law"
    assert {one.speaker for one in second.talk.turns.values()} <= set(chats.NAMES)
    # All sessions of one person are in the same part.
    assert chats.person_of("lufy-naive-rag-ava-4") == chats.person_of("lufy-lufy-ava-2") == "ava"


@pytest.mark.parametrize(
    ("content", "alone"),
    [
        ("The user adopted a dog, and it sleeps all day", True),
        ("The user likes it", False),
        ("She moved to Leeds", False),
        ("Moved to Leeds", False),
    ],
)
def test_a_fact_has_to_stand_alone(content, alone):
    assert learning.stands_alone(Candidate(content, content), "", "en") is alone


@pytest.mark.parametrize(
    ("quote", "cut"),
    [
        ("I'm creating a safe", True),
        ("I'm creating a safe, inviting place", True),
        ("I'm creating a safe, inviting place for my kids", False),
    ],
)
def test_a_quote_that_ends_within_its_sentence_was_cut_off(quote, cut):
    turn = "I'm creating a safe, inviting place for my kids and it is fun."
    assert learning.cut_off(Candidate(quote, quote), turn) is cut


def test_each_conversation_is_in_one_half():
    halves = [labelled(f"answer_{number}", {0: "Hi"}, {"0": []}).held_out for number in range(200)]
    assert 70 < sum(halves) < 130


@pytest.mark.skipif(not fact_labels.LABELS.is_dir(), reason="the labels are not in an sdist")
def test_our_own_conversations_are_read_with_their_speakers(tmp_path):
    found = fact_labels.read(tmp_path)
    assert {each.source for each in found} == {"languages"}
    assert {each.talk.name for each in found if each.held_out} == fact_labels.HELD_OUT
    for each in found:
        for turn, facts in each.facts.items():
            text = " ".join(each.talk.turns[turn].text.split())
            assert all(" ".join(fact["quote"].split()) in text for fact in facts)


def test_a_fact_counts_as_the_turn_it_was_found_in_and_a_summary_as_none():
    turn, fact, summary = (
        fact_labels.Conversation("c", 0, {"0": fact_labels.Said("", text)})
        .memories()[0]
        .with_(id=id_)
        for id_, text in (
            ("ep_1", "I moved to Porto."),
            ("fact_1", "Moved to Porto"),
            ("ep_2", "x"),
        )
    )
    asked = Asked("1", "Where?", 0, "single-hop", frozenset(("D1:1",)))
    figures = learned_recall.Figures()
    of = {"ep_1": frozenset(("D1:1",)), "fact_1": frozenset(("D1:1",))}
    figures.add(asked, [summary, fact], [summary, turn], of)
    figures.add(asked, [summary], [summary], of)
    assert figures.report()["R@5"] == 0.5
    assert 0 < figures.report()["share of relevant tokens"] < 1


def test_messages_of_a_plan_s_instructions_are_told_from_others(tmp_path):
    chat = tmp_path / "chats" / "100K" / "7"
    chat.mkdir(parents=True)
    chat.joinpath("plan_new.txt").write_text("• **User Instruction:** Always cite a source.\n")
    said = ["Hello, I need a plan. ->-> 1,1", "Always cite a source. ->-> 1,2"]
    batch = {"messages": [{"role": "user", "content": one} for one in said]}
    chat.joinpath("user_messages.json").write_text(json.dumps([batch]))
    [found] = instructions.chats(tmp_path)
    assert (found.name, found.instructions) == ("100K/7", {"1"})
    assert found.talk.turns["1"].text == "Always cite a source."
    [rule] = instructions.rules(found.talk.memories())
    assert (rule.candidate.quote, rule.verdict.action) == ("Always cite a source", "propose")


def test_a_label_decides_whether_a_fact_can_be_understood_alone(monkeypatch):
    facts = {"0": [{"quote": "two, at most three", "kind": "fact", "weight": 2}]}
    found = [Candidate("The user takes two, at most three", "two, at most three", "one/0")]
    monkeypatch.setattr(learning, "learned", lambda talk: found)
    talk = [labelled("one", {0: "I take two, at most three."}, facts)]
    assert learning.score(talk)["assistant"].verdicts == {"useful": 1}
    row = {"turn": "one#0", "quote": "two, at most three", "alone": False}
    rows = {"alone.jsonl": {"one": [row]}, "stored.jsonl": {}}
    monkeypatch.setattr(fact_labels, "_rows_of", rows.__getitem__)
    assert learning.score(talk)["assistant"].verdicts == {"unresolved": 1}


def test_somebody_else_who_is_named_is_a_subject():
    for content, alone in (("Ines works as a nurse in Porto", True), ("Moved boxes home", False)):
        assert learning.stands_alone(Candidate(content, content), "", "en") is alone


@pytest.mark.parametrize(
    ("title", "nothing"),
    [("Woohoo Melanie", True), ("A lot's happened", True), ("Melanie opens a studio", False)],
)
def test_a_title_of_greetings_and_cheers_names_nothing(title, nothing):
    assert titles.names_nothing(title, ["Melanie"]) is nothing


def test_the_report_tells_what_is_learned():
    score = learning.Score(Counter(useful=2, trivial=1, unresolved=1))
    score.labelled["all"] = score.labelled["must"] = 5
    score.found["all"] = score.found["must"] = 2
    noted = {"observations": 10, "recall": 0.4, "stored": 20, "from_a_cited_turn": 0.9}
    parts = {
        "learning": {"figures": {"people": score.figures()}},
        "observations": {"figures": noted},
    }
    page = report_page._learning(parts)
    assert "| 4 | 0.750 | 0.500 | 0.250 | 0.250 | 0.000 | 0.000 | 5 | 0.400 |" in page
    assert "0.900 come from a turn that a note cites" in page
    assert report_page._learning({}) == ""


def fact(text, status="active", author="Ann"):
    return Memory(
        id=text,
        scope=Scope("user", "ann"),
        kind="fact",
        content=text,
        status=status,
        author=author,
        created_at=0,
        updated_at=0,
        event_time=0,
    )


def test_a_change_is_told_by_the_words_of_both_values(monkeypatch):
    facts = [
        fact("Ann has read 12 books", "superseded"),
        fact("Ann has read 15 books, before that 12"),
        fact("Ann has 12 hens", "superseded"),
        fact("Ben has read 12 books", author="Ben"),
    ]
    row = {"conversation": "one", "kind": "count", "becomes": "replaced", "what": "books read"}
    label = updates.Update.of(row | {"old": ["12", "books"], "new": ["15"], "speaker": "Ann"})
    monkeypatch.setattr(updates, "learned", lambda pool: facts)
    figures = updates.measured([Pool("one", [], [])], [label])
    counts = figures["counts"]
    assert (counts["replaced: old stored"], counts["replaced: old gone"]) == (1, 1)
    assert counts["replaced: new active"] == 1
    assert "12 books" in figures["superseded as labelled"][0]
    assert "12 hens" in figures["superseded without a label"][0]


def test_labelled_changes_name_their_turns_and_both_halves_have_some():
    labels = list(updates.updates())
    assert {updates.half_of(one.conversation) for one in labels} == set(updates.HALVES)
    assert all(one.old and one.new and one.what for one in labels)
    assert {one.becomes for one in labels} == {"replaced", "fulfilled", "stays", "either"}
