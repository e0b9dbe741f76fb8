"""The topology and the records that a scenario becomes."""

import json
import time
from collections import Counter

import pytest
from spark_scenarios import BASE, changed, scenario

pytest.importorskip("pyspark")

from rheostat.experiments.on_spark.record_log import RecordLog
from rheostat.experiments.on_spark.translation import KEY, SparkScenario
from rheostat.spark.query.per_record.record_function import RecordFunction


def translated(tmp_path, it=None, seed=0) -> tuple[SparkScenario, RecordLog]:
    log = RecordLog()
    return SparkScenario(it or scenario(), tmp_path, log, seed), log


def written(folder) -> list[dict]:
    files = sorted(folder.glob("[0-9]*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_the_topology_keeps_its_shape_and_gets_functions(tmp_path):
    on_spark, _ = translated(tmp_path)
    operators = on_spark.topology.operators
    assert list(operators) == ["parse", "count"]
    assert isinstance(operators["parse"].function, RecordFunction)
    assert (operators["count"].key, operators["count"].substreams) == (KEY, 4)
    assert on_spark.results == {"count"}


def test_feeders_write_the_load_and_log_each_record(tmp_path):
    on_spark, log = translated(tmp_path)
    [feeder] = on_spark.feeders()
    with feeder:
        deadline = time.monotonic() + 60
        while feeder.fed < 40:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    records = written(tmp_path / "input" / "records")
    assert [record["id"] for record in records] == list(range(feeder.fed))
    assert len(log.entered_s) == feeder.fed
    assert Counter(record["value"] for record in records).most_common(1)[0][0] == 0
    assert all(0 <= record["value"] < 8 for record in records)


def test_records_of_the_warm_up_are_not_part_of_the_run(tmp_path):
    on_spark, log = translated(tmp_path)
    [feeder] = on_spark.trickle(50.0)
    with feeder:
        time.sleep(0.5)
    assert all(record["id"] < 0 for record in written(tmp_path / "input" / "records"))
    assert not len(log.entered_s)


def test_the_warm_up_ends_with_the_rate_at_which_the_load_starts(tmp_path):
    on_spark, _ = translated(tmp_path)
    [feeder], [load] = on_spark.trickle(), [source.load for _, source in on_spark._sources()]
    assert feeder._load.rate_at(100.0) == load.rate_at(0.0)


def test_hot_keys_rotate(tmp_path):
    on_spark, _ = translated(
        tmp_path, changed('arrivals = "regular"', 'arrivals = "regular"\nrotate_every = "10s"\nrotate_by = 3')
    )
    make = on_spark._maker("records")
    hot = [Counter(make(at_s)["value"] for _ in range(200)).most_common(1)[0][0] for at_s in (0.0, 9.9, 10.0, 25.0)]
    assert hot == [0, 0, 3, 6]


def test_service_times_follow_the_distribution_and_the_seed(tmp_path):
    text = BASE.replace('mean = "20ms", distribution = "fixed"', 'mean = "20ms", distribution = "lognormal", scv = 0.5')
    first, again, other = (translated(tmp_path, scenario(text), seed)[0].wait("parse") for seed in (1, 1, 2))
    times_s = [first.service_s(record, 0) for record in range(4000)]
    assert sum(times_s) / len(times_s) == pytest.approx(0.02, rel=0.1)
    assert times_s == [again.service_s(record, 0) for record in range(4000)]
    assert times_s[:10] != [other.service_s(record, 0) for record in range(10)]


@pytest.mark.parametrize(
    ("service", "lowest", "highest"),
    [
        ('mean = "20ms", distribution = "fixed"', 0.02, 0.02),
        ('mean = "20ms", distribution = "uniform", spread = 0.5', 0.01, 0.03),
        ('mean = "20ms", distribution = "exponential"', 0.0, 1.0),
    ],
)
def test_each_distribution_keeps_its_mean_and_bounds(tmp_path, service, lowest, highest):
    it = scenario(BASE.replace('mean = "20ms", distribution = "fixed"', service))
    wait = translated(tmp_path, it)[0].wait("parse")
    times_s = [wait.service_s(record, 0) for record in range(1000)]
    assert lowest <= min(times_s)
    assert max(times_s) <= highest
    assert sum(times_s) / len(times_s) == pytest.approx(0.02, rel=0.15)


def test_the_cost_of_a_record_depends_on_its_value_and_on_the_time_of_the_load(tmp_path):
    text = BASE.replace(
        'mean = "20ms", distribution = "fixed" }',
        'mean = "20ms", distribution = "fixed", cost_by_value = [1, 3, 1, 1, 1, 1, 1, 1] }\n'
        'cost = { shape = "step", steps = [[0, 1], ["5s", 4]] }',
    )
    on_spark, _ = translated(tmp_path, scenario(text))
    wait = on_spark.wait("parse")
    assert wait.service_s(1, 1) == pytest.approx(3 * wait.service_s(1, 0))
    assert wait._cost_now() == 1
    on_spark.note_start(time.time() - 7)
    assert wait._cost_now() == 4


def test_records_between_operators_follow_the_selectivity_and_the_keys(tmp_path):
    keys = 'inputs = ["records"]\nselectivity = 2.5\nkeys = { table = [0, 1, 3] }'
    on_spark, _ = translated(tmp_path, changed('inputs = ["records"]', keys))
    made = [list(on_spark.wait("parse").made_of(record, 7)) for record in range(1000)]
    assert {len(each) for each in made} == {2, 3}
    assert sum(len(each) for each in made) == pytest.approx(2500, rel=0.05)
    values = Counter(record["value"] for each in made for record in each)
    assert values.keys() == {1, 2}
    assert values[2] / values[1] == pytest.approx(3, rel=0.2)
    assert all(record["id"] == number for number, each in enumerate(made) for record in each)


def test_what_nobody_reads_is_one_result_for_each_record(tmp_path):
    on_spark, _ = translated(tmp_path, changed('key = "word"', 'key = "word"\nselectivity = 9'))
    assert [list(on_spark.wait("count").made_of(5, 3))] == [[{"id": 5, "value": 3}]]
