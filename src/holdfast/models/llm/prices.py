"""List prices of language models, from the table that pydantic-ai brings; nothing is fetched."""

from __future__ import annotations

from ...storage.store_types import Spent
from .budget import ANSWER


def price_in_dollars(
    spec: str,
    estimate: Spent,
    *,
    base_url: str = "",
) -> float | None:
    """The list price of an estimated use in US dollars; None if it is not known, as for a server of
    one's own.
    """
    try:
        # Deferred import of an optional extra.
        from genai_prices import Usage, calc_price  # noqa: PLC0415
    except ImportError:
        return None
    provider, _, name = spec.partition(":")
    if base_url or not name:
        return None
    answers = estimate.calls * ANSWER
    usage = Usage(input_tokens=estimate.tokens - answers, output_tokens=answers)
    try:
        return float(calc_price(usage, model_ref=name, provider_id=provider).total_price)
    except LookupError:
        return None
