"""Query parameters that a route does not have: refused, because a misspelt one would do nothing."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import Request

from ..errors import meant

# The Memory page and other clients send them with every request.
EVERYWHERE = ("user_id", "thread_id", "memory_mode")
# Characters of a foreign name that are repeated.
LONGEST = 40


def check_parameters(request: Request) -> None:
    """Raise RequestValidationError if a query parameter is not one of the route's."""
    route = request.scope["route"]
    known = set(EVERYWHERE)
    if isinstance(route, APIRoute):
        known.update(_names(route.dependant))
    unknown = [name for name in dict.fromkeys(request.query_params) if name not in known]
    if unknown:
        raise RequestValidationError([_error(name, sorted(known)) for name in unknown])


def _names(of: Dependant) -> Iterator[str]:
    """Yield the parameters of a route, or of what it depends on."""
    for field in of.query_params:
        yield field.alias
    for needed in of.dependencies:
        yield from _names(needed)


def _error(
    name: str,
    known: list[str],
) -> dict[str, object]:
    hint = meant(name, known) or f" This path takes {', '.join(known)}."
    message = f"unknown parameter.{hint}"
    return {"type": "extra_forbidden", "loc": ("query", name[:LONGEST]), "msg": message}
