"""Real coding sessions that others have published: fetched, and the labels made readable.

    python bench/coding_sessions.py fetch FOLDER [--mirror DIR] [--half dev]
    python bench/coding_sessions.py labels FOLDER [--half dev]
    python bench/coding_sessions.py check FOLDER
    python bench/coding_sessions.py score FOLDER [--half dev] [--show]
    python bench/coding_sessions.py repeats FOLDER [--half dev]
    python bench/coding_sessions.py hook FOLDER [--half dev]
    python bench/coding_sessions.py relevance FOLDER longmemeval.json [--half dev]

`fetch` brings the files of bench/data/coding_sessions.jsonl from github.com to FOLDER/owner+name,
each at its commit: it takes git 2.29 or newer and the network, and loads these files only. With
`--mirror` it reads git directories that lie there already as DIR/owner+name or
DIR/owner+name/repo.

The labels hold no text of the sessions: each says where its quote stands. `labels` prints them with
the quotes filled in; `check` proves that every label and every repeat still finds its place. The
set "blind" is for one count at the end: nobody should look at it before. The other two halves have
been read. `score` builds the notes of
every session and counts the labels at their places; `repeats` builds the memory of the sessions
before each thing that a user had to say again, and counts how often it is told there; `hook` asks
the hooks of the start and of the prompts before it. `relevance` counts how often the hook of a
prompt and `recall` tell anything beside prompts of the same project, of others, and of nobody's.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
GITHUB = "https://github.com/"
READ = ("dev", "kept")
"""The halves that rules and weights may be tuned on."""
BLIND = "blind"
"""The newest projects, for one count at the end."""
COMMANDS = ("fetch", "labels", "check", "score", "repeats", "hook", "relevance")

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("longmemeval", type=Path, nargs="?", help="for relevance")
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--half", choices=(*READ, BLIND))
    parser.add_argument("--show", action="store_true", help="print the notes of the dev half")
    options = parser.parse_args()
    if options.command == "relevance" and options.longmemeval is None:
        parser.error("relevance needs LongMemEval's file, for prompts that are of no project")
    if options.command == "fetch":
        fetch(options.folder, options.mirror, options.half)
    elif options.command == "labels":
        for row in labels(options.folder, options.half):
            print(json.dumps(row, ensure_ascii=False))
    elif options.command == "check":
        check(options.folder)
    else:
        # Fetching needs no engine.
        import coding_notes

        if options.command == "score":
            found = coding_notes.score(options.folder, options.half, show=options.show)
        elif options.command == "repeats":
            found = coding_notes.repeats(options.folder, options.half)
        else:
            import coding_hook

            if options.command == "relevance":
                found = coding_hook.relevance(options.folder, options.half, options.longmemeval)
            else:
                judge = coding_notes.the_judge()
                found = coding_hook.hook(options.folder, options.half, judge)
        print(json.dumps(found, indent=2))


def half_of(project: str) -> str:
    """Which half a project falls into: the hash decides, so that nobody can choose."""
    return "kept" if hashlib.sha256(project.encode()).digest()[0] % 2 else "dev"


def folder_of(folder: Path, row: Row) -> Path:
    """Where the files of a row's commit lie: `under` parts commits with files of one name."""
    return folder / row["repository"].replace("/", "+") / row.get("under", "")


def name_of(row: Row) -> str:
    """How labels name a file: `<repository>@<path>`."""
    return f"{row['repository']}@{Path(row.get('under', ''), row['path'])}"


