"""Figures of a shared server, for admin keys: owners, sizes, jobs, spend, errors; no memories."""

from __future__ import annotations

from fastapi import APIRouter

from .. import admin_schemas, admin_view
from ..auth import Administered

router = APIRouter(prefix="/admin", tags=["admin"])


@router.get("")
def server_figures(server: Administered) -> admin_schemas.ServerFigures:
    """Return the figures of the server; nothing of anybody's memories."""
    return admin_view.figures(server)
