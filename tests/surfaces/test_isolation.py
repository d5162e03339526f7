"""No owner can read, count, change or infer what is another's: by no verb, no route and no tool.

Verbs, routes and tools are enumerated from the code. One without a recipe here fails the test, so a
new one cannot be forgotten.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from apart import BOB, World, give_ann_a_memory, give_bob_a_memory, same_everywhere

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.models.embeddings.tiers import Tiers
from holdfast.models.fake import FakeEmbedder
from holdfast.records.roots import RecordRoot
from holdfast.server.api_keys import KeyFile
from holdfast.storage import open_store
from holdfast.types import STATUSES, Scope
from live_server import serving
from verbs import every_verb

TREASURE = "where is the treasure?"
BEES = "Keeps bees on the roof"  # Ann has exactly this


@pytest.fixture(params=["sqlite", "postgres"])
def worlds(request, tmp_path, clock):
    """Ann has a memory and Bob knows its ids; Ann has one and he does not; Ann was never heard
    of.
    """
    with ExitStack() as stack:

        def world(number):
            place = tmp_path / f"{number}.db"
            if request.param == "postgres":
                server, name = (
                    request.getfixturevalue("postgres_server"),
                    f"apart_{tmp_path.name[-20:]}_{number}".lower(),
                )
                server.create_database(name)
                stack.callback(server.drop_database, name)
                place = server.url(name)
            settings, tiers = (
                Settings(embedding_models="none"),
                Tiers.of(FakeEmbedder(), clock=clock),
            )
            store = open_store(str(place), clock=clock)
            keeper = Holdfast(
                store, [Scope("user", "keeper")], settings=settings, tiers=tiers, clock=clock
            )
            return stack.enter_context(keeper)

        known, unknown, alone = (world(number) for number in range(3))
        target = give_ann_a_memory(known)
        give_ann_a_memory(unknown)
        for hf in (known, unknown, alone):
            give_bob_a_memory(hf)
        yield [
            World(known, target),
            World(unknown, target.decoy()),
            World(alone, target.decoy()),
        ]


# Verbs


def _opened(bob, t):
    with Holdfast.open(
        bob.store.location, scope=BOB, settings=bob.settings, clock=bob.clock, background=False
    ) as again:
        return again.get(t.memory)


VERBS = {
    # reading
    "get": lambda bob, t: bob.get(t.memory),
    "list": lambda bob, t: [
        bob.list(statuses=STATUSES),
        bob.list(categories=["treasure"]),
        bob.list(tags=["gold"]),
    ],
    "recall": lambda bob, t: [
        bob.recall(TREASURE),
        bob.recall(BEES),
        bob.recall(t.name),
        _which(bob.recall(t.memory)),
    ],
    "explain": lambda bob, t: [
        _tried(bob.explain, t.memory),
        _tried(bob.explain, t.memory, TREASURE),
    ],
    "context": lambda bob, t: [bob.context(TREASURE), bob.context(TREASURE, session=t.session)],
    "sessions.working_memory": lambda bob, t: [
        bob.sessions.working_memory(TREASURE),
        bob.sessions.working_memory(TREASURE, session=t.session),
    ],
    "entities.list": lambda bob, t: bob.entities.list(),
    "entities.duplicates": lambda bob, t: bob.entities.duplicates(),
    "entities.get": lambda bob, t: [
        _tried(bob.entities.get, t.name),
        _tried(bob.entities.get, t.entity),
    ],
    "history": lambda bob, t: bob.history(t.memory),
    "admin.links": lambda bob, t: bob.admin.links(t.memory),
    "admin.log": lambda bob, t: bob.admin.log(limit=None),
    "sessions.list": lambda bob, t: bob.sessions.list(),
    "sessions.messages": lambda bob, t: bob.sessions.messages(t.session),
    "stats": lambda bob, t: bob.stats(),
    "sessions.profile": lambda bob, t: bob.sessions.profile(),
    "reviews.list": lambda bob, t: bob.reviews.list(),
    "reviews.preview": lambda bob, t: bob.reviews.preview(t.proposal),
    "admin.plan_purge": lambda bob, t: [
        _tried(bob.admin.plan_purge, t.memory),
        _tried(bob.admin.plan_purge, session=t.session),
    ],
    "admin.export": lambda bob, t: _lines(bob.admin.export(vectors=True)),
    "scoped": lambda bob, t: bob.scoped(BOB).get(t.memory),
    "open": _opened,
    # writing
    "remember": lambda bob, t: bob.remember(BEES),
    "remember_many": lambda bob, t: bob.remember_many([BEES, "Has a canoe"]),
    "capture": lambda bob, t: bob.capture(t.session, "user", "Is anybody there?"),
    "capture_many": lambda bob, t: bob.capture_many(
        [{"session": t.session, "role": "assistant", "text": "No."}]
    ),
    "sessions.append": lambda bob, t: bob.sessions.append(t.session, [{"n": 1}]),
    "correct": lambda bob, t: bob.correct(t.memory, "It lies elsewhere"),
    "confirm": lambda bob, t: bob.confirm(t.memory),
    "archive": lambda bob, t: bob.archive(t.memory),
    "restore": lambda bob, t: bob.restore(t.memory),
    "forget": lambda bob, t: bob.forget(t.memory),
    "reviews.propose": lambda bob, t: bob.reviews.propose(BEES + "s"),
    "reviews.approve": lambda bob, t: bob.reviews.approve(t.proposal),
    "reviews.reject": lambda bob, t: bob.reviews.reject(t.proposal),
    "reviews.expire": lambda bob, t: bob.reviews.expire(0),
    "entities.merge": lambda bob, t: [
        _tried(bob.entities.merge, "max", t.entity),
        _tried(bob.entities.merge, "max", t.name),
    ],
    "entities.split": lambda bob, t: bob.entities.split(t.entity, t.name),
    "entities.rename": lambda bob, t: bob.entities.rename(t.entity, "Bob's own"),
    "sessions.set_profile": lambda bob, t: bob.sessions.set_profile(enabled=True),
    "undo": lambda bob, t: bob.undo(t.run),
    "admin.write": lambda bob, t: bob.admin.write(
        "look", lambda tx: tx.memory(bob.scopes[0], t.memory)
    ),
    "sessions.extract": lambda bob, t: [
        _tried(bob.sessions.extract, "bobs-session"),
        _tried(bob.sessions.extract, t.session + "-2"),
    ],
    "sessions.end": lambda bob, t: bob.sessions.end(t.session),
    "sessions.end_idle": lambda bob, t: bob.sessions.end_idle(minutes=0),
    "sessions.learn": lambda bob, t: [_tried(bob.sessions.learn, t.session), bob.sessions.learn()],
    "admin.consolidate": lambda bob, t: bob.admin.consolidate(_repeated),
    "admin.maintain": lambda bob, t: bob.admin.maintain(),
    "admin.decay": lambda bob, t: bob.admin.decay(),
    "admin.reflect": lambda bob, t: bob.admin.reflect(_repeated),
    "admin.evict": lambda bob, t: bob.admin.evict(kinds=["fact", "episode", "rule"], keep=1),
    "admin.import_": lambda bob, t: bob.admin.import_(list(bob.admin.export()), into=BOB),
    "admin.sync": lambda bob, t: _synced(bob),
    "projects.view": lambda bob, t: _tried(bob.projects.view),
    "projects.build": lambda bob, t: _tried(bob.projects.build),
    "projects.clear": lambda bob, t: _tried(bob.projects.clear),
    "projects.import_sessions": lambda bob, t: bob.projects.import_sessions(__file__),
    "projects.index": lambda bob, t: [
        _tried(bob.projects.index),
        _tried(bob.projects.index, [__file__]),
    ],
    "records.extract": lambda bob, t: [
        _tried(bob.records.extract, plan=True),
        _tried(bob.records.extract, t.session),
        _tried(bob.records.extract),
    ],
    # records: Bob has a project of his own
    "records.list": lambda bob, t: _in_a_project(
        bob, lambda his: [his.records.list(), his.records.list(archived=True)]
    ),
    "records.add": lambda bob, t: _in_a_project(
        bob, lambda his: his.records.add(BEES, category="decisions").content
    ),
    "records.update": lambda bob, t: _in_a_project(
        bob, lambda his: his.records.update(t.memory, body="Elsewhere")
    ),
    "records.reclassify": lambda bob, t: _in_a_project(
        bob, lambda his: his.records.reclassify(t.memory, "incidents")
    ),
    "records.move": lambda bob, t: _in_a_project(
        bob, lambda his: his.records.move(t.memory, "project")
    ),
    "records.delete": lambda bob, t: _in_a_project(bob, lambda his: his.records.delete(t.memory)),
    "records.clear": lambda bob, t: _in_a_project(bob, lambda his: his.records.clear("project")),
    "records.sync_files": lambda bob, t: _in_a_project(bob, lambda his: _stolen(his, t)),
    # records as others meet them
    "records.brief": lambda bob, t: [
        _briefed(bob, format) for format in ("snippets", "prompt", "json")
    ],
    "records.verify": lambda bob, t: bob.records.verify(bob.list()),
    "admin.warnings": lambda bob, t: bob.admin.warnings(),
    "admin.embedding_problems": lambda bob, t: bob.admin.embedding_problems(),
    "records.reanchor": lambda bob, t: bob.records.reanchor(t.memory),
    "records.publish": lambda bob, t: bob.records.publish("AGENTS.md", plan=True),
    "records.withdraw": lambda bob, t: bob.records.withdraw("AGENTS.md", plan=True),
    "admin.reembed": lambda bob, t: bob.admin.reembed(fresh=True),
    "admin.check": lambda bob, t: [bob.admin.check(), bob.admin.check(repair=True)],
    "admin.purge": lambda bob, t: [
        _tried(bob.admin.purge, t.memory),
        _tried(bob.admin.purge, session=t.session),
        _tried(bob.admin.purge, owner=True),
    ],
    "sessions.purge": lambda bob, t: bob.sessions.purge(t.session),
    "admin.finish_purge": lambda bob, t: [place.name for place in bob.admin.finish_purge()],
}
NOT_A_MATTER_OF_OWNERS = {
    "close": "closes the store for everybody, and is the business of who opened it"
}


def test_every_verb_has_a_recipe():
    verbs = every_verb()
    assert verbs - set(VERBS) - set(NOT_A_MATTER_OF_OWNERS) == set(), (
        "a new verb: how could it cross owners?"
    )
    assert set(VERBS) - verbs == set()


def test_no_verb_reaches_another_owner(worlds):
    bobs = [world.hf.scoped(BOB) for world in worlds]
    for name, recipe in VERBS.items():
        same_everywhere(name, recipe, worlds, bobs)


def _which(hits):
    """Which memories were found: a question that is itself an id is near to other words in every
    world.
    """
    return sorted(hit.memory.content for hit in hits)


def _tried(verb, *args, **options):
    """What a verb says, a refusal too, so that one recipe can try several things."""
    from apart import told

    return told(lambda: verb(*args, **options))


def _repeated(prompt):
    """A model that says again all that it was told: whatever reached it would show."""
    return prompt[-2000:]


def _in_a_project(bob, work):
    """What a verb says in a project that belongs to Bob, a refusal too."""
    with TemporaryDirectory() as folder:
        place = RecordRoot(Path(folder) / ".holdfast", Scope.parse(BOB), "project")
        return _tried(
            work, Holdfast(bob.store, [BOB], settings=bob.settings, clock=bob.clock, places=[place])
        )


def _stolen(his, t):
    """Bob writes a file that says the id of somebody else's memory."""
    file = his.records.places[0].records / "decisions" / "a.md"
    file.parent.mkdir(parents=True)
    file.write_text(f"---\nid: {t.memory}\n---\nMine now.")
    his.records.sync_files()
    return [his.get(t.memory).content, his.records.delete(t.memory)[0].content]


