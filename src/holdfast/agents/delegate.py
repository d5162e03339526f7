"""Delegation: agents as tools of another agent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic_ai import Tool

from ..errors import HoldfastError, InvalidInput
from ..storage.connect import check_place, is_server
from .role import Delegate, InlineAgent, Role, load_role

if TYPE_CHECKING:
    from .agent_runner import RoleAgent

log = logging.getLogger(__name__)

ERROR = "[DELEGATION ERROR] "

OpenAgent = Callable[[Role, tuple[str, ...]], "RoleAgent"]
"""Opens an agent; `chain` lists its callers, the first one first."""


def delegate_tools(
    role: Role,
    *,
    chain: tuple[str, ...],
    open_agent: OpenAgent,
) -> list[Tool[Any]]:
    """Create a tool for each agent that a role can delegate to. `chain` lists the callers of this
    one.

    The tools never raise: an error is returned as text that begins with `[DELEGATION ERROR]`, for
    the model to handle.
    """
    tools: dict[str, Tool[Any]] = {}
    for delegate in role.spec.tools:
        for agent in delegate.agents:
            name = f"delegate_to_{agent.name.replace('-', '_')}"
            if name in tools:
                raise InvalidInput(
                    f"{role.file} has two agents with the tool name {name!r}. Rename one of them."
                )
            task = _Delegation(
                role,
                delegate,
                agent,
                (*chain, role.name),
                open_agent,
            )
            description = (
                agent.description
                or f"Hands a task to the agent {agent.name!r} and returns its answer."
            )
            tools[name] = Tool(
                task.call,
                name=name,
                description=description,
                takes_ctx=False,
            )
    return list(tools.values())


class _Failed(Exception):
    """A failed delegation with its reason."""


class _Delegation:
    """One agent that another can call. `chain` lists all its callers."""

    def __init__(
        self,
        caller: Role,
        delegate: Delegate,
        agent: InlineAgent,
        chain: tuple[str, ...],
        open_agent: OpenAgent,
    ) -> None:
        self._caller = caller
        self._delegate = delegate
        self._agent = agent
        self._chain = chain
        self._open_agent = open_agent

    async def call(self, prompt: str) -> str:
        """Hands the agent a task.

        Args:
            prompt: The task with all its context: the agent sees nothing of this conversation.
        """
        try:
            self._check_depth()
            # In a thread, because opening a store would block the event loop.
            agent = await asyncio.to_thread(self._opened)
            try:
                return await self._answer(agent, prompt)
            finally:
                await asyncio.to_thread(agent.close)
        except _Failed as failure:
            return f"{ERROR}{failure}"
        except Exception as error:  # providers and their clients share no base class
            log.debug("delegating to %s", self._agent.name, exc_info=True)
            return f"{ERROR}Agent {self._agent.name!r} failed: {str(error) or type(error).__name__}"

    def _check_depth(self) -> None:
        depth = len(self._chain)
        most = self._delegate.max_depth
        if depth > most:
            chain = " -> ".join(self._chain)
            raise _Failed(f"Delegation depth {depth} exceeds max_depth {most} (chain: {chain})")

    def _opened(self) -> RoleAgent:
        try:
            role = self._shared(load_role(self._caller.beside(self._agent.role_file)))
        except (HoldfastError, OSError) as error:
            raise _Failed(f"Failed to load agent from {self._agent.role_file}: {error}") from error
        return self._open_agent(role, self._chain)

    def _shared(self, role: Role) -> Role:
        """Return the role with the shared memory of this tool's agents, if any. The caller does not
        share it.
        """
        shared = self._delegate.shared_memory
        if shared is None:
            return role
        check_place(shared.store_path)
        if is_server(shared.store_path):
            return role.sharing(
                shared.store_path,
                shared.max_memories,
                scope=f"shared:{self._caller.name}",
            )
        return role.sharing(str(self._caller.beside(shared.store_path)), shared.max_memories)

    async def _answer(self, agent: RoleAgent, prompt: str) -> str:
        own = agent.role.spec.guardrails.timeout_seconds
        seconds = min(self._delegate.timeout_seconds, own or self._delegate.timeout_seconds)
        try:
            async with asyncio.timeout(seconds) as limit:
                return (await agent.turn(prompt)).text
        except TimeoutError as error:
            # A timeout of the agent itself, not ours.
            if not limit.expired():
                raise
            raise _Failed(
                f"Agent {self._agent.name!r} timed out after {seconds:g} seconds"
            ) from error
