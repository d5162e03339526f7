"""Role files: an agent, or several that work together, described in YAML.

Reading a file checks all of it before anything is done with it: a key that nobody knows is a
mistake, not a wish.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from ..errors import InvalidInput, meant, reason

ApiVersion = Literal["holdfast/v1", "initrunner/v1"]
NAME = r"^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$"
DEFAULT_MEMORIES = 1000


class Strict(BaseModel):
    """A part of a file in which every key has to be known."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


M = TypeVar("M", bound=Strict)
Name = Annotated[str, Field(pattern=NAME)]


# The provider of a scripted agent, which needs no model.
OFFLINE = "offline"


class Model(Strict):
    """Which model answers."""

    provider: str
    name: str = ""
    base_url: str | None = None
    api_key_env: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _only_offline_needs_no_name(self) -> Model:
        if not self.name and self.provider != OFFLINE:
            raise ValueError("name is missing, the model of this provider")
        return self


class Embeddings(Strict):
    """Which model embeds. Empty: what goes with the agent's own."""

    provider: str = ""
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""


class Episodic(Strict):
    """What happened during tasks."""

    enabled: bool = True
    max_episodes: int = Field(default=500, ge=1)


class Semantic(Strict):
    """Facts and knowledge."""

    enabled: bool = True
    max_memories: int = Field(default=DEFAULT_MEMORIES, ge=1)


class Procedural(Strict):
    """Policies and patterns, which go into every system prompt."""

    enabled: bool = True
    max_procedures: int = Field(default=100, ge=1)


class Consolidation(Strict):
    """When episodes become facts, and by which model."""

    enabled: bool = True
    interval: Literal["after_session", "after_autonomous", "manual"] = "after_session"
    max_episodes_per_run: int = Field(default=20, ge=1)
    model_override: str | None = None


class MemoryConfig(Strict):
    """Everything under `spec.memory`."""

    max_sessions: int = Field(default=10, ge=1)
    max_memories: int = Field(default=DEFAULT_MEMORIES, ge=1)
    max_resume_messages: int = Field(default=20, ge=1)
    store_backend: Literal["sqlite-vec", "holdfast"] = "sqlite-vec"
    store_path: str | None = None
    scope: str | None = None
    embeddings: Embeddings = Embeddings()
    episodic: Episodic = Episodic()
    semantic: Semantic = Semantic()
    procedural: Procedural = Procedural()
    consolidation: Consolidation = Consolidation()

    @model_validator(mode="after")
    def _the_old_name_still_counts(self) -> MemoryConfig:
        if self.max_memories != DEFAULT_MEMORIES and self.semantic.max_memories == DEFAULT_MEMORIES:
            synced = self.semantic.model_copy(update={"max_memories": self.max_memories})
            object.__setattr__(self, "semantic", synced)
        return self


class SharedMemory(Strict):
    """A memory that several agents use as one."""

    enabled: bool = False
    store_path: str | None = None
    max_memories: int | None = Field(default=None, ge=1)
    store_backend: Literal["sqlite-vec", "holdfast"] = "sqlite-vec"


class DelegateMemory(Strict):
    """The memory that the agents behind one delegate tool use as one."""

    store_path: str
    max_memories: int | None = Field(default=None, ge=1)


class InlineAgent(Strict):
    """An agent that another one may call, by its role file."""

    name: Name
    role_file: str
    description: str = ""


class Delegate(Strict):
    """A tool for each of several agents that this one may hand a task to."""

    type: Literal["delegate"]
    agents: tuple[InlineAgent, ...] = Field(min_length=1)
    mode: Literal["inline"] = "inline"
    max_depth: int = Field(default=3, ge=1)
    timeout_seconds: float = Field(default=120, gt=0)
    shared_memory: DelegateMemory | None = None


class Cron(Strict):
    """Runs a prompt at times, given as five fields: minute, hour, day, month, weekday."""

    type: Literal["cron"]
    schedule: str
    prompt: str
    timezone: str = "UTC"


class FileWatch(Strict):
    """Runs a prompt when a file changes; `{path}` in it is filled in."""

    type: Literal["file_watch"]
    paths: tuple[str, ...] = Field(min_length=1)
    extensions: tuple[str, ...] = ()
    prompt_template: str = "File changed: {path}"
    debounce_seconds: float = Field(default=1.0, ge=0)
    process_existing: bool = False


