"""The Memory page in a real browser, on a real server: what a person can see and do."""

from __future__ import annotations

import json
import re

import demo_memory
import httpx
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, expect
from visits import Visit

VIEWS = {
    "#/": "Home",
    "#/everything": "Everything about you",
    "#/facts": "Facts",
    "#/sessions": "Sessions",
    "#/rules": "Rules",
    "#/review": "Review",
    "#/people": "People and places",
    "#/people?name=Tomasz": "Tomasz",
    "#/timeline": "Timeline",
    "#/changes": "Recent changes",
    "#/health": "Health",
}
PEANUTS = "Tomasz cannot have peanuts"


def shown(visit: Visit, address: str) -> None:
    """Opens a view and waits until it is there with its content."""
    visit.go(address)
    expect(visit.page.get_by_role("heading", level=1)).to_have_text(
        VIEWS.get(address, re.compile("."))
    )
    expect(
        visit.page.locator(
            "main :is(.row, .card, .tile, .moment, .change, .verdict, .glance)"
        ).first
    ).to_be_visible()
    expect(visit.page.locator("#strip")).to_contain_text(visit.owner)


def focused(visit: Visit) -> Locator:
    return visit.page.locator(":focus")


# Finding


def test_a_fact_is_found_while_its_name_is_typed(ann):
    page = ann.go("#/everything")
    expect(ann.row(PEANUTS)).to_be_visible()
    page.get_by_role("searchbox").press_sequentially("toma")
    expect(ann.row(PEANUTS).locator("mark")).to_have_text("Tomasz")
    expect(ann.row("Ann takes her coffee black")).to_have_count(0)
    expect(page.get_by_role("main").get_by_role("status")).to_have_text("3 memories")


def test_what_fits_best_stands_first_with_the_longest_bar(ann):
    ann.go("#/?q=peanuts")
    rows = ann.page.get_by_role("list", name=VIEWS["#/everything"]).get_by_role("listitem")
    expect(rows).to_have_count(3)
    widths = "bars => bars.map(bar => bar.getBoundingClientRect().width)"
    bars = rows.locator(".bar span").evaluate_all(widths)
    # What only tells the same again comes last, whatever its score.
    assert bars[0] == max(bars)
    expect(rows.first).to_contain_text(PEANUTS)


def test_the_address_keeps_the_search(ann):
    page = ann.go("#/facts?q=coffee")
    expect(page.get_by_role("searchbox")).to_have_value("coffee")
    expect(ann.row("Ann takes her coffee black")).to_be_visible()


def test_filters_narrow_the_list(ann):
    page = ann.go("#/facts")
    times = page.get_by_role("combobox", name="Time").get_by_role("option")
    expect(times).to_have_text(["Any time", "Last 7 days", "Last 30 days", "Last year"])
    page.get_by_role("combobox", name="Category").select_option("preference")
    expect(page.locator(".row")).to_have_count(2)
    page.get_by_role("combobox", name="Time").select_option("7")
    expect(page.get_by_role("heading", name="No memories match these filters")).to_be_visible()
    page.get_by_role("button", name="Show all").click()
    page.get_by_role("combobox", name="In use or not").select_option("superseded")
    expect(page.locator(".row")).to_have_count(1)
    expect(ann.row("The desk stands at the north wall")).to_contain_text("Replaced")


def test_a_search_that_finds_nothing_says_so(nobody):
    page = nobody.go("#/?q=zebra")
    expect(page.get_by_role("heading", name="Nothing relevant is known")).to_be_visible()


def test_an_empty_list_says_how_to_begin(nobody):
    page = nobody.go("#/everything")
    expect(page.get_by_role("heading", name="No memories yet")).to_be_visible()
    page.get_by_role("main").get_by_role("button", name="Remember something").click()
    page.get_by_label("What should be remembered?").fill("The spare key is at Marta's")
    page.get_by_role("button", name="Remember", exact=True).click()
    expect(nobody.row("The spare key is at Marta's")).to_be_visible()
    assert nobody.texts() == ["The spare key is at Marta's"]


# Knowing why


