"""How long an MCP client waits for the server that it starts, against `python -c pass` in the same
run.

    python bench/mcp_server.py [--rounds 15] [--clients 10] [--memories 10000]

The bar: the greeting and the list of tools are there within half a second beyond the start of the
interpreter, and the server has started no process of its own. On a machine so crowded that `python
-c pass` takes longer than 25 ms, the first is twenty times that. How long a first recall takes, and
ten clients at once on one store, is told beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from common import finish, median, texts, timed
from holdfast.client import Holdfast

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
RECALL = {"name": "memory_recall", "arguments": {"question": "What about the garden?"}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--memories", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(
            {
                "HOME": folder,
                "XDG_DATA_HOME": f"{folder}/data",
                "XDG_CONFIG_HOME": f"{folder}/config",
            }
        )
        os.environ["HOLDFAST_EMBEDDING_MODELS"] = (
            "static"  # nothing is to be embedded in the background
        )
        store = Path(folder) / "memory.db"
        with Holdfast.open(store, scope="user:ann", background=False) as hf:
            hf.remember_many(texts(options.memories))
            hf.recall("What about the garden?")  # embeds them
        finish(measured(store, options.rounds, options.clients))


def measured(store: Path, rounds: int, clients: int) -> dict[str, object]:
    """Milliseconds until each answer, taking turns, so that a busy moment of the machine hits all
    of them.
    """
    bare, steps, children = list[float](), list[dict[str, float]](), 0
    for _ in range(rounds):
        bare.append(1e3 * timed(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)))
        waited, started = talk(store)
        steps.append(waited)
        children += started
    with ThreadPoolExecutor(clients) as pool:
        crowd = list(pool.map(lambda _: talk(store)[0]["recall"], range(clients)))
    usual = median(bare)
    beyond = {name: median([one[name] for one in steps]) - usual for name in steps[0]}
    return {
        "python_milliseconds": round(usual, 1),
        "milliseconds_beyond_python": {name: round(value, 1) for name, value in beyond.items()},
        "worst_of_the_crowd": round(max(crowd), 1),
        "children": children,
        "met_start": beyond["tools"] <= max(500, 20 * usual),
        "met_no_children": children == 0,
    }


def talk(store: Path) -> tuple[dict[str, float], int]:
    """Milliseconds until a client was greeted, knew the tools, and had recalled; and how many
    processes there were.
    """
    start, waited = time.perf_counter(), {}
    command = [
        sys.executable,
        "-m",
        "holdfast",
        "mcp",
        "--store",
        str(store),
        "--scope",
        "user:ann",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None and server.stdout is not None
        for name, method, params in (
            ("greeting", "initialize", HELLO),
            ("tools", "tools/list", {}),
            ("recall", "tools/call", RECALL),
        ):
            asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            server.stdin.write(json.dumps(asked).encode() + b"\n")
            server.stdin.flush()
            assert b'"result"' in server.stdout.readline()
            waited[name] = 1e3 * (time.perf_counter() - start)
        children = len(psutil.Process(server.pid).children(recursive=True))
        server.stdin.close()
    return waited, children


if __name__ == "__main__":
    main()
