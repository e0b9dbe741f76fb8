"""Commanded driver: a pipeline in a process of its own, which the benchmark `random_failures` commands and kills.

It reads decisions as lines of JSON, and prints what each turn of the loop shows as lines of JSON. At the line `stop` it
stops when the running batches have finished; when its input ends it processes everything that its source has first.
"""

import pickle
import queue
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from bench._drain import drain
from pyspark.sql import DataFrame, SparkSession

from rheostat.decision import Decision, Scale
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Ruling, Turn
from rheostat.pipeline import start
from rheostat.policies.observation import Observation
from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.sla import Budget, Goal
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.target import FAST_START_SETTINGS, SparkTarget
from rheostat.topology import Operator, Source, Topology

QUERIES = ("lines", "split", "count")
POOLS = ("split", "count")
MAX_EXECUTORS = 6
SUBSTREAMS = 4
WORD_S = 0.002
SCALES: "queue.SimpleQueue[Scale]" = queue.SimpleQueue()
ENDING = threading.Event()
DRAIN = threading.Event()
STOP = "stop"
SETTINGS = FAST_START_SETTINGS | {"spark.executor.memory": "512m"}
_INSIST_S = 10.0


class Status(msgspec.Struct):
    """What a turn showed: the plan, by pool the executors that serve and the rows in its backlog, and what is wrong."""

    revision: int
    planned: dict[str, int]
    serving: dict[str, list[str]]
    backlog: dict[str, int]
    refused: list[str]
    problems: list[str]


class CommandedPolicy(Policy):
    """Decides what it is commanded until that is accepted, for ten seconds at most."""

    def __init__(self, goal: Goal, options: PolicyOptions) -> None:
        super().__init__(goal, options)
        self._scale: Scale | None = None
        self._revision, self._until_s = 0, 0.0

    def decide(self, observation: Observation) -> Sequence[Decision]:
        revision = observation.plan.revision
        if self._scale is not None and (revision > self._revision or time.monotonic() > self._until_s):
            self._scale = None
        if self._scale is None and not SCALES.empty():
            self._scale, self._revision, self._until_s = SCALES.get(), revision, time.monotonic() + _INSIST_S
        return [] if self._scale is None else [self._scale]


@per_record("word string")
def split(line: dict[str, Any]) -> Iterator[dict[str, str]]:
    for word in line["value"].split():
        time.sleep(WORD_S)
        yield {"word": word}


def count(words: DataFrame) -> DataFrame:
    return words.groupBy("word").count()


def topology(inbox: str) -> Topology:
    def lines(spark: SparkSession) -> DataFrame:
        return spark.readStream.option("maxFilesPerTrigger", 20).text(inbox)

    return Topology(
        "words",
        [
            Source("lines", reader=lines),
            Operator("split", split, inputs="lines"),
            Operator("count", count, inputs="split", key="word", substreams=SUBSTREAMS),
        ],
    )


def report(turn: Turn) -> None:
    """Print the status of a turn that measured something."""
    if turn.snapshot is None:
        return
    status = Status(
        turn.plan.revision,
        {name: pool.size for name, pool in turn.plan.pools.items()},
        {name: [executor.instance or "" for executor in turn.snapshot.active(name)] for name in turn.plan.pools},
        {state.name: state.queued or 0 for state in turn.snapshot.operator_states},
        [verdict.why for verdict in turn.ruled(Ruling.REFUSED)],
        [f"{problem.place}: {problem.what}" for problem in turn.problems],
    )
    print(msgspec.json.encode(status).decode(), flush=True)


def listen() -> None:
    for line in sys.stdin:
        if line.strip() == STOP:
            break
        SCALES.put(msgspec.json.decode(line, type=Scale))
    else:
        DRAIN.set()
    ENDING.set()


def main(address: str, inbox: str, directory: str) -> None:
    threading.Thread(target=listen, daemon=True).start()
    with start(
        topology(inbox),
        policy=CommandedPolicy,
        budget=Budget(MAX_EXECUTORS),
        directory=directory,
        on=SparkTarget(cluster=pickle.loads(Path(address).read_bytes()), settings=SETTINGS),
        loop=LoopOptions("500ms"),
        listeners=[report],
    ) as running:
        while not ENDING.is_set():
            running.wait(0.2)
        if DRAIN.is_set():
            drain(running.runtime)


if __name__ == "__main__":
    main(*sys.argv[1:])
