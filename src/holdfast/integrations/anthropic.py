"""Anthropic's memory tool (`memory_20250818`): memories as files that a model reads and edits.

A file is a memory, so recall finds what a model writes, and other memories appear as files. An edit
is a correction and a deletion forgets; both can be undone. The answers use the words that the model
was trained on.

    client.beta.messages.run_tools(model=…, messages=[…], tools=[memory_tool(hf)])
"""

from __future__ import annotations

import re
from asyncio import to_thread
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..base_client import who_of
from ..client import Holdfast, check_open
from ..errors import Conflict, HoldfastError, MissingExtra, Nothing
from ..extraction import permission_checks
from ..ingest import commit, entity_linking, permissions
from ..records.roots import slug
from ..storage import Transaction
from ..types import Kind, Memory

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool

ROOT = "/memories"
FOLDERS: Mapping[Kind, str] = {
    "fact": "facts",
    "rule": "rules",
    "episode": "episodes",
    "reflection": "reflections",
}
"""Folder of memories that no model has put into a file."""
# Lines per file, and the width of line numbers: both are part of the tool's answers.
MOST_LINES = 999_999
WIDTH = 6
# Maximum number of memories shown as files.
LISTED = 2_000
SOURCE = "memory tool"
ACTOR = "agent:memory-tool"


class ToolRefused(Exception):
    """A request that cannot be executed; the message is for the model."""


class MemoryFiles:
    """The memories of an open memory as files under /memories."""

    def __init__(self, holdfast: Holdfast) -> None:
        # A view of its own, because the actor is changed below.
        self._hf = check_open(holdfast).scoped(*holdfast.scopes)
        if permissions.kind_of(holdfast.actor) != "agent":
            self._hf.actor = ACTOR  # a model edits these files, whoever opened the memory

    def view(self, path: str, view_range: list[int] | None = None) -> str:
        """Show a folder, two levels deep, or a file with line numbers."""
        path = checked(path)
        files = self._files()
        if path in files:
            return _numbered_file(path, text_of(files[path]), view_range)
        if path != ROOT and not _below(path, files):
            raise ToolRefused(f"The path {path} does not exist. Please provide a valid path.")
        return _listed(path, files)

    def create(self, path: str, file_text: str) -> str:
        """Create a new file."""
        path = checked(path)
        files = self._files()
        if path in files or path == ROOT or _below(path, files):
            raise ToolRefused(f"File {path} already exists")
        draft = commit.Draft(
            **_fields(path, file_text),
            kind=_kind(path),
            category="notes",
            source=SOURCE,
        )
        stored = self._put(draft)
        if stored.status == "proposed":
            return (
                f"File {path} does not exist yet: it was proposed for review, and a person decides."
            )
        return f"File created successfully at: {path}"

    def str_replace(
        self,
        path: str,
        old_str: str,
        new_str: str = "",
    ) -> str:
        """Replace a text that occurs once."""
        memory = self._file(path)
        text = text_of(memory)
        places = []
        if old_str:
            # A lookahead, so that overlapping occurrences count as several.
            occurrences = re.finditer(f"(?={re.escape(old_str)})", text)
            places = [match.start() for match in occurrences]
        if not places:
            raise ToolRefused(
                f"No replacement was performed, old_str `{old_str}` did not appear verbatim in "
                f"{path}."
            )
        if len(places) > 1:
            lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
            raise ToolRefused(
                f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in "
                f"lines: {lines}. Please ensure it is unique"
            )
        changed = text.replace(old_str, new_str)
        self._rewrite(memory, path, changed)
        line = text.count("\n", 0, places[0])
        lines_now = changed.split("\n")
        shown = range(max(0, line - 2), min(len(lines_now), line + 3))
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            "numbers):\n"
        ) + "\n".join(_numbered(number + 1, lines_now[number]) for number in shown)

    def insert(
        self,
        path: str,
        insert_line: int,
        insert_text: str,
    ) -> str:
        """Insert lines after a line; 0 is the beginning."""
        memory = self._file(path)
        lines = text_of(memory).split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        if not 0 <= insert_line <= len(lines):
            raise ToolRefused(
                f"Invalid `insert_line` parameter: {insert_line}. It should be within the range "
                f"[0, {len(lines)}]."
            )
        lines.insert(insert_line, insert_text.rstrip("\n"))
        self._rewrite(memory, path, "\n".join(lines) + "\n")
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Forget a file, or all files below a folder."""
        path = checked(path)
        files = self._files()
        if path == ROOT:
            raise ToolRefused("Cannot delete the /memories directory itself")
        paths = [path] if path in files else _below(path, files)
        gone = [files[one] for one in paths]
        if not gone:
            raise ToolRefused(f"The path {path} does not exist")
        self._hf.forget(*(memory.id for memory in gone))
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file, or all files below a folder."""
        old = checked(old_path)
        new = checked(new_path)
        files = self._files()
        if old == ROOT:
            raise ToolRefused("Cannot rename the /memories directory itself")
        if new in files or new == ROOT or _below(new, files):
            raise ToolRefused(f"The destination {new_path} already exists")
        paths = [old] if old in files else _below(old, files)
        moved = {one: files[one] for one in paths}
        if not moved:
            raise ToolRefused(f"The path {old_path} does not exist")

        def work(tx: Transaction) -> None:
            for path, memory in moved.items():
                _fresh(tx, memory)
                tx.change(memory, metadata={**memory.metadata, "path": new + path[len(old) :]})

        self._hf.admin.write("rename", work)
        return f"Successfully renamed {old_path} to {new_path}"

    def clear_all_memory(self) -> str:
        """Forget every file."""
        if gone := list(self._files().values()):
            self._hf.forget(*(memory.id for memory in gone))
        return "All memory cleared"

    def _files(self) -> dict[str, Memory]:
        """Return every file by path, sorted by name; of two with one path, the newest."""
        found = self._hf.list(kinds=("document", *FOLDERS), limit=LISTED)
        seen = [one for one in found if one.kind in FOLDERS or "path" in one.metadata]
        # The list is newest first; reversed, the newest of two files with one path comes last and
        # wins.
        return dict(sorted((path_of(memory), memory) for memory in reversed(seen)))

    def _file(self, path: str) -> Memory:
        path = checked(path)
        files = self._files()
        if path in files:
            return files[path]
        if path == ROOT or _below(path, files):
            raise ToolRefused(f"The path {path} is not a file.")
        raise ToolRefused(f"The path {path} does not exist. Please provide a valid path.")

    def _put(self, draft: commit.Draft) -> Memory:
        """Add a file, or propose it if a person must approve. Duplicates of other memories are
        allowed.
        """
        hf = self._hf
        at = self._hf.clock()
        memory = commit.build(
            draft,
            hf.scopes[0],
            at=at,
            max_bytes=hf.settings.max_content_bytes,
        )

        def work(tx: Transaction) -> Memory:
            (admitted,) = permission_checks.admit(
                tx,
                [memory],
                who_of(hf, "remember"),
            )
            stored = admitted if admitted.seq else tx.add(admitted)
            if stored.status == "active":
                entity_linking.note(tx, [stored], at=at)
            return stored

        return hf.admin.write("remember", work)

    def _rewrite(
        self,
        memory: Memory,
        path: str,
        text: str,
    ) -> None:
        """Replace the text of a file, if it still has the text that was read."""
        fields = _fields(checked(path), text)
        metadata = {
            key: value for key, value in memory.metadata.items() if key not in ("ends", "blank")
        }
        draft = commit.Draft(
            content=fields["content"],
            kind=memory.kind,
            category=memory.category,
            title=fields["title"],
            author=memory.author,
            source=SOURCE,
            tags=memory.tags,
            metadata={**metadata, **fields["metadata"]},
        )
        at = self._hf.clock()
        limit = self._hf.settings.max_content_bytes
        new = commit.build(draft, memory.scope, at=at, max_bytes=limit)

        def work(tx: Transaction) -> None:
            corrected = commit.correct(
                tx,
                _fresh(tx, memory),
                new,
                reason="edited by the model",
            )
            entity_linking.note(tx, [corrected], at=at)

        self._hf.admin.write("correct", work)


