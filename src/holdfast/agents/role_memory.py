"""Memory of an agent: store and scope, the three memory types, their caps, and consolidation."""

from __future__ import annotations

import logging
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from .. import config, retention_mode
from ..client import Holdfast
from ..context.session_context import procedures
from ..errors import EmbedderError, HoldfastError, InvalidInput, NotFound, Refused, StoreError
from ..extraction.episodes import Consolidated, unread
from ..ingest.sanitize import clean, without_secrets
from ..ingest.session_log import append
from ..maintenance.embedding_catchup import embed_some
from ..models.embeddings.tiers import Tiers
from ..models.llm.chat import Complete
from ..scopes import owner_scope
from ..storage import InMemoryStore, Store, open_store
from ..storage.connect import check_place, is_server, shown
from ..storage.sqlite.store import IN_MEMORY
from ..storage.store_types import Filter
from ..types import (
    KINDS,
    LAYERS,
    MAIN_KINDS,
    Clock,
    Kind,
    Layer,
    Memories,
    Memory,
    Scope,
    system_clock,
)
from . import embeddings, initrunner, message_history
from .answer_memories import AnswerMemories, AnswerMemory
from .role import MemoryConfig, Role

log = logging.getLogger(__name__)

# A file is one memory for all its users; on a server every agent has its own scope unless the role
# names one.
FILE_SCOPE = Scope("shared", "agents")
NO_CONFIG = "No memory config in role definition."
from_outside: ContextVar[bool] = ContextVar("from_outside", default=False)
"""Whether the current task came from an untrusted source, such as a web request."""
# Memories embedded right after a write: the new one, and some that an earlier failure left.
_FEW = 64


class ScoredMemory(NamedTuple):
    """A memory with its similarity to the query in [0, 1], and how it was found."""

    memory: Memory
    score: float
    found_by: str = ""


