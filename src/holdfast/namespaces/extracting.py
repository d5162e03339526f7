"""Records out of sessions: what a project's past sessions teach, written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import records
from ..base_client import BaseClient
from ..errors import InvalidInput, NotFound
from ..model_access import reading_of
from ..records.roots import RecordRoot
from ..types import Session

if TYPE_CHECKING:
    from ..models.llm.chat import Complete
    from ..records.session_notes import Extracted


class Extracting(BaseClient):
    """Records out of sessions: what a project's past sessions teach, written down."""

    def extract(
        self,
        *sessions: str,
        plan: bool = False,
        complete: Complete | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Extracted:
        """Turns indexed sessions of the project into records, each with the words it rests on; all,
        or those named.

        A session is read once, and again when it goes on: by `complete`, by the model that is set,
        or by rules. What says the same as a record renews it. With `plan` nothing is written. What
        goes wrong with a session is told in `failures`, nothing of it is written, and it is read
        the next time.
        """
        project = self._project()
        self._check_on(project.scope)
        meant = list(records.session_notes.sessions_of(self.store, project.scope, sessions))
        if unknown := [one for one in meant if not isinstance(one, Session)]:
            raise NotFound(
                (
                    f"No session {unknown[0]!r} in {project.scope}. Index its transcript first: "
                    "holdfast project index PATH"
                ),
                id=unknown[0],
            )
        reading = reading_of(self, complete)
        extractor = records.session_notes.Extractor(
            store=self.store,
            clock=self.clock,
            actor=self.actor,
            write=self.write,
            places={place.name: place for place in self.places},
            policy=reading.policy,
            complete=reading.complete,
            max_bytes=self.settings.max_content_bytes,
        )
        known = [one for one in meant if isinstance(one, Session)]
        return extractor.run(known, plan=plan, progress=progress)

    def _project(self) -> RecordRoot:
        place = next((place for place in self.places if place.name == "project"), None)
        if place is None:
            raise InvalidInput(
                "Records come from the sessions of a project, and this is none. Run: holdfast "
                "project init"
            )
        return place