def checked(path: str) -> str:
    """Return a normalised path under /memories; ToolRefused for any other."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolRefused(f"Path must start with /memories, got: {path}")
    names = [name for name in path.split("/") if name]
    # Backslashes too: some systems treat them as separators. Control characters would break
    # listings.
    if any(name in (".", "..") for name in names) or re.search(r"[\x00-\x1f\\]", path):
        raise ToolRefused(f"Path {path} would escape /memories directory")
    return "/" + "/".join(names)


def path_of(memory: Memory) -> str:
    """Return the path of a memory's file."""
    own = memory.metadata.get("path")
    if isinstance(own, str) and own.startswith(f"{ROOT}/"):
        return own
    words = slug(memory.title or memory.content, limit=40) or "memory"
    # The end of the id is its random part, so two memories with the same words get different files.
    return f"{ROOT}/{FOLDERS.get(memory.kind, 'documents')}/{words}-{memory.id[-6:]}.md"


def text_of(memory: Memory) -> str:
    """Return the content of a file, including its last line end."""
    if "blank" in memory.metadata:
        return str(memory.metadata["blank"])
    before, after = memory.metadata.get("ends", ("", ""))
    return f"{before}{memory.content}{after}"


def _fields(path: str, text: str) -> dict[str, Any]:
    """Convert a file to a memory: its text, with surrounding blank space stored separately; for a
    blank file its name.
    """
    bare = text.strip()
    if not bare:
        return {
            "content": f"An empty file: {path}",
            "title": path,
            "metadata": {"path": path, "blank": text},
        }
    # Memories are stored without surrounding space, but a file must read back byte for byte.
    start = len(text) - len(text.lstrip())
    ends = [text[:start], text[start + len(bare) :]]
    return {"content": bare, "title": path, "metadata": {"path": path, "ends": ends}}


