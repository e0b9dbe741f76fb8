"""The server of the page: what it serves, to whom, and what it refuses."""

import http.client
import json
import time
from pathlib import Path

import httpx
import pytest
from dashboard_runs import LiveRun, live_run

from rheostat.errors import ConfigError
from rheostat.journal import Journal
from rheostat.web import Dashboard
from rheostat.web.feed import MOST_PAGES
from rheostat.web.server import MOST_BYTES


@pytest.fixture
def finished(recorded: Path):
    with Journal(recorded, read_only=True) as journal, Dashboard(journal, "127.0.0.1:0", recorded=True) as dashboard:
        yield dashboard


def get(dashboard, path, **more):
    return httpx.get(f"{dashboard.url}{path}", **more)


def steer(run: LiveRun, request, *, token=None, **headers):
    bearer = {"Authorization": f"Bearer {run.dashboard.token if token is None else token}"}
    return httpx.post(f"{run.dashboard.url}api/steer", json=request, headers={**bearer, **headers})


def eventually(condition, what):
    deadline_s = time.monotonic() + 30
    while not (found := condition()):
        assert time.monotonic() < deadline_s, what
        time.sleep(0.02)
    return found


def test_a_recorded_run_is_served_whole(finished) -> None:
    opening = get(finished, "api/run").json()
    assert opening["controls"] == {"paused": False, "dry_run": False, "finished": True, "steerable": False}
    assert [part["name"] for part in opening["run"]["parts"]][:3] == ["in", "parse", "count"]
    assert opening["run"]["totals"]["turns"] == 61
    points = get(finished, "api/timeline", params={"points": 10}).json()
    assert (points[0][0], points[-1][1], sum(point[2] for point in points)) == (0.0, 60.0, 61)
    assert get(finished, "api/state", params={"at": 12.5}).json()["time_s"] == 12.0


def test_decisions_are_filtered(finished) -> None:
    def ask(**filters):
        page = get(finished, "api/decisions", params=filters).json()
        assert page["next"] is None
        return page["entries"]

    everything, done = ask(), ask(ruling="accepted")
    assert {entry["ruling"] for entry in everything} == {"accepted", "refused"}
    assert done == [entry for entry in everything if entry["ruling"] == "accepted"]
    assert ask(operator="count", ruling="accepted") == [entry for entry in done if entry["subject"] == "count"]
    assert ask(kind="move") == []
    assert ask(before=done[0]["id"], ruling="accepted") == done[1:]
    assert get(finished, "api/actions", params={"from": 0, "until": 60}).json() == done


@pytest.mark.parametrize(
    ("path", "status", "why"),
    [
        ("nothing", 404, "there is nothing at /nothing"),
        ("static/../server.py", 404, "there is nothing"),
        ("api/timeline?points=0", 422, "points 0 must be a number from 1"),
        ("api/timeline?from=soon", 422, "from 'soon' is no number"),
        ("api/operator?name=cuont", 422, "did you mean 'count'"),
    ],
)
def test_what_cannot_be_served_is_refused_with_the_reason(finished, path, status, why) -> None:
    answer = get(finished, path)
    assert (answer.status_code, why in answer.json()["error"]) == (status, True)


def test_only_files_of_the_page_are_served_and_nothing_from_elsewhere_runs_in_it(finished) -> None:
    page = get(finished, "")
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in page.text
    assert get(finished, "app.js").headers["Content-Type"].startswith("text/javascript")


def test_another_name_for_this_machine_is_not_answered(finished) -> None:
    answer = get(finished, "api/run", headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json()["error"]) == (403, "'evil.example' is not the name of this page")


def test_a_recorded_run_cannot_be_steered(finished) -> None:
    headers = {"Authorization": f"Bearer {finished.token}"}
    answer = httpx.post(f"{finished.url}api/steer", json={"do": "pause"}, headers=headers)
    assert answer.status_code == 409


def test_steering_needs_the_token(live: LiveRun) -> None:
    for token in ("none", "guess", live.dashboard.token + "x"):
        assert steer(live, {"do": "pause"}, token=token).status_code == 401
    assert not live.controller.paused
    assert steer(live, {"do": "pause", "by": "anna"}).json()["paused"]
    assert live.controller.paused
    assert steer(live, {"do": "resume"}).json()["paused"] is False
    eventually(lambda: len(live.journal.commands()) == 2, "both are in the journal")
    assert [(each.kind, each.by) for each in live.journal.commands()] == [
        ("pause", "anna (127.0.0.1)"), ("resume", "dashboard (127.0.0.1)"),
    ]  # fmt: skip


def test_other_sites_cannot_steer(live: LiveRun) -> None:
    assert steer(live, {"do": "pause"}, Origin="http://evil.example").status_code == 403
    bearer = {"Authorization": f"Bearer {live.dashboard.token}"}
    plain = httpx.post(
        f"{live.dashboard.url}api/steer", content='{"do": "pause"}', headers={**bearer, "Content-Type": "text/plain"}
    )
    assert plain.status_code == 415
    assert httpx.options(f"{live.dashboard.url}api/steer").status_code == 501
    assert not live.controller.paused