def _briefed(bob, format):
    """What a brief tells, but for the hashes of it, which differ with the ids of his own
    memories.
    """
    return [
        line
        for line in bob.records.brief(bob.recall(TREASURE), format).split("\n")
        if "sha=" not in line
    ]


def _lines(export):
    import json

    return [json.loads(line) for line in export]


def _synced(bob):
    """What goes into another store when Bob syncs, and whose it is there."""
    with TemporaryDirectory() as folder:
        done = bob.admin.sync(Path(folder) / "copy.db")
        with Holdfast.open(
            Path(folder) / "copy.db", scope=BOB, settings=bob.settings, background=False
        ) as copy:
            return [done.sent, done.received, done.conflicts, copy.store.scopes()]


# Routes

BODY = {"session": "s", "role": "user", "text": "hello"}
ROUTES = {
    "GET /status": lambda bob, t: bob.get("/status"),
    "GET /totals": lambda bob, t: bob.get("/totals"),
    "GET /facts": lambda bob, t: bob.get("/facts"),
    "GET /sessions": lambda bob, t: bob.get("/sessions"),
    "GET /rules": lambda bob, t: bob.get("/rules"),
    "GET /memories": lambda bob, t: [
        bob.get("/memories", params={"status": list(STATUSES)}),
        bob.get("/memories", params={"q": TREASURE}),
        bob.get("/memories", params={"session": t.session}),
        bob.get("/memories", params={"category": "treasure"}),
        bob.get("/memories", params={"after": t.memory}),
    ],
    "GET /memories/{id}": lambda bob, t: [
        bob.get(f"/memories/{id_}") for id_ in (t.memory, t.turn, t.proposal, "1")
    ],
    "GET /memories/{id}/why": lambda bob, t: bob.get(f"/memories/{t.memory}/why"),
    "GET /memories/{id}/forecast": lambda bob, t: bob.get(f"/memories/{t.memory}/forecast"),
    "GET /entities": lambda bob, t: bob.get("/entities"),
    "GET /entities/{name}": lambda bob, t: [
        bob.get(f"/entities/{name}") for name in (t.entity, t.name)
    ],
    "PATCH /entities/{id}": lambda bob, t: [
        bob.patch(f"/entities/{name}", json={"name": "Mine"}) for name in (t.entity, t.name)
    ],
    "POST /entities/{id}/merge": lambda bob, t: [
        bob.post(f"/entities/{name}/merge", json={"others": [t.name]})
        for name in (t.entity, t.name)
    ],
    "POST /entities/{id}/split": lambda bob, t: [
        bob.post(f"/entities/{name}/split", json={"names": [t.name]}) for name in (t.entity, t.name)
    ],
    "GET /graph": lambda bob, t: [
        bob.get("/graph"),
        bob.get("/graph", params={"entity": t.entity}),
    ],
    "GET /duplicates": lambda bob, t: bob.get("/duplicates"),
    "GET /overview": lambda bob, t: bob.get("/overview"),
    "GET /timeline": lambda bob, t: [
        bob.get("/timeline"),
        bob.get("/timeline", params={"before": t.memory}),
        bob.get("/timeline", params={"entity": t.entity}),
    ],
    "GET /timeline/days": lambda bob, t: [
        bob.get("/timeline/days"),
        bob.get("/timeline/days", params={"entity": t.entity}),
    ],
    "GET /changes": lambda bob, t: bob.get("/changes"),
    "GET /health": lambda bob, t: bob.get("/health"),
    "GET /admin": lambda bob, t: bob.get("/admin"),
    "GET /review": lambda bob, t: bob.get("/review"),
    "GET /export": lambda bob, t: bob.get("/export"),
    "POST /recall": lambda bob, t: [
        bob.post("/recall", json={"question": question, "exclude_session": t.session})
        for question in (TREASURE, BEES)
    ],
    "POST /context": lambda bob, t: bob.post(
        "/context", json={"prompt": TREASURE, "session": t.session}
    ),
    "POST /memories": lambda bob, t: bob.post("/memories", json={"content": BEES}),
    "POST /capture": lambda bob, t: bob.post("/capture", json={**BODY, "session": t.session}),
    "POST /sessions/{session}/end": lambda bob, t: bob.post(f"/sessions/{t.session}/end"),
    "POST /memories/{id}/confirm": lambda bob, t: bob.post(f"/memories/{t.memory}/confirm"),
    "POST /memories/{id}/archive": lambda bob, t: bob.post(f"/memories/{t.memory}/archive"),
    "POST /memories/{id}/restore": lambda bob, t: bob.post(f"/memories/{t.memory}/restore"),
    "PATCH /memories/{id}": lambda bob, t: bob.patch(
        f"/memories/{t.memory}", json={"content": "It lies elsewhere"}
    ),
    "DELETE /memories/{id}": lambda bob, t: bob.delete(f"/memories/{t.memory}"),
    "DELETE /facts/{ref}": lambda bob, t: [
        bob.delete(f"/facts/{ref}") for ref in (t.memory, "3", "99")
    ],
    "DELETE /sessions/{ref}": lambda bob, t: [
        bob.delete(f"/sessions/{ref}") for ref in (t.episode, t.session, "1")
    ],
    "DELETE /rules/{ref}": lambda bob, t: [bob.delete(f"/rules/{ref}") for ref in (t.rule, "2")],
    "POST /review/{id}/approve": lambda bob, t: bob.post(f"/review/{t.proposal}/approve"),
    "POST /review/{id}/reject": lambda bob, t: bob.post(f"/review/{t.proposal}/reject"),
    "PATCH /recall": lambda bob, t: bob.patch("/recall", json={"enabled": True}),
    "GET /mem0/memories": lambda bob, t: [
        bob.get("/mem0/memories"),
        bob.get("/mem0/memories", params={"run_id": t.session}),
    ],
    "GET /mem0/memories/{id}": lambda bob, t: [
        bob.get(f"/mem0/memories/{id_}") for id_ in (t.memory, t.turn, t.rule)
    ],
    "GET /mem0/memories/{id}/history": lambda bob, t: bob.get(f"/mem0/memories/{t.memory}/history"),
    "GET /mem0/entities": lambda bob, t: bob.get("/mem0/entities"),
    "POST /mem0/memories": lambda bob, t: [
        bob.post(
            "/mem0/memories",
            json={"messages": [{"role": "user", "content": BEES}], "infer": False, **more},
        )
        for more in ({"agent_id": "x"}, {"user_id": "ann"})
    ],
    "POST /mem0/search": lambda bob, t: [
        bob.post("/mem0/search", json={"query": TREASURE, **more})
        for more in (
            {},
            {"user_id": "ann"},
            {"filters": {"user_id": "ann"}},
            {"filters": {"user_id": "*"}},
        )
    ],
    "PUT /mem0/memories/{id}": lambda bob, t: bob.put(
        f"/mem0/memories/{t.memory}", json={"text": "It lies elsewhere"}
    ),
    "DELETE /mem0/memories/{id}": lambda bob, t: bob.delete(f"/mem0/memories/{t.memory}"),
    "DELETE /mem0/memories": lambda bob, t: bob.delete(
        "/mem0/memories", params={"run_id": t.session}
    ),
    "POST /mem0/reset": lambda bob, t: bob.post("/mem0/reset"),
    "GET /v1/ping/": lambda bob, t: bob.get(_url(bob, "/v1/ping/")),
    "POST /v3/memories/add/": lambda bob, t: [
        bob.post(
            _url(bob, "/v3/memories/add/"),
            json={"messages": [{"role": "user", "content": BEES}], "infer": False, **more},
        )
        for more in ({"agent_id": "x"}, {"user_id": "ann"}, {"filters": {"user_id": "ann"}})
    ],
    "POST /v3/memories/": lambda bob, t: [
        bob.post(_url(bob, "/v3/memories/"), json={"filters": filters})
        for filters in ({}, {"user_id": "ann"}, {"user_id": "*"}, {"memory_ids": [t.memory]})
    ],
    "POST /v3/memories/search/": lambda bob, t: [
        bob.post(_url(bob, "/v3/memories/search/"), json={"query": TREASURE, **more})
        for more in (
            {},
            {"user_id": "ann"},
            {"filters": {"user_id": "ann"}},
            {"filters": {"OR": [{"user_id": "*"}, {"run_id": t.session}]}},
        )
    ],
    "GET /v1/memories/{id}/": lambda bob, t: [
        bob.get(_url(bob, f"/v1/memories/{id_}/")) for id_ in (t.memory, t.turn, t.rule)
    ],
    "GET /v1/memories/{id}/history/": lambda bob, t: bob.get(
        _url(bob, f"/v1/memories/{t.memory}/history/")
    ),
    "PUT /v1/memories/{id}/": lambda bob, t: bob.put(
        _url(bob, f"/v1/memories/{t.memory}/"), json={"text": "It lies elsewhere"}
    ),
    "DELETE /v1/memories/{id}/": lambda bob, t: bob.delete(_url(bob, f"/v1/memories/{t.memory}/")),
    "DELETE /v1/memories/": lambda bob, t: [
        bob.delete(_url(bob, "/v1/memories/"), params=params)
        for params in ({}, {"run_id": t.session}, {"filters": "{'user_id': 'ann'}"})
    ],
    "GET /v1/entities/": lambda bob, t: bob.get(_url(bob, "/v1/entities/")),
    "DELETE /v2/entities/{type}/{name}/": lambda bob, t: [
        bob.delete(_url(bob, f"/v2/entities/{one}/"))
        for one in ("user/ann", f"run/{t.session}", "agent/x")
    ],
    "PUT /v1/batch/": lambda bob, t: bob.put(
        _url(bob, "/v1/batch/"),
        json={"memories": [{"memory_id": id_, "text": "Elsewhere"} for id_ in (t.memory, t.rule)]},
    ),
    "DELETE /v1/batch/": lambda bob, t: bob.request(
        "DELETE", _url(bob, "/v1/batch/"), json={"memories": [{"memory_id": t.memory}]}
    ),
    "POST /v1/feedback/": lambda bob, t: bob.post(
        _url(bob, "/v1/feedback/"), json={"memory_id": t.memory, "feedback": "NEGATIVE"}
    ),
    "POST /undo": lambda bob, t: [bob.post("/undo", json={"run": t.run}), bob.post("/undo")],
}