def _kind(path: str) -> str:
    """Return the kind of a new file: fact or rule in their folders, else document."""
    parts = path.split("/")
    return next(
        (kind for kind, name in FOLDERS.items() if len(parts) > 3 and parts[2] == name), "document"
    )


def _fresh(tx: Transaction, memory: Memory) -> Memory:
    """Return the memory as it was read; refuse if it was changed in the meantime."""
    fresh = tx.memory(memory.scope, memory.id)
    if fresh is None or fresh.status != memory.status or fresh.metadata != memory.metadata:
        raise Conflict("The file was changed in the meantime. View it again.")
    return fresh


def _below(path: str, files: Mapping[str, Memory]) -> list[str]:
    return [one for one in files if one.startswith(f"{path}/")]


def _listed(path: str, files: Mapping[str, Memory]) -> str:
    sizes: dict[str, int] = {}
    for one in _below(path, files):
        size = len(text_of(files[one]).encode())
        names = one[len(path) + 1 :].split("/")
        if any(name.startswith(".") for name in names):
            continue
        for depth in range(1, min(len(names), 2) + 1):
            name = "/".join(names[:depth]) + ("/" if depth < len(names) else "")
            sizes[name] = sizes.get(name, 0) + size
    whole = sum(len(text_of(files[one]).encode()) for one in _below(path, files))
    lines = [
        f"{_size(whole)}\t{path}",
        *(f"{_size(size)}\t{path}/{name}" for name, size in sorted(sizes.items())),
    ]
    head = (
        f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    )
    return "\n".join([head, *lines])


def _size(count: int) -> str:
    """Format a size in a few characters."""
    size = float(count)
    units = iter("BKMG")
    unit = next(units)
    while size >= 1024 and unit != "G":
        size = size / 1024
        unit = next(units)
    return f"{size:.0f}{unit}" if size == int(size) else f"{size:.1f}{unit}"


def _numbered_file(
    path: str,
    text: str,
    view_range: list[int] | None,
) -> str:
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        raise ToolRefused(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = view_range if view_range and len(view_range) == 2 else (1, -1)
    first = max(1, first)
    last = len(lines) if last == -1 else last
    shown = [
        _numbered(number, lines[number - 1]) for number in range(first, min(last, len(lines)) + 1)
    ]
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(shown)


def _numbered(number: int, line: str) -> str:
    return f"{number:>{WIDTH}}\t{line}"


# Functions for the SDK

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "view": ("path", "view_range"),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}


def memory_tool(holdfast: Holdfast, **options: Any) -> BetaAbstractMemoryTool:
    """Return the tool for `client.beta.messages.tool_runner`; `options` are those of the SDK, such
    as cache_control.
    """
    abstract, _, error = _sdk()
    answer = _answering(MemoryFiles(holdfast), error)

    def method(name: str) -> Callable[[Any, Any], str]:
        return lambda self, command: answer(name, command)

    return type("HoldfastMemoryTool", (abstract,), _methods(method, answer))(**options)  # type: ignore[no-any-return]


def async_memory_tool(holdfast: Holdfast, **options: Any) -> BetaAsyncAbstractMemoryTool:
    """Return the same tool for an AsyncAnthropic client."""
    _, abstract, error = _sdk()
    answer = _answering(MemoryFiles(holdfast), error)

    def method(name: str) -> Callable[[Any, Any], Any]:
        # The SDK's own signature.
        async def forward(self: Any, command: Any) -> str:  # noqa: ARG001
            return await to_thread(answer, name, command)

        return forward

    return type("AsyncHoldfastMemoryTool", (abstract,), _methods(method, answer))(**options)  # type: ignore[no-any-return]


def _methods(method: Callable[[str], Any], answer: Callable[..., str]) -> dict[str, Any]:
    made = {name: method(name) for name in COMMANDS}
    return {**made, "clear_all_memory": lambda self: answer("clear_all_memory", None)}


def _answering(files: MemoryFiles, error: type[Exception]) -> Callable[[str, Any], str]:
    def answer(name: str, command: Any) -> str:
        given = {key: getattr(command, key, None) for key in COMMANDS.get(name, ())}
        try:
            return str(
                getattr(files, name)(
                    **{key: value for key, value in given.items() if value is not None}
                )
            )
        except (ToolRefused, Nothing, HoldfastError) as refusal:
            raise error(str(refusal)) from refusal

    return answer


def _sdk() -> tuple[Any, Any, type[Exception]]:
    try:
        # The SDK is an optional extra.
        from anthropic.lib.tools import (  # noqa: PLC0415
            BetaAbstractMemoryTool,
            BetaAsyncAbstractMemoryTool,
            ToolError,
        )
    except ImportError as error:
        raise MissingExtra(
            "The memory tool needs an optional package. Try: "
            "pip install 'holdfast-memory[anthropic]'"
        ) from error
    return BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
