"""Shapes and skews from configuration."""

import inspect
import tomllib

import numpy as np
import pytest

from rheostat.errors import ConfigError, LoadError
from rheostat.load import (
    Constant,
    Diurnal,
    Erratic,
    OpeningAuction,
    Progressive,
    Ramp,
    Sine,
    Spike,
    Step,
    Trace,
    shape_from,
    skew,
    skew_from,
)
from rheostat.load.configuration import SHAPES


def toml(text):
    return tomllib.loads(f"load = {text}")["load"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "load.csv").write_text("time,value\n0,10\n60,30\n")
    (tmp_path / "wide.csv").write_text("timestamp,host,rate\n1769860800000,a,10\n1769860860000,b,30\n")
    (tmp_path / "skew.csv").write_text("substream,count\n0,1\n1,3\n")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("100", Constant(100)),
        ('{shape = "constant", rate = 100}', Constant(100)),
        ('{shape = "step", steps = [["0s", 100], ["5m", 400.5]]}', Step([(0, 100), (300, 400.5)])),
        ('{shape = "ramp", from_rate = 1, to_rate = 9, duration = "1m"}', Ramp(1, 9, 60)),
        ('{shape = "sine", base = 100, amplitude = 50, period = "60s"}', Sine(100, 50, 60)),
        (
            '{shape = "spike", base = 10, factor = 8, at = "5m", duration = 20, decay = "3s"}',
            Spike(10, 8, 300, 20, 3),
        ),
        (
            '{shape = "progressive", low = 1, high = 9, rise = "1m", plateau = "2m", fall = "1m"}',
            Progressive(1, 9, 60, 120, 60),
        ),
        ('{shape = "erratic", low = 1, high = 9, interval = "5s", seed = 3}', Erratic(1, 9, 5, 3)),
        ('{shape = "opening_auction", base = 935, factors = [80, 75]}', OpeningAuction(935, (80, 75))),
        ('{shape = "diurnal", low = 1, high = 9, day = "24m", peak_hour = 20}', Diurnal(1, 9, 20, "24m")),
        ('{shape = "constant", rate = 5, repeat = "1m", delay = "10s"}', Constant(5).repeated(60).delayed(10)),
        ('{sum = [{shape = "constant", rate = 5}, 7]}', Constant(5) + 7),
        ("{product = [{sum = [1, 2]}, 0.5]}", (Constant(1) + 2) * 0.5),
    ],
)
def test_a_shape_is_built_from_what_a_file_says(text, shape):
    assert shape_from(toml(text)) == shape


def test_every_shape_can_be_named():
    assert all(inspect.isclass(kind) for kind in SHAPES.values())
    assert {"constant", "step", "ramp", "sine", "spike", "progressive", "erratic", "opening_auction"} < set(SHAPES)


@pytest.mark.parametrize(
    ("text", "trace"),
    [
        ('{csv = "load.csv"}', Trace([0, 60], [10, 30], 120)),
        ('{csv = "wide.csv", column = "rate"}', Trace([0, 60], [10, 30], 120)),
        ('{csv = "load.csv", time_scale = 0.5, rate_scale = 2}', Trace([0, 30], [20, 60], 60)),
        ('{csv = "load.csv", duration = "1m", peak = 300}', Trace([0, 30], [100, 300], 60)),
        ('{csv = "load.csv", interpolate = "linear"}', Trace([0, 60], [10, 30], 120, "linear")),
        ('{csv = "load.csv", repeat = true}', Trace([0, 60], [10, 30], 120).repeated(120)),
        ('{csv = "load.csv", repeat = "90s"}', Trace([0, 60], [10, 30], 120).repeated(90)),
    ],
)
def test_a_trace_is_found_beside_the_file_that_names_it(folder, text, trace):
    assert shape_from(toml(text), folder) == trace
    assert shape_from({"sum": [toml(text)]}, str(folder)).rate_at(70) == trace.rate_at(70)


def test_a_trace_is_scaled_to_the_mean_that_a_file_asks_for(folder):
    scaled = shape_from(toml('{csv = "load.csv", mean = 200, duration = "1m"}'), folder)
    assert scaled.rates([0, 30]).tolist() == pytest.approx([100, 300])


