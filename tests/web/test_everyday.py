"""The Memory page every day: several rows at once, keys, the palette, dense rows, loading."""

from __future__ import annotations

import re

import demo_memory
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from visits import Visit

PEANUTS = "Tomasz cannot have peanuts"


@pytest.fixture
def context(context):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    return context


def toolbar(visit: Visit):
    return visit.page.get_by_role("toolbar", name="Selected memories")


# Several at once


def test_rows_are_selected_by_keyboard_and_forgotten_with_one_undo(ann):
    page = ann.go("#/facts")
    expect(page.get_by_text("8 memories")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Shift+X")
    expect(toolbar(ann)).to_contain_text("3 memories selected")
    toolbar(ann).get_by_role("button", name="Forget…").click()
    page.get_by_role("button", name="Forget 3 of 3").click()
    expect(page.locator("main .row")).to_have_count(5)
    expect(page.get_by_role("link", name="Facts 5")).to_be_visible()
    expect(toolbar(ann)).to_be_hidden()
    page.keyboard.press("Control+z")
    expect(page.locator("main .row")).to_have_count(8)
    assert len(ann.texts(kind="fact")) == 8


def test_control_z_again_takes_back_the_change_before(ann):
    page = ann.go("#/facts")
    expect(page.get_by_text("8 memories")).to_be_visible()
    for text, left in ((PEANUTS, 7), ("Priya is vegetarian", 6)):
        ann.row(text).get_by_role("link").first.focus()
        page.keyboard.press("Delete")
        expect(ann.row(text)).to_have_count(0)
        expect(page.locator("main .row")).to_have_count(left)
    for back in (7, 8):
        page.keyboard.press("Control+z")
        expect(page.locator("main .row")).to_have_count(back)
    page.keyboard.press("Control+z")
    expect(page.get_by_text("There is nothing to undo.").first).to_be_visible()
    assert len(ann.texts(kind="fact")) == 8


def test_rows_are_selected_by_mouse_and_confirmed(ann):
    page = ann.go("#/facts")
    for text in (PEANUTS, "Priya is vegetarian"):
        ann.row(text).hover()
        ann.row(text).get_by_role("checkbox").check()
    toolbar(ann).get_by_role("button", name="Confirm").click()
    expect(ann.row(PEANUTS)).to_contain_text("confirmed")
    expect(ann.row("Priya is vegetarian")).to_contain_text("confirmed")
    expect(page.locator(".chosen")).to_have_count(0)


def test_escape_clears_the_selection(ann):
    page = ann.go("#/facts")
    expect(ann.row(PEANUTS)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Control+a")
    expect(toolbar(ann)).to_contain_text("8 memories selected")
    page.keyboard.press("Escape")
    expect(toolbar(ann)).to_be_hidden()


def test_a_memory_that_cannot_be_changed_does_not_stop_the_others(ann):
    page = ann.go("#/facts")
    expect(ann.row(PEANUTS)).to_be_visible()
    blocked = ann.ask("memories", q=PEANUTS, kind="fact")["items"][0]["id"]
    page.route(
        f"**/{blocked}/archive*",
        lambda route: route.fulfill(status=409, body="{}", content_type="application/json"),
    )
    page.keyboard.press("j")
    page.keyboard.press("Control+a")
    toolbar(ann).get_by_role("button", name="Archive").click()
    expect(page.locator("main .row")).to_have_count(1)
    expect(ann.toast()).to_contain_text("Archived: 7 memories.")
    expect(ann.row(PEANUTS)).to_be_visible()
    assert [trouble for trouble in ann.troubles if "409" not in trouble] == []
    ann.troubles.clear()


def test_memories_are_copied_as_markdown(ann):
    page = ann.go("#/facts?q=peanuts")
    expect(ann.row(PEANUTS)).to_be_visible()
    ann.row(PEANUTS).hover()
    ann.row(PEANUTS).get_by_role("checkbox").check()
    toolbar(ann).get_by_role("button", name="Copy as Markdown").click()
    expect(ann.toast()).to_contain_text("Copied 1 memory as Markdown.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(r"- Tomasz cannot have peanuts \*\(fact, \d+ \w+ \d{4}\)\*\n", copied)


def test_what_a_memory_says_is_no_markup_in_markdown(nobody):
    page = nobody.go()
    script = "memory => import('/static/markdown.js').then(module => module.asMarkdown([memory]))"
    evil = {
        "content": "[x](javascript:1) <img> *b*\n# h",
        "kind": "fact",
        "status": "active",
        "created_at": "2026-03-18T12:00:00Z",
    }
    copied = page.evaluate(script, evil)
    assert copied == r"- \[x\](javascript:1) \<img\> \*b\* \# h *(fact, 18 Mar 2026)*" + "\n"


# Keys and commands


def test_the_palette_goes_to_a_view_and_finds_memories(ann):
    page = ann.go("#/facts")
    expect(ann.row(PEANUTS)).to_be_visible()
    page.keyboard.press("Control+k")
    palette = page.get_by_role("combobox", name="Type a command, a name or a word")
    expect(palette).to_be_focused()
    palette.fill("recent")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Recent changes")
    page.keyboard.press("Control+k")
    palette.fill("peanuts")
    page.get_by_role("option", name=PEANUTS).click()
    expect(page.get_by_role("complementary").get_by_role("heading", level=2)).to_have_text(PEANUTS)


def test_the_focus_goes_where_the_keyboard_went(ann):
    page = ann.go()
    glance = page.locator(".glance").get_by_role("link").first
    glance.focus()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Type a command").fill("recent")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Recent changes")
    expect(page.get_by_role("main")).to_be_focused()
    # From a link of a view that is gone, and from the side bar.
    ann.go()
    page.get_by_role("link", name=re.compile("wait for review")).press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Review")
    expect(page.get_by_role("main")).to_be_focused()
    page.get_by_role("link", name="Timeline").focus()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Type a command").fill("peanuts")
    expect(page.get_by_role("option", name=PEANUTS)).to_be_visible()
    page.keyboard.press("Enter")
    details = page.get_by_role("complementary")
    expect(details.get_by_role("heading", level=2)).to_be_focused()
    expect(details.get_by_role("heading", level=2)).to_have_text(PEANUTS)


def test_a_link_to_a_memory_that_is_gone_says_so(nobody):
    page = nobody.go("#/everything/fact_01zzzzzzzzzzzzzzzz")
    expect(nobody.toast()).to_contain_text("This memory is not here.")
    expect(page.get_by_role("heading", name="No memories yet")).to_be_visible()
    # The browser itself notes each answer of this kind.
    nobody.troubles[:] = [one for one in nobody.troubles if "404" not in one]


def test_the_palette_names_people_and_closes_with_escape(ann):
    page = ann.go("#/facts")
    page.get_by_role("button", name="Commands (Ctrl K)").click()
    page.get_by_role("combobox", name="Type a command").fill("tomasz")
    person = page.get_by_role("option", name="Tomasz Person")
    expect(person).to_be_visible()
    page.keyboard.press("Escape")
    expect(person).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("Facts")


def test_rows_are_dense_when_somebody_wants_them_so(ann):
    page = ann.go("#/facts")
    row = ann.row(PEANUTS)
    expect(row).to_be_visible()
    roomy = row.bounding_box()["height"]
    page.get_by_role("button", name="Dense rows").click()
    assert row.bounding_box()["height"] < 0.7 * roomy
    page.reload()
    expect(row).to_be_visible()
    assert row.bounding_box()["height"] < 0.7 * roomy


# Counts and loading


def test_the_counts_agree_everywhere(nobody, place):
    demo_memory.build(place.store, nobody.owner)
    page = nobody.go("#/review")
    expect(page.get_by_role("link", name="Review 2")).to_be_visible()
    expect(page.get_by_text("2 proposals")).to_be_visible()
    for view, name in (("facts", "Facts"), ("sessions", "Sessions"), ("rules", "Rules")):
        page.goto(f"{nobody.url}?user_id={nobody.owner}#/{view}")
        link = page.get_by_role("link", name=re.compile(rf"^{name} \d+$"))
        expect(link).to_be_visible()
        shown = int(link.inner_text().split()[-1])
        expect(page.locator("main .row")).to_have_count(shown)


def test_a_view_that_loads_shows_nothing_of_the_one_before(ann):
    page = ann.go("#/facts")
    expect(ann.row(PEANUTS)).to_be_visible()
    waiting = []

    def hold(route):
        waiting.append(route)

    page.route("**/api/memory/health*", hold)
    page.get_by_role("link", name="Health").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Health")
    expect(page.get_by_role("main")).to_contain_text("Loading…")
    expect(ann.row(PEANUTS)).to_have_count(0)
    waiting[0].continue_()
    expect(page.get_by_role("heading", name="No problems found")).to_be_visible()


# What a view shows last.
LOADED = {
    "#/": ".glance",
    "#/facts": ".row",
    "#/sessions": ".row",
    "#/everything?q=Tomasz": ".row",
    "#/review": ".card",
    "#/people": ".tile",
    "#/people?name=Tomasz": ".moment",
    "#/timeline": ".moment",
    "#/changes": ".change",
    "#/health": ".verdict",
}


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_moves_while_a_view_loads(ann, width):
    page = ann.page
    page.set_viewport_size({"width": width, "height": 800})
    page.add_init_script(
        "window.shifts = 0; new PerformanceObserver(list => list.getEntries().forEach(entry => "
        "window.shifts += entry.value)).observe({type: 'layout-shift', buffered: true})"
    )
    moved = {}
    for address, content in LOADED.items():
        page.goto("about:blank")  # an address that differs in its hash alone would not load anew
        ann.go(address)
        expect(page.locator(f"main {content}").first).to_be_visible()
        expect(page.get_by_role("switch", name="Proactive recall")).to_be_attached()
        expect(page.locator("#detail[aria-busy]")).to_have_count(0)
        page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        moved[address] = page.evaluate("window.shifts")
    # A count that appears beside its view, on a phone, may move its neighbour by a letter.
    assert {address: shift for address, shift in moved.items() if shift > 0.02} == {}


@pytest.mark.parametrize("height", [800, 700, 633, 560, 400])
def test_nothing_in_the_side_bar_overlaps_on_a_low_screen(ann, height):
    page = ann.page
    page.set_viewport_size({"width": 1280, "height": height})
    ann.go("#/health")
    expect(page.get_by_role("switch", name="Proactive recall")).to_be_attached()
    views, owner = (page.locator(part).bounding_box() for part in (".side", ".strip"))
    assert views["y"] + views["height"] <= owner["y"] + 1
    current = page.locator(".side [aria-current]").bounding_box()
    assert views["y"] <= current["y"]
    assert current["y"] + current["height"] <= views["y"] + views["height"]
    page.get_by_role("switch", name="Proactive recall").click()  # nothing lies over it


# Reviewing several


def test_proposals_are_approved_together_with_one_undo(ann):
    page = ann.go("#/review")
    page.locator(".card").first.focus()
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(toolbar(ann)).to_contain_text("2 memories selected")
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="Nothing to review")).to_be_visible()
    assert "Answer in Portuguese on Fridays" in ann.texts(kind="rule")
    ann.toast().get_by_role("button", name="Undo").click()
    expect(page.locator(".card")).to_have_count(2)
    assert "Answer in Portuguese on Fridays" not in ann.texts(kind="rule")


