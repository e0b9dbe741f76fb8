"""Metrics: the six metrics of a case as means over its runs, next to the printed values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rheostat.experiments.replicate import Mean, mean_of
from rheostat.experiments.reproduce.pasps.applications import PaspsApplication
from rheostat.experiments.reproduce.reproduction import Cell
from rheostat.experiments.result import Result

NAMES = ("saved resources", "degradation", "processed", "latency (ms)", "input error", "replica error")

Printed = Sequence[float | None]
"""The paper's numbers in the order of `NAMES`, without the errors if nothing is predicted."""


@dataclass(frozen=True)
class Metrics:
    """In the order of `NAMES`."""

    saved: Mean
    degradation: Mean
    processed: Mean
    latency_ms: Mean
    input_error: Mean
    replica_error: Mean

    def cells(self) -> tuple[Mean, ...]:
        return (
            self.saved,
            self.degradation,
            self.processed,
            self.latency_ms,
            self.input_error,
            self.replica_error,
        )


def metrics_of(app: PaspsApplication, results: Sequence[Result]) -> Metrics:
    return Metrics(
        saved=mean_of([1 - result.mean_executors / app.r_over for result in results]),
        degradation=mean_of([result.throughput_degradation or 0.0 for result in results]),
        processed=mean_of([result.processed_share or 0.0 for result in results]),
        latency_ms=mean_of([1e3 * (result.mean_latency_s or 0.0) for result in results]),
        input_error=mean_of([result.prediction_errors.input_error or 0.0 for result in results]),
        replica_error=mean_of([result.prediction_errors.replica_error or 0.0 for result in results]),
    )


def columns(first: str, count: int = len(NAMES)) -> tuple[str, ...]:
    """Two columns, "paper" and "here", for each of the first `count` metrics."""
    return (first, *(f"{name}{side}" for name in NAMES[:count] for side in (": paper", ": here")))


def rows(
    printed: Mapping[str, Printed], found: Mapping[str, Metrics], count: int = len(NAMES)
) -> tuple[tuple[Cell, ...], ...]:
    """A row for each case; the "paper" cells of cases that the paper does not have are empty."""
    return tuple(_row(name, printed.get(name, ()), metrics, count) for name, metrics in found.items())


def _row(name: str, printed: Printed, metrics: Metrics, count: int) -> tuple[Cell, ...]:
    cells: list[Cell] = [name]
    for position, here in enumerate(metrics.cells()[:count]):
        cells += [printed[position] if position < len(printed) else None, here]
    return tuple(cells)