def _url(client, path):
    """A path of mem0's hosted API lies at the root of the server, the others below a prefix."""
    return (
        str(client.base_url.copy_with(path=path))
        if path.startswith(("/v1/", "/v2/", "/v3/"))
        else path
    )


@pytest.fixture
def served(worlds, tmp_path):
    """A server for each world, with keys for Ann and Bob; Bob's client and key of each."""
    with ExitStack() as stack:
        clients = []
        for number, world in enumerate(worlds):
            keys = KeyFile(tmp_path / f"{number}.jsonl")
            keys.add("ann", at=0)
            bob = keys.add("bob", at=0)
            clients.append(stack.enter_context(serving(world.hf, keys.path)).client(bob))
        yield clients


def test_every_route_has_a_recipe(hf, tmp_path):
    assert _routes(hf, tmp_path) == set(ROUTES), "a new route: how could it cross owners?"


def test_no_route_reaches_another_owner(worlds, served):
    for name, recipe in ROUTES.items():
        same_everywhere(
            name, lambda bob, t, recipe=recipe: _answers(recipe(bob, t)), worlds, served
        )


def test_no_route_lets_a_key_name_another_owner(worlds, served):
    """Neither one that is there nor one that is not, and both are refused in the same words."""
    for route in ROUTES:
        method, path = route.split(" ")
        path = (
            path.replace("{id}", worlds[0].target.memory)
            .replace("{ref}", "1")
            .replace("{name}", "zoe")
        )
        answers = [
            served[0].request(
                method,
                _url(served[0], path.replace("{session}", "anns-session")),
                params={"user_id": name},
            )
            for name in ("ann", "nobody")
        ]
        assert [answer.status_code for answer in answers] == [403, 403], route
        assert _answers(answers)[0] == _answers(answers)[1], route
    assert worlds[0].anns() == worlds[0].before


