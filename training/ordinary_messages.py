"""Collect ordinary messages: what people say to assistants and to each other, in seven languages.

    python training/ordinary_messages.py CHECKOUTS OUT

`CHECKOUTS` has a checkout of each repository in REPOSITORIES, in a folder of its name; one that is
not there is named and passed over. Writes a text file for each source and language to `OUT`, one
message a line. `train_requests.py` learns from one half of the messages that none of them asks
anything of a memory; `bench/ordinary_messages.py` counts the other half.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from zipfile import ZipFile

import yaml

# With the licence of the data.
REPOSITORIES = {
    "LASER": "facebookresearch/LASER, sentences of Tatoeba, CC BY 2.0",
    "attention_sezan": "sezan92/attention_sezan, sentences of Tatoeba, CC BY 2.0",
    "English-Chinese-Translator": "YC-Coder-Chen/English-Chinese-Translator, the same",
    "oos-eval": "clinc/oos-eval, CC BY 3.0",
    "intents": "home-assistant/intents, CC BY 4.0",
    "chatterbot-corpus": "gunthercox/chatterbot-corpus, BSD",
    "NLP_Datasets": "Koziev/NLP_Datasets, CC0",
    "xsid": "mainlp/xsid, CC BY-SA 4.0",
    "UD_German-GSD": "UniversalDependencies/UD_German-GSD, CC BY-SA 4.0",
    "UD_Spanish-GSD": "UniversalDependencies/UD_Spanish-GSD, CC BY-SA 4.0",
    "UD_French-ParisStories": "UniversalDependencies/UD_French-ParisStories, CC BY-SA 4.0",
    "UD_Russian-Taiga": "UniversalDependencies/UD_Russian-Taiga, CC BY-SA 4.0",
    "Taskmaster": "google-research-datasets/Taskmaster, CC BY 4.0",
    "CrossWOZ": "thu-coai/CrossWOZ, Apache 2.0",
}
TATOEBA = {"de": "deu", "es": "spa", "fr": "fra", "ru": "rus", "zh": "cmn", "ja": "jpn"}
CHATTERBOT = {
    "en": "english",
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "ru": "russian",
    "zh": "chinese",
    "ja": "japanese",
}
TREEBANKS = {
    "de": "German-GSD",
    "es": "Spanish-GSD",
    "fr": "French-ParisStories",
    "ru": "Russian-Taiga",
}
# Of oos-eval: "call me Ann from now on" may well be something to remember.
ABOUT_THE_USER = ("change_user_name", "user_name")
# Of xSID: in German a reminder and a memory are the same word.
REMINDERS = "\treminder/"
# Characters.
SHORTEST, LONGEST = 5, 400
# Messages of one source in one language.
MOST = 12_000


def collected(checkouts: Path) -> Iterator[tuple[str, Iterable[str]]]:
    """The name of each source with its language, and its messages."""
    for language, code in TATOEBA.items():
        pairs = checkouts / "LASER/data/tatoeba/v1"
        yield f"tatoeba_{language}", lines(pairs / f"tatoeba.{code}-eng.{code}")
        yield f"tatoeba_en_{language}", lines(pairs / f"tatoeba.{code}-eng.eng")
    yield "pairs_ja", second_column(checkouts / "attention_sezan/data/jpn.txt")
    yield "pairs_zh", second_column(checkouts / "English-Chinese-Translator/data/cmn.txt")
    yield "oos_eval_en", banking_and_home(checkouts / "oos-eval/data/data_full.json")
    for language in ("en", "de", "es", "fr", "ru", "zh-cn", "ja"):
        yield f"home_{language[:2]}", home(checkouts / "intents/tests" / language)
    for language, name in CHATTERBOT.items():
        yield f"chatterbot_{language}", small_talk(checkouts / "chatterbot-corpus", name)
    samples = checkouts / "NLP_Datasets/Samples"
    yield (
        "facts_and_questions_ru",
        [*lines(samples / "facts7_2s.txt"), *lines(samples / "questions_2s.txt")],
    )
    for language in ("en", "de", "zh", "ja"):
        yield f"xsid_{language}", texts_of(checkouts / "xsid/data/xSID-0.7", f"{language}.*.conll")
    for language, name in TREEBANKS.items():
        yield f"treebank_{language}", texts_of(checkouts / f"UD_{name}", "*.conllu")
    yield "taskmaster_en", orders(checkouts / "Taskmaster/TM-4-2024/data")
    yield "crosswoz_zh", travel(checkouts / "CrossWOZ/data/crosswoz/val.json.zip")


def lines(path: Path) -> list[str]:
    """Lines of a text file; nothing where it is missing."""
    return path.read_text("utf-8").splitlines() if path.is_file() else []


def second_column(path: Path) -> Iterator[str]:
    """Translations, behind the English sentence."""
    return (line.split("\t")[1] for line in lines(path) if "\t" in line)


def banking_and_home(path: Path) -> Iterator[str]:
    """What users ask a voice assistant for, and what it cannot do for them."""
    for rows in json.loads(path.read_text("utf-8")).values() if path.is_file() else ():
        yield from (text for text, intent in rows if intent not in ABOUT_THE_USER)


def home(folder: Path) -> Iterator[str]:
    """What people tell their home to do."""
    for path in sorted(folder.glob("*.yaml")):
        tests = (yaml.safe_load(path.read_text("utf-8")) or {}).get("tests", ())
        for test in tests:
            yield from (said for said in test.get("sentences", ()) if isinstance(said, str))


def small_talk(folder: Path, language: str) -> Iterator[str]:
    """Both sides of small talk with a program."""
    for path in sorted(folder.rglob(f"data/{language}/*.yml")):
        try:
            talks = yaml.safe_load(path.read_text("utf-8")).get("conversations", ())
        except yaml.YAMLError as error:
            print(f"{path} cannot be read and is passed over: {error}", file=sys.stderr)
            continue
        yield from (str(said) for talk in talks for said in talk)


def texts_of(folder: Path, pattern: str) -> Iterator[str]:
    """Sentences of annotated files, which are comments there."""
    for path in sorted(folder.glob(pattern)):
        for annotated in path.read_text("utf-8").split("\n\n"):
            text = re.search(r"^# text ?[=:] ?(.*)$", annotated, re.MULTILINE)
            if text and REMINDERS not in annotated:
                yield text[1]


def orders(folder: Path) -> Iterator[str]:
    """What customers say to who takes their order."""
    for path in sorted(folder.glob("*.json")):
        for talk in json.loads(path.read_text("utf-8")):
            yield from (said["text"] for said in talk["utterances"] if said["speaker"] == "user")


def travel(path: Path) -> Iterator[str]:
    """What travellers ask."""
    if not path.is_file():
        return
    with ZipFile(path) as packed:
        talks = json.loads(packed.read(packed.namelist()[0]))
    for talk in talks.values():
        yield from (said["content"] for said in talk["messages"] if said["role"] == "usr")


def main() -> None:
    """Write a file for each source and language."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    for name, origin in REPOSITORIES.items():
        if not (given.checkouts / name).is_dir():
            print(f"{name} is not there ({origin})", file=sys.stderr)
    given.out.mkdir(parents=True, exist_ok=True)
    for name, messages in collected(given.checkouts):
        plain = {" ".join(message.split()) for message in messages}
        kept = sorted(text for text in plain if SHORTEST <= len(text) <= LONGEST)
        random.Random(1).shuffle(kept)
        if kept:
            text = "\n".join(kept[:MOST]) + "\n"
            (given.out / f"{name}.txt").write_text(text, "utf-8")
            print(f"{name}: {min(len(kept), MOST)} messages")


if __name__ == "__main__":
    main()
