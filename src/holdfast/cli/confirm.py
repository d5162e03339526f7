"""Install into and uninstall from other programs' configuration files: show the change, ask, make
it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING

from ..errors import NotFound
from ..text.terminal import plain
from .app import confirmed
from .exit_codes import drop_output

if TYPE_CHECKING:
    from ..coding_agents.config_files import Change
    from ..coding_agents.installer import Feature
    from ..coding_agents.programs import Target


def install(
    target: Target,
    feature: Feature,
    question: str,
    *,
    after: str,
    yes: bool,
    dry_run: bool = False,
) -> bool:
    """Install a feature into one file; return whether it was installed now."""
    from ..coding_agents import installer

    change = installer.plan_install(target, feature)
    if change.after == change.before:
        print(f"Already installed in {change.file}.")
        return False
    if not _agreed([change], question, yes=yes, dry_run=dry_run):
        return False
    installer.apply([change]).raise_problems()
    print(f"Installed in {change.file}. {after}")
    return True


def uninstall(
    targets: Iterable[Target],
    feature: Feature,
    question: str,
    *,
    missing: str,
    yes: bool,
    dry_run: bool = False,
) -> None:
    """Remove a feature from several files; raises NotFound with `missing` if it is in none.

    A broken file does not stop the others; it is reported at the end.
    """
    from ..coding_agents import installer

    plan = installer.plan_uninstall(targets, feature)
    if not plan.changes:
        plan.raise_problems()
        raise NotFound(missing)
    if _agreed(plan.changes, question, yes=yes, dry_run=dry_run):
        done = installer.apply(plan.changes)
        for change in done.changes:
            print(f"Taken out of {change.file}.")
        done.raise_problems()
    plan.raise_problems()


def _agreed(
    changes: Sequence[Change],
    question: str,
    *,
    yes: bool,
    dry_run: bool,
) -> bool:
    """Show the changes and ask for confirmation; return the answer, which is no for a dry run."""
    try:
        for change in changes:
            print(_difference(change))
        sys.stdout.flush()
    except BrokenPipeError:
        # Who has agreed before and reads only the beginning (`--yes | head`) wants it done.
        if not yes:
            raise
        drop_output()
    if not dry_run and confirmed(question, yes=yes):
        return True
    print("Nothing was changed.")
    return False


def _difference(change: Change) -> str:
    name = str(change.file)
    lines = unified_diff(
        (change.before or "").splitlines(),
        (change.after or "").splitlines(),
        name if change.before is not None else "(no file)",
        name if change.after is not None else "(no file)",
        lineterm="",
    )
    return "\n".join(plain(line) for line in lines)
