"""JSON lines: a run in a log, one JSON object for each decision, outcome and problem, and one for every minute."""

import logging
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

from rheostat.cli.plain_lines import status_line
from rheostat.cli.run_history import RunHistory
from rheostat.decision import Decision, GroupDecision, OperatorDecision
from rheostat.describe import describe
from rheostat.loop.turn import WORKS_AGAIN, Ruling, Turn
from rheostat.plan import Plan, StaleDecisionError
from rheostat.sla import SLA

_STATUS_EVERY_S = 60.0


class JsonLines:
    """Listens to a controller and writes a line for what happens. `decision` is the number of the plan that a decision
    led to, as in the journal; its outcome has the same."""

    def __init__(self, sla: SLA | None, output: TextIO = sys.stdout) -> None:
        self._sla, self._output = sla, output
        self._recent = RunHistory()
        self._status_due_s = 0.0
        self._operators: dict[int, list[str]] = {}

    def __call__(self, turn: Turn) -> None:
        self._recent(turn)
        for line in (*self._problems(turn), *self._decisions(turn), *self._outcomes(turn), *self._status(turn)):
            write_line(self._output, turn.time_s, **line)

    def _problems(self, turn: Turn) -> Iterator[dict[str, Any]]:
        for problem in turn.problem_changes:
            level = "info" if problem.what == WORKS_AGAIN else "warning"
            yield {"level": level, "event": "problem", "place": problem.place, "message": problem.what}

    def _decisions(self, turn: Turn) -> Iterator[dict[str, Any]]:
        for verdict in turn.verdicts:
            decision = verdict.decision
            if verdict.ruling is Ruling.HELD:
                continue
            operators = _operators(turn.before, decision)
            if verdict.revision is not None:
                self._operators[verdict.revision] = operators
            yield {
                "level": "info", "event": "decision", "operators": operators, "decision": verdict.revision,
                "kind": decision.kind, "ruling": verdict.ruling.value, "message": describe(decision),
                "reason": decision.reason, "refusal": verdict.why, "by": decision.by or "policy",
                "predicted": decision.predicted,
            }  # fmt: skip

    def _outcomes(self, turn: Turn) -> Iterator[dict[str, Any]]:
        for outcome in turn.outcomes:
            yield {
                "level": "info", "event": "outcome", "operators": self._operators.pop(outcome.revision, []),
                "decision": outcome.revision, "observed": outcome.observed, "message": outcome.note,
            }  # fmt: skip

    def _status(self, turn: Turn) -> Iterator[dict[str, Any]]:
        if self._recent.turns and turn.time_s >= self._status_due_s:
            yield {"level": "info", "event": "status", "message": status_line(self._recent, self._sla)}
            self._recent.turns.clear()
            self._status_due_s = turn.time_s + _STATUS_EVERY_S


class JsonFormatter(logging.Formatter):
    """Messages of other parts of Rheostat as lines of the same kind."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"level": record.levelname.lower(), "event": "log", "message": record.getMessage()}
        return msgspec.json.encode({"time": _time(record.created), **line}).decode()


def log_as_json(output: TextIO = sys.stdout) -> None:
    """Have everything that Rheostat logs written as JSON lines, and nothing of it in another way."""
    handler = logging.StreamHandler(output)
    handler.setFormatter(JsonFormatter())
    log = logging.getLogger("rheostat")
    log.addHandler(handler)
    log.propagate = False


def write_line(output: TextIO, time_s: float, **line: Any) -> None:
    print(msgspec.json.encode({"time": _time(time_s), **line}).decode(), file=output, flush=True)


def _time(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="milliseconds")


def _operators(plan: Plan, decision: Decision) -> list[str]:
    """The operators that `decision` is about; none if it is about a pool that there is not."""
    if isinstance(decision, OperatorDecision):
        return [decision.operator]
    if isinstance(decision, GroupDecision):
        return list(decision.operators)
    try:
        return [operator for pool in plan.pools_of(decision) for operator in plan.sharing(pool)]
    except StaleDecisionError:
        return []
