"""Settings, and the only place that reads the environment and config files.

A setting is something two real deployments set differently. Its name, default and help stand in one line
here; `HOLDFAST_<NAME>`, the key in `config.toml`, `holdfast settings` and the docs follow from it.
"""

from __future__ import annotations

import getpass
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from .errors import InvalidInput, UnknownSetting

PREFIX = "HOLDFAST_"


def setting(default: Any, help_: str, *, choices: tuple[str, ...] = ()) -> Any:
    """One setting: its default, what it does, and what it may be."""
    return field(default=default, metadata={"help": help_, "choices": choices})


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set."""

    store: str = setting("", "Path of the memory file, or a postgresql:// URL. Empty: the per-user file.")
    replica: str = setting("", "URL of a streaming replica of the Postgres store, for reads.")
    scope: str = setting("", "Scope of the command line when --scope is not given. Empty: user:<login>.")
    embedding_models: str = setting(
        "static,arctic",
        "Embedding models, quickest first, best last: static, arctic, none, openai:…, google:…, ollama:….",
    )
    embedding_url: str = setting("", "Base URL of an OpenAI-compatible embedding server.")
    embedding_key_env: str = setting("", "Name of the variable that holds the key for the embedding server.")
    recall_limit: int = setting(10, "How many memories recall returns when not told.")
    fusion: str = setting("learned", "How the arms of recall are combined.", choices=("learned", "rrf"))
    context_tokens: int = setting(2000, "How many tokens a context block may take when not told.")
    max_content_bytes: int = setting(100_000, "Longest text that one memory may hold, in bytes.")


@dataclass(frozen=True, slots=True)
class Origin:
    """A setting's value and where it came from."""

    name: str
    value: Any
    source: str
    help: str


def load(environ: Mapping[str, str] | None = None, file: Path | None = None) -> Settings:
    """The settings in force: defaults, then config.toml, then HOLDFAST_* variables."""
    return Settings(**{origin.name: origin.value for origin in origins(environ, file)})


def origins(environ: Mapping[str, str] | None = None, file: Path | None = None) -> list[Origin]:
    """Each setting's value with its source. Unknown names and unusable values are errors."""
    environ = os.environ if environ is None else environ
    file = config_file(environ) if file is None else file
    from_file, from_env = _read_file(file), _read_environ(environ)
    found = []
    for known in fields(Settings):
        value, source = known.default, "default"
        if known.name in from_file:
            value, source = from_file[known.name], str(file)
        if known.name in from_env:
            value, source = from_env[known.name], PREFIX + known.name.upper()
        found.append(Origin(known.name, checked(known.name, value, source), source, known.metadata["help"]))
    return found


def _read_file(file: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InvalidInput(f"Cannot read {file}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} is not valid TOML: {error}. Fix that line and try again.") from error
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
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UnknownSetting(f"There is no setting {name!r} ({where}).{hint} `holdfast settings` lists them all.")


def checked(name: str, value: Any, source: str) -> Any:
    """`value` as the setting `name` may have it; InvalidInput, with where it came from, otherwise."""
    known = next(known for known in fields(Settings) if known.name == name)
    if isinstance(known.default, int):
        # In the environment everything is text; in the file a number is written as a number.
        digits = str(value) if isinstance(value, str | int) else ""
        if not (digits.isascii() and digits.isdigit()) or int(digits) < 1:
            raise InvalidInput(f"{name} must be a whole number above 0, not {value!r} (from {source}).")
        return int(digits)
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, not {value!r} (from {source}). Put it in quotes.")
    choices = known.metadata["choices"]
    if choices and value not in choices:
        raise InvalidInput(f"{name} must be one of {', '.join(choices)}, not {value!r} (from {source}).")
    return value


def environment() -> Mapping[str, str]:
    """The variables of this process, for who looks for the keys of outside services."""
    return os.environ


def config_file(environ: Mapping[str, str] | None = None) -> Path:
    """Where the optional config.toml lies."""
    environ = os.environ if environ is None else environ
    return _folder(environ, "XDG_CONFIG_HOME", "APPDATA", ".config") / "config.toml"


def default_store(environ: Mapping[str, str] | None = None) -> Path:
    """Where memories go when no path is given."""
    environ = os.environ if environ is None else environ
    return _folder(environ, "XDG_DATA_HOME", "LOCALAPPDATA", ".local/share") / "memory.db"


def _folder(environ: Mapping[str, str], xdg: str, windows: str, home: str) -> Path:
    if environ.get(xdg):
        return Path(environ[xdg]) / "holdfast"
    if sys.platform == "win32" and environ.get(windows):
        return Path(environ[windows]) / "holdfast"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "holdfast"
    return Path.home() / home / "holdfast"


def login() -> str:
    """The name of the person at the keyboard, for the command line's default scope."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "me"
