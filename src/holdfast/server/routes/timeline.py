"""The memory over time: an overview, the timeline, and counts by day."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from ...storage.store_types import Axis
from .. import home_view, schemas, timeline_schemas, timeline_view
from ..auth import Mine
from .memories import After

router = APIRouter(tags=["timeline"])
Limit = Annotated[int, Query(ge=1, le=500, description="Maximum number of results.")]
By = Annotated[
    Axis,
    Query(
        description=(
            "`happened`: by when it began to be true or, without that, the time of its event. "
            "`learned`: by when it was stored."
        )
    ),
]
Kinds = Annotated[
    list[schemas.Kind], Query(description="Repeatable. Default: all but turns of conversations.")
]
EntityName = Annotated[
    str | None,
    Query(min_length=1, max_length=1000, description="Only what mentions it: an id or a name."),
]
Ahead = Annotated[
    int, Query(ge=-1440, le=1440, description="Minutes by which local time is ahead of UTC.")
]


@router.get("/overview")
def show_overview(hf: Mine, minutes_ahead: Ahead = 0) -> timeline_schemas.Overview:
    """Return what is new, growth, what fades next, what waits for review, who was mentioned."""
    return home_view.overview(hf, minutes_ahead=minutes_ahead)


@router.get("/timeline")
def timeline(
    hf: Mine,
    by: By = "happened",
    kind: Kinds = [],  # noqa: B006
    entity: EntityName = None,
    since: Annotated[datetime | None, Query(description="From this time on.")] = None,
    until: Annotated[datetime | None, Query(description="Before this time.")] = None,
    before: After = None,
    limit: Limit = 50,
) -> timeline_schemas.Timeline:
    """Timeline of what happened and was learned, newest first."""
    return timeline_view.timeline(
        hf,
        axis=by,
        kinds=kind,
        entity=entity,
        since=since,
        until=until,
        before=before,
        limit=limit,
    )


@router.get("/timeline/days")
def days(
    hf: Mine,
    by: By = "happened",
    kind: Kinds = [],  # noqa: B006
    entity: EntityName = None,
    minutes_ahead: Ahead = 0,
) -> timeline_schemas.Days:
    """Count memories by day and kind, oldest first; days without any are left out."""
    return timeline_view.days(hf, axis=by, kinds=kind, entity=entity, minutes_ahead=minutes_ahead)