class RoleMemory:
    """Memory of a role. Everything is opened lazily.

    Tools and commands show the integer `seq` of memories as ids.
    """

    def __init__(
        self,
        role: Role,
        *,
        clock: Clock = system_clock,
        settings: config.Settings | None = None,
        environ: Mapping[str, str] | None = None,
        complete: Callable[[], Complete] | None = None,
        mode: str | None = None,
        user_id: str | None = None,
        actor: str | None = None,
    ) -> None:
        """`complete` returns the model for consolidation and is called only when needed.

        `mode` may be stricter than configured. `user_id` makes the memory that user's, overriding
        the role's scope. `actor` names the user of the memory if it is not the agent.
        """
        if role.spec.memory is None:
            raise NotFound(NO_CONFIG)
        self.role = role
        self.config = role.spec.memory
        self.clock = clock
        self.settings = settings or config.load()
        self.environ = config.environment() if environ is None else environ
        self.mode = retention_mode.chosen(self.settings.memory_mode, mode)
        self.place = IN_MEMORY if self.incognito else place(role, self.settings)
        self.scope = _scope(role, self.place) if user_id is None else owner_scope(user_id)
        self._complete = complete
        self._actor = actor or f"agent:{role.name}"
        # Tools called in parallel run in several threads.
        self._opening = threading.Lock()
        self._hf: Holdfast | None = None
        self.answer_memories = AnswerMemories()

    # Opening

    @property
    def hf(self) -> Holdfast:
        """The opened memory; creates a missing file."""
        with self._opening:
            if self._hf is None:
                self._hf = Holdfast(
                    self._opened(),
                    [self.scope],
                    settings=self.settings,
                    tiers=self.tiers,
                    clock=self.clock,
                    actor=self._actor,
                    mode=self.mode,
                )
                self._hf.remedy = embeddings.remedy(self.role)
            return self._hf

    @property
    def incognito(self) -> bool:
        """Whether nothing is stored: the memory ends with the process, and nothing is read from
        disk.
        """
        return self.mode == "incognito"

    def _opened(self) -> Store:
        if self.incognito:
            return InMemoryStore(clock=self.clock)
        try:
            return open_store(
                self.place,
                replica=self.settings.replica,
                key_file=self.settings.key_file,
                clock=self.clock,
            )
        except StoreError as error:
            if not is_server(self.place) and initrunner.is_database(Path(self.place)):
                message = initrunner.refused(
                    Path(self.place),
                    self.role.file,
                    named=self.config.store_path is not None,
                )
                raise type(error)(f"{self.place} {message}") from error
            # A role names its store in its file, not with an option.
            message = str(error).replace(
                "with --store", f"under spec.memory.store_path in {self.role.file.name}"
            )
            raise type(error)(message) from error

    @cached_property
    def tiers(self) -> Tiers:
        """Embedding models of this agent."""
        # Incognito text must reach no embedder.
        if self.incognito:
            return Tiers((), environ={}, clock=self.clock)
        return embeddings.tiers(self.role, self.environ, self.clock)

    @property
    def exists(self) -> bool:
        """Whether there is a store; a server always has one."""
        if self._hf is not None or self.incognito:
            return self._hf is not None
        return is_server(self.place) or Path(self.place).exists()

    @property
    def left_behind(self) -> str:
        """Message about an InitRunner database of this agent that was not imported; empty if there
        is none.
        """
        old = self._old_database()
        if self.incognito or old is None or not initrunner.is_database(old):
            return ""
        if self.exists:
            store = self.hf.store
            where = Filter((self.scope,))
            # Version 0.1.0 imported it without recording the file.
            first = store.list(where, limit=1, order="oldest")
            known = any(
                file.path == str(old.resolve())
                for file in store.files.list(self.scope, initrunner.ROOT)
            )
            if known or (first and first[0].source == initrunner.ROOT):
                return ""
        return initrunner.left_behind(old, self.role.file)

    def _old_database(self) -> Path | None:
        """Path of InitRunner's database for this memory, unless the role names its own place."""
        if is_server(self.place):
            return None if self.config.store_path else initrunner.default_database(self.role.name)
        here = Path(self.place)
        usual = here.parent == config.agent_store(self.role.name).parent
        return initrunner.default_database(here.stem) if usual else None

    @property
    def location(self) -> str:
        """Location of the memories for people, without a password."""
        return shown(self.place)

    def check(self) -> None:
        """Raise if the memories cannot be embedded as configured: missing key, other model, other
        length.
        """
        if self.incognito:
            return
        embeddings.check_keys(self.role, self.environ)
        if self.exists:
            embeddings.check_model(
                self.role,
                self.hf.store,
                self.scope,
                self.tiers,
            )

    def close(self) -> None:
        """Close everything. Idempotent."""
        if self._hf is not None:
            self._hf.close()
            self._hf = None

    # Memories

    paused: bool = False
    """Whether the user paused memory: then nothing is stored, not even messages."""

    def remember(
        self,
        type_: str,
        content: str,
        *,
        category: str = "general",
        metadata: Mapping[str, Any] | None = None,
    ) -> Memory:
        """Store one memory of a type, evict the oldest beyond the type's cap, and embed it.

        A failing model does not prevent storing. Raises DimensionMismatchError if the model's
        vectors changed their length; the memory is stored and found by full text. Raises Refused
        for a procedure in a task that came from outside.
        """
        if self.paused:
            raise Refused("Not stored: the person asked for nothing to be remembered for now.")
        layer = layer_of(type_)
        outside = from_outside.get()
        if outside and layer == "procedural":
            raise Refused(
                "Not learned: this task came from outside, and a procedure is followed ever "
                "after. Only the people who run the agent may teach it one."
            )
        stored = self.hf.remember(
            content,
            kind=MAIN_KINDS[layer],
            category=tidy(category),
            source=f"agent:{self.role.name}",
            trust="external" if outside else "agent",
            metadata=dict(metadata or {}),
        )
        self.keep_within_caps(layer)
        self.embed()
        return stored

    def keep_within_caps(self, *layers: Layer) -> int:
        """Evict the oldest memories of these types beyond the role's caps; return their number."""
        return sum(
            len(
                self.hf.admin.evict(
                    kinds=kinds_of(layer),
                    keep=cap(self.config, layer),
                    # Without consolidation, episodes need not be kept for it.
                    spare_unconsolidated=layer == "episodic" and self.config.consolidation.enabled,
                )
            )
            for layer in layers or tuple(MAIN_KINDS)
        )

    def embed(self) -> None:
        """Embed some memories without a vector, with each model."""
        for embedder in self.tiers:
            if not embed_some(self.hf.store, self.tiers, embedder, limit=_FEW, scopes=[self.scope]):
                # The log has the reason. An unreachable model comes back; a changed one does not.
                embeddings.check_length(
                    self.role,
                    self.hf.store,
                    self.scope,
                    embedder,
                )

    def recall(
        self,
        query: str,
        *,
        top_k: int = 5,
        types: Sequence[str] | None = None,
    ) -> list[ScoredMemory]:
        """Recall memories for a query, most similar first, of these types or all."""
        if top_k < 1:
            raise InvalidInput(f"top_k must be at least 1, not {top_k}.")
        kinds: list[Kind] = []
        for type_ in types or ():
            kinds += kinds_named(type_)
        found = []
        for hit in self.hf.recall(clean(query), limit=top_k, kinds=kinds, min_score=0.0):
            # Without vectors there is no similarity; the score is the next best.
            similarity = hit.why.similarity
            score = hit.score if similarity is None else similarity
            found.append(ScoredMemory(hit.memory, score, ", ".join(hit.why.arms)))
        return sorted(found, key=lambda one: -one.score)

    def listed(
        self,
        *,
        type_: str | None = None,
        category: str | None = None,
        limit: int | None = 20,
    ) -> Memories:
        """Active memories, newest first."""
        if limit is not None and limit < 1:
            raise InvalidInput(f"limit must be at least 1, not {limit}.")
        category = clean(category) if category else None
        memories = self.hf.list(
            kinds=kinds_named(type_) if type_ else (),
            # Only memories that the agent stored itself have a normalised category.
            categories=tuple({category, tidy(category)}) if category else (),
        )
        # By their own time, not the order of storage: an import adds old memories late.
        memories.sort(key=lambda memory: (memory.created_at, memory.seq), reverse=True)
        return memories if limit is None else memories[:limit]

    def procedures(self) -> str:
        """Procedures as a section of the system prompt; empty if there are none or they cannot be
        read.
        """
        if not self.config.procedural.enabled:
            return ""
        try:
            if not self.exists:
                return ""
            text, rules = procedures(self.hf.store, self.scope, self.clock())
            self.answer_memories.add(
                AnswerMemory(rule, "applies to every answer") for rule in rules
            )
            return text
        except HoldfastError as error:
            log.warning(
                "the procedures of %s could not be read: %s",
                self.role.name,
                error,
            )
            return ""

    @property
    def recall_is_off(self) -> bool:
        """Whether proactive recall is switched off. Procedures still apply."""
        # Unset means on.
        return (
            self.exists and self.hf.store.profiles.get(self.scope).get("proactive_recall") is False
        )

    @property
    def proposals(self) -> int:
        """Number of memories that need human approval."""
        return len(self.hf.reviews.list()) if self.exists else 0

    def capture(
        self,
        content: str,
        *,
        category: str,
        metadata: Mapping[str, Any] | None = None,
    ) -> Memory | None:
        """Store an episode for the agent. Never raises: a failure is logged, and None is
        returned.
        """
        if not self.config.episodic.enabled:
            return None
        try:
            return self.remember(
                "episodic",
                content,
                category=category,
                metadata=metadata,
            )
        except (HoldfastError, OSError) as error:
            log.warning(
                "an episode of %s was not captured: %s",
                self.role.name,
                error,
            )
            return None

    @property
    def waiting(self) -> bool:
        """Whether there are episodes to consolidate at the end of the session."""
        due = (
            self.config.consolidation.enabled
            and self.config.consolidation.interval == "after_session"
        )
        try:
            return due and self.exists and bool(unread(self.hf.store, self.scope, 1))
        except HoldfastError:
            return False

    @property
    def complete(self) -> Complete | None:
        """Model for memory tasks, created on first use; None without one."""
        made = self._complete
        if made is None:
            return None

        def complete(prompt: str) -> str:
            return made()(prompt)

        return complete

    def consolidate(self, *, force: bool = False) -> Consolidated:
        """Consolidate unread episodes into facts. Never raises: the result has the reason of a
        failure.

        Does nothing if the role disables it, unless forced.
        """
        complete = self.complete
        if complete is None or self.incognito or not (force or self.config.consolidation.enabled):
            return Consolidated()
        try:
            done = self.hf.admin.consolidate(
                complete, limit=self.config.consolidation.max_episodes_per_run
            )
            if done.created:
                self.keep_within_caps("semantic", "episodic")
                self.embed()
        except Exception as error:
            # Errors of a provider's client have no common base class. A caller that forces it gets
            # the reason in the result.
            if not force:
                log.warning(
                    "consolidation of the episodes of %s failed, retrying later: %s",
                    self.role.name,
                    error,
                )
            return Consolidated(reason=f"{error}" or type(error).__name__)
        return done

    # Sessions

    def open_session(self, mode: str) -> str:
        """Start a session and return its id. Never raises: without a store the session is not
        recorded.
        """
        session = message_history.new_session_id()
        self._quietly("a session was not started", lambda: self._append(session, (), mode))
        return session

    def save(self, session: str, messages: Iterable[message_history.Body]) -> bool:
        """Append messages to a session; False, with a warning, if they could not be written. Never
        raises.
        """
        # Nothing to save, so nothing failed.
        if self.paused:
            return True
        return self._quietly(
            "Failed to save session - conversation will not be resumable",
            lambda: self._append(
                session, message_history.kept(list(messages)), message_history.INTERACTIVE
            ),
        )

    def _append(
        self,
        session: str,
        messages: Sequence[message_history.Body],
        mode: str,
    ) -> None:
        scope = self.hf.scopes[0]
        at = self.clock()
        name = self.role.name
        # Not through the public verb, which redacts every text: here it is known which parts are
        # text and which signatures.
        self.hf.admin.write(
            "append",
            lambda tx: append(
                tx, scope, session, messages, at=at, agent=name, metadata={"mode": mode}
            ),
        )

    def latest(self) -> list[message_history.Body] | None:
        """End of the agent's last conversation, as long as the role allows; None without one."""
        return (
            message_history.latest(self.hf, self.role.name, self.config.max_resume_messages)
            if self.exists
            else None
        )

    def prune_sessions(self) -> None:
        """Delete the oldest sessions beyond the role's limit. Never raises."""
        keep = self.config.max_sessions
        self._quietly(
            "old sessions were not removed",
            lambda: message_history.prune(self.hf, self.role.name, keep),
        )

    def remove_session(self, session: str) -> None:
        """Delete an excluded session with all its messages. Never raises."""
        if self.exists:
            self._quietly("the session was not removed", lambda: self.hf.sessions.purge(session))

    def end_session(
        self,
        session: str,
        *,
        reason: str,
        consolidate: bool,
    ) -> list[str]:
        """End a session: mark it, prune old ones, consolidate if due.

        Never raises; returns lines for the user.
        """
        if not self.exists:
            # Nothing was stored, so there is nothing to end.
            return []
        self._quietly(
            "the session was not marked as ended",
            lambda: self.hf.sessions.end(session, reason=reason),
        )
        self.prune_sessions()
        return describe_consolidation(self.consolidate()) if consolidate else []

    def _quietly(self, what: str, work: Callable[[], object]) -> bool:
        try:
            work()
        except Exception as error:
            # A conversation must not fail because its record cannot be written.
            log.warning("%s: %s", what, error)
            return False
        return True

    # Models

    def reembed(
        self, *, progress: Callable[[str, int], None] = lambda model, done: None
    ) -> dict[str, int]:
        """Embed every memory with the role's models and delete vectors of others: the way to change
        models.

        It can be interrupted and resumed; old vectors are deleted last.
        """
        embeddings.check_keys(self.role, self.environ)
        self._drop_misfits()
        try:
            done = self.hf.admin.reembed(progress=progress)
        except EmbedderError:
            # The length of a server's vectors is known only after the first one.
            if not self._drop_misfits():
                raise
            done = self.hf.admin.reembed(progress=progress)
        for identity in self.hf.store.vectors.dimensions([self.scope]).keys() - {
            one.identity for one in self.tiers
        }:
            self.hf.store.vectors.drop(identity, [self.scope])
        return done

    def _drop_misfits(self) -> bool:
        """Drop the vectors of models whose length changed; return whether there were any."""
        there = self.hf.store.vectors.dimensions([self.scope])
        misfits = [
            one.identity
            for one in self.tiers
            if one.dimensions not in (None, there.get(one.identity))
        ]
        return sum(self.hf.store.vectors.drop(identity, [self.scope]) for identity in misfits) > 0