class Webhook(Strict):
    """Runs the body of a request, if its signature fits. Listens on this machine only."""

    type: Literal["webhook"]
    path: str = Field(default="/webhook", pattern="^/")
    port: int = Field(default=8080, ge=0, le=65535)
    method: Literal["POST", "PUT"] = "POST"
    rate_limit_rpm: int = Field(default=60, ge=1)
    secret: str | None = None


Trigger = Annotated[Cron | FileWatch | Webhook, Field(discriminator="type")]


class Guardrails(Strict):
    """Limits of one run."""

    max_iterations: int = Field(default=10, ge=1)
    max_tool_calls: int | None = Field(default=None, ge=1)
    max_tokens_per_run: int | None = Field(default=None, ge=1)
    max_request_limit: int | None = Field(default=None, ge=1)
    timeout_seconds: float | None = Field(default=None, gt=0)


class ToolSecurity(Strict):
    """What tools may touch."""

    restrict_db_paths: bool = False


class Security(Strict):
    """What the agent may touch."""

    tools: ToolSecurity = ToolSecurity()


class Spec(Strict):
    """What the agent is."""

    role: str
    model: Model
    memory: MemoryConfig | None = None
    tools: tuple[Delegate, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    guardrails: Guardrails = Guardrails()
    security: Security = Security()


class Metadata(Strict):
    """What it is called."""

    name: Name
    description: str = ""
    tags: tuple[str, ...] = ()
    author: str = ""
    version: str = ""


class Role(Strict):
    """A whole role file."""

    # The file's own spelling.
    apiVersion: ApiVersion  # noqa: N815
    kind: Literal["Agent"]
    metadata: Metadata
    spec: Spec
    _file: Path = PrivateAttr(default=Path("role.yaml"))

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.metadata.name

    @property
    def file(self) -> Path:
        """Where the role was read from; what it names by a relative path lies beside it."""
        return self._file

    def beside(self, path: str) -> Path:
        """A path of this role: `~` opened, and relative to the file rather than to wherever the
        command was run.
        """
        return self._file.parent / Path(path).expanduser()

    def with_memory(self, memory: MemoryConfig | None) -> Role:
        """The same agent with another memory."""
        changed = self.model_copy(update={"spec": self.spec.model_copy(update={"memory": memory})})
        changed._file = self._file
        return changed

    def sharing(self, store_path: str, max_memories: int | None, scope: str | None = None) -> Role:
        """The same agent in a memory that others use too; one that had none gets one. Without a cap
        its own stays.
        """
        memory = self.spec.memory or MemoryConfig()
        shared: dict[str, Any] = {"store_path": store_path, "scope": scope}
        if max_memories is not None:
            semantic = memory.semantic.model_copy(update={"max_memories": max_memories})
            shared |= {"max_memories": max_memories, "semantic": semantic}
        return self.with_memory(memory.model_copy(update=shared))


class DelegateSink(Strict):
    """Where the answers of a service go: each becomes a prompt of these services."""

    type: Literal["delegate"]
    target: str | tuple[str, ...]
    queue_size: int = Field(default=100, ge=1)
    timeout_seconds: float = Field(default=60, gt=0)

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of those services."""
        return (self.target,) if isinstance(self.target, str) else self.target


class Service(Strict):
    """One agent of a composition."""

    role: str
    sink: DelegateSink | None = None
    depends_on: tuple[str, ...] = ()


class ComposeSpec(Strict):
    """The agents, and what they share."""

    services: dict[str, Service] = Field(min_length=1)
    shared_memory: SharedMemory = SharedMemory()

    @model_validator(mode="after")
    def _services_exist(self) -> ComposeSpec:
        for name, service in self.services.items():
            for other in (*service.depends_on, *(service.sink.targets if service.sink else ())):
                if other not in self.services:
                    raise ValueError(
                        f"service {name!r} names {other!r}, but there is no such service"
                    )
        return self


class Compose(Strict):
    """A whole compose file."""

    apiVersion: ApiVersion  # noqa: N815
    kind: Literal["Compose"]
    metadata: Metadata
    spec: ComposeSpec
    _file: Path = PrivateAttr(default=Path("compose.yaml"))

    @property
    def file(self) -> Path:
        """Where it was read from."""
        return self._file


def load_role(path: str | Path) -> Role:
    """The role in a file; InvalidInput names the first thing that is wrong with it and what to
    do.
    """
    return _load(Path(path).expanduser(), Role)


def load_compose(path: str | Path) -> Compose:
    """The composition in a file, checked like a role."""
    return _load(Path(path).expanduser(), Compose)


def _load(path: Path, kind: type[M]) -> M:
    try:
        data = YAML(typ="safe").load(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InvalidInput(
            f"There is no file {path}. `holdfast agent init --name NAME` writes one."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"Cannot read {path}: {reason(error)}. Nothing was started.") from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{path} is not valid YAML: {reason(error)}. Mend it and try again."
        ) from error
    if not isinstance(data, dict):
        raise InvalidInput(
            f"{path} describes no agent: it should begin with apiVersion: holdfast/v1."
        )
    expected = kind.model_fields["kind"].annotation.__args__[0]  # type: ignore[union-attr]
    if data.get("kind") not in (None, expected):
        raise InvalidInput(
            f"{path} is of kind {data['kind']!r}; this command takes a file of kind {expected!r}."
        )
    try:
        loaded = kind.model_validate(data)
    except ValidationError as error:
        raise InvalidInput(f"{path}: {_explained(error, kind)}") from error
    loaded._file = path.absolute()  # type: ignore[attr-defined]
    return loaded


def _explained(error: ValidationError, kind: type[BaseModel]) -> str:
    """The first mistake of a file, where it is, and what was probably meant."""
    # A misspelt key is also a missing one; the misspelling says more.
    first = min(error.errors(), key=lambda mistake: mistake["type"] != "extra_forbidden")
    place = [part for at, part in enumerate(first["loc"]) if not _is_tag(first["loc"], at)]
    where = ".".join(map(str, place))
    given = first["input"]
    match first["type"]:
        case "extra_forbidden":
            told = _unknown(where, str(place[-1]), _keys(kind, place[:-1]))
        case "missing":
            told = f"the key {where!r} is missing."
        case "union_tag_not_found":
            told = f"the key '{where}.type' is missing."
        case "literal_error" | "union_tag_invalid":
            expected = first["ctx"].get("expected") or first["ctx"]["expected_tags"]
            told = f"{where} must be {expected}, not {first['ctx'].get('tag') or given!r}."
        case "string_pattern_mismatch" if where.endswith("name"):
            told = (
                f"{where} may have lower-case letters, digits, '-' and '_'; {given!r} has "
                "something else."
            )
        case "model_type" if where == "spec.model" and isinstance(given, str):
            provider, _, name = given.partition(":")
            told = f"spec.model must be written as {{provider: {provider}, name: {name or '…'}}}."
        case "value_error":
            told = f"{where}: {first['ctx']['error']}." if where else f"{first['ctx']['error']}."
        case _:
            told = f"{where}: {first['msg']} (it is {given!r})."
    return told


def _unknown(where: str, key: str, known: Sequence[str]) -> str:
    hint = meant(key, known) or (f" Known here: {', '.join(known)}." if known else "")
    return f"there is no key {where!r}.{hint}"


def _is_tag(place: Sequence[int | str], at: int) -> bool:
    """Whether a part of a place is pydantic's name for a kind of trigger, which is no key of the
    file.
    """
    return at > 1 and place[at - 2] == "triggers" and place[at] in ("cron", "file_watch", "webhook")


def _keys(kind: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    """The keys that are known at a place in a file."""
    models: list[type[BaseModel]] = [kind]
    for part in place:
        models = [found for model in models for found in _below(model, part)]
    return [key for model in models for key in model.model_fields]


def _below(model: type[BaseModel], part: int | str) -> list[type[BaseModel]]:
    field = model.model_fields.get(str(part))
    return [model] if field is None else _models_in(field.annotation)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for inner in getattr(annotation, "__args__", ()) for found in _models_in(inner)]