def _routes(hf, folder):
    with serving(hf, folder / "keys.jsonl") as live:
        schema = live.app.openapi()
    return {
        f"{method.upper()} {path.removeprefix('/api/memory')}"
        for path, methods in schema["paths"].items()
        for method in methods
    }


def _answers(found):
    """What a client gets to know: the status and the body, but for the names of requests."""
    import json

    answers = found if isinstance(found, list) else [found]
    shown = []
    for answer in answers:
        kind = answer.headers.get("Content-Type", "")
        body = _lines(answer.text.splitlines()) if "ndjson" in kind else json.loads(answer.text)
        if isinstance(body, dict):
            body.pop("request_id", None)
        shown.append([answer.status_code, body])
    return shown


# Tools of agents

TOOLS = {
    "search_memory": lambda tools, t: [tools.search_memory(TREASURE), tools.search_memory(t.name)],
    "remember_fact": lambda tools, t: tools.remember_fact(BEES),
    "correct_fact": lambda tools, t: tools.correct_fact(t.memory, "It lies elsewhere"),
    "confirm_fact": lambda tools, t: tools.confirm_fact(t.memory),
    "memory_stats": lambda tools, t: tools.memory_stats(),
    "get_entity_info": lambda tools, t: [
        tools.get_entity_info(t.name),
        tools.get_entity_info(t.entity),
    ],
    "get_episodes_for_consolidation": lambda tools, t: tools.get_episodes_for_consolidation(
        t.session
    ),
    "save_facts_batch": lambda tools, t: tools.save_facts_batch(
        t.session, [{"content": "Has a canoe", "source_ids": [t.turn]}, {"content": BEES}]
    ),
    "mark_session_consolidated": lambda tools, t: tools.mark_session_consolidated(t.session),
    "is_session_consolidated": lambda tools, t: tools.is_session_consolidated(t.session),
    "detect_conflicts": lambda tools, t: tools.detect_conflicts(t.memory),
    "resolve_conflict": lambda tools, t: tools.resolve_conflict(t.memory, t.rule, "because"),
}
ROLE_TOOLS = {
    "recall": lambda tools, t: [tools.recall(TREASURE), tools.recall(t.name)],
    "list_memories": lambda tools, t: [
        tools.list_memories(),
        tools.list_memories(category="treasure"),
    ],
    "remember": lambda tools, t: _without_number(tools.remember(BEES)),
    "learn_procedure": lambda tools, t: _without_number(tools.learn_procedure("Dig deep")),
    "record_episode": lambda tools, t: _without_number(tools.record_episode("Dug in vain")),
}


