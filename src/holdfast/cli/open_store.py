"""Start of a command: the memory it works on, and its input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .. import config, retention_mode
from ..errors import (
    HoldfastError,
    InvalidInput,
    NotFound,
    RowDamaged,
    StoreBusy,
    StoreFull,
    StoreReadOnly,
)
from ..text.terminal import plain
from ..types import Micros, from_datetime, system_clock

if TYPE_CHECKING:
    from ..client import Holdfast
    from ..records.roots import RecordRoot


def here() -> tuple[RecordRoot, ...]:
    """Return the record roots that count in this folder: the project's and the person's."""
    from ..records.roots import places_here

    return places_here(folder_here())


def folder_here() -> Path:
    """Return the working directory; the root directory if it was removed."""
    try:
        return working_folder()
    except NotFound:
        return Path("/")


def working_folder() -> Path:
    """Return the working directory. Raises NotFound if it was removed."""
    try:
        return Path.cwd()
    except OSError as error:
        raise NotFound(
            "The folder that you are in was removed. Nothing was changed. Go to another one."
        ) from error


def project_folder_here() -> Path:
    """Return the top of the project, else of the repository, else the working directory."""
    from ..records.roots import project_folder

    return project_folder(working_folder())


@contextmanager
def open_memory(
    store: str | None,
    scope: str | Sequence[str] | None,
    *,
    background: bool = False,
    mode: str | None = None,
    index: bool = True,
    make: bool = True,
    quiet: bool = False,
    project: bool = False,
) -> Iterator[Holdfast]:
    """Open the memory for one command.

    `background` embeds in a thread, which would only delay a short command. `index` rebuilds the
    project's index in a new or deleted store. `make` allows creating a store at a given path.
    `quiet` suppresses warnings about damaged rows and missing models, for commands that report
    them. `project` includes the project around the folder, whatever the setting `scope` says.
    """
    # Imported here, so that help and completion start without the database.
    from ..client import Holdfast
    from ..storage.damage import Damages

    # A command lists damaged rows when it ends, instead of logging each of them.
    Damages.logged = False
    settings = config.load()
    places = here()
    is_kept = retention_mode.chosen(settings.memory_mode, mode) != "incognito"
    # Only outside a project: inside, a deleted store is rebuilt from the records.
    must_exist = is_kept and not make and all(place.name != "project" for place in places)
    scopes = _scopes_of(scope, settings.scope, places, project=project)
    hf = Holdfast.open(
        store,
        scope=scopes,
        settings=settings,
        actor=f"cli:{config.login()}",
        background=background,
        mode=mode,
        places=[place for place in places if str(place.scope) in scopes],
        create=not must_exist or _may_be_new(store, settings),
    )
    try:
        if index and places and hf.projects.needs_index:
            _index_again(hf)
        yield hf
    except RowDamaged:
        # The error already names the row.
        quiet = True
        raise
    except NotFound as error:
        from .hints import add_nearest

        # A problem with the store must not hide the original error.
        with suppress(HoldfastError):
            add_nearest(hf, error)
        raise
    finally:
        told = [] if quiet else _warnings(hf)
        hf.close()
        for warning in (*_file_warnings(hf), *told):
            print(f"Warning: {plain(warning)}", file=sys.stderr)


def _scopes_of(
    scope: str | Sequence[str] | None,
    default: str | None,
    places: Sequence[RecordRoot],
    *,
    project: bool,
) -> list[str]:
    """Return the scopes of a command: those given, or the default and the project around it."""
    given = [scope] if isinstance(scope, str) else list(scope or ())
    scopes = scopes_meant(given or ([default] if default else []), places)
    if project and not given:
        # Without the first one, which is the person's own scope.
        around = scopes_meant([], places)[1:]
        scopes = list(dict.fromkeys([*scopes, *around]))
    return scopes


def _file_warnings(hf: Holdfast) -> list[str]:
    """Return warnings about the record files that were read."""
    from ..base_client import files_of

    return list(files_of(hf).followed.warnings)


def _warnings(hf: Holdfast) -> list[str]:
    """Return what was left out of the answer, or which models were missing."""
    # Called at the end of every recall, so it must not import a namespace.
    from ..base_client import warnings_of

    try:
        return warnings_of(hf)
    except HoldfastError:
        # Problems of the whole store have been reported already.
        return []


def _may_be_new(store: str | None, settings: config.Settings) -> bool:
    """Whether a command that only reads may make the store. Raises NotFound for a path without one
    after --store.

    A file of one's own is made at once, so that memory is useful from the start; the tables on a
    server are the work of an administrator.
    """
    from ..storage.connect import is_server

    if store:
        _check_there(store)
    return not is_server(store or settings.store)


def _check_there(store: str) -> None:
    """Raise NotFound for a path without a store: more likely a mistake than an empty memory."""
    from ..storage.connect import check_place, is_server

    check_place(store)
    file = Path(store).expanduser().absolute()
    if not is_server(store) and store != ":memory:" and not file.exists():
        raise NotFound(
            f"There is no store at {file}, and none was made. Name another with --store, or "
            "leave "
            "it out for your own."
        )


def _index_again(hf: Holdfast) -> None:
    from .output import progress

    # A store that cannot be written can still be read.
    with suppress(StoreReadOnly, StoreBusy, StoreFull), progress("indexing") as bar:
        hf.projects.index(
            progress=lambda files, total: bar.update(bar.tasks[0].id, completed=files, total=total)
        )


def scopes_meant(given: Sequence[str], places: Sequence[RecordRoot]) -> list[str]:
    """Return the scopes for the given words; `project` and `personal` (or `assistant`) depend on
    the folder.

    No words mean the person's own scope, their records, and the project around the folder. A
    repository whose sessions were imported counts as a project too.
    """
    known: dict[str, str] = {place.name: str(place.scope) for place in places}
    if "assistant" in known:
        known["personal"] = known["assistant"]
    kept = (
        [known["assistant"]]
        if "project" in known or any(place.records.is_dir() for place in places)
        else []
    )
    if "project" not in known and (not given or "project" in given) and (noted := _noted_here()):
        known["project"] = noted
    if "project" in given and "project" not in known:
        raise InvalidInput("There is no project here or above. `holdfast project init` makes one.")
    if given:
        return list(dict.fromkeys(known.get(word, word) for word in given))
    return [f"user:{config.login()}", *kept, *([known["project"]] if "project" in known else [])]


def doctor_of(hf: Holdfast, *words: str) -> str:
    """Return the `doctor` command for the store of a memory."""
    from ..base_client import command_for

    return command_for(hf, "doctor", *words)


def _noted_here() -> str:
    """Return the scope of the project here if its past sessions were imported; else an
    empty text.
    """
    from ..records.roots import noted_place

    place = noted_place(folder_here(), config.data_folder())
    return str(place.scope) if place else ""


def is_meant_here(scope: str) -> bool:
    """Whether a command without --scope, run here, works on this scope."""
    chosen = config.load().scope
    return scope in scopes_meant([chosen] if chosen else [], here())


def undo_command(hf: Holdfast, scope: str = "") -> str:
    """Return the command that undoes the last run, with the options needed here."""
    import shlex

    from ..storage.connect import location_of

    settings = config.load()
    scope = scope or str(hf.scopes[0])
    words = ["holdfast", "undo", hf.last_run]
    if not is_meant_here(scope):
        words += ["--scope", scope]
    # The default store needs no option, and a store in memory cannot be named in one.
    if hf.store.location not in (":memory:", location_of(settings.store or config.default_store())):
        words += ["--store", hf.store.location]
    return shlex.join(words)


def parse_time(text: str | None, *, end: bool = False) -> Micros | None:
    """Parse a time: ISO, or words such as 'last week' (its start, or its `end`). Raises
    InvalidInput.
    """
    if not text:
        return None
    from datetime import datetime, timedelta

    from ..text.time_expressions import spans

    try:
        written = datetime.fromisoformat(text)
    except ValueError:
        found = spans(text, system_clock())
        rest = text
        for span in found:
            rest = rest.replace(span.text, "")
        if not found or any(map(str.isdigit, rest)):
            # For an impossible date only the year is parsed.
            raise InvalidInput(
                f"{text!r} is not a time. Write it like 2026-03-31, 2026-03-31T18:00 or 'last "
                "week'."
            ) from None
        return found[0].end if end else found[0].start
    if end and len(text) == len("2026-03-31"):
        # A day ends when the next begins.
        written += timedelta(days=1)
    try:
        return from_datetime(written.astimezone())
    except (
        OverflowError,
        ValueError,
    ):
        # The first and last representable days have no local time in some zones.
        return from_datetime(written)


def text_or_stdin(text: str | None, *, what: str) -> str:
    """Return the given text, or standard input. Raises InvalidInput without either."""
    if text is not None and text != "-":
        return text
    if sys.stdin.isatty():
        raise InvalidInput(f"Give the {what} as an argument, or pipe it in.")
    return sys.stdin.read()
