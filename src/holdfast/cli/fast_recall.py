"""`holdfast recall`, after option parsing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import config
from ..errors import InvalidInput
from . import output
from .open_store import open_memory, parse_time, text_or_stdin

if TYPE_CHECKING:
    from ..context.brief import Format


def recall(
    question: str | None = None,
    *,
    limit: int | None = None,
    kind: list[str] | None = None,
    category: list[str] | None = None,
    tag: list[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    as_of: str | None = None,
    tokens: int | None = None,
    min_score: float | None = None,
    deep: bool = False,
    why: bool = False,
    format: str | None = None,
    store: str | None = None,
    scope: list[str] | None = None,
    key_file: str | None = None,
    json: bool = False,
) -> None:
    """Find memories that help answer a question, and print them."""
    chosen = _chosen(format)
    if chosen and (json or why):
        raise InvalidInput(
            f"--format cannot be together with {'--json' if json else '--why'}: give one of them."
        )
    with config.using_key_file(key_file), open_memory(store, scope, make=False) as hf:
        asked = text_or_stdin(question, what="question")
        hits = hf.recall(
            asked,
            limit=limit,
            kinds=kind or (),
            categories=category or (),
            tags=tag or (),
            since=parse_time(since),
            until=parse_time(until, end=True),
            as_of=parse_time(as_of, end=True),
            # A brief applies the budget itself.
            tokens=None if chosen else tokens,
            min_score=min_score,
            deep=deep,
        )
        if chosen:
            output.brief(hf.records.brief(hits, chosen, tokens=tokens), chosen)
        else:
            output.emit([output.hit_json(hit) for hit in hits]) if json else output.hits(
                hits, reasons=why
            )
        if not hits and not (json or chosen):
            from .hints import tell_why

            tell_why(hf, asked=asked, tokens=tokens)


def _chosen(format: str | None) -> Format | None:
    if format is None:
        return None
    from ..context.brief import check_format

    return check_format(format)
