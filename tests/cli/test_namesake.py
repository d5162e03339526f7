"""Another package of the same name in the same environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import holdfast


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command with what lies in a folder found first."""
    return subprocess.run(
        [sys.executable, "-c", "from holdfast.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
    )


def test_doctor_names_a_package_that_shares_the_folder(tmp_path):
    about = tmp_path / "holdfast-3.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: holdfast\nVersion: 3.1\n")
    done = run(tmp_path, "doctor", "--store", str(tmp_path / "memory.db"))
    assert "a package named holdfast is installed beside holdfast-memory" in done.stdout
    assert "pip uninstall holdfast; pip install --force-reinstall holdfast-memory" in done.stdout


def test_the_command_says_that_its_files_were_overwritten(tmp_path):
    here = tmp_path / "holdfast"
    here.mkdir()
    (here / "__init__.py").write_text('__version__ = "3.1"\n')
    shutil.copytree(Path(holdfast.__file__).parent / "cli", here / "cli")
    done = run(tmp_path, "recall", "tea")
    assert done.returncode == 1
    assert "pip uninstall holdfast; pip install --force-reinstall holdfast-memory" in done.stderr
