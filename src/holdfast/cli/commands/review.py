"""Review proposed memories: one by one, all at once in an editor, or by id."""

from __future__ import annotations

import os
import re
import select
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ...errors import HoldfastError, InvalidInput
from ...text.terminal import plain, shorten
from .. import output
from ..app import WRITING, Ids, Json, Scope, Store, app, open_memory, undo_command, when
from ..editor import edited
from ..word_diff import marked, word_diff

if TYPE_CHECKING:
    from rich.text import Text

    from ...client import Holdfast
    from ...extraction.approval import Weighed
    from ...types import Memory

review_app = typer.Typer()
app.add_typer(review_app, name="review", rich_help_panel=WRITING)

KEYS = "a approve   e edit, then approve   r reject   s skip   q quit   ? help"
HELP = """\
a  approve: it is remembered from now on
e  edit it in your editor ($EDITOR); what you save is remembered instead
r  reject: it is put away, and not proposed again in these words
s  skip: it waits on; after 30 days without a decision it is put away
q  quit: the rest waits on"""
SHEET = """\
Memories that wait for your decision. Above each is an action: replace keep by approve or reject.
If you edit the text, the edited text is stored. A block that says keep, or that you delete, keeps
waiting. Lines that begin with ;; only help you decide.
"""
NOTHING = "Nothing waits for you."
UNDECIDED = "Nothing was decided."
# Head of a block in the sheet: `[approve] fact_01…`.
_HEAD = re.compile(r"\[(?P<word>\w+)\] (?P<id>\w+_\w+)\s*")
_WORDS = {
    "approve": "approve",
    "a": "approve",
    "reject": "reject",
    "r": "reject",
    "keep": "keep",
    "k": "keep",
}


