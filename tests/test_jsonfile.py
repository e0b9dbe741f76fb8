"""Files in JSON: what they hold, and what is said when they do not."""

import msgspec
import pytest

from rheostat.errors import ConfigError
from rheostat.jsonfile import parse_json, read_json


class Pair(msgspec.Struct, frozen=True):
    one: int
    other: str = "x"


def test_a_file_becomes_the_type_asked_for(tmp_path):
    path = tmp_path / "pair.json"
    path.write_text('{"one": 1}')
    assert read_json(path, Pair, "pair file") == Pair(1)


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot read pair file .*missing.json: No such file"):
        read_json(tmp_path / "missing.json", Pair, "pair file")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "here: not JSON: Input data was truncated"),
        ("{", "here: not JSON: Input data was truncated"),
        (b"\x00\x01", "here: not JSON"),
        (b'{"other": "\xff"}', "here: not JSON: .*0xff"),
        ('{"one": "1"}', r"here: Expected 'int', got 'str' - at '\$\.one'"),
        ("[1]", "here: Expected 'object', got 'array'"),
    ],
)
def test_content_that_is_wrong_is_named_with_where_it_stands(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_json(text, Pair, "here")


def test_brackets_without_end_are_no_json():
    with pytest.raises(ConfigError, match="here: not JSON"):
        parse_json("[" * 1_000_000, object, "here")
