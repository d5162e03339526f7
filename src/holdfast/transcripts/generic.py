"""Transcripts in other formats: JSON lines or JSON with a role and a text, or Markdown with speaker
names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from .assemble import Talk
from .base import Cursor, Role, Transcript
from .json_documents import Document, document, elements, whole
from .json_fields import as_dict, as_text, dicts, micros, said_in
from .jsonl_file import Object, SessionFile
from .line_reader import beginning, first_objects
from .tool_calls import output_of

_ROLES: dict[str, Role] = {
    **dict.fromkeys(("user", "human", "you", "me", "user_message", "prompt"), "user"),
    **dict.fromkeys(("assistant", "ai", "agent", "model", "bot"), "assistant"),
    **dict.fromkeys(
        ("claude", "chatgpt", "gpt", "gemini", "codex", "cursor", "copilot"), "assistant"
    ),
    **dict.fromkeys(("tool", "function", "tool_result", "toolresult"), "tool"),
}
_TEXTS = ("content", "text", "message", "body", "parts")
_TIMES = ("timestamp", "created_at", "createdAt", "time", "date", "ts", "at")
_MARKDOWN = (".md", ".markdown", ".txt")
# Without words that head other lists than conversations, such as the fields of a ticket.
_NAMES = "user|human|you|assistant|ai|bot|claude|chatgpt|gpt|gemini|codex|cursor|copilot"
# "## User", "**Assistant:**", "Human: …", "_**User (2026-03-01 10:00)**_"; a name alone on its line
# is only a word.
_SPEAKER = re.compile(
    rf"(?:(?P<heading>#{{1,6}})[ \t]+)?(?P<mark>[*_]{{0,4}})(?P<name>{_NAMES})[ "
    rf"\t]*(?:\((?P<when>[^()\n]{{4,60}})\))?"
    r"(?P<colon>[*_]{0,4}:[*_]{0,4}|[*_]{0,4})[ \t]*(?P<rest>.*)",
    re.IGNORECASE,
)


class Generic(SessionFile):
    """Reader of unknown formats, asked last."""

    name = "transcript"

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:  # noqa: ARG002
        """Nothing: the user names the file."""
        return iter(())

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        if path.name.endswith((".jsonl", ".jsonl.gz", ".ndjson")):
            return any(_role(record) and _text(record) for record in first_objects(path)[:10])
        start = beginning(path, 65_536) if path.suffix in (".json", *_MARKDOWN) else b""
        if path.suffix == ".json":
            return (
                start.lstrip()[:1] in (b"[", b"{") and b'"role"' in start and b'"content"' in start
            )
        speakers = {role for _, role, _, _ in _spoken(start.decode("utf-8", "replace")) if role}
        return {"user", "assistant"} <= speakers

    def read(self, path: Path, cursor: Cursor | None = None) -> Iterator[Transcript]:
        """See `Importer.read`."""
        if path.suffix not in (".json", *_MARKDOWN):
            yield from super().read(path, cursor)
        elif (found := whole(path, cursor)) is not None:
            transcript = self.session(path, [])
            tell = partial(_tell_json if path.suffix == ".json" else _tell_markdown, found)
            yield document(transcript, found, tell)

    def session(self, path: Path, head: list[Object]) -> Transcript:
        """Return a session named after its file."""
        place = hashlib.sha256(str(path).encode("utf-8", "replace")).hexdigest()[:8]
        cwd = next((as_text(record["cwd"]) for record in head if as_text(record.get("cwd"))), "")
        return Transcript(f"{path.name.split('.')[0]}-{place}", self.name, path, cwd=cwd)

    def tell(
        self,
        record: Object,
        line: int,
        talk: Talk,
    ) -> None:
        """Add a message in any of the usual spellings."""
        _tell_message(record, line, talk)


def _tell_json(found: Document, talk: Talk) -> None:
    number = 0
    for record in elements(BytesIO(found.data)):
        messages = (
            dicts(as_dict(record).get("messages"))
            if record and not _role(record)
            else iter([as_dict(record)])
        )
        for message in messages:
            number += 1
            _tell_message(message, number, talk)


def _tell_message(
    record: Object,
    line: int,
    talk: Talk,
) -> None:
    role = _role(record)
    text = _text(record)
    at = next((time for time in (micros(record.get(key)) for key in _TIMES) if time), None)
    if role == "tool":
        talk.outcome(as_text(record.get("tool_call_id")), text, at, line)
    elif role:
        talk.say(role, text, at, line)
    for call in dicts(record.get("tool_calls")) if role == "assistant" else ():
        made = as_dict(call.get("function")) or call
        talk.call(
            as_text(call.get("id")), as_text(made.get("name")), made.get("arguments"), at, line
        )


def _role(record: Object) -> Role | None:
    given: Any = (
        record.get("role") or record.get("sender") or record.get("author") or record.get("speaker")
    )
    given = given or as_dict(record.get("message")).get("role") or record.get("type")
    name = as_text(given) or as_text(as_dict(given).get("role"))
    return _ROLES.get(name.lower())


def _text(record: Object) -> str:
    for key in _TEXTS:
        value = record.get(key)
        value = value.get("content") if isinstance(value, dict) and "content" in value else value
        if text := said_in(value):
            return text
    return output_of(record.get("content")) if _role(record) == "tool" else ""


def _tell_markdown(found: Document, talk: Talk) -> None:
    role: Role | None = None
    said: list[str] = []
    first = 1
    at = None
    for number, speaker, when, text in [
        *_spoken(found.data.decode("utf-8", "replace")),
        (0, "user", "", ""),
    ]:
        if speaker is None:
            said.append(text)
            continue
        if role and said:
            talk.say(role, "\n".join(said), at, first, lines=True)
        role = speaker
        first = number
        at = micros(when)
        said = [text]


def _spoken(text: str) -> Iterator[tuple[int, Role | None, str, str]]:
    """Yield each line with its number and, if it names a speaker, who speaks, when, and the rest of
    the line.
    """
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        found = None if fenced else _SPEAKER.match(line)
        if (
            found
            and (found["heading"] or found["mark"] or ":" in found["colon"])
            and _ends_there(found)
        ):
            yield number, _ROLES[found["name"].lower()], found["when"] or "", found["rest"].strip()
        else:
            yield number, None, "", line


def _ends_there(found: re.Match[str]) -> bool:
    """Whether the name is more than the first word of a sentence or a title."""
    return ":" in found["colon"] or not found["rest"].strip(" *_:—-")
