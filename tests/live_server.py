"""A real server on a free port of this machine, in a thread, for as long as a block lasts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from holdfast.audit import open_audit
from holdfast.client import Holdfast
from holdfast.feedback import open_feedback
from holdfast.server.api_keys import KeyFile
from holdfast.server.http_app import create_app
from holdfast.server.process import listening, run, url_of
from holdfast.server.ratelimit import Buckets
from patience import PATIENCE


class Live:
    """A server that answers, and clients for it."""

    def __init__(self, url: str, app: Any) -> None:
        self.url, self.app = url, app
        self._clients: list[httpx.Client] = []

    def client(self, key: str = "") -> httpx.Client:
        """A client of the API; with a key, one that shows it."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        client = httpx.Client(
            base_url=self.url + "api/memory",
            headers=headers,
            trust_env=False,
            verify=False,
            timeout=PATIENCE,
        )
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            client.close()


@contextmanager
def serving(hf: Holdfast, keys: Path, *, per_minute: int = 100_000) -> Iterator[Live]:
    """Serves a memory, with the keys of a file if there are any."""
    file, stop, place = KeyFile(keys), threading.Event(), hf.store.location
    audit, feedback = open_audit(place), open_feedback(place)
    app = create_app(hf, file, audit=audit, feedback=feedback, buckets=Buckets(per_minute))
    listener = listening("127.0.0.1", 0, file)
    live = Live(url_of(listener), app)
    conversations = app.state.serving.conversations
    thread = threading.Thread(target=run, args=(app, conversations, listener, stop))
    thread.start()
    try:
        yield live
    finally:
        live.close()
        stop.set()
        thread.join()
        listener.close()
        audit.close()
        feedback.close()
