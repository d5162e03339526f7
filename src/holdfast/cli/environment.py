"""Environment checks for `holdfast doctor`: versions, extras, models, clients, project, disk.

None of it is part of the store, and nothing missing here harms stored memories. Each note says what
a thing provides and how to get it.
"""

from __future__ import annotations

import platform
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from .. import config
from ..errors import EmbedderError, HoldfastError
from ..text.terminal import counted
from . import output
from .open_store import folder_here

State = Literal["fine", "missing", "wrong"]


class Note(NamedTuple):
    """One check: its state, and what to do about it."""

    topic: str
    state: State
    detail: str
    do: str = ""


EXTRAS = {
    "llm": "language models and embedding servers: OpenAI, Google, Ollama and compatible ones",
    "agent": "role agents that a language model answers for, with a full screen and webhooks",
    "server": "the Memory page and memory over HTTP",
    "mcp": "the MCP server over HTTP; by pipe it needs nothing",
    "postgres": "one memory for many machines, in a Postgres database",
    "spacy": "people and places recognised by spaCy, too",
    "openai-agents": "memory in the OpenAI Agents SDK",
    "langgraph": "LangGraph's store",
    "anthropic": "Anthropic's memory tool",
    "encryption": "the memory file encrypted, with its key in a file or in the system's keyring",
    "telemetry": "OpenTelemetry spans around the verbs",
}
"""What each optional extra provides."""

# File systems on which SQLite's locks are not reliable between machines.
NETWORKED = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "afs",
        "9p",
        "fuse.sshfs",
        "ceph",
        "glusterfs",
        "davfs",
    }
)
# What this package is called on a package index, where its first name belongs to somebody else.
DISTRIBUTION = "holdfast-memory"
NAMESAKE = "holdfast"
# Bytes of free space below which the disk counts as nearly full.
ROOM = 100_000_000


def notes(store: str | None) -> Iterator[Note]:
    """Yield all checks around a store, the most general first."""
    settings = config.load()
    yield from _versions()
    yield from _extras()
    yield from _embedders(settings)
    yield _language_model(settings)
    yield from _clients()
    yield _project()
    place = store or settings.store or config.default_store()
    if "://" not in str(place):
        yield from _file(Path(place).expanduser())
        yield from _key(settings.key_file)


def _versions() -> Iterator[Note]:
    import apsw

    if _installed(NAMESAKE):
        yield Note(
            "package",
            "wrong",
            f"a package named {NAMESAKE} is installed beside {DISTRIBUTION}, an earlier version of "
            "Holdfast or somebody else's; each overwrites files of the other",
            f"pip uninstall {NAMESAKE}; pip install --force-reinstall {DISTRIBUTION}",
        )
    yield Note("python", "fine", f"{platform.python_version()} on {platform.system()}")
    from ..storage.sqlite import encryption

    which = encryption.DRIVER if encryption.is_available() else "apsw"
    yield Note("sqlite", "fine", f"{apsw.sqlitelibversion()}, with {which} {apsw.apswversion()}")
    if encryption.is_overwritten():
        yield Note(
            "encryption",
            "wrong",
            f"the files of {encryption.DRIVER} were overwritten by those of apsw, so no encrypted "
            "store can be opened",
            encryption.reinstall_command(),
        )


def _extras() -> Iterator[Note]:
    for extra, gives in EXTRAS.items():
        missing = [name for name in _packages(extra) if not _installed(name)]
        if missing:
            yield Note(
                f"extra {extra}", "missing", gives, f"pip install 'holdfast-memory[{extra}]'"
            )
        else:
            yield Note(f"extra {extra}", "fine", gives)


def _packages(extra: str) -> list[str]:
    """Return the packages of an extra, from the metadata of this installation."""
    import re
    from importlib.metadata import PackageNotFoundError, requires

    try:
        every = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        # Run from a checkout, without package metadata.
        return [extra]
    # Metadata lists all requirements together, each with its extra in a marker.
    of_extra = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
    return [
        re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in every if of_extra.search(line)
    ]


def _installed(package: str) -> bool:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def _embedders(settings: config.Settings) -> Iterator[Note]:
    for spec in filter(None, map(str.strip, settings.embedding_models.split(","))):
        try:
            detail = _embedder(spec, settings)
        except HoldfastError as error:
            meanwhile = (
                " Until it answers, recall goes by words."
                if isinstance(error, EmbedderError) and ":" in spec
                else ""
            )
            yield Note(
                f"embedding model {spec}", "wrong", f"{error}{meanwhile}", "holdfast settings"
            )
        else:
            yield Note(f"embedding model {spec}", "fine", detail)


def _embedder(spec: str, settings: config.Settings) -> str:
    """Describe an embedding model. A remote one is called once, since only that proves it works."""
    from ..models.embeddings.base import LOCAL, embedder_for
    from ..retrieval.embedding_status import PROBE

    remote = ":" in spec and not spec.startswith(LOCAL)
    embedder = embedder_for(
        spec,
        environ=config.environment(),
        base_url=(settings.embedding_url or None) if remote else None,
        api_key_env=(settings.embedding_key_env or None) if remote else None,
    )
    if embedder is None:
        return "words only, no vectors"
    if not remote:
        return "ready"
    return f"ready, it answered with {len(embedder.embed_query(PROBE))} numbers"


