"""Role files: one agent, or several that work together, described in YAML.

A file is validated completely before anything runs; an unknown key is an error.
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
# Default cap of semantic memories (seed 000).
DEFAULT_MEMORIES = 1000


class Strict(BaseModel):
    """Base model: unknown keys are errors."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        protected_namespaces=(),
    )


M = TypeVar("M", bound=Strict)
Name = Annotated[str, Field(pattern=NAME)]


# Provider of the scripted agent, which needs no model.
OFFLINE = "offline"


class Model(Strict):
    """The language model."""

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
    """The embedding model. Empty: the default for the agent's model."""

    provider: str = ""
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""


class Episodic(Strict):
    """Episodic memory: what happened during tasks."""

    enabled: bool = True
    max_episodes: int = Field(default=500, ge=1)


class Semantic(Strict):
    """Semantic memory: facts and knowledge."""

    enabled: bool = True
    max_memories: int = Field(default=DEFAULT_MEMORIES, ge=1)


class Procedural(Strict):
    """Procedural memory: policies and patterns, part of every system prompt."""

    enabled: bool = True
    max_procedures: int = Field(default=100, ge=1)


class Consolidation(Strict):
    """When episodes become facts, and with which model."""

    enabled: bool = True
    interval: Literal["after_session", "after_autonomous", "manual"] = "after_session"
    max_episodes_per_run: int = Field(default=20, ge=1)
    model_override: str | None = None


class MemoryConfig(Strict):
    """Settings under `spec.memory`."""

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
    """Memory shared by several agents."""

    enabled: bool = False
    store_path: str | None = None
    max_memories: int | None = Field(default=None, ge=1)
    store_backend: Literal["sqlite-vec", "holdfast"] = "sqlite-vec"


class DelegateMemory(Strict):
    """Memory shared by the agents of one delegate tool."""

    store_path: str
    max_memories: int | None = Field(default=None, ge=1)


class InlineAgent(Strict):
    """An agent that another one can call, by its role file."""

    name: Name
    role_file: str
    description: str = ""


class Delegate(Strict):
    """Delegation: a tool for each agent that this one can call."""

    type: Literal["delegate"]
    agents: tuple[InlineAgent, ...] = Field(min_length=1)
    mode: Literal["inline"] = "inline"
    max_depth: int = Field(default=3, ge=1)
    timeout_seconds: float = Field(default=120, gt=0)
    shared_memory: DelegateMemory | None = None


class Cron(Strict):
    """Run a prompt on a schedule of five fields: minute, hour, day, month, weekday."""

    type: Literal["cron"]
    schedule: str
    prompt: str
    timezone: str = "UTC"


class FileWatch(Strict):
    """Run a prompt when a file changes; `{path}` is replaced."""

    type: Literal["file_watch"]
    paths: tuple[str, ...] = Field(min_length=1)
    extensions: tuple[str, ...] = ()
    prompt_template: str = "File changed: {path}"
    debounce_seconds: float = Field(default=1.0, ge=0)
    process_existing: bool = False


class Webhook(Strict):
    """Run the body of a request with a valid signature. Listens on localhost only."""

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
    """Restrictions of tools."""

    restrict_db_paths: bool = False


class Security(Strict):
    """Restrictions of the agent."""

    tools: ToolSecurity = ToolSecurity()


