"""The TypeScript client: up to date with the OpenAPI document, and its own tests by Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import __version__
from patience import PATIENCE

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "clients" / "typescript"
NODE = shutil.which("node")


def test_it_is_what_the_openapi_document_says():
    command = [sys.executable, ROOT / "docs" / "typescript.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    package = json.loads((FOLDER / "package.json").read_text("utf-8"))
    assert package["version"] == __version__.partition(".dev")[0]


@pytest.mark.skipif(NODE is None, reason="it needs Node")
def test_its_own_tests_pass_against_a_real_server(tmp_path):
    program = Path(sys.executable).with_name("holdfast")
    done = subprocess.run(
        [NODE, "--test"],
        cwd=FOLDER,
        env={**os.environ, "HOLDFAST": str(program), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
