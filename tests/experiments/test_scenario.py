from pathlib import Path

import numpy as np
import pytest

from rheostat.errors import ConfigError, MissingTraceError, RheostatError
from rheostat.experiments.scenario import read_scenario
from rheostat.sim.plant import SimPlant

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))

SMALL = """
name = "small"
duration = "30s"
[[source]]
name = "in"
load = 100
[[operator]]
name = "work"
inputs = ["in"]
executors = 2
service = { mean = "10ms" }
[[sla]]
latency = "200ms"
window = "5s"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "scenario.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_example_can_be_read(path: Path) -> None:
    assert read_scenario(path).duration_s > 0


def test_there_are_examples() -> None:
    assert SCENARIOS


def test_a_scenario_says_what_runs_and_what_is_promised(tmp_path: Path) -> None:
    scenario = read_scenario(written(tmp_path, SMALL))
    assert list(scenario.model.topology.operators) == ["work"]
    assert scenario.model.operator("work").executors == 2
    assert scenario.goal.end_to_end is not None
    assert scenario.goal.end_to_end.latency_s == 0.2
    assert scenario.loop.period_s == 1.0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('duration = "30s"', 'duration = "soon"', "duration 'soon'"),
        ('duration = "30s"', "", "missing required field 'duration'"),
        ("executors = 2", "executors = 0", "operator[0].executors, which is 0"),
        ('{ mean = "10ms" }', '{ mean = "10ms", spread = 3.5 }', "operator[0].service.spread, which is 3.5"),
        ("executors = 2", "executors = 2_000_000_000", "executors 2,000,000,000 is more than the limit of 100,000"),
        (
            'duration = "30s"',
            'duration = "1m"\nperiod = "1us"',
            "period '1us' is too short: it recurs 60,000,000 times in 1m; give at least 12us",
        ),
        ('window = "5s"', 'window = "1us"', "sla window '1us' is too short: it recurs 30,000,000 times in 30s"),
        ("load = 100", 'load = 100\nrotate_every = "1us"', "source 'in': rotate_every '1us' is too short"),
        (
            "load = 100",
            'load = { shape = "sine", base = 9, amplitude = 5, period = "1us" }',
            "Sine period 1us is too short: it recurs 30,000,000 times in 30s; give at least 24us",
        ),
        ("executors = 2", "executors = 2\nkey = 'k'\nsubstreams = 1_000_000_000", "substreams 1,000,000,000 is more"),
        ("executors = 2", "executors = 2\noutputs = { good = 'much' }", "got 'str' - at operator[0].outputs"),
        ("executors = 2", "executors = 2\nqueues = 'none'", "which is 'none': use one of own, shared, batches"),
        ("executors = 2", "executors = 2\nio = 'soon'", "operator 'work': io 'soon' is not a duration"),
        (
            "executors = 2",
            "executors = 2\nbatches = { trigger = 'x' }",
            "operator 'work': trigger 'x' is not a duration",
        ),
        ("[[sla]]", "[cluster]\nrestart = -1\n[[sla]]", "cluster: restart -1 is not a duration"),
        ("[[sla]]", "[cluster]\npause = 'all'\n[[sla]]", "use one of substream, executors, drain, barrier, topology"),
        ("load = 100", "load = 100\nbursts = { factor = inf, calm = 1, burst = 1 }", "factor inf"),
        ("load = 100", "load = 100\nbursts = { factor = 2, calm = 0, burst = 1 }", "calm 0 must be longer"),
        ("executors = 2", "executers = 2", "unknown field 'executers'"),
        ("load = 100", "load = -1", "-1"),
        ("load = 100", 'load = { shape = "sin", base = 1 }', "sine"),
        ("load = 100", 'load = 100\narrivals = "often"', "arrivals 'often'"),
        ('inputs = ["in"]', 'inputs = ["inn"]', "did you mean 'in'"),
        ('inputs = ["in"]', 'inputs = ["in"]\nkey = "k"\nqueues = "shared"', "'work' is keyed"),
        ('service = { mean = "10ms" }', "service = { mean = 0 }", "longer than zero"),
        ('window = "5s"', 'window = "5s"\noperator = "wrok"', "did you mean 'work'"),
        ("[[sla]]", "[budget]\ntotal = 0\n[[sla]]", "budget total 0"),
        ('name = "small"', 'name = "small', "not a TOML file"),
        (
            "[[sla]]",
            "[budget]\ntotal = 4\n[[cluster.failures]]\nat = 1\noperator = 'work'\nexecutor = 4\n[[sla]]",
            "failure executor 4 of 'work' is never there: the budget allows 4, numbered from 0 to 3",
        ),
        ("[[sla]]", "[[cluster.failures]]\nat = 1\noperator = 'wrok'\nexecutor = 0\n[[sla]]", "did you mean 'work'"),
        ("[[sla]]", "[[cluster.slow]]\noperator = 'wrok'\nexecutor = 0\nspeed = 1\n[[sla]]", "did you mean 'work'"),
        (
            "[[sla]]",
            "[[cluster.slow]]\noperator = 'work'\nexecutor = 0\nspeed = 1\nsince = 5\nuntil = 4\n[[sla]]",
            "executor 0 of 'work' is slow since 5 until 4: give a later end",
        ),
        (
            "[[sla]]",
            "[[budget.change]]\nat = '1h'\ntotal = 4\n[[sla]]",
            "budget change: at '1h' is not before the end of the run",
        ),
        ("[[sla]]", "[[budget.change]]\nat = 1\ntotal = 0\n[[sla]]", "budget total 0"),
        ("executors = 2", 'executors = 2\ncost = { shape = "sin", base = 1 }', "sine"),
        ("[[sla]]", "[cluster]\nstarts_at_once = 'some'\n[[sla]]", "use one of all"),
    ],
)
def test_a_wrong_scenario_is_refused_with_file_and_value(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = written(tmp_path, SMALL.replace(old, new))
    with pytest.raises(RheostatError) as refused:
        SimPlant(read_scenario(path).model, np.random.default_rng(0))
    assert message in str(refused.value)


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        read_scenario(tmp_path / "none.toml")
    with pytest.raises(RheostatError, match=r"trace\.csv"):
        read_scenario(written(tmp_path, SMALL.replace("load = 100", 'load = { csv = "trace.csv" }')))


def test_traces_are_looked_for_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("time,value\n0,10\n10,50\n")
    scenario = read_scenario(written(tmp_path, SMALL.replace("load = 100", 'load = { csv = "trace.csv" }')))
    assert scenario.model.source("in").load.rate_at(12.0) == 50.0


def test_traces_that_are_not_there_are_looked_for_in_another_folder(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL.replace("load = 100", 'load = { sum = [1, { csv = "trace.csv" }] }'))
    recorded = tmp_path / "recorded"
    recorded.mkdir()
    with pytest.raises(MissingTraceError, match=r"scenario.*trace\.csv.*recorded.*--traces"):
        read_scenario(path, recorded)
    (recorded / "trace.csv").write_text("time,value\n0,10\n10,50\n")
    assert read_scenario(path, recorded).model.source("in").load.rate_at(12.0) == 51.0
    with pytest.raises(MissingTraceError, match=r"trace\.csv.*--traces"):
        read_scenario(path)


def test_a_keyed_operator_may_name_its_merge_and_is_then_grouped_freely(tmp_path):
    text = """
name = "merged"
duration = "10s"
[[source]]
name = "words"
load = 10
[[operator]]
name = "count"
inputs = ["words"]
key = "word"
merge = "sum"
grouping = "osg"
osg = { window = 16, schedulers = 2 }
[[operator]]
name = "sum"
inputs = ["count"]
key = "word"
"""
    path = tmp_path / "merged.toml"
    path.write_text(text)
    model = read_scenario(path).model
    assert model.topology.operators["count"].merge == "sum"
    assert (model.operator("count").grouping, model.operator("count").osg.window) == ("osg", 16)
    path.write_text(text.replace('merge = "sum"\n', ""))
    with pytest.raises(ConfigError, match="'count' is keyed by 'word' and nothing merges behind it, so 'osg'"):
        read_scenario(path)
