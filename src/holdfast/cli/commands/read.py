"""Commands that read memory."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from ...context.blocks import join_blocks
from ...context.brief import FORMATS
from ...context.states import states
from ...text.reference import read_in
from ...text.terminal import counted, plain
from ...types import Event, Memory
from .. import fast_recall, output
from ..app import (
    READING,
    Id,
    Json,
    Scopes,
    Store,
    app,
    complete_ids,
    open_memory,
    text_or_stdin,
    when,
)
from ..forecast import DAYS, show_forecast
from ..hints import tell_why

Kinds = Annotated[list[str] | None, typer.Option("--kind", help="Only this kind (repeatable).")]
Categories = Annotated[
    list[str] | None, typer.Option("--category", help="Only this category (repeatable).")
]
Deep = Annotated[
    bool,
    typer.Option("--deep", help="Read the best candidates again: slower, better in conversations."),
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only memories with this tag (repeatable).")
]


@app.command(rich_help_panel=READING)
def recall(
    question: Annotated[
        str | None,
        typer.Argument(metavar="QUESTION", help="The question. Default: read it from a pipe."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="Maximum number of results.")
    ] = None,
    kind: Kinds = None,
    category: Categories = None,
    tag: Tags = None,
    since: Annotated[str | None, typer.Option(help="Only events since this time.")] = None,
    until: Annotated[str | None, typer.Option(help="Only events before this time.")] = None,
    as_of: Annotated[
        str | None, typer.Option(help="Answer with what was known at this time.")
    ] = None,
    tokens: Annotated[int | None, typer.Option(min=1, help="Token budget for all hits.")] = None,
    min_score: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Only hits with this score or more; 0 shows everything."),
    ] = None,
    deep: Deep = False,
    why: Annotated[bool, typer.Option("--why", help="Show the reasons for each score.")] = False,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="|".join(FORMATS),
            help="For an agent: a line each, a block to paste, or JSON. --tokens is its budget.",
            autocompletion=lambda: list(FORMATS),
        ),
    ] = None,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Find the memories that help answer a question or do a task, best first. With --format, print
    only what is relevant, ready for a prompt.

    Example: holdfast recall "how do I take my coffee?" -n 3
    """
    # The same function as the fast path, so that both give the same answer.
    fast_recall.recall(
        question,
        limit=limit,
        kind=kind,
        category=category,
        tag=tag,
        since=since,
        until=until,
        as_of=as_of,
        tokens=tokens,
        min_score=min_score,
        deep=deep,
        why=why,
        format=format_,
        store=store,
        scope=scope,
        json=as_json,
    )