def _language_model(settings: config.Settings) -> Note:
    if not settings.model:
        detail = "none is set, so rules read conversations; a model would find more"
        return Note("language model", "missing", detail, "export HOLDFAST_MODEL=openai:gpt-5-mini")
    from ..models.llm.chat import model_for

    try:
        model_for(
            settings.model,
            environ=config.environment(),
            base_url=settings.model_url,
            key_env=settings.model_key_env,
        )
    except HoldfastError as error:
        return Note("language model", "wrong", f"{settings.model}: {error}", "holdfast settings")
    return Note("language model", "fine", f"{settings.model}, with its key; it was not asked")


def _clients() -> Iterator[Note]:
    """Check which agents on this machine use this memory, and whether their entries work."""
    from ..coding_agents.hooks.status import installed, lateness
    from ..coding_agents.mcp_entry import entry_states
    from ..records.roots import project_folder

    project = project_folder(folder_here())
    hooks = [
        (f"{one.tool} ({one.level})", one.problem)
        for one in installed(project)
        if one.events or one.problem
    ]
    yield _given("hooks", hooks, "hook")
    if (late := lateness()).late:
        yield Note(
            "hooks in time", "wrong" if late.often else "fine", str(late), "holdfast hook log"
        )
    servers = [
        (f"{one.client} ({one.level})", "" if one.state == "installed" else one.state)
        for one in entry_states(project)
        if one.state != "not installed"
    ]
    yield _given("mcp clients", servers, "mcp")


def _given(
    topic: str,
    found: list[tuple[str, str]],
    command: str,
) -> Note:
    if not found:
        install = f"holdfast {command} install claude-code"
        return Note(topic, "missing", "no coding agent on this machine has this memory", install)
    wrong = [f"{who}: {problem}" for who, problem in found if problem]
    if wrong:
        return Note(topic, "wrong", "; ".join(wrong), f"holdfast {command} status")
    return Note(topic, "fine", f"installed for {', '.join(who for who, _ in found)}")


def _project() -> Note:
    from ..records.roots import project_place

    try:
        place = project_place(folder_here())
        config.project_file(place.folder if place else None)
    except HoldfastError as error:
        return Note("project", "wrong", str(error), "holdfast project status")
    if place is None:
        return Note(
            "project",
            "missing",
            "this folder is in none, so no records count here",
            "holdfast project init",
        )
    records = sum(1 for _ in place.records.glob("*/*.md"))
    add = "" if records else 'holdfast record add --category decisions "…"'
    return Note(
        "project",
        "fine" if records else "missing",
        f"{place.scope} has {counted(records, 'record')}",
        add,
    )


def _file(file: Path) -> Iterator[Note]:
    """Check the store's file: permissions, free space, file system. It may not exist yet."""
    try:
        there = file.stat()
    except OSError:
        there = None
    # Windows has no such permission bits.
    if there is not None and stat.S_IMODE(there.st_mode) & 0o077 and platform.system() != "Windows":
        yield Note(
            "privacy", "wrong", f"others on this machine can read {file}", f"chmod 600 '{file}'"
        )
    folder = next(
        parent for parent in (file.resolve().parent, *file.resolve().parents) if parent.is_dir()
    )
    size = there.st_size if there else 0
    free = shutil.disk_usage(folder).free
    told = f"{output.size(size)} at {file}, {output.size(free)} free"
    # A vacuum writes a second copy, so it needs as much space as the file.
    if free < max(ROOM, size):
        yield Note(
            "disk", "wrong", told, "free some space, or move the file and set HOLDFAST_STORE"
        )
    else:
        yield Note("disk", "fine", told)
    kind = _file_system(folder)
    if kind in NETWORKED:
        detail = f"{file} lies on {kind}, where locks of several machines cannot be relied on"
        yield Note(
            "file system",
            "wrong",
            detail,
            "keep the file on a disk of this machine, or use a Postgres store",
        )


def _key(place: str) -> Iterator[Note]:
    """Check the key of an encrypted store: whether it can be read, and by whom else."""
    from ..storage.sqlite.encryption import KEYRING, absolute, is_exposed, read_key

    try:
        if not read_key(place):
            return
    except HoldfastError as error:
        yield Note("key", "wrong", str(error), "holdfast settings")
        return
    file = Path(absolute(place))
    if not place.startswith(KEYRING) and is_exposed(file):
        yield Note("key", "wrong", f"others on this machine can read {file}", f"chmod 600 '{file}'")
    else:
        yield Note("key", "fine", f"the key of the store is in {place}")


def _file_system(folder: Path) -> str:
    """Return the file system type of a folder; empty where the system does not tell."""
    try:
        mounts = Path("/proc/mounts").read_text("utf-8", errors="replace")
    except OSError:
        return ""
    kinds = {
        line.split()[1]: line.split()[2] for line in mounts.splitlines() if len(line.split()) > 2
    }
    # The nearest mount point above the folder is the one it is on.
    above = (folder, *folder.parents)
    return next((kinds[str(one)] for one in above if str(one) in kinds), "")
