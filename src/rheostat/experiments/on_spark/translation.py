"""Translation: the topology of a scenario with functions that run on Spark, and the records of its sources."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from rheostat.experiments.on_spark.record_log import COUNT, RecordLog
from rheostat.experiments.on_spark.service_wait import ServiceWait, cumulative
from rheostat.experiments.scenario import Scenario
from rheostat.load import Constant
from rheostat.names import OperatorName
from rheostat.sim.model import SourceModel
from rheostat.spark.query.per_record.record_function import RecordFunction, per_record
from rheostat.spark.streams.entry_times import entered_at
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.feeder import Feeder, MakeRecord

KEY = "value"
RECORD = "id long, value long"
_COUNTED = f"{RECORD}, {COUNT} long"
_INPUT = f"entered timestamp, {RECORD}"
_START_FILE = "load-started"
_TICK_S = 0.4
"""A file for each tick: more of them make each batch dearer, fewer let records wait before they can be read."""


class SparkScenario:
    """A scenario in `folder`: `topology` reads what the feeders write there. `log` gets the times of all records."""

    def __init__(self, scenario: Scenario, folder: Path, log: RecordLog, seed: int) -> None:
        self._scenario, self._folder, self._log, self._seed = scenario, folder, log, seed
        shape = scenario.model.topology
        sources = [Source(name, reader=self.reader(name)) for name in shape.sources]
        operators = [self._operator(name) for name in shape.operators]
        self.topology = Topology(shape.name, [*sources, *operators])
        for name in shape.sources:
            self._input(name).mkdir(parents=True, exist_ok=True)

    @property
    def results(self) -> frozenset[str]:
        """The operators whose records nobody reads."""
        return frozenset(name for name in self.topology.operators if not self.topology.out_of(name))

    def feeders(self) -> list[Feeder]:
        """One for each source, which writes the load of the scenario; as in the simulator, by the seed."""
        return [
            Feeder(self._input(name), source.load, self._maker(name), _TICK_S, self._rng(name) if source.scv else None)
            for name, source in self._sources()
        ]

    def trickle(self, rate: float | None = None) -> list[Feeder]:
        """One for each source, which writes records that are not part of the run: `rate` per second, or as many as its
        load has at the start."""
        return [
            Feeder(
                self._input(name),
                Constant(float(source.load.rate_at(0.0)) if rate is None else rate),
                self._maker(name, warm_up=True),
                _TICK_S,
            )
            for name, source in self._sources()
        ]

    def note_start(self, start_s: float) -> None:
        """Tell the operators when the load started."""
        hidden = self._folder / f".{_START_FILE}"
        hidden.write_text(repr(start_s), encoding="utf-8")
        hidden.rename(self._folder / _START_FILE)

    def reader(self, source: str) -> Callable[[SparkSession], DataFrame]:
        """Opens the folder that the feeder of `source` writes."""
        folder = str(self._input(source))

        @entered_at("entered")
        def read(spark: SparkSession) -> DataFrame:
            return spark.readStream.schema(_INPUT).json(folder)

        return read

    def wait(self, name: OperatorName) -> ServiceWait:
        """What an operator does with each record. One whose records nobody reads makes one of each, as its result."""
        model, operator = self._scenario.model, self._scenario.model.topology.operators[name]
        weights = model.values.get(name)
        return ServiceWait(
            name,
            model.operator(name).service,
            self._seed,
            operator.selectivity if model.topology.out_of(name) else 1.0,
            () if weights is None else cumulative(weights),
            model.costs.get(name),
            self._folder / _START_FILE,
        )

    def _operator(self, name: OperatorName) -> Operator:
        shape = self._scenario.model.topology.operators[name]
        function = counting(self.wait(name)) if shape.keyed else waiting(self.wait(name))
        return Operator(
            name,
            function,
            inputs=shape.inputs,
            selectivity=shape.selectivity,
            key=KEY if shape.keyed else None,
            substreams=shape.substreams,
        )

    def _maker(self, name: str, *, warm_up: bool = False) -> MakeRecord:
        source, rng = self._scenario.model.source(name), self._rng(name)

        def make(time_s: float) -> dict[str, Any]:
            record = self._log.warm_up() if warm_up else self._log.enter(time_s)
            return {"id": record, "value": _value(source, time_s, rng)}

        return make

    def _sources(self) -> Iterator[tuple[str, SourceModel]]:
        model = self._scenario.model
        return ((name, model.source(name)) for name in model.topology.sources)

    def _input(self, source: str) -> Path:
        return self._folder / "input" / source

    def _rng(self, name: str) -> np.random.Generator:
        position = list(self._scenario.model.topology.sources).index(name)
        return np.random.default_rng([self._seed, position])


def waiting(wait: ServiceWait) -> RecordFunction:
    """A stateless operator."""
    return per_record(RECORD)(wait)


def counting(wait: ServiceWait) -> Callable[[DataFrame], DataFrame]:
    """A keyed operator, which counts the records of each key in its state."""

    def count(key: tuple[int], frames: Any, state: Any) -> Iterator[Any]:
        import pandas as pd

        (counted,) = state.get if state.exists else (0,)
        rows = []
        for frame in frames:
            for record in frame["id"]:
                wait.serve(int(record), key[0])
                counted += 1
                rows += [(made["id"], made["value"], counted) for made in wait.made_of(int(record), key[0])]
        state.update((counted,))
        yield pd.DataFrame(rows, columns=["id", "value", COUNT])

    def apply(df: DataFrame) -> DataFrame:
        return df.groupBy(KEY).applyInPandasWithState(count, _COUNTED, f"{COUNT} long", "update", "NoTimeout")

    return apply


def _value(source: SourceModel, time_s: float, rng: np.random.Generator) -> int:
    if source.weights is None:
        return 0
    moved = int(time_s / source.rotate_every_s) * source.rotate_by if source.rotate_every_s else 0
    return int(rng.choice(len(source.weights), p=source.weights) + moved) % len(source.weights)
