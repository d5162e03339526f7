"""A conversation in the terminal: prompts, streamed answers, and slash commands."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .. import config
from ..errors import HoldfastError
from ..ingest.sanitize import without_secrets
from ..text.terminal import plain, shorten
from . import output

if TYPE_CHECKING:
    from prompt_toolkit.history import History

    from ..agents.conversation import Conversation
    from ..agents.role_memory import RoleMemory
    from ..types import Memory

# Number of memories that /memory shows, and characters of each.
LATEST = 10
SHOWN = 100
HELP = """\
/memory        what is remembered: how much, where, and the latest
/memory WORDS  what is remembered about WORDS
/memory status, list, recall, forget, clear facts
               see and change it: /memory forget says how
/memory view, clear, enqueue, stats, diagnose
               what past sessions of this project taught; where that is enabled,
               /memory alone is view
/search WORDS  what was said and what is remembered about WORDS;
               /search history WORDS, /search memory WORDS: one of the two
/summary       what this conversation was about so far
/export [FILE] write this conversation to a new file
/settings      what is on and off: memory, recall, the memory of this project; /settings recall off
/end, /quit    end the session (so does Ctrl-D); /end new [ID] begins another
/help          this list

In plain words: what do you know about me? · forget about … · remember that I … ·
don't remember this · don't save any of this conversation · stop remembering ·
you can remember again

