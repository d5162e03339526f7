"""The official MCP conformance suite against `holdfast mcp --http`.

    python bench/mcp_conformance.py

It needs Node 22 or later, and fetches the npm package @modelcontextprotocol/conformance. Most of
its scenarios call tools, resources and prompts of a test server by name, such as
`test_simple_text`; no other server has them, so only the scenarios in APPLY count.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = "@modelcontextprotocol/conformance"
APPLY = {
    "server-initialize",
    "ping",
    "logging-set-level",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
}
RESULT = re.compile(r"^([✓✗]) ([\w-]+): (\d+) passed, (\d+) failed", re.MULTILINE)


def main() -> int:
    """Run the suite and print a line for each scenario; 1 if one that applies fails."""
    with tempfile.TemporaryDirectory() as folder:
        server = _started(Path(folder) / "memory.db")
        try:
            results = _results(_url(server))
        finally:
            server.terminate()
            server.communicate()
    failed = [name for name in APPLY if not results.get(name)]
    for name, passed in results.items():
        word = "passed" if passed else "FAILED" if name in APPLY else "does not apply"
        print(f"{name}: {word}")
    print(f"{len(APPLY) - len(failed)} of {len(APPLY)} that apply passed.")
    return 1 if failed else 0


def _started(store: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "holdfast", "mcp", "--http", "--port", "0", "--store"]
    words_only = {**os.environ, "HOLDFAST_EMBEDDING_MODELS": "none"}
    return subprocess.Popen(
        [*command, str(store)], stderr=subprocess.PIPE, text=True, env=words_only
    )


def _url(server: subprocess.Popen[str]) -> str:
    line = server.stderr.readline() if server.stderr else ""
    found = re.search(r"http://\S+", line)
    if found is None:
        raise SystemExit(f"The server did not start: {line}")
    return found[0]


def _results(url: str) -> dict[str, bool]:
    suite = ["npx", "--yes", PACKAGE, "server", "--url", url]
    # It exits with an error if any scenario fails, also one that does not apply.
    told = subprocess.run(suite, capture_output=True, text=True, check=False, timeout=600)
    results = {name: mark == "✓" for mark, name, _, _ in RESULT.findall(told.stdout)}
    if not results:
        raise SystemExit(f"The suite did not run:\n{told.stdout[-2000:]}{told.stderr[-2000:]}")
    return results


if __name__ == "__main__":
    raise SystemExit(main())
