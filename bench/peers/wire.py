"""How a peer is talked to: one JSON object a line, in its own environment, so that scoring is the
same for everybody.

    {"do": "open", "folder": …, "embeddings": URL, "model": …, "dimensions": …}    {"versions": {…}}
    {"do": "add", "owner": …, "turns": [{"key": …, "text": …, …}, …]}              {"seconds": …}
    {"do": "ask", "owner": …, "text": …, "limit": …, "now": …}    {"ranked": [key, …], "seconds": …}

A line that cannot be answered is answered with {"error": …}. The seconds are the peer's own: what
the pipe takes is not counted. Nothing here but the standard library: it runs wherever the peer is
installed.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.request
from collections.abc import Callable
from importlib import metadata
from typing import Any, Protocol

Turn = dict[str, Any]
Asked = dict[str, Any]


class Peer(Protocol):
    """A memory that takes in texts and finds them again."""

    def add(self, owner: str, turns: list[Turn]) -> None:
        """Takes in the `text` of each turn for this owner, to be found by its `key`."""

    def ask(self, owner: str, asked: Asked) -> list[str]:
        """The keys of the first `limit` of this owner's texts that answer `text`, best first."""


def serve(open_peer: Callable[[dict[str, Any]], Peer], *packages: str) -> None:
    """Answers requests from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints is no answer
    peer: Peer | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "open":
                peer = open_peer(request)
                answer: dict[str, Any] = {
                    "versions": {name: metadata.version(name) for name in packages}
                }
            else:
                assert peer is not None, "open comes first"
                answer = _timed(peer, request)
        except Exception as error:  # the report says what went wrong, in the peer's own words
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def _timed(peer: Peer, request: dict[str, Any]) -> dict[str, Any]:
    start = time.perf_counter()
    if request["do"] == "add":
        peer.add(request["owner"], request["turns"])
        return {"seconds": time.perf_counter() - start}
    ranked = peer.ask(request["owner"], request)
    return {"ranked": ranked, "seconds": time.perf_counter() - start}


def embed(start: dict[str, Any], texts: list[str], *, asked: bool = False) -> list[list[float]]:
    """The vectors of `texts` from the endpoint that all peers share."""
    body = json.dumps({"model": start["model"], "input": texts, "asked": asked}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{start['embeddings']}/embeddings", body, headers)
    with urllib.request.urlopen(request) as response:
        return [row["embedding"] for row in json.load(response)["data"]]
