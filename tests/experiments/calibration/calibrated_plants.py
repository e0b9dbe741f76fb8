"""Measurements made by the simulator's own rules, with known costs."""

import numpy as np

from rheostat.experiments.calibration.measurements import (
    BatchSample,
    ExecutorStarts,
    MeasuredSetting,
    Measurements,
    OperatorSamples,
)
from rheostat.names import OperatorName
from rheostat.topology import Operator, Source, Topology

FIXED_S, PER_TASK_S, SERVICE_S = 0.4, 0.05, 0.02
FIRST_S, SOURCE_S = 1.5, 0.3
ONE = Topology("serving", [Source("records"), Operator("serve", inputs="records")])
CHAIN = Topology(
    "words",
    [
        Source("sentences"),
        Operator("split", inputs="sentences", selectivity=8),
        Operator("count", inputs="split", key="word", substreams=4),
    ],
)


def batches(counts=(1, 2, 4), each=20, tasks=None, share=None, seed=1) -> list[BatchSample]:
    """Batches one after the other; the first of each number of executors takes longer."""
    rng, made, now_s = np.random.default_rng(seed), [], 10.0
    for count in counts:
        for number in range(each):
            rows = int(rng.integers(5, 100))
            longest = rows * (1 / count if share is None else share[count])
            cost_s = FIXED_S + PER_TASK_S * (tasks or count) + SERVICE_S * longest + (FIRST_S if number == 0 else 0.0)
            sample = BatchSample(
                started_s=now_s,
                committed_s=now_s + cost_s,
                rows=rows,
                executors=count,
                is_first=number == 0,
                waited_s=1.4 * cost_s,
                latency_s=1.4 * cost_s + 1.5 * SOURCE_S,
            )
            made.append(sample)
            now_s += cost_s
    return made


def settings(counts=(1, 2, 4)) -> tuple[MeasuredSetting, ...]:
    return tuple(
        MeasuredSetting(
            executors=count,
            began_s=9.0 + 30.0 * place,
            reached_s=9.5 + 30.0 * place,
            ended_s=39.0 + 30.0 * place,
            input_rates={"records": 20.0 + 10 * place, "sentences": 5.0},
        )
        for place, count in enumerate(counts)
    )


def measured(**more) -> Measurements:
    """The measurements of `ONE`."""
    samples = OperatorSamples(batches=tuple(batches(**more)), rows_read={"records": 4000})
    return with_operators({"serve": samples}, counts=more.get("counts", (1, 2, 4)))


def with_operators(operators, counts=(1, 2, 4)) -> Measurements:
    return Measurements(
        settings=settings(counts),
        operators={OperatorName(name): samples for name, samples in operators.items()},
        starts=(
            ExecutorStarts(registered_s=(4.0,), served_s=(7.0,)),
            ExecutorStarts(registered_s=(4.0, 4.0), served_s=(7.0, 7.0)),
        ),
        source_batches_s={},
    )


def measured_chain() -> Measurements:
    """The measurements of `CHAIN`: a third of the words is in substream 0, and half of the rest in substream 1."""
    rows = (400, 400, 200, 200)
    share = {1: 1.0, 2: 800 / 1200, 4: 400 / 1200}
    split = OperatorSamples(batches=tuple(batches(seed=2)), rows_read={"sentences": 500}, timed=50, timed_s=0.02)
    count = OperatorSamples(
        batches=tuple(batches(tasks=4, share=share, seed=3)), rows_read={"split": 3000}, substream_rows=rows
    )
    return with_operators({"split": split, "count": count})
