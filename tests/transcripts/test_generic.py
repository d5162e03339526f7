"""Transcripts of anybody else."""

import json
from pathlib import Path

import pytest
from heard import DATA, one, said

from holdfast.transcripts import reader_for
from holdfast.transcripts.generic import Generic
from holdfast.transcripts.json_fields import micros

READER = Generic()
LINES, MARKDOWN = DATA / "generic" / "chat.jsonl", DATA / "generic" / "chat.md"


def test_lines_with_a_role_and_a_text() -> None:
    _, entries = one(READER, LINES)
    assert said(entries) == [
        ("user", "Our office closes at 17:00 on Fridays."),
        ("tool", "calendar: Friday\nclosing time set"),
        ("assistant", "Noted for Fridays."),
    ]
    assert [entry.at for entry in entries] == [
        micros(1_780_308_000),
        micros(1_780_308_001),
        micros(1_780_308_003),
    ]


def test_markdown_in_which_lines_name_the_speaker() -> None:
    """A name in a code block, or in a sentence, is no speaker."""
    _, entries = one(READER, MARKDOWN)
    assert said(entries) == [
        (
            "user",
            (
                "Please use British spelling in the docs.\n\n```text\nAssistant: this line is only "
                "quoted\n```"
            ),
        ),
        ("assistant", "I will. The assistant: that is me."),
        ("user", "And no exclamation marks."),
        ("assistant", "Understood."),
    ]
    assert [entry.lines for entry in entries] == [(5, 9), (13, 13), (15, 15), (16, 16)]
    assert entries[0].at == micros("2026-06-01T12:00:00Z")


@pytest.mark.parametrize(
    "document",
    [
        [{"role": "user", "content": "Tea, please."}, {"role": "assistant", "content": "Noted."}],
        {
            "messages": [
                {"role": "user", "content": "Tea, please."},
                {"role": "assistant", "content": "Noted."},
            ]
        },
    ],
    ids=["list", "object"],
)
def test_json_with_messages(tmp_path: Path, document: object) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(document))
    assert reader_for(path) is not None
    assert said(one(READER, path)[1]) == [("user", "Tea, please."), ("assistant", "Noted.")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", "# Project\n\nUser: the person who runs it.\n"),
        (
            "ticket.md",
            "---\ntitle: Login fails\n---\nUsers see an error.\n\n**Agent:** Bob\n**Model:** X\n",
        ),
        (
            "ticket.json",
            '{"title": "Login fails", "description": "…", "status": "open", "notes": []}',
        ),
        ("events.jsonl", '{"level": "info", "msg": "started"}\n'),
        ("notes.txt", "You should know: the assistant is new.\n"),
    ],
)
def test_what_is_no_conversation_is_not_claimed(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert reader_for(path) is None
