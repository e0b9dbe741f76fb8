"""The page in a real browser: headless Chromium, driven by Playwright. Skipped where there is none."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from dashboard_runs import SCRIPT, LiveRun, live_run

from rheostat.journal import Journal
from rheostat.web import Dashboard
from rheostat.web.state_view import StateReader

playwright = pytest.importorskip("playwright.sync_api", reason="the page is not tried: no playwright (pip install)")
expect = playwright.expect
expect.set_options(timeout=30_000)

TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="the page is not tried: no Chromium (apt-get install chromium)"
)


@pytest.fixture(scope="module")
def browser() -> Iterator["playwright.Browser"]:
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


class Tab:
    """A page, and everything that it complained about."""

    def __init__(self, browser: "playwright.Browser", **options) -> None:
        self.context = browser.new_context(viewport={"width": 1300, "height": 1000}, **options)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)

    def open(self, url: str, state: str = "live") -> "playwright.Page":
        self.page.goto(url)
        expect(self.page.locator(f"body[data-state={state}]")).to_be_visible()
        return self.page


@pytest.fixture
def tab(browser) -> Iterator[Tab]:
    opened = Tab(browser)
    yield opened
    opened.context.close()


def test_a_running_pipeline_is_shown_and_updates(tab: Tab, live: LiveRun) -> None:
    page = tab.open(live.dashboard.url)
    expect(page.locator("h1")).to_have_text("clicks")
    before = page.locator(".figure", has_text="SLA kept").inner_text()
    expect(page.locator(".figure", has_text="SLA kept")).not_to_have_text(before)
    expect(page.locator(".decision").first).to_contain_text("parse: scale to")
    expect(page.locator(".mark").first).to_be_attached()
    assert tab.errors == []


def test_a_name_with_markup_stays_text(tab: Tab, live: LiveRun) -> None:
    page = tab.open(live.dashboard.url)
    expect(page.locator(f'.node[data-key="{SCRIPT}"] .name')).to_contain_text("<img src=x")
    assert page.locator("img").count() == 0
    page.locator(f'.node[data-key="{SCRIPT}"]').click()
    expect(page.locator("#operator-title")).to_have_text(SCRIPT)
    assert tab.errors == []


def test_an_operator_shows_its_executors_and_substreams(tab: Tab, recorded: Path) -> None:
    with Journal(recorded, read_only=True) as journal, Dashboard(journal, "127.0.0.1:0", recorded=True) as dashboard:
        page = tab.open(dashboard.url, "finished")
        page.locator('.node[data-key="count"]').focus()
        page.keyboard.press("Enter")
        expect(page.locator("#operator canvas")).to_be_visible()
        expect(page.locator("#operator table").last.locator("tbody tr")).to_have_count(8)
        page.get_by_role("button", name="Close").click()
        expect(page.locator("#operator")).to_be_hidden()
    assert tab.errors == []


def test_partitions_of_a_topic_are_shown_with_arrivals_and_queue(tab: Tab, recorded: Path) -> None:
    with Journal(recorded, read_only=True) as journal, Dashboard(journal, "127.0.0.1:0", recorded=True) as dashboard:
        detail = StateReader(journal).operator("parse")
        page = tab.open(dashboard.url, "finished")
        page.locator('.node[data-key="parse"]').click()
        table = page.locator("#operator table", has_text="partition")
        expect(table.locator("tbody tr")).to_have_count(2)
        for row, partition in zip(table.locator("tbody tr").all(), detail.partitions, strict=True):
            expect(row).to_contain_text("clicks-in")
            expect(row.locator("td").nth(1)).to_have_text(str(partition.number))
            expect(row.locator("td").last).to_have_text(f"{partition.queued:,}")
    assert tab.errors == []


def test_slas_of_operators_and_paths_are_shown_with_where_they_stand(tab: Tab, recorded: Path) -> None:
    with Journal(recorded, read_only=True) as journal, Dashboard(journal, "127.0.0.1:0", recorded=True) as dashboard:
        page = tab.open(dashboard.url, "finished")
        expect(page.locator('.node[data-key="count"]')).to_contain_text("SLA 1 s")
        expect(page.locator(".node.missed")).to_have_count(0)
        expect(page.locator(".path.missed")).to_contain_text("along parse → count")
        expect(page.locator(".path")).to_contain_text("of 2 s")
        expect(page.locator("#standing")).to_have_text("SLA missed")
    assert tab.errors == []


def test_a_decision_opens_its_reason_and_the_state_of_that_moment(tab: Tab, recorded: Path) -> None:
    with Journal(recorded, read_only=True) as journal, Dashboard(journal, "127.0.0.1:0", recorded=True) as dashboard:
        page = tab.open(dashboard.url, "finished")
        page.locator("#filter-ruling").select_option("accepted")
        first = page.locator(".decision").last
        first.locator("summary").click()
        expect(first.locator(".reason")).to_contain_text("scale in 2 -> 1")
        expect(first.locator("table")).to_contain_text("utilisation")
        expect(page.locator("#moment")).to_contain_text("as of 0:")
        page.keyboard.press("Escape")
        expect(page.locator("#moment")).to_be_empty()
        page.locator("#filter-kind").select_option("move")
        expect(page.locator("#decision-list")).to_have_text("No decisions.")
    assert tab.errors == []


def test_a_mark_opens_its_decision(tab: Tab, recorded: Path) -> None:
    with Journal(recorded, read_only=True) as journal, Dashboard(journal, "127.0.0.1:0", recorded=True) as dashboard:
        page = tab.open(dashboard.url, "finished")
        mark = page.locator(".mark").last
        moment = mark.text_content().split()[0]
        mark.hover()
        page.mouse.down()
        page.mouse.up()
        expect(page.locator(".decision details[open] time")).to_have_text(moment)
    assert tab.errors == []


def test_the_cursor_moves_by_keys(tab: Tab, recorded: Path) -> None:
    with Journal(recorded, read_only=True) as journal, Dashboard(journal, "127.0.0.1:0", recorded=True) as dashboard:
        page = tab.open(dashboard.url, "finished")
        page.locator("#charts").focus()
        page.keyboard.press("Home")
        page.keyboard.press("Enter")
        expect(page.locator("#moment")).to_contain_text("as of 0:00")
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        expect(page.locator("#moment")).to_contain_text("as of 1:00")
    assert tab.errors == []


def test_nothing_is_shown_before_the_curves_have_arrived(tab: Tab, recorded: Path) -> None:
    held = []
    tab.page.route("**/api/timeline?*", lambda route: held.append(route))
    with Journal(recorded, read_only=True) as journal, Dashboard(journal, "127.0.0.1:0", recorded=True) as dashboard:
        with tab.page.expect_response("**/api/state?*"):
            tab.page.goto(dashboard.url)
        tab.page.evaluate(TWO_FRAMES)
        expect(tab.page.locator("body")).to_have_attribute("data-state", "loading")
        held[0].continue_()
        expect(tab.page.locator("body")).to_have_attribute("data-state", "finished")
    assert tab.errors == []


def test_a_late_answer_about_another_moment_is_dropped(tab: Tab, recorded: Path) -> None:
    with Journal(recorded, read_only=True) as journal, Dashboard(journal, "127.0.0.1:0", recorded=True) as dashboard:
        page = tab.open(dashboard.url, "finished")
        held = []
        page.route("**/api/state?at=*", lambda route: held.append(route), times=1)
        page.locator("#charts").focus()
        page.keyboard.press("Home")
        with page.expect_request("**/api/state?at=*"):
            page.keyboard.press("Enter")
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        expect(page.locator("#moment")).to_contain_text("as of 1:00")
        with page.expect_response("**/api/state?at=*"):
            held[0].continue_()
        page.evaluate(TWO_FRAMES)
        expect(page.locator("#moment")).to_contain_text("as of 1:00")
    assert tab.errors == []


def test_without_the_token_the_page_is_read_only(tab: Tab, live: LiveRun) -> None:
    page = tab.open(live.dashboard.url)
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    page.get_by_role("button", name="Steer").click()
    page.locator("dialog input[type=password]").fill("a guess")
    page.get_by_role("button", name="Use it").click()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("dialog .error")).to_contain_text("not the one that was printed")
    assert not live.controller.paused
    assert live.journal.commands() == []


def test_pausing_stops_decisions_and_resuming_goes_on(tab: Tab, live: LiveRun) -> None:
    page = tab.open(live.dashboard.steering_url)
    assert live.dashboard.token not in page.url
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("body[data-state=paused]")).to_be_visible()
    expect(page.locator(".decision").first).to_contain_text("the controller is paused")
    plan = live.controller.plan
    point = live.journal.newest().point
    page.get_by_role("button", name="Resume").click()
    assert live.controller.plan is plan or live.journal.newest().point > point
    expect(page.locator("body[data-state=live]")).to_be_visible()
    expect(page.locator(".decision").first).to_contain_text("restless: scale")
    assert [command.kind for command in live.journal.commands()] == ["pause", "resume"]
    assert tab.errors == []


def test_a_pool_is_scaled_and_the_goal_changed_by_hand(tab: Tab, live: LiveRun) -> None:
    page = tab.open(live.dashboard.steering_url)
    page.get_by_role("button", name="Pause").click()
    page.locator('.node[data-key="count"]').click()
    page.get_by_label("Executors", exact=True).fill("4")
    page.get_by_role("button", name="Scale").click()
    expect(page.locator(".decision", has_text="count: scale to 4 executors")).to_be_visible()
    page.get_by_role("button", name="Goal").click()
    page.get_by_label("SLA: latency / window").fill("3s/20s")
    page.get_by_role("button", name="Change").click()
    expect(page.locator("#subtitle")).to_contain_text("SLA 3s over 20s")
    assert live.controller.goal.end_to_end.latency_s == 3.0
    assert live.controller.goal.budget.total == 9
    page.get_by_role("button", name="Goal").click()
    page.get_by_label("Most executors of all").fill("")
    page.get_by_role("button", name="Change").click()
    expect(page.locator("#subtitle")).not_to_contain_text("at most 9 executors")
    assert live.controller.goal.budget.total is None
    assert tab.errors == []


def test_a_dropped_connection_recovers_by_itself(tab: Tab, tmp_path: Path) -> None:
    with live_run(tmp_path / "first.db") as run:
        page = tab.open(run.dashboard.url)
        address = run.dashboard.url.split("/")[2]
        tab.context.set_offline(True)
        for inbox in list(run.dashboard._feed._inboxes):
            inbox.put(None)
        expect(page.locator("body[data-state=disconnected]")).to_be_visible()
        tab.context.set_offline(False)
        expect(page.locator("body[data-state=live]")).to_be_visible()
        before = page.locator(".figure", has_text="SLA kept").inner_text()
        expect(page.locator(".figure", has_text="SLA kept")).not_to_have_text(before)
    expect(page.locator("body[data-state=finished]")).to_be_visible()
    assert address in page.url


def test_a_run_that_has_not_begun_is_said_to_be_none(tab: Tab, tmp_path: Path) -> None:
    with Journal(tmp_path / "empty.db") as journal, Dashboard(journal, "127.0.0.1:0") as dashboard:
        page = tab.open(dashboard.url, "empty")
        expect(page.locator("#empty")).to_have_text("The run has not begun yet.")
    assert tab.errors == []


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_nothing_is_cut_off_on_a_narrow_screen(browser, recorded: Path, scheme: str) -> None:
    tab = Tab(browser, color_scheme=scheme)
    tab.page.set_viewport_size({"width": 360, "height": 740})
    with Journal(recorded, read_only=True) as journal, Dashboard(journal, "127.0.0.1:0", recorded=True) as dashboard:
        page = tab.open(dashboard.url, "finished")
        expect(page.locator(".decision").first).to_be_visible()
        page.locator('.node[data-key="count"]').click()
        expect(page.locator("#operator canvas")).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    tab.context.close()
    assert tab.errors == []
