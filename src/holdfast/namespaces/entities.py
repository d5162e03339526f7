"""Namespace `entities`: the people, projects and places that memories mention."""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from functools import cache

from .. import ingest
from ..base_client import Namespace, write
from ..errors import NotFound
from ..storage.row_codec import entity_names
from ..storage.store_types import Entities as EntityList
from ..text.normal_forms import fold
from ..types import About, Duplicate, Entity
from ..validation import most_of, str_tuple, text_of

# Memories of each entity, newest first, that are compared.
COMPARED = 1000


class Entities(Namespace):
    """The people, projects and places that memories mention."""

    def list(self, *, types: Sequence[str] = (), limit: int | None = None) -> EntityList:
        """List entities (people, projects, places…), most mentioned first."""
        return self.client.store.entities.list(
            self.client.scopes, types=str_tuple(types, "types"), limit=most_of(limit)
        )

    def get(self, name: str, *, limit: int | None = 10) -> About:
        """Return an entity, by name or id, with the memories that mention it. Raises NotFound.

        Part of a name is enough: Ines finds Ines Ferreira, unless another entity has exactly that
        name.
        """
        entity = self._entity(text_of(name, "name"), partly=True)
        mentioning = self.client.store.entities.mentioning(
            entity.scope, entity.id, limit=most_of(limit)
        )
        return About(entity, mentioning)

    def duplicates(self) -> builtins.list[Duplicate]:
        """List entities that may be the same, such as Mel and Melanie, with a reason each.

        Nothing is merged. Two that one memory mentions together are two.
        """
        # One of many namesakes is in many pairs, and is read once.
        mentioning = cache(self._mentioning)
        return [
            pair
            for pair in ingest.duplicate_entities.duplicates(self.list())
            if mentioning(pair.keep).isdisjoint(mentioning(pair.other))
        ]

    def _mentioning(self, entity: Entity) -> frozenset[str]:
        found = self.client.store.entities.mentioning(entity.scope, entity.id, limit=COMPARED)
        return frozenset(memory.id for memory in found)

    def merge(self, keep: str, *others: str) -> Entity:
        """Merge entities that are the same: their names and mentions go to `keep`."""
        kept = self._entity(keep)
        gone = [self._entity(other) for other in others]
        merged = write(self.client, "merge", lambda tx: ingest.entity_linking.merge(tx, kept, gone))
        # Read again: the merge moved names and mentions after the object was built.
        return self._entity(merged.id)

    def split(self, name: str, *names: str) -> Entity:
        """Move some names of an entity, and the memories that use them, to a new entity; return
        that.
        """
        entity = self._entity(name)
        at = self.client.clock()
        new = write(
            self.client,
            "split",
            lambda tx: ingest.entity_linking.split(tx, entity, names, at=at),
        )
        return self._entity(new.id)

    def rename(
        self,
        name: str,
        new_name: str,
        *,
        type: str | None = None,
    ) -> Entity:
        """Rename an entity; the old name stays as an alias."""
        entity = self._entity(name)
        renamed = write(
            self.client,
            "rename",
            lambda tx: ingest.entity_linking.rename(tx, entity, new_name, type),
        )
        return self._entity(renamed.id)

    def _entity(self, name: str, *, partly: bool = False) -> Entity:
        """Return the entity with this id or name or, with `partly`, part of its name; the most
        mentioned one.

        Raises NotFound.
        """
        client = self.client
        for scope in client.scopes:
            if known := client.store.entities.get(scope, name):
                return known
        # Names are stored folded, and without the sign that marks a mention in a text.
        wanted = fold(name.lstrip("@#"))
        found = client.store.entities.list(client.scopes, names=[wanted])
        if not found and partly and wanted:
            # Whole words only: "Ann" must not find "Hannah".
            words = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)")
            found = [
                one
                for one in client.store.entities.list(client.scopes)
                if any(map(words.search, entity_names(one)))
            ]
        if not found:
            raise NotFound(
                f"Nothing here mentions {name!r}. `holdfast entity list` shows who is known.",
                id=name,
            )
        return found[0]
