"""Traces: recorded rates, read from files as they are found."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.errors import ConfigError, LoadError
from rheostat.load import Trace

RECORDED = Path(__file__).parents[2].parent / "shared" / "traces"


@pytest.fixture
def write(tmp_path):
    def to_file(text):
        path = tmp_path / "load.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return to_file


def test_times_in_seconds_are_held_until_the_next(write):
    trace = Trace.from_csv(write("time,value\n0,10\n1,20\n2,0\n"))
    assert trace.rates([-1, 0, 0.9, 1, 1.5, 2, 99]).tolist() == [10, 10, 10, 20, 20, 0, 0]
    assert trace.duration_s == 3
    assert trace.mean(3) == pytest.approx(10)


def test_or_joined_by_straight_lines(write):
    trace = Trace.from_csv(write("time,value\n0,10\n10,20\n20,0\n"), interpolate="linear")
    assert trace.rates([0, 5, 10, 15, 20, 25]).tolist() == [10, 15, 20, 10, 0, 0]


@pytest.mark.parametrize(
    "stamps",
    [
        ["2015-02-26 21:42:53", "2015-02-26 21:47:53"],
        ["2015-02-26T21:42:53", "2015-02-26T21:47:53Z"],
        ["2015-02-26T21:42:53.250+02:00", "2015-02-26 19:47:53.25+00:00"],
        ["20150226T214253", "2015-02-26 22:47:53+01:00"],
    ],
)
def test_timestamps_may_have_a_t_a_fraction_and_a_zone(write, stamps):
    trace = Trace.from_csv(write(f"timestamp,value\n{stamps[0]},5\n{stamps[1]},6\n"))
    assert trace.times_s.tolist() == [0, 300]
    assert trace.duration_s == 600


@pytest.mark.parametrize("name", ["time", "timestamp", "Time"])
@pytest.mark.parametrize(
    "stamps",
    [
        ("2026-01-31T12:00:00", "2026-01-31 12:05:00Z"),
        ("1769860800", "1769861100"),
        ("1769860800.0", "1769861100.0"),
        ("1769860800000", "1769861100000"),
        ("0", "300"),
        ("-300", "0"),
    ],
)
def test_either_name_may_have_dates_seconds_or_milliseconds(write, name, stamps):
    trace = Trace.from_csv(write(f"{name},rate\n{stamps[0]},5\n{stamps[1]},6\n"))
    assert trace == Trace([0, 300], [5, 6], 600)


def test_of_several_columns_the_one_that_is_named_is_read(write):
    path = write("host,errors,timestamp,Requests\na,0,0,10\nb,1,60,20\n")
    assert Trace.from_csv(path, column="requests") == Trace([0, 60], [10, 20], 120)
    assert Trace.from_csv(path, column="errors") == Trace([0, 60], [0, 1], 120)
    with pytest.raises(LoadError, match="line 1: name the column to use, as `column`, one of host, errors, Requests"):
        Trace.from_csv(path)
    with pytest.raises(LoadError, match=r"line 1: there is no column 'reqests'; did you mean 'Requests'\?"):
        Trace.from_csv(path, column="reqests")
    with pytest.raises(LoadError, match="line 2: host 'a' is not a finite number >= 0"):
        Trace.from_csv(path, column="host")


@pytest.mark.parametrize(
    ("stamps", "told"),
    [
        ([0, 60, 120], None),
        ([0, 59, 121, 180], None),
        ([0, 60, 240, 300], "load.csv: 2 samples are missing after 60 s; filled in as the sample before"),
        ([0, 60, 180, 240, 480, 540, 600], "load.csv: 4 samples are missing in 2 gaps, at most 3 at once after 240 s;"),
        ([1769860800, 1769860860, 1769860980, 1769861040], "1 sample is missing after 2026-01-31 12:01:00;"),
    ],
)
def test_filled_gaps_are_told(write, caplog, stamps, told):
    Trace.from_csv(write("time,value\n" + "".join(f"{stamp},1\n" for stamp in stamps)))
    assert caplog.messages == [] if told is None else told in caplog.text


def test_rows_are_sorted_and_the_earliest_is_time_zero(write):
    trace = Trace.from_csv(write("time,value\n30,3\n10,1\n20,2\n"))
    assert trace == Trace([0, 10, 20], [1, 2, 3], 30)


def test_repeated_stamps_are_averaged(write):
    trace = Trace.from_csv(write("time,value\n0,10\n1,20\n0,30\n0,20\n"))
    assert trace == Trace([0, 1], [20, 20], 2)


def test_a_missing_step_is_held_or_bridged_and_does_not_dilute_a_count(write):
    path = write("time,value\n0,60\n60,120\n240,180\n300,0\n")
    assert Trace.from_csv(path, unit="count").rates([60, 150, 240]).tolist() == [2, 2, 3]
    assert Trace.from_csv(path, unit="count", interpolate="linear").rate_at(150) == 2.5


def test_blank_lines_spaces_a_byte_order_mark_and_windows_line_ends_do_no_harm(write):
    trace = Trace.from_csv(write(b'\xef\xbb\xbfTime, Value\r\n\r\n"0", 1\r\n1 ,2\r\n'))
    assert trace == Trace([0, 1], [1, 2], 2)


def test_time_and_rate_are_scaled_each_on_its_own(write):
    trace = Trace.from_csv(write("time,value\n0,10\n60,20\n"), time_scale=0.1, rate_scale=3)
    assert trace == Trace([0, 6], [30, 60], 12)


def test_a_part_can_be_cut_out_before_scaling(write):
    path = write("time,value\n0,0\n60,10\n120,20\n180,30\n")
    assert Trace.from_csv(path, start="90s") == Trace([0, 30, 90], [10, 20, 30], 150)
    assert Trace.from_csv(path, start=60, length="2m", time_scale=0.5) == Trace([0, 30], [10, 20], 60)
    linear = Trace.from_csv(path, start=30, length=60, interpolate="linear")
    assert linear == Trace([0, 30, 60], [5, 10, 15], 60, "linear")


def test_a_trace_is_rescaled_to_a_mean_a_peak_or_a_duration():
    trace = Trace([0, 10], [10, 30], 40)
    assert trace.to_mean(100).mean(40) == pytest.approx(100)
    assert trace.to_peak(90) == Trace([0, 10], [30, 90], 40)
    assert trace.to_duration("2m") == Trace([0, 30], [10, 30], 120)


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=20), st.floats(0.1, 1e5), st.floats(0.1, 1e5))
def test_rescaling_is_exact_for_any_trace(levels, rate, duration_s):
    trace = Trace(np.arange(len(levels)), levels, len(levels))
    assert trace.to_mean(rate).mean(len(levels)) == pytest.approx(rate)
    assert trace.to_peak(rate).peak(len(levels)) == pytest.approx(rate)
    assert trace.to_duration(duration_s).duration_s == pytest.approx(duration_s)
    assert trace.to_duration(duration_s).mean(duration_s) == pytest.approx(trace.mean(len(levels)))


def test_a_trace_goes_on_with_its_last_rate_or_starts_over():
    trace = Trace([0, 10], [1, 2], 20)
    assert trace.rate_at(1000) == 2
    assert trace.repeated(trace.duration_s).rates([20, 30, 40]).tolist() == [1, 2, 1]


def test_a_trace_keeps_its_own_copy_that_cannot_be_written():
    levels = np.array([1.0, 2.0])
    trace = Trace([0, 1], levels, 2)
    levels[0] = 99
    assert trace.rate_at(0) == 1
    with pytest.raises(ValueError, match="read-only"):
        trace.levels[0] = 99


def test_traces_are_equal_when_all_their_parts_are():
    trace = Trace([0, 1], [1, 2], 2)
    assert trace != Trace([0, 1], [1, 2], 2, "linear")
    assert trace != Trace([0, 1], [1, 2], 3)
    assert trace != [1, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,value\n0,1\n1,abc\n", "load.csv, line 3: value 'abc' is not a finite number >= 0"),
        ("time,value\n0,1\n\n1,-2.5\n", "load.csv, line 4: value '-2.5' is not a finite number >= 0"),
        ("time,value\n0,nan\n", "load.csv, line 2: value 'nan' is not a finite number >= 0"),
        ("time,value\n0,inf\n", "load.csv, line 2: value 'inf' is not"),
        ("time,value\n0,1e999\n", "load.csv, line 2: value '1e999' is not"),
        ("time,value\n0,\n", "load.csv, line 2: value '' is not"),
        (
            "time,value\nsoon,1\n",
            "load.csv, line 2: time 'soon' is not a date and time like .*, or a finite number",
        ),
        ("time,value\ninf,1\n", "load.csv, line 2: time 'inf' is not .* a finite number"),
        ("timestamp,value\n5 pm,1\n", "load.csv, line 2: timestamp '5 pm' is not a date and time like 2015-"),
        ("timestamp,value\n2015-02-30 00:00:00,1\n", "line 2: timestamp '2015-02-30 00:00:00' is not"),
        ("time,value\n0,1\n1\n", "load.csv, line 3: '1' has 1 columns, not 2"),
        ("time,value\n0,1,2\n", "load.csv, line 2: '0,1,2' has 3 columns, not 2"),
        ("date,rate\n0,1\n", "line 1: header 'date,rate' has no column 'timestamp' or 'time'"),
        ("0,1\n1,2\n", "load.csv, line 1: header '0,1' has no column 'timestamp'"),
        ("value\n1\n", "load.csv, line 1: header 'value' has no column 'timestamp' .* separated by a comma"),
        ("time\n1\n", "load.csv, line 1: the only column is 'time'; there must be another one with values"),
        ("time,value,host\n0,1,a\n", "load.csv, line 1: name the column to use, as `column`, one of value, host"),
        ("time,value\n0,1\n2015-02-26,2\n", "line 3: time '2015-02-26' is not a finite number .* as in the first row"),
        ("time,value\n1424986973000000,1\n", "line 2: time '1424986973000000' is not in seconds or milliseconds"),
        ("", "load.csv is empty: its first line must name its columns, e.g. 'timestamp,value'"),
        ("\n\n", "load.csv is empty"),
        ("time,value\n", "load.csv has no rows below its header"),
        ("time,value\n0,1\n0,2\n", "load.csv has a single stamp: a trace needs two"),
        (b"time,value\n0,\xff\xfe\n", r"load.csv, line 2: value '\\\\xff\\\\xfe' is not a finite number"),
        ("time,value\n0,1\n".encode("utf-16"), "load.csv, line 1: "),
        (gzip.compress(b"time,value\n0,1\n", mtime=0), "load.csv, line 1: "),
        (bytes(range(256)) * 20, "load.csv, line 1: "),
        (b'time,value\n0,"' + b"1" * 200_000, "load.csv, line 2: field larger than field limit"),
    ],
)
def test_a_malformed_file_is_refused_with_file_line_and_value(write, text, message):
    path = write(text)
    with pytest.raises(LoadError, match=message.replace("[", r"\[")) as refused:
        Trace.from_csv(path)
    assert str(path) in str(refused.value)
    assert len(str(refused.value)) < len(str(path)) + 200


@given(st.binary(max_size=300))
def test_any_bytes_are_a_trace_or_refused_with_the_name_of_the_file(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "bytes.csv"
    for head in (b"", b"time,value\n", b"timestamp,value\n"):
        path.write_bytes(head + content)
        try:
            Trace.from_csv(path)
        except LoadError as refused:
            assert "bytes.csv" in str(refused)  # noqa: PT017


def test_a_missing_file_or_a_folder_is_refused_with_its_path(tmp_path):
    with pytest.raises(LoadError, match=r"nowhere\.csv cannot be read: No such file"):
        Trace.from_csv(tmp_path / "nowhere.csv")
    with pytest.raises(LoadError, match=f"{tmp_path} cannot be read: Is a directory"):
        Trace.from_csv(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "rates"}, "unit 'rates' is unknown: did you mean 'rate'?"),
        ({"interpolate": "cubic"}, "interpolate 'cubic' is unknown: known: linear, step"),
        ({"time_scale": 0}, "time_scale 0 leaves no time"),
        ({"time_scale": -1}, "time_scale -1 is not a finite number >= 0"),
        ({"time_scale": "1"}, "time_scale '1' is not a finite number"),
        ({"rate_scale": float("nan")}, "rate_scale nan is not a finite number"),
        ({"start": "3s"}, "start '3s' is beyond the trace's 2s"),
        ({"start": "later"}, "start 'later' is not a duration"),
        ({"length": 0}, "length 0.* must be longer than zero"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused_with_its_value(write, options, message):
    path = write("time,value\n0,1\n1,2\n")
    with pytest.raises((LoadError, ConfigError), match=message):
        Trace.from_csv(path, **options)


@pytest.mark.parametrize(
    ("times_s", "levels", "duration_s", "message"),
    [
        ([], [], 1, r"times_s of shape \(0,\) is not a list with at least one entry"),
        ([0, 1], [1], 2, "a trace of 2 times has 1 levels"),
        ([1, 2], [1, 1], 3, "must start at 0 and increase"),
        ([0, 2, 2], [1, 1, 1], 3, "must start at 0 and increase"),
        ([0, 2], [1, 1], 1, "a trace of 1 s has a time beyond it: 2 s"),
        ([0, 1], [1, -3], 2, "Trace levels has -3: give finite numbers >= 0"),
        ([0, 1], [1, np.nan], 2, "Trace levels has nan"),
        ([0, 1], [1, "many"], 2, r"Trace levels \[1, 'many'\] is not a list of numbers"),
    ],
)
def test_a_trace_that_contradicts_itself_is_refused(times_s, levels, duration_s, message):
    with pytest.raises(LoadError, match=message):
        Trace(times_s, levels, duration_s)


@pytest.mark.parametrize("rescale", [Trace.to_mean, Trace.to_peak])
def test_a_trace_of_zeros_cannot_be_scaled_up(rescale):
    with pytest.raises(LoadError, match=r"a trace of zeros cannot be scaled to the .* 5"):
        rescale(Trace([0, 1], [0, 0], 2), 5)


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded traces are not here")
@pytest.mark.parametrize(
    ("name", "stamps", "step_s", "peak"),
    [
        ("twitter_volume_aapl.csv", 15902, 300, 13479),
        ("twitter_volume_amzn.csv", 15831, 300, 1673),
        ("twitter_volume_fb.csv", 15833, 300, 1258),
        ("elb_request_count_8c0756.csv", 4032, 300, 656),
        ("nyc_taxi.csv", 10320, 1800, 39197),
        ("pa-sps-norm.csv", 4000, 1, 4983),
        ("pa-sps-n-norm.csv", 3999, 1, 797),
        ("pa-sps-poisson.csv", 4000, 1, 6438),
        ("pa-sps-exponential.csv", 4000, 1, 1961),
    ],
)
def test_recorded_traces_are_read_whole_and_rescale(name, stamps, step_s, peak):
    trace = Trace.from_csv(RECORDED / name)
    assert len(trace.times_s) == stamps
    assert np.median(np.diff(trace.times_s)) == step_s
    assert trace.duration_s == trace.times_s[-1] + step_s
    assert trace.peak(trace.duration_s) == trace.levels.max() == peak
    fitted = trace.to_duration("10m").to_mean(500)
    assert fitted.mean("10m") == pytest.approx(500)
    counted = Trace.from_csv(RECORDED / name, unit="count")
    np.testing.assert_allclose(counted.levels * step_s, trace.levels)
