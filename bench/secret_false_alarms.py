"""How often the secret scanner speaks up where there is nothing: ordinary source, logs and prose,
from any folder.

    python bench/secret_false_alarms.py FOLDER_OR_FILE... [--list]

Every find counts as a false alarm, also a key that somebody wrote into a test, so the figure is an
upper bound. The bar is 0.1 a thousand lines. Time is given per megabyte, and as a ratio to
splitting the same text into words.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from common import finish, timed
from holdfast.text.secrets import find_secrets

LARGEST = 2_000_000  # bytes of a file; what is larger is generated
ENDINGS = frozenset(
    """
    .py .js .ts .tsx .jsx .mjs .cjs .go .c .h .cpp .hpp .rs .java .rb .sh .md .rst .txt
    .json .jsonl .yml .yaml .toml
    .cfg .ini .html .css .sql .xml .csv .pl .pm .lua
    # A table reads better as prose.
    """.split()  # noqa: SIM905
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", nargs="+", type=Path)
    parser.add_argument("--list", action="store_true", help="print every find with its line")
    options = parser.parse_args()
    finish({str(place): measure(list(texts(place)), show=options.list) for place in options.places})


def texts(place: Path) -> Iterator[str]:
    """The text files under `place`, in order; of a file of JSON lines each line is a text, as
    sessions are read.
    """
    paths = (
        [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    )
    for path in paths:
        if path.suffix not in ENDINGS or (
            path.stat().st_size > LARGEST and path.suffix not in (".jsonl", ".json")
        ):
            continue
        text = path.read_text("utf-8", errors="replace")
        if path.suffix in (".jsonl", ".json") and len(text) > LARGEST // 10:
            yield from _spoken(text)
        else:
            yield text


def _spoken(text: str) -> Iterator[str]:
    """Every string in a document of JSON, or in lines of it."""
    documents = [text] if text.lstrip().startswith("[") else text.split("\n")
    for document in documents:
        try:
            yield from _strings(json.loads(document))
        except ValueError:
            yield document


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)


def measure(corpus: list[str], *, show: bool = False) -> dict[str, object]:
    """Finds per thousand lines, and what the search costs."""
    lines = sum(text.count("\n") + 1 for text in corpus)
    finds = [(secret.kind, text, secret) for text in corpus for secret in find_secrets(text)]
    if show:
        for kind, text, secret in finds:
            start, end = text.rfind("\n", 0, secret.start) + 1, text.find("\n", secret.end)
            line = text[
                max(start, secret.start - 90) : min(end if end >= 0 else len(text), secret.end + 30)
            ]
            print(
                f"{kind}: {text[secret.start : secret.end]!r:.120}\n    in {line!r:.260}",
                file=sys.stderr,
            )
    size = sum(map(len, corpus)) / 1e6
    searching = timed(lambda: [find_secrets(text) for text in corpus])
    splitting = timed(lambda: [text.lower().split() for text in corpus])
    return {
        "megabytes": round(size, 1),
        "lines": lines,
        "finds": len(finds),
        "finds_per_1000_lines": round(1000 * len(finds) / max(lines, 1), 4),
        "kinds": dict(Counter(kind for kind, _, _ in finds).most_common()),
        "seconds_per_megabyte": round(searching / size, 4),
        "ratio_to_splitting": round(searching / splitting, 1),
    }


if __name__ == "__main__":
    main()