def test_a_proposal_stands_beside_what_it_changes_and_only_then_as_a_diff(ann):
    page = ann.go("#/review")
    new = page.locator(".card").filter(has_text="Portuguese")
    expect(new).to_contain_text("It would be a new memory.")
    expect(new.locator("ins, del")).to_have_count(0)
    changing = page.locator(".card").filter(has_text="walnuts")
    expect(changing.get_by_role("heading", level=2)).to_have_text(["Now", "Proposed"])
    expect(changing.locator("ins")).to_have_text("added: or walnuts")


# For every eye


def test_the_new_parts_have_no_barrier(ann):
    page = ann.page
    page.emulate_media(reduced_motion="reduce")
    ann.go("#/facts?q=peanuts")
    expect(ann.row(PEANUTS)).to_be_visible()
    page.get_by_role("button", name="Go back in time").click()
    ann.row(PEANUTS).hover()
    ann.row(PEANUTS).get_by_role("checkbox").check()
    assert barriers(page) == []
    page.get_by_role("button", name="Dense rows").click()
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert barriers(page) == []
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Type a command").fill("e")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    assert barriers(page) == []


def barriers(page) -> list[tuple[str, str]]:
    found = Axe().run(page).response["violations"]
    return [(told["id"], told["nodes"][0]["html"]) for told in found]


def test_what_memories_say_is_text_in_the_palette_and_the_review(nobody, place):
    evil = "<img src=x onerror=\"document.title='gone'\"> peanuts"
    with demo_memory._open(place.store, demo_memory.Past(), nobody.owner) as hf:
        hf.remember(evil)
        hf.actor = "agent:<img src=x onerror=\"document.title='gone'\">"
        hf.reviews.propose(evil + " and walnuts", reason=evil)
    page = nobody.go("#/review")
    expect(page.locator(".card")).to_contain_text("walnuts")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Type a command").fill("peanuts")
    expect(page.get_by_role("option", name="peanuts")).to_be_visible()
    assert page.locator("main img, dialog img").count() == 0
    assert page.title() == "Review · Memory"
