"""Follows README and every page of docs with the wheel, as a stranger would: with an empty home and
without sources.

    python tests/walk.py                     with every Python from 3.11 to 3.14 that is found here
    python tests/walk.py 3.12 ~/my/python    with these

A version that is not here is passed over, and that is said.

For each a clean environment gets the wheel with all extras. Then every command of the documentation
is run by the installed `holdfast`, every output compared, every extra tried alone, and the demo
shown. One line tells how it went.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# Beside hidden files: with the sources here, the wheel would not be what is tried.
LEFT_BEHIND = ("src", "build", "dist", "site")
TESTS = ("tests/test_docs.py", "tests/test_extras.py")
ENCRYPTED = (
    "tests/encryption",
    "tests/test_docs.py::test_all_that_a_page_says_can_be_done_and_shows_what_the_page_shows"
    "[docs/how-to/encryption.md]",
)
# Of the environment; all else is as on a new machine.
KEPT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "SSL_CERT_FILE",
)


class Failed(Exception):
    """A command did, with what it printed."""


def main() -> int:
    found = {name: _python(name) for name in sys.argv[1:] or VERSIONS}
    pythons = [python for python in found.values() if python]
    failed = False
    with TemporaryDirectory(prefix="walk-") as place:
        wheel = _wheel(pythons[0], Path(place)) if pythons else None
        for name, python in found.items():
            if python is None or wheel is None:
                print(f"Python {name}: SKIPPED, it is not on this machine", flush=True)
                continue
            try:
                print(
                    f"Python {_version(python)}: {_walk(python, wheel, Path(place) / 'walk')}",
                    flush=True,
                )
            except Failed as failure:
                failed = True
                print(f"{failure}\nPython {_version(python)}: FAILED, see above", flush=True)
            shutil.rmtree(Path(place) / "walk", ignore_errors=True)
    return int(failed)


def _walk(python: str, wheel: Path, folder: Path) -> str:
    """Everything with one Python; says how long the parts took."""
    began = time.monotonic()
    ours = _environment(python, wheel, folder / "environment")
    installed = time.monotonic()
    checkout, home = folder / "checkout", folder / "home"
    home.mkdir()
    for path in ROOT.iterdir():
        if path.name not in LEFT_BEHIND and not path.name.startswith("."):
            _take_along(path, checkout)
    env = {name: os.environ[name] for name in KEPT if name in os.environ} | {
        "HOME": str(home),
        "CI": "true",
    }
    env["PATH"] = f"{ours.parent}{os.pathsep}{env['PATH']}"
    where = _run([ours, "-c", "import holdfast; print(holdfast.__file__)"], env, checkout)
    if not where.startswith(str(folder)):
        raise Failed(f"This would have tried {where}, which is not the wheel.")
    told = _run(
        [ours, "-m", "pytest", "--walk", "-q", "-n", "auto", "-p", "no:cacheprovider", *TESTS],
        env,
        checkout,
    )
    walked = time.monotonic()
    encrypted = _walk_encrypted(ours, wheel, env, checkout)
    _run([ours.with_name("holdfast"), "demo"], env, home)
    return (
        f"installed in {installed - began:.0f} s; {told.strip().splitlines()[-1].strip('= ')}; "
        f"encrypted: {encrypted}; demo in {time.monotonic() - walked:.0f} s"
    )


def _walk_encrypted(
    ours: Path,
    wheel: Path,
    env: dict[str, str],
    checkout: Path,
) -> str:
    """The extra that replaces files of apsw, added to a Holdfast that is there already."""
    if uv := shutil.which("uv"):
        _run([uv, "pip", "install", "--quiet", "--python", ours, f"{wheel}[encryption]"])
    else:
        _run([ours, "-m", "pip", "install", "--quiet", f"{wheel}[encryption]"])
    told = _run(
        [ours, "-m", "pytest", "--walk", "-q", "-n", "auto", "-p", "no:cacheprovider", *ENCRYPTED],
        env,
        checkout,
    )
    return told.strip().splitlines()[-1].strip("= ")


def _take_along(path: Path, checkout: Path) -> None:
    checkout.mkdir(exist_ok=True)
    if path.is_dir():
        left_out = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(path, checkout / path.name, ignore=left_out)
    else:
        shutil.copy(path, checkout / path.name)


def _wheel(python: str, folder: Path) -> Path:
    if uv := shutil.which("uv"):
        _run([uv, "build", "--quiet", "--wheel", "--python", python, "--out-dir", folder, ROOT])
    else:
        _run([python, "-m", "venv", folder / "builder"])
        pip = [folder / "builder" / "bin" / "python", "-m", "pip"]
        _run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT])
    return next(folder.glob("*.whl"))


def _environment(python: str, wheel: Path, folder: Path) -> Path:
    """A clean environment with the wheel, all its extras and what the walk itself needs; its
    Python.
    """
    ours, group = folder / "bin" / "python", f"{ROOT / 'pyproject.toml'}:walk"
    if uv := shutil.which("uv"):
        _run([uv, "venv", "--quiet", "--python", python, folder])
        _run([uv, "pip", "install", "--quiet", "--python", ours, f"{wheel}[all]", "--group", group])
    else:
        _run([python, "-m", "venv", folder])
        _run([ours, "-m", "pip", "install", "--quiet", "--upgrade", "pip"])
        _run([ours, "-m", "pip", "install", "--quiet", f"{wheel}[all]", "--group", group])
    return ours


def _python(name: str) -> str | None:
    """A Python by its version or its path; None where it does not start, as a link of pyenv may
    not.
    """
    known = sorted((Path.home() / ".pyenv" / "versions").glob(f"{name}.*/bin/python"))
    for one in (name, f"python{name}", *map(str, known)):
        if (
            shutil.which(one)
            and subprocess.run([one, "-V"], capture_output=True, check=False).returncode == 0
        ):
            return one
    return None


def _version(python: str) -> str:
    return _run([python, "-V"]).split()[1]


def _run(
    command: Sequence[str | Path], env: dict[str, str] | None = None, folder: Path | None = None
) -> str:
    done = subprocess.run(
        command,
        env=env,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=-1,
        stderr=-2,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
