"""Turns that say the same at the same time: none is lost, none is stored twice, whatever tool wrote
the transcript.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import Holdfast
from holdfast.errors import StoreClosed
from holdfast.extraction.runner import turns_of
from holdfast.ingest.documents import Indexer, Source
from holdfast.ingest.documents.upsert import fixed_id
from holdfast.storage.store_types import Author
from holdfast.text.reference import read_in
from holdfast.transcripts import reader_for
from holdfast.types import Scope, new_id

SCOPE = Scope("project", "repeats")
TIMES = ("2026-03-01T10:00:00.000Z", "2026-03-01T10:00:05.000Z")

Turn = tuple[str, str, int]
"""Who speaks, the words, and which of the two times."""


# What each tool writes


def lines(path: Path, *records: dict) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def claude_record(number: int, turn: Turn, parent: str | None, session: str = "s") -> dict:
    role, words, at = turn
    return {
        "type": role,
        "uuid": f"u{number}",
        "parentUuid": parent,
        "sessionId": session,
        "cwd": "/p",
        "timestamp": TIMES[at],
        "message": {"role": role, "content": [{"type": "text", "text": words}]},
    }


def claude_code(folder: Path, turns: list[Turn]) -> Path:
    records = [claude_record(n, turn, f"u{n - 1}" if n else None) for n, turn in enumerate(turns)]
    return lines(folder / "s.jsonl", *records)


def codex(folder: Path, turns: list[Turn]) -> Path:
    kinds = {"user": "input_text", "assistant": "output_text"}
    said = [
        {
            "timestamp": TIMES[at],
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": role,
                "content": [{"type": kinds[role], "text": words}],
            },
        }
        for role, words, at in turns
    ]
    meta = {
        "timestamp": TIMES[0],
        "type": "session_meta",
        "payload": {"id": "s", "cwd": "/p", "timestamp": TIMES[0]},
    }
    return lines(folder / "rollout-s.jsonl", meta, *said)


def pi(folder: Path, turns: list[Turn]) -> Path:
    said = [
        {
            "type": "message",
            "id": f"m{number}",
            "parentId": f"m{number - 1}" if number else None,
            "timestamp": TIMES[at],
            "message": {"role": role, "content": [{"type": "text", "text": words}]},
        }
        for number, (role, words, at) in enumerate(turns)
    ]
    return lines(
        folder / "s.jsonl",
        {"type": "session", "id": "s", "cwd": "/p", "timestamp": TIMES[0]},
        *said,
    )


def gemini(folder: Path, turns: list[Turn]) -> Path:
    said = [
        {
            "id": f"m{number}",
            "type": "user" if role == "user" else "gemini",
            "timestamp": TIMES[at],
            "content": words,
        }
        for number, (role, words, at) in enumerate(turns)
    ]
    return lines(
        folder / "session-s.jsonl",
        {"sessionId": "s", "projectHash": "h", "startTime": TIMES[0]},
        *said,
    )


def opencode(folder: Path, turns: list[Turn]) -> Path:
    for number, (role, words, at) in enumerate(turns):
        created = 1_772_359_200_000 + at
        lines(
            folder / "message" / "ses_1" / f"msg_{number:03}.json",
            {"role": role, "time": {"created": created}},
        )
        lines(folder / "part" / f"msg_{number:03}" / "prt_0.json", {"type": "text", "text": words})
    info = {
        "id": "ses_1",
        "directory": "/p",
        "time": {"created": 1_772_359_200_000, "updated": len(turns)},
    }
    return lines(folder / "session" / "p" / "ses_1.json", info)


def cursor(folder: Path, turns: list[Turn]) -> Path:
    """Two turns of one speaker are parts of one line, which is all that tells them apart."""
    said: list[dict] = []
    for role, words, _ in turns:
        part = {"type": "text", "text": words}
        if role == "assistant" and said and said[-1]["role"] == role:
            said[-1]["message"]["content"].append(part)
        else:
            said.append({"role": role, "message": {"content": [part]}})
    return lines(folder / "agent-transcripts" / "s" / "s.jsonl", *said)


def aider(folder: Path, turns: list[Turn]) -> Path:
    said = [
        f"{'#### ' if role == 'user' else ''}{words}\n> Tokens: 1k sent.\n"
        for role, words, _ in turns
    ]
    path = folder / ".aider.chat.history.md"
    path.write_text("# aider chat started at 2026-03-01 10:00:00\n\n" + "\n".join(said), "utf-8")
    return path


def chatgpt(folder: Path, turns: list[Turn]) -> Path:
    nodes = {
        f"n{number}": {
            "parent": f"n{number - 1}" if number else None,
            "message": {
                "author": {"role": role},
                "create_time": 1_772_359_200 + at,
                "content": {"parts": [words]},
            },
        }
        for number, (role, words, at) in enumerate(turns)
    }
    chat = {
        "id": "c1",
        "create_time": 1_772_359_200,
        "mapping": nodes,
        "current_node": f"n{len(turns) - 1}",
    }
    return lines(folder / "conversations.json", chat)


def claude_ai(folder: Path, turns: list[Turn]) -> Path:
    said = [
        {
            "uuid": f"m{number}",
            "sender": "human" if role == "user" else role,
            "created_at": TIMES[at],
            "text": words,
        }
        for number, (role, words, at) in enumerate(turns)
    ]
    return lines(
        folder / "conversations.json", {"uuid": "c1", "created_at": TIMES[0], "chat_messages": said}
    )


def anybody(folder: Path, turns: list[Turn]) -> Path:
    said = [{"role": role, "content": words, "timestamp": TIMES[at]} for role, words, at in turns]
    return lines(folder / "talk.jsonl", *said)


WRITERS = {
    "claude-code": claude_code,
    "codex": codex,
    "pi": pi,
    "gemini-cli": gemini,
    "opencode": opencode,
    "cursor": cursor,
    "aider": aider,
    "chatgpt": chatgpt,
    "claude.ai": claude_ai,
    "transcript": anybody,
}

turns_of_a_session = st.lists(
    st.tuples(
        st.sampled_from(("user", "assistant")),
        st.sampled_from(("try again", "yes")),
        st.sampled_from((0, 1)),
    ),
    min_size=1,
    max_size=8,
)


class Shelf:
    """A store, and files taken in by their names."""

    def __init__(self, place: Path | str, clock: Callable[[], int]) -> None:
        self.clock = clock
        store = place / "memory.db" if isinstance(place, Path) else place
        self.hf = Holdfast.open(store, scope=str(SCOPE), background=False, clock=clock)

    def take(self, *files: Path, max_bytes: int = 100_000):
        author = Author("test", new_id("run", self.clock()), self.clock(), "import")
        indexer = Indexer(self.hf.store, SCOPE, author, max_bytes=max_bytes)
        for file in files:
            indexer.index(Source(file, str(file), named=True))
        return indexer.done

    def turns(self, **narrow) -> list:
        return self.hf.list(limit=None, kinds=("turn",), **narrow)

    def said(self) -> Counter:
        return Counter((turn.role, turn.content) for turn in self.turns())

    def ids(self) -> set[str]:
        return {turn.id for turn in self.turns()}


@pytest.fixture
def shelf(tmp_path, clock):
    made: list[Shelf] = []

    def make(name: str = "one") -> Shelf:
        folder = tmp_path / name
        folder.mkdir()
        made.append(Shelf(folder, clock))
        return made[-1]

    yield make
    for one in made:
        one.hf.close()


def given_words(turns: list[Turn]) -> Counter:
    return Counter((role, words) for role, words, _ in turns)


@pytest.mark.parametrize("agent", WRITERS)
@settings(max_examples=12, deadline=None)
@given(turns=turns_of_a_session, cut=st.integers(0, 8))
def test_any_turns_are_imported_without_loss_and_twice_equals_once(agent, turns, cut):
    """Also when the file was imported before it had grown to what it is now."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        grown, whole = (Shelf(_made(folder / one), iter_clock()) for one in ("grown", "whole"))
        if 0 < cut < len(turns):
            grown.take(WRITERS[agent](folder, turns[:cut]))
        file = WRITERS[agent](folder, turns)
        assert reader_for(file).name == agent
        assert not grown.take(file).failed
        assert grown.said() == given_words(turns)
        whole.take(file)
        assert whole.ids() == grown.ids()
        before = {turn.id: turn for turn in whole.turns()}
        again = whole.take(_touched(file))
        assert (again.chunks, again.removed) == (0, 0)
        assert {turn.id: turn for turn in whole.turns()} == before
        for shelf in (grown, whole):
            shelf.hf.close()