def test_an_absolute_path_stays_as_it_is(folder):
    assert shape_from({"csv": str(folder / "load.csv")}, "/elsewhere").rate_at(0) == 10


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"fast"', "Constant rate 'fast' is not a finite number"),
        ("-3", "Constant rate -3 is not a finite number >= 0"),
        ("{}", r"load \{\} must name one of csv, product, shape, sum, it has none"),
        ('{shap = "sine"}', r"load \{'shap': 'sine'\} must name one of"),
        ('{shape = "sine", csv = "a"}', "it has shape and csv"),
        ('{shape = "sinus"}', "shape 'sinus' is unknown: did you mean 'sine'?"),
        ("{shape = 7}", "shape 7 is unknown: known: constant, diurnal, "),
        ('{shape = "sine", base = 1, amplitude = 1}', "sine needs 'period', it has amplitude, base"),
        ('{shape = "constant"}', "constant needs 'rate', it has nothing"),
        (
            '{shape = "sine", base = 1, amplitude = 1, perod = 4}',
            r"sine has no option 'perod': did you mean 'period'\?",
        ),
        ('{shape = "constant", rate = 1, dealy = 4}', r"constant has no option 'dealy': did you mean 'delay'\?"),
        ('{shape = "constant", rate = 1, repeat = true}', "Repeated every True is not a duration: give seconds"),
        ('{shape = "constant", rate = 1, repeat = 0}', "Repeated every .* must be longer than zero"),
        ('{shape = "constant", rate = 1, delay = "x"}', "Delayed by 'x' is not a duration"),
        ('{shape = "sine", base = 1, amplitude = 1, period = "x"}', "Sine period 'x' is not a duration"),
        ("{sum = []}", r"sum \[\] is not a list with at least one entry"),
        ("{sum = 5}", "sum 5 is not a list"),
        ('{product = [1, "x"]}', "Constant rate 'x' is not a finite number"),
        ("{product = [1], scale = 2}", r"product has no option 'scale': known: delay, repeat"),
        ("{csv = 5}", "csv 5 is not the path of a file"),
        ('{csv = "gone.csv"}', "gone.csv cannot be read: No such file"),
        ('{csv = "load.csv", path = "b"}', "csv has no option 'path'"),
        ('{csv = "load.csv", men = 5}', r"csv has no option 'men': did you mean 'mean'\?"),
        ('{csv = "load.csv", mean = 5, peak = 8}', "csv has mean 5 and peak 8: give one of them"),
        ('{csv = "load.csv", mean = -5}', "mean -5 is not a finite number >= 0"),
        ('{csv = "wide.csv"}', "wide.csv, line 1: name the column to use, as `column`, one of host, rate"),
        ('{csv = "skew.csv"}', "skew.csv, line 1: header 'substream,count' has no column"),
    ],
)
def test_what_describes_no_load_is_refused_with_what_would_be_right(folder, text, message):
    with pytest.raises((LoadError, ConfigError), match=message):
        shape_from(toml(text), folder)


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("{uniform = 4}", skew.uniform(4)),
        ("{zipf = 1.5, keys = 1000}", skew.zipf(1000, 1.5)),
        ("{zipf = 1.5, keys = 100, rotate = 10}", skew.rotated(skew.zipf(100, 1.5), 10)),
        ("{table = [1, 2, 5]}", [0.125, 0.25, 0.625]),
        ('{csv = "skew.csv"}', [0.25, 0.75]),
        ("{hot_set = 0.1, keys = 20, load = 0.5}", skew.hot_set(20, 0.1, 0.5)),
        ("{limit_orders = 1156, substreams = 64}", skew.folded(skew.limit_orders(), 64)),
    ],
)
def test_a_skew_is_built_from_what_a_file_says(folder, text, weights):
    np.testing.assert_array_equal(skew_from(toml(text), folder), weights)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", r"skew \{\} must name one of csv, hot_set, limit_orders, table, uniform, zipf, it has none"),
        ("3", "skew 3 is not a table such as"),
        ("{zipf = 1.5}", "zipf needs 'keys', it has nothing"),
        ("{zipf = 1.5, key = 5}", r"zipf has no option 'key': did you mean 'keys'\?"),
        ("{zipf = 1.5, keys = 5, exponent = 5}", "zipf has no option 'exponent'"),
        ('{zipf = "steep", keys = 5}', "exponent 'steep' is not a finite number"),
        ("{zipf = 1.5, keys = 5, rotate = 0.5}", "by 0.5 is not a whole number"),
        ("{uniform = 0}", "keys 0 is not a whole number >= 1"),
        ('{table = "abc"}', "weights 'abc' is not a list of numbers"),
        ("{table = 5}", "is not a list with at least one entry"),
        ('{csv = "gone.csv"}', "gone.csv cannot be read"),
        ('{csv = "load.csv"}', "header 'time,value' is not 'substream,count'"),
    ],
)
def test_what_describes_no_skew_is_refused_with_what_would_be_right(folder, text, message):
    with pytest.raises(LoadError, match=message):
        skew_from(toml(text), folder)