def test_the_details_tell_why_and_where_from(ann):
    ann.go("#/facts")
    details = ann.open(PEANUTS)
    expect(details).to_contain_text("It was stored immediately.")
    expect(details).to_contain_text("Stated plainly, and it matters for his health.")
    expect(details).to_contain_text("Decided by built-in rules, without a language model.")
    expect(details.locator("blockquote")).to_have_text("“Tomasz can't have peanuts”")
    source = details.get_by_role("listitem").filter(has_text="I'm cooking for the team")
    expect(source).to_contain_text("You")
    expect(
        details.get_by_role("img", name=re.compile(r"Confidence \d+ % today\. .* it fades on "))
    ).to_be_visible()


def test_the_details_tell_what_was_replaced_and_by_whom(ann):
    ann.go("#/facts")
    details = ann.open("The desk stands at the east wall")
    expect(details).to_contain_text("Replaces")
    expect(details).to_contain_text("it was moved for the morning sun")
    expect(details).to_contain_text("by ann, in a terminal")
    details.get_by_role("link", name="The desk stands at the north wall").click()
    expect(details.get_by_role("heading", level=2)).to_have_text(
        "The desk stands at the north wall"
    )
    expect(details.get_by_role("button", name="Restore")).to_be_visible()


def test_a_session_shows_what_was_said(ann):
    ann.go("#/sessions")
    details = ann.open(demo_memory.SUMMARIES["dinner-for-the-team"])
    said = details.get_by_role("listitem").filter(has_text="?")
    expect(said.first).to_contain_text("How many people")
    expect(details.get_by_text("No coriander, and short answers.")).to_be_visible()


def test_a_confirmed_memory_is_said_to_stay(ann):
    ann.go("#/facts")
    details = ann.open("Priya is vegetarian")
    details.get_by_role("button", name="Confirm").click()
    expect(details).to_contain_text("You confirmed it, so it does not fade.")
    expect(ann.row("Priya is vegetarian")).to_contain_text("confirmed")


# Changing


def test_a_correction_takes_the_place_of_the_old_words_and_can_be_undone(ann):
    page = ann.go("#/facts")
    ann.open(PEANUTS).get_by_role("button", name="Correct").click()
    words = page.get_by_label("New text")
    expect(words).to_have_value(PEANUTS)
    words.fill("Tomasz cannot have nuts of any kind")
    page.get_by_label("Reason (optional)").fill("he told me so")
    page.get_by_role("button", name="Save correction").click()
    expect(ann.row("Tomasz cannot have nuts of any kind")).to_be_visible()
    expect(ann.row(PEANUTS)).to_have_count(0)
    expect(page.get_by_role("complementary")).to_contain_text("Reason: he told me so")
    ann.toast().get_by_role("button", name="Undo").click()
    expect(ann.row(PEANUTS)).to_be_visible()
    assert PEANUTS in ann.texts(kind="fact")
    assert "Tomasz cannot have nuts of any kind" not in ann.texts(kind="fact")


def test_a_forgotten_fact_leaves_and_comes_back_by_undo(ann):
    page = ann.go("#/facts")
    expect(page.get_by_role("link", name="Facts 8")).to_be_visible()
    ann.open(PEANUTS).get_by_role("button", name="Forget").click()
    expect(ann.row(PEANUTS)).to_have_count(0)
    expect(page.get_by_role("link", name="Facts 7")).to_be_visible()
    assert PEANUTS not in ann.texts(kind="fact")
    ann.toast().get_by_role("button", name="Undo").click()
    expect(ann.row(PEANUTS)).to_be_visible()
    expect(page.get_by_role("link", name="Facts 8")).to_be_visible()
    assert PEANUTS in ann.texts(kind="fact")


def test_everything_about_somebody_is_found_and_forgotten_in_five_steps(ann):
    page = ann.go()
    page.get_by_role("searchbox").fill("Tomasz")
    page.get_by_role("button", name="Forget these…").click()
    dialog = page.get_by_role("dialog", name="Forget these?")
    dialog.get_by_role("checkbox", name=re.compile("Planned a Georgian dinner")).uncheck()
    dialog.get_by_role("button", name="Forget 2 of 3").click()
    expect(page.get_by_role("main").get_by_role("status")).to_have_text("1 memory")
    assert [text for text in ann.texts(q="Tomasz", limit=40) if "Tomasz" in text] == [
        demo_memory.SUMMARIES["dinner-for-the-team"]
    ]
    ann.toast().get_by_role("button", name="Undo").click()
    expect(page.get_by_role("main").get_by_role("status")).to_have_text("3 memories")


