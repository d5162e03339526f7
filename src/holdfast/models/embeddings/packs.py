"""The model files that ship with Holdfast or were added by hand, and whether they are whole."""

from __future__ import annotations

from pathlib import Path

from ...config import data_folder
from ...errors import EmbedderError

FOLDER = Path(__file__).with_name("packs")
STATIC = "memory-static-8M2"
ENCODER = "memory-embed-s3-int8"
RERANKER = "memory-rerank-s-int8"
JUDGE = "memory-judge-s-int8"
PACKS = (STATIC, ENCODER, RERANKER, JUDGE)
# The packs of version 0.1.0: they work when somebody puts them into `added_packs()`.
EARLIER_STATIC = "potion-base-8M"
EARLIER_ENCODER = "arctic-embed-s-int8"

_REINSTALL = "Install Holdfast again the way it was installed, or choose another embedder."


def added_packs() -> Path:
    """The folder for packs that do not ship with this version."""
    return data_folder() / "models"


def find(name: str) -> Path:
    """Return the folder of pack `name`; raises EmbedderError if a file is missing."""
    folder = FOLDER / name
    if not folder.is_dir() and name not in PACKS:
        folder = added_packs() / name
        if not folder.is_dir():
            raise EmbedderError(
                f"The model pack {name!r} does not ship with this version. Put its folder at "
                f"{folder}, or set embedding_models to 'static,encoder'."
            )
    for file in checksums(folder):
        if not (folder / file).is_file():
            raise EmbedderError(f"The model pack {name!r} has no {file}. {_REINSTALL}")
    return folder


def verify(name: str) -> None:
    """Check that every file of pack `name` has its original content; raises EmbedderError if
    not.
    """
    # Deferred import: only this check needs it.
    from hashlib import file_digest  # noqa: PLC0415

    folder = find(name)
    for file, expected in checksums(folder).items():
        with (folder / file).open("rb") as stream:
            actual = file_digest(stream, "sha256").hexdigest()
        if actual != expected:
            raise EmbedderError(f"{file} of the model pack {name!r} is damaged. {_REINSTALL}")


def checksums(folder: Path) -> dict[str, str]:
    """Return the sha256 of each file, as listed in the pack's CHECKSUMS file."""
    try:
        lines = (folder / "CHECKSUMS").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise EmbedderError(f"There is no model pack {folder.name!r}. {_REINSTALL}") from error
    return {file: digest for digest, file in (line.split() for line in lines if line)}
