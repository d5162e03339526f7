"""Marks of progress as rows: how far each sink of the extraction has read a session."""

from __future__ import annotations

import json
from typing import Any

from ..types import Progress
from .damage import NOT_JSON
from .schema import PROGRESS, Row, ScopeOf, check_row, damaged, encode

_FIELDS = ("scope", *PROGRESS.columns)


def progress_from(row: Row, scope_of: ScopeOf) -> Progress:
    """The progress of a row read as scope and PROGRESS.columns."""
    number, session, sink, position, at, detail = row
    scope = scope_of(number)
    check_row(PROGRESS, _FIELDS, row, scope)
    try:
        known = json.loads(detail) if detail else {}
        if type(known) is not dict:
            raise ValueError(NOT_JSON)
    except (ValueError, RecursionError) as error:
        raise damaged(PROGRESS, _FIELDS, row, scope) from error
    return Progress(scope, session, sink, position, at, known)


def progress_values(progress: Progress) -> dict[str, Any]:
    """A progress mark as its columns."""
    return {column: encode(column, getattr(progress, column)) for column in PROGRESS.columns}
