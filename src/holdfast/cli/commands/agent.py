"""Commands that run the agent of a role file."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import config
from ...errors import InvalidInput
from ...text.terminal import counted, plain
from .. import output as show
from ..app import Json, MemoryMode, app
from ..fast_chat import chat as chat_screen
from ..open_agent import agent_packages, open_agent, role_of

if TYPE_CHECKING:
    from ...agents.agent_runner import RoleAgent

AGENT = "Run an agent"
compose_app = typer.Typer(
    no_args_is_help=True,
    help="""Run several agents together. A compose file names the services.

Example: holdfast agent compose up newsroom.yaml""",
)
agent_app = typer.Typer(
    no_args_is_help=True,
    help="""Run agents that role files describe. `holdfast init`, `run` and `memory` are short for
`agent init`, `agent run` and `agent memory`.

Example: holdfast agent init --name assistant""",
)
app.add_typer(agent_app, name="agent", rich_help_panel=AGENT)
agent_app.add_typer(compose_app, name="compose")

RoleFile = Annotated[
    Path, typer.Argument(metavar="ROLE", help="Path of the role file, e.g. role.yaml.")
]


UserId = Annotated[
    str | None,
    typer.Option(
        "--user-id",
        metavar="ID",
        help="Owner of the memory, across sessions. Default: the role's.",
    ),
]


# InitRunner's own name for it, which its users type.
@app.command(hidden=True)
@agent_app.command()
def init(
    name: Annotated[str, typer.Option("--name", help="Name of the agent.")],
    template: Annotated[
        str, typer.Option("--template", help="memory, daemon or basic.")
    ] = "memory",
    provider: Annotated[
        str,
        typer.Option(
            "--provider", help="Its model's provider. Default: one whose key is set, else offline."
        ),
    ] = "",
    model: Annotated[
        str, typer.Option("--model", help="Its model. Default: one that suits the provider.")
    ] = "",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Output file.")
    ] = Path("role.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a role file that runs as it is. The provider is the one whose API key is set, else
    `offline`.

    Example: holdfast agent init --name assistant --template memory
    """
    with agent_packages():
        from ...agents.role import OFFLINE
        from ...agents.scaffold import write_role
    chosen = write_role(
        output,
        name=name,
        template=template,
        provider=provider,
        model=model,
        environ=config.environment(),
        force=force,
    )
    print(f"Wrote {output}. Talk with it: holdfast agent run {output} -i")
    if chosen == OFFLINE:
        print(
            "It answers from memory without a model. For one, change spec.model in the file.",
            file=sys.stderr,
        )


