"""The model files in the package are the ones their papers describe."""

import shutil
from pathlib import Path

import pytest

from holdfast.errors import EmbedderError
from holdfast.models.embeddings import packs
from holdfast.models.embeddings.base import embedder_for


@pytest.mark.parametrize("name", packs.PACKS)
def test_every_pack_has_the_bytes_it_shipped_with(name: str) -> None:
    packs.verify(name)


@pytest.mark.parametrize("name", packs.PACKS)
def test_every_pack_carries_its_licence_and_provenance(name: str) -> None:
    folder = packs.find(name)
    assert "icense" in (folder / "LICENSE").read_text()
    assert "Base taken from" in (folder / "PROVENANCE.md").read_text()


@pytest.mark.parametrize("name", packs.PACKS)
def test_a_pack_holds_nothing_that_is_not_listed(name: str) -> None:
    folder = packs.find(name)
    listed = {*packs.checksums(folder), "CHECKSUMS", "PROVENANCE.md"}
    assert {file.name for file in folder.iterdir()} == listed


def test_a_missing_pack_says_how_to_get_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packs, "FOLDER", tmp_path)
    with pytest.raises(EmbedderError, match="Install Holdfast again"):
        packs.find(packs.STATIC)


def test_a_pack_of_an_earlier_version_says_where_to_put_it() -> None:
    with pytest.raises(EmbedderError, match=r"Put its folder at .*arctic-embed-s-int8"):
        packs.find(packs.EARLIER_ENCODER)


def test_a_pack_of_an_earlier_version_works_where_it_was_put() -> None:
    shutil.copytree(packs.find(packs.STATIC), packs.added_packs() / packs.EARLIER_STATIC)
    earlier, ours = embedder_for("potion", environ={}), embedder_for("static", environ={})
    assert earlier is not None
    assert ours is not None
    assert earlier.identity == "local:potion-base-8M"
    assert (earlier.embed_documents(["tea"]) == ours.embed_documents(["tea"])).all()


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the small pack that may be damaged."""
    copy = tmp_path / "packs" / packs.STATIC
    shutil.copytree(packs.find(packs.STATIC), copy)
    monkeypatch.setattr(packs, "FOLDER", tmp_path / "packs")
    return copy


def test_a_damaged_file_is_named(copied: Path) -> None:
    with (copied / "tokenizer.json").open("a") as file:
        file.write(" ")
    with pytest.raises(EmbedderError, match=r"tokenizer\.json .* is damaged"):
        packs.verify(packs.STATIC)


def test_a_lost_file_is_named(copied: Path) -> None:
    (copied / "model_f16.safetensors").unlink()
    with pytest.raises(EmbedderError, match=r"has no model_f16\.safetensors"):
        packs.verify(packs.STATIC)