@app.command("list", rich_help_panel=READING)
def list_(
    kind: Kinds = None,
    category: Categories = None,
    tag: Tags = None,
    status: Annotated[
        list[str] | None, typer.Option(help="active, archived, superseded… (repeatable).")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Maximum number of results.")
    ] = 20,
    after: Annotated[int | None, typer.Option(help="Continue after this number.")] = None,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """List memories, newest first. Filters narrow the list by kind, category, tag and status.

    Example: holdfast list --kind fact --tag coffee
    """
    with open_memory(store, scope, make=False) as hf:
        found = hf.list(
            kinds=kind or (),
            categories=category or (),
            tags=tag or (),
            statuses=status or ("active",),
            limit=limit,
            after=after,
        )
        shown = states(hf.store, found)
        if as_json:
            known = {id_: {"state": state} for id_, state in shown.items()}
            output.emit([output.memory_json(one, **known.get(one.id, {})) for one in found])
        else:
            output.memories(found, shown)
        if not found and not as_json:
            tell_why(hf)


@app.command("show", rich_help_panel=READING)
def show_(
    id_: Id,
    forecast: Annotated[
        bool,
        typer.Option("--forecast", help="Draw how its confidence falls if nobody uses it."),
    ] = False,
    days: Annotated[
        int, typer.Option("--days", min=1, help="How far --forecast looks ahead.")
    ] = DAYS,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Show one memory in full, with its links. With --forecast, draw its confidence in the days to
    come instead.

    Example: holdfast show 3 --forecast --days 30
    """
    with open_memory(store, scope, make=False) as hf:
        memory = hf.get(id_)
        if forecast:
            show_forecast(hf, memory, days=days, as_json=as_json)
            return
        links = hf.admin.links(id_)
        if as_json:
            output.emit(
                output.memory_json(memory, links=[output.edge_json(edge) for edge in links])
            )
            return
        print(plain(memory.content))
        print()
        output.fields(_details(memory))
        output.fields((edge.relation, f"{edge.source} → {edge.target}") for edge in links)


def _details(memory: Memory) -> list[tuple[str, object]]:
    status = f"{memory.status} ({memory.status_reason})" if memory.status_reason else memory.status
    return [
        ("id", f"{memory.id} (#{memory.seq})"),
        ("scope", memory.scope),
        ("kind", f"{memory.kind} ({memory.layer})"),
        ("category", memory.category),
        ("title", memory.title),
        ("status", status),
        ("when", when(memory.event_time)),
        ("stored", when(memory.created_at)),
        ("author", memory.author or memory.role),
        ("session", memory.session),
        ("valid", f"{when(memory.valid_from)} – {when(memory.valid_until)}".strip(" –")),
        ("confidence", f"{memory.confidence:.2f}{', protected' if memory.protected else ''}"),
        ("used", counted(memory.access_count, "time") if memory.access_count else ""),
        ("source", memory.source),
        ("read in", read_in(memory)),
        ("quote", memory.quote),
        ("tags", ", ".join(memory.tags)),
        (
            "metadata",
            json.dumps(dict(memory.metadata), ensure_ascii=False) if memory.metadata else "",
        ),
    ]


@app.command(rich_help_panel=READING)
def history(
    id_: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            help="Id or number of a memory. Default: the journal of all.",
            autocompletion=complete_ids,
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Maximum number of journal entries.")
    ] = 50,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Show the changes of one memory, oldest first. Without an id, show the journal: who changed
    what, newest first.

    Example: holdfast history 3
    """
    with open_memory(store, scope, make=False) as hf:
        events = hf.admin.log(limit=limit) if id_ is None else hf.history(id_)
        if as_json:
            output.emit([output.event_json(event) for event in events])
            return
        if id_ is None:
            journal = [(when(e.at), e.run, e.actor, e.verb, e.noun, _target(e)) for e in events]
            columns = ("when", "run", "by", "verb", "what", "text")
            output.table(columns, journal, empty="Nothing has happened yet.")
            return
        rows = [(when(e.at), e.verb, e.actor, e.run, _changes(e.before, e.after)) for e in events]
        output.table(("when", "verb", "by", "run", "text"), rows, empty="No history.")


def _changes(before: object, after: object) -> str:
    if not isinstance(before, dict):
        return "added"
    if not isinstance(after, dict):
        return "removed"
    # Times that only accompany another change.
    skipped = ("updated_at", "status_at")
    return "; ".join(
        f"{name}: {before[name]} → {after[name]}" for name in after if name not in skipped
    )


def _target(event: Event) -> str:
    """Return the subject of a journal entry: a memory's id, or the plain key of another row."""
    # Imported here because it loads the database.
    from ...storage.schema import key_of

    return " ".join(map(str, key_of(event.noun, event.target)))


@app.command(rich_help_panel=READING)
def context(
    prompt: Annotated[
        str | None, typer.Argument(metavar="PROMPT", help="What the model will be asked.")
    ] = None,
    session: Annotated[str | None, typer.Option(help="Id of the session it belongs to.")] = None,
    tokens: Annotated[int | None, typer.Option(min=1, help="Token budget for both blocks.")] = None,
    kind: Kinds = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="Maximum number of memories for the prompt.")
    ] = 30,
    deep: Deep = False,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Print the text to put before a model. It has a stable block, which prompt caches keep, and a
    block for this prompt.

    Example: holdfast context "plan my week" --tokens 800
    """
    with open_memory(store, scope, make=False) as hf:
        asked = text_or_stdin(prompt, what="prompt")
        found = hf.context(
            asked, session=session, tokens=tokens, kinds=kind or (), limit=limit, deep=deep
        )
        if as_json:
            output.emit({"stable": found.stable, "turn": found.turn, "ids": list(found.ids)})
        else:
            print(join_blocks(found.stable, found.turn))


@app.command(rich_help_panel=READING)
def stats(
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Show how many memories there are, which models embed them, how often the language model was
    asked today, and problems. On a terminal, draw kinds, growth and how far memories have faded.

    Example: holdfast stats --json
    """
    with open_memory(store, scope, make=False, quiet=True) as hf:
        found = hf.stats()
        if as_json:
            output.emit(found)
            return
        output.fields(
            [
                ("store", found["store"]),
                ("scopes", ", ".join(found["scopes"])),
                *(
                    (kind, ", ".join(f"{n} {s}" for s, n in counts.items()))
                    for kind, counts in found["memories"].items()
                ),
                ("sessions", found["sessions"]),
                *(
                    ("vectors", f"{count} of {found['active']} by {model}")
                    for model, count in found["vectors"].items()
                ),
                ("model", output.spending(found["spend"])),
                *(("problem", f"{model}: {error}") for model, error in found["problems"].items()),
            ]
        )
        if proposed := sum(counts.get("proposed", 0) for counts in found["memories"].values()):
            print(output.waiting(proposed))
        if sys.stdout.isatty():
            from ..plots import show_plots

            show_plots(hf, found["memories"])
