"""What was written elsewhere: past sessions of coding agents, tickets and notes of a project."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import config, ingest, projects, records
from ..base_client import BaseClient, author_of
from ..errors import InvalidInput
from ..records.roots import RecordRoot
from ..records.source_lists import INDEX, Sources, sources_of, unfollowed
from ..types import Scope
from ..validation import ScopeLike

if TYPE_CHECKING:
    from ..ingest.documents import Indexed
    from ..projects.past_sessions import PastProject


class Indexing(BaseClient):
    """What was written elsewhere: past sessions of coding agents, tickets and notes of a
    project.
    """

    def index(
        self,
        paths: Sequence[str | Path] | None = None,
        *,
        plan: bool = False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Indexed:
        """Makes files and folders of a project findable, and notes that they are; without `paths`,
        all that were noted.

        Only what has changed is read. A file that cannot be indexed is left out with a warning.
        With `plan` nothing is changed, and what comes back is what would be done.
        """
        sources = self._sources()
        limit = self.settings.max_content_bytes
        named = None if paths is None else records.source_indexing.given(paths, sources.place)
        indexer = ingest.documents.Indexer(
            self.store,
            sources.place.scope,
            author_of(self, INDEX),
            max_bytes=limit,
            belongs=lambda transcript: records.source_indexing.was_held_in(
                sources.place, transcript
            ),
            plan=plan,
        )
        whole = named is None or not unfollowed(self.store, sources)
        if named and not plan:
            sources.note(named)
        done = records.source_indexing.follow(
            indexer, sources, named, whole=whole, progress=progress
        )
        self._wrote([sources.place.scope])
        return done

    def import_sessions(
        self,
        sessions: str | Path | PastProject,
        *,
        into: ScopeLike | None = None,
        homeless: bool = False,
        progress: Callable[[Path], None] = lambda path: None,
    ) -> Indexed:
        """Takes in past sessions: those in a transcript or an export of chats, or those that were
        found of a project.

        What was found is what `projects.past_sessions.survey` says of this machine, or
        `survey_file` of one file; it goes into the scope of its project. A file goes into the first
        of these scopes or that of `into`; with `homeless` only its sessions of which nobody noted
        where they were held. Importing twice equals once. A session that cannot be stored is named
        in `failed`, and the others are stored.
        """
        limit = self.settings.max_content_bytes
        author = author_of(self, "import")
        if isinstance(sessions, str | Path):
            scope = Scope.parse(into) if into else self.scopes[0]
            file = Path(sessions).expanduser().resolve()
            done = projects.past_sessions.take_in_file(
                self.store, scope, file, author, max_bytes=limit, homeless=homeless
            )
        else:
            scope = sessions.place.scope
            data = config.data_folder()
            done = projects.past_sessions.take_in(
                self.store, sessions, author, data=data, max_bytes=limit, progress=progress
            )
        self._wrote([scope])
        return done

    @property
    def needs_index(self) -> bool:
        """Whether this store knows nothing yet of what the project has indexed: it is new, or was
        deleted.
        """
        place = self._indexed_place()
        if place is None or not unfollowed(self.store, sources_of(place, config.data_folder())):
            return False
        return self._is_on(place.scope)

    def _sources(self) -> Sources:
        """The lists of the project that is open here; refused where there is none, or nothing may
        be remembered.
        """
        place = self._indexed_place()
        if place is None and self.scopes[0].kind == "assistant":
            raise InvalidInput(
                "The assistant scope holds records only: sessions and tickets belong to a "
                "project. Nothing was indexed."
            )
        if place is None:
            raise InvalidInput(
                "Sessions and tickets belong to a project, and none is open. Run: holdfast "
                "project init"
            )
        self._check_on(place.scope)
        return sources_of(place, config.data_folder())

    def _indexed_place(self) -> RecordRoot | None:
        return next(
            (one for one in self.places if one.name == "project" and one.scope in self.scopes), None
        )
