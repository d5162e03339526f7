"""Tool calls, condensed: what was called on what, how it went, and how its output began and ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .values import as_dict, as_int, as_text, parsed
from .words import own_words, without_data

LIMIT = 600  # characters of a whole call: room for a command and the lines that tell how it went
_ARGUMENT_LIMIT = 240
_ENOUGH = 20_000  # characters at either end: more than any reminder that is cut out there

# Which argument says what a call is about, best first.
_COMMANDS = ("command", "cmd", "script")
_FILES = ("file_path", "filePath", "path", "target_file", "targetFile", "absolute_path", "notebook_path", "file")
_SUBJECTS = ("url", "description", "prompt", "message", "skill", "name", "input", "code")
_MAIN = (*_COMMANDS, "pattern", "query", "regex", *_FILES, *_SUBJECTS)
_RESULTS = ("text", "output", "content", "error", "stdout", "message", "result", "response", "functionResponse")
_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "powershell", "pwsh")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,200})$", re.MULTILINE)

_EXIT = re.compile(
    r"^(?:Process exited with code|Exit code:?|Command exited with code|exit code:?) (-?\d{1,5})\b",
    re.IGNORECASE | re.MULTILINE,
)
# What Codex and Claude Code write above the output itself.
_ABOVE = re.compile(
    r"\A(?:(?:Chunk ID|Wall time|Total output lines|Original token count|Process (?:exited|running)|Exit code)\b.*\n)+"
    r"(?:Output:\n)?"
)
_VARIABLE = re.compile(r"(?:export |declare -x |\$env:)?[A-Za-z_][A-Za-z0-9_]*=")
_MANY_VARIABLES = 4  # lines in a row: a dump of an environment, and no place for it is right


def condense(
    name: str, arguments: Any, output: str | None = None, *, failed: bool | None = None
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
    shown = excerpt(_without_environment(_ABOVE.sub("", _ends(output))), LIMIT - len(head) - len(outcome) - 2)
    return "\n".join(part for part in (head, outcome, shown) if part), failed


def excerpt(text: str, limit: int) -> str:
    """`text` in at most `limit` characters: its first and last lines, with a mark where some are left out."""
    text = own_words(text, role="tool")
    if len(text) <= limit:
        return text
    if limit < 20:
        return ""
    first = text[: limit // 2 - 3]
    last = text[-(limit - limit // 2 - 3) :]
    if "\n" in first:
        first = first[: first.rindex("\n")]
    if "\n" in last:
        last = last[last.index("\n") + 1 :]
    return f"{first}\n…\n{last}"


def _ends(text: str) -> str:
    """The first and last part of a very long text, which are all that will be shown of it."""
    return text if len(text) <= 2 * _ENOUGH else f"{text[:_ENOUGH]}\n…\n{text[-_ENOUGH:]}"


def _argument(given: Any) -> str:
    """What the call is about: the main argument, on one line and not too long."""
    if isinstance(given, Mapping):
        given = next((given[key] for key in _MAIN if given.get(key)), None) or next(
            (value for value in given.values() if isinstance(value, str) and value), ""
        )
    if isinstance(given, list):
        given = _command(given)
    text = as_text(given)
    files = _PATCHED.findall(text) if "*** Begin Patch" in text else []
    text = " ".join(without_data(", ".join(files) or text).split())
    return text if len(text) <= _ARGUMENT_LIMIT else text[: _ARGUMENT_LIMIT - 1] + "…"


def _command(argv: list[Any]) -> str:
    """The command in a list of arguments, without the shell that was to run it."""
    words = [as_text(word) for word in argv]
    if len(words) > 2 and words[0] in _SHELLS and words[1].startswith("-"):
        words = words[2:]
    return " ".join(words)


def _unpacked(output: str) -> tuple[str, int | None]:
    """Output that older versions of Codex wrote as JSON, with its exit status; other output as it is."""
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
    """`output` without runs of NAME=value lines: environments hold secrets, and nothing to remember."""
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
    """The text of a tool's result in any of the shapes tools give it: text, parts, or an object around either."""
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
