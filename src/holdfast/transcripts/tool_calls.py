"""Digest of tool calls: the call, its result, and excerpts of its output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ..text.terminal import shorten
from .json_fields import as_dict, as_int, as_text, parsed
from .user_text import own_words, without_data

# Characters of a whole call: room for a command and the lines that tell how it went.
LIMIT = 600
_ARGUMENT_LIMIT = 240
# Characters at either end: more than any reminder that is cut out there.
_ENOUGH = 20_000

# Which argument says what a call is about, best first.
_COMMANDS = ("command", "cmd", "script")
_FILES = (
    "file_path",
    "filePath",
    "path",
    "target_file",
    "targetFile",
    "absolute_path",
    "notebook_path",
    "file",
)
_SUBJECTS = ("url", "description", "prompt", "message", "skill", "name", "input", "code")
_MAIN = (*_COMMANDS, "pattern", "query", "regex", *_FILES, *_SUBJECTS)
_RESULTS = (
    "text",
    "output",
    "content",
    "error",
    "stdout",
    "message",
    "result",
    "response",
    "functionResponse",
)
_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "powershell", "pwsh")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,200})$", re.MULTILINE)

_EXIT = re.compile(
    r"^(?:Process exited with code|Exit code:?|Command exited with code|exit code:?) (-?\d{1,5})\b",
    re.IGNORECASE | re.MULTILINE,
)
# What Codex and Claude Code write above the output itself.
_ABOVE = re.compile(
    r"\A(?:(?:Chunk ID|Wall time|Total output lines|Original token count|Process "
    r"(?:exited|running)|Exit code)\b.*\n)+"
    r"(?:Output:\n)?"
)
# A line that says what went wrong, as compilers, test runners, shells and interpreters write it;
# not one that counts.
_ERROR = re.compile(
    r"(?!.{0,40}\b(?:0|no) errors?\b)"
    r"(?:[ \t]*(?:E[ \t]{2,}\S|FAIL(?:ED)?\b|panic(?:ked)?\b|fatal\b|npm ERR!|Traceback )"
    r"|.{0,160}?(?:\b[A-Z]\w{2,40}(?:Error|Exception)\b"
    r"|\b(?:error|ERROR|Error)(?:\[\w{1,10}\])?:|\bcommand not found\b"
    r"|\bNo such file or directory\b|\b[Pp]ermission denied\b)).{0,400}",
)
# Plain words: looking for them takes hardly longer than reading the text.
_SIGN = re.compile(
    r"rror|xception|ERR|FAIL|panic|fatal|not found|denied|No such file|Traceback|\nE {2}"
)
# Lines that are looked at.
_MOST_SUSPICIOUS = 1_000
# Characters of one such line.
_ERROR_LIMIT = 160
_VARIABLE = re.compile(r"(?:export |declare -x |\$env:)?[A-Za-z_][A-Za-z0-9_]*=")
# Lines in a row: a dump of an environment, and no place for it is right.
_MANY_VARIABLES = 4


def condense(
    name: str,
    arguments: Any,
    output: str | None = None,
    *,
    failed: bool | None = None,
) -> tuple[str, bool | None]:
    """A call in at most 600 characters, and whether it failed; None where its output does not say.

    >>> condense("Bash", {"command": "make test"}, "Exit code 2\\nno rule to make target")
    ('Bash: make test\\nfailed, exit 2\\nno rule to make target', True)
    """
    given = parsed(arguments) if isinstance(arguments, str) else arguments
    argument = _argument(given if given is not None else arguments)
    head = f"{name or 'tool'}: {argument}" if argument else name or "tool"
    if output is None:
        return head, failed
    output, status = _unpacked(output)
    if status is None and any(key in as_dict(given) for key in _COMMANDS):
        status = _exit_status(output)
    failed = status != 0 if failed is None and status is not None else failed
    outcome = _outcome(failed, status)
    whole = _without_environment(_ABOVE.sub("", _ends(output, errors=failed is not False)))
    shown = excerpt(whole, LIMIT - len(head) - len(outcome) - 2, errors=failed is not False)
    return "\n".join(part for part in (head, outcome, shown) if part), failed


def excerpt(
    text: str,
    limit: int,
    *,
    errors: bool = True,
) -> str:
    """Shorten `text` to `limit` characters: its first and last lines, and lines in between that
    look like `errors`.

    A mark replaces omitted lines.
    """
    text = own_words(text, role="tool")
    if len(text) <= limit:
        return text
    if limit < 20:
        return ""
    first, last = _cut(text, limit)
    found = _telling(text[len(first) : len(text) - len(last)], limit // 3) if errors else ""
    if not found:
        return f"{first}\n…\n{last}"
    first, last = _cut(text, limit - len(found) - 3)
    return f"{first}\n…\n{found}\n…\n{last}"


def _cut(text: str, limit: int) -> tuple[str, str]:
    """Keep whole lines from both ends of a text, as far as possible."""
    first = text[: limit // 2 - 3]
    last = text[-(limit - limit // 2 - 3) :]
    if "\n" in first:
        first = first[: first.rindex("\n")]
    if "\n" in last:
        last = last[last.index("\n") + 1 :]
    return first, last


def _telling(text: str, limit: int) -> str:
    """Return the first distinct lines that look like errors, in at most `limit` characters."""
    kept: dict[str, None] = {}
    for line in islice(_suspicious(text), _MOST_SUSPICIOUS):
        if _ERROR.match(line):
            kept.setdefault(line.strip()[:_ERROR_LIMIT])
            if sum(map(len, kept)) + len(kept) > limit:
                kept.popitem()
                break
    return "\n".join(kept)


def _suspicious(text: str) -> Iterator[str]:
    """Return the lines with a typical error word; fast, because a log may be very long."""
    position = 0
    while found := _SIGN.search(text, position):
        start = text.rfind("\n", 0, found.end()) + 1
        end = text.find("\n", found.end())
        position = len(text) if end < 0 else end
        yield text[start:position]


def _ends(text: str, *, errors: bool) -> str:
    """Return the first and last part of a very long text, and error-like lines between them."""
    if len(text) <= 2 * _ENOUGH:
        return text
    found = _telling(text[_ENOUGH:-_ENOUGH], LIMIT) if errors else ""
    return "\n".join(filter(None, (text[:_ENOUGH], "…", found, text[-_ENOUGH:])))


def _argument(given: Any) -> str:
    """Return the main argument of a call, on one short line."""
    if isinstance(given, Mapping):
        given = next((given[key] for key in _MAIN if given.get(key)), None) or next(
            (value for value in given.values() if isinstance(value, str) and value), ""
        )
    if isinstance(given, list):
        given = _command(given)
    text = as_text(given)
    files = _PATCHED.findall(text) if "*** Begin Patch" in text else []
    return shorten(without_data(", ".join(files) or text), _ARGUMENT_LIMIT)


def _command(argv: list[Any]) -> str:
    """Return the command in a list of arguments, without the shell."""
    words = [as_text(word) for word in argv]
    if len(words) > 2 and words[0] in _SHELLS and words[1].startswith("-"):
        words = words[2:]
    return " ".join(words)


def _unpacked(output: str) -> tuple[str, int | None]:
    """Output that older versions of Codex wrote as JSON, with its exit status; other output as it
    is.
    """
    if output.startswith('{"') and "exit_code" in output:
        value = as_dict(parsed(output))
        if isinstance(value.get("output"), str):
            return as_text(value["output"]), as_int(as_dict(value.get("metadata")).get("exit_code"))
    return output, None


def _exit_status(output: str) -> int | None:
    """The status that stands in the first or last lines, where tools write it."""
    found = _EXIT.search(output[:400]) or _EXIT.search(output[-200:])
    return int(found[1]) if found else None


def _outcome(failed: bool | None, status: int | None) -> str:
    if failed is None:
        return ""
    word = "failed" if failed else "ok"
    return f"{word}, exit {status}" if status else word


def _without_environment(output: str) -> str:
    """`output` without runs of NAME=value lines: environments hold secrets, and nothing to
    remember.
    """
    if "=" not in output:
        return output
    kept: list[str] = []
    run: list[str] = []
    for line in [*output.split("\n"), ""]:
        if _VARIABLE.match(line):
            run.append(line)
            continue
        kept += run if len(run) < _MANY_VARIABLES else ["[environment]"]
        run = []
        kept.append(line)
    return "\n".join(kept[:-1])


def output_of(value: Any, *, depth: int = 8) -> str:
    """The text of a tool's result in any of the shapes tools give it: text, parts, or an object
    around either.
    """
    if isinstance(value, str):
        return as_text(value)
    if not depth:
        return ""
    if isinstance(value, list):
        return "\n".join(filter(None, (output_of(item, depth=depth - 1) for item in value)))
    given = as_dict(value)
    found = (output_of(given[key], depth=depth - 1) for key in _RESULTS if given.get(key))
    return next(filter(None, found), "")


def is_error(value: Any) -> bool | None:
    """What a flag says that may also be missing."""
    return value if isinstance(value, bool) else None
