"""The HTTP API over a real socket: every route, every kind of error, and who is let in."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

import httpx
import pytest

from holdfast.ingest.entity_linking import link
from holdfast.models.entities.base import NOWHERE, EntityMatch
from holdfast.server.api_keys import KeyFile
from holdfast.server.ratelimit import Buckets
from live_server import serving
from patience import PATIENCE

TEA, BREAD = "Prefers green tea to coffee", "Bakes bread on Sundays"


def remember(http, content=TEA, **more):
    answer = http.post("/memories", json={"content": content, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def mention(hf, content, *names, **fields):
    """A memory that mentions these people."""
    memory = hf.remember(content, **fields)
    found = [EntityMatch(name, "person", NOWHERE, NOWHERE, 1.0, name) for name in names]
    hf.admin.write("enrich", lambda tx: link(tx, memory, found, at=hf.clock()))


def problem(answer, status):
    """What an error says; every error has this shape."""
    told = answer.json()
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert told["status"] == status and told["title"] and told["detail"]
    assert told["request_id"] == answer.headers["X-Request-Id"]
    return told["detail"]


# Memories


def test_a_memory_is_kept_and_shown_with_all_its_fields(http):
    kept = remember(
        http,
        category="preferences",
        tags=["drink"],
        metadata={"n": 1},
        valid_until="2027-01-01T00:00:00Z",
    )
    shown = http.get(f"/memories/{kept['id']}").json()
    assert shown == {name: value for name, value in kept.items() if name != "run"}
    assert (shown["content"], shown["category"], shown["tags"], shown["layer"]) == (
        TEA,
        "preferences",
        ["drink"],
        "semantic",
    )
    assert shown["created_at"] == "2026-03-18T12:00:00+00:00"
    assert shown["valid_until"] == "2027-01-01T00:00:00+00:00"


def test_memories_are_listed_newest_first_page_by_page(http):
    ids = [remember(http, f"Fact number {n}")["id"] for n in range(3)]
    first = http.get("/memories", params={"limit": 2}).json()
    rest = http.get("/memories", params={"limit": 2, "after": first["next"]}).json()
    assert [one["id"] for one in first["items"] + rest["items"]] == ids[::-1]
    assert rest["next"] is None


def test_memories_are_narrowed_by_kind_category_status_and_session(http):
    fact, rule = remember(http, category="food"), remember(http, "Answer briefly", kind="rule")
    http.post("/capture", json={"session": "s1", "role": "user", "text": "hello there"})
    http.post(f"/memories/{fact['id']}/archive")

    def ids(**where):
        return [one["id"] for one in http.get("/memories", params=where).json()["items"]]

    assert ids(kind="rule") == [rule["id"]]
    assert ids(status="archived") == [fact["id"]]
    assert ids(status=["active", "archived"], category="food") == [fact["id"]]
    assert len(ids(session="s1")) == 1


def test_a_question_finds_memories_with_scores_and_reasons(http):
    tea, _ = remember(http), remember(http, BREAD)
    found = http.get("/memories", params={"q": "green tea"}).json()["items"]
    assert found[0]["id"] == tea["id"] and 0 < found[0]["score"] <= 1
    assert "words" in found[0]["why"]["arms"] and found[0]["why"]["summary"]
    asked = http.post("/recall", json={"question": "green tea", "limit": 1}).json()["items"]
    assert [one["id"] for one in asked] == [tea["id"]]


def test_deep_recall_reads_the_candidates_on_request(http):
    tea, _ = remember(http), remember(http, BREAD)
    asked = {"question": "what does she drink?", "deep": True}
    found = [
        http.post("/recall", json=asked).json()["items"][0],
        http.get("/memories", params={"q": asked["question"], "deep": True}).json()["items"][0],
    ]
    assert [one["id"] for one in found] == [tea["id"]] * 2
    assert all("reranker" in one["why"]["signals"] for one in found)
    block = http.post("/context", json={"prompt": asked["question"], "deep": True}).json()
    assert tea["id"] in block["ids"]


def test_a_correction_retires_the_old_words_and_undo_brings_them_back(http):
    old = remember(http)
    new = http.patch(
        f"/memories/{old['id']}", json={"content": "Prefers white tea", "reason": "misheard"}
    ).json()
    assert (new["content"], http.get(f"/memories/{old['id']}").json()["status"]) == (
        "Prefers white tea",
        "superseded",
    )
    undone = http.post("/undo", json={"run": new["run"]}).json()
    assert (undone["undone"], undone["verb"]) == (new["run"], "correct")
    assert http.get(f"/memories/{old['id']}").json()["status"] == "active"


def test_confirm_archive_restore_and_forget_each_come_with_their_way_back(http):
    id_ = remember(http)["id"]
    for verb, status in (("confirm", "active"), ("archive", "archived"), ("restore", "active")):
        answer = http.post(f"/memories/{id_}/{verb}").json()
        assert (answer["status"], answer["run"][:4]) == (status, "run_"), verb
    assert http.get(f"/memories/{id_}").json()["protected"] is True
    gone = http.delete(f"/memories/{id_}").json()
    assert gone["status"] == "archived" and http.get("/facts").json() == []
    http.post("/undo", json={"run": gone["run"]})
    assert [fact["id"] for fact in http.get("/facts").json()] == [id_]


def test_why_shows_the_turn_a_memory_rests_on_and_what_happened_to_it(hf, http):
    turn = hf.capture("s1", "user", "I moved to Lisbon.", author="Ann")
    fact = hf.remember(
        "Lives in Lisbon",
        quote="I moved to Lisbon",
        metadata={
            "policy": {
                "action": "commit_now",
                "reason": "said plainly",
                "version": "rules_v1",
                "timing": "immediate",
            }
        },
    )
    from holdfast.types import Edge

    hf.admin.write(
        "link", lambda tx: tx.link(Edge(fact.scope, fact.id, turn.id, "derived_from", 0))
    )
    http.post(f"/memories/{fact.id}/confirm")
    why = http.get(f"/memories/{fact.id}/why").json()
    assert why["decision"] == {
        "action": "commit_now",
        "reason": "said plainly",
        "version": "rules_v1",
        "timing": "immediate",
    }
    assert why["quote"] == "I moved to Lisbon"
    assert [(one["who"], one["text"], one["session"]) for one in why["sources"]] == [
        ("Ann", "I moved to Lisbon.", "s1")
    ]
    assert [(one["relation"], one["target"]) for one in why["links"]] == [("derived_from", turn.id)]
    assert [one["verb"] for one in why["history"]] == ["remember", "confirm"]
    assert why["history"][-1]["actor"] == "http:ann"


def test_a_forecast_is_a_curve_from_now_to_the_day_it_fades(hf, http):
    fading, lasting = hf.remember("Met Bob", decay_rate=0.1), hf.remember(TEA)
    curve = http.get(f"/memories/{fading.id}/forecast", params={"days": 30}).json()
    assert curve["points"][0] == [0, 1.0] and curve["points"][-1][0] == 30
    assert curve["points"][-1][1] < 0.05 and curve["fades_at"].startswith("2026-04-17")
    assert http.get(f"/memories/{lasting.id}/forecast").json()["fades_at"] is None


# An owner's memory as a whole


def test_entities_are_listed_and_told_by_name_or_id(hf, http):
    hf.remember("Wrote to @bob about https://example.org/a/b")
    listed = http.get("/entities").json()
    bob = next(one for one in listed if one["name"].endswith("bob"))
    assert (
        http.get(f"/entities/{bob['id']}")
        .json()["memories"][0]["content"]
        .startswith("Wrote to @bob")
    )
    assert http.get("/entities/bob").json()["id"] == bob["id"]
    assert [one["type"] for one in http.get("/entities", params={"type": "url"}).json()] == ["url"]
    assert http.get("/entities/https%3A%2F%2Fexample.org%2Fa%2Fb").json()["type"] == "url"


def test_entities_are_renamed_merged_split_and_given_back(hf, http):
    mention(hf, "Mel has moved", "Mel"), mention(hf, "Melanie Berg paints", "Melanie Berg")
    mel, berg = (http.get(f"/entities/{name}").json() for name in ("Mel", "Melanie Berg"))
    merged = http.post(f"/entities/{berg['id']}/merge", json={"others": [mel["id"]]}).json()
    assert (merged["mentions"], "Mel" in merged["aliases"]) == (2, True)
    apart = http.post(f"/entities/{berg['id']}/split", json={"names": ["Mel"]}).json()
    assert (apart["name"], apart["mentions"]) == ("Mel", 1)
    renamed = http.patch(f"/entities/{berg['id']}", json={"name": "Mela", "type": "other"}).json()
    assert (renamed["name"], renamed["type"]) == ("Mela", "other")
    for change in (renamed, apart, merged):
        assert http.post("/undo", json={"run": change["run"]}).status_code == 200
    assert {one["name"] for one in http.get("/entities").json()} >= {"Mel", "Melanie Berg"}
    told = [(one["verb"], one["undone"]) for one in http.get("/changes").json()][3:6]
    assert told == [("rename", True), ("split", True), ("merge", True)]
    assert http.get("/changes").json()[3]["names"] == ["Melanie Berg", "Mela"]


def test_a_wrong_correction_of_an_entity_says_what_is_wrong(hf, http):
    mention(hf, "Mel has moved", "Mel")
    mel = http.get("/entities/Mel").json()["id"]
    assert "Nobody" in problem(http.post("/entities/Nobody/merge", json={"others": [mel]}), 404)
    assert "Nobody" in problem(
        http.post(f"/entities/{mel}/merge", json={"others": ["Nobody"]}), 404
    )
    problem(http.post(f"/entities/{mel}/merge", json={"others": []}), 422)
    assert "keeps its own name" in problem(
        http.post(f"/entities/{mel}/split", json={"names": ["Mel"]}), 422
    )
    problem(http.patch(f"/entities/{mel}", json={"name": ""}), 422)


def test_a_profile_has_current_facts_of_which_the_entity_is_the_subject(hf, http):
    mention(hf, "Mel paints", "Mel", category="preference")
    mention(hf, "Mel was away yesterday", "Mel", category="event")
    mention(hf, "Mel has a sister", "Mel", category="relationship")
    mention(hf, "Zoe met Mel", "Mel", "Zoe")
    mention(hf, "Mel was a student", "Mel", valid_until=datetime(2020, 1, 1, tzinfo=UTC))
    for n in range(4):
        mention(hf, f"Mel likes colour number {n}", "Mel", category="preference")
    told = [one["content"] for one in http.get("/entities/Mel").json()["facts"]]
    assert told[-1] == "Mel was away yesterday", "events come last: the timeline has them"
    assert "Mel has a sister" in told
    assert len([text for text in told if "colour" in text or "paints" in text]) == 3
    assert not {"Zoe met Mel", "Mel was a student"} & set(told)


def test_the_graph_shows_who_is_mentioned_with_whom(hf, http):
    mention(hf, "Mel met Zoe", "Mel", "Zoe"), mention(hf, "Mel called Zoe", "Mel", "Zoe")
    mention(hf, "Tom met Zoe", "Tom", "Zoe")
    whole = http.get("/graph").json()
    names = {one["id"]: one["name"] for one in whole["entities"]}

    def links(graph):
        return {
            (frozenset((names[link["one"]], names[link["other"]])), link["memories"])
            for link in graph["links"]
        }

    assert (frozenset(("Mel", "Zoe")), 2) in links(whole)
    assert whole["complete"] and whole["waiting"] == {"count": 3, "complete": True}
    around = http.get("/graph", params={"entity": "Mel"}).json()
    assert links(around) == {(frozenset(("Mel", "Zoe")), 2)}
    problem(http.get("/graph", params={"entity": "Nobody"}), 404)


def test_what_may_be_the_same_is_suggested(hf, http):
    mention(hf, "Mel has moved", "Mel"), mention(hf, "Melanie paints", "Melanie")
    (pair,) = http.get("/duplicates").json()
    assert (pair["keep"]["name"], pair["other"]["name"]) == ("Melanie", "Mel")
    assert pair["reason"]


def test_the_timeline_goes_by_when_things_happened(http):
    remember(http, "Graduated", event_time="2019-06-01T10:00:00Z")
    remember(http, "Had lunch with Bob", kind="episode", event_time="2026-03-17T12:00:00Z")
    remember(http, "Moved to Lisbon", valid_from="2024-04-01T00:00:00Z")
    first = http.get("/timeline", params={"limit": 1}).json()
    rest = http.get("/timeline", params={"before": first["next"]}).json()
    told = [(one["at"][:10], one["memory"]["content"]) for one in first["items"] + rest["items"]]
    assert told == [
        ("2026-03-17", "Had lunch with Bob"),
        ("2024-04-01", "Moved to Lisbon"),
        ("2019-06-01", "Graduated"),
    ]
    assert first["items"][0]["what"] == "happened" and rest["items"][0]["what"] == "learned"
    learned = http.get("/timeline", params={"by": "learned"}).json()["items"]
    assert learned[0]["memory"]["content"] == "Moved to Lisbon"
    assert {one["at"][:10] for one in learned} == {"2026-03-18"}


def test_the_timeline_is_narrowed_by_time_kind_and_entity(hf, http):
    mention(hf, "Mel graduated", "Mel", event_time=datetime(2019, 6, 1, tzinfo=UTC))
    remember(http, "Lunch with Bob", kind="episode", event_time="2026-03-17T12:00:00Z")

    def told(**where):
        found = http.get("/timeline", params=where).json()["items"]
        return [one["memory"]["content"] for one in found]

    assert told(kind="episode") == ["Lunch with Bob"]
    assert told(until="2020-01-01T00:00:00Z") == ["Mel graduated"]
    assert told(since="2020-01-01T00:00:00Z") == ["Lunch with Bob"]
    assert told(entity="Mel") == ["Mel graduated"]
    problem(http.get("/timeline", params={"entity": "Nobody"}), 404)
    problem(http.get("/timeline", params={"by": "mood"}), 422)


def test_memories_are_counted_by_local_day_and_kind(http):
    remember(http, "Late dinner", event_time="2026-03-16T23:30:00Z")
    remember(http, "Lunch", kind="episode", event_time="2026-03-17T12:00:00Z")
    assert http.get("/timeline/days").json() == {
        "total": 2,
        "days": [
            {"day": "2026-03-16", "counts": {"fact": 1}},
            {"day": "2026-03-17", "counts": {"episode": 1}},
        ],
    }
    ahead = http.get("/timeline/days", params={"minutes_ahead": 60}).json()["days"]
    assert ahead == [{"day": "2026-03-17", "counts": {"episode": 1, "fact": 1}}]
    assert http.get("/timeline/days", params={"kind": "episode"}).json()["total"] == 1


def test_the_overview_says_what_is_new_what_fades_and_what_waits(hf, http, clock):
    mention(hf, "Mel met Bob", "Mel", "Bob", decay_rate=0.1)
    hf.remember("The trip", valid_until=datetime(2026, 5, 1, tzinfo=UTC))
    hf.remember("Answer briefly", kind="rule")
    clock.forward(days=8)
    hf.remember(TEA)
    told = http.get("/overview").json()
    assert told["new"] == {"fact": 1}
    assert [(one["day"], one["counts"]) for one in told["growth"]] == [
        ("2026-03-18", {"fact": 2, "rule": 1}),
        ("2026-03-26", {"fact": 1}),
    ]
    assert told["newest"][0]["content"] == TEA
    assert [(one["how"], one["at"][:10]) for one in told["fading"]] == [
        ("fades", "2026-04-17"),
        ("ends", "2026-05-01"),
    ]
    assert told["review"] == 0
    mentioned = {one["name"]: one["lately"] for one in told["mentioned"]}
    assert mentioned == {"Mel": 1, "Bob": 1}


def test_changes_are_told_run_by_run_and_say_what_was_taken_back(http):
    tea, bread = remember(http), remember(http, BREAD)
    gone = http.delete(f"/memories/{tea['id']}").json()
    undo = http.post("/undo", json={"run": gone["run"]}).json()
    told = [
        (one["verb"], one["undone"], one["memories"][0]["id"])
        for one in http.get("/changes").json()
    ]
    assert told == [
        ("undo", False, tea["id"]),
        ("forget", True, tea["id"]),
        ("remember", False, bread["id"]),
        ("remember", False, tea["id"]),
    ]
    http.post("/undo", json={"run": undo["run"]})  # takes the undo back
    assert [(one["verb"], one["undone"]) for one in http.get("/changes").json()][:3] == [
        ("undo", False),
        ("undo", True),
        ("forget", False),
    ]


def test_health_counts_what_is_kept_and_says_nothing_of_where(hf, http):
    remember(http)
    health = http.get("/health")
    assert health.json()["memories"] == {"fact": {"active": 1}} and health.json()["findings"] == 0
    assert hf.store.location not in health.text


def test_an_export_is_what_the_library_would_write(hf, http):
    remember(http)
    answer = http.get("/export")
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert "attachment" in answer.headers["Content-Disposition"]
    assert answer.text.splitlines() == [line.rstrip("\n") for line in hf.admin.export()]


def test_undo_without_a_run_takes_back_the_latest_change(http):
    remember(http)
    assert http.post("/undo").json()["verb"] == "remember"
    assert http.get("/facts").json() == []
    assert problem(http.post("/undo", json={"run": "run_nobody"}), 404)


def test_undo_again_takes_back_the_change_before(http):
    tea, bread = remember(http), remember(http, BREAD)
    undone = [http.post("/undo").json()["undone"] for _ in range(2)]
    assert undone == [bread["run"], tea["run"]]
    assert "nothing left to undo" in problem(http.post("/undo"), 404)
    assert [one["undone"] for one in http.get("/changes").json()] == [False, False, True, True]


def test_an_undo_that_a_later_change_stands_against_is_a_conflict(http):
    kept = remember(http)
    http.post(f"/memories/{kept['id']}/confirm")
    assert problem(http.post("/undo", json={"run": kept["run"]}), 409)


# Query parameters


def test_an_unknown_query_parameter_is_refused_with_the_one_that_was_meant(http):
    """Ignored, a misspelt limit would answer with everything, and a filter with too much."""
    answer = http.get("/memories", params={"limt": 5})
    said = problem(answer, 422)
    assert "query.limt: unknown parameter. Did you mean 'limit'?" in said
    assert [one["where"] for one in answer.json()["errors"]] == ["query.limt"]
    far = problem(http.get("/facts", params={"colour": "blue"}), 422)
    assert "This path takes memory_mode, thread_id, user_id" in far
    assert problem(http.post("/undo", params={"run": "run_x"}), 422)
    assert http.get("/facts", params={"user_id": "ann", "memory_mode": "guest"}).status_code == 200


def test_an_unknown_field_is_named_with_where_the_known_ones_are(http):
    answer = http.post("/memories", json={"content": "tea", "tag": "green"})
    said = problem(answer, 422)
    assert "body.tag: this field is unknown here; /openapi.json has the fields" in said


def test_nothing_is_written_by_a_request_with_an_unknown_parameter(http):
    answer = http.post("/memories", params={"usr_id": "bob"}, json={"content": "Bob drinks rum"})
    assert "Did you mean 'user_id'?" in problem(answer, 422)
    assert http.get("/facts").json() == []


def test_clients_of_mem0_may_send_what_only_its_own_server_knows(http):
    assert http.get("/mem0/memories", params={"user_id": "ann", "version": "v1.1"}).is_success


# Review


def test_a_proposal_is_weighed_approved_in_other_words_or_rejected(hf, http):
    remember(http, "Her dog is called Rex")
    agent = hf.scoped("user:ann")
    agent.actor = "agent:assistant"
    dog, cat = (
        agent.reviews.propose("Her dog is called Max", reason="heard today"),
        agent.reviews.propose("Has a cat"),
    )
    waiting = http.get("/review").json()
    assert [(one["id"], one["proposed_by"]) for one in waiting] == [
        (dog.id, "agent:assistant"),
        (cat.id, "agent:assistant"),
    ]
    assert (waiting[0]["reason"], waiting[0]["nearest"]["content"]) == (
        "heard today",
        "Her dog is called Rex",
    )
    assert waiting[0]["effect"] and waiting[1]["nearest"] is None
    approved = http.post(
        f"/review/{dog.id}/approve", json={"content": "Her dog is called Maxi"}
    ).json()
    assert (approved["status"], approved["content"]) == ("active", "Her dog is called Maxi")
    rejected = http.post(f"/review/{cat.id}/reject", json={"reason": "it is a ferret"}).json()
    assert rejected["status"] == "archived" and http.get("/review").json() == []
    assert http.post(f"/review/{cat.id}/approve").status_code in (403, 404, 409, 422)


def test_a_proposal_is_approved_as_it_is(hf, http):
    agent = hf.scoped("user:ann")
    agent.actor = "agent:assistant"
    assert (
        http.post(f"/review/{agent.reviews.propose(TEA).id}/approve").json()["status"] == "active"
    )


# Conversations


def test_turns_are_captured_verbatim_and_come_back_as_context(http):
    turn = {"session": "s1", "role": "user", "text": "I am allergic to peanuts.", "author": "Ann"}
    kept = http.post("/capture", json=turn)
    assert kept.status_code == 201 and kept.json()["memory"]["content"] == turn["text"]
    assert http.post("/capture", json={**turn, "text": "  "}).json() == {"memory": None, "run": ""}
    blocks = http.post(
        "/context", json={"prompt": "is she allergic to peanuts?", "session": "s2"}
    ).json()
    assert "peanuts" in blocks["turn"] and blocks["ids"] == [kept.json()["memory"]["id"]]


def test_a_session_ends_once(http):
    http.post("/capture", json={"session": "a/b", "role": "user", "text": "hello"})
    assert http.post("/sessions/a%2Fb/end").json()["ended"] is True
    assert http.post("/sessions/a%2Fb/end").json()["ended"] is False
    assert http.post("/sessions/nobody/end").json()["ended"] is False


# Errors


def test_every_kind_of_error_is_problem_json(http):
    assert "JSON" in problem(
        http.post("/memories", content="{", headers={"Content-Type": "application/json"}), 400
    )
    assert "content" in problem(http.post("/memories", json={}), 422)
    assert "colour" in problem(
        http.post("/memories", json={"content": TEA, "colour": "green"}), 422
    )
    assert "empty" in problem(http.post("/memories", json={"content": "  "}), 422)
    assert "user_id" in problem(http.get("/facts", params={"user_id": ""}), 422)
    assert problem(http.get("/facts", params={"user_id": "a\x00b"}), 422)
    assert "fact_nobody" in problem(http.get("/memories/fact_nobody"), 404)
    assert "openapi.json" in problem(http.get("/nothing"), 404)
    assert problem(http.get("/static/nothing", follow_redirects=True), 404)
    answer = http.put("/facts")
    assert problem(answer, 405) and "GET" in answer.headers["Allow"]


def test_a_method_that_an_address_does_not_take_is_told_with_those_it_does(http):
    answer = http.put("/memories")
    assert problem(answer, 405) == "This path accepts GET, POST, not PUT."
    assert answer.headers["Allow"] == "GET, POST"
    assert (
        problem(http.post("/memories/fact_x"), 405)
        == "This path accepts GET, PATCH, DELETE, not POST."
    )


@pytest.mark.parametrize("header", [{}, {"Content-Type": "application/x-www-form-urlencoded"}])
def test_json_that_does_not_say_so_is_told_by_which_header(http, header):
    said = problem(
        http.post("/memories", content=json.dumps({"content": TEA}), headers=header), 422
    )
    assert said.endswith("send JSON, with the header Content-Type: application/json.")
    assert http.get("/memories").json()["items"] == []


def test_a_body_that_is_no_json_is_told_where_and_why(http):
    header = {"Content-Type": "application/json"}
    said = problem(http.post("/memories", content='{"content": "tea" "x": 1}', headers=header), 400)
    assert said.startswith("Invalid request: body.18: this is not JSON: ")
    assert "UTF-8" in problem(
        http.post("/memories", content=b'{"content": "\xff"}', headers=header), 400
    )


def test_what_was_sent_is_not_repeated_by_an_error(http):
    assert "s3cret" not in http.post("/memories", json={"content": ["s3cret"]}).text


def test_a_body_that_is_too_large_is_refused_whether_or_not_it_says_so(http):
    large = json.dumps({"content": "x" * 1_100_000}).encode()
    headers = {"Content-Type": "application/json"}
    assert problem(http.post("/memories", content=large, headers=headers), 413)
    assert problem(
        http.post("/memories", content=iter([large[:600_000], large[600_000:]]), headers=headers),
        413,
    )


def test_a_text_that_is_too_long_for_one_memory_is_refused(http):
    assert "MAX_CONTENT_BYTES" in problem(
        http.post("/memories", json={"content": "x" * 200_000}), 413
    )


def test_a_body_that_does_not_arrive_is_not_waited_for():
    """Slow enough for a person on a train, not for somebody who holds connections open."""
    import asyncio

    from holdfast.server.request_guards import Gate

    async def never():
        await asyncio.sleep(3600)

    told = []

    async def send(message):
        told.append(message)

    class NoKeys:
        needed = False

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "headers": [(b"host", b"localhost")],
        "query_string": b"",
    }
    asyncio.run(Gate(None, NoKeys(), 10, patience=0.01)(scope, never, send))
    assert told[0]["status"] == 408


def test_a_fault_of_the_program_is_told_without_its_inside_and_logged_with_it(hf, serve, caplog):
    http = serve(hf).client()
    remember(http)

    def broken():
        raise RuntimeError("/home/ann/secret-place")

    hf.clock = broken
    answer = http.post("/memories", json={"content": BREAD}, headers={"X-Request-Id": "my-1"})
    assert "secret-place" not in answer.text and problem(answer, 500)
    assert answer.headers["X-Request-Id"] == "my-1"
    assert any(
        "my-1" in record.message and "secret-place" in record.exc_text
        for record in caplog.records
        if record.exc_text
    )


def test_a_closed_store_is_an_inner_error_too(open_memory, serve):
    hf = open_memory("user:ann")
    http = serve(hf).client()
    hf.store.close()
    assert problem(http.get("/facts"), 500)


def test_a_busy_store_asks_to_try_again():
    import asyncio

    from starlette.requests import Request

    from holdfast.errors import StoreBusy
    from holdfast.server.problem_json import tell_ours

    answer = asyncio.run(tell_ours(Request({"type": "http", "state": {}}), StoreBusy()))
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")


# Headers and the log


@pytest.mark.parametrize(
    "path", ["/api/memory/facts", "/api/memory/nothing", "/v1/ping/", "/", "/openapi.json"]
)
def test_every_answer_carries_the_headers_that_browsers_heed(hf, serve, path):
    import httpx

    answer = httpx.get(serve(hf).url.rstrip("/") + path, trust_env=False, timeout=PATIENCE)
    policy = answer.headers["Content-Security-Policy"]
    assert (
        "default-src 'none'" in policy
        and "unsafe" not in policy
        and "frame-ancestors 'none'" in policy
    )
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Request-Id"].startswith("req_")
    assert answer.headers["Cache-Control"] == (
        "no-cache" if path in ("/", "/openapi.json") else "no-store"
    )
    assert "Server" not in answer.headers and "Access-Control-Allow-Origin" not in answer.headers


def test_a_request_id_that_could_forge_a_log_line_is_not_taken_over(http):
    assert (
        http.get("/facts", headers={"X-Request-Id": "a b"})
        .headers["X-Request-Id"]
        .startswith("req_")
    )


def test_the_log_names_routes_and_no_words_of_memory(hf, keys, caplog):
    caplog.set_level(logging.INFO, "holdfast.server.access")
    with serving(hf, keys) as live:
        http = live.client()
        remember(http)
        http.get("/memories", params={"q": "peanuts"})
        http.get("/entities/Lisbon")
    lines = [record.getMessage() for record in caplog.records]
    assert any("/entities/{name" in line and "404" in line for line in lines)
    assert not any(word in line for line in lines for word in ("tea", "peanuts", "Lisbon", "ann"))


def test_the_schema_is_there_and_pages_that_need_the_internet_are_not(hf, serve):
    import httpx

    url = serve(hf).url
    assert (
        httpx.get(url + "openapi.json", trust_env=False, timeout=PATIENCE).json()["info"]["title"]
        == "Holdfast"
    )
    assert [
        httpx.get(url + page, trust_env=False, timeout=PATIENCE).status_code
        for page in ("docs", "redoc")
    ] == [404, 404]


# Browsers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1"]
)
def test_without_keys_a_name_that_is_not_this_machines_is_refused(http, host):
    """A page may let its own name point to this machine, and would then be of the same origin."""
    assert problem(http.get("/facts", headers={"Host": host}), 403) if host else True


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1", "[::1]:80"])
def test_without_keys_every_name_of_this_machine_is_answered(http, host):
    assert http.get("/facts", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},  # another program of this machine
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_without_keys_no_other_page_can_change_anything(hf, http, headers):
    for method, path in (
        ("POST", "/memories"),
        ("DELETE", "/memories/1"),
        ("PATCH", "/recall"),
        ("POST", "/undo"),
    ):
        assert problem(http.request(method, path, json={"content": TEA}, headers=headers), 403)
    assert hf.list() == []


def test_without_keys_no_other_page_can_read_even_blindly(http):
    assert problem(http.get("/facts", headers={"Sec-Fetch-Site": "cross-site"}), 403)


def test_the_page_itself_changes_things(hf, serve):
    live = serve(hf)
    same = {"Origin": live.url.rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert live.client().post("/memories", json={"content": TEA}, headers=same).status_code == 201


def test_a_form_of_another_page_is_not_taken_for_json(http):
    """Without a word about its type a browser sends anything anywhere."""
    assert http.post("/memories", content=b'{"content": "x"}').status_code == 422
    assert (
        http.post(
            "/memories", content=b'{"content": "x"}', headers={"Content-Type": "text/plain"}
        ).status_code
        == 422
    )


# Keys


@pytest.fixture
def locked(hf, serve, keys):
    """A server with a key for Ann and one for Bob, and the keys."""
    file = KeyFile(keys)
    ann, bob = file.add("ann", at=0), file.add("bob", at=0)
    return serve(hf), ann, bob


def test_with_keys_nobody_is_answered_without_one(locked):
    live, ann, _ = locked
    answer = live.client().get("/facts")
    assert "Bearer" in problem(answer, 401) and answer.headers["WWW-Authenticate"] == "Bearer"
    wrong = ann[:-1] + ("A" if ann[-1] != "A" else "B")
    for key in (wrong, "hf_00000000_" + "x" * 43, "hf_", "nonsense"):
        assert problem(live.client(key).get("/facts"), 401)


def test_without_a_key_nothing_is_said_about_the_body(locked):
    live, ann, _ = locked
    header = {"Content-Type": "application/json"}
    for body in ("{", "{}", '{"content": "x"}', "x" * 2_000_000):
        assert problem(live.client().post("/memories", content=body, headers=header), 401)
    assert problem(live.client(ann).post("/memories", content="{", headers=header), 400)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_who_looks_for_mcp_is_told_which_command_serves_it(locked, method):
    """Also without a key: a client that is asked for one would look for a way to log in."""
    live, _, _ = locked
    answer = httpx.request(method, live.url + "mcp", trust_env=False, timeout=PATIENCE)
    assert answer.status_code == 404
    assert "`holdfast mcp --http`" in answer.json()["error"]["message"]


def test_a_key_opens_the_memory_of_its_owner_in_either_header(locked):
    live, ann, bob = locked
    remember(live.client(ann))
    assert len(live.client().get("/facts", headers={"X-API-Key": ann}).json()) == 1
    assert live.client(bob).get("/facts").json() == []
    assert live.client(ann).get("/status").json()["owner_id"] == "ann"


def test_another_owner_is_refused_in_the_same_words_whether_there_is_one_or_not(locked):
    live, ann, bob = locked
    remember(live.client(ann))
    there, nowhere = (
        live.client(bob).get("/facts", params={"user_id": name}) for name in ("ann", "nobody")
    )
    assert problem(there, 403) == problem(nowhere, 403)
    assert live.client(ann).get("/facts", params={"user_id": "ann"}).status_code == 200


def test_with_keys_a_thread_names_no_owner(locked):
    live, ann, bob = locked
    remember(live.client(ann))
    assert live.client(bob).get("/facts", params={"thread_id": "ann"}).json() == []


def test_with_keys_any_host_name_will_do(locked):
    live, ann, _ = locked
    assert live.client(ann).get("/facts", headers={"Host": "memory.example"}).status_code == 200


def test_a_revoked_key_is_refused_at_once_and_the_last_one_leaves_the_door_shut(locked, keys):
    live, ann, bob = locked
    file = KeyFile(keys)
    for key in list(file):
        file.revoke(key.id, at=1)
    assert problem(live.client(ann).get("/facts"), 401) and problem(
        live.client(bob).get("/facts"), 401
    )
    keys.unlink()
    assert problem(live.client().get("/facts"), 401)


def test_a_first_key_shuts_the_door_of_a_server_that_runs(hf, serve, keys):
    live = serve(hf)
    assert live.client().get("/facts").status_code == 200
    KeyFile(keys).add("ann", at=0)
    assert problem(live.client().get("/facts"), 401)


def test_the_log_names_the_key_by_its_id_only(hf, keys, caplog):
    caplog.set_level(logging.INFO, "holdfast.server.access")
    ann = KeyFile(keys).add("ann", at=0)
    with serving(hf, keys) as live:
        live.client(ann).get("/facts")
    line = next(record.getMessage() for record in caplog.records if "/facts" in record.getMessage())
    assert line.endswith(ann.split("_")[1]) and ann not in line


# How much


def test_a_key_that_asks_too_often_is_told_when_to_come_back_and_others_are_not_held_up(
    hf, serve, keys
):
    file = KeyFile(keys)
    ann, bob = file.add("ann", at=0), file.add("bob", at=0)
    live = serve(hf, per_minute=2)
    statuses = [live.client(ann).get("/facts").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    answer = live.client(ann).get("/facts")
    assert problem(answer, 429) and 1 <= int(answer.headers["Retry-After"]) <= 30
    assert live.client(bob).get("/facts").status_code == 200


def test_guessing_keys_is_slowed_down_too(hf, serve, keys):
    KeyFile(keys).add("ann", at=0)
    live = serve(hf, per_minute=2)
    assert [live.client("hf_x").get("/facts").status_code for _ in range(3)] == [401, 401, 429]


def test_a_bucket_fills_up_again():
    now = [0.0]
    buckets = Buckets(60, now=lambda: now[0])
    assert [buckets.take("ann") for _ in range(61)] == [0] * 60 + [1]
    now[0] += 1
    assert [buckets.take("ann"), buckets.take("ann")] == [0, 1]
    assert buckets.take("bob") == 0
