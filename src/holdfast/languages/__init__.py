"""What Holdfast knows of each language: one TOML file per language, one section per use."""

from .loader import (
    Language,
    in_every_language,
    language,
    languages,
    patterns_of_all,
    words_of_all,
)

__all__ = [
    "Language",
    "in_every_language",
    "language",
    "languages",
    "patterns_of_all",
    "words_of_all",
]
