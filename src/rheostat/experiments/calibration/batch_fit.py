"""Batch fit: the fixed cost, the cost per task and the service time that explain measured micro-batches.

A batch of the simulator lasts c0 + c1·tasks, and then as long as its busiest executor works. With n records there that
is n service times, and a little more if these vary: the busiest of k executors had an unlucky draw.

Cold batches and those in which the machine was busy with something else are far off. They are left out, and least
squares on the others gives means: a fit of medians would make the simulator faster than the plant.
"""

from collections.abc import Sequence
from itertools import combinations
from math import sqrt
from statistics import NormalDist

import msgspec
import numpy as np
from numpy.typing import NDArray

from rheostat.errors import ConfigError
from rheostat.experiments.replicate import t_quantile

Floats = NDArray[np.float64]
Kept = NDArray[np.bool_]

FEWEST_BATCHES = 12
"""Fewer leave too little to judge three parameters and their errors by."""

_FAR_OFF = 6.0
"""Robust standard deviations from the fit beyond which a batch is left out."""
_ROUNDS = 20
_APART = 1e-3
"""Smallest over largest singular value of the regressors below which they cannot be told apart."""
_FAMILIAR_SHARE = 1e-3
"""Of a typical batch: residuals below this are rounding, not noise."""


class MeasuredBatch(msgspec.Struct, frozen=True):
    """One batch: its tasks, the executors that served, and the records of the executor that had the most of them."""

    tasks: int
    executors: int
    longest_rows: float
    duration_s: float


class Estimate(msgspec.Struct, frozen=True):
    """A fitted value and the half-width of its 95 % confidence interval; None if the value was not fitted."""

    value: float
    half_width: float | None = None

    def contains(self, value: float) -> bool:
        return self.half_width is not None and abs(value - self.value) <= self.half_width


class BatchFit(msgspec.Struct, frozen=True):
    """What a batch costs, in seconds: `fixed` + `per_task` · tasks + `service` for each record of one executor.

    `cost_scv` is the squared coefficient of variation of the cost beside the work. `used` batches were fitted, and
    `left_out` were too far off.
    """

    fixed: Estimate
    per_task: Estimate
    service: Estimate
    cost_scv: float
    used: int
    left_out: int

    def expected_s(self, batch: MeasuredBatch, scv: float = 0.0) -> float:
        """How long `batch` should have taken."""
        cost_s = self.fixed.value + self.per_task.value * batch.tasks
        return cost_s + self.service.value * busiest_rows(batch, scv)


def fit_batches(
    name: str,
    batches: Sequence[MeasuredBatch],
    *,
    scv: float = 0.0,
    timed_s: float | None = None,
    tasks_vary: bool = True,
) -> BatchFit:
    """The costs of the batches of operator `name`.

    `scv` is the variation of its service times, `timed_s` their mean where the executors time single records.
    That is used unless the batches say significantly more: they also have what a record costs outside the function.
    Where the tasks are the same in all batches (`tasks_vary` is false: substreams) all cost is fixed.
    """
    used = [batch for batch in batches if batch.longest_rows > 0]
    if len(used) < FEWEST_BATCHES:
        raise ConfigError(
            f"operator {name!r} had {len(used)} batches with records, too few to fit: {FEWEST_BATCHES} are needed; "
            "measure each setting for longer, or give it more input (or less, if it cannot keep up: batches grow then)"
        )
    if tasks_vary and len({batch.tasks for batch in used}) < 2:
        raise ConfigError(
            f"operator {name!r} always ran on {used[0].executors} executors with {used[0].tasks} tasks: its fixed cost "
            "and its cost per task cannot be told apart; give several numbers, e.g. --executors 1,2,4"
        )
    columns = _columns(used, scv, tasks_vary)
    duration_s = np.array([batch.duration_s for batch in used])
    if not _can_be_told_apart(columns):
        if timed_s is None:
            rows = round(float(np.median(columns[:, -1])))
            raise ConfigError(
                f"the service time of operator {name!r} is not identified: its batches had about {rows} records for "
                "each executor all the time; change the input, e.g. with --rates 5,10,15"
            )
        fit = _with_service(columns, duration_s, timed_s)
    else:
        fit = _fitted(columns, duration_s)
        if timed_s is not None and (fit.service.value < timed_s or fit.service.contains(timed_s)):
            fit = _with_service(columns, duration_s, timed_s)
    return fit


def busiest_rows(batch: MeasuredBatch, scv: float) -> float:
    """The mean service times that the busiest executor works for: its records, and the luck of the draw."""
    return batch.longest_rows + sqrt(scv * batch.longest_rows) * expected_largest(batch.executors)


