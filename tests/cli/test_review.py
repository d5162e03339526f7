"""`holdfast review`: in a real terminal, by ids, and as a sheet in an editor."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Holdfast
from holdfast.cli.commands.review import read_sheet, sheet
from holdfast.cli.word_diff import marked, word_diff
from holdfast.extraction.approval import Weighed
from holdfast.extraction.candidate import Candidate
from holdfast.extraction.reconcile import Add
from holdfast.types import Memory, Scope
from terminals import bare, editor


@pytest.fixture
def agent(tmp_path):
    with Holdfast.open(scope="user:ann", actor="agent:helper", background=False) as hf:
        yield hf


@pytest.fixture
def ann(tmp_path):
    with Holdfast.open(scope="user:ann", actor="cli:ann", background=False) as hf:
        yield hf


# One by one


def test_a_person_walks_through_them_in_a_terminal(agent, ann, tmp_path, terminal):
    known = ann.remember("Ann drinks green tea in the morning")
    tea = agent.correct(
        known.id,
        "Ann drinks black tea in the morning",
        reason="said it today",
        quote="black tea for me",
    )
    chess = agent.reviews.propose("Ann plays chess every day")
    wrong = agent.reviews.propose("Ann owns a zeppelin")
    later = agent.reviews.propose("Ann might move to Porto")
    write = editor(tmp_path, "text = text.replace('every day', 'on Sundays')")
    screen = terminal("review", EDITOR=write)
    shown = screen.hear("? help")
    assert "\x1b[32mblack" in shown, "the difference is coloured"
    for words in (
        "1 of 4",
        tea.id,
        "agent:helper",
        "said it today",
        "“black tea for me”",
        f"changes      {known.id}",
    ):
        assert words in bare(shown)
    screen.type("?")
    screen.hear("not proposed again in these words")
    screen.type("a")
    screen.hear("Approved as")
    screen.hear("2 of 4")
    screen.type("e")
    assert "Ann plays chess on Sundays" in bare(screen.hear("Approved as") + screen.hear("3 of 4"))
    screen.type("r")
    screen.hear("Why?")
    screen.type("she has none\n")
    screen.hear("Rejected.")
    screen.hear("4 of 4")
    screen.type("s")
    assert "1 memory waits for you" in bare(screen.hear("holdfast review"))
    assert screen.end() == 0
    assert [ann.get(one.id).status for one in (tea, chess, wrong, later)] == [
        "active",
        "superseded",
        "archived",
        "proposed",
    ]
    assert ann.get(wrong.id).status_reason == "rejected: she has none"


@pytest.mark.parametrize("key", ["q", "\x03", "\x04"])
def test_quitting_decides_nothing(agent, ann, key, terminal):
    tea, chess = agent.reviews.propose("Ann likes tea"), agent.reviews.propose("Ann plays chess")
    screen = terminal("review")
    screen.hear("? help")
    screen.type(key)
    screen.hear("Decided 0. 2 memories wait for you")
    assert screen.end() == 0
    assert ann.reviews.list() == [tea, chess]


def test_an_editor_that_changes_nothing_decides_nothing(agent, ann, terminal):
    agent.reviews.propose("Ann likes tea")
    screen = terminal("review", EDITOR="true")
    screen.hear("? help")
    screen.type("e")
    screen.hear("Nothing was changed.")
    screen.type("q")
    screen.hear("Decided 0")
    assert screen.end() == 0


def test_an_editor_that_fails_says_so(agent, ann, terminal):
    agent.reviews.propose("Ann likes tea")
    screen = terminal("review", EDITOR="/no/such/editor")
    screen.hear("? help")
    screen.type("e")
    screen.hear("Set $EDITOR")
    screen.type("q")
    assert screen.end() == 0


def test_without_colours_the_difference_is_marked(agent, ann, terminal):
    known = ann.remember("Ann drinks green tea in the morning")
    agent.correct(known.id, "Ann drinks black tea in the morning")
    screen = terminal("review", NO_COLOR="1")
    assert "[-green-]{+black+} tea" in bare(screen.hear("? help"))
    screen.type("q")
    assert screen.end() == 0


def test_a_proposal_that_changes_nothing_shows_no_difference(agent, ann, terminal, cli):
    known = ann.remember("Ann has a brother called Ben")
    agent.reviews.propose("Ann has a sister called Mia")
    (shown,) = json.loads(cli("review", "--json").out)
    assert (shown["outlook"], shown["changes"], shown["nearest"]["id"]) == ("add", None, known.id)
    screen = terminal("review", NO_COLOR="1")
    told = bare(screen.hear("? help"))
    assert f"similar      {known.id}, which stays" in told
    assert f"  {known.content}" in told
    assert "[-" not in told and "{+" not in told
    screen.type("q")
    assert screen.end() == 0


def test_a_proposal_cannot_steer_the_terminal(agent, ann, terminal):
    agent.reviews.propose("Ann\x1b]0;owned\x07 likes tea", reason="\x1b[2Jclear")
    screen = terminal("review")
    shown = screen.hear("? help")
    assert "\x1b]0;" not in shown
    assert "\x1b[2J" not in shown
    screen.type("q")
    assert screen.end() == 0


# By ids


def test_the_list_says_who_when_and_why(agent, cli):
    tea = agent.reviews.propose("Ann likes tea", reason="said so")
    assert all(
        word in cli("review", "--list").out
        for word in (tea.id, "agent:helper", "Ann likes tea", "said so")
    )
    (shown,) = json.loads(cli("review", "--json").out)
    assert (shown["id"], shown["outlook"], shown["changes"], shown["nearest"]) == (
        tea.id,
        "add",
        None,
        None,
    )


def test_nobody_can_be_asked_in_a_pipe(agent, cli):
    assert cli("review").out == "Nothing waits for you.\n"
    agent.reviews.propose("Ann likes tea")
    done = cli("review")
    assert (done.code, "review approve ID" in done.err) == (2, True)


def test_approving_and_rejecting_by_ids(agent, ann, cli):
    tea, chess, zeppelin = (
        agent.reviews.propose(f"Ann likes {what}") for what in ("tea", "chess", "zeppelins")
    )
    assert (
        cli("review", "approve", tea.id, chess.seq).out.count("Undo with: holdfast undo run_") == 2
    )
    assert cli("review", "reject", zeppelin.id, "--reason", "she does not").code == 0
    assert [ann.get(one.id).status for one in (tea, chess, zeppelin)] == [
        "active",
        "active",
        "archived",
    ]
    assert (
        cli("review", "approve", tea.id).err
        == f"Error: {tea.id} does not wait for a decision: it is active.\n"
    )


def test_one_that_does_not_wait_stops_all(agent, ann, cli):
    tea, known = agent.reviews.propose("Ann likes tea"), ann.remember("Ann plays chess")
    assert cli("review", "approve", tea.id, known.id).code == 1
    assert ann.reviews.list() == [tea]


def test_approving_in_other_words(agent, ann, cli):
    tea = agent.reviews.propose("Ann hates coffee")
    assert json.loads(
        cli("review", "approve", tea.id, "--text", "Ann avoids coffee", "--json").out
    )["content"] == ("Ann avoids coffee")
    assert cli("review", "approve", tea.id, tea.id, "--text", "x").code == 2


def test_stats_mention_what_waits(agent, cli):
    assert "holdfast review" not in cli("stats").out
    agent.reviews.propose("Ann likes tea")
    agent.reviews.propose("Ann plays chess")
    assert "2 memories wait for you: holdfast review\n" in cli("stats").out


# All at once


def test_the_batch_in_an_editor(agent, ann, cli, monkeypatch, tmp_path):
    tea, chess, zeppelin, later = (
        agent.reviews.propose(f"Ann likes {what}")
        for what in ("tea", "chess", "zeppelins", "Porto")
    )
    code = f"""