def test_what_was_changed_stays_listed_with_its_way_back(ann):
    page = ann.go("#/facts")
    ann.row(PEANUTS).hover()
    ann.row(PEANUTS).get_by_role("button", name="Forget").click()
    expect(ann.row(PEANUTS)).to_have_count(0)
    page.get_by_role("link", name="Recent changes").click()
    change = page.get_by_role("list", name="Changes").get_by_role("listitem").first
    expect(change).to_contain_text("Forgotten")
    expect(change).to_contain_text(PEANUTS)
    change.get_by_role("button", name="Undo").click()
    expect(page.locator(".change").filter(has_text="Forgotten")).to_contain_text("Undone")
    assert PEANUTS in ann.texts(kind="fact")


def test_put_away_and_brought_back(ann):
    page = ann.go("#/rules")
    ann.open("Keep answers short").get_by_role("button", name="Archive").click()
    expect(ann.row("Keep answers short")).to_have_count(0)
    page.get_by_role("combobox", name="In use or not").select_option("archived")
    ann.open("Keep answers short").get_by_role("button", name="Restore").click()
    expect(ann.row("Keep answers short")).to_have_count(0)
    assert "Keep answers short" in ann.texts(kind="rule")


# Deciding


def test_a_proposal_is_compared_with_what_is_known_and_approved(ann):
    page = ann.go("#/review")
    card = page.locator(".card").filter(has_text="walnuts")
    expect(card.locator("ins")).to_have_text("added: or walnuts")
    expect(card.locator(".beside").get_by_text(PEANUTS, exact=True)).to_be_visible()
    expect(card).to_contain_text("It would take the place of the memory beside it")
    expect(card).to_contain_text("proposed by the agent “assistant”")
    card.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator(".card")).to_have_count(1)
    assert "Tomasz cannot have peanuts or walnuts" in ann.texts(kind="fact")


def test_proposals_are_decided_by_keyboard(ann):
    page = ann.go("#/review")
    first = page.locator(".card").first
    expect(first).to_contain_text("walnuts")
    first.focus()
    page.keyboard.press("ArrowDown")
    expect(focused(ann)).to_contain_text("Portuguese")
    page.keyboard.press("r")
    expect(page.locator(".card")).to_have_count(1)
    expect(focused(ann)).to_contain_text("walnuts")
    page.keyboard.press("e")
    page.get_by_label("New text").fill("Tomasz cannot have nuts")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Nothing to review")).to_be_visible()
    assert "Tomasz cannot have nuts" in ann.texts(kind="fact")
    assert "Answer in Portuguese on Fridays" not in ann.texts(kind="rule")


def test_the_recall_switch_is_kept(ann):
    page = ann.go()
    switch = page.get_by_role("switch", name="Proactive recall")
    expect(switch).not_to_be_checked()
    switch.click()
    expect(ann.toast()).to_contain_text("Proactive recall is now on.")
    page.reload()
    expect(switch).to_be_checked()
    assert ann.ask("status")["proactive_recall_enabled"] is True


# Looking around


def test_health_says_that_all_is_well_and_what_waits(ann):
    page = ann.go("#/health")
    expect(page.get_by_role("heading", name="No problems found")).to_be_visible()
    expect(page.get_by_role("link", name="2 for review")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("^Facts 8 "))).to_be_visible()


def test_a_copy_can_be_taken_away(ann):
    page = ann.go()
    with page.expect_download() as loading:
        page.get_by_role("button", name="Download a copy").click()
    lines = loading.value.path().read_text("utf-8").splitlines()
    assert any(PEANUTS in line for line in lines)
    assert all(json.loads(line) for line in lines)


# Without a mouse