def expected_largest(count: int) -> float:
    """The expected largest of `count` standard normal numbers (Blom)."""
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25)) if count > 1 else 0.0


def _columns(batches: Sequence[MeasuredBatch], scv: float, tasks_vary: bool) -> Floats:
    """The regressors: 1, the tasks if they vary, the records of the busiest executor."""
    ones = [1.0] * len(batches)
    tasks = [[float(batch.tasks) for batch in batches]] if tasks_vary else []
    return np.array([ones, *tasks, [busiest_rows(batch, scv) for batch in batches]]).T


def _can_be_told_apart(columns: Floats) -> bool:
    scaled = columns / np.linalg.norm(columns, axis=0)
    values = np.linalg.svd(scaled, compute_uv=False)
    return bool(values[-1] > _APART * values[0])


def _fitted(columns: Floats, duration_s: Floats) -> BatchFit:
    values, half_widths, kept = _robust(columns, duration_s)
    return _result(columns, duration_s, values, half_widths, kept)


def _with_service(columns: Floats, duration_s: Floats, service_s: float) -> BatchFit:
    """The costs beside the work, given the service time."""
    costs, rows = columns[:, :-1], columns[:, -1]
    values, half_widths, kept = _robust(costs, duration_s - service_s * rows)
    return _result(columns, duration_s, np.append(values, service_s), np.append(half_widths, np.nan), kept)


def _result(
    columns: Floats, duration_s: Floats, values: Floats, half_widths: Floats, kept: NDArray[np.bool_]
) -> BatchFit:
    known = [
        Estimate(float(value), None if np.isnan(width) else float(width))
        for value, width in zip(values, half_widths, strict=True)
    ]
    fixed, *per_task, service = known
    residuals_s = (duration_s - columns @ values)[kept]
    cost_s = float(np.mean(columns[kept, :-1] @ values[:-1]))
    scv = float(np.var(residuals_s)) / cost_s**2 if cost_s > 0 else 0.0
    return BatchFit(
        fixed, per_task[0] if per_task else Estimate(0.0), service, scv, int(kept.sum()), int((~kept).sum())
    )


def _robust(columns: Floats, target: Floats) -> tuple[Floats, Floats, Kept]:
    """Least squares without the batches that are far off: values, half-widths, and which batches were used."""
    residuals = target - columns @ _least_absolute(columns, target)
    kept = np.ones(len(target), dtype=bool)
    values = np.zeros(columns.shape[1])
    for _ in range(_ROUNDS):
        spread = 1.4826 * float(np.median(np.abs(residuals - np.median(residuals))))
        spread = max(spread, _FAMILIAR_SHARE * float(np.median(np.abs(target))))
        now = np.abs(residuals) <= _FAR_OFF * spread
        if now.sum() <= columns.shape[1]:
            break
        values = _not_negative(columns[now], target[now])
        residuals = target - columns @ values
        if np.array_equal(now, kept):
            break
        kept = now
    return values, _half_widths(columns[kept], residuals[kept]), kept


def _least_absolute(columns: Floats, target: Floats) -> Floats:
    """The values with the least sum of absolute errors, which a few wild batches do not change."""
    weights = np.ones(len(target))
    values: Floats = np.zeros(columns.shape[1])
    floor = 1e-6 * max(1e-9, float(np.median(np.abs(target))))
    for _ in range(_ROUNDS * 2):
        root = np.sqrt(weights)
        values = np.asarray(np.linalg.lstsq(columns * root[:, None], target * root, rcond=None)[0], dtype=np.float64)
        weights = 1.0 / np.maximum(np.abs(target - columns @ values), floor)
    return values


def _not_negative(columns: Floats, target: Floats) -> Floats:
    """Least squares with all values at least 0: the best of the fits in which some are 0 and no other is negative."""
    count = columns.shape[1]
    best: Floats = np.zeros(count)
    least = float(target @ target)
    for size in range(count, 0, -1):
        for chosen in combinations(range(count), size):
            part = np.linalg.lstsq(columns[:, chosen], target, rcond=None)[0]
            error = target - columns[:, chosen] @ part
            if (part >= 0).all() and float(error @ error) < least:
                best, least = np.zeros(count), float(error @ error)
                best[list(chosen)] = part
    return best


def _half_widths(columns: Floats, residuals: Floats) -> Floats:
    degrees = len(residuals) - columns.shape[1]
    variance = float(residuals @ residuals) / degrees
    spread = np.sqrt(variance * np.diag(np.linalg.pinv(columns.T @ columns)))
    return np.asarray(t_quantile(degrees) * spread)
