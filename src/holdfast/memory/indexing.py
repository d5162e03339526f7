"""What was written elsewhere: past sessions of coding agents, tickets and notes of a project."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import config, files, pipelines
from ..errors import InvalidInput
from ..files.places import Place
from ..files.sources import INDEX, Sources, sources_of, unfollowed
from .opened import Opened

if TYPE_CHECKING:
    from ..pipelines.index import Indexed


class Indexing(Opened):
    """What was written elsewhere: past sessions of coding agents, tickets and notes of a project."""

    def index(
        self,
        paths: Sequence[str | Path] | None = None,
        *,
        plan: bool = False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Indexed:
        """Makes files and folders of a project findable, and notes that they are; without `paths`, all that were noted.

        Only what has changed is read. A file that cannot be indexed is left out with a warning. With `plan` nothing is
        changed, and what comes back is what would be done.
        """
        sources, limit = self._sources(), self.settings.max_content_bytes
        named = None if paths is None else files.indexing.given(paths, sources.place)
        indexer = pipelines.index.Indexer(
            self.store,
            sources.place.scope,
            self._author(INDEX),
            max_bytes=limit,
            belongs=lambda transcript: files.indexing.was_held_in(sources.place, transcript),
            plan=plan,
        )
        whole = named is None or not unfollowed(self.store, sources)
        if named and not plan:
            sources.note(named)
        done = files.indexing.follow(indexer, sources, named, whole=whole, progress=progress)
        self._written.add(sources.place.scope)
        if self._upgrader is not None:
            self._upgrader.nudge([sources.place.scope])
        return done

    @property
    def needs_index(self) -> bool:
        """Whether this store knows nothing yet of what the project has indexed: it is new, or was deleted."""
        place = self._indexed_place()
        if place is None or not unfollowed(self.store, sources_of(place, config.default_store().parent)):
            return False
        return self._is_on(place.scope)

    def _sources(self) -> Sources:
        """The lists of the project that is open here; refused where there is none, or nothing may be remembered."""
        if self.scopes[0].kind == "assistant":
            raise InvalidInput(
                "The assistant scope holds records only: sessions and tickets belong to a project. Nothing was indexed."
            )
        place = self._indexed_place()
        if place is None:
            raise InvalidInput("Sessions and tickets belong to a project, and none is open. Run: holdfast project init")
        self._check_on(place.scope)
        return sources_of(place, config.default_store().parent)

    def _indexed_place(self) -> Place | None:
        return next((one for one in self.places if one.name == "project" and one.scope in self.scopes), None)
