"""Namespace `projects`: project memory, and indexed sessions, tickets and notes of a project."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import config, ingest, projects, records
from ..base_client import (
    Namespace,
    author_of,
    check_enabled,
    files_of,
    is_enabled,
    mark_written,
)
from ..errors import InvalidInput
from ..records.roots import RecordRoot
from ..records.source_lists import INDEX, Sources, sources_of, unfollowed
from ..types import Scope
from ..validation import ScopeLike

if TYPE_CHECKING:
    from threading import Event

    from ..ingest.documents import Indexed
    from ..maintenance.job_runner import JobListener
    from ..maintenance.project_jobs import Built
    from ..models.llm.chat import Complete
    from ..projects.past_sessions import PastProject
    from .project_view import Project


class Projects(Namespace):
    """Project memory, and the indexed sessions, tickets and notes of a project."""

    def view(
        self,
        folder: str | Path | None = None,
        *,
        data: Path | None = None,
        session_model: Complete | None = None,
    ) -> Project:
        """Return the memory of the project of `folder`; without one, of the project among the
        scopes.

        `session_model` reads sessions if neither holdfast.yaml nor the settings name a model.
        """
        # Deferred import: indexing does not need the builder.
        from .project_view import project_at, project_of  # noqa: PLC0415

        if folder is None:
            return project_of(self.client, data=data)
        return project_at(self.client, Path(folder), data=data, session_model=session_model)

    def build(
        self,
        folder: str | Path | None = None,
        told: JobListener = lambda job: None,
        *,
        stop: Event | None = None,
    ) -> Built:
        """Build a project's memory from its past sessions; see `Project.build`."""
        return self.view(folder).build(told, stop=stop)

    def clear(self, folder: str | Path | None = None) -> int:
        """Delete what was built for a project; see `Project.clear`."""
        return self.view(folder).clear()

    def index(
        self,
        paths: Sequence[str | Path] | None = None,
        *,
        plan: bool = False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Indexed:
        """Index files and folders of a project and add them to its source list; by default the
        whole list.

        Only changed files are read. A file that cannot be indexed is skipped with a warning. With
        `plan`, return what would be done and change nothing. Raises InvalidInput without a project,
        Refused if its memory is disabled.
        """
        sources = self._sources()
        limit = self.client.settings.max_content_bytes
        named = None if paths is None else records.source_indexing.given(paths, sources.place)
        indexer = ingest.documents.Indexer(
            self.client.store,
            sources.place.scope,
            author_of(self.client, INDEX),
            max_bytes=limit,
            belongs=lambda transcript: records.source_indexing.was_held_in(
                sources.place, transcript
            ),
            plan=plan,
        )
        # A new store that reads only the named paths is not complete: `needs_index` must still
        # report it. Decided before `note`, because a list that exists counts as not yet followed.
        whole = named is None or not unfollowed(self.client.store, sources)
        if named and not plan:
            sources.note(named)
        done = records.source_indexing.follow(
            indexer, sources, named, whole=whole, progress=progress
        )
        mark_written(self.client, [sources.place.scope])
        return done

    def import_sessions(
        self,
        sessions: str | Path | PastProject,
        *,
        into: ScopeLike | None = None,
        homeless: bool = False,
        progress: Callable[[int], None] = lambda sessions: None,
    ) -> Indexed:
        """Import past sessions from a transcript, a chat export, or a discovered project.
        Idempotent.

        A discovered project comes from `projects.past_sessions.survey` (this machine) or
        `survey_file` (one file) and is imported into its own scope. A file is imported into the
        scope `into`, by default the first scope; with `homeless`, only its sessions without a
        recorded folder. A session that cannot be stored is listed in `failed`; the others are
        stored. `progress` is called with the number of sessions that were just read.
        """
        limit = self.client.settings.max_content_bytes
        author = author_of(self.client, "import")
        if isinstance(sessions, str | Path):
            scope = Scope.parse(into) if into else self.client.scopes[0]
            file = Path(sessions).expanduser().resolve()
            done = projects.past_sessions.take_in_file(
                self.client.store,
                scope,
                file,
                author,
                max_bytes=limit,
                homeless=homeless,
                progress=progress,
            )
        else:
            scope = sessions.place.scope
            data = config.data_folder()
            done = projects.past_sessions.take_in(
                self.client.store, sessions, author, data=data, max_bytes=limit, progress=progress
            )
        mark_written(self.client, [scope])
        return done

    @property
    def needs_index(self) -> bool:
        """Whether the project has a source list but this store has indexed nothing of it: a new
        store.
        """
        place = self._indexed_place()
        if place is None or not unfollowed(
            self.client.store, sources_of(place, config.data_folder())
        ):
            return False
        return is_enabled(self.client, place.scope)

    def _sources(self) -> Sources:
        """Return the source lists of the open project; raises InvalidInput without one, Refused if
        disabled.
        """
        place = self._indexed_place()
        if place is None and self.client.scopes[0].kind == "assistant":
            raise InvalidInput(
                "The assistant scope holds records only: sessions and tickets belong to a "
                "project. Nothing was indexed."
            )
        if place is None:
            raise InvalidInput(
                "Sessions and tickets belong to a project, and none is open. Run: holdfast "
                "project init"
            )
        check_enabled(self.client, place.scope)
        return sources_of(place, config.data_folder())

    def _indexed_place(self) -> RecordRoot | None:
        return next(
            (
                one
                for one in files_of(self.client).places
                if one.name == "project" and one.scope in self.client.scopes
            ),
            None,
        )