def test_an_oversized_body_is_refused_unread(live: LiveRun) -> None:
    connection = http.client.HTTPConnection(live.dashboard.url.split("/")[2])
    connection.putrequest("POST", "/api/steer")
    for name, value in (("Authorization", f"Bearer {live.dashboard.token}"), ("Content-Type", "application/json")):
        connection.putheader(name, value)
    connection.putheader("Content-Length", str(MOST_BYTES + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({"do": "explode"}, "explode"),
        ({"do": "scale", "pool": "parse"}, "executors"),
        ({"do": "scale", "pool": "prase", "executors": 2}, "did you mean 'parse'"),
        ({"do": "scale", "pool": "parse", "executors": 0}, "executors"),
        ({"do": "move", "operator": "parse", "substreams": [0], "target": 0}, "has no substreams"),
        ({"do": "move", "operator": "count", "substreams": [8], "target": 0}, "only 0 to 7"),
        ({"do": "move", "operator": "count", "substreams": [0], "target": 99}, "executor 99 does not serve"),
        ({"do": "goal", "slas": {"": "soon"}}, "'soon' is not a duration"),
        ({"do": "goal", "slas": {"at cuont": "1s"}}, "did you mean 'at count'"),
        ({"do": "goal", "total": 2}, "below the 3"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_with_the_reason(live: LiveRun, request_, why) -> None:
    answer = steer(live, request_)
    assert (answer.status_code, why in answer.json()["error"]) == (422, True), answer.text


def test_a_request_is_judged_by_the_guards_and_recorded_with_who_asked(live: LiveRun) -> None:
    steer(live, {"do": "pause"})
    owner = live.controller.plan.assignment["count"][0]
    target = next(each for each in live.controller.plan.pool("count").executors if each != owner)
    eventually(lambda: live.journal.newest().point > 3, "it is measured")
    steer(live, {"do": "move", "operator": "count", "substreams": [0], "target": target, "by": "anna"})
    eventually(lambda: live.controller.plan.assignment["count"][0] == target, "it was moved")
    steer(live, {"do": "scale", "pool": "parse", "executors": 5, "by": "anna"})

    def refused():
        found = live.journal.newest_decisions(100, operator="parse", ruling="refused")
        return [each for each in found if each.decision.by]

    [refusal] = eventually(refused, "it is judged")
    assert refusal.why == "5 executors for pool 'parse', which may have 4 at most"


def test_another_goal_is_in_force_and_shown(live: LiveRun) -> None:
    assert (
        steer(live, {"do": "goal", "slas": {"": "2s/10s", "at count": "1500ms/5s"}, "most": {"parse": 3}}).status_code
        == 200
    )
    assert live.controller.goal.end_to_end.latency_s == 2.0
    assert live.controller.goal.sla_of("count").latency_s == 1.5
    goals = get(live.dashboard, "api/run").json()["run"]["goals"]
    assert [(goal["limit_s"], goal["total"], goal["most"]) for goal in goals] == [
        (1.0, 9, {"parse": 4}), (2.0, 9, {"parse": 3}),
    ]  # fmt: skip


def test_the_limit_of_all_executors_is_changed_and_lifted(live: LiveRun) -> None:
    for total in (12, None):
        assert steer(live, {"do": "goal", "total": total}).status_code == 200
        assert live.controller.goal.budget.total == total
    assert steer(live, {"do": "goal", "most": {}}).status_code == 200
    assert live.controller.goal.budget.total is None


def test_changes_are_told_as_they_happen_until_the_end(live: LiveRun) -> None:
    with httpx.stream("GET", f"{live.dashboard.url}api/events", timeout=30) as stream:
        lines = (json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: "))
        first = next(lines)
        second = next(lines)
        assert second["points"][-1][1] > first["points"][-1][1]
        assert second["state"]["time_s"] > first["state"]["time_s"]
        live.stop()
        live.dashboard.finish()
        last = next(each for each in lines if each["controls"]["finished"])
    assert last["controls"]["steerable"] is False
    assert live.dashboard.pages <= 1


def test_there_is_a_limit_to_open_pages(live: LiveRun) -> None:
    feed = live.dashboard._feed
    opened = [feed.open() for _ in range(MOST_PAGES)]
    inboxes = [each.__enter__() for each in opened]
    assert None not in inboxes
    assert get(live.dashboard, "api/events").status_code == 503
    for each in opened:
        each.__exit__(None, None, None)
    assert feed.pages == 0


def test_beyond_this_machine_everything_needs_the_token(tmp_path: Path) -> None:
    with live_run(tmp_path / "open.db", "0.0.0.0:0") as run:
        url = run.dashboard.url.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(url).status_code == 200  # the page itself, which knows nothing
        for path in ("api/run", "api/events", "api/timeline"):
            assert httpx.get(f"{url}{path}").status_code == 401
        bearer = {"Authorization": f"Bearer {run.dashboard.token}"}
        assert httpx.get(f"{url}api/run", headers=bearer).status_code == 200


@pytest.mark.parametrize("address", ["nowhere.invalid:1", "127.0.0.1:port", "127.0.0.1:70000"])
def test_an_address_that_is_none_is_refused(address, recorded: Path) -> None:
    with Journal(recorded, read_only=True) as journal, pytest.raises(ConfigError, match=address):
        Dashboard(journal, address)


def test_a_taken_port_is_an_error_only_if_it_was_asked_for(recorded: Path) -> None:
    with Journal(recorded, read_only=True) as journal, Dashboard(journal) as first, Dashboard(journal) as second:
        assert first.url != second.url
        with pytest.raises(ConfigError, match="choose another HOST:PORT"):
            Dashboard(journal, first.url.split("/")[2])
