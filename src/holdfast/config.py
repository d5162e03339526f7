"""Settings. The only module that reads the environment and configuration files.

A setting is something that two real deployments set differently. Its name, default and help are one
line here; `HOLDFAST_<NAME>`, the key in `config.toml`, `holdfast settings` and the docs are derived
from it.
"""

from __future__ import annotations

import getpass
import math
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import InvalidInput, UnknownSetting, meant, reason
from .retention_mode import ALIASES, MODES
from .values import dataclass, field, fields

PREFIX = "HOLDFAST_"
# onnxruntime reads this variable once, on import. Without it, it writes a device id into the user's
# cache folder and sends events to its vendor (its Privacy.md, "Disabling Telemetry").
VENDOR_TELEMETRY_OFF = {"ORT_DISABLE_TELEMETRY": "1"}


def setting(
    default: Any,
    help_: str,
    *,
    choices: tuple[str, ...] = (),
) -> Any:
    """Declare a setting: default, help text and permitted values."""
    return field(default=default, metadata={"help": help_, "choices": choices})


@dataclass(frozen=True)
class Settings:
    """All settings."""

    store: str = setting(
        "", "Path of the memory file, or a postgresql:// URL. Empty: the per-user file."
    )
    key_file: str = setting(
        "",
        (
            "File with the key of an encrypted memory file, or keyring:NAME. Empty or none: it is "
            "not encrypted."
        ),
    )
    replica: str = setting("", "URL of a streaming replica of the Postgres store, for reads.")
    scope: str = setting(
        "", "Scope of the command line when --scope is not given. Empty: user:<login>."
    )
    memory_mode: str = setting(
        "local",
        (
            "Lifetime of memory: incognito (or guest: nothing on disk), local, or synced (see "
            "sync_with)."
        ),
        choices=(*MODES, *ALIASES),
    )
    sync_with: str = setting(
        "", "Store to sync with: a path, or a postgresql:// URL. For memory mode synced."
    )
    embedding_models: str = setting(
        "static,encoder",
        (
            "Embedding models, fastest first, best last: static, encoder, none, openai:…, "
            "google:…, ollama:…."
        ),
    )
    embedding_url: str = setting("", "Base URL of an OpenAI-compatible embedding server.")
    embedding_key_env: str = setting(
        "", "Name of the variable that holds the key for the embedding server."
    )
    model: str = setting(
        "",
        ("Language model for extraction and reflection, as provider:name. Empty: rules, no model."),
    )
    model_url: str = setting("", "Base URL of an OpenAI-compatible server for that model.")
    model_key_env: str = setting("", "Name of the variable that holds the key for that model.")
    model_tokens_per_run: int = setting(
        1_000_000,
        "Token budget for language models per command, call or worker run.",
    )
    model_tokens_per_day: int = setting(
        3_000_000,
        "Token budget for language models per day (UTC) and scope.",
    )
    maintenance: str = setting(
        "enrich 0 2 * * *; consolidate 0 3 * * *; decay 0 4 * * *; reflect 0 3 * * 0",
        "Schedule of `holdfast worker run`: cron expressions, UTC, joined by semicolons.",
    )
    decay_threshold: float = setting(
        0.05, "Confidence, from 0 to 1, below which an unused fact fades."
    )
    vocabulary: str = setting(
        "general",
        "Categories, predicates, cues and fading: general, monthly, couch, or a .toml file.",
    )
    write_timing: str = setting(
        "policy",
        (
            "When extracted facts are stored: as the policy decides, or only at the end of the "
            "session."
        ),
        choices=("policy", "session_end"),
    )
    approval: str = setting(
        "none",
        ("What needs human approval before it is stored: nothing, rules, or everything extracted."),
        choices=("none", "rules", "all"),
    )
    recall_limit: int = setting(10, "Default number of memories that recall returns.")
    fusion: str = setting(
        "learned",
        "How recall combines its candidate lists.",
        choices=("learned", "rrf"),
    )
    context_tokens: int = setting(2000, "Default token budget of a context block.")
    max_content_bytes: int = setting(100_000, "Maximum size of one memory's text, in bytes.")
    rate_limit: int = setting(600, "Requests per minute that `holdfast serve` answers for one key.")

    def __post_init__(self) -> None:
        """Check all values, also those passed directly; raises InvalidInput."""
        for known in fields(self):
            value = getattr(self, known.name)
            if value is known.default:
                continue
            if isinstance(value, str) and not isinstance(known.default, str):
                raise InvalidInput(
                    f"{known.name} must be a number such as {known.default!r}, not {value!r}."
                )
            checked(known.name, value, "Settings")


