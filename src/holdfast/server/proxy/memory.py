"""Memory of the proxy: context before a request, capture after its answer. It fails no request."""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...client import Holdfast
from ...coding_agents.hooks.inject import asked
from ...errors import HoldfastError
from ...types import Micros, new_id
from ..session_watch import REPLY, Conversations
from .formats import (
    Answer,
    Body,
    Format,
    is_new,
    last_exchange,
    messages_of,
    prompt_of,
    with_memory,
)

log = logging.getLogger(__name__)

# Conversations that can be continued; above that, the oldest is forgotten.
MOST_CONVERSATIONS = 10_000
NOT_ADDED = "nothing was added to a request"
NOT_CAPTURED = "a request was not captured"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request that awaits its answer."""

    hf: Holdfast
    api: Format
    body: Body
    session: str
    at: Micros

    @property
    def messages(self) -> list[Body]:
        """The messages of the request."""
        return messages_of(self.api, self.body)


class ProxyMemory:
    """Adds what is relevant to requests and stores what was said, for many owners."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._sessions: OrderedDict[Hashable, str] = OrderedDict()
        # Requests are handled in several threads.
        self._lock = threading.Lock()
        self._complaints: dict[str, str] = {}

    def begin(self, hf: Holdfast, api: Format, raw: bytes, session: str) -> Exchange | None:
        """Read a request; None if there is nothing in it to remember or to answer from memory."""
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            # The upstream says what is wrong with it.
            return None
        if not isinstance(body, dict) or not messages_of(api, body):
            return None
        at = hf.clock()
        named = session or self._known_session(hf, api, body) or new_id("chat", at)
        return Exchange(hf, api, body, named, at)

    def add_context(self, exchange: Exchange, raw: bytes) -> bytes:
        """Return the request with what is relevant; unchanged if nothing is, or memory fails."""
        with self._unharmed(NOT_ADDED):
            prompt = asked(prompt_of(exchange.messages))
            known = exchange.hf.context(prompt, session=exchange.session)
            if known.stable or known.turn:
                changed = with_memory(exchange.api, exchange.body, known)
                # Infinity is no JSON: such a number was too large for us and goes on as it came.
                return json.dumps(changed, allow_nan=False).encode()
        return raw

    def capture(self, exchange: Exchange, answer: Answer) -> None:
        """Store what the user said and what was answered, then extract from it."""
        if answer.failed or not answer.messages:
            return
        with self._unharmed(NOT_CAPTURED):
            messages = exchange.messages
            if is_new(messages):
                self._capture(exchange, "user", prompt_of(messages), exchange.at)
            kept = self._capture(exchange, REPLY, answer.text, exchange.hf.clock())
            self._note_session(exchange, answer)
            self._conversations.consider(exchange.hf, kept)

    def _capture(self, exchange: Exchange, role: str, text: str, at: Micros) -> Any:
        turn = {"session": exchange.session, "role": role, "text": text, "event_time": at}
        return self._conversations.capture(exchange.hf, turn)

    def _known_session(self, hf: Holdfast, api: Format, body: Body) -> str:
        conversation = body.get("conversation")
        if isinstance(conversation, dict):
            conversation = conversation.get("id")
        if conversation and isinstance(conversation, str):
            return conversation
        before = body.get("previous_response_id")
        mark = before if isinstance(before, str) else last_exchange(messages_of(api, body))
        with self._lock:
            return self._sessions.get((hf.scopes[0], mark), "")

    def _note_session(self, exchange: Exchange, answer: Answer) -> None:
        """Remember by what the next request will be known to continue this conversation."""
        said = last_exchange([*exchange.messages, *answer.messages])
        with self._lock:
            for mark in (answer.id, said):
                if mark:
                    self._sessions[exchange.hf.scopes[0], mark] = exchange.session
            while len(self._sessions) > MOST_CONVERSATIONS:
                self._sessions.popitem(last=False)

    def note_late(self) -> None:
        """Log that memory did not answer in time."""
        self._complain(NOT_ADDED, "it did not answer in time")

    @contextmanager
    def _unharmed(self, otherwise: str) -> Iterator[None]:
        """Log an error instead of raising it; the same one again only after a success."""
        try:
            yield
        except HoldfastError as error:
            self._complain(otherwise, str(error))
        except Exception as error:  # whatever happens to memory, the request goes on
            # The text of such an error could quote the request.
            self._complain(otherwise, type(error).__name__)
        else:
            self._complaints.pop(otherwise, None)

    def _complain(self, otherwise: str, reason: str) -> None:
        if reason != self._complaints.get(otherwise):
            self._complaints[otherwise] = reason
            log.warning("memory failed, and %s: %s", otherwise, reason)
