"""Searching on the Memory page: why each hit is there, what comes near, and what was known then."""

from __future__ import annotations

import re
from datetime import date, timedelta

import demo_memory
import pytest
from playwright.sync_api import expect

from holdfast import Holdfast

PEANUTS = "Tomasz cannot have peanuts"
EVERYTHING = "Everything about you"


def test_each_hit_says_in_words_why_it_is_there(ann):
    page = ann.go("#/everything?q=who%20cannot%20have%20peanuts%3F%20Tomasz")
    reason = ann.row(PEANUTS).locator(".row-why")
    expect(reason).to_contain_text("mentions Tomasz")
    expect(reason).to_contain_text("has “peanuts”")
    expect(ann.row("I'm cooking for the team").locator(".row-why")).to_contain_text("“peanuts”")
    assert page.locator(".row-why .bar").count() == page.locator(".row-why").count()


def test_a_date_of_the_question_is_a_reason(ann):
    ann.go("#/everything?q=what%20happened%20yesterday")
    desk = ann.row("The desk stands at the east wall")
    expect(desk.locator(".row-why")).to_contain_text("happened “yesterday”")


def test_only_content_words_are_marked(ann):
    ann.go("#/everything?q=what%20is%20the%20deposit%20of%20the%20landlord")
    marked = ann.row("The landlord in Hamburg owes Ann a deposit").locator("mark")
    expect(marked).to_have_text(["landlord", "deposit"])


def test_a_long_text_is_shown_from_where_it_matches(nobody, place):
    long = "I walked along the river. " * 20 + "Then the kingfisher dived."
    _say(place, nobody.owner, long)
    nobody.go("#/everything?q=kingfisher")
    row = nobody.row("kingfisher")
    expect(row.locator("mark")).to_be_in_viewport()
    expect(row.get_by_role("link")).to_contain_text("…")


def test_when_nothing_fits_the_near_misses_are_folded_away(ann):
    page = ann.go("#/everything?q=kubernetes")
    expect(page.get_by_role("heading", name="Nothing relevant is known")).to_be_visible()
    near = page.get_by_role("list", name="Near misses")
    expect(near).to_be_hidden()
    page.get_by_text(re.compile(r"^\d+ near miss")).click()
    expect(near.get_by_role("listitem").first).to_be_visible()
    expect(near.get_by_role("listitem").first).to_contain_text("similar in meaning")


def test_when_nothing_fits_in_a_list_everything_can_be_searched(nobody, place):
    with Holdfast.open(place.store, scope=f"user:{nobody.owner}", background=False) as hf:
        hf.remember(PEANUTS)
    for narrow in ("#/rules?q=peanuts", "#/everything?q=peanuts&category=other"):
        page = nobody.go(narrow)
        expect(page.get_by_role("heading", name="Nothing relevant here")).to_be_visible()
        page.get_by_role("button", name="Search everything").press("Enter")
        expect(nobody.row(PEANUTS)).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_have_text("Everything about you")
        expect(page.get_by_label("Search")).to_have_value("peanuts")


def test_the_first_hit_is_previewed_and_follows_the_focus(ann):
    page = ann.go("#/everything?q=Tomasz")
    details = page.get_by_role("complementary")
    expect(details.get_by_role("heading", level=2)).to_have_text(PEANUTS)
    expect(details).to_contain_text("Preview")
    page.get_by_role("searchbox").press("ArrowDown")
    page.keyboard.press("j")
    second = page.get_by_role("list", name=EVERYTHING).get_by_role("listitem").nth(1)
    expect(second.get_by_role("link")).to_be_focused()
    expect(details.get_by_role("heading", level=2)).to_have_text(
        demo_memory.SUMMARIES["dinner-for-the-team"]
    )


def test_a_phone_has_no_preview(ann):
    ann.page.set_viewport_size({"width": 360, "height": 740})
    page = ann.go("#/everything?q=Tomasz")
    expect(ann.row(PEANUTS)).to_be_visible()
    expect(page.get_by_role("complementary")).to_be_hidden()


def test_what_was_known_on_a_day(ann):
    then = date.today() - timedelta(days=30)  # after the first conversation, before the second
    page = ann.go(f"#/facts?asof={then}")
    expect(ann.row("Ines is Ann's sister and drives the van")).to_be_visible()
    expect(ann.row(PEANUTS)).to_have_count(0)
    slider = page.get_by_role("slider", name="What was known on")
    expect(slider).to_have_attribute("aria-valuetext", f"{then.day} {then:%b} {then.year}")
    slider.press("End")
    expect(ann.row(PEANUTS)).to_be_visible()


def test_a_search_in_the_past_finds_what_was_replaced_since(ann):
    then = date.today() - timedelta(days=3)
    page = ann.go(f"#/facts?q=desk&asof={then}")
    expect(ann.row("The desk stands at the north wall")).to_contain_text("Replaced")
    expect(ann.row("The desk stands at the east wall")).to_have_count(0)
    page.get_by_role("button", name="Back to now").click()
    expect(ann.row("The desk stands at the east wall")).to_be_visible()
    expect(ann.row("The desk stands at the north wall")).to_have_count(0)


@pytest.mark.parametrize(
    ("text", "words", "marked"),
    [
        ("Caroline's dogs, and a hotdog", ["Caroline's", "dogs"], ["Caroline's", "dogs"]),
        ("C++ (or c.)", ["C++"], ["C++"]),
        ("我喜欢猫和狗", ["猫"], ["猫"]),
        ("nothing", [], []),
    ],
)
def test_words_are_marked_as_they_stand_in_the_text(nobody, text, words, marked):
    page = nobody.go()
    script = (
        "([text, words]) => import('/static/highlight.js').then(module => module.highlighted(text, "
        "words).filter(node => node.tagName === 'MARK').map(node => node.textContent))"
    )
    assert page.evaluate(script, [text, words]) == marked


def _say(place, owner, text):
    clock = demo_memory.Past()
    with demo_memory._open(place.store, clock, owner) as hf:
        hf.remember(text)