def test_a_whole_visit_by_keyboard(ann):
    page = ann.go("#/facts")
    expect(ann.row(PEANUTS)).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("coffee")
    expect(ann.row(PEANUTS)).to_have_count(0)
    page.keyboard.press("Escape")
    expect(ann.row(PEANUTS)).to_be_visible()
    page.keyboard.type("Tomasz")
    expect(ann.row(PEANUTS)).to_be_visible()
    expect(page.locator(".rows").first.locator(".row")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(focused(ann)).to_contain_text(PEANUTS)
    page.keyboard.press("Enter")
    heading = page.get_by_role("complementary").get_by_role("heading", level=2)
    expect(heading).to_have_text(PEANUTS)
    expect(heading).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary")).to_contain_text("Preview")
    expect(focused(ann)).to_contain_text(PEANUTS)
    page.keyboard.press("Delete")
    expect(ann.row(PEANUTS)).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(ann.row(PEANUTS)).to_be_visible()
    assert PEANUTS in ann.texts(kind="fact")


def test_the_focus_stays_in_a_dialog_and_goes_back_to_where_it_was(ann):
    page = ann.go("#/facts")
    ann.open(PEANUTS)
    correct = page.get_by_role("button", name="Correct")
    correct.press("Enter")
    expect(page.get_by_label("New text")).to_be_focused()
    for _ in range(8):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.activeElement.closest('dialog') || document.activeElement === document.body"
        )
    page.keyboard.press("Escape")
    expect(correct).to_be_focused()


def test_single_keys_can_be_switched_off(ann):
    page = ann.go("#/everything")
    expect(ann.row("Keep answers short")).to_be_visible()
    page.keyboard.press("?")
    page.get_by_role("switch", name="Use single-key shortcuts").click()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).not_to_be_focused()


def test_the_skip_link_leads_to_the_memories(ann):
    page = ann.go("#/facts")
    expect(ann.row(PEANUTS)).to_be_visible()
    page.keyboard.press("Tab")
    expect(focused(ann)).to_have_text("Skip to the memories")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    expect(page.get_by_role("heading", level=1)).to_have_text("Facts")


# For every eye and screen


def barriers(visit: Visit, **options: object) -> list[tuple[str, str]]:
    """What axe finds amiss: the rule, and an element that breaks it."""
    found = Axe().run(visit.page, options=options).response["violations"]
    return [(told["id"], told["nodes"][0]["html"]) for told in found]


def test_no_view_has_a_barrier(ann):
    page, found = ann.page, {}
    for address in VIEWS:
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        shown(ann, address)
        if address == "#/facts":
            ann.open(PEANUTS)
        found[address] = barriers(ann)
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        found[address] += barriers(ann, runOnly=["color-contrast"])
    assert found == {address: [] for address in VIEWS}


def test_no_dialog_has_a_barrier(ann):
    page = ann.go("#/facts?q=Tomasz")
    page.get_by_role("button", name="Forget these…").click()
    assert barriers(ann) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Remember something").click()
    assert barriers(ann) == []


def test_colours_follow_the_system_until_somebody_chooses(ann):
    page = ann.page
    page.emulate_media(color_scheme="dark")
    ann.go()
    assert brightness(ann) < 60
    page.get_by_role("button", name="Switch to light colours").click()
    assert brightness(ann) > 200
    page.reload()
    expect(page.get_by_role("button", name="Switch to dark colours")).to_be_visible()
    assert brightness(ann) > 200


def brightness(visit: Visit) -> float:
    colour = visit.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


def test_nothing_moves_for_who_wants_it_still(ann):
    page = ann.page
    page.emulate_media(reduced_motion="reduce")
    ann.go("#/facts")
    ann.open(PEANUTS).get_by_role("button", name="Forget").click()
    expect(ann.toast().get_by_role("button", name="Undo")).to_be_visible()
    assert (
        page.locator(".toast").evaluate("toast => getComputedStyle(toast).animationName") == "none"
    )