class Spec(Strict):
    """The agent."""

    role: str
    model: Model
    memory: MemoryConfig | None = None
    tools: tuple[Delegate, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    guardrails: Guardrails = Guardrails()
    security: Security = Security()


class Metadata(Strict):
    """Its name and description."""

    name: Name
    description: str = ""
    tags: tuple[str, ...] = ()
    author: str = ""
    version: str = ""


class Role(Strict):
    """A complete role file."""

    # Spelling of the file format.
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
        """The role's file; relative paths in it are resolved from its folder."""
        return self._file

    def beside(self, path: str) -> Path:
        """Resolve a path of this role: expand `~`, relative to the file and not to the working
        directory.
        """
        return self._file.parent / Path(path).expanduser()

    def with_memory(self, memory: MemoryConfig | None) -> Role:
        """Return the same agent with another memory."""
        changed = self.model_copy(update={"spec": self.spec.model_copy(update={"memory": memory})})
        changed._file = self._file
        return changed

    def sharing(
        self,
        store_path: str,
        max_memories: int | None,
        scope: str | None = None,
    ) -> Role:
        """Return the same agent with a shared memory, added if it had none. Without a cap it keeps
        its own.
        """
        memory = self.spec.memory or MemoryConfig()
        shared: dict[str, Any] = {"store_path": store_path, "scope": scope}
        if max_memories is not None:
            semantic = memory.semantic.model_copy(update={"max_memories": max_memories})
            shared |= {"max_memories": max_memories, "semantic": semantic}
        return self.with_memory(memory.model_copy(update=shared))


class DelegateSink(Strict):
    """Sink: services that receive the answers of a service as prompts."""

    type: Literal["delegate"]
    target: str | tuple[str, ...]
    queue_size: int = Field(default=100, ge=1)
    timeout_seconds: float = Field(default=60, gt=0)

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of those services."""
        return (self.target,) if isinstance(self.target, str) else self.target


class Service(Strict):
    """One agent of a compose file."""

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
    """A complete compose file."""

    apiVersion: ApiVersion  # noqa: N815
    kind: Literal["Compose"]
    metadata: Metadata
    spec: ComposeSpec
    _file: Path = PrivateAttr(default=Path("compose.yaml"))

    @property
    def file(self) -> Path:
        """The file it was read from."""
        return self._file


def load_role(path: str | Path) -> Role:
    """Read a role file; InvalidInput names the first error and what to do."""
    return _load(Path(path).expanduser(), Role)


def load_compose(path: str | Path) -> Compose:
    """Read a compose file, validated like a role."""
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
            f"{path} is not valid YAML: {reason(error)}. Fix it and try again."
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
    """Describe the first error of a file: location, and what was probably meant."""
    # A misspelt key is also a missing one; the misspelling says more.
    first = min(error.errors(), key=lambda mistake: mistake["type"] != "extra_forbidden")
    place = [part for at, part in enumerate(first["loc"]) if not _is_tag(first["loc"], at)]
    where = ".".join(map(str, place))
    value = first["input"]
    match first["type"]:
        case "extra_forbidden":
            message = _unknown(where, str(place[-1]), _keys(kind, place[:-1]))
        case "missing":
            message = f"the key {where!r} is missing."
        case "union_tag_not_found":
            message = f"the key '{where}.type' is missing."
        case "literal_error" | "union_tag_invalid":
            expected = first["ctx"].get("expected") or first["ctx"]["expected_tags"]
            message = f"{where} must be {expected}, not {first['ctx'].get('tag') or value!r}."
        case "string_pattern_mismatch" if where.endswith("name"):
            message = (
                f"{where} may have lower-case letters, digits, '-' and '_'; {value!r} has "
                "something else."
            )
        case "model_type" if where == "spec.model" and isinstance(value, str):
            provider, _, name = value.partition(":")
            message = (
                f"spec.model must be written as {{provider: {provider}, name: {name or '…'}}}."
            )
        case "value_error":
            message = f"{where}: {first['ctx']['error']}." if where else f"{first['ctx']['error']}."
        case _:
            message = f"{where}: {first['msg']} (it is {value!r})."
    return message


def _unknown(
    where: str,
    key: str,
    known: Sequence[str],
) -> str:
    hint = meant(key, known) or (f" Known here: {', '.join(known)}." if known else "")
    return f"there is no key {where!r}.{hint}"


def _is_tag(place: Sequence[int | str], at: int) -> bool:
    """Whether a part of a location is pydantic's name for a trigger type, which is not a key of the
    file.
    """
    return at > 1 and place[at - 2] == "triggers" and place[at] in ("cron", "file_watch", "webhook")


def _keys(kind: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    """Known keys at a location of the file."""
    models: list[type[BaseModel]] = [kind]
    for part in place:
        below: list[type[BaseModel]] = []
        for model in models:
            below += _below(model, part)
        models = below
    keys: list[str] = []
    for model in models:
        keys += model.model_fields
    return keys


def _below(model: type[BaseModel], part: int | str) -> list[type[BaseModel]]:
    field = model.model_fields.get(str(part))
    return [model] if field is None else _models_in(field.annotation)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    # A union, a list or an annotation: its parts may be models.
    models: list[type[BaseModel]] = []
    for inner in getattr(annotation, "__args__", ()):
        models += _models_in(inner)
    return models
