"""The model files in the package are the ones their papers describe."""

import shutil
from pathlib import Path

import pytest

from holdfast.errors import EmbedderError
from holdfast.models.embeddings import packs


@pytest.mark.parametrize("name", packs.PACKS)
def test_every_pack_has_the_bytes_it_shipped_with(name: str) -> None:
    packs.verify(name)


@pytest.mark.parametrize("name", packs.PACKS)
def test_every_pack_carries_its_licence_and_provenance(name: str) -> None:
    folder = packs.find(name)
    assert "icense" in (folder / "LICENSE").read_text()
    assert "Taken from" in (folder / "PROVENANCE.md").read_text()


@pytest.mark.parametrize("name", packs.PACKS)
def test_a_pack_holds_nothing_that_is_not_listed(name: str) -> None:
    folder = packs.find(name)
    listed = {*packs.checksums(folder), "CHECKSUMS", "PROVENANCE.md"}
    assert {file.name for file in folder.iterdir()} == listed


def test_a_missing_pack_says_how_to_get_it_back() -> None:
    with pytest.raises(EmbedderError, match="Install Holdfast again"):
        packs.find("no-such-pack")


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the small pack that may be damaged."""
    copy = tmp_path / "packs" / packs.POTION
    shutil.copytree(packs.find(packs.POTION), copy)
    monkeypatch.setattr(packs, "FOLDER", tmp_path / "packs")
    return copy


def test_a_damaged_file_is_named(copied: Path) -> None:
    with (copied / "tokenizer.json").open("a") as file:
        file.write(" ")
    with pytest.raises(EmbedderError, match=r"tokenizer\.json .* is damaged"):
        packs.verify(packs.POTION)


def test_a_lost_file_is_named(copied: Path) -> None:
    (copied / "model_f16.safetensors").unlink()
    with pytest.raises(EmbedderError, match=r"has no model_f16\.safetensors"):
        packs.verify(packs.POTION)