MCP_TOOLS = {
    "memory_recall": lambda call, t: [
        call(question=question) for question in (TREASURE, BEES, t.name)
    ],
    "memory_remember": lambda call, t: [call(content=BEES), call(content=BEES, scope="user:ann")],
    "memory_correct": lambda call, t: [
        call(id=id_, content="Elsewhere") for id_ in (t.memory, t.proposal)
    ],
    "memory_confirm": lambda call, t: [call(id=id_) for id_ in (t.memory, t.proposal)],
    "memory_forget": lambda call, t: [
        call(ids=[t.memory]),
        call(ids=[t.proposal]),
        call(undo=t.run),
    ],
    "memory_list": lambda call, t: [
        call(statuses=list(STATUSES)),
        call(tags=["gold"]),
        call(after=t.memory),
    ],
    "memory_get": lambda call, t: [call(id=id_) for id_ in (t.memory, t.turn, t.proposal)],
    "memory_entity": lambda call, t: [call(), call(name=t.name), call(name=t.entity)],
    "memory_why": lambda call, t: [call(id=t.memory), call(id=t.memory, question=TREASURE)],
    "memory_status": lambda call, t: call(),
}


def test_no_mcp_tool_or_resource_reaches_another_owner(worlds):
    from holdfast.server.mcp.dispatch import Methods, Rejected
    from holdfast.server.mcp.tools import TOOLS as OFFERED

    assert [tool.name for tool in OFFERED] == list(MCP_TOOLS), (
        "a new tool: how could it cross owners?"
    )

    def asked(world, method, **params):
        try:
            answer = Methods(lambda: world.hf).answer(
                method, params, client="bob's", hf=world.hf.scoped(BOB)
            )
        except Rejected as refused:
            return str(refused)
        for one in answer.get("content", ()):  # what a fence is called follows from the ids in it
            one["text"] = re.sub(r'(id|sha)="\w{12}"', "", one["text"])
        return answer

    def caller(world, name):
        return lambda **arguments: asked(world, "tools/call", name=name, arguments=arguments)

    for name, recipe in MCP_TOOLS.items():
        same_everywhere(name, recipe, worlds, [caller(world, name) for world in worlds])
    for uri in ("memory://user%3Aann/fact/{}", "memory://user%3Abob/fact/{}", "memory://root/{}"):
        read = lambda world, t, uri=uri: asked(world, "resources/read", uri=uri.format(t.memory))  # noqa: E731
        same_everywhere(uri, read, worlds, worlds)


