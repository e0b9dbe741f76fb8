"""Dashboard benchmark: how long a long journal takes to open, and what an open page costs the driver.

Run with `python -m bench.dashboard`. The aims: a week of turns, one a second, opens in under 3 s; an open page costs
under 1 % of a core at a period of 1 s, also with 100 operators and 10,000 substreams, and does not stall the browser.
What a browser does is measured where there are Chromium and Playwright.
"""

import argparse
import math
import shutil
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from rheostat.decision import Scale
from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.policy import Policy
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Goal
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology
from rheostat.web import Dashboard
from rheostat.web.news import News

_WEEK_S = 7 * 86_400
_LONGEST_TASK = "longest = 0; new PerformanceObserver((list) => { for (const each of list.getEntries()) "
_LONGEST_TASK += "longest = Math.max(longest, each.duration); }).observe({ type: 'longtask', buffered: true });"


def pipeline(operators: int, substreams: int) -> Topology:
    """A chain of keyed operators."""
    names = ["in", *(f"op{number}" for number in range(operators))]
    parts = [Operator(name, inputs=before, key="key", substreams=substreams) for before, name in pairwise(names)]
    return Topology("line", [Source("in"), *parts])


def record(path: Path, turns: int, operators: int, substreams: int) -> None:
    topology = pipeline(operators, substreams)
    goal, plan = Goal(topology, (SLA("1s", "10s"),)), Plan.initial(topology, 4)
    plant = FakePlant(topology, arrival_rate=lambda time_s: 200 + 150 * math.sin(time_s / 3600), plan=plan)
    with Journal(path) as journal:
        policy = make_policy("threshold", goal)
        Controller(plant, policy, goal, journal, LoopOptions("1s", cooldown="1m"), plan=plan).run(for_=turns - 1)


def lengthen(path: Path, turns: int) -> None:
    """Repeat the points of a journal until there are so many: snapshots of a whole week would fill the disk."""
    with Journal(path) as journal, journal._file.transaction(durable=False) as connection:
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(points)")][3:]
        [recorded] = connection.execute("SELECT count(*) FROM points").fetchone()
        connection.execute(
            f"WITH RECURSIVE n(i) AS (SELECT {recorded + 1} UNION ALL SELECT i + 1 FROM n WHERE i < {turns}) "
            f"INSERT INTO points SELECT n.i, p.run, n.i - 1.0, {', '.join(f'p.{name}' for name in columns)} "
            f"FROM n JOIN points p ON p.id = 1 + n.i % {recorded}"
        )


def opening(path: Path) -> tuple[float, int]:
    """Seconds until everything is there that a page asks for when it is opened, and how many bytes that is."""
    start_s = time.perf_counter()
    with Journal(path, read_only=True) as journal:
        news = News(journal, recorded=True)
        found = (news.opening(), news.timeline(-math.inf, math.inf, 600), news.decisions(),
                 news.actions(-math.inf, math.inf), news.state(None))  # fmt: skip
        return time.perf_counter() - start_s, len(msgspec.json.encode(found))


class AlwaysRefused(Policy):
    """Wants more than there may be in every turn, so that the list of decisions changes in every turn."""

    def decide(self, observation: Observation) -> list[Scale]:
        return [Scale(pool=PoolName("op0"), executors=10**6, reason="a benchmark")]


def in_browser(path: Path, operator: str) -> None:
    """Seconds until a page is drawn and an operator of it is, and the longest time in which it answers nothing."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("in a browser: not measured, there is no Chromium or no Playwright")
        return
    with (
        Journal(path, read_only=True) as journal,
        Dashboard(journal, "127.0.0.1:0", recorded=True) as board,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page: Any = browser.new_page()
        page.add_init_script(_LONGEST_TASK)
        start_s = time.perf_counter()
        page.goto(board.url)
        page.locator("#charts svg").wait_for()
        opened_s = time.perf_counter() - start_s
        page.locator(f'.node[data-key="{operator}"]').click()
        page.locator("#operator canvas").wait_for()
        shown_s = time.perf_counter() - start_s - opened_s
        print(f"in a browser: opens in {opened_s:.2f} s, an operator in {shown_s:.2f} s; ", end="")
        print(f"longest task {page.evaluate('longest'):.0f} ms")
        browser.close()


def cost_of_a_page(path: Path, operators: int, substreams: int, turns: int) -> tuple[float, float]:
    """Processor seconds of a turn without a page, and what an open page adds to it: its news, and one operator."""
    topology = pipeline(operators, substreams)
    goal, plan = Goal(topology, (SLA("1s", "10s"),)), Plan.initial(topology, 4)
    plant = FakePlant(topology, arrival_rate=200, plan=plan)
    with Journal(path) as journal:
        controller = Controller(plant, AlwaysRefused(goal), goal, journal, LoopOptions("1s"), plan=plan)
        reader = journal.reader()
        news, turn_s, page_s = News(reader, recorded=False), 0.0, 0.0
        for number in range(turns):
            plant.clock.wait_until(float(number))
            start_s = time.process_time()
            controller.turn()
            turned_s = time.process_time()
            news.change()
            msgspec.json.encode(news.operator("op0", None))
            turn_s, page_s = turn_s + turned_s - start_s, page_s + time.process_time() - turned_s
        reader.close()
    return turn_s / turns, page_s / turns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=_WEEK_S)
    arguments, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "week.db"
        record(path, 2_000, operators=8, substreams=64)
        lengthen(path, arguments.turns)
        took_s, size = opening(path)
        print(f"opening {arguments.turns:,} turns: {took_s:.2f} s, {size / 1e3:,.0f} kB")
        in_browser(path, "op0")
        print(f"{'':34}{'turn, ms':>10}{'page, ms':>10}{'of a core':>11}")
        for operators, substreams in ((2, 32), (100, 100)):
            name = f"{operators} operators, {operators * substreams:,} substreams"
            turn_s, page_s = cost_of_a_page(Path(folder) / f"{operators}.db", operators, substreams, 60)
            print(f"{name:34}{turn_s * 1e3:10.2f}{page_s * 1e3:10.2f}{page_s:11.2%}")
        in_browser(Path(folder) / "100.db", "op0")


if __name__ == "__main__":
    main()
