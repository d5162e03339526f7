"""Indexing: texts cut into chunks, tickets understood, files put whole in the place of what they
were.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput
from holdfast.ingest.documents import Indexer, Source
from holdfast.ingest.documents.chunking import HARDLY_MORE, SIZE, WHOLE_CODE, chunks
from holdfast.ingest.documents.indexer import MOST_TRANSCRIPT_BYTES
from holdfast.ingest.documents.tickets import markdown, tickets
from holdfast.records import source_indexing
from holdfast.records.roots import init_project
from holdfast.records.source_lists import sources_of
from holdfast.storage import Filter, open_store
from holdfast.storage.store_types import Author
from holdfast.text.fences import fence
from holdfast.types import STATUSES, Edge, new_id

WORDS = "The quick fix was to restart the queue. "


# Chunks


def test_a_chunk_carries_the_headings_it_stands_under():
    text = f"# Ship\n\n{WORDS * 10}\n\n## Steps\n\n{WORDS * 10}\n\n# Rollback\n\n{WORDS * 10}"
    found = chunks(text)
    assert [chunk.headings for chunk in found] == [("Ship",), ("Ship", "Steps"), ("Rollback",)]
    assert [chunk.lines for chunk in found] == [(1, 3), (5, 7), (9, 11)]
    assert found[1].text == f"## Steps\n\n{WORDS * 10}"


def test_sections_that_say_little_share_a_chunk():
    (only,) = chunks("# Tea\n\nGreen.\n\n# Coffee\n\nBlack.\n\n# Water\n\nStill.")
    assert only.lines == (1, 11)


def test_a_long_section_is_cut_between_paragraphs():
    paragraph = WORDS * 15
    found = chunks("\n\n".join([paragraph] * 6))
    assert [chunk.text.count(paragraph) for chunk in found] == [2, 2, 2]


def test_code_is_not_cut_though_it_is_long():
    code = "```python\n" + "value = 1\n\n" * 300 + "```"
    assert SIZE < len(code) < WHOLE_CODE
    assert code in [
        chunk.text for chunk in chunks(f"# How\n\n{WORDS * 30}\n\n{code}\n\n{WORDS * 30}")
    ]


def test_a_heading_in_code_is_code():
    (only,) = chunks(f"# Real\n\n{WORDS * 8}\n\n```sh\n# not a heading\nmake\n```")
    assert only.headings == ("Real",)


def test_one_endless_line_is_cut_behind_sentences():
    found = chunks("A sentence that ends here. " * 300)
    assert all(chunk.text.rstrip().endswith("here.") for chunk in found)
    assert max(len(chunk.text) for chunk in found) <= HARDLY_MORE


@given(st.text(alphabet="ab #`~\n.。", max_size=6000))
def test_no_word_is_lost_or_told_twice(text):
    found = chunks(text)
    assert "".join("".join(chunk.text.split()) for chunk in found) == "".join(text.split())
    assert all(chunk.text.strip() for chunk in found)
    ends = [line for chunk in found for line in chunk.lines]
    assert ends == sorted(ends)


def test_an_edit_changes_only_the_chunks_around_it():
    sections = [f"# Part {number}\n\n{WORDS * (20 + number)}" for number in range(8)]
    before = {chunk.text for chunk in chunks("\n\n".join(sections))}
    sections[3] += " One more thing."
    assert len(before - {chunk.text for chunk in chunks("\n\n".join(sections))}) == 1


# Tickets


def test_a_markdown_ticket_is_found_by_its_title_in_every_piece():
    top = (
        "---\nid: AIF-7\ntitle: Login fails on Safari\nstatus: Done\ntype: bug\nlabels: "
        "[web]\n---\n"
    )
    first, notes = markdown(f"{top}{WORDS * 10}\n\n## Notes\n\n{WORDS * 10}", name="7")
    assert (first.title, notes.title) == (
        "AIF-7 Login fails on Safari",
        "AIF-7 Login fails on Safari › Notes",
    )
    assert first.tags == ("status:done", "type:bug", "web")
    assert (first.category, first.lines, notes.lines) == ("ticket", (8, 8), (10, 12))


def test_a_heading_is_a_title_and_a_line_under_it_a_status():
    (piece,) = markdown("# Login fails\n\n**Status:** in progress\n\nOn Safari.", name="7")
    assert (piece.title, piece.tags, piece.category) == (
        "Login fails",
        ("status:in progress",),
        "ticket",
    )


def test_a_note_without_any_title_goes_by_the_name_of_its_file():
    (piece,) = markdown("We met on Monday.", name="2026-03-monday")
    assert (piece.title, piece.category, piece.tags) == ("2026-03-monday", "note", ())


@pytest.mark.parametrize("top", ["---\ntitle: [\n---\n", "---\n\n---\n", "---\njust words\n---\n"])
def test_what_only_looks_like_frontmatter_is_text(top):
    pieces = markdown(f"{top}The words.", name="note")
    assert "The words." in pieces[0].text


def test_json_tickets_have_sections_tags_and_lines():
    text = json.dumps(
        [
            {
                "title": "A",
                "description": "It breaks.",
                "notes": ["Try twice."],
                "status": "blocked",
                "priority": 1,
            },
            {
                "title": "B",
                "comments": [{"author": {"login": "ann"}, "body": "Me too."}],
                "updated_at": "2026-03-01",
            },
        ],
        indent=1,
    )
    a, b = tickets(text)
    assert a.text == "It breaks.\n\n## Notes\n\nTry twice."
    assert a.tags == ("status:blocked", "priority:1")
    assert (b.text, b.at) == ("## Comments\n\nann: Me too.", 1_772_323_200_000_000)
    lines = text.split("\n")
    assert ['"title": "A"' in line for line in lines[a.lines[0] - 1 : a.lines[1]]].count(True) == 1
    assert '"title": "B"' in "\n".join(lines[b.lines[0] - 1 : b.lines[1]])


def test_a_ticket_that_says_nothing_more_is_its_title():
    (piece,) = tickets('{"title": "Upgrade the database", "status": "backlog"}')
    assert piece.text == "Upgrade the database"


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "[1, null]",
        '"x"',
        '{"name": "pkg", "description": "d"}',
        '{"title":',
        "[" * 9999,
    ],
)
def test_other_json_is_no_ticket(text):
    with pytest.raises(InvalidInput, match="JSON"):
        tickets(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "title",
                        "description",
                        "notes",
                        "comments",
                        "status",
                        "labels",
                        "updated",
                        "id",
                        "author",
                    ]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    )
)
def test_no_json_is_too_odd(value):
    with suppress(InvalidInput):
        assert all(piece.text.strip() for piece in tickets(json.dumps(value)))


# Files


@pytest.fixture
def project(tmp_path):
    """A project and a store for it; `index()` follows the lists, or what is named."""
    return Project(tmp_path)


class Project:
    def __init__(self, tmp_path):
        self.folder = tmp_path / "project"
        self.folder.mkdir()
        self.place = init_project(self.folder)
        self.sources = sources_of(self.place, tmp_path / "data")
        self.outside = tmp_path / "transcripts"
        self.outside.mkdir()

    def holds(self, transcript):
        return source_indexing.was_held_in(self.place, transcript)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def index(self, store, clock, *paths, plan=False):
        author = Author("test", new_id("run", clock()), clock(), "index")
        indexer = Indexer(
            store, self.place.scope, author, max_bytes=100_000, belongs=self.holds, plan=plan
        )
        named = [Path(path) for path in paths] or None
        if named:
            self.sources.note(named)
        return source_indexing.follow(indexer, self.sources, named)


@pytest.fixture
def index(project, open_memory, clock):
    hf = open_memory(str(project.place.scope))

    def call(*paths, **options):
        clock.forward(minutes=1)
        return project.index(hf.store, clock, *paths, **options)

    call.hf = hf
    return call


def texts(hf, **narrow):
    return [one.content for one in hf.list(limit=None, **narrow)][::-1]


def line(number, text, *, role="user", session="s1", cwd="/", at=None):
    """A line of a transcript of Claude Code."""
    return (
        json.dumps(
            {
                "type": role,
                "uuid": f"{session}-{number}",
                "parentUuid": f"{session}-{number - 1}" if number else None,
                "sessionId": session,
                "cwd": str(cwd),
                "timestamp": at or f"2026-03-01T10:{number:02}:00.000Z",
                "message": {"role": role, "content": [{"type": "text", "text": text}]},
            }
        )
        + "\n"
    )


def test_a_changed_file_keeps_the_ids_and_links_of_what_is_the_same(project, index):
    parts = [f"# Part {number}\n\n{WORDS * 12}Number {number}." for number in range(4)]
    file = project.write("tickets/1.md", "\n\n".join(parts))
    index(file)
    hf = index.hf
    first, *_, last = hf.list(limit=None)[::-1]
    fact = hf.remember("Restart the queue")
    hf.admin.write(
        "link", lambda tx: tx.link(Edge(fact.scope, fact.id, last.id, "derived_from", 1))
    )
    hf.archive(first.id)
    parts[1] = (
        "# Part 1\n\nSomething else altogether, said in one line more than before.\n\nAnd here it "
        "is."
    ) * 4
    file.write_text("\n\n".join(parts))
    done = index()
    assert (done.files, done.chunks, done.removed, done.changes) == (
        1,
        1,
        1,
        {"tickets/1.md": "changed"},
    )
    assert hf.get(first.id).status == "archived"
    assert [edge.source for edge in hf.admin.links(last.id)] == [fact.id]
    assert hf.get(last.id).metadata["at"]["lines"] != last.metadata["at"]["lines"]
    now = {one.id: one for one in hf.list(kinds=["document"], limit=None, statuses=STATUSES)}
    assert sorted(now[id_].position for id_ in now) == [0, 1, 2, 3]


def test_a_new_title_reaches_every_piece_under_its_old_id(project, index):
    file = project.write("t.md", f"---\ntitle: Old name\nstatus: open\n---\n{WORDS * 5}")
    index(file)
    (before,) = index.hf.list()
    file.write_text(f"---\ntitle: New name\nstatus: done\n---\n{WORDS * 5}")
    done = index()
    (after,) = index.hf.list()
    assert (after.id, after.title, after.tags) == (before.id, "New name", ("status:done",))
    assert (done.chunks, done.removed) == (0, 0)
    assert index.hf.recall("New name")[0].memory.id == before.id
    assert index.hf.admin.check() == []


def test_a_file_that_looks_the_same_is_not_read(project, index):
    file = project.write("t.md", "Old words.")
    seen = file.stat().st_mtime_ns - 10**10
    os.utime(file, ns=(seen, seen))
    index(file)
    file.write_text("New words.")
    os.utime(file, ns=(seen, seen))
    assert (index().unchanged, texts(index.hf)) == (1, ["Old words."])
    os.utime(file, ns=(seen, seen + 1))
    assert (index().files, texts(index.hf)) == (1, ["New words."])


def test_a_file_that_was_only_touched_is_not_stored_again(project, index):
    file = project.write("t.md", "Words.")
    index(file)
    told = index.hf.admin.log(limit=None)
    os.utime(file, ns=(1, 1))
    assert (index().unchanged, index.hf.admin.log(limit=None)) == (1, told)


def test_the_same_words_twice_in_a_file_are_two_pieces(project, index):
    file = project.write("t.md", "\n\n".join([WORDS * 40, WORDS * 40]))
    index(file)
    assert len({one.id for one in index.hf.list()}) == 2
    assert index.hf.admin.check() == []


def test_ids_are_the_same_wherever_the_same_is_indexed(
    project, index, open_memory, clock, tmp_path
):
    project.write("a/t.md", f"# One\n\n{WORDS}")
    (project.outside / "s.jsonl").write_text(
        line(0, "Why pnpm?", cwd=project.folder) + line(1, "Because.", cwd=project.folder)
    )
    index(project.folder / "a", project.outside)
    other = open_memory(str(project.place.scope), path=tmp_path / "other.db")
    project.index(other.store, clock)
    assert {one.id for one in index.hf.list()} == {one.id for one in other.list()} and len(
        other.list()
    ) == 3


def test_sessions_of_other_projects_are_left_alone_unless_named(project, index, tmp_path):
    mine, other = project.outside / "mine.jsonl", project.outside / "other.jsonl"
    mine.write_text(line(0, "We use pnpm here.", cwd=project.folder / "src"))
    other.write_text(line(0, "We use yarn there.", session="s2", cwd=tmp_path / "elsewhere"))
    assert index(project.outside).changes == {str(mine): "new"}
    assert texts(index.hf) == ["We use pnpm here."]
    assert (index().unchanged, texts(index.hf)) == (2, ["We use pnpm here."])
    index(other)
    assert texts(index.hf) == ["We use pnpm here.", "We use yarn there."]


def test_a_session_in_a_project_inside_this_one_is_that_ones(project, index):
    nested = project.folder / "vendor" / "lib"
    nested.mkdir(parents=True)
    init_project(nested)
    (project.outside / "s.jsonl").write_text(line(0, "Inner words.", cwd=nested))
    index(project.outside)
    assert texts(index.hf) == []


def test_an_appended_transcript_adds_only_its_new_turns(project, index):
    file = project.outside / "s.jsonl"
    file.write_text(
        line(0, "Which package manager?", cwd=project.folder)
        + line(1, "Use pnpm.", role="assistant")
    )
    done = index(file)
    assert (done.chunks, done.sessions) == (2, ["s"])
    before = {one.id: one.seq for one in index.hf.list()}
    with file.open("a") as more:
        more.write(line(2, "Why not npm?"))
    done = index()
    assert (done.chunks, done.removed, done.sessions) == (1, 0, ["s"])
    turns = index.hf.list(limit=None)[::-1]
    assert [(one.role, one.position, one.content) for one in turns] == [
        ("user", 0, "Which package manager?"),
        ("assistant", 1, "Use pnpm."),
        ("user", 2, "Why not npm?"),
    ]
    assert before.items() <= {one.id: one.seq for one in turns}.items()
    assert [one.metadata["at"] for one in turns][-1] == {"path": str(file), "lines": [3, 3]}


def test_a_rewritten_transcript_takes_the_place_of_what_it_was(project, index):
    file = project.outside / "s.jsonl"
    file.write_text(line(0, "Which package manager?") + line(1, "Use npm.", role="assistant"))
    index(file)
    kept = index.hf.list()[-1].id
    file.write_text(
        line(0, "Which package manager?") + line(1, "Use pnpm, always.", role="assistant")
    )
    done = index()
    assert (done.chunks, done.removed) == (1, 1)
    assert texts(index.hf) == ["Which package manager?", "Use pnpm, always."]
    assert index.hf.list()[-1].id == kept


def test_turns_that_a_resumed_session_repeats_are_told_once(project, index):
    for session in ("s1", "s2"):
        text = line(0, "Which package manager?", session=session) + line(
            1, "Use pnpm.", role="assistant", session=session
        )
        (project.outside / f"{session}.jsonl").write_text(
            text + (line(2, "And why?", session=session) if session == "s2" else "")
        )
    index(project.outside / "s1.jsonl", project.outside / "s2.jsonl")
    assert texts(index.hf) == ["Which package manager?", "Use pnpm.", "And why?"]


def test_a_session_is_told_as_one_that_has_ended_and_needs_no_learning(project, index):
    file = project.outside / "s.jsonl"
    file.write_text(line(0, "I always want short answers.", cwd=project.folder))
    index(file)
    (session,) = index.hf.sessions.list()
    assert (session.id, session.agent, session.metadata["path"]) == ("s", "claude-code", str(file))
    assert session.metadata["cwd"] == str(project.folder)
    assert "title" not in session.metadata, "its first words are its first turn's"
    assert session.ended_at == session.started_at == session.last_activity
    assert index.hf.sessions.learn().new == 0


def test_a_session_has_the_title_that_its_tool_gave_it(project, index):
    summary = (
        json.dumps({"type": "summary", "summary": "Package managers compared", "leafUuid": "x"})
        + "\n"
    )
    (project.outside / "s.jsonl").write_text(summary + line(0, "Which package manager?"))
    index(project.outside / "s.jsonl")
    assert index.hf.sessions.list()[0].metadata["title"] == "Package managers compared"


def test_on_a_server_it_is_as_in_a_file(project, index, clock, postgres_store_url):
    note = project.write("t.md", f"# One\n\n{WORDS * 20}\n\n# Two\n\n{WORDS * 20}")
    (project.outside / "s.jsonl").write_text(
        line(0, "Which package manager?") + line(1, "Use pnpm.", role="assistant")
    )
    server = open_store(postgres_store_url, clock=clock)
    try:
        outcomes = []
        for text in (note.read_text(), f"# One\n\n{WORDS * 20}\n\n# Three\n\n{WORDS * 25}"):
            note.write_text(text)
            file = index(note, project.outside / "s.jsonl")
            assert project.index(server, clock, note, project.outside / "s.jsonl") == file
            outcomes.append((file.files, file.chunks, file.removed))
            where = Filter((project.place.scope,))
            assert [one.id for one in server.list(where)] == [
                one.id for one in index.hf.list(limit=None)
            ]
        assert outcomes == [(2, 4, 0), (1, 1, 1)]
        assert list(server.check()) == []
    finally:
        server.close()


def test_what_others_keep_with_a_session_stays_there(project, index):
    file = project.outside / "s.jsonl"
    file.write_text(line(0, "One."))
    index(file)
    (session,) = index.hf.sessions.list()
    marked = replace(session, metadata={**session.metadata, "extracted": 1})
    index.hf.admin.write("mark", lambda tx: tx.sessions.put(marked))
    with file.open("a") as more:
        more.write(line(1, "Two."))
    index()
    assert index.hf.sessions.list()[0].metadata["extracted"] == 1


def test_long_messages_become_turns_that_can_be_found(project, index):
    file = project.outside / "s.jsonl"
    file.write_text(line(0, "\n\n".join(f"{WORDS * 20}Paragraph {number}." for number in range(5))))
    index(file)
    turns = index.hf.list()[::-1]
    assert len(turns) > 2
    assert [turn.position for turn in turns] == list(range(len(turns)))
    assert max(len(turn.content) for turn in turns) <= HARDLY_MORE


def test_what_memory_injected_is_not_learned_again(project, index):
    injected = fence("- Use pnpm, not npm", block_id="b1", label="memory for this prompt")
    file = project.outside / "s.jsonl"
    file.write_text(line(0, f"{injected}\n\nAdd a dependency.") + line(1, injected))
    note = project.write("note.md", f"# Prompt\n\n{injected}\n\nThe end.")
    index(file, note)
    assert texts(index.hf) == ["Add a dependency.", "# Prompt\n\n\n\n\n\nThe end."]
    assert index.hf.list(kinds=["document"])[0].metadata["at"]["lines"] == [1, 7]


def test_secrets_are_redacted_also_where_a_cut_goes_through_them(project, index):
    body = "\n".join(
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj" for _ in range(60)
    )
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"
    note = project.write(
        "note.md", f"# Keys\n\n{WORDS * 30}\n\n{key}\n\nBehind it: password=hunter2hunter2"
    )
    (project.outside / "s.jsonl").write_text(line(0, f"{WORDS * 30}\n\n{key}\n\nThat was it."))
    done = index(note, project.outside / "s.jsonl")
    stored = "\n".join(texts(index.hf))
    assert "MIIEvQ" not in stored and "hunter2" not in stored and "[REDACTED:" in stored
    assert [warned.path for warned in done.warnings] == ["note.md"] * len(
        done.warnings
    ) and done.warnings
    last = index.hf.list(kinds=["document"])[0]
    assert last.metadata["at"]["lines"][1] == note.read_text().count("\n") + 1


def test_a_deleted_document_goes_and_a_deleted_transcript_of_a_tool_stays(project, index):
    note, inside = (
        project.write("note.md", "A note."),
        project.write("talks/s1.jsonl", line(0, "Inside.")),
    )
    outside = project.outside / "s2.jsonl"
    outside.write_text(line(0, "Outside.", session="s2"))
    index(note, inside, outside)
    fact = index.hf.remember("Learned inside", metadata={"session": "s1"})
    for file in (note, inside, outside):
        file.unlink()
    done = index()
    assert (done.files, done.removed) == (0, 2)
    assert sorted(texts(index.hf)) == ["Learned inside", "Outside."]
    assert {session.id for session in index.hf.sessions.list()} == {"s1", "s2"} and index.hf.get(
        fact.id
    )
    assert index().changes == {}


def test_a_transcript_that_comes_back_is_there_as_it_was(project, index):
    file = project.write(
        "talks/s1.jsonl", line(0, "Which one?") + line(1, "This one.", role="assistant")
    )
    index(file)
    before = index.hf.list()
    text = file.read_text()
    file.unlink()
    assert (index().removed, texts(index.hf)) == (2, [])
    file.write_text(text)
    assert index().chunks == 2
    assert [one.id for one in index.hf.list()] == [one.id for one in before]


def test_a_name_that_no_list_can_hold_is_told(project, index):
    try:
        (project.folder / os.fsdecode(b"caf\xe9.md")).write_text("Words.")
    except OSError:
        pytest.skip("this file system has UTF-8 names only")
    project.write("good.md", "Good words.")
    (warned,) = index(project.folder).warnings
    assert "not UTF-8" in warned.reason and texts(index.hf) == ["Good words."]


def test_what_is_taken_off_the_list_goes_whatever_it_is(project, index):
    outside = project.outside / "s.jsonl"
    outside.write_text(line(0, "Outside."))
    index(outside, project.write("note.md", "A note."))
    project.sources.elsewhere.write_text("# nothing\n")
    project.sources.inside.write_text("\n")
    assert index().removed == 2
    assert texts(index.hf) == []


def test_naming_one_folder_forgets_nothing_of_another(project, index):
    one, two = project.write("one/a.md", "First."), project.write("two/b.md", "Second.")
    index(one.parent, two.parent)
    one.unlink(), two.unlink()
    assert index(one.parent).changes == {"one/a.md": "gone"}
    assert texts(index.hf) == ["Second."]


def test_a_note_that_becomes_a_transcript_leaves_nothing_behind(project, index):
    file = project.write("talk.md", "Just some words.")
    index(file)
    file.write_text("**User:** Which one?\n\n**Assistant:** This one.\n")
    index()
    assert texts(index.hf) == ["Which one?", "This one."]
    file.write_text("Just some words.")
    index()
    assert texts(index.hf) == ["Just some words."]


def test_each_file_that_cannot_be_indexed_is_named_and_the_rest_is_done(project, index):
    folder = project.write("in/good.md", "Good words.").parent
    project.write("in/binary.md", b"\x00\x01" * 100)
    project.write("in/latin.txt", "caf\xe9".encode("latin-1"))
    project.write("in/config.json", '{"a": 1}')
    project.write("in/broken.json", '{"title": ')
    project.write("in/data.jsonl", '{"a": 1}\n')
    project.write("in/picture.png", b"\x89PNG")  # not looked at: nobody named it
    huge = project.write("in/huge.md", "x")
    os.truncate(huge, 6_000_000)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "dangling.md").symlink_to(folder / "nowhere.md")
    done = index(folder)
    assert texts(index.hf) == ["Good words."]
    reasons = {Path(warned.path).name: warned.reason for warned in done.warnings}
    assert set(reasons) == {
        "binary.md",
        "latin.txt",
        "config.json",
        "broken.json",
        "data.jsonl",
        "huge.md",
        "dangling.md",
    }
    assert re.search("binary", reasons["binary.md"]) and re.search("UTF-8", reasons["latin.txt"])
    assert re.search("neither a ticket", reasons["config.json"]) and re.search(
        "not valid", reasons["broken.json"]
    )
    assert re.search("no transcript", reasons["data.jsonl"]) and re.search(
        "too large", reasons["huge.md"]
    )


def test_a_file_that_was_named_is_warned_about_whatever_it_is(project, index):
    (warned,) = index(project.write("picture.png", b"\x89PNG")).warnings
    assert warned.path == "picture.png" and "no transcript" in warned.reason


def test_a_transcript_may_be_larger_than_memory_but_not_endless(project, index):
    file = project.outside / "s.jsonl"
    file.write_text(line(0, "Words."))
    os.truncate(file, MOST_TRANSCRIPT_BYTES + 1)
    (warned,) = index(file).failed
    assert "too large" in warned.reason


def test_a_plan_changes_nothing(project, index):
    file = project.write("t.md", WORDS)
    project.sources.note([file])
    done = index(plan=True)
    assert (done.files, done.changes) == (1, {"t.md": "new"})
    assert texts(index.hf) == [] and index.hf.store.files.list(project.place.scope, "sources") == []


# Lists


def test_lists_are_for_people_to_edit(project, index):
    (
        project.write("docs/a.md", "A."),
        project.write("docs/deep/b.md", "B."),
        project.write("docs/c.txt", "C."),
    )
    project.sources.inside.write_text(
        "# tickets\n\n  docs/**/*.md  \n#docs/c.txt\nno/such/file.md\n**broken\n"
    )
    done = index()
    assert sorted(texts(index.hf)) == ["A.", "B."]
    (warned,) = done.warnings
    assert warned.path == str(project.folder / "**broken") and "docs/**/*.md" in warned.reason


def test_a_list_is_added_to_and_never_rewritten(project, index):
    project.sources.inside.write_text("# mine, no end of line\ndocs")
    index(
        project.write("docs/a.md", "A."),
        project.write("#odd.md", "B."),
        project.write("notes/n.md", "C."),
    )
    assert (
        project.sources.inside.read_text()
        == "# mine, no end of line\ndocs\n./#odd.md\nnotes/n.md\n"
    )
    index(project.folder / "notes" / "n.md")
    assert project.sources.inside.read_text().count("notes/n.md") == 1
    assert index().unchanged == 3


def test_what_lies_elsewhere_is_listed_elsewhere(project, index, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    (project.outside / "n.md").write_text("A note.")
    index(project.outside)
    assert not project.sources.inside.exists()
    assert project.sources.elsewhere.read_text().splitlines()[-1] == "~/transcripts"
    assert index().unchanged == 1


def test_hidden_folders_and_what_programs_made_are_passed_over(project, index):
    for name in (
        ".git/a.md",
        "node_modules/x/b.md",
        ".holdfast/records/decisions/c.md",
        "src/d.md",
        "src/.e.md",
    ):
        project.write(name, f"Words of {name}.")
    index(project.folder)
    assert texts(index.hf) == ["Words of src/d.md."]


def test_a_path_as_long_as_they_come_is_no_trouble(project, index):
    file = project.write("/".join(["a" * 90] * 4) + ".md", "Deep words.")
    index(file)
    file.write_text("Other words.")
    index()
    assert texts(index.hf) == ["Other words."]


def test_a_forgotten_source_name_is_told_as_given(project, index):
    source = Source(project.folder / "gone.md", "gone.md", named=True)
    author = Author("test", "run_x", 1, "index")
    indexer = Indexer(index.hf.store, project.place.scope, author, max_bytes=1000)
    indexer.index(source)
    assert [(warned.path, warned.reason) for warned in indexer.done.warnings] == [
        ("gone.md", "it cannot be read (No such file or directory)")
    ]
