"""Metrics: the turns of a run as text for Prometheus. The names are stable; docs/metrics.md lists them."""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version

from rheostat.loop.turn import Turn
from rheostat.measure.measures import OperatorMeasures
from rheostat.names import OperatorName
from rheostat.policies.expectation import Expectation
from rheostat.snapshot import ExecutorPhase

_DURATIONS_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_OPERATOR = {
    "arrival_rate": ("arrival_rate", "Records that arrive at the operator, per second."),
    "completion_rate": ("completion_rate", "Records that the operator completes, per second."),
    "service_rate": ("service_rate", "Records that one executor completes in a second of work."),
    "utilisation": ("utilisation_ratio", "Share of their time that the executors of the operator work."),
    "queued": ("queue_records", "Records that arrived at the operator and are not completed."),
    "latency_s": ("latency_seconds", "Mean latency at the operator of what completed in the last turn."),
}

Labels = Mapping[str, str]
Sample = tuple[Labels, float | None]


class RunMetrics:
    """Listens to a controller, and writes what it heard as text. Unknown values are left out."""

    def __init__(self, topology: str = "") -> None:
        self.topology = topology
        self._mutex = threading.Lock()
        self._turn: Turn | None = None
        self._turns, self._executor_s, self._took_s = 0, 0.0, 0.0
        self._decisions: Counter[tuple[str, str, str]] = Counter()
        self._windows: Counter[tuple[str, str]] = Counter()
        self._durations = [0] * len(_DURATIONS_S)
        self._forecasts = ForecastErrors()

    def __call__(self, turn: Turn) -> None:
        with self._mutex:
            self._turn = turn
            self._turns += 1
            self._took_s += turn.took_s
            place = bisect_left(_DURATIONS_S, turn.took_s)
            for bucket in range(place, len(_DURATIONS_S)):
                self._durations[bucket] += 1
            for verdict in turn.verdicts:
                asked = "policy" if verdict.decision.by is None else "request"
                self._decisions[verdict.decision.kind, verdict.ruling.value, asked] += 1
            for standing in turn.standings:
                if standing.missed is not None:
                    self._windows[standing.sla, "missed" if standing.missed else "kept"] += 1
            if turn.snapshot is not None and turn.measures is not None:
                paid = len(turn.snapshot.executors) + turn.capabilities.reserved
                self._executor_s += paid * turn.measures.interval_s
                self._forecasts.observe(
                    turn.time_s, turn.measures.external_rate, turn.measures.interval_s, turn.expected
                )

    def text(self) -> str:
        with self._mutex:
            return "".join(self._families())

    def _families(self) -> Iterator[str]:
        labels = {"topology": self.topology, "version": version("rheostat")}
        yield family("info", "gauge", "What runs.", [(labels, 1.0)])
        yield family("turns_total", "counter", "Turns of the control loop.", [({}, float(self._turns))])
        if self._turn is not None:
            yield from self._pipeline(self._turn)
            yield from self._executors(self._turn)
            yield from self._loop(self._turn)

    def _pipeline(self, turn: Turn) -> Iterator[str]:
        measures, expected = turn.measures, turn.expected
        forecast = None if expected is None else expected.events / max(expected.until_s - expected.from_s, 1e-9)
        yield gauge(
            "input_rate", "Records that enter, per second.", None if measures is None else measures.external_rate
        )
        yield gauge("forecast_rate", "The policy's forecast of the input, per second.", forecast)
        yield gauge(
            "forecast_error_ratio",
            "Difference between the last forecast whose time is over and what came, as a share of what came.",
            self._forecasts.last,
        )
        yield gauge(
            "latency_seconds",
            "Mean latency of the results of the last turn.",
            None if measures is None else measures.latency_s,
        )
        standings = turn.standings
        yield family(
            "sla_latency_seconds", "gauge", "Mean latency over the window of each SLA.",
            [({"sla": each.sla}, each.latency_s) for each in standings],
        )  # fmt: skip
        yield family(
            "sla_limit_seconds", "gauge", "The latency that each SLA allows.",
            [({"sla": each.sla}, each.limit_s) for each in standings],
        )  # fmt: skip
        yield family(
            "sla_windows_total", "counter", "Windows of each SLA, one for each turn, by whether it was kept.",
            [({"sla": sla, "result": result}, float(count)) for (sla, result), count in self._windows.items()],
        )  # fmt: skip
        for field, (name, help_) in _OPERATOR.items():
            operators = {} if measures is None else measures.operators
            yield family(f"operator_{name}", "gauge", help_, _by_operator(operators, field))

    def _executors(self, turn: Turn) -> Iterator[str]:
        executors = () if turn.snapshot is None else turn.snapshot.executors
        counts = Counter((each.pool, each.phase) for each in executors)
        phases = [
            ({"pool": pool, "phase": phase.value}, float(counts[pool, phase]))
            for pool in turn.plan.pools
            for phase in ExecutorPhase
        ]
        yield family("pool_executors", "gauge", "Executors of each pool by phase.", phases)
        planned = [({"pool": name}, float(pool.size)) for name, pool in turn.plan.pools.items()]
        yield family("pool_executors_planned", "gauge", "Executors that should serve in each pool.", planned)
        left = None if turn.executors_left is None else float(turn.executors_left)
        yield gauge("executors_left", "Executors that budget and cluster still allow.", left)
        yield family(
            "executor_seconds_total", "counter", "Seconds of all executors, those for sources too.",
            [({}, self._executor_s)],
        )  # fmt: skip

    def _loop(self, turn: Turn) -> Iterator[str]:
        yield family(
            "decisions_total", "counter", "Decisions by kind, by what became of them, and by who made them.",
            [(dict(zip(("kind", "ruling", "by"), key, strict=True)), float(n)) for key, n in self._decisions.items()],
        )  # fmt: skip
        yield self._histogram("turn_duration_seconds", "Time that a turn of the loop takes.")
        yield gauge("turn_lag_seconds", "How much later than planned the last turn began.", turn.lag_s)
        yield gauge("last_turn_timestamp_seconds", "When the last turn began, on the clock of the run.", turn.time_s)
        yield gauge("paused", "1 while decisions are not carried out.", float(turn.paused))
        yield gauge("dry_run", "1 while decisions are only shown.", float(turn.dry_run))
        yield family(
            "problem", "gauge", "1 for each part of the loop that does not work.",
            [({"place": problem.place}, 1.0) for problem in turn.problems],
        )  # fmt: skip

    def _histogram(self, name: str, help_: str) -> str:
        full = f"rheostat_{name}"
        bounds = [*map(str, _DURATIONS_S), "+Inf"]
        buckets = zip(bounds, [*self._durations, self._turns], strict=True)
        lines = [f'{full}_bucket{{le="{bound}"}} {count}\n' for bound, count in buckets]
        ends = f"{full}_sum {self._took_s!r}\n{full}_count {self._turns}\n"
        return f"# HELP {full} {help_}\n# TYPE {full} histogram\n{''.join(lines)}{ends}"