text = text.replace('[keep] {tea.id}', '[approve] {tea.id}').replace('likes tea', 'likes green tea')
text = text.replace('[keep] {chess.id}', '[approve] {chess.id}')
text = text.replace('[keep] {zeppelin.id}', '[reject] {zeppelin.id}')
text = text[:text.index('[keep] {later.id}')]
"""
    monkeypatch.setenv("VISUAL", editor(tmp_path, code))
    done = cli("review", "edit-all")
    assert (done.code, "1 memory waits for you" in done.out) == (0, True)
    assert sorted(one.content for one in ann.list()) == ["Ann likes chess", "Ann likes green tea"]
    assert [ann.get(one.id).status for one in (tea, chess, zeppelin, later)] == [
        "superseded",
        "active",
        "archived",
        "proposed",
    ]


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("text = text.replace('[keep]', '[aprove]')", "'aprove' is none of"),
        ("text = text.replace('[keep] ', '[approve] x')", "does not wait"),
        ("text = text.replace('[keep]', '[approve]').replace('Ann likes tea', '')", "no text left"),
        ("sys.exit(3)", "code 3"),
    ],
)
def test_a_sheet_that_cannot_be_understood_decides_nothing(
    agent, ann, cli, monkeypatch, tmp_path, code, complaint
):
    agent.reviews.propose("Ann plays chess")
    agent.reviews.propose("Ann likes tea")
    monkeypatch.setenv("EDITOR", editor(tmp_path, code))
    done = cli("review", "edit-all")
    assert (done.code, complaint in done.err, "Nothing was decided" in done.err) == (2, True, True)
    assert len(ann.reviews.list()) == 2


def test_the_file_in_the_editor_is_for_nobody_else_and_gone_afterwards(
    agent, cli, monkeypatch, tmp_path
):
    agent.reviews.propose("Ann likes tea")
    note = tmp_path / "note.txt"
    code = (
        f"pathlib.Path({str(note)!r}).write_text(f'{{sys.argv[1]}} {{f.stat().st_mode & 0o777:o}}')"
    )
    monkeypatch.setenv("EDITOR", editor(tmp_path, code))
    cli("review", "edit-all")
    name, mode = note.read_text().split()
    assert (mode, os.path.exists(name)) == ("600", False)  # noqa: PTH110


lines = st.one_of(
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20),
    st.sampled_from(
        [";; note", "[approve] fact_1", "\\[keep] fact_1", "\\\\;; x", "[reject] fact_2", "\\"]
    ),
)
texts = st.lists(lines, min_size=1, max_size=5).map("\n".join).map(str.strip).filter(bool)


@given(texts, texts)
def test_a_sheet_that_is_not_touched_gives_every_text_back(one, two):
    def proposal(number, content):
        return Memory(
            id=f"fact_{number}",
            scope=Scope("user", "ann"),
            kind="fact",
            content=content,
            created_at=0,
            updated_at=0,
            event_time=0,
            status="proposed",
            metadata={"proposed_by": "agent:x"},
        )

    new = Weighed(Add(Candidate("x", "x")), None)
    written = sheet([(proposal(1, one), new), (proposal(2, two), new)])
    assert read_sheet(written, {"fact_1", "fact_2"}) == [
        ("keep", "fact_1", one),
        ("keep", "fact_2", two),
    ]


# The difference


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_difference_holds_both_texts(old, new):
    parts = word_diff(old, new)
    assert "".join(text for what, text in parts if what != "new") == old
    assert "".join(text for what, text in parts if what != "gone") == new


def test_characters_are_words_where_there_are_no_spaces():
    assert marked(word_diff("我喜欢绿茶", "我喜欢红茶")) == "我喜欢[-绿-]{+红+}茶"


@pytest.mark.parametrize("command", ["approve", "reject"])
def test_several_decisions_are_one_json_document(agent, cli, command):
    ids = [agent.reviews.propose(text).id for text in ("Ann owns a boat", "Ann plays chess")]
    decided = json.loads(cli("review", command, *ids, "--json").out)
    assert len({one["run"] for one in decided}) == 2
    assert [one["content"] for one in decided] == ["Ann owns a boat", "Ann plays chess"]