def iter_clock() -> Callable[[], int]:
    """A clock that goes on by a second whenever it is asked."""
    moments = iter(range(1_780_000_000_000_000, 1_790_000_000_000_000, 1_000_000))
    return lambda: next(moments)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _touched(file: Path) -> Path:
    file.write_bytes(file.read_bytes() + b"\n")
    return file


# Ids


def test_the_first_of_equal_turns_has_the_id_that_version_0_1_0_gave_it(shelf, tmp_path):
    shop = shelf()
    file = claude_code(tmp_path, [("user", "try again", 0)] * 3)
    entry = next(next(reader_for(file).read(file)).entries)
    shop.take(file)
    ids = [turn.id for turn in shop.turns()][::-1]
    assert ids[0] == fixed_id("turn", entry.hash, 0)
    assert len(set(ids)) == 3


def test_a_store_of_version_0_1_0_gets_what_it_lacks_and_nothing_twice(shelf, tmp_path, clock):
    """It knew the file by its hash alone, and had stored one of two equal turns."""
    shop = shelf()
    file = claude_code(tmp_path, [("user", "try again", 0)] * 2)
    shop.take(file)
    first, second = shop.turns()[::-1]
    (known,) = shop.hf.store.files.list(SCOPE, "sources")

    def as_it_was(tx):
        tx.remove(tx.memory(SCOPE, second.id))
        tx.files.put(SCOPE, [known._replace(hash=known.hash.removeprefix("2:"))])

    shop.hf.store.write(Author("test", new_id("run", clock()), clock(), "test"), as_it_was)
    assert [turn.id for turn in shop.turns()] == [first.id]
    shop.hf.projects.import_sessions(file, into=str(SCOPE))
    assert shop.ids() == {first.id, second.id}


