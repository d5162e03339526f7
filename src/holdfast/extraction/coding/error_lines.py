"""The most informative line in the output of a failed command."""

from __future__ import annotations

import re

from ...text.lazy_regex import later

# Characters of an error; what follows is detail.
LONGEST = 180

# The most telling first. A test that only says that two values differ tells what it is about, not
# what is wrong.
_TELLING = tuple(
    later(pattern, re.MULTILINE)
    for pattern in (
        r"^E?\s{0,12}(?:[\w.]+\.)?(?!Assertion)[A-Z]\w*(?:Error|Exception|Interrupt|Exit|NotFound|DoesNotExist|Warning)"
        r": \S.*",
        r"^\s{0,8}error(?:\[\w+\])?: (?!could not compile|aborting|test "
        r"failed|process|script|command failed"
        r"|failed with exit|recipe).*",
        r"^.{0,160}\berror TS\d+: .*",
        (
            r"^npm (?:ERR!|error) (?!code ELIFECYCLE|code -?\d+$|errno|A complete log|Test "
            r"failed|path|command|Lifecycle)\S.{8,}"
        ),
        (
            r"^\s{0,4}(?:\S{1,40} "
            r")?(?:ERR_\w+|ENOENT|EACCES|ECONNREFUSED|EADDRINUSE|ENOSPC|ETIMEDOUT)\b.*"
        ),
        r"^.{0,120}\b(?:command not found|No such file or directory|Permission denied|Connection "
        r"refused"
        r"|address already in use|No space left on device|not recognized as)\b.*",
        r"^(?:fatal|FATAL|panic|Fatal error|FATAL ERROR): .*",
        r"^thread '.{1,80}' (?:\(\d+\) )?panicked at .*",
        r"^\s{0,4}(?:\S{1,60} )?(?:Uncaught |Unhandled )?(?!Assertion)(?:[A-Z]\w+)?Error: \S.*",
        r"^(?:\[?ERROR\]?|Error|✖|✘|×|FAILED|ERROR)[:\s]\s?(?!: ).{6,}",
        r"^make(?:\[\d+\])?: \*\*\* (?!\[).*",
        r"^.{0,120}\b(?:cannot|could not|couldn't|unable to|failed to|undefined reference|is not "
        r"defined|not found"
        r"|denied|unauthorized|timed out|must be|invalid)\b.*",
        r"^E\s{1,12}\S.*",
        r"^FAILED .*",
    )
)
# What a test runner or npm writes before the message itself.
_PREFIX = later(r"^(?:E\s{1,12}|npm (?:ERR!|error) |\[?ERROR\]?:? |FAILED )\s*")
# "Error: (none)" is how some agents report that nothing was written there.
_EMPTY = later(r"^error: \(?(?:none|null|empty|undefined)\)?$", re.IGNORECASE)
# A failed assertion tells what a test expects, not what went wrong.
_ASSERTED = later(
    r"^(?:E\s+)?(?:AssertionError|assert\b)|^FAILED .*AssertionError|^expect\(|^Expected\b"
)


def telling_line(output: str) -> str:
    """The most informative error line, verbatim; empty if there is none."""
    for pattern in _TELLING:
        if found := pattern.search(output):
            line = found[0].strip()[:LONGEST].rstrip()
            if not _EMPTY.search(line):
                return line
    return ""


def describe_error_line(line: str) -> str:
    """An error line for people, without the program's prefix and without a full stop."""
    return _PREFIX.sub("", line).strip().rstrip(".:")


def is_assertion(line: str) -> bool:
    """Whether a line only reports a failed test assertion."""
    return bool(_ASSERTED.match(line))
