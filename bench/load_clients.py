"""The clients of `server_load.py`, in a process of their own: JSON with the work on standard input,
JSON with all that they saw on standard output.

HTTP is written to sockets directly, so that the clients take little of the machine that the server
needs.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from common import OBJECTS, SUBJECTS, TAILS, VERBS

# A word in every text, which names its owner.
MARK = re.compile(rb"keeperof(owner\d+)\b")
# How often a client does what, in a hundred.
HABITS = {
    "exchange": 30,
    "recall": 20,
    "list": 14,
    "remember": 20,
    "correct": 6,
    "forget": 4,
    "get": 4,
    "end": 2,
}
# Seconds before a client tries to connect again, while a server is restarted.
PAUSE = 0.05
REPLIES = (
    "Noted, I will keep that in mind.",
    "That sounds like a good plan.",
    "I am sorry to hear that.",
    "Shall I remind you tomorrow?",
)


class Unanswered(Exception):
    """The connection ended before an answer came."""


class Wrong(Exception):
    """An answer that is not what it must be."""


class Connection:
    """One connection to the server, opened again when the server has closed it."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._key = key
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: object | None) -> tuple[int, bytes]:
        """Send a request; its status and body. Raises Unanswered."""
        data = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} /api/memory{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {self._key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self._port)
            reader, writer = self._streams
            writer.write(head.encode() + data)
            return await self._answer(reader)
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            raise Unanswered(f"{type(error).__name__}") from error

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"\r\ncontent-length: (\d+)", head)
        body = await reader.readexactly(int(length[1]) if length else 0)
        if b"\r\nconnection: close" in head:
            self.close()
        return int(head.split(b" ", 2)[1]), body

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


