"""Cursor: the editor's state.vscdb, and the transcripts its agents write under ~/.cursor/projects.

The database is a table of keys: `composerData:<id>` is a conversation with its order of messages,
each message, a "bubble", is `bubbleId:<id>:<bubble>`. Newer versions also list conversations in
`composerHeaders`. The transcripts hold the same conversations as lines, without times and results
of tools; the database is listed first for that reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from urllib.parse import unquote, urlparse

import apsw

from .assemble import Talk
from .base import Cursor, Transcript
from .databases import MAGIC, copied, fingerprint, rows, since
from .json_documents import read_entries
from .json_fields import as_dict, as_int, as_text, dicts, micros, parsed, said_in, with_last
from .jsonl_file import Object, SessionFile, newest_first
from .line_reader import beginning, first_objects
from .tool_calls import output_of

_USER = 1
_ASSISTANT = 2
_COMPOSERS = (
    "SELECT CAST(value AS BLOB) FROM cursorDiskKV WHERE key >= 'composerData:' AND key < "
    "'composerData;'"
)
_HEADERS = "SELECT composerId, CAST(value AS BLOB), lastUpdatedAt, isSubagent FROM composerHeaders"
_BUBBLE = "SELECT CAST(value AS BLOB) FROM cursorDiskKV WHERE key = ?"


class CursorEditor(SessionFile):
    """Conversations of Cursor, of the editor and of its agents."""

    name = "cursor"

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """See `Importer.discover`. Databases come first."""
        config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        roots = [config, home / "Library" / "Application Support", home / "AppData" / "Roaming"]
        states = (root / "Cursor" / "User" / "globalStorage" / "state.vscdb" for root in roots)
        projects = (home / ".cursor" / "projects").glob("*/agent-transcripts/**/*.jsonl")
        lines = (path for path in projects if "subagents" not in path.parts)
        return chain(newest_first(path for path in states if path.is_file()), newest_first(lines))

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        if path.name == "state.vscdb":
            return beginning(path, 16) == MAGIC
        if path.suffix != ".jsonl" or "agent-transcripts" not in path.parts:
            return False
        return any("role" in record and "message" in record for record in first_objects(path))

    def read(self, path: Path, cursor: Cursor | None = None) -> Iterator[Transcript]:
        """See `Importer.read`. From the database, only conversations that changed since."""
        if path.name != "state.vscdb":
            yield from super().read(path, cursor)
            return
        mark = fingerprint(path)
        if cursor and cursor.digest == mark:
            return
        with copied(path) as connection:
            for (at, composer), last in with_last(_composers(connection, since(cursor))):
                yield _conversation(path, connection, composer, Cursor(at, 0, mark if last else ""))

    def session(self, path: Path, head: list[Object]) -> Transcript:  # noqa: ARG002
        """Return the session of a transcript; its folder follows from Cursor's name for it."""
        return Transcript(path.stem, self.name, path, cwd=_folder_named(_project(path)))

    def tell(
        self,
        record: Object,
        line: int,
        talk: Talk,
    ) -> None:
        """Add messages and calls of a transcript, which contains no results."""
        content = as_dict(record.get("message")).get("content")
        if record.get("role") == "user":
            talk.say("user", said_in(content), None, line)
        elif record.get("role") == "assistant":
            for part in dicts(content):
                if part.get("type") == "text":
                    talk.say(
                        "assistant", as_text(part.get("text")).replace("[REDACTED]", ""), None, line
                    )
                elif part.get("type") == "tool_use":
                    talk.ran(as_text(part.get("name")), part.get("input"), None, None, line)


def _composers(connection: apsw.Connection, newer: int) -> list[tuple[int, Object]]:
    """Yield each conversation with its change time, in that order; no drafts or sub-agents."""
    heads = {
        key: (as_dict(parsed(value or b"")), at, sub)
        for key, value, at, sub in rows(connection, _HEADERS)
    }
    found = []
    for (value,) in rows(connection, _COMPOSERS):
        composer = as_dict(parsed(value or b""))
        head, changed, sub = heads.get(as_text(composer.get("composerId")), ({}, None, None))
        composer = {**head, **composer, "head": head}
        at = (
            as_int(changed)
            or as_int(composer.get("lastUpdatedAt"))
            or as_int(composer.get("createdAt"))
            or 0
        )
        if (
            at >= newer
            and not sub
            and (composer.get("fullConversationHeadersOnly") or composer.get("conversation"))
        ):
            found.append((at, composer))
    return sorted(found, key=lambda pair: pair[0])


