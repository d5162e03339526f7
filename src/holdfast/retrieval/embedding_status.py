"""Whether recall can go by meaning as well as by words, and if it cannot, why and what to do about
it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..models.embeddings.base import Embedder
from ..models.embeddings.tiers import Tiers
from ..storage.protocol import Store
from ..types import Scope

# What a model is asked only to see whether it answers.
PROBE = "Is anybody there?"
# how the identity of a model begins that ships with the package, and need not be asked
LOCAL = "local:"


def problems(
    store: Store,
    tiers: Tiers,
    scopes: Sequence[Scope],
    *,
    remedy: str,
    ask: bool = False,
) -> dict[str, str]:
    """Why models cannot serve a recall of these scopes, by model; empty when all of them can.

    `remedy` is the command that embeds the memories anew, if it is to be named. With `ask`, a model
    behind an address that has not answered yet is asked for one vector; otherwise only what was
    noticed so far is told.
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
    """The models in use, when all vectors were made by others. A quick one makes its own at the
    next recall.
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
    """The same for whoever is answered: what recall does without."""
    others = [embedder.identity for embedder in tiers.loaded() if embedder.identity not in found]
    without = (
        "Recall goes without this model" if others else "Recall goes by words alone, not by meaning"
    )
    return [f"{without}: {model}: {why}" for model, why in found.items()]
