"""Volumes: the records that each operator has to process in the next iteration (DABS-Storm eq. 3 to 5)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rheostat.forecast import Forecaster
from rheostat.forecast.models.regression import BestFit
from rheostat.graph import strong_components
from rheostat.names import OperatorName
from rheostat.policies.dabs.monitor import Iteration
from rheostat.policies.dabs.options import DabsOptions
from rheostat.topology import Stream, Topology


@dataclass(frozen=True)
class Volume:
    """EstimInput of an operator and what it is made of; `parents` is None without parents.

    `passed_on` is what the operator can process of it: its children inherit no backlog beyond that.
    """

    own: float
    parents: float | None
    pending: float
    expected: float
    passed_on: float


class VolumeEstimator:
    """Combines an operator's own trend with what its parents will send it."""

    def __init__(self, topology: Topology, options: DabsOptions) -> None:
        self._topology, self._options = topology, options
        self._order = _parents_first(topology)
        self._forecaster = Forecaster(BestFit())

    def volumes(
        self, iteration: Iteration, deliverable: Mapping[OperatorName, float] | None = None
    ) -> dict[OperatorName, Volume]:
        """By operator, in the order in which records flow; `deliverable` is what each can process, if it is known."""
        found: dict[OperatorName, Volume] = {}
        for operator in self._order:
            most = (deliverable or {}).get(operator, math.inf)
            found[operator] = self._volume(operator, iteration, found, most)
        return found

    def _volume(
        self, operator: OperatorName, iteration: Iteration, found: Mapping[OperatorName, Volume], most: float
    ) -> Volume:
        rates = self._forecaster.forecast(iteration.arrival_rates(operator), self._options.samples)
        own = rates.total * self._options.sample_s
        parents = self._from_parents(operator, iteration, found)
        combine = max if self._options.combine == "max" else min
        pending = iteration.pending(operator)
        flow = own if parents is None else combine(own, parents)
        return Volume(own, parents, pending, flow + pending, max(flow, min(flow + pending, most)))

    def _from_parents(
        self, operator: OperatorName, iteration: Iteration, found: Mapping[OperatorName, Volume]
    ) -> float | None:
        """Σ EstimOutput of the parents; None for an operator that only sources feed: its own trend is theirs."""
        streams = self._topology.into(operator)
        if all(stream.producer in self._topology.sources for stream in streams):
            return None
        return sum(self._sent(stream, iteration, found) for stream in streams)

    def _sent(self, stream: Stream, iteration: Iteration, found: Mapping[OperatorName, Volume]) -> float:
        """EstimOutput over one stream (eq. 4). What comes from a source, or around a loop, counts as it was last."""
        rows, producer = iteration.rows(stream.name, stream.consumer), OperatorName(stream.producer)
        if producer in found:
            return found[producer].passed_on * _selectivity(stream, rows, iteration.completed(producer))
        if rows is None:
            known = producer in self._topology.operators
            rows = iteration.completed(producer) * stream.selectivity if known else 0.0
        return rows * self._options.iteration_s / iteration.length_s


def _selectivity(stream: Stream, rows: float | None, completed: float) -> float:
    """Records on the stream for each that its producer completed; as declared where that was not measured."""
    return stream.selectivity if rows is None or completed == 0 else rows / completed


def _parents_first(topology: Topology) -> list[OperatorName]:
    """Operators so that each comes after those that feed it, as far as loops allow."""
    children = {name: [stream.consumer for stream in topology.out_of(name)] for name in topology.operators}
    components = list(strong_components(children))
    declared = list(topology.operators)
    return [name for component in reversed(components) for name in sorted(component, key=declared.index)]