def test_every_tool_has_a_recipe(worlds):
    from holdfast.agents.memory_tools import MemoryTools
    from holdfast.integrations import agent_tools

    hf = worlds[0].hf
    assert {
        tool.__name__ for tool in (*agent_tools.talking(hf), *agent_tools.consolidating(hf))
    } == set(TOOLS)
    assert {name for name in vars(MemoryTools) if not name.startswith("_")} == set(ROLE_TOOLS)


def test_no_tool_of_an_agent_reaches_another_owner(worlds):
    from types import SimpleNamespace

    from holdfast.integrations import agent_tools

    views = [world.hf.scoped(BOB) for world in worlds]
    for view in views:
        view.actor = "agent:assistant"
    tools = [
        SimpleNamespace(
            **{
                tool.__name__: tool
                for tool in (*agent_tools.talking(view), *agent_tools.consolidating(view))
            }
        )
        for view in views
    ]
    for name, recipe in TOOLS.items():
        same_everywhere(name, recipe, worlds, tools)


def test_no_tool_of_a_role_reaches_another_owner(worlds, clock, tmp_path):
    from holdfast.agents.memory_tools import MemoryTools
    from holdfast.agents.role import load_role
    from holdfast.agents.role_memory import RoleMemory

    with ExitStack() as stack:
        tools = []
        for number, world in enumerate(worlds):
            file = tmp_path / f"role{number}.yaml"
            file.write_text(ROLE.format(place=world.hf.store.location))
            memory = RoleMemory(load_role(file), clock=clock)
            stack.callback(memory.close)
            tools.append(MemoryTools(memory))
        for name, recipe in ROLE_TOOLS.items():
            same_everywhere(name, recipe, worlds, tools)


ROLE = f"""\
apiVersion: initrunner/v1
kind: Agent
metadata: {{{{name: assistant}}}}
spec:
  role: You are a helpful assistant.
  model: {{{{provider: offline}}}}
  memory: {{{{store_path: "{{place}}", scope: "{BOB}", embeddings: {{{{provider: none}}}}}}}}
"""


def _without_number(said):
    """The numbers that the tools of a role show are the store's own."""
    return re.sub(r"id=\d+", "id=N", said)
