"""What Holdfast knows of each language: one TOML file per language, one section per use."""

from .loader import (
    LanguageData,
    in_every_language,
    language,
    languages,
    patterns_of_all,
    words_of_all,
)
from .scripts import SCRIPTS

__all__ = [
    "SCRIPTS",
    "LanguageData",
    "in_every_language",
    "language",
    "languages",
    "patterns_of_all",
    "words_of_all",
]
