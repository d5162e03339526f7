"""DSPy: long-term memory as a module around a program, tools for ReAct, and a retriever.

    program = dspy.ReAct("memory, question -> answer", tools=memory_tools(hf))
    agent = HoldfastMemory(program, hf, session="chat-42")
    agent(question="…").answer

DSPy has no interface for memory. The module gives the program what memory knows in its input field
`memory`, and captures the question and the answer.
"""

from __future__ import annotations

from asyncio import to_thread
from typing import Any

from ..client import Holdfast
from ..context.blocks import join_blocks
from ..errors import InvalidInput, MissingExtra
from ..ingest.commit import check_session
from ..types import Hit
from .framework_memory import Hosted, spoken

try:
    import dspy
    from dspy.dsp.utils import dotdict
except ImportError as error:
    raise MissingExtra("Memory for DSPy needs its package. Try: pip install dspy") from error

AGENT = "dspy"


class HoldfastMemory(dspy.Module):
    """A program with long-term memory. It never fails a run: on an error the program gets an empty
    `memory`.

    `session` is the conversation; without one nothing is captured, which suits an evaluation or an
    optimizer. `prompt` and `answer` name the fields that are captured, and `prompt` the one that is
    recalled for.
    """

    def __init__(
        self,
        program: dspy.Module,
        hf: Holdfast,
        *,
        session: str | None = None,
        prompt: str = "question",
        answer: str = "answer",
    ) -> None:
        super().__init__()
        if session is not None:
            check_session(session)
        self.program = program
        self._memory = Hosted(hf, AGENT)
        self._session = session
        self._prompt = prompt
        self._answer = answer

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Call the program with its inputs and `memory`."""
        known = self._recall(inputs)
        prediction = self.program(**inputs, memory=known)
        self._capture("assistant", prediction.get(self._answer))
        return prediction

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Do the same without blocking the event loop."""
        known = await to_thread(self._recall, inputs)
        prediction = await self.program.acall(**inputs, memory=known)
        await to_thread(self._capture, "assistant", prediction.get(self._answer))
        return prediction

    def _recall(self, inputs: dict[str, Any]) -> str:
        if self._prompt not in inputs:
            raise InvalidInput(
                f"The program was called without {self._prompt!r}. Name its field of the prompt: "
                "HoldfastMemory(…, prompt=…)."
            )
        said = spoken(inputs[self._prompt])
        self._capture("user", said)
        known = self._memory.context(self._session, said)
        return join_blocks(known.stable, known.turn)

    def _capture(self, role: str, said: object) -> None:
        if self._session is not None and said is not None:
            self._memory.capture(self._session, role, spoken(said))


class HoldfastRetriever(dspy.Retrieve):
    """Recall as a retriever, also for `dspy.configure(rm=…)`. Without memory it finds nothing."""

    def __init__(self, hf: Holdfast, k: int = 3, callbacks: list[Any] | None = None) -> None:
        super().__init__(k=k, callbacks=callbacks)
        self._memory = Hosted(hf, AGENT)

    def forward(self, query: str, k: int | None = None, **options: Any) -> list[dotdict]:
        """Return at most `k` memories, best first, each with `long_text`, `id`, `kind` and `score`.

        `options` are those of `Holdfast.recall`, such as `kinds`, `tags` and `min_score`.
        """
        limit = self.k if k is None else k
        return [_passage(hit) for hit in self._memory.recall(query, limit=limit, **options)]


def memory_tools(hf: Holdfast) -> list[dspy.Tool]:
    """Return tools that search, store, correct, confirm, count and describe an entity."""
    return [dspy.Tool(tool) for tool in Hosted(hf, AGENT).json_tools()]


def _passage(hit: Hit) -> dotdict:
    memory = hit.memory
    return dotdict(long_text=memory.content, id=memory.id, kind=memory.kind, score=hit.score)