@review_app.callback(invoke_without_command=True)
def review(
    context: typer.Context,
    listed: Annotated[
        bool, typer.Option("--list", help="List what is waiting. Decide nothing.")
    ] = False,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Review proposed memories one by one, beside what is already known. Each is approved, edited,
    rejected or left for later.

    Example: holdfast review --list
    """
    if context.invoked_subcommand is not None:
        return
    with open_memory(store, scope, make=False) as hf:
        # Proposals older than the limit are archived first, so that they are not shown.
        hf.reviews.expire()
        waiting = hf.reviews.list()
        if as_json:
            output.emit([_json(hf, one) for one in waiting])
        elif listed:
            _list(waiting)
        elif not waiting:
            print(NOTHING)
        elif not sys.stdin.isatty():
            raise InvalidInput(
                "Nobody can be asked here: use --list, and then review approve ID or review "
                "reject ID."
            )
        else:
            _walk(hf, waiting)


def _json(hf: Holdfast, proposed: Memory) -> dict[str, Any]:
    weighed = hf.reviews.preview(proposed.id)
    return output.memory_json(
        proposed,
        outlook=type(weighed.decision).__name__.lower(),
        told=weighed.told,
        changes=_named(weighed.changed),
        nearest=_named(weighed.nearest),
    )


def _named(memory: Memory | None) -> dict[str, str] | None:
    return {"id": memory.id, "content": memory.content} if memory else None


def _list(waiting: Sequence[Memory]) -> None:
    from ...extraction.proposals import grounds, proposer

    rows = [
        (m.id, m.kind, proposer(m), when(m.status_at), shorten(m.content, 400), grounds(m))
        for m in waiting
    ]
    output.table(("id", "kind", "by", "since", "text", "why"), rows, empty=NOTHING)


# One by one


class _Screen:
    """Display of proposals; without colours, differences are marked by characters."""

    def __init__(self) -> None:
        from rich.console import Console

        self.console = Console(highlight=False, soft_wrap=True)

    def say(self, text: str, style: str = "") -> None:
        self.console.print(plain(text), style=style or None, markup=False)

    def proposal(
        self,
        hf: Holdfast,
        proposed: Memory,
        place: str,
    ) -> None:
        from ...extraction.proposals import grounds, proposer

        weighed = hf.reviews.preview(proposed.id)
        kind = f"{proposed.kind}, {proposed.category}"
        self.say(f"\n{place} · {proposed.id} · {kind}", "dim")
        self.say(proposed.content, "bold")
        for name, value in (
            (
                "proposed by",
                (
                    f"{proposer(proposed) or 'somebody'}, "
                    f"{when(proposed.status_at or proposed.created_at)}"
                ),
            ),
            ("why", grounds(proposed)),
            ("quote", f"“{proposed.quote}”" if proposed.quote else ""),
        ):
            if value:
                self.say(f"{name:<12} {value}", "dim")
        self._known(proposed, weighed)

    def _known(self, proposed: Memory, weighed: Weighed) -> None:
        """Show the difference to a memory that approval changes. One that is only similar stays
        as it is, so it is shown whole.
        """
        if weighed.changed is not None:
            self.say(f"{'changes':<12} {weighed.changed.id}", "dim")
            self.console.print(self._difference(weighed.changed.content, proposed.content))
        elif weighed.nearest is not None:
            self.say(f"{'similar':<12} {weighed.nearest.id}, which stays", "dim")
            self.say(f"  {weighed.nearest.content}", "dim")
        self.say(weighed.told)

    def _difference(self, old: str, new: str) -> Text:
        from rich.text import Text

        parts = word_diff(plain(old), plain(new))
        if self.console.no_color or not self.console.is_terminal:
            return Text(f"  {marked(parts)}")
        styles = {"same": "", "gone": "red strike", "new": "green"}
        return Text.assemble("  ", *((text, styles[what]) for what, text in parts))


def _walk(hf: Holdfast, waiting: Sequence[Memory]) -> None:
    screen = _Screen()
    decided = 0
    for number, proposed in enumerate(waiting, start=1):
        if hf.get(proposed.id).status != "proposed":
            # Somebody else has decided it meanwhile.
            continue
        try:
            screen.proposal(hf, proposed, f"{number} of {len(waiting)}")
            done = _decided(hf, screen, proposed)
        except KeyboardInterrupt:
            # Ctrl-C while no key is read; otherwise it arrives as a key.
            break
        if done is None:
            break
        decided += done
    left = len(hf.reviews.list())
    screen.say(f"\nDecided {decided}. {output.waiting(left) if left else NOTHING}")


def _decided(
    hf: Holdfast,
    screen: _Screen,
    proposed: Memory,
) -> bool | None:
    """Ask until there is an answer: whether something was decided, or None to quit."""
    screen.say(KEYS, "dim")
    while True:
        match _key():
            case "s":
                return False
            case "q" | "\x04" | "\x03" | "\0" | "":
                # Ctrl-D before the terminal is in raw mode arrives as NUL.
                return None
            case "a" | "e" | "r" as key:
                if _carried_out(hf, screen, proposed, key):
                    return True
            case "?":
                screen.say(HELP)
            case _:
                screen.say(KEYS, "dim")


def _key() -> str:
    try:
        return _pressed().lower()
    except (EOFError, KeyboardInterrupt):
        return "q"


def _pressed() -> str:
    """Read one key. Unlike `typer.getchar`, keep what was typed before the prompt."""
    try:
        import termios
        import tty
    except ImportError:
        # Windows.
        return typer.getchar()
    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)
    # TCSADRAIN keeps pending input; the default would discard it.
    tty.setcbreak(stdin, termios.TCSADRAIN)
    try:
        key = os.read(stdin, 1)
        while key == b"\x1b" and select.select([stdin], [], [], 0)[0]:
            # The rest of the escape sequence of an arrow or function key, which has no meaning
            # here.
            os.read(stdin, 1)
        return key.decode("utf-8", "replace")
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)


def _carried_out(
    hf: Holdfast,
    screen: _Screen,
    proposed: Memory,
    key: str,
) -> bool:
    try:
        if key == "r":
            hf.reviews.reject(proposed.id, input("Why? (Enter: no reason) ").strip())
            said = "Rejected."
        else:
            text = proposed.content if key == "a" else edited(proposed.content, untouched=UNDECIDED)
            if key == "e" and text.strip() in ("", proposed.content):
                screen.say("Nothing was changed. " + KEYS, "dim")
                return False
            stands = hf.reviews.approve(proposed.id, text)
            said = f"Approved as {stands.id}: {shorten(stands.content, 100)}"
    except (HoldfastError, EOFError, KeyboardInterrupt) as error:
        screen.say(f"{error}\n{KEYS}" if isinstance(error, HoldfastError) else KEYS)
        return False
    screen.say(f"{said} Undo with: {undo_command(hf)}", "green" if key != "r" else "yellow")
    return True


# By ids


@review_app.command()
def approve(
    ids: Ids,
    text: Annotated[
        str | None, typer.Option("--text", help="Store this text instead (for one id).")
    ] = None,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Approve proposed memories. From then on they are recalled.

    Example: holdfast review approve 7 8
    """
    if text is not None and len(ids) > 1:
        raise InvalidInput("--text is for one id.")
    with open_memory(store, scope, make=False) as hf:
        _told_each(hf, ids, lambda id_: hf.reviews.approve(id_, text), "Approved", as_json=as_json)


@review_app.command()
def reject(
    ids: Ids,
    reason: Annotated[
        str, typer.Option("--reason", help="The reason, stored with the memory.")
    ] = "",
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Reject proposed memories. They are archived, and the same text is not proposed again.

    Example: holdfast review reject 7 --reason "no longer true"
    """
    with open_memory(store, scope, make=False) as hf:
        _told_each(hf, ids, lambda id_: hf.reviews.reject(id_, reason), "Rejected", as_json=as_json)


def _waiting(hf: Holdfast, ids: Sequence[str]) -> list[Memory]:
    """Return the proposals with these ids. Raises before any decision if one is not waiting."""
    from ...extraction.approval import check_waiting

    found = [hf.get(id_) for id_ in ids]
    for memory in found:
        check_waiting(memory)
    return found


def _told_each(
    hf: Holdfast,
    ids: Sequence[str],
    decide: Callable[[str], Memory],
    said: str,
    *,
    as_json: bool,
) -> None:
    """Decide about each memory and report it; all must be waiting."""
    output.tell_each(
        (decide(one.id) for one in _waiting(hf, ids)),
        lambda memory: output.memory_json(memory, run=hf.last_run),
        lambda memory: _say(hf, memory, said),
        as_json=as_json,
    )


def _say(
    hf: Holdfast,
    memory: Memory,
    said: str,
) -> None:
    print(f"{said} {memory.id}. Undo with: {undo_command(hf)}")


# All at once


class Block(NamedTuple):
    """A person's decision about one proposal."""

    word: str
    id: str
    text: str


@review_app.command("edit-all")
def edit_all(store: Store = None, scope: Scope = None) -> None:
    """Review all proposed memories in your editor. Write approve, reject or keep before each, and
    edit the texts as you like.

    Example: holdfast review edit-all
    """
    with open_memory(store, scope, make=False) as hf:
        hf.reviews.expire()
        waiting = {one.id: one for one in hf.reviews.list()}
        if not waiting:
            print(NOTHING)
            return
        wanted = edited(
            sheet([(one, hf.reviews.preview(one.id)) for one in waiting.values()]),
            untouched=UNDECIDED,
        )
        blocks = read_sheet(wanted, set(waiting))
        for block in blocks:
            if block.word == "approve":
                _say(hf, hf.reviews.approve(block.id, block.text), "Approved")
            elif block.word == "reject":
                _say(hf, hf.reviews.reject(block.id), "Rejected")
        left = len(hf.reviews.list())
        print(output.waiting(left) if left else NOTHING)


def sheet(proposals: Sequence[tuple[Memory, Weighed]]) -> str:
    """Render proposals as text to edit; `read_sheet` parses it."""
    from ...extraction.proposals import grounds, proposer

    blocks = [SHEET]
    for memory, weighed in proposals:
        notes = [f"by {proposer(memory)}, {when(memory.status_at)}", grounds(memory), weighed.told]
        if memory.quote:
            notes.append(f"“{memory.quote}”")
        told = [f";; {' '.join(note.split())}" for note in notes if note.strip()]
        # Escaped, so that a memory's own text cannot look like a decision.
        text = [f"\\{line}" if _is_ours(line) else line for line in memory.content.split("\n")]
        blocks.append("\n".join([f"[keep] {memory.id}", *told, *text, ""]))
    return "\n".join(blocks)


def _is_ours(line: str) -> bool:
    """Whether a line could be mistaken for one of the sheet's own, with or without backslashes."""
    bare = line.lstrip("\\")
    return bare.startswith(";;") or _HEAD.fullmatch(bare) is not None


def read_sheet(text: str, known: set[str]) -> list[Block]:
    """Parse the decisions on a sheet. Raises InvalidInput, before any decision, for an error."""
    blocks: list[Block] = []
    for line in text.split("\n"):
        if head := _HEAD.fullmatch(line):
            word = _WORDS.get(head["word"].lower())
            if word is None:
                raise InvalidInput(
                    f"{head['word']!r} is none of approve, reject and keep. Nothing was decided."
                )
            if head["id"] not in known:
                raise InvalidInput(
                    f"{head['id']} does not wait for a decision. Nothing was decided."
                )
            blocks.append(Block(word, head["id"], ""))
        elif blocks and not line.startswith(";;"):
            own = line[1:] if line.startswith("\\") and _is_ours(line) else line
            blocks[-1] = blocks[-1]._replace(text=f"{blocks[-1].text}\n{own}")
    said = [block._replace(text=block.text.strip()) for block in blocks]
    if empty := [block.id for block in said if block.word == "approve" and not block.text]:
        raise InvalidInput(f"{empty[0]} has no text left to approve. Nothing was decided.")
    return said
