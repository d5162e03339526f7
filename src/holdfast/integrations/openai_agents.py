"""OpenAI Agents SDK: a session that stores the history, and long-term memory.

Either works without the other; the history is for one conversation, the memory for all of them.

    memory = HoldfastMemory(hf, session="chat-42")
    agent = Agent(name="Helper", tools=memory.tools)
    config = RunConfig(call_model_input_filter=memory.before_model)
    session = HoldfastSession(hf, "chat-42")
    await Runner.run(agent, "…", session=session, hooks=memory, run_config=config)
"""

from __future__ import annotations

from asyncio import CancelledError, get_running_loop, to_thread, wait
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import copy_context
from itertools import dropwhile, takewhile
from typing import Any, ParamSpec, TypeVar, cast

from ..client import Holdfast, check_open
from ..context.blocks import join_blocks
from ..context.session_context import Context
from ..errors import MissingExtra
from ..ingest.commit import check_session
from ..storage import Transaction
from .framework_memory import Hosted, spoken
from .history_redaction import redact
from .session_messages import Item, SessionMessages

try:
    from agents import Agent, RunHooks, SessionSettings, Tool, TResponseInputItem, function_tool
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
    from agents.run import CallModelData, ModelInputData
    from agents.run_context import AgentHookContext
except ImportError as error:
    raise MissingExtra(
        "Memory for the OpenAI Agents SDK needs an optional package. Try: pip install "
        "'holdfast-memory[openai-agents]'"
    ) from error

P = ParamSpec("P")
T = TypeVar("T")
# Messages are append-only: an entry marks an item as removed. `clear_session` erases.
POPPED: Item = {"type": "holdfast.popped"}
# Keys with conversation text.
_SAID = frozenset({"content", "text", "refusal", "summary", "arguments", "input", "output"})
# Keys of actions on a machine: all of their values are text.
_DONE = frozenset({"action", "operation"})
# Keys under which an item names the call that it answers.
_ANSWERED = {"mcp_approval_response": "approval_request_id", "local_shell_call_output": "id"}
# Items checked before a cut: more than a model emits at once.
MARGIN = 20


