"""How many titles and themes of real sessions name no topic: greetings, thanks, cheers and praise.

    python bench/titles.py --data data/ [--every 3] [--models encoder|none]

Sessions of LoCoMo's first three conversations and of LongMemEval's development questions (of these
every so-many-th), summed up offline. The words that count as no topic are listed here, apart from
those of the language files.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from common import finish
from fact_labels import Conversation, conversations
from holdfast.extraction.judge import judge_of
from holdfast.extraction.rules import RuleExtractor
from holdfast.extraction.summaries import summarise_session
from holdfast.extraction.vocabulary import vocabulary
from holdfast.models.embeddings.tiers import Tiers
from holdfast.text.stopwords import STOP_WORDS

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
NO_TOPIC = frozenset(
    (
        *("hi", "hey", "hello", "bye", "thanks", "thank", "wow", "woohoo", "yay", "yeah", "yes"),
        *("no", "ok", "okay", "oh", "aww", "haha", "sorry", "please", "cool", "great", "good"),
        *("nice", "awesome", "amazing", "lovely", "wonderful", "fantastic", "happy", "glad"),
        *("excited", "love", "loved", "really", "pretty", "totally", "definitely", "sure", "lot"),
        *("lots", "stuff", "thing", "things", "something", "happened", "happening", "changed"),
        *("hectic", "wild", "crazy", "week", "weeks", "day", "days", "night", "last", "lately"),
        *("recently", "today", "yesterday", "tomorrow", "going", "talked", "talk", "spoke", "far"),
        *("check", "wanted", "believe", "know", "how's", "lot's", "experience", "long", "time"),
    )
)


def names_nothing(text: str, speakers: Iterable[str]) -> bool:
    """Whether no word of a text is of a topic."""
    left = {word.lower() for word in _WORD.findall(text)}
    return not left - NO_TOPIC - STOP_WORDS["en"] - {name.lower() for name in speakers}


def measure(talks: Sequence[Conversation], extractor: RuleExtractor) -> dict[str, Any]:
    """Titles and themes that name nothing; a summary without a title has its themes for one."""
    words = vocabulary("general")
    titles: list[str] = []
    idle_themes = themes = empty = 0
    for talk in talks:
        turns = talk.memories()
        made = summarise_session(turns, words, None, statements=extractor.extract(turns))
        if made is None:
            continue
        speakers = {turn.author for turn in turns if turn.author}
        title = made.title or ", ".join(made.themes)
        empty += not made.title
        titles += [title] if names_nothing(title, speakers) else []
        themes += len(made.themes)
        idle_themes += sum(names_nothing(theme, speakers) for theme in made.themes)
    return {
        "sessions": len(talks),
        "titles_that_name_nothing": len(titles),
        "such_titles": titles,
        "titles_made_of_themes": empty,
        "themes": themes,
        "themes_that_name_nothing": idle_themes,
    }


def of_folder(folder: Path, extractor: RuleExtractor, every: int = 3) -> dict[str, Any]:
    """The figures of both data sets."""
    found = conversations(folder)
    people = [talk for name, talk in found["people"].items()]
    assistant = list(found["assistant"].values())[::every]
    return {
        name: measure(talks, extractor)
        for name, talks in (("people", people), ("assistant", assistant))
        if talks
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--every", type=int, default=3)
    parser.add_argument("--models", choices=("encoder", "none"), default="encoder")
    options = parser.parse_args()
    judge = judge_of(Tiers(["encoder"], environ={})) if options.models == "encoder" else None
    finish(of_folder(options.data, RuleExtractor(judge=judge), options.every))


if __name__ == "__main__":
    main()
