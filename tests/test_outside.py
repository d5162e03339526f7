"""What a process of Holdfast does outside of its own folders: nothing, on the network or in a home,
unless told to.

Connects and name lookups are seen below Python, by a small library that is loaded before all
others, so those of native libraries are seen as well. The home is empty at first, and afterwards
holds nothing but Holdfast's own folders.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast import config

SOURCE = Path(__file__).with_name("network_trace.c")
# Loopback; `-` is a lookup without a name, for listening.
HERE = (
    "127.0.0.1",
    "::1",
    "localhost",
    "-",
)
OURS = {".local/share/holdfast", ".config/holdfast"}  # below the home, on Linux
HOLDFAST = [sys.executable, "-m", "holdfast"]
LIBRARY = """
from holdfast import Holdfast
from holdfast.config import default_store

with Holdfast.open(default_store(), scope="user:ann") as hf:
    hf.remember("My sister Ines lives in Lisbon")
    hf.capture("monday", "user", "The spare key is under the blue pot")
    hf.admin.reembed()
    assert hf.recall("where does my sister live?")
import sys
assert "onnxruntime" in sys.modules
"""


@pytest.fixture(scope="module")
def tracer(tmp_path_factory) -> Path:
    """The library that sees connects and lookups, compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("seeing what native libraries connect to takes Linux and a C compiler")
    made = tmp_path_factory.mktemp("tracer") / "network_trace.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(made), str(SOURCE), "-ldl"], check=True)
    return made


@dataclass(frozen=True)
class Watched:
    """An empty home, and processes in it whose connects and lookups are noted."""

    home: Path
    work: Path
    trace: Path
    environ: dict[str, str]

    def run(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        options = {"env": self.environ, "cwd": self.work, "text": True, "capture_output": True}
        done = subprocess.run([*command], check=False, input=stdin, **options)
        assert done.returncode == 0, done.stderr
        return done

    def reached(self) -> list[str]:
        """What was connected to or looked up beyond this machine."""
        lines = self.trace.read_text("utf-8").splitlines() if self.trace.exists() else []
        return [line for line in lines if line.split(" ", 1)[1] not in HERE]

    def written(self) -> list[str]:
        """Files below the home that are in no folder of Holdfast."""
        files = [file.relative_to(self.home) for file in self.home.rglob("*") if not file.is_dir()]
        return [str(file) for file in files if not OURS & {str(above) for above in file.parents}]


@pytest.fixture
def watched(tracer, tmp_path) -> Watched:
    home, work, trace = tmp_path / "home", tmp_path / "work", tmp_path / "trace"
    home.mkdir()
    work.mkdir()
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LD_PRELOAD": str(tracer),
        "TRACE_TO": str(trace),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return Watched(home, work, trace, environ)


def quiet(watched: Watched) -> None:
    assert watched.reached() == []
    assert watched.written() == []
    assert list(watched.work.iterdir()) == []


def test_the_trace_sees_what_native_code_looks_up_and_connects_to(watched):
    script = (
        "import ctypes, socket, struct\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.getaddrinfo(b'nowhere.invalid', None, None, ctypes.byref(ctypes.c_void_p()))\n"
        "there = struct.pack('=H', socket.AF_INET) + struct.pack('!H4s8x', 9, "
        "socket.inet_aton('192.0.2.1'))\n"
        # connecting a datagram sends nothing
        "with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:\n"
        "    libc.connect(one.fileno(), there, len(there))\n"
    )
    watched.run(sys.executable, "-c", script)
    assert watched.reached() == ["lookup nowhere.invalid", "connect 192.0.2.1"]


def test_the_library_reaches_nothing_and_writes_only_into_its_own_folder(watched):
    watched.run(sys.executable, "-c", LIBRARY)
    quiet(watched)


def test_the_command_line_reaches_nothing_and_writes_only_into_its_own_folders(watched):
    for words in (
        ["remember", "My sister Ines lives in Lisbon"],
        ["capture", "--session", "monday", "--role", "user", "The spare key is under the blue pot"],
        ["store", "reembed"],
        ["recall", "where does my sister live?"],
        ["entity", "list"],
        ["context", "where is the key?"],
        ["worker", "once", "all"],
        ["doctor"],
        ["stats"],
    ):
        watched.run(*HOLDFAST, *words)
    said = {"session_id": "s", "cwd": str(watched.work), "prompt": "where is the key?"}
    watched.run(*HOLDFAST, "hook", "run", "UserPromptSubmit", stdin=json.dumps(said))
    quiet(watched)


def test_a_worker_reaches_nothing_and_writes_only_into_its_own_folder(watched):
    watched.run(*HOLDFAST, "remember", "My sister Ines lives in Lisbon")
    done = watched.run(*HOLDFAST, "worker", "once")
    assert "memory-embed-s3" in done.stdout  # the model that would report was in use
    quiet(watched)


def test_the_server_reaches_nothing_and_writes_only_into_its_own_folders(watched):
    command = [*HOLDFAST, "serve", "--port", "0"]
    watched.run(*HOLDFAST, "remember", "My sister Ines lives in Lisbon")
    # So that the server asks the model that would report.
    watched.run(*HOLDFAST, "store", "reembed")
    options = {"env": watched.environ, "cwd": watched.work, "text": True, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **options) as process:
        try:
            assert process.stderr
            lines = iter(process.stderr.readline, "")
            url = next(
                word for line in lines for word in line.split() if word.startswith("http://")
            ).rstrip(".,")
            _ask(url, "memories", {"content": "The spare key is under the blue pot"})
            assert _ask(url, "recall", {"question": "where does my sister live?"})
            assert "onnxruntime" in Path(f"/proc/{process.pid}/maps").read_text("utf-8")
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()
    quiet(watched)


def _ask(url: str, path: str, body: dict[str, str]) -> object:
    request = urllib.request.Request(
        f"{url.rstrip('/')}/api/memory/{path}", json.dumps(body).encode()
    )
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_a_process_that_a_command_starts_is_as_quiet():
    environ: dict[str, str] = {}
    config.disable_vendor_telemetry(environ)
    assert environ == {"ORT_DISABLE_TELEMETRY": "1"}


def test_who_wants_a_library_to_report_is_not_overruled():
    environ = {"ORT_DISABLE_TELEMETRY": "0"}
    config.disable_vendor_telemetry(environ)
    assert environ == {"ORT_DISABLE_TELEMETRY": "0"}