class HoldfastSession:
    """The history of one conversation (the SDK's `Session`), in the store of its memories.

    Secrets are redacted. If the store is busy, items are buffered and written with the next ones,
    so a run never fails for it; a closed store raises. Reading and clearing raise their errors,
    because lost history or incomplete erasure must not go unnoticed. A cancelled change completes
    before its caller sees the cancellation.
    """

    def __init__(
        self,
        hf: Holdfast,
        session_id: str,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        """`session_settings` are the SDK's, validated by it; no limit by default."""
        self._hf = check_open(hf)
        self._messages = SessionMessages(hf, session_id)
        self.session_id = session_id
        given = (
            SessionSettings()
            if session_settings is None
            else coerce_session_settings(session_settings)
        )
        self.session_settings: SessionSettings | None = given

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return at most `limit` latest items, oldest first, no tool result without its call."""
        most = resolve_session_limit(limit, self.session_settings)
        return cast("list[TResponseInputItem]", await to_thread(self._latest, most))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items."""
        said = [redact(cast("Item", item), _SAID, _DONE) for item in items]
        await _finished(self._messages.add, said)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the last item, or None. Its text stays until the session is erased."""
        return cast("TResponseInputItem | None", await _finished(self._pop))

    async def clear_session(self) -> None:
        """Erase every item permanently. Long-term memory of the conversation stays."""
        await _finished(self._messages.clear)

    def _latest(self, most: int | None) -> list[Item]:
        log = self._messages
        with log.lock:
            if most is None:
                return standing(log.all())
            # Items may be marked as removed, so read more than asked for, and double until enough.
            window = 2 * max(most, 0) + MARGIN
            while True:
                stored = log.stored(window)
                found = standing([*stored, *log.held])
                if len(found) >= most + MARGIN:
                    return cut(found, most)
                # These are all items, unless damaged messages were skipped.
                if len(stored) < window:
                    return cut(standing(log.all()), most)
                window *= 2

    def _pop(self) -> Item | None:
        with self._messages.lock:
            return self._messages.write(self._take, self._take_later)

    def _take(self, tx: Transaction) -> Item | None:
        """Pop inside a transaction, so that concurrent pops return different items."""
        stored = tx.sessions.messages(self._hf.scopes[0], self.session_id)
        last = _last([*(message.body for message in stored), *self._messages.held])
        news = [] if last is None else [POPPED]
        if news or self._messages.held:
            self._messages.append(tx, news)
        return last

    def _take_later(self) -> Item | None:
        last = _last(self._messages.all())
        if last is not None:
            self._messages.held.append(POPPED)
        return last


class HoldfastMemory(RunHooks[Any]):
    """Long-term memory for one conversation: hooks, an input filter and tools. It never fails a
    run.

    Recalled memories go into each request and into no history, so what is forgotten is gone from
    the next run.
    """

    def __init__(self, hf: Holdfast, *, session: str) -> None:
        check_session(session)
        self._memory = Hosted(hf, "openai-agents")
        self._session = session
        self.tools: list[Tool] = [function_tool(tool) for tool in self._memory.json_tools()]
        """Tools that search, store, correct, confirm, count and describe an entity."""
        self._asked: str | None = None
        """The prompt being answered, once it is captured."""
        self._known: Context | None = None

    async def before_model(self, data: CallModelData[Any]) -> ModelInputData:
        """For `RunConfig.call_model_input_filter`: add the stable block to the instructions and the
        turn block to the prompt.
        """
        request = data.model_data
        place = _prompt_at(request.input)
        prompt = _text(request.input[place]) if place is not None else self._asked or ""
        known = await self._recalled(prompt)
        instructions = join_blocks(request.instructions, known.stable)
        if not known.turn or place is None:
            return ModelInputData(request.input, instructions or None)
        block: TResponseInputItem = {"role": "user", "content": known.turn}
        return ModelInputData(
            [*request.input[:place], block, *request.input[place:]], instructions or None
        )

    async def on_agent_start(self, context: AgentHookContext[Any], agent: Agent[Any]) -> None:  # noqa: ARG002
        """Recall again: somebody else may have changed the memory."""
        self._known = None

    async def on_agent_end(
        self,
        context: AgentHookContext[Any],  # noqa: ARG002
        agent: Agent[Any],  # noqa: ARG002
        output: Any,
    ) -> None:
        """Capture the answer."""
        self._asked = self._known = None
        await self._memory.listen(self._session, "assistant", spoken(output))

    async def _recalled(self, prompt: str) -> Context:
        """Return what memory knows for a prompt, recalled once for all steps of its answer."""
        if prompt != self._asked:
            self._asked = prompt
            self._known = None
            await self._memory.listen(self._session, "user", prompt)
        if self._known is None:
            self._known = await self._memory.blocks(self._session, prompt)
        return self._known


async def _finished(
    work: Callable[P, T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Await work in a thread. A cancellation is raised only after the work has ended: threads
    cannot be stopped, and a caller who reads next must see the result.
    """
    # Context variables carry the trace; an executor does not inherit them.
    context = copy_context()
    working = get_running_loop().run_in_executor(None, lambda: context.run(work, *args, **kwargs))
    cancelled: CancelledError | None = None
    # A loop, because the caller may cancel more than once.
    while not working.done():
        try:
            await wait((working,))
        except CancelledError as error:
            cancelled = error
    if cancelled is not None:
        # Retrieve the exception, or asyncio warns that nobody did.
        working.exception()
        raise cancelled
    return working.result()


def standing(history: Sequence[Item]) -> list[Item]:
    """Return the items of a history that were not popped."""
    kept = list[Item]()
    out = 0
    # Messages are append-only, so a pop appends a mark that cancels the item before it.
    for item in reversed(history):
        if item == POPPED:
            out += 1
        elif out:
            out -= 1
        else:
            kept.append(item)
    return kept[::-1]


def cut(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most `most` last items that are valid without earlier ones.

    A tool result needs its call, and an output the reasoning before it.
    """
    at = len(items) - max(most, 0)
    if at <= 0:
        return list(items)
    # A cut inside one answer: its outputs are invalid without the reasoning that was cut off.
    own = takewhile(_is_models, reversed(items[:at]))
    begun = any(item.get("type") == "reasoning" for item in own)
    rest = list(dropwhile(_is_models, items[at:])) if begun else list(items[at:])
    calls = set()
    for item in rest:
        if not _answers(item):
            calls |= {item.get("call_id"), item.get("id")}
    kept = []
    for item in rest:
        call = _answers(item)
        if call is None or call in calls:
            kept.append(item)
    return kept


def _answers(item: Item) -> str | None:
    """Return the id of the call that an item answers, or None."""
    kind = str(item.get("type", ""))
    key = _ANSWERED.get(kind) or ("call_id" if kind.endswith("_output") else None)
    return item.get(key) if key else None


def _is_models(item: Item) -> bool:
    return item.get("role", "assistant") == "assistant" and _answers(item) is None


def _last(history: Sequence[Item]) -> Item | None:
    return next(iter(standing(history)[-1:]), None)


def _prompt_at(items: Sequence[TResponseInputItem]) -> int | None:
    """Return the index of the last user message."""
    return next((at for at in reversed(range(len(items))) if items[at].get("role") == "user"), None)


def _text(item: TResponseInputItem) -> str:
    """Return the text of an item, without pictures and files."""
    content: Any = item.get("content")
    if isinstance(content, str):
        return content
    parts: Iterable[Any] = content or ()
    return "\n".join(
        part["text"]
        for part in parts
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    )
