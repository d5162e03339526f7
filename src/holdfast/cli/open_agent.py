"""Opening the agent of a role file, without the parser of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import MissingExtra

if TYPE_CHECKING:
    from pathlib import Path

    from ..agents.agent_runner import RoleAgent
    from ..agents.role import Role


@contextmanager
def agent_packages() -> Iterator[None]:
    """Turn a missing package into MissingExtra, with the install command."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"Agents need {error.name}: pip install 'holdfast-memory[agent]'"
        ) from error


def role_of(file: Path) -> Role:
    """Load the role from a file."""
    with agent_packages():
        from ..agents.role import load_role
    return load_role(file)


@contextmanager
def open_agent(
    role: Role,
    *,
    use_memory: bool = True,
    mode: str | None = None,
    user_id: str | None = None,
) -> Iterator[RoleAgent]:
    """Open the agent of a role and close it afterwards."""
    with agent_packages():
        import pydantic_ai

        from ..agents.agent_runner import RoleAgent
    # The framework's banner would mix with the conversation.
    pydantic_ai.BANNER_ENABLED = False
    agent = RoleAgent.open(role, use_memory=use_memory, mode=mode, user_id=user_id)
    try:
        yield agent
    finally:
        agent.close()