def test_two_sessions_of_aider_that_start_in_one_second_are_two(shelf, tmp_path):
    shop = shelf()
    file = tmp_path / ".aider.chat.history.md"
    start = "# aider chat started at 2026-03-01 10:00:00\n\n#### fix the lint\n\nDone.\n\n"
    file.write_text(start * 3, "utf-8")
    done = shop.take(file)
    assert len(done.sessions) == 3
    assert shop.said() == {("user", "fix the lint"): 3, ("assistant", "Done."): 3}
    before = shop.ids()
    assert shop.take(_touched(file)).chunks == 0
    assert shop.ids() == before


def test_two_histories_of_aider_in_one_project_that_start_in_one_second_are_two(shelf, tmp_path):
    shop = shelf()
    files = [aider(_made(tmp_path / name), [("user", "try again", 0)]) for name in ("web", "api")]
    shop.take(*files)
    assert shop.said() == {("user", "try again"): 2}


def test_two_chats_of_claude_with_equal_messages_at_one_time_are_two(shelf, tmp_path):
    shop = shelf()
    messages = [{"uuid": "m1", "sender": "human", "created_at": TIMES[0], "text": "try again"}]
    chats = [
        {"uuid": name, "created_at": TIMES[0], "chat_messages": messages} for name in ("c1", "c2")
    ]
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps(chats), "utf-8")
    shop.take(file)
    assert shop.said() == {("user", "try again"): 2}
    assert sorted(one.id for one in shop.hf.sessions.list()) == ["c1", "c2"]


# Forks


def fork(path: Path, records: list[dict]) -> Path:
    return lines(path, *({**record, "sessionId": path.stem} for record in records))


BEGUN = [
    claude_record(0, ("user", "We ship on Mondays.", 0), None),
    claude_record(1, ("user", "try again", 0), "u0"),
    claude_record(2, ("user", "try again", 0), "u1"),
]
LEFT = [*BEGUN, claude_record(3, ("user", "Paint it red.", 1), "u2")]
RIGHT = [*LEFT, claude_record(4, ("user", "Paint it blue.", 1), "u2")]


