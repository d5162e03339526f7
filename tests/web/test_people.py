"""People and places in a real browser: profile, graph, timeline and corrections."""

from __future__ import annotations

import re

import httpx
from playwright.sync_api import expect
from visits import Visit

PEANUTS = "Tomasz cannot have peanuts"


def told(visit: Visit, content: str) -> None:
    """Something new is stored."""
    answer = httpx.post(
        f"{visit.url}api/memory/memories",
        params={"user_id": visit.owner},
        json={"content": content},
        trust_env=False,
    )
    answer.raise_for_status()


def person(visit: Visit, name: str) -> None:
    visit.go(f"#/people?name={name}")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text(name)


def test_a_person_has_a_profile_and_a_timeline(ann):
    page = ann.go("#/people")
    page.get_by_role("button", name="People", exact=True).click()
    expect(page.locator(".tile").filter(has_text="Lisbon")).to_have_count(0)
    page.locator(".tile").filter(has_text="Tomasz").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tomasz")
    assert page.title() == "Tomasz · Memory"
    expect(page.locator(".profile-facts")).to_contain_text(PEANUTS)
    expect(page.locator(".moment")).to_have_count(2)
    page.locator(".profile-facts").get_by_role("link", name=PEANUTS).click()
    page.get_by_role("complementary").get_by_role("button", name="Forget").click()
    expect(page.locator(".moment").filter(has_text=PEANUTS)).to_have_count(0)
    expect(page.locator(".profile-facts")).to_have_count(0)


def test_the_graph_shows_who_is_mentioned_with_whom(ann):
    page = ann.go("#/people")
    graph = page.get_by_role("group", name=re.compile("^Who is mentioned with whom"))
    drawn = graph.get_by_role("link")
    links = ann.ask("graph")["links"]
    joined = {end for link in links for end in (link["one"], link["other"])}
    expect(drawn).to_have_count(len(joined))
    expect(graph.locator(".edge")).to_have_count(len(links))
    tomasz = graph.get_by_role("link", name=re.compile(r"^Tomasz, person, \d+ mentions; with"))
    expect(tomasz).to_have_attribute("aria-label", re.compile("Priya"))
    tomasz.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tomasz")
    expect(page.locator(".node.centre")).to_have_attribute("aria-label", re.compile("^Tomasz"))


def test_the_graph_is_usable_by_keyboard_and_as_a_list(ann):
    page = ann.go("#/people")
    start = page.locator(".node[tabindex='0']")
    expect(start).to_have_count(1)
    start.focus()
    seen = set()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp") * 3:
        page.keyboard.press(key)
        seen.add(page.locator(":focus").get_attribute("data-id"))
    assert len(seen) > 1
    expect(page.locator(".node[tabindex='0']")).to_have_count(1)
    name = (page.locator(":focus").get_attribute("aria-label") or "").split(",")[0]
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    page.get_by_text("Show as a list").click()
    expect(page.locator(".as-table li").first).to_contain_text(" and ")


def test_names_that_were_not_looked_for_yet_are_said_to_be_missing(ann):
    page = ann.go("#/people?name=Tomasz")
    waiting = ann.ask("graph")["waiting"]["count"]
    assert waiting > 0
    expect(page.get_by_role("main")).to_contain_text(
        f"{waiting} memories are still to be read for names, so counts may grow."
    )


def test_somebody_is_renamed_and_named_as_before_again(ann):
    page = ann.page
    person(ann, "Tomasz")
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Name", exact=True).fill("Tomek")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tomek")
    expect(page.get_by_role("main")).to_contain_text("also Tomasz")
    ann.toast().get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tomasz")


def test_two_who_are_one_are_merged_and_parted_again(ann):
    page = ann.page
    before = ann.ask("entities/Priya")["mentions"]
    person(ann, "Tomasz")
    page.get_by_role("button", name="Merge…").click()
    dialog = page.get_by_role("dialog", name="Who else is Tomasz?")
    dialog.get_by_role("button", name="Merge").click()
    expect(dialog.get_by_role("alert")).to_have_text("Choose who is the same.")
    dialog.get_by_label("Name", exact=True).fill("pri")
    dialog.get_by_role("radio", name=re.compile("Priya")).check()
    dialog.get_by_role("button", name="Merge").click()
    expect(page.get_by_role("main")).to_contain_text("also Priya")
    hers = page.locator(".moment").get_by_role("link", name="Priya is vegetarian", exact=True)
    expect(hers).to_have_count(1)
    page.get_by_role("button", name="Split…").click()
    page.get_by_role("checkbox", name="Priya").check()
    page.get_by_role("button", name="Split off").click()
    expect(page.get_by_role("main")).not_to_contain_text("also Priya")
    expect(hers).to_have_count(0)
    assert ann.ask("entities/Priya")["mentions"] == before
    page.goto(f"{ann.url}?user_id={ann.owner}#/changes")
    split = page.locator(".change").filter(has_text="People or places split")
    expect(split).to_contain_text("Priya")
    split.get_by_role("button", name="Undo").click()
    expect(split).to_contain_text("Undone")
    assert ann.ask("entities/Priya")["name"] == "Tomasz"


def test_who_may_be_the_same_is_suggested(ann):
    told(ann, "Wrote to @tomaszek and @tom about the dinner")
    told(ann, "Called @tomasz_novak")
    pairs = ann.ask("duplicates")
    page = ann.go("#/people")
    offers = page.get_by_role("button", name=re.compile("^Merge .* into"))
    expect(offers).to_have_count(min(len(pairs), 3))


def test_somebody_who_is_gone_is_said_to_be(ann):
    page = ann.go("#/people?name=Nobody")
    expect(page.get_by_role("heading", name="Not there any more")).to_be_visible()
    assert [trouble for trouble in ann.troubles if "404" not in trouble] == []
    ann.troubles.clear()


def test_names_are_text_and_never_markup(ann):
    page = ann.page
    person(ann, "Tomasz")
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Name", exact=True).fill("<img src=x onerror=\"document.title='gone'\">")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x")
    ann.go()
    expect(page.locator(".name-chip").filter(has_text="<img").first).to_be_visible()
    page.get_by_role("link", name="People and places").click()
    expect(page.locator(".tile").filter(has_text="<img").first).to_be_visible()
    assert page.locator("main img").count() == 0
    assert page.title() == "People and places · Memory"