# InitRunner's own name for it, which its users type.
@app.command(hidden=True)
@agent_app.command()
def run(
    file: RoleFile,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Start a conversation in the terminal.")
    ] = False,
    prompt: Annotated[
        str | None,
        typer.Option("--prompt", "-p", metavar="TEXT", help="Ask once; '-' is standard input."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue its last session.")] = False,
    autonomous: Annotated[
        bool,
        typer.Option(
            "--autonomous", "-a", help="Work on the prompt autonomously until it is done."
        ),
    ] = False,
    max_steps: Annotated[
        int | None,
        typer.Option(
            "--max-steps", min=1, help="Steps of an autonomous run. Default: what the role says."
        ),
    ] = None,
    daemon: Annotated[
        bool, typer.Option("--daemon", help="Wait for the role's triggers and run when one fires.")
    ] = False,
    no_memory: Annotated[
        bool, typer.Option("--no-memory", help="Neither read nor write memory.")
    ] = False,
    memory_mode: MemoryMode = None,
    user_id: UserId = None,
    as_json: Json = False,
) -> None:
    """Run the agent of a role file: in a conversation, for one prompt, autonomously, or by its
    triggers. Its memory lasts between runs.

    Example: holdfast agent run role.yaml -i --resume
    """
    role = role_of(file)
    _one_way(interactive=interactive, prompt=prompt, autonomous=autonomous, daemon=daemon)
    # Reject an option that has no effect here, rather than ignore it silently.
    idle = {
        "--resume": resume and (autonomous or daemon),
        "--max-steps": max_steps is not None and not autonomous,
        "--json": as_json and (interactive or daemon),
        "--memory-mode": memory_mode is not None and no_memory,
        "--user-id": user_id is not None and no_memory,
    }
    for option in (option for option, useless in idle.items() if useless):
        raise InvalidInput(f"{option} does nothing in this way of running. Leave it out.")
    with open_agent(role, use_memory=not no_memory, mode=memory_mode, user_id=user_id) as agent:
        if daemon:
            _serve(agent, file)
        elif autonomous:
            _pursue(agent, _prompt(prompt), max_steps, as_json=as_json)
        elif prompt is not None or (not interactive and not sys.stdin.isatty()):
            _ask(agent, _prompt(prompt), resume=resume, as_json=as_json)
        else:
            _converse(agent, resume=resume)


def _one_way(
    *,
    interactive: bool,
    prompt: str | None,
    autonomous: bool,
    daemon: bool,
) -> None:
    if daemon and (interactive or prompt is not None or autonomous):
        raise InvalidInput(
            "--daemon runs by triggers; it goes with none of -i, -p and --autonomous."
        )
    if interactive and (prompt is not None or autonomous):
        raise InvalidInput("-i is a conversation; -p asks once. Use one of them.")


def _prompt(text: str | None) -> str:
    if text is not None and text != "-":
        return text
    if sys.stdin.isatty():
        raise InvalidInput('Give the task with -p "…", or pipe it in.')
    return sys.stdin.read()


def _converse(agent: RoleAgent, *, resume: bool) -> None:
    from ...agents.conversation import Conversation
    from ..repl import converse

    if not converse(Conversation(agent), resume=resume):
        raise typer.Exit(1)


def _ask(
    agent: RoleAgent,
    prompt: str,
    *,
    resume: bool,
    as_json: bool,
) -> None:
    """Answer one prompt. Without `resume`, no session is stored."""
    if not prompt.strip():
        raise InvalidInput("The prompt is empty. Give one with -p, or talk with the agent: add -i.")
    from ...agents.conversation import Conversation
    from ..repl import tell_waiting

    tell_waiting(agent.memory)
    conversation = Conversation(agent)
    # A single prompt stores no session, so building project memory for it would be wasted.
    conversation.project.begin(build=resume)
    if not resume:
        turn = conversation.ask_once(prompt)
        session = ""
        conversation.project.end()
    else:
        count = conversation.resume()
        print(
            f"Resumed session with {count} messages." if count else "No previous session found.",
            file=sys.stderr,
        )
        turn = conversation.say(prompt)
        session = conversation.session
        for line in conversation.end():
            print(plain(line), file=sys.stderr)
    if conversation.waiting:
        print("Answer it with --resume -p …", file=sys.stderr)
    if as_json:
        show.emit(
            {
                "agent": agent.role.name,
                "text": turn.text,
                "messages": len(turn.messages),
                "session": session,
            }
        )
    else:
        print(plain(turn.text))


def _pursue(
    agent: RoleAgent,
    task: str,
    max_steps: int | None,
    *,
    as_json: bool,
) -> None:
    from ...agents.autonomous import pursue
    from ...agents.watcher import Watcher

    if not task.strip():
        raise InvalidInput("The task is empty.")
    watcher = Watcher(
        # Progress goes to stderr, so that stdout holds only the result.
        tool=lambda name, arguments: print(plain(f"· {name} {arguments}"), file=sys.stderr)
    )
    outcome = pursue(agent, task, most_steps=max_steps, watcher=watcher)
    for line in outcome.lines:
        print(plain(line), file=sys.stderr)
    if as_json:
        show.emit(
            {
                "status": outcome.status,
                "summary": outcome.summary,
                "steps": outcome.steps,
                "text": outcome.text,
            }
        )
    elif outcome.status == "unfinished":
        print(
            f"Not finished after {counted(outcome.steps, 'step')}. Raise --max-steps, or make "
            "the "
            "task smaller."
        )
    else:
        print(plain(f"{outcome.status}: {outcome.summary}"))
    if outcome.status != "completed":
        raise typer.Exit(1)


def _serve(agent: RoleAgent, file: Path) -> None:
    from ...agents.daemon import serve, stop_on_signals
    from ...agents.single_instance import alone
    from ...types import system_clock

    stop = threading.Event()
    # Two daemons for one role file would both fire its triggers.
    with alone(file):
        stop_on_signals(stop, _tell)
        serve(agent, clock=system_clock, stop=stop, report=_tell, environ=config.environment())


def _tell(line: str) -> None:
    print(plain(line), file=sys.stderr, flush=True)


# The name that most people try first.
@app.command(hidden=True)
@agent_app.command()
def chat(
    file: RoleFile,
    resume: Annotated[bool, typer.Option("--resume", help="Continue its last session.")] = False,
    no_memory: Annotated[
        bool, typer.Option("--no-memory", help="Neither read nor write memory.")
    ] = False,
    memory_mode: MemoryMode = None,
    user_id: UserId = None,
) -> None:
    """Chat with the agent of a role file on a full screen. A panel shows what it remembers.

    Example: holdfast agent chat role.yaml --resume
    """
    chat_screen(
        str(file),
        resume=resume,
        no_memory=no_memory,
        memory_mode=memory_mode,
        user_id=user_id,
    )


@compose_app.command()
def up(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of kind Compose.")],
) -> None:
    """Run every service of a compose file in this process. Ctrl-C or SIGTERM stops them.

    Example: holdfast agent compose up newsroom.yaml
    """
    with agent_packages():
        from ...agents.compose import up as run_services
        from ...agents.daemon import stop_on_signals
        from ...agents.role import load_compose
        from ...agents.single_instance import alone
    from ...types import system_clock

    stop = threading.Event()
    composition = load_compose(file)
    with alone(file):
        stop_on_signals(stop, _tell)
        run_services(
            composition, clock=system_clock, stop=stop, report=_tell, environ=config.environment()
        )