class ForecastErrors:
    """Compares each forecast with what came, once its time is over."""

    def __init__(self) -> None:
        self.last: float | None = None
        self._waiting: Expectation | None = None
        self._came = 0.0

    def observe(self, time_s: float, rate: float | None, interval_s: float, expected: Expectation | None) -> None:
        """One more turn: what came since the one before, and the latest forecast."""
        waiting = self._waiting
        if waiting is not None:
            self._came += (rate or 0.0) * interval_s
            if time_s >= waiting.until_s - 1e-9:
                self.last = abs(waiting.events - self._came) / self._came if self._came else None
                self._waiting = None
        if self._waiting is None and expected is not None and expected != waiting:
            self._waiting, self._came = expected, 0.0


def gauge(name: str, help_: str, value: float | None) -> str:
    return family(name, "gauge", help_, [({}, value)])


def family(name: str, kind: str, help_: str, samples: Iterable[Sample]) -> str:
    """All samples of one name; nothing if none is known."""
    full = f"rheostat_{name}"
    lines = [f"{full}{_labels(labels)} {value!r}\n" for labels, value in samples if value is not None]
    return f"# HELP {full} {help_}\n# TYPE {full} {kind}\n{''.join(lines)}" if lines else ""


def _labels(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}" if labels else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _by_operator(operators: Mapping[OperatorName, OperatorMeasures], field: str) -> list[Sample]:
    return [({"operator": name}, getattr(measured, field)) for name, measured in operators.items()]
