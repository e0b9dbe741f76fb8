import json
import time
from datetime import datetime
from pathlib import Path

import numpy as np

from rheostat.load import Constant
from rheostat.load.skew import zipf
from rheostat.workloads.feeder import Feeder
from rheostat.workloads.wordcount import sentences


def records(folder: Path) -> list[dict[str, str]]:
    files = sorted(folder.glob("[0-9]*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def fed(folder: Path, count: int) -> list[dict[str, str]]:
    """At least `count` records, written by a feeder that was stopped then."""
    feeder = Feeder(folder, Constant(500.0), lambda time_s: {"text": f"{time_s:.3f}"}, tick_s=0.02)
    deadline = time.monotonic() + 60
    with feeder:
        while feeder.fed < count:
            assert time.monotonic() < deadline
            time.sleep(0.005)
    assert len(records(folder)) == feeder.fed
    return records(folder)


def test_every_record_has_the_moment_at_which_it_was_due(tmp_path: Path) -> None:
    written = fed(tmp_path / "in", 100)
    moments = [datetime.fromisoformat(record["entered"]).timestamp() for record in written]
    assert moments == sorted(moments)
    own_times = [float(record["text"]) for record in written]
    gaps = np.diff(own_times)
    assert np.allclose(gaps, 1 / 500, atol=0.0011)  # evenly spaced, whatever the machine did meanwhile


def test_no_reader_sees_a_file_that_is_not_whole(tmp_path: Path) -> None:
    fed(tmp_path / "in", 20)
    assert not [path for path in (tmp_path / "in").iterdir() if path.name.startswith(".")]


def test_sentences_have_frequent_words_and_later_other_ones() -> None:
    make = sentences(zipf(100, 2.0), np.random.default_rng(1), words=4, rotate_at_s=10.0)

    def most_frequent(time_s: float) -> str:
        words = [word for _ in range(300) for word in make(time_s)["text"].split()]
        assert len(words) == 1200
        return max(set(words), key=words.count)

    assert most_frequent(0.0) == "word0"
    assert most_frequent(20.0) == "word50"
