"""Namespace `entities`: the people, projects and places that memories mention."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .. import ingest
from ..base_client import Namespace, write
from ..errors import NotFound
from ..storage.protocol import Entities as EntityList
from ..storage.schema import entity_names, fold
from ..types import About, Entity
from ..validation import most_of, str_tuple, text_of


class Entities(Namespace):
    """The people, projects and places that memories mention."""

    def list(self, *, types: Sequence[str] = (), limit: int | None = None) -> EntityList:
        """The people, projects, places… that memories mention, most mentioned first."""
        return self.client.store.entities.list(
            self.client.scopes, types=str_tuple(types, "types"), limit=most_of(limit)
        )

    def get(self, name: str, *, limit: int | None = 10) -> About:
        """Everything about one of them, by a name or an id: the profile, and the memories that
        mention it.

        A part of a name will do: Ines is Ines Ferreira, unless somebody is called just that.
        """
        entity = self._entity(text_of(name, "name"), partly=True)
        mentioning = self.client.store.entities.mentioning(
            entity.scope, entity.id, limit=most_of(limit)
        )
        return About(entity, mentioning)

    def merge(self, keep: str, *others: str) -> Entity:
        """Says that several people, projects… are one: their names and mentions go to `keep`."""
        kept = self._entity(keep)
        gone = [self._entity(other) for other in others]
        merged = write(self.client, "merge", lambda tx: ingest.entity_linking.merge(tx, kept, gone))
        return self._entity(merged.id)

    def split(self, name: str, *names: str) -> Entity:
        """Gives some names of an entity, and the memories with them, to a new one, which comes
        back.
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
        """Calls an entity something else; the old name stays as an alias."""
        entity = self._entity(name)
        renamed = write(
            self.client,
            "rename",
            lambda tx: ingest.entity_linking.rename(tx, entity, new_name, type),
        )
        return self._entity(renamed.id)

    def _entity(self, name: str, *, partly: bool = False) -> Entity:
        """The entity with this id or name, or with these words in its name; of several, the one
        mentioned most.
        """
        client = self.client
        for scope in client.scopes:
            if known := client.store.entities.get(scope, name):
                return known
        wanted = fold(name.lstrip("@#"))
        found = client.store.entities.list(client.scopes, names=[wanted])
        if not found and partly and wanted:
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