@pytest.mark.parametrize("first", ["left", "right"])
def test_what_a_fork_copies_is_stored_once_whichever_file_comes_first(shelf, tmp_path, first):
    shop = shelf()
    files = {
        "left": fork(tmp_path / "left.jsonl", LEFT),
        "right": fork(tmp_path / "right.jsonl", RIGHT),
    }
    order = sorted(files, key=lambda name: name != first)
    shop.take(*(files[name] for name in order))
    assert shop.said() == Counter(
        {
            ("user", words): count
            for words, count in (
                ("We ship on Mondays.", 1),
                ("try again", 2),
                ("Paint it red.", 1),
                ("Paint it blue.", 1),
            )
        }
    )


@pytest.mark.parametrize("first", ["left", "right"])
def test_what_is_a_branch_in_one_file_and_the_conversation_in_another_is_no_branch(
    shelf, tmp_path, first
):
    shop = shelf()
    files = {
        "left": fork(tmp_path / "left.jsonl", LEFT),
        "right": fork(tmp_path / "right.jsonl", RIGHT),
    }
    for name in sorted(files, key=lambda name: name != first):
        shop.take(files[name])
    red = next(turn for turn in shop.turns() if turn.content == "Paint it red.")
    assert (red.session, red.metadata.get("branch")) == ("left", None)


def test_a_branch_that_two_files_share_is_stored_once_and_marked(shelf, tmp_path):
    shop = shelf()
    more = [*RIGHT, claude_record(5, ("user", "Twice.", 1), "u4")]
    shop.take(fork(tmp_path / "right.jsonl", RIGHT), fork(tmp_path / "more.jsonl", more))
    marked = [turn.content for turn in shop.turns() if turn.metadata.get("branch")]
    assert marked == ["Paint it red."]


def test_a_reader_sees_that_a_turn_is_on_an_abandoned_branch(shelf, tmp_path):
    shop = shelf()
    file = fork(tmp_path / "right.jsonl", RIGHT)
    shop.take(file)
    hits = shop.hf.recall("Paint it red")
    red = next(hit.memory for hit in hits if hit.memory.content == "Paint it red.")
    assert read_in(red) == f"{file}:4, abandoned branch"
    assert "2026-03-01, abandoned branch) Paint it red." in shop.hf.context("Paint it red").turn
    blue = next(hit.memory for hit in hits if hit.memory.content == "Paint it blue.")
    assert read_in(blue) == f"{file}:5"


def test_nothing_is_learned_from_an_abandoned_branch(shelf, tmp_path):
    shop = shelf()
    shop.take(fork(tmp_path / "right.jsonl", RIGHT))
    session = shop.hf.store.sessions.get(SCOPE, "right")
    assert [turn.content for turn in turns_of(shop.hf.store, session)] == [
        "We ship on Mondays.",
        "try again",
        "try again",
        "Paint it blue.",
    ]


def test_a_conversation_that_goes_back_to_a_branch_marks_the_other(shelf, tmp_path):
    shop = shelf()
    file = fork(tmp_path / "s.jsonl", RIGHT)
    shop.take(file)
    fork(file, [*RIGHT, claude_record(6, ("user", "Red after all.", 1), "u3")])
    shop.take(file)
    assert [turn.content for turn in shop.turns() if turn.metadata.get("branch")] == [
        "Paint it blue."
    ]


# Sessions that fail

LONG = "This is far longer than anything that may be stored here. " * 15


def chats(folder: Path, *texts: str) -> Path:
    """An export of several conversations."""
    told = [
        {
            "uuid": f"c{number}",
            "created_at": TIMES[0],
            "chat_messages": [
                {"uuid": "m", "sender": "human", "created_at": TIMES[0], "text": f"{number} {text}"}
            ],
        }
        for number, text in enumerate(texts)
    ]
    path = folder / "conversations.json"
    path.write_text(json.dumps(told), "utf-8")
    return path