def _conversation(
    path: Path,
    connection: apsw.Connection,
    composer: Object,
    cursor: Cursor,
) -> Transcript:
    transcript = Transcript(
        as_text(composer.get("composerId")),
        CursorEditor.name,
        path,
        cwd=_folder_of(composer),
        title=as_text(composer.get("name")).strip(),
        started_at=micros(composer.get("createdAt")),
        updated_at=micros(cursor.position),
    )

    def tell(talk: Talk) -> None:
        for number, bubble in enumerate(_bubbles(connection, composer), 1):
            _tell_bubble(bubble, number, talk)

    transcript.entries = read_entries(transcript, tell, cursor)
    return transcript


def _bubbles(connection: apsw.Connection, composer: Object) -> Iterator[Object]:
    """Yield the messages in order; old versions store them in the conversation itself."""
    yield from dicts(composer.get("conversation"))
    for header in dicts(composer.get("fullConversationHeadersOnly")):
        key = f"bubbleId:{as_text(composer.get('composerId'))}:{as_text(header.get('bubbleId'))}"
        for (value,) in rows(connection, _BUBBLE, (key,)):
            yield as_dict(parsed(value or b""))


def _tell_bubble(
    bubble: Object,
    number: int,
    talk: Talk,
) -> None:
    at = micros(bubble.get("createdAt"))
    if bubble.get("type") == _USER:
        talk.say("user", as_text(bubble.get("text")), at, number)
    elif bubble.get("type") == _ASSISTANT:
        talk.say("assistant", as_text(bubble.get("text")), at, number)
        call = as_dict(bubble.get("toolFormerData"))
        if call.get("name"):
            result = as_text(call.get("result"))
            failed = {"completed": False, "error": True, "cancelled": True}.get(
                as_text(call.get("status"))
            )
            given = call.get("params") or call.get("rawArgs")
            talk.ran(
                as_text(call["name"]),
                given,
                output_of(parsed(result)) or result,
                at,
                number,
                failed=failed,
            )


def _folder_of(composer: Object) -> str:
    """Return the folder that was open in the editor."""
    workspace = as_dict(as_dict(composer.get("workspaceIdentifier")).get("uri"))
    agent = as_dict(as_dict(as_dict(composer.get("agentLocation")).get("environment")).get("uri"))
    repositories = [
        as_text(repository.get("repoPath")) for repository in dicts(composer.get("trackedGitRepos"))
    ]
    uri = urlparse(as_text(workspace.get("external")))
    given = unquote(uri.path) if uri.scheme == "file" else ""
    named = (as_text(workspace.get("fsPath")), as_text(agent.get("fsPath")), given, *repositories)
    return next(filter(None, named), "")


def _project(path: Path) -> str:
    """Return the name of the folder above `agent-transcripts`."""
    parts = path.parts
    return parts[parts.index("agent-transcripts") - 1] if "agent-transcripts" in parts[1:] else ""


def _folder_named(slug: str, base: Path = Path("/")) -> str:
    """Return the folder that Cursor calls `slug`: its path with every non-alphanumeric character as
    `-`.
    """
    if not slug:
        return str(base) if base != Path("/") else ""
    try:
        names = sorted(
            (entry.name for entry in base.iterdir() if entry.is_dir()), key=len, reverse=True
        )
    except OSError:
        return ""
    for name in names:
        sign = "".join(letter if letter.isalnum() else "-" for letter in name).strip("-")
        fits = sign and f"{slug}-".startswith(f"{sign}-")
        if fits and (found := _folder_named(slug[len(sign) + 1 :], base / name)):
            return found
    return ""