class Seen:
    """What all clients saw."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []
        self.unanswered: Counter[str] = Counter()
        """By reason: refused while no server listens, cut off, or told to come again."""
        self.by_owner: Counter[str] = Counter()
        self.written: dict[str, dict[str, list[str]]] = defaultdict(dict)
        """Per owner, the id of each acknowledged write, with its status and text."""


class Client:
    """One client of an owner. It changes only what it wrote itself."""

    def __init__(self, number: int, owner: str, key: str, asked: dict[str, Any]) -> None:
        self._owner = owner
        self._connection = Connection(asked["port"], key)
        self._chance = random.Random(f"{asked['serial']} {number}")
        self._name = f"{asked['serial']}x{number}"
        self._count = 0
        self._sessions = 0
        self._active: dict[str, str] = {}
        self._until = 0.0
        self._restarts = asked["restarts"]
        self._stop = Path(asked["stop"])

    async def run(self, seen: Seen, until: float) -> None:
        """Send requests until the time is over."""
        self._until = until
        habits, weights = list(HABITS), list(HABITS.values())
        while time.monotonic() < until and not self._stop.exists():
            (habit,) = self._chance.choices(habits, weights)
            work: Callable[[Seen], Awaitable[None]] = getattr(self, habit)
            try:
                await work(seen)
            except Unanswered as error:
                if not self._restarts:
                    seen.errors.append(f"{habit}: {error}")
                seen.unanswered[str(error)] += 1
                await asyncio.sleep(PAUSE)
            except Wrong as error:
                seen.errors.append(f"{habit} of {self._owner}: {error}")
        self._connection.close()

    async def _ask(
        self,
        seen: Seen,
        route: str,
        method: str,
        path: str,
        body: object | None = None,
        *,
        expected: int = 200,
    ) -> Any:
        start = time.perf_counter()
        status, data = await self._connection.ask(method, path, body)
        if status == 503 and self._restarts:
            # A server that ends has not begun this request, and says so.
            raise Unanswered("the server ends")
        seen.times[route].append(time.perf_counter() - start)
        # What is answered afterwards says only how many clients an owner has.
        if time.monotonic() < self._until:
            seen.by_owner[self._owner] += 1
        if status != expected:
            raise Wrong(f"{status} {data[:300]!r}")
        if strangers := {name.decode() for name in MARK.findall(data)} - {self._owner}:
            raise Wrong(f"contains memories of {strangers}")
        return json.loads(data)

    def _text(self) -> str:
        self._count += 1
        pick = self._chance.choice
        words = f"{pick(SUBJECTS)} {pick(VERBS)} {pick(OBJECTS)} {pick(TAILS)}"
        return f"{words}, says keeperof{self._owner} in note {self._name}x{self._count}."

    def _note(self, seen: Seen, answer: dict[str, Any], text: str) -> None:
        """An acknowledged write: it must be in the store from now on."""
        if answer["content"] != text:
            raise Wrong(f"stored {answer['content']!r} instead of {text!r}")
        seen.written[self._owner][answer["id"]] = ["active", text]

    @property
    def _session(self) -> str:
        return f"chat-{self._name}-{self._sessions}"

    async def exchange(self, seen: Seen) -> None:
        """One exchange of a conversation, as an assistant with memory sends it."""
        text = self._text()
        asked = {"prompt": text, "session": self._session}
        blocks = await self._ask(seen, "context", "POST", "/context", asked)
        if set(blocks) != {"stable", "turn", "ids"}:
            raise Wrong(f"context has {sorted(blocks)}")
        for role, said in (("user", text), ("assistant", self._chance.choice(REPLIES))):
            turn = {"session": self._session, "role": role, "text": said}
            kept = await self._ask(seen, "capture", "POST", "/capture", turn, expected=201)
            self._note(seen, kept["memory"], said)

    async def end(self, seen: Seen) -> None:
        """The end of this client's conversation."""
        answer = await self._ask(seen, "end", "POST", f"/sessions/{quote(self._session)}/end")
        if answer["learned"] is None:
            raise Wrong("the session could not be read")
        self._sessions += 1

    async def remember(self, seen: Seen) -> None:
        text = self._text()
        stored = await self._ask(
            seen, "remember", "POST", "/memories", {"content": text}, expected=201
        )
        self._note(seen, stored, text)
        self._active[stored["id"]] = text

    async def correct(self, seen: Seen) -> None:
        """A new text for something that this client stored."""
        if not self._active:
            return
        old = self._chance.choice(list(self._active))
        text = self._text()
        # Whether it was done is not known if no answer comes.
        before, was = seen.written[self._owner].pop(old), self._active.pop(old)
        new = await self._ask(seen, "correct", "PATCH", f"/memories/{old}", {"content": text})
        self._note(seen, new, text)
        seen.written[self._owner][old] = ["superseded", was]
        self._active[new["id"]] = text
        assert before == ["active", was]

    async def forget(self, seen: Seen) -> None:
        if not self._active:
            return
        id_ = self._chance.choice(list(self._active))
        text = self._active.pop(id_)
        del seen.written[self._owner][id_]
        gone = await self._ask(seen, "forget", "DELETE", f"/memories/{id_}")
        if gone["status"] != "archived":
            raise Wrong(f"forgotten, but {gone['status']}")
        seen.written[self._owner][id_] = ["archived", text]

    async def get(self, seen: Seen) -> None:
        if not self._active:
            return
        id_ = self._chance.choice(list(self._active))
        found = await self._ask(seen, "get", "GET", f"/memories/{id_}")
        if (found["status"], found["content"]) != ("active", self._active[id_]):
            raise Wrong(f"{id_} is {found['status']}: {found['content']!r}")

    async def recall(self, seen: Seen) -> None:
        """A question about anything, or with the very words of something that is stored."""
        id_ = self._chance.choice(list(self._active)) if self._active else ""
        pick = self._chance.choice
        question = self._active.get(id_) or f"What about {pick(SUBJECTS)} and {pick(OBJECTS)}?"
        found = await self._ask(seen, "recall", "POST", "/recall", {"question": question})
        if id_ and id_ not in {one["id"] for one in found["items"]}:
            raise Wrong(f"{id_} was not found by its own words {question!r}")

    async def list(self, seen: Seen) -> None:
        page = await self._ask(seen, "list", "GET", "/memories?kind=fact&limit=20")
        shown = {one["id"] for one in page["items"] if one["status"] == "active"}
        if len(shown) != len(page["items"]) or not len(shown) <= 20:
            raise Wrong(f"{len(page['items'])} items, of which {len(shown)} are active")


async def run(asked: dict[str, Any]) -> Seen:
    """Runs all clients at once; owners take turns in having the next client."""
    seen = Seen()
    keys = asked["keys"]
    until = time.monotonic() + asked["seconds"]
    clients = [Client(n, *keys[n % len(keys)], asked) for n in range(asked["clients"])]
    await asyncio.gather(*(client.run(seen, until) for client in clients))
    return seen


def main() -> None:
    seen = asyncio.run(run(json.load(sys.stdin)))
    json.dump(vars(seen) | {"cpu_seconds": time.process_time()}, sys.stdout)


if __name__ == "__main__":
    main()
