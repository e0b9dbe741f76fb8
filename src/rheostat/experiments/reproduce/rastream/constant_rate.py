"""Constant rate: an application under each scheduler at a constant rate, measured after its tasks are placed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rheostat.experiments.replicate import Mean, mean_of
from rheostat.experiments.reproduce.rastream.applications import IO_MS, NODE_HOP_MS, RaStreamApplication
from rheostat.experiments.reproduce.rastream.node_usage import nodes_used
from rheostat.experiments.reproduce.rastream.schedulers import FRAME_S, STRATEGIES, case
from rheostat.experiments.reproduce.reproduction import Effort, Progress
from rheostat.experiments.reproduce.turn_log import TurnLog, simulate_with_log

SETTLED_S = 6 * FRAME_S + 15
"""Plans are corrected at the end of the first frames, and a move leaves a backlog: the paper, too, waits until latency
has settled."""
_MEASURED_S, _MEASURED_QUICK_S = 120.0, 15.0


@dataclass(frozen=True)
class ConstantRateRuns:
    """The runs of one scheduler at one rate."""

    rate: float
    strategy: str
    logs: tuple[TurnLog, ...]

    @cached_property
    def latency_ms(self) -> Mean:
        """Mean latency after SETTLED_S, averaged over the runs."""
        return mean_of([_mean_ms(log) for log in self.logs])

    @cached_property
    def nodes(self) -> float:
        """Nodes in use at the end, averaged over the runs."""
        return sum(nodes_used(log.turns[-1]) for log in self.logs) / len(self.logs)


def constant_rate_runs(
    app: RaStreamApplication,
    rates: Sequence[float],
    effort: Effort,
    progress: Progress,
    io_ms: float = IO_MS,
    node_hop_ms: float = NODE_HOP_MS,
) -> dict[tuple[str, float], ConstantRateRuns]:
    """Runs of every scheduler at every rate."""
    wanted = [(strategy, rate) for rate in rates for strategy in STRATEGIES]
    duration_s = SETTLED_S + effort.choose(_MEASURED_S, _MEASURED_QUICK_S)
    found = {}
    for done, (strategy, rate) in enumerate(wanted, start=1):
        scenario = app.scenario(rate, duration_s, io_ms=io_ms, node_hop_ms=node_hop_ms)
        wanted_case = case(scenario, strategy, node_cost=f"{node_hop_ms}ms")
        logs = tuple(simulate_with_log(wanted_case, seed)[1] for seed in range(effort.seeds))
        found[strategy, rate] = ConstantRateRuns(rate, strategy, logs)
        progress(done / len(wanted))
    return found


def _mean_ms(log: TurnLog) -> float:
    seen = [
        turn.snapshot.latency
        for turn in log.turns
        if turn.time_s > SETTLED_S and turn.snapshot is not None and turn.snapshot.latency is not None
    ]
    return 1e3 * sum(each.count * each.mean_s for each in seen) / sum(each.count for each in seen)