def test_a_session_that_cannot_be_stored_is_named_and_the_others_are_stored(shelf, tmp_path):
    shop, file = shelf(), chats(tmp_path, "one", LONG, "three")
    done = shop.take(file, max_bytes=500)
    assert shop.said() == {("user", "0 one"): 1, ("user", "2 three"): 1}
    assert [(failed.path, "session c1" in failed.reason) for failed in done.failed] == [
        (str(file), True)
    ]
    assert "limit" in done.failed[0].reason


def test_what_failed_is_tried_again_the_next_time(shelf, tmp_path):
    shop, file = shelf(), chats(tmp_path, "one", LONG, "three")
    shop.take(file, max_bytes=500)
    assert len(shop.take(file, max_bytes=500).failed) == 1
    done = shop.take(file)
    assert (done.failed, done.chunks) == ([], 1)
    assert len(shop.turns()) == 3
    assert shop.take(file).unchanged == 1


def test_what_the_database_refuses_fails_one_session_only(shelf, tmp_path):
    shop, file = shelf(), chats(tmp_path, "one", "poison", "three")
    with apsw.Connection(str(tmp_path / "one" / "memory.db")) as database:
        database.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON memories WHEN NEW.content LIKE '%poison%' "
            "BEGIN SELECT RAISE(ABORT, 'no poison here'); END"
        )
    done = shop.take(file)
    assert len(shop.turns()) == 2
    assert "no poison here" in done.failed[0].reason


def test_a_store_that_is_gone_is_told_at_once_and_not_for_each_session(shelf, tmp_path):
    shop, file = shelf(), chats(tmp_path, "one", "two")
    shop.hf.close()
    with pytest.raises(StoreClosed):
        shop.take(file)


# On a server


def test_on_a_server_repeats_forks_and_failures_are_as_in_a_file(
    shelf, tmp_path, clock, postgres_store_url
):
    files = [
        fork(tmp_path / "right.jsonl", RIGHT),
        fork(tmp_path / "left.jsonl", LEFT),
        chats(tmp_path, "one", LONG, "one"),
    ]
    here, there = shelf(), Shelf(postgres_store_url, clock)
    for shop in (here, there):
        done = shop.take(*files, max_bytes=500)
        assert [failed.path for failed in done.failed] == [str(files[2])]
        assert shop.take(*files[:2]).unchanged == 2
    told = [
        [(one.id, one.session, one.position, dict(one.metadata)) for one in shop.turns()]
        for shop in (here, there)
    ]
    there.hf.close()
    assert told[0] == told[1]
    assert len(told[0]) == 7


# Chats


def chat(id_: str, *words: str, origin: str = "") -> dict:
    """A chat in an export of ChatGPT: everything is said at the same second."""
    said = {"author": {"role": "user"}, "create_time": 1_748_768_400, "recipient": "all"}
    if origin:
        said["metadata"] = {"branching_from_conversation_id": origin}
    mapping = {
        str(number): {
            "parent": str(number - 1),
            "message": {**said, "content": {"content_type": "text", "parts": [text]}},
        }
        for number, text in enumerate(words)
    }
    return {"conversation_id": id_, "mapping": mapping, "current_node": str(len(words) - 1)}


def export(folder: Path, *chats: dict) -> Path:
    path = folder / "conversations.json"
    path.write_text(json.dumps(chats))
    return path


def test_two_chats_with_equal_words_at_equal_times_are_two(shelf, tmp_path):
    shop = shelf()
    file = export(tmp_path, chat("one", "Hello", "Bye"), chat("two", "Hello", "Bye"))
    for _ in range(2):
        shop.take(file)
        told = sorted((turn.session, turn.content) for turn in shop.turns())
        assert told == [(id_, text) for id_ in ("one", "two") for text in ("Bye", "Hello")]


@pytest.mark.parametrize("first", ["one", "two"])
def test_a_chat_that_was_branched_off_another_is_no_second_copy_of_it(shelf, tmp_path, first):
    """Exports begin with the latest chat, which is the branch."""
    shop = shelf()
    chats = [chat("one", "Hello", "Red."), chat("two", "Hello", "Blue.", origin="one")]
    shop.take(export(tmp_path, *sorted(chats, key=lambda one: one["conversation_id"] != first)))
    said = Counter({("user", text): 1 for text in ("Hello", "Red.", "Blue.")})
    assert shop.said() == said
