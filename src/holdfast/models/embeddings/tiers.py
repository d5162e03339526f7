"""The configured embedding models, fastest first and best last, each loaded on first use.

A model that cannot be loaded or fails is recorded and not used for a while; memory works without
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...errors import EmbedderError, HoldfastError, InvalidInput
from ...floats import Vector
from ...types import Clock, Micros, system_clock
from .base import LOCAL, Embedder, embedder_for

# Long enough not to slow down every recall, short enough to notice a restart of the server.
REST_AFTER_FAILURE: Micros = 30_000_000


class Tiers:
    """Embedders by spec. Creating this object loads none of them."""

    def __init__(
        self,
        specs: Sequence[str],
        *,
        environ: Mapping[str, str],
        base_url: str = "",
        key_env: str = "",
        clock: Clock = system_clock,
    ) -> None:
        self._specs = [spec for spec in specs if spec != "none"]
        self._environ = environ
        self._base_url = base_url
        self._key_env = key_env
        self._clock = clock
        self._embedders: dict[str, Embedder] = {}
        self._resting: dict[str, Micros] = {}
        self._answered: set[str] = set()
        self.errors: dict[str, str] = {}

    @classmethod
    def of(cls, *embedders: Embedder, clock: Clock = system_clock) -> Tiers:
        """Build tiers from existing embedders."""
        tiers = cls([embedder.identity for embedder in embedders], environ={}, clock=clock)
        tiers._embedders = {embedder.identity: embedder for embedder in embedders}
        return tiers

    def __iter__(self) -> Iterator[Embedder]:
        """Iterate over the available embedders, fastest first."""
        for spec in self._specs:
            embedder = self._load(spec)
            if embedder is not None:
                yield embedder

    def _load(self, spec: str) -> Embedder | None:
        if spec not in self._embedders:
            # A custom URL applies to the remote model, not to the bundled ones.
            remote = ":" in spec and not spec.startswith(LOCAL)
            options = (
                {"base_url": self._base_url or None, "api_key_env": self._key_env or None}
                if remote
                else {}
            )
            try:
                embedder = embedder_for(spec, environ=self._environ, **options)
            except InvalidInput:
                raise
            except HoldfastError as error:
                self._note(spec, error)
                return None
            if embedder is None:
                return None
            self._embedders[spec] = embedder
        return self._embedders[spec]

    def loaded(self) -> list[Embedder]:
        """Return the embedders that have been loaded so far, fastest first."""
        return [self._embedders[spec] for spec in self._specs if spec in self._embedders]

    def answered(self, identity: str) -> bool:
        """Whether a model has been called in this process and has answered."""
        return identity in self._answered

    def usable(self, identity: str) -> Embedder | None:
        """Return the embedder with this identity; None while it rests after a failure."""
        embedder = next((embedder for embedder in self if embedder.identity == identity), None)
        if embedder is None or self._resting.get(identity, 0) > self._clock():
            return None
        return embedder

    def query(self, identity: str, text: str) -> Vector | None:
        """Return the vector of a question; None if the model is not available now."""
        embedder = self.usable(identity)
        if embedder is None:
            return None
        try:
            vector = embedder.embed_query(text)
        except EmbedderError as error:
            self.rest(identity, error)
            return None
        self.works(identity)
        return vector

    def rest(self, identity: str, error: Exception) -> None:
        """Record a failure and do not use the model for a while."""
        self._resting[identity] = self._clock() + REST_AFTER_FAILURE
        self._note(identity, error)

    def wake(self, identity: str) -> None:
        """Allow the model to be used at once, whatever failed before."""
        self._resting.pop(identity, None)
        self.errors.pop(identity, None)

    def works(self, identity: str) -> None:
        """Record that the model works (again)."""
        self._answered.add(identity)
        self._resting.pop(identity, None)
        self.errors.pop(identity, None)

    def _note(self, name: str, error: Exception) -> None:
        # Importing logging is slow, and failures are rare.
        from logging import getLogger  # noqa: PLC0415

        if self.errors.get(name) != str(error):
            getLogger(__name__).warning("embedding model %s: %s", name, error)
        self.errors[name] = str(error)
