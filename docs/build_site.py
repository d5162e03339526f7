"""Builds the documentation site from README and docs; a broken link fails the build.

python docs/build_site.py            into site/
python docs/build_site.py FOLDER     into another folder
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)]*)?\))")


def build(folder: Path) -> None:
    """Puts the site into a folder; what was there before is gone."""
    with TemporaryDirectory() as place:
        stage(Path(place))
        _zensical(Path(place))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(Path(place) / "site", folder)


def stage(place: Path) -> None:
    """Puts the pages where the generator expects them: README is the start, and what is
    linked outside of docs comes along.
    """
    shutil.copy(DOCS / "zensical.toml", place)
    shutil.copytree(DOCS, place / "docs", ignore=shutil.ignore_patterns("*.py", "*.toml", "__py*"))
    waiting, done = [ROOT / "README.md", *DOCS.rglob("*.md")], set[Path]()
    while waiting:
        page = waiting.pop()
        if page in done:
            continue
        done.add(page)
        file = place / "docs" / _place(page)
        file.parent.mkdir(parents=True, exist_ok=True)
        if page.suffix != ".md":
            shutil.copy(page, file)
            continue
        text = page.read_text("utf-8")
        file.write_text(LINK.sub(lambda link, page=page: _moved(link, page), text), "utf-8")
        waiting += [target for link in LINK.finditer(text) if (target := _target(link, page))]


def _target(link: re.Match[str], page: Path) -> Path | None:
    """The file of the repository that a link leads to, if it is one."""
    target = (page.parent / link[2]).resolve()
    return target if target.is_relative_to(ROOT) and target.is_file() else None


def _place(page: Path) -> Path:
    """Where a page or a picture of the repository stands in the site."""
    if page == ROOT / "README.md":
        return Path("index.md")
    if page.is_relative_to(DOCS):
        return page.relative_to(DOCS)
    return "repository" / page.relative_to(ROOT)


def _moved(link: re.Match[str], page: Path) -> str:
    """A link as it has to be where its page stands in the site."""
    target = (page.parent / link[2]).resolve()
    if not target.is_relative_to(ROOT):
        return link[0]
    return f"{link[1]}{os.path.relpath(_place(target), _place(page).parent)}{link[3]}"


def _zensical(place: Path) -> None:
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"The site could not be built.\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    build(target)
    print(f"{target}: open index.html")
