"""Sample records are written again and again at a rate."""

import json
import time

import pytest

from rheostat.errors import ConfigError
from rheostat.experiments.calibration.sample_feed import SampleFeed


def test_records_are_written_in_turn_at_the_rate(tmp_path):
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"text": "a"}\n\n{"text": "b"}\n')
    with SampleFeed(tmp_path / "in", samples)(50.0):
        time.sleep(1.0)
    lines = [json.loads(line) for path in sorted((tmp_path / "in").glob("*.json")) for line in path.open()]
    assert 20 <= len(lines) <= 60
    assert [line["text"] for line in lines[:4]] == ["a", "b", "a", "b"]


def test_without_a_rate_nothing_is_written(tmp_path):
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"text": "a"}\n')
    with SampleFeed(tmp_path / "in", samples)(None):
        pass
    assert not (tmp_path / "in").exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [("", "has no JSON objects"), ("[1]\n", "has no JSON objects"), ("text\n", "is not a file of JSON objects")],
)
def test_other_files_are_refused(tmp_path, content, reason):
    samples = tmp_path / "samples.jsonl"
    samples.write_text(content)
    with pytest.raises(ConfigError, match=reason):
        SampleFeed(tmp_path / "in", samples)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"--records .*none\.jsonl cannot be read"):
        SampleFeed(tmp_path / "in", tmp_path / "none.jsonl")