def test_every_view_fits_a_phone(ann):
    page = ann.page
    page.set_viewport_size({"width": 360, "height": 740})
    for address in VIEWS:
        shown(ann, address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, address


def test_no_long_word_pushes_anything_off_a_phone(nobody):
    nobody.page.set_viewport_size({"width": 360, "height": 740})
    long = {"content": "w" * 300, "category": "c" * 150, "tags": ["t" * 150]}
    answer = httpx.post(
        f"{nobody.url}api/memory/memories",
        params={"user_id": nobody.owner},
        json=long,
        trust_env=False,
    )
    answer.raise_for_status()
    nobody.go("#/facts")
    expect(nobody.row("www").get_by_role("button", name="Forget")).to_be_in_viewport(ratio=1)
    expect(nobody.page.get_by_label("Category")).to_be_in_viewport(ratio=1)
    nobody.row("www").get_by_role("link").click()
    details = nobody.page.get_by_role("complementary")
    expect(details.get_by_role("button", name="Forget")).to_be_in_viewport(ratio=1)
    assert details.evaluate("pane => pane.scrollWidth <= pane.clientWidth")


def test_on_a_phone_the_details_cover_the_list_until_they_are_left(ann):
    page = ann.page
    page.set_viewport_size({"width": 390, "height": 844})
    ann.go("#/facts")
    details = ann.open(PEANUTS)
    expect(details.get_by_role("heading", level=2)).to_be_focused()
    assert page.locator("main").get_attribute("inert") is not None
    details.get_by_role("button", name="Back").click()
    expect(ann.row(PEANUTS).get_by_role("link")).to_be_focused()


def test_opening_a_memory_moves_nothing_in_the_list(ann):
    page = ann.go("#/facts")
    row = ann.row("Ann takes her coffee black")
    expect(row).to_be_visible()
    before = row.bounding_box()
    ann.open("The desk stands at the east wall")
    assert row.bounding_box() == before
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Choose a memory")).to_be_visible()
    assert row.bounding_box() == before


# With much, and with ill will


def test_ten_thousand_memories_load_as_they_are_needed(nobody, place):
    demo_memory.fill(place.store, nobody.owner, 10_000)
    page = nobody.go("#/facts")
    expect(page.get_by_role("main").get_by_role("status")).to_have_text("The newest 50 of 10,000")
    expect(page.get_by_role("link", name="Facts 10,000")).to_be_visible()
    for shown_by_then in (100, 150, 200):
        page.locator(".row").last.scroll_into_view_if_needed()
        expect(page.locator(".row").nth(shown_by_then - 1)).to_be_attached()
    page.get_by_role("searchbox").fill("note 4242")
    expect(page.locator(".row").first).to_contain_text("Note 4242 ")
    page.locator(".row").first.get_by_role("link").click()
    page.get_by_role("complementary").get_by_role("button", name="Forget").click()
    expect(nobody.row("Note 4242 ")).to_have_count(0)


def test_what_memories_say_is_text_and_never_markup(nobody):
    evil = (
        "<img src=x onerror=\"document.title='gone'\"> <script>alert(1)</script> "
        "[x](javascript:alert(1))"
    )
    page = nobody.go("#/everything")
    page.get_by_role("banner").get_by_role("button", name="Remember something").click()
    page.get_by_label("What should be remembered?").fill(evil)
    page.get_by_role("button", name="Remember", exact=True).click()
    nobody.open(evil)
    assert page.locator("main img, aside img, main script, aside script").count() == 0
    assert page.title() == "Everything about you · Memory"


def test_words_that_differ_are_told_apart(nobody):
    page = nobody.go()
    diff = (
        "([before, after]) => import('/static/diff.js').then(module => module.wordDiff(before, "
        "after))"
    )
    same = ["same", "He eats "]
    assert page.evaluate(diff, ["He eats nuts", "He eats no nuts"]) == [
        same,
        ["new", "no "],
        ["same", "nuts"],
    ]
    assert page.evaluate(diff, ["猫が好き", "猫が好き"]) == [["same", "猫が好き"]]
    assert page.evaluate(diff, ["red car", "blue van"]) == [
        ["gone", "red car"],
        ["new", "blue van"],
    ]
    assert page.evaluate(diff, ["", "new"]) == [["new", "new"]]


def test_a_fault_of_the_server_is_told_kindly(ann):
    page = ann.go("#/facts")
    details = ann.open(PEANUTS)
    # A fault cannot be asked for, so it is put in the server's mouth.
    page.route(
        "**/confirm*",
        lambda route: route.fulfill(status=500, body="{}", content_type="application/json"),
    )
    details.get_by_role("button", name="Confirm").click()
    expect(ann.toast()).to_contain_text("Something went wrong inside Holdfast. Nothing was changed")
    page.unroute("**/confirm*")
    ann.toast().get_by_role("button", name="Try again").click()
    expect(ann.row(PEANUTS)).to_contain_text("confirmed")
    assert [trouble for trouble in ann.troubles if "500" not in trouble] == []
    ann.troubles.clear()
