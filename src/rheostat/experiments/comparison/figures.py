"""Figures: means with confidence intervals over the runs of one policy with one setting in one scenario."""

from collections.abc import Sequence
from typing import Any

import msgspec

from rheostat.experiments.comparison.compared_run import ComparedRun
from rheostat.experiments.replicate import Mean, mean_of

COST_RATIO = "cost_ratio"

RUN_FIGURES = (
    "success_rate",
    "mean_executors",
    "executor_seconds",
    "mean_latency_s",
    "p99_latency_s",
    "out_of_sla_s",
    "late",
    "lost",
    "scalings",
    "moves",
    "reversals",
    "scale_ins_late",
    "saved_resources",
    "throughput_degradation",
)
"""Fields of a `ComparedRun`."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A policy with one setting in one scenario.

    `figures` has the mean of each figure that all runs have, and `cost_ratio`, executor-seconds over those of the
    reference, if there is one. `rank` is among the entries with the same setting, 1 the best. `on_front` says whether
    no entry of any setting is both cheaper and more successful.
    """

    policy: str
    setting: str
    options: dict[str, Any]
    figures: dict[str, Mean]
    runs: tuple[ComparedRun, ...]
    on_front: bool = False
    rank: float | None = None

    @property
    def cost(self) -> float:
        return self.figures["executor_seconds"].mean

    @property
    def success(self) -> float:
        """Of no window at all nothing is known; it counts as a failure."""
        known = self.figures.get("success_rate")
        return 0.0 if known is None else known.mean


def entry_of(runs: Sequence[ComparedRun], options: dict[str, Any], cost_of_reference: float | None) -> Entry:
    """The entry for runs that differ in their seeds alone."""
    figures = {}
    for name in RUN_FIGURES:
        values = [getattr(run, name) for run in runs]
        if None not in values:
            figures[name] = mean_of(values)
    if cost_of_reference:
        figures[COST_RATIO] = mean_of([run.executor_seconds / cost_of_reference for run in runs])
    return Entry(policy=runs[0].policy, setting=runs[0].setting, options=options, figures=figures, runs=tuple(runs))
