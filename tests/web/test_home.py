"""The start page in a real browser: a memory at a glance."""

from __future__ import annotations

import re

import demo_memory
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from holdfast import Holdfast

PEANUTS = "Tomasz cannot have peanuts"


def test_an_empty_memory_offers_three_ways_to_begin(nobody):
    page = nobody.go()
    ways = page.get_by_role("main").get_by_role("list").get_by_role("listitem")
    expect(ways).to_have_count(3)
    expect(ways.nth(1)).to_contain_text("holdfast import --all")
    expect(ways.nth(2)).to_contain_text("holdfast mcp install")
    ways.first.get_by_role("button", name="Remember something").click()
    page.get_by_label("What should be remembered?").fill("The spare key is at Marta's")
    page.get_by_role("button", name="Remember", exact=True).click()
    expect(page.get_by_role("link", name=re.compile("^1 new this week"))).to_be_visible()
    expect(page.locator(".glance").first).to_contain_text("The spare key is at Marta's")


def test_what_is_new_and_what_waits_is_counted_as_the_store_counts_it(ann):
    page = ann.go()
    told = ann.ask("overview")
    new = sum(told["new"].values())
    in_use = sum(count for day in told["growth"] for count in day["counts"].values())
    expect(page.get_by_role("link", name=re.compile(f"^{new} new this week"))).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("^2 wait for review"))).to_be_visible()
    expect(page.get_by_role("link", name=re.compile(f"^{in_use} in use"))).to_be_visible()
    assert in_use == ann.ask("timeline/days")["total"] == 13
    turns = told["turns"]
    expect(
        page.get_by_role("link", name=f"Besides, {turns} turns of conversations")
    ).to_be_visible()
    assert in_use + turns == ann.ask("health")["active"]
    page.get_by_role("link", name=re.compile("wait for review")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Review")


def test_what_was_only_said_so_far_is_not_nothing(nobody, place):
    with Holdfast.open(place.store, scope=f"user:{nobody.owner}", background=False) as hf:
        hf.capture("today", "user", "I moved to Porto")
    page = nobody.go()
    expect(page.get_by_role("link", name="Besides, 1 turn of conversations")).to_be_visible()
    expect(page.get_by_text("Nothing was learned yet.")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_have_count(0)


def test_growth_is_a_plot_that_is_also_told_in_words_and_numbers(ann):
    page = ann.go()
    plot = page.get_by_role("img", name=re.compile("^Memories in use over time"))
    expect(plot).to_have_attribute("aria-label", re.compile("8 facts, 3 sessions, 2 rules"))
    page.get_by_text("Show the numbers").click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("8")
    plot.hover()
    expect(page.locator(".readout strong")).to_be_visible()


def test_what_fades_next_is_kept_with_one_press(ann):
    page = ann.go()
    row = page.get_by_role("listitem").filter(has_text=PEANUTS)
    expect(row).to_contain_text("if unused")
    row.get_by_role("button", name="Keep").click()
    expect(ann.toast()).to_contain_text("It will not fade.")
    expect(row.get_by_role("button", name="Keep")).to_have_count(0)
    ann.toast().get_by_role("button", name="Undo").click()
    expect(row.get_by_role("button", name="Keep")).to_be_visible()


def test_who_was_mentioned_lately_leads_to_their_page(ann):
    page = ann.go()
    page.locator(".name-chip").filter(has_text="Tomasz").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tomasz")


def test_health_is_one_line(ann):
    page = ann.go()
    expect(page.get_by_role("link", name="No problems found")).to_be_visible()


def test_a_memory_opens_beside_the_overview_without_moving_it(ann):
    page = ann.go()
    panel = page.get_by_role("heading", name="Growth")
    expect(page.locator(".glance").first).to_be_visible()
    before = panel.bounding_box()
    page.locator(".glance a").first.click()
    details = page.get_by_role("complementary")
    expect(details.get_by_role("heading", level=2)).to_be_visible()
    assert panel.bounding_box() == before
    page.keyboard.press("Escape")
    expect(details.get_by_role("heading", level=2)).to_be_hidden()


def test_on_a_phone_a_memory_covers_the_overview_until_it_is_left(ann):
    page = ann.page
    page.set_viewport_size({"width": 390, "height": 844})
    ann.go()
    page.locator(".glance a").first.click()
    details = page.get_by_role("complementary")
    expect(details.get_by_role("heading", level=2)).to_be_focused()
    box = details.bounding_box()
    assert box is not None and (box["x"], box["y"], box["width"]) == (0, 0, 390)
    details.get_by_role("button", name="Back").click()
    expect(page.locator(".glance a").first).to_be_focused()


def test_an_empty_start_page_has_no_barrier_and_fits_a_phone(nobody):
    page = nobody.page
    page.set_viewport_size({"width": 360, "height": 740})
    nobody.go()
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
    assert Axe().run(page).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_nothing_on_the_start_page_jumps_while_it_loads(ann):
    page = ann.page
    page.add_init_script(
        "new PerformanceObserver(list => list.getEntries().forEach(one => window.shift = "
        "(window.shift ?? 0) + one.value)).observe({type: 'layout-shift', buffered: true})"
    )
    ann.go()
    expect(page.locator(".glance").first).to_be_visible()
    expect(page.get_by_role("link", name="No problems found")).to_be_visible()
    assert page.evaluate("window.shift ?? 0") < 0.1  # what counts as good


def test_ten_thousand_memories_are_counted_by_the_store(nobody, place):
    demo_memory.fill(place.store, nobody.owner, 10_000)
    page = nobody.go()
    expect(page.get_by_role("link", name=re.compile("^10,000 in use"))).to_be_visible()