Enter sends. Alt-Enter, or a backslash at the end of a line, starts a new line.
Ctrl-C stops an answer."""

Read = Callable[[], str]
# One word after the slash: "/etc/hosts is important" is a prompt, not a command.
_COMMAND = re.compile(r"/(?P<name>\w+)(?:\s+(?P<rest>.*))?$", re.DOTALL)


# A BaseException, so that code which handles errors of a model does not catch it.
class _Hangup(BaseException):
    """The terminal was closed, or the process received SIGTERM."""


def converse(conversation: Conversation, *, resume: bool) -> bool:
    """Talk until the user ends it, then end the session; return whether every prompt was
    answered.
    """
    # Windows has no SIGHUP.
    for number in (
        (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)
    ):
        signal.signal(number, _end)
    name = conversation.agent.role.name
    if resume:
        count = conversation.resume()
        print(f"Resumed session with {count} messages." if count else "No previous session found.")
    tell_waiting(conversation.agent.memory)
    conversation.project.begin()
    if sys.stdin.isatty():
        print(f"Talking with {name}. /help lists the commands, Ctrl-D ends.")
    read = reader(name, keep=_keeps(conversation))
    following = conversation
    answered = True
    while True:
        ended = _held(following, read)
        answered = answered and ended.answered
        if ended.following is None:
            return answered
        following = ended.following
        following.project.begin()
        print(f"A new session begins: {following.session}.")


class _Ended(NamedTuple):
    """How a conversation ended, whether every prompt was answered, and the next conversation."""

    reason: str
    answered: bool
    following: Conversation | None = None


def _held(conversation: Conversation, read: Read) -> _Ended:
    """Talk until the session ends, and end it whatever the reason."""
    ended = _Ended("ended", answered=True)
    hurry = False
    try:
        ended = _turns(conversation, read)
    except _Hangup:
        ended = _Ended("terminated", answered=False)
        # The system may kill the process soon, so slow consolidation is skipped.
        hurry = True
    except BaseException:
        hurry = True
        raise
    finally:
        _say_goodbye(conversation, ended.reason, hurry=hurry)
    return ended


def tell_waiting(memory: RoleMemory | None) -> None:
    """Print a line if memories wait for review."""
    try:
        count = memory.proposals if memory else 0
    except HoldfastError:
        # The next use of the memory reports the problem.
        return
    if memory and count:
        print(
            output.waiting(count, store=memory.location, scope=str(memory.scope)), file=sys.stderr
        )


def _keeps(conversation: Conversation) -> bool:
    """Whether typed prompts may be stored on disk."""
    memory = conversation.agent.memory
    return memory is not None and not memory.incognito


# Signature of a signal handler.
def _end(number: int, frame: object) -> None:  # noqa: ARG001
    raise _Hangup


def _say_goodbye(
    conversation: Conversation,
    reason: str,
    *,
    hurry: bool,
) -> None:
    memory = conversation.agent.memory
    if memory is not None and memory.waiting and not hurry and sys.stderr.isatty():
        print("Consolidating… (Ctrl-C leaves the episodes for the next time)", file=sys.stderr)
    for line in conversation.end(reason=reason, hurry=hurry):
        print(line, file=sys.stderr)


def _turns(conversation: Conversation, read: Read) -> _Ended:
    answered = True
    while True:
        try:
            prompt = read()
        except EOFError:
            return _Ended("ended", answered)
        except KeyboardInterrupt:
            # At a terminal Ctrl-C only clears the line; from a script it ends the session.
            if not sys.stdin.isatty():
                return _Ended("interrupted", answered)
            print("Ctrl-D or /end ends the session.")
            continue
        command = _COMMAND.match(prompt)
        if command:
            name = command["name"]
            rest = (command["rest"] or "").strip()
            if name not in conversation.ends:
                _command(conversation, name, rest)
                continue
            try:
                return _Ended("ended", answered, conversation.following(rest))
            except HoldfastError as error:
                print(plain(f"Error: {error}"), file=sys.stderr)
        elif prompt.strip() or conversation.waiting:
            # Enter alone is an answer to a question.
            answered = _turn(conversation, prompt) and answered


def _turn(conversation: Conversation, prompt: str) -> bool:
    from ..agents.watcher import Watcher

    watcher = Watcher(text=_said, tool=_called)
    try:
        conversation.say(prompt, watcher=watcher, answered=lambda: print(flush=True))
    except KeyboardInterrupt:
        # Stopped by the user, so it does not count as unanswered.
        print("\n(stopped; that turn is not kept)")
        return True
    except HoldfastError as error:
        print(plain(f"\nError: {error}"), file=sys.stderr)
        return False
    return True


def _said(text: str) -> None:
    print(plain(text), end="", flush=True)


def _called(name: str, arguments: str) -> None:
    if sys.stderr.isatty():
        print(
            f"\x1b[2m· {name} {shorten(plain(arguments), 100)}\x1b[0m", file=sys.stderr, flush=True
        )


def _command(
    conversation: Conversation,
    name: str,
    rest: str,
) -> None:
    if name == "memory":
        _tell_memory(conversation, rest)
    elif name == "help":
        print(HELP)
    else:
        _tell(conversation, name, rest)


def _tell(
    conversation: Conversation,
    name: str,
    rest: str,
) -> None:
    try:
        reply = conversation.command(name, rest)
    except HoldfastError as error:
        print(plain(f"Error: {error}"), file=sys.stderr)
    else:
        print(f"There is no /{name}.\n{HELP}" if reply is None else plain(reply))


def _tell_memory(conversation: Conversation, query: str) -> None:
    memory = conversation.agent.memory
    if memory is None:
        print(plain(conversation.slash(query) or "This conversation has no memory."))
        return
    try:
        if (reply := conversation.slash(query)) is not None:
            print(plain(reply))
            return
        if query:
            _tell_each(conversation.about(query)[:LATEST], nothing=conversation.project.usage)
            return
        listed = memory.listed(limit=None)
        counts = {
            layer: sum(one.layer == layer for one in listed)
            for layer in ("semantic", "episodic", "procedural")
        }
        print(
            f"{', '.join(f'{count} {layer}' for layer, count in counts.items())} in "
            f"{memory.location}"
        )
        if listed:
            _tell_each(listed[:LATEST])
    except HoldfastError as error:
        print(plain(f"Error: {error}"), file=sys.stderr)


def _tell_each(memories: Sequence[Memory], *, nothing: str = "") -> None:
    for memory in memories:
        print(output.typed(memory, SHOWN))
    if not memories:
        print(nothing or "No memories found.")


def reader(name: str, *, keep: bool) -> Read:
    """Return the function that reads a prompt: an editor at a terminal, lines from a pipe.

    `keep` says whether prompts may be stored for the next time.
    """
    return _editing_reader(name, keep=keep) if sys.stdin.isatty() else _line_reader


def _line_reader() -> str:
    lines: list[str] = []
    while True:
        line = sys.stdin.readline()
        if not line and not lines:
            raise EOFError
        text = line.rstrip("\n")
        if line and text.endswith("\\"):
            lines.append(text[:-1])
            continue
        return "\n".join([*lines, text])


def _editing_reader(name: str, *, keep: bool) -> Read:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    keys = KeyBindings()

    # In a multi-line prompt, Enter would insert a line break.
    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    # Terminals send Alt-Enter as Escape and Enter.
    @keys.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    commands: Mapping[str, str] = {
        "/memory": "what is remembered",
        "/search": "look for words",
        "/summary": "so far",
        "/export": "to a file",
        "/settings": "on and off",
        "/end": "end the session",
        "/help": "commands",
    }
    session: PromptSession[str] = PromptSession(
        history=_history(name) if keep else InMemoryHistory(),
        multiline=True,
        key_bindings=keys,
        completer=WordCompleter(list(commands), meta_dict=dict(commands), sentence=True),
        complete_while_typing=True,
        reserve_space_for_menu=len(commands),
    )
    return lambda: session.prompt("> ")


def _history(name: str) -> History:
    """Return the prompt history, without secrets and readable only by its owner; in memory if the
    file cannot be written.
    """
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    class Guarded(FileHistory):
        def store_string(self, string: str) -> None:
            super().store_string(without_secrets(string))

    file = history_file(name)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Created here, because `FileHistory` would leave it readable for others.
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return Guarded(str(file))


def history_file(name: str) -> Path:
    """Return the file with the prompts typed to an agent."""
    return config.agent_store(name).with_suffix(".history")
