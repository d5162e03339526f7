"""`session audit` and `session feedback`: list and purge data stored apart from memory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ... import config
from .. import output
from ..app import Json, Scope, Store, json_time, when
from .session import session_app

if TYPE_CHECKING:
    from ...audit import SafetyEvent
    from ...feedback import Feedback, Label

audit_app = typer.Typer(
    help="""Manage the log of safety events: no user text, sessions as hashes. Events expire after
90 days.

Example: holdfast session audit list""",
)
feedback_app = typer.Typer(
    help="""Manage feedback on sessions: one label each, sessions as hashes. Feedback expires
after 180 days.

Example: holdfast session feedback list""",
)
session_app.add_typer(audit_app, name="audit", no_args_is_help=True)
session_app.add_typer(feedback_app, name="feedback", no_args_is_help=True)

Owner = Annotated[str | None, typer.Option(metavar="KIND:KEY", help="Only this owner's.")]
Limit = Annotated[int | None, typer.Option(help="Maximum number of entries.")]


def place_of(store: str | None) -> str | Path:
    """Return the location of the memory store; the separate files lie next to it."""
    return store or config.load().store or config.default_store()


def key_file() -> str:
    """Return the key file of the memory store, which is that of the separate files too."""
    return config.load().key_file


@audit_app.command("list")
def audit_list(
    owner: Owner = None,
    limit: Limit = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """List safety events, newest first. They contain no user text, and sessions only as hashes.

    Example: holdfast session audit list --limit 20
    """
    from ...audit import open_audit

    _list(
        open_audit(place_of(store), key_file=key_file()).list(owner=owner, limit=limit),
        ("level", "path"),
        as_json=as_json,
    )


@audit_app.command("purge")
def audit_purge(
    days: Annotated[int, typer.Option(help="Erase older events, unless they were extended.")] = 90,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Erase safety events older than some days. Extended events stay until their own date.

    Example: holdfast session audit purge --days 30
    """
    from ...audit import open_audit

    _purged(open_audit(place_of(store), key_file=key_file()).purge(days=days), as_json=as_json)


@audit_app.command("extend")
def audit_extend(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Id of a safety event.")],
    days: Annotated[int, typer.Option(help="Keep it for at least this many days.")],
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Keep one safety event longer than the others. The days count from now.

    Example: holdfast session audit extend safety_01 --days 365
    """
    from ...audit import open_audit

    event = open_audit(place_of(store), key_file=key_file()).extend(id_, days=days)
    output.emit(_json(event)) if as_json else print(
        f"{event.id} is kept until {when(event.keep_until)}."
    )


@feedback_app.command("list")
def feedback_list(
    owner: Owner = None,
    limit: Limit = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """List feedback, newest first. Sessions are stored only as hashes.

    Example: holdfast session feedback list --limit 20
    """
    from ...feedback import open_feedback

    _list(
        open_feedback(place_of(store), key_file=key_file()).list(owner=owner, limit=limit),
        ("label", "source"),
        as_json=as_json,
    )


@feedback_app.command("add")
def feedback_add(
    session: Annotated[
        str, typer.Argument(metavar="SESSION", help="Id of the session; only its hash is stored.")
    ],
    label: Annotated[str, typer.Argument(metavar="LABEL", help="positive, negative or skip.")],
    scope: Scope = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Rate a session as positive, negative or skip. Only a hash of the session is stored.

    Example: holdfast session feedback add monday positive
    """
    from ...feedback import open_feedback

    owner = scope or config.load().scope or f"user:{config.login()}"
    given = open_feedback(place_of(store), key_file=key_file()).add(
        session=session, label=cast("Label", label), source="cli", owner=owner
    )
    output.emit(_json(given)) if as_json else print(f"Noted: {given.label}.")


@feedback_app.command("purge")
def feedback_purge(
    days: Annotated[int, typer.Option(help="Erase older feedback.")] = 180,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Erase feedback older than some days. The default is 180 days.

    Example: holdfast session feedback purge --days 30
    """
    from ...feedback import open_feedback

    _purged(open_feedback(place_of(store), key_file=key_file()).purge(days=days), as_json=as_json)


def _list(
    found: list[SafetyEvent] | list[Feedback],
    columns: tuple[str, str],
    *,
    as_json: bool,
) -> None:
    if as_json:
        output.emit([_json(one) for one in found])
        return
    rows = [
        (
            one.id,
            when(one.at),
            one.owner or "",
            one.session[:12],
            *(str(getattr(one, name)) for name in columns),
        )
        for one in found
    ]
    output.table(("id", "when", "owner", "session", *columns), rows, empty="Nothing is kept.")


def _json(one: SafetyEvent | Feedback) -> dict[str, Any]:
    fields = asdict(one)
    return fields | {
        name: json_time(fields[name]) for name in ("at", "keep_until") if name in fields
    }


def _purged(count: int, *, as_json: bool) -> None:
    output.emit({"purged": count}) if as_json else print(f"Erased {count}.")
