"""What is published: the same bytes from the same sources, with all that belongs in it."""

from __future__ import annotations

import email
import re
import shutil
import tarfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import holdfast

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SOURCES = (
    "pyproject.toml",
    ".gitignore",
    *PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"],
)
EXTRAS = PROJECT["project"]["optional-dependencies"]
MADE = shutil.ignore_patterns("__pycache__", "*.pyc", "*.db*")
ENOUGH = 10_000  # bytes of a model are as good as all of them here, and much quicker to pack


def _copied(sources: Path, folder: Path) -> Path:
    """The sources in another folder, with the times of now."""
    folder.mkdir(parents=True)
    for name in SOURCES:
        if (sources / name).is_dir():
            shutil.copytree(sources / name, folder / name, copy_function=_copy, ignore=MADE)
        else:
            _copy(sources / name, folder / name)
    return folder


def _copy(source: str | Path, target: str | Path) -> str | Path:
    with Path(source).open("rb") as file:
        Path(target).write_bytes(file.read(ENOUGH) if "packs" in str(source) else file.read())
    return target


def _built(builder: type[WheelBuilder | SdistBuilder], sources: Path, into: Path) -> Path:
    (made,) = builder(str(sources)).build(directory=str(into), versions=["standard"])
    return Path(made)


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    return _copied(ROOT, tmp_path_factory.mktemp("one") / "holdfast")


@pytest.fixture(scope="module")
def wheel(sources, tmp_path_factory) -> Path:
    return _built(WheelBuilder, sources, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(sources, tmp_path_factory) -> Path:
    return _built(SdistBuilder, sources, tmp_path_factory.mktemp("sdist"))


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_string(archive.read(name).decode("utf-8"))


def _files(folder: Path) -> set[str]:
    hidden = {"__pycache__"}
    every = (file for file in folder.rglob("*") if file.is_file() and not hidden & set(file.parts))
    return {str(file.relative_to(folder)) for file in every}


def test_another_day_in_another_folder_the_same_bytes_are_built(wheel, sdist, sources, tmp_path):
    again = _copied(sources, tmp_path / "quite" / "another place")
    assert _built(WheelBuilder, again, tmp_path / "out").read_bytes() == wheel.read_bytes()
    assert _built(SdistBuilder, again, tmp_path / "out").read_bytes() == sdist.read_bytes()


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel, sources):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == {f"holdfast/{name}" for name in _files(sources / "src" / "holdfast")}
    assert "holdfast/py.typed" in names


def test_from_the_sdist_the_same_wheel_is_built_and_the_tests_can_be_run(
    wheel, sdist, sources, tmp_path
):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    assert _files(unpacked) - {"PKG-INFO"} == _files(sources)
    assert _built(WheelBuilder, unpacked, tmp_path / "out").read_bytes() == wheel.read_bytes()


def test_the_licence_is_apache_for_us_and_said_for_each_model(wheel):
    told = _metadata(wheel)
    assert told["License-Expression"] == "Apache-2.0"
    packs = [
        f"src/holdfast/models/embeddings/packs/{name}/LICENSE"
        for name in (
            "memory-embed-s3-int8",
            "memory-judge-s-int8",
            "memory-rerank-s-int8",
            "memory-static-8M2",
        )
    ]
    assert sorted(told.get_all("License-File")) == ["LICENSE", *packs]
    assert "Apache License" in (ROOT / "LICENSE").read_text("utf-8")


def test_the_version_is_the_same_everywhere(wheel):
    latest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert _metadata(wheel)["Version"] == holdfast.__version__
    assert latest and latest[1] == holdfast.__version__.split(".dev")[0]


def test_all_has_every_extra_but_a_large_one_and_one_that_replaces_files_of_another(wheel):
    assert set(_metadata(wheel).get_all("Provides-Extra")) == set(EXTRAS)
    (every,) = EXTRAS["all"]
    assert set(re.findall(r"[\w-]+", every)) - {"holdfast-memory"} == set(EXTRAS) - {
        "all",
        "encryption",
        "spacy",
    }


def test_every_extra_that_is_named_exists_and_every_extra_is_named():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    code = (ROOT / "src").rglob("*.py")
    named = {
        extra.strip()
        for file in [*pages, *code]
        for several in re.findall(r"holdfast-memory\[([\w,\s-]+)\]", file.read_text("utf-8"))
        for extra in several.split(",")
    }
    assert named == set(EXTRAS)