def rows(name: str, half: str | None = None) -> list[Row]:
    """The rows of one half, or of both that may be read; the blind set only by its name."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    found: list[Row] = [json.loads(line) for line in lines]
    wanted = (half,) if half else READ
    return [row for row in found if row["half"] in wanted]


def fetch(folder: Path, mirror: Path | None, half: str | None) -> None:
    listed = rows("coding_sessions.jsonl", half)
    for (repository, commit, target), files in groupby(
        listed, lambda r: (r["repository"], r["commit"], folder_of(folder, r))
    ):
        paths = [row["path"] for row in files]
        target.mkdir(parents=True, exist_ok=True)
        if mirror is None:
            from_github(repository, commit, paths, target)
        else:
            from_mirror(mirror / repository.replace("/", "+"), commit, paths, target)
        print(f"{repository}: {len(paths)} files")


def from_github(repository: str, commit: str, paths: list[str], target: Path) -> None:
    """The commit without its history, and of its files only those asked for."""
    git(target, "init", "--quiet")
    # Git fetches a file that is missing only from a remote that has promised to have it.
    for name, value in (
        ("remote.origin.url", f"{GITHUB}{repository}"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialclonefilter", "blob:none"),
        ("gc.auto", "0"),
    ):
        git(target, "config", name, value)
    fetching = ("fetch", "--quiet", "--filter=blob:none")
    git(target, *fetching, "--depth=1", "origin", commit)
    tree = git(target, "ls-tree", "-r", "-z", commit, "--", *paths).decode()
    blobs = [entry.split()[2] for entry in tree.split("\0") if entry]
    # All in one go: left to itself, git asks for them one by one.
    git(target, *fetching, "--stdin", "origin", given="\n".join(blobs))
    named = ("--pathspec-from-file=-", "--pathspec-file-nul")
    git(target, "restore", f"--source={commit}", "--worktree", *named, given="\0".join(paths))


def from_mirror(source: Path, commit: str, paths: list[str], target: Path) -> None:
    source = source / "repo" if (source / "repo").is_dir() else source
    for path in paths:
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(git(source, "show", f"{commit}:{path}"))


def git(folder: Path, *arguments: str, given: str = "") -> bytes:
    # Paths hold brackets and stars: they are names, not patterns.
    environment = {**os.environ, "GIT_LITERAL_PATHSPECS": "1"}
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(
        command, input=given.encode(), stdout=subprocess.PIPE, env=environment, check=True
    )
    return done.stdout


def labels(folder: Path, half: str | None = None) -> Iterator[Row]:
    """The labels with the words they speak of. Raises ValueError when those have changed."""
    for row in rows("coding_notes_labels.jsonl", half):
        quote = line_at(folder, row["id"])[row["start"] : row["end"]]
        if digest(quote) != row["sha256"]:
            raise ValueError(f"the words have changed: {row['id']}")
        yield {**row, "quote": quote}


def line_at(folder: Path, place: str) -> str:
    """The text at `<repository>@<path>#<line>`, the first line being 1.

    Of a line of JSON it is all its strings in their order, each on a line of its own.
    """
    repository, rest = place.split("@", 1)
    path, number = rest.rsplit("#", 1)
    file = folder / repository.replace("/", "+") / path
    # Only "\n" ends a line here: sessions hold other line breaks as text.
    line = file.read_text(encoding="utf-8", errors="replace").split("\n")[int(number) - 1]
    return "\n".join(strings(json.loads(line))) if path.endswith(".jsonl") else line


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def digest(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def check(folder: Path) -> None:
    """Stop with a message at the first label or repeat that does not find its place."""
    halves = {}
    for row in rows("coding_sessions.jsonl"):
        halves[name_of(row)] = row["half"]
        if row["half"] != half_of(row["project"]):
            sys.exit(f"wrong half: {row['project']}")
    found = list(labels(folder))
    for row in found:
        if halves[row["id"].rsplit("#", 1)[0]] != row["half"]:
            sys.exit(f"wrong half: {row['id']}")
        too_long = row["drawn"] != "built" and len(row["quote"].split()) > 30
        if too_long or (row["label"] == "useful") != ("note" in row):
            sys.exit(f"too long, or a note too many or too few: {row['id']}")
    repeats = rows("coding_repeats.jsonl")
    for row in repeats:
        for place in (row["said_first"], row["said_again"]):
            if halves[place.rsplit("#", 1)[0]] != row["half"] or not line_at(folder, place).strip():
                sys.exit(f"nothing there: {place}")
    print(f"{len(halves)} files, {len(found)} labels, {len(repeats)} repeats")
    for field in ("half", "label", "speaker", "kind", "drawn"):
        print(field, dict(Counter(row[field] for row in found).most_common()))


if __name__ == "__main__":
    main()
