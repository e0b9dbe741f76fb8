"""A driver that a test commands and kills: decisions come in as lines of JSON, what the loop sees goes out.

The topology splits lines into words; one branch counts them by word, the other one changes each of them. A word
takes a while, so that whatever happens, happens in the middle of a batch.
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
from drain import drain
from pyspark.sql import DataFrame, SparkSession

from rheostat.decision import AnyDecision, Decision
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Ruling, Turn
from rheostat.pipeline import start
from rheostat.policies.observation import Observation
from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.sla import Budget, Goal
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.target import SparkTarget
from rheostat.topology import Operator, Source, Topology

WORD_S = 0.01
SUBSTREAMS = 4
COMMANDS: "queue.SimpleQueue[Decision]" = queue.SimpleQueue()
DRAIN = threading.Event()


class Status(msgspec.Struct):
    """What a turn of the loop showed. `serving` has the Spark executor of each number, by operator.

    `unknown` are the operators whose arrivals are not known.
    """

    revision: int
    settling: bool
    waiting: dict[str, float]
    unknown: list[str]
    serving: dict[str, dict[int, str]]
    nodes: dict[str, dict[int, str]]
    substreams: list[int | None]
    refused: list[str]


class Commanded(Policy):
    """Decides what it is told, again and again until that is accepted."""

    def __init__(self, goal: Goal, options: PolicyOptions) -> None:
        super().__init__(goal, options)
        self._pending: tuple[int, Decision] | None = None

    def decide(self, observation: Observation) -> Sequence[Decision]:
        revision = observation.plan.revision
        if self._pending is not None and revision > self._pending[0]:
            self._pending = None
        if self._pending is None and not COMMANDS.empty():
            self._pending = (revision, COMMANDS.get())
        return [] if self._pending is None else [self._pending[1]]


@per_record("word string")
def split(line: dict[str, Any]) -> Iterator[dict[str, str]]:
    for word in line["value"].split():
        time.sleep(WORD_S)
        yield {"word": word}


def count(words: DataFrame) -> DataFrame:
    return words.groupBy("word").count()


def shout(words: DataFrame) -> DataFrame:
    return words.selectExpr("upper(word) AS word")


def topology(inbox: str) -> Topology:
    def lines(spark: SparkSession) -> DataFrame:
        return spark.readStream.option("maxFilesPerTrigger", 2).text(inbox)

    return Topology(
        "words",
        [
            Source("lines", reader=lines),
            Operator("split", split, inputs="lines"),
            Operator("count", count, inputs="split", key="word", substreams=SUBSTREAMS),
            Operator("shout", shout, inputs="split"),
        ],
    )


def tell(period: Turn) -> None:
    snapshot = period.snapshot
    if snapshot is None:
        return
    status = Status(
        period.plan.revision,
        bool(period.settling),
        {state.name: state.queued or 0 for state in snapshot.operator_states},
        [state.name for state in snapshot.operator_states if state.arrived is None],
        {name: {e.id: e.instance or "" for e in snapshot.active(name)} for name in period.plan.pools},
        {name: {e.id: e.node or "" for e in snapshot.active(name)} for name in period.plan.pools},
        [state.executor for state in snapshot.substreams_of("count")],
        [verdict.why for verdict in period.verdicts if verdict.ruling is Ruling.REFUSED],
    )
    print(msgspec.json.encode(status).decode(), flush=True)


def listen() -> None:
    for line in sys.stdin:
        COMMANDS.put(msgspec.json.decode(line, type=AnyDecision))
    DRAIN.set()


def main(address: str, inbox: str, directory: str, streams: str | None = None, jars: str = "") -> None:
    threading.Thread(target=listen, daemon=True).start()
    settings = {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.memory": "512m",
        "spark.jars": jars,
    }
    with start(
        topology(inbox),
        policy=Commanded,
        budget=Budget(8),
        directory=directory,
        streams=streams,
        on=SparkTarget(cluster=pickle.loads(Path(address).read_bytes()), settings=settings),
        loop=LoopOptions("500ms"),
        listeners=[tell],
    ) as running:
        while not DRAIN.is_set():
            running.wait(0.2)
        drain(running.runtime)


if __name__ == "__main__":
    main(*sys.argv[1:])
