"""Webhook: tells another program when an SLA is missed, a scaling brought nothing, or the budget is exhausted."""

import logging
import queue
import threading
import time
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec

from rheostat.decision import Scale
from rheostat.describe import describe, executors
from rheostat.duration import human
from rheostat.errors import ConfigError
from rheostat.loop.turn import Outcome, Ruling, Turn

_LOG = logging.getLogger("rheostat")
_MOST_WAITING = 100
_TIMEOUT_S = 5.0
_RETRY_AFTER_S = (1.0, 5.0, 0.0)


class Alert(msgspec.Struct, frozen=True, omit_defaults=True):
    """What happened: `event` is "sla-violation", "budget-exhausted" or "ineffective-scaling".

    The first two begin and end, which is the `state`. `text` says it in words. `decision` is the number of the plan
    that the decision led to, as in the journal.
    """

    event: str
    state: str
    time_s: float
    topology: str
    text: str
    sla: str = ""
    operator: str = ""
    decision: int | None = None


class AlertRules:
    """Finds alerts in the turns of a run: each when it begins, and once more when it ends."""

    def __init__(self, topology: str) -> None:
        self._topology = topology
        self._missed: frozenset[str] = frozenset()
        self._exhausted = False
        self._scales: dict[int, Scale] = {}

    def alerts(self, turn: Turn) -> Iterator[Alert]:
        yield from self._violations(turn)
        yield from self._exhaustion(turn)
        yield from self._ineffective(turn)

    def _violations(self, turn: Turn) -> Iterator[Alert]:
        known = {each.sla: each for each in turn.standings if each.missed is not None}
        missed = frozenset(sla for sla, each in known.items() if each.missed)
        for sla in sorted(missed - self._missed):
            text = f"SLA {sla} is missed: latency {human(known[sla].latency_s or 0.0)}"
            yield self._alert(turn, "sla-violation", "began", text, sla=sla)
        for sla in sorted((self._missed - missed) & known.keys()):
            yield self._alert(turn, "sla-violation", "ended", f"SLA {sla} is kept again", sla=sla)
        self._missed = missed | (self._missed - known.keys())

    def _exhaustion(self, turn: Turn) -> Iterator[Alert]:
        """While an SLA is missed and no executor is left that could be added."""
        exhausted = turn.executors_left is not None and turn.executors_left <= 0 and bool(self._missed)
        if exhausted and not self._exhausted:
            text = f"the budget is exhausted with {executors(turn.plan.total)}, and an SLA is missed"
            yield self._alert(turn, "budget-exhausted", "began", text)
        elif self._exhausted and not exhausted:
            yield self._alert(turn, "budget-exhausted", "ended", "the budget is no longer exhausted")
        self._exhausted = exhausted

    def _ineffective(self, turn: Turn) -> Iterator[Alert]:
        """A scale that was not finished, or after which latency is over an SLA that it was to keep."""
        limit_s = min((each.limit_s for each in turn.standings), default=None)
        for outcome in turn.outcomes:
            scale = self._scales.pop(outcome.revision, None)
            if scale is None:
                continue
            if (why := _why_ineffective(scale, outcome, limit_s)) is not None:
                text = f"{scale.pool}: {describe(scale)} brought nothing: {why}"
                more = {"operator": scale.pool, "decision": outcome.revision}
                yield self._alert(turn, "ineffective-scaling", "began", text, **more)
        for verdict in turn.ruled(Ruling.ACCEPTED):
            if isinstance(verdict.decision, Scale) and verdict.revision is not None:
                self._scales[verdict.revision] = verdict.decision

    def _alert(self, turn: Turn, event: str, state: str, text: str, **more: Any) -> Alert:
        return Alert(event, state, turn.time_s, self._topology, text, **more)


def _why_ineffective(scale: Scale, outcome: Outcome, limit_s: float | None) -> str | None:
    if outcome.observed is None:
        return outcome.note if outcome.note.startswith("not finished") else None
    told_s, came_s = None if scale.predicted is None else scale.predicted.latency_s, outcome.observed.latency_s
    if told_s is None or came_s is None or limit_s is None or not told_s <= limit_s < came_s:
        return None
    return f"latency is {human(came_s)}, {human(told_s)} was predicted"


class Webhook:
    """A listener that posts alerts as JSON to `url`, in a thread of its own; the run never waits for it."""

    def __init__(self, url: str, topology: str) -> None:
        check_url(url)
        self._url, self._rules = url, AlertRules(topology)
        self._waiting: queue.Queue[Alert] = queue.Queue(_MOST_WAITING)
        threading.Thread(target=self._post_all, name="rheostat-webhook", daemon=True).start()

    def __call__(self, turn: Turn) -> None:
        for alert in self._rules.alerts(turn):
            try:
                self._waiting.put_nowait(alert)
            except queue.Full:
                _LOG.warning("webhook: too many alerts wait, %s is left out", alert.event)

    def _post_all(self) -> None:
        while True:
            self._post(self._waiting.get())

    def _post(self, alert: Alert) -> None:
        request = urllib.request.Request(
            self._url, msgspec.json.encode(alert), {"Content-Type": "application/json"}, method="POST"
        )
        for wait_s in _RETRY_AFTER_S:
            try:
                with urllib.request.urlopen(request, timeout=_TIMEOUT_S):
                    return
            except OSError as error:
                failure = error
                time.sleep(wait_s)
        _LOG.warning("webhook: %s could not be told: %s", alert.event, failure)


def check_url(url: str) -> None:
    """Refuse what is no address of the web."""
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise ConfigError(f"webhook {url!r} is no address: write e.g. https://example.org/alerts")
