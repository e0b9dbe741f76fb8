"""Ranking: the order of the policies in one scenario, and over all of them.

In a scenario, policies that reach the target are ranked by what they cost, the others behind them by their success
rate. The target is 99 % of the windows, or the highest success rate of any policy there if none reaches that. Policies
that are equal share a rank, and one without a result comes last. Policies with default and with tuned settings are
ranked apart.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean, median

import msgspec

from rheostat.experiments.clairvoyant.schedule import TARGET
from rheostat.experiments.comparison.figures import COST_RATIO, Entry


class RankedPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A policy over all scenarios. `met` counts those in which it met the SLA in 99 % of the windows, `on_front` those
    in which it is on the Pareto front, `scenarios` those in which it has a result."""

    policy: str
    setting: str
    mean_rank: float
    median_success: float
    worst_success: float
    median_cost_ratio: float | None
    met: int
    on_front: int
    scenarios: int


def ranks(entries: Sequence[Entry]) -> list[float]:
    """The rank of each entry of one scenario and setting; equals share the mean of their ranks."""
    target = min(TARGET, max((entry.success for entry in entries), default=0.0))
    order = [(0.0, entry.cost) if entry.success >= target else (1.0, -entry.success) for entry in entries]
    return [sum(other < own for other in order) + (sum(other == own for other in order) + 1) / 2 for own in order]


def summary(by_scenario: Sequence[Sequence[Entry]], setting: str) -> tuple[RankedPolicy, ...]:
    """All policies with `setting`, the best mean rank first."""
    tables = [{entry.policy: entry for entry in entries if entry.setting == setting} for entries in by_scenario]
    names = {policy: None for table in tables for policy in table}
    found = [_ranked(policy, setting, tables, len(names)) for policy in names]
    return tuple(sorted(found, key=lambda each: (each.mean_rank, -each.median_success)))


def _ranked(policy: str, setting: str, tables: Sequence[Mapping[str, Entry]], last: int) -> RankedPolicy:
    own = [table[policy] for table in tables if policy in table]
    ratios = [entry.figures[COST_RATIO].mean for entry in own if COST_RATIO in entry.figures]
    places = [table[policy].rank or float(last) if policy in table else float(last) for table in tables if table]
    return RankedPolicy(
        policy=policy,
        setting=setting,
        mean_rank=fmean(places),
        median_success=median(entry.success for entry in own),
        worst_success=min(entry.success for entry in own),
        median_cost_ratio=median(ratios) if ratios else None,
        met=sum(entry.success >= TARGET for entry in own),
        on_front=sum(entry.on_front for entry in own),
        scenarios=len(own),
    )
