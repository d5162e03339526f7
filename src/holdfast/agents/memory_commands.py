"""Memory commands in a conversation, in plain words or with /memory.

A command is answered before any model is called: nothing is recalled for it, and it is not stored
in the conversation. Deletions ask for confirmation. The open question is stored with the session,
so that an answer after a restart is understood. Forgetting archives, so it can be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

from ..audit import AuditLog, open_audit
from ..audit.audit_log import DAYS
from ..client import Holdfast
from ..errors import HoldfastError
from ..extraction import approval
from ..extraction.candidate import Candidate
from ..extraction.policy import hard_guard
from ..extraction.turn_extraction import rules
from ..extraction.vocabulary import vocabulary
from ..ingest import capture, commit
from ..ingest.commit import Draft
from ..storage.protocol import Transaction, rests_on
from ..text.spoken_commands import Command, Name, answer
from ..text.terminal import counted, shorten
from ..types import DAY, Kind, Memories, Memory, Session
from . import message_history
from .about import LIVE, OPTIONS, matching
from .role_memory import RoleMemory
from .utterance import remaining, understood

GUEST = "You're in guest mode, so I don't have persistent memory to show or edit for this session."
NOTHING = "I don't have any saved facts, session summaries, or style rules for you right now."
NO_MATCH = "I couldn't find a saved memory matching that."
KEPT = "Okay, nothing was forgotten."
CANCELLED = "Cancelled. Nothing was forgotten."
UNDO = "Say undo to bring it back."
GO_ON = "Say that I may remember again when I may."
USAGE = """\
/memory status                           number of memories, and whether recall is on
/memory list [facts|sessions|rules]      numbered lists of memories
/memory recall on|off                    turn proactive recall on or off
/memory forget fact|session|rule N       forget one item of a list
/memory clear facts|sessions|rules|all   forget a whole list, or everything
/memory purge-crisis [DAYS]              erase older safety events (default: 90 days)
/memory view                             memory of this project, as the agent sees it
/memory clear (or reset)                 delete the memory of this project, after confirmation
/memory enqueue (or rebuild)             rebuild it when the next session starts
/memory stats, /memory diagnose          its status, and why there is none
/memory WORDS                            search memories"""

SORTS: Mapping[str, Kind] = {"facts": "fact", "sessions": "episode", "rules": "rule"}
WORDS: Mapping[str, str] = {"fact": "fact", "episode": "session", "rule": "rule"}
TITLES: Mapping[str, tuple[str, str]] = {
    "facts": ("fact", "facts"),
    "sessions": ("session summary", "session summaries"),
    "rules": ("style rule", "style rules"),
}
# Items per kind, and characters of each.
LISTED = 50
WIDTH = 200
# Journal entries searched for what a conversation stored.
LOOKED_BACK = 1_000
# Share of the words that the extractor's version must cover to replace the user's own.
MOSTLY = 0.6
PENDING = "pending_action"


@dataclass(frozen=True, slots=True)
class Pending:
    """Open question about memories, all memories of a kind, or events older than some days."""

    type: Literal["delete", "delete_options", "clear", "purge"]
    ids: tuple[str, ...] = ()
    sort: str = ""
    days: int = 0

    @classmethod
    def of(cls, stored: object) -> Pending | None:
        """Read the open question from a session's metadata."""
        if not isinstance(stored, Mapping) or stored.get("type") not in (
            "delete",
            "delete_options",
            "clear",
            "purge",
        ):
            return None
        ids = tuple(map(str, stored.get("ids", ())))
        days = int(stored.get("days", 0))
        return cls(stored["type"], ids, str(stored.get("sort", "")), days)