def describe_consolidation(done: Consolidated) -> list[str]:
    """Describe a consolidation for the user; empty if nothing was created. The log has errors."""
    return [f"Created {done.created} semantic memories from episodic data."] if done.created else []


def place(role: Role, settings: config.Settings) -> str | Path:
    """Location of a role's memories: the configured one, else the server in use, else a file of its
    own.
    """
    wanted = role.spec.memory.store_path if role.spec.memory else None
    if wanted is None:
        return settings.store if is_server(settings.store) else config.agent_store(role.name)
    check_place(wanted)
    if is_server(wanted):
        return wanted
    path = role.beside(wanted)
    home = config.agent_store(role.name).parent.parent
    if role.spec.security.tools.restrict_db_paths and not path.resolve().is_relative_to(
        home.resolve()
    ):
        raise InvalidInput(
            f"Store path '{path}' is outside {home}. Put it there, or set "
            "spec.security.tools.restrict_db_paths: false."
        )
    return path


def _scope(role: Role, where: str | Path) -> Scope:
    if role.spec.memory and role.spec.memory.scope:
        return Scope.parse(role.spec.memory.scope)
    return Scope("agent", role.name) if is_server(where) else FILE_SCOPE


def layer_of(type_: str) -> Layer:
    """Return the memory type with this name; raises InvalidInput."""
    for known in MAIN_KINDS:
        if type_ == known:
            return known
    raise InvalidInput(f"Invalid type '{type_}'. Use: episodic, semantic, procedural")


def kinds_of(layer: Layer) -> tuple[Kind, ...]:
    """Kinds of a memory type."""
    return tuple(kind for kind, its in LAYERS.items() if its == layer)


def kinds_named(name: str) -> tuple[Kind, ...]:
    """Kinds for the name of a type or of a kind; raises InvalidInput."""
    return tuple(kind for kind in KINDS if kind == name) or kinds_of(layer_of(name))


def cap(memory: MemoryConfig, layer: Layer) -> int:
    """Cap of a memory type."""
    caps = {
        "semantic": memory.semantic.max_memories,
        "episodic": memory.episodic.max_episodes,
        "procedural": memory.procedural.max_procedures,
    }
    return caps[layer]


def tidy(category: str) -> str:
    """Normalise a category: lower case, letters and digits of any script, other characters as
    underscores.

    >>> tidy("My Notes"), tidy("---"), tidy("Настройки / UI")
    ('my_notes', 'general', 'настройки_ui')
    """
    # Redact first: a normalised secret would look like a word.
    lower = unicodedata.normalize("NFKC", without_secrets(category)).lower()
    kept = "".join(char if unicodedata.category(char)[0] in "LMN" else "_" for char in lower)
    return re.sub("_+", "_", kept).strip("_") or "general"
