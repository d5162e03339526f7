"""Writing systems: the letters by which a text tells which languages it may be in."""

from __future__ import annotations

SCRIPTS = {
    "kana": "\u3040-\u30ff",
    "han": "\u3400-\u9fff",
    "hangul": "\uac00-\ud7af",
    "cyrillic": "\u0400-\u04ff",
    "greek": "\u0370-\u03ff",
    "arabic": "\u0600-\u06ff",
    "devanagari": "\u0900-\u097f",
    "latin": "A-Za-zÀ-ÖØ-öø-ÿ",
}
"""By script, its letters as a character class has them. The one that tells most comes first: kanji
among kana are Japanese, Latin letters stand in texts of every script.
"""