class Control:
    """Memory commands of one conversation; `memory` is None if there is none."""

    def __init__(
        self,
        memory: RoleMemory | None,
        *,
        session: str,
        actor: str,
        forgot: Callable[[], object] = lambda: None,
    ) -> None:
        self._memory = memory
        self._session = session
        self._actor = actor
        self._forgot = forgot
        self._pending: Pending | None = None
        self._stored = False
        """Whether the open question is stored."""
        self._run = ""
        """Run that "undo" reverts if it is said next."""
        self._turn_began: int | None = None
        self.gone = False
        """Whether the user excluded this conversation: its messages are deleted at its end."""
        self.rest = ""
        """Rest of the last utterance, for the agent."""
        self._began = memory.clock() if memory is not None else None

    @property
    def waiting(self) -> bool:
        """Whether a question to the user is open."""
        return self._pending is not None

    def resume(self) -> None:
        """Continue with the open question of the last conversation if it is recent."""
        if self._memory is None or not self._memory.exists:
            return
        last = next(iter(message_history.of_agent(self._memory.hf, self._memory.role.name)), None)
        if last is not None and self._memory.clock() - last.last_activity < DAY:
            self._pending = Pending.of(last.metadata.get(PENDING))

    def turn_begins(self) -> None:
        """Mark the start of an agent turn: what is stored from now on came from it."""
        self._run = ""
        if self._memory is not None:
            self._turn_began = self._memory.clock()

    def hear(self, text: str) -> str | None:
        """Answer an utterance about memory; None if it is for the agent.

        If a message asks for more than that, `rest` is the part for the agent.
        """
        self.rest = ""
        if self._pending is not None and (reply := self._settle(self._pending, text)) is not None:
            return reply
        if self._run and answer(text) == "undo":
            return self._undo()
        asked = (
            understood(text, self._memory.settings.vocabulary) if self._memory else understood(text)
        )
        if asked is None:
            return None
        if self._memory is None:
            return GUEST
        reply = self._do(asked)
        if reply is not None:
            self.rest = remaining(text, self._memory.settings.vocabulary)
        return reply

    def slash(self, rest: str) -> str | None:
        """Answer `/memory …`; None if it is no known form and thus a search."""
        match rest.lower().split():
            case ["status"]:
                asked = Command("status")
            case ["list"]:
                asked = Command("list")
            case ["list", ("facts" | "sessions" | "rules") as sort]:
                asked = Command("list", sort=sort)
            case ["recall", ("on" | "off") as wanted]:
                asked = Command("recall_on" if wanted == "on" else "recall_off")
            case ["forget", ("fact" | "session" | "rule") as one, number] if number.lstrip(
                "#"
            ).isdecimal():
                asked = Command(
                    "forget_number",
                    number=int(number.lstrip("#")),
                    sort=f"{one}s",
                )
            case ["clear", ("facts" | "sessions" | "rules" | "all") as sort]:
                asked = Command("wipe", sort="" if sort == "all" else sort)
            case ["purge-crisis", *days] if len(days) < 2 and all(map(_is_days, days)):
                return GUEST if self._memory is None else self._ask_to_purge(*map(int, days))
            case [("forget" | "clear" | "purge-crisis"), *_] | ["recall"]:
                return USAGE
            case _:
                return None
        return GUEST if self._memory is None else self._do(asked)

    # Commands

    def _do(self, asked: Command) -> str | None:
        ways: Mapping[Name, Callable[[Command], str | None]] = {
            "status": self._status,
            "list": self._list,
            "forget_number": self._forget_number,
            "forget_about": self._forget_about,
            "recall_on": self._recall,
            "recall_off": self._recall,
            "remember_fact": self._remember,
            "remember_rule": self._remember,
            "wipe": self._ask_to_wipe,
            "forget_last": lambda _: self._private(),
            "forget_session": lambda _: self._forget_session(),
            "pause": lambda _: self._pause(),
            "resume": lambda _: self._go_on(),
        }
        return ways[asked.name](asked)

    def _status(self, _: Command) -> str:
        counts = [counted(len(self._numbered(sort)), *words) for sort, words in TITLES.items()]
        # In a conversation recall is on unless it was switched off.
        state = "off" if self._its().recall_is_off else "on"
        return (
            f"I have {counts[0]}, {counts[1]} and {counts[2]} saved for you. Proactive recall "
            f"is {state}."
        )

    def _list(self, asked: Command) -> str:
        lists = {sort: self._numbered(sort) for sort in ([asked.sort] if asked.sort else SORTS)}
        if not any(lists.values()):
            return _none(asked.sort)
        parts = [_listed(f"{sort.capitalize()}:", found) for sort, found in lists.items() if found]
        return "\n\n".join((*parts, 'To remove one, say "forget fact 1" or "forget about …".'))

    def _forget_number(self, asked: Command) -> str:
        if asked.sort:
            listed = self._numbered(asked.sort)
            word = asked.sort.removesuffix("s")
            if not 1 <= asked.number <= len(listed):
                return (
                    f"{word.capitalize()} #{asked.number} does not exist (only {len(listed)} "
                    f"{word}(s))."
                )
            return self._offer([listed[asked.number - 1]])
        lists = [self._numbered(sort) for sort in SORTS]
        return self._offer(
            [listed[asked.number - 1] for listed in lists if 1 <= asked.number <= len(listed)]
        )

    def _forget_about(self, asked: Command) -> str:
        return self._offer(matching(self._hf, asked.about) if self._exists else [])

    def keep(self, on: bool) -> str:
        """Pause or resume memory for this conversation."""
        return self._go_on() if on else self._pause()

    def recall(self, on: bool) -> str:
        """Turn proactive recall on or off."""
        self._hf.sessions.set_profile(proactive_recall=on)
        return f"Proactive recall is now {'on' if on else 'off'}."

    def _recall(self, asked: Command) -> str:
        return self.recall(asked.name == "recall_on")

    def _ask_to_wipe(self, asked: Command) -> str:
        sort = asked.sort
        count = len(self._all(asked.sort))
        if not count:
            return _none(sort)
        self._set(Pending("clear", sort=sort))
        what = (
            f"all {TITLES[sort][1]} ({count})"
            if sort
            else f"everything I know of you ({counted(count, 'memory')})"
        )
        return f"This forgets {what}. Type clear to go ahead; anything else cancels."

    def _ask_to_purge(self, days: int = DAYS) -> str:
        """Safety events are not memories: only their number is shown."""
        with closing(self._events()) as events:
            now = self._its().clock()
            due = [
                one
                for one in events.list()
                if one.at <= now - days * DAY and (one.keep_until or 0) <= now
            ]
        if not due:
            return f"There are no safety events older than {counted(days, 'day')}."
        self._set(Pending("purge", days=days))
        many = counted(len(due), "safety event")
        age = counted(days, "day")
        return (
            f"This erases {many} older than {age} for good. Type purge to go ahead; anything "
            "else cancels."
        )

    def _purge(self, days: int) -> str:
        with closing(self._events()) as events:
            return f"Erased {counted(events.purge(days=days), 'safety event')}."

    def _events(self) -> AuditLog:
        its = self._its()
        return open_audit(its.place, key_file=its.settings.key_file, clock=its.clock)

    def _remember(self, asked: Command) -> str | None:
        """Store a statement of the user; None if this agent stores no such things, so that it can
        say so itself.
        """
        memory = self._its()
        kind: Kind = "rule" if asked.name == "remember_rule" else "fact"
        if not (memory.config.procedural if kind == "rule" else memory.config.semantic).enabled:
            return None
        at = memory.clock()
        limit = memory.settings.max_content_bytes
        turn = commit.build(
            _turn(asked.about),
            memory.scope,
            at=at,
            max_bytes=limit,
        )
        candidate = _candidate(turn, kind)
        barred = hard_guard(
            candidate,
            turn,
            vocabulary(memory.settings.vocabulary),
        )
        if barred:
            return f"I won't keep that: {barred}."
        draft = Draft(
            content=candidate.content,
            kind=kind,
            category=candidate.category,
            quote=turn.content,
            triple=candidate.triple,
            source="conversation",
        )
        new = commit.build(draft, memory.scope, at=at, max_bytes=limit)
        decision = approval.decided(self._hf.store, new, at=at)
        stored = self._hf.admin.write(
            "remember", lambda tx: approval.admit(tx, new, decision, at=at)
        )
        self._run = self._hf.last_run
        memory.keep_within_caps(new.layer)
        memory.embed()
        known = "Okay, I'll remember" if stored.id == new.id else "I knew that already"
        return f"{known}: {_short(stored)}"

    def _private(self) -> str:
        """Forget what the last turn stored."""
        left = self._left_behind(self._turn_began)
        if not left:
            self._forgot()
            return "Okay, I won't keep that."
        return (
            f"Okay, I won't keep that. I forgot {_memories(len(self._forget(left)))} of it. {UNDO}"
        )

    def _forget_session(self) -> str:
        """Forget what this conversation stored, and store nothing more."""
        self._its().paused = self.gone = True
        left = self._left_behind(self._began)
        self._forgot()
        kept = f"Okay, I keep nothing of this conversation{{}}. {GO_ON}"
        if not left:
            return kept.format("")
        return f"{kept.format(f', and forgot {_memories(len(self._forget(left)))} of it')} {UNDO}"

    def _pause(self) -> str:
        self._its().paused = True
        return f"Okay, from now on I keep nothing of what you say. {GO_ON}"

    def _go_on(self) -> str:
        self._its().paused = False
        return "Okay, I remember again what you tell me from now on."

    # Confirmation

    def _offer(self, found: Memories) -> str:
        """Ask which memories to forget, or to confirm the only one."""
        if not found:
            return NO_MATCH
        if len(found) == 1:
            self._set(Pending("delete", (found[0].id,)))
            return (
                f"Forget this {WORDS.get(found[0].kind, 'memory')}? {_short(found[0])}\nSay "
                "yes to forget it [y/N]."
            )
        offered = found[:OPTIONS]
        self._set(Pending("delete_options", tuple(one.id for one in offered)))
        more = (
            f"\n… and {len(found) - OPTIONS} more: say more precisely what you mean."
            if len(found) > OPTIONS
            else ""
        )
        head = (
            f"I found {len(found)} memories. Which one shall I forget? Say its number, all, or no."
        )
        return f"{_listed(head, offered)}{more}"

    def _settle(self, pending: Pending, text: str) -> str | None:
        """Handle an answer; None if it is not one. It closes the question, except for an invalid
        number.
        """
        said = answer(text)
        self._set(None)
        if pending.type in ("clear", "purge"):
            if text.strip() in (pending.type, "purge"):
                return (
                    self._wipe(pending.sort)
                    if pending.type == "clear"
                    else self._purge(pending.days)
                )
            return (
                CANCELLED
                if said is not None or text.strip().lower() in ("", "clear", "purge")
                else None
            )
        if pending.type == "delete_options" and (isinstance(said, int) or said in ("yes", "all")):
            return self._choose(pending, said)
        if said == "yes":
            return self._confirmed(pending.ids)
        return KEPT if said is not None or not text.strip() else None

    def _choose(self, pending: Pending, said: int | str) -> str:
        if said == "all":
            self._set(Pending("delete", pending.ids))
            return f"Forget all {len(pending.ids)} of them? Say yes to forget them [y/N]."
        if isinstance(said, int) and 1 <= said <= len(pending.ids):
            return self._offer(self._still(pending.ids[said - 1 : said]))
        self._set(pending)
        return f"Please say a number from 1 to {len(pending.ids)}, or no to keep them all."

    def _still(self, ids: Sequence[str]) -> Memories:
        """Offered memories that are still active."""
        return [one for one in self._hf.store.get(self._hf.scopes, list(ids)) if one.status in LIVE]

    def _confirmed(self, ids: Sequence[str]) -> str:
        found = self._still(ids)
        if not found:
            return "That is forgotten already."
        forgotten = self._forget([*found, *self._sources(found)])
        what = _short(found[0]) if len(found) == 1 else _memories(len(found))
        also = len(forgotten) - len(found)
        more = f", and {counted(also, 'message')} that it came from" if also else ""
        return f"Forgotten: {what}{more}. {UNDO}"

    def _wipe(self, sort: str) -> str:
        return f"I forgot {_memories(len(self._forget(self._all(sort))))}. {UNDO}"

    def _undo(self) -> str:
        run = self._run
        self._run = ""
        if self.gone:
            self._its().paused = self.gone = False
        try:
            self._hf.undo(run)
        except HoldfastError as error:
            return f"That cannot be taken back: {error}"
        return "It is as it was before."

    # Store access

    def _its(self) -> RoleMemory:
        assert self._memory is not None
        return self._memory

    @cached_property
    def _hf(self) -> Holdfast:
        memory = self._its()
        view = memory.hf.scoped(memory.scope)
        # These are the person's own commands, so they are not limited to what an agent may do.
        view.actor = self._actor
        return view

    @property
    def _exists(self) -> bool:
        return self._its().exists

    def _profile(self) -> Mapping[str, Any]:
        return self._hf.store.profiles.get(self._its().scope) if self._exists else {}

    def _numbered(self, sort: str) -> Memories:
        """Active memories of a kind, oldest first, so that a new one changes no number."""
        return self._hf.list(kinds=[SORTS[sort]])[::-1] if self._exists else []

    def _all(self, sort: str) -> Memories:
        """Everything that is or may become recallable, of one kind or of all."""
        if not self._exists:
            return []
        kinds = [SORTS[sort]] if sort else ()
        return self._hf.list(kinds=kinds, statuses=LIVE)

    def _forget(self, memories: Sequence[Memory]) -> Memories:
        forgotten = self._hf.forget(*(one.id for one in memories))
        self._run = self._hf.last_run
        self._forgot()
        return forgotten

    def _sources(self, memories: Sequence[Memory]) -> Memories:
        """Source turns of memories: they would be recalled and repeat the content."""
        hf = self._hf
        ids = [source for one in memories for source in rests_on(hf.store, one)]
        found = hf.store.get(hf.scopes, list(dict.fromkeys(ids)))
        return [one for one in found if one.kind == "turn" and one.status in LIVE]

    def _left_behind(self, since: int | None) -> Memories:
        """Memories stored since then, in the last turn or the whole conversation, by the agent or
        on request.
        """
        memory = self._its()
        ours = (self._its().hf.actor, self._actor)
        if since is None or not self._exists:
            return []
        events = memory.hf.store.events([memory.scope], limit=LOOKED_BACK)
        ids = [
            event.target
            for event in events
            if event.noun == "memory"
            and event.before is None
            and event.at >= since
            and event.actor in ours
        ]
        return [one for one in memory.hf.store.get([memory.scope], ids) if one.status in LIVE]

    def _set(self, pending: Pending | None) -> None:
        """Store the open question, here and with the session."""
        self._pending = pending
        # Writing would create a store only to clear nothing.
        if pending is None and not self._stored:
            return
        memory = self._its()
        at = self._its().clock()
        question = {PENDING: {**asdict(pending), "ids": list(pending.ids)}} if pending else {}

        def work(tx: Transaction) -> None:
            begun = Session(
                self._session,
                memory.scope,
                at,
                at,
                memory.role.name,
                metadata={"mode": message_history.INTERACTIVE},
            )
            known = tx.sessions.get(memory.scope, self._session) or begun
            kept = {key: value for key, value in known.metadata.items() if key != PENDING}
            tx.sessions.put(
                replace(
                    known, metadata={**kept, **question}, last_activity=max(at, known.last_activity)
                )
            )

        memory.hf.admin.write("ask", work)
        self._stored = pending is not None


def _is_days(text: str) -> bool:
    return text.isdecimal() and len(text) < 6


def _turn(said: str) -> Draft:
    return capture.turn(session="control", role="user", text=said)


def _candidate(turn: Memory, kind: Kind) -> Candidate:
    """Turn an utterance into a statement: the extractor's version if it covers all of it, else
    verbatim.
    """
    found = [one for one in rules().extract([turn]) if one.kind == kind]
    if len(found) == 1 and len(found[0].quote) >= MOSTLY * len(turn.content):
        return found[0]
    return Candidate(
        turn.content,
        turn.content,
        kind=kind,
        category="instruction" if kind == "rule" else "general",
    )


def _listed(head: str, memories: Sequence[Memory]) -> str:
    lines = [f"{number}. {_short(one)}" for number, one in enumerate(memories[:LISTED], start=1)]
    more = [f"… and {len(memories) - LISTED} more"] if len(memories) > LISTED else []
    return "\n".join((head, *lines, *more))


def _short(memory: Memory) -> str:
    return shorten(memory.content, WIDTH)


def _memories(count: int) -> str:
    return counted(count, "memory")


def _none(sort: str) -> str:
    return f"I don't have any saved {TITLES[sort][1]} for you right now." if sort else NOTHING