@dataclass(frozen=True)
class Origin:
    """The value of a setting and where it came from."""

    name: str
    value: Any
    source: str
    help: str


def load(environ: Mapping[str, str] | None = None, file: Path | None = None) -> Settings:
    """Load the effective settings: defaults, then config.toml, then HOLDFAST_* variables."""
    return Settings(**{origin.name: origin.value for origin in origins(environ, file)})


def origins(environ: Mapping[str, str] | None = None, file: Path | None = None) -> list[Origin]:
    """Return each setting's value with its source. Raises InvalidInput for unknown names and bad
    values.
    """
    environ = os.environ if environ is None else environ
    file = config_file(environ) if file is None else file
    from_file = _read_file(file)
    from_env = _read_environ(environ)
    found = []
    for known in fields(Settings):
        value = known.default
        source = "default"
        if known.name in from_file:
            value = from_file[known.name]
            source = str(file)
        if known.name in from_env:
            value = from_env[known.name]
            source = PREFIX + known.name.upper()
        found.append(
            Origin(known.name, checked(known.name, value, source), source, known.metadata["help"])
        )
    return found


def _read_file(file: Path) -> dict[str, Any]:
    try:
        written = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise InvalidInput(f"Cannot read {file}: {error.strerror}.") from error
    # Imported here because most installations have no such file.
    import tomllib  # noqa: PLC0415

    try:
        values = tomllib.loads(written.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{file} is not valid TOML: {error}. Fix that line and try again."
        ) from error
    for name in values:
        _check_name(name, f"in {file}")
    return values


def _read_environ(environ: Mapping[str, str]) -> dict[str, str]:
    values = {}
    for variable, value in environ.items():
        if variable.startswith(PREFIX):
            name = variable[len(PREFIX) :].lower()
            _check_name(name, f"as {variable}")
            values[name] = value
    return values


def _check_name(name: str, where: str) -> None:
    known = [known.name for known in fields(Settings)]
    if name not in known:
        hint = meant(name, known)
        raise UnknownSetting(
            f"There is no setting {name!r} ({where}).{hint} `holdfast settings` lists them all."
        )


def checked(
    name: str,
    value: Any,
    source: str,
) -> Any:
    """Return `value` converted to the setting's type; raises InvalidInput that names `source`."""
    known = next(known for known in fields(Settings) if known.name == name)
    if isinstance(known.default, int):
        # Environment variables are text; config.toml has numbers.
        digits = str(value) if isinstance(value, str | int) else ""
        if not (digits.isascii() and digits.isdigit()) or int(digits) < 1:
            raise InvalidInput(
                f"{name} must be a whole number above 0, not {value!r} (from {source})."
            )
        return int(digits)
    if isinstance(known.default, float):
        return _share(name, value, source)
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, not {value!r} (from {source}). Put it in quotes.")
    choices = known.metadata["choices"]
    if choices and value not in choices:
        raise InvalidInput(
            f"{name} must be one of {', '.join(choices)}, not {value!r} (from {source})."
        )
    return value


def _share(
    name: str,
    value: Any,
    source: str,
) -> float:
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = math.nan
    if isinstance(value, bool) or not 0.0 <= share <= 1.0:
        raise InvalidInput(f"{name} must be a number from 0 to 1, not {value!r} (from {source}).")
    return share


PROJECT_FILE = "holdfast.yaml"
PROJECT_KEYS = ("memories", "models", "prompts")


