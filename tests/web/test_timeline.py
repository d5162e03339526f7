"""The timeline in a real browser: by when things happened, to zoom into and to narrow."""

from __future__ import annotations

import re
from datetime import datetime

import httpx
import pytest
from playwright.sync_api import expect
from visits import Visit

from patience import PATIENCE

GRADUATED = "Ann graduated in Porto"


@pytest.fixture
def old_ann(ann: Visit) -> Visit:
    """Ann, after she imported something of long ago."""
    answer = httpx.post(
        f"{ann.url}api/memory/memories",
        params={"user_id": ann.owner},
        json={"content": GRADUATED, "event_time": "2019-06-14T10:00:00Z"},
        trust_env=False,
        timeout=PATIENCE,
    )
    answer.raise_for_status()
    return ann


def headings(visit: Visit) -> list[str]:
    return visit.page.locator(".days h2").all_inner_texts()


def test_the_timeline_runs_back_from_today(ann):
    page = ann.go("#/timeline")
    expect(page.get_by_role("heading", level=2).first).to_have_text("Yesterday")
    days = [float(day.get_attribute("data-day") or 0) for day in page.locator("[data-day]").all()]
    assert len(days) >= 5
    assert days == sorted(days, reverse=True)


def test_what_was_imported_stands_where_it_happened(old_ann):
    page = old_ann.go("#/timeline")
    expect(page.locator(".moment").last).to_contain_text(GRADUATED)
    expect(page.locator(".moment").last).to_contain_text("learned today")
    assert headings(old_ann)[-1] == "Friday, 14 June 2019"
    page.get_by_role("radio", name="Learned").check()
    expect(page.locator(".moment").first).to_contain_text(GRADUATED)
    expect(page.locator(".days h2").first).to_have_text("Today")
    expect(page.locator(".moment").first).to_contain_text("happened 14 Jun 2019")


def test_the_strip_says_from_when_to_when_it_goes(old_ann):
    page = old_ann.go("#/timeline?kind=fact")
    this_year = datetime.now().year
    expect(page.get_by_role("group", name="Zoom")).to_have_text(f"All time2019 to {this_year}")


def test_the_strip_zooms_into_years_months_and_days_and_out_again(old_ann):
    page = old_ann.go("#/timeline")
    page.get_by_role("button", name=re.compile("^2019: 1 fact$")).click()
    expect(page.get_by_role("main").get_by_role("status")).to_have_text("1 memory in 2019")
    expect(page.locator(".moment")).to_have_count(1)
    page.get_by_role("button", name=re.compile("^June 2019")).click()
    page.get_by_role("button", name=re.compile("^Friday, 14 June 2019")).click()
    expect(page.get_by_role("main").get_by_role("status")).to_contain_text("Friday, 14 June 2019")
    assert "period=2019-06-14" in page.url
    page.go_back()
    expect(page.get_by_role("main").get_by_role("status")).to_have_text("1 memory in June 2019")
    page.get_by_role("button", name="All time").click()
    total = old_ann.ask("timeline/days")["total"]
    expect(page.get_by_role("main").get_by_role("status")).to_have_text(f"{total} memories")


def test_the_strip_works_by_keyboard(old_ann):
    page = old_ann.go("#/timeline")
    bars = page.get_by_role("group", name=re.compile("by year"))
    bars.locator("[tabindex='0']").focus()
    page.keyboard.press("Home")
    expect(page.locator(":focus")).to_have_attribute("data-id", "2019")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main").get_by_role("status")).to_have_text("1 memory in 2019")
    expect(page.locator(":focus")).to_have_attribute("data-id", "2019-06")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("group", name=re.compile("by year"))).to_be_visible()


def test_a_time_without_anything_says_so(ann):
    page = ann.go("#/timeline?period=1999")
    page.get_by_role("heading", name="Nothing in 1999").wait_for()
    page.get_by_role("button", name="All time").last.click()
    expect(page.locator(".moment").first).to_be_visible()


def test_a_wrong_time_in_the_address_is_all_time(ann):
    page = ann.go("#/timeline?period=2026-99&kind=nonsense")
    expect(page.locator(".moment").first).to_be_visible()


def test_the_timeline_is_narrowed_by_kind_and_person(ann):
    page = ann.go("#/timeline")
    page.get_by_role("combobox", name="Kind").select_option("rule")
    expect(page.locator(".moment")).to_have_count(2)
    page.get_by_role("combobox", name="Kind").select_option("")
    page.get_by_role("combobox", name="Person or place").select_option("Tomasz")
    expect(page.locator(".moment")).to_have_count(2)
    for moment in page.locator(".moment").all():
        expect(moment).to_contain_text("Tomasz")
    page.get_by_role("combobox", name="Kind").select_option("turn")
    expect(page.locator(".moment").first).to_contain_text("said")


def test_a_memory_of_the_timeline_opens_beside_it(ann):
    page = ann.go("#/timeline")
    page.get_by_role("link", name="Tomasz cannot have peanuts").click()
    expect(page.get_by_role("complementary").get_by_role("heading", level=2)).to_have_text(
        "Tomasz cannot have peanuts"
    )
    expect(page.locator(".moment [aria-current]")).to_have_count(1)
