"""Whether recall can use embeddings and, if not, why and how to fix it."""

from __future__ import annotations

from collections.abc import Sequence

from ..models.embeddings.base import LOCAL, Embedder
from ..models.embeddings.tiers import Tiers
from ..storage.protocol import Store
from ..types import Scope

# Sent to a model only to see whether it answers.
PROBE = "Is anybody there?"


def problems(
    store: Store,
    tiers: Tiers,
    scopes: Sequence[Scope],
    *,
    remedy: str,
    ask: bool = False,
) -> dict[str, str]:
    """Return why models cannot serve a recall of these scopes, by model; empty if all can.

    `remedy` is the command that embeds the memories again, if advice is wanted. With `ask`, a
    remote model that has not answered yet is called once; otherwise only known problems are
    reported.
    """
    embedders = list(tiers) if ask else tiers.loaded()
    for embedder in embedders if ask else ():
        if not embedder.identity.startswith(LOCAL) and not tiers.answered(embedder.identity):
            tiers.query(embedder.identity, PROBE)
    found = dict(tiers.errors)
    if not embedders:
        return found
    lengths = store.vectors.dimensions(scopes)
    for embedder in embedders:
        stored = lengths.get(embedder.identity)
        if stored is not None and embedder.dimensions not in (None, stored):
            found[embedder.identity] = (
                f"It makes vectors of {embedder.dimensions} numbers now, but those of the "
                f"memories have {stored}, so "
                f"they cannot be compared.{_to_do('Make them anew', remedy)}"
            )
    return found | _changed(embedders, lengths.keys() - found.keys(), remedy)


def _to_do(what: str, command: str) -> str:
    if command:
        return f" {what}: {command}"
    return ""


def _changed(
    embedders: Sequence[Embedder],
    there: set[str],
    remedy: str,
) -> dict[str, str]:
    """Report the configured models if all vectors come from other models. A fast model creates its
    own at the next recall.
    """
    ours = {embedder.identity for embedder in embedders}
    if not there or ours & there or any(embedder.quick for embedder in embedders):
        return {}
    told = (
        "The memories were embedded by "
        f"{', '.join(sorted(there))}.{_to_do('Embed them anew', remedy)}"
    )
    return dict.fromkeys(sorted(ours), told)


def warnings(found: dict[str, str], tiers: Tiers) -> list[str]:
    """Return the problems as warnings for the reader of an answer."""
    others = [embedder.identity for embedder in tiers.loaded() if embedder.identity not in found]
    without = (
        "Recall goes without this model" if others else "Recall goes by words alone, not by meaning"
    )
    return [f"{without}: {model}: {why}" for model, why in found.items()]