def project_file(folder: Path | None) -> dict[str, Any]:
    """Merge the project settings of two holdfast.yaml files: the user's, beside config.toml, then
    that of `folder`.

    `memories` and `models` are mappings of which a project may override single keys; `prompts` is a
    folder.
    """
    merged: dict[str, Any] = {"memories": {}, "models": {}, "prompts": ""}
    for file in (config_file().with_name(PROJECT_FILE), folder and folder / PROJECT_FILE):
        values = _read_yaml(file) if file and file.is_file() else {}
        for key in ("memories", "models"):
            merged[key] |= _mapping(values.get(key), f"{key} in {file}")
        if values.get("prompts"):
            merged["prompts"] = str(
                Path(file or "").parent / Path(str(values["prompts"])).expanduser()
            )
    return merged


def _read_yaml(file: Path) -> dict[str, Any]:
    # Imported here because it loads slowly and few projects have such a file.
    from ruamel.yaml import YAML  # noqa: PLC0415
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        values = _mapping(YAML(typ="safe").load(file.read_text("utf-8")), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"Cannot read {file}: {reason(error)}.") from error
    except (YAMLError, ValueError) as error:
        raise InvalidInput(
            f"{file} is not valid YAML: {reason(error)}. Fix it and try again."
        ) from error
    for name in values:
        if name not in PROJECT_KEYS:
            hint = meant(str(name), PROJECT_KEYS)
            raise InvalidInput(
                f"Unknown key {name!r} in {file}.{hint} Valid keys: {', '.join(PROJECT_KEYS)}."
            )
    return values


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidInput(f"{where} must be a mapping of keys to values, not {value!r}.")
    return value


@contextmanager
def using_key_file(key_file: str | None) -> Iterator[None]:
    """Set the key file for this process and those it starts, as --key-file does; None changes
    nothing.
    """
    name = f"{PREFIX}KEY_FILE"
    before = os.environ.get(name)
    if key_file is not None:
        os.environ[name] = key_file
    try:
        yield
    finally:
        if key_file is not None:
            del os.environ[name]
            if before is not None:
                os.environ[name] = before


def environment() -> Mapping[str, str]:
    """Environment of this process, for code that reads API keys of outside services."""
    return os.environ


def disable_vendor_telemetry(environ: MutableMapping[str, str] | None = None) -> None:
    """Disable the telemetry of third-party libraries. Call it before importing one of them.

    Child processes inherit it. Variables that are already set keep their values.
    """
    environ = os.environ if environ is None else environ
    for name, value in VENDOR_TELEMETRY_OFF.items():
        environ.setdefault(name, value)


def config_file(environ: Mapping[str, str] | None = None) -> Path:
    """Path of the optional config.toml."""
    environ = os.environ if environ is None else environ
    return _folder(environ, "XDG_CONFIG_HOME", "APPDATA", ".config") / "config.toml"


def default_store(environ: Mapping[str, str] | None = None) -> Path:
    """Path of the default store."""
    environ = os.environ if environ is None else environ
    return _folder(environ, "XDG_DATA_HOME", "LOCALAPPDATA", ".local/share") / "memory.db"


def data_folder() -> Path:
    """Folder for the user's data outside a store: personal records and project memories."""
    return default_store().parent


def hook_logs() -> tuple[Path, Path]:
    """Log files of the user's hooks: the current one and its predecessor."""
    file = data_folder() / "hooks.log"
    return file, file.with_name(f"{file.name}.1")


def agent_store(agent: str) -> Path:
    """Default store of an agent: its own file beside the user's store."""
    return default_store().parent / "memory" / f"{agent}.db"


def _folder(
    environ: Mapping[str, str],
    xdg: str,
    windows: str,
    home: str,
) -> Path:
    if environ.get(xdg):
        return Path(environ[xdg]) / "holdfast"
    if sys.platform == "win32" and environ.get(windows):
        return Path(environ[windows]) / "holdfast"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "holdfast"
    return Path.home() / home / "holdfast"


def program() -> tuple[str, ...]:
    """Command that starts this program, by its full path if there is one: the caller may have no
    usable PATH.
    """
    # Imported here because only installers need it.
    import shutil  # noqa: PLC0415

    found = shutil.which("holdfast", path=str(Path(sys.executable).parent)) or shutil.which(
        "holdfast"
    )
    return (found,) if found else (sys.executable, "-m", "holdfast")


def login() -> str:
    """Login name of the user, for the default scope of the command line."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "me"
