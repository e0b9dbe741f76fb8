"""Topology shapes: how two of them differ, in words."""

import json

import pytest

from rheostat.topology import Operator, Source, Topology
from rheostat.topology_shape import differences, fingerprint_of, shape_of

WORDS = Topology(
    "words", [Source("in"), Operator("split", inputs="in"), Operator("count", inputs="split", key="word", substreams=8)]
)


def test_a_shape_survives_json_with_its_fingerprint():
    kept = json.loads(json.dumps(shape_of(WORDS)))
    assert fingerprint_of(kept) == WORDS.fingerprint()
    assert differences(kept, shape_of(WORDS)) == []


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([Source("in"), Operator("split", inputs="in")], ["operator 'count' is gone"]),
        (
            [*WORDS.parts, Source("more"), Operator("join", inputs=["more", "split"])],
            ["source 'more' is new", "operator 'join' is new"],
        ),
        (
            [Source("in"), Operator("split", inputs="in"), Operator("count", inputs="in", key="word", substreams=8)],
            ["the inputs of operator 'count' were split and are in now"],
        ),
        (
            [Source("in"), Operator("split", inputs="in"), Operator("count", inputs="split")],
            ["the key of operator 'count' was 'word' and is none now",
             "the substreams of operator 'count' were 8 and are none now"],
        ),
        (
            [Source("in"), WORDS.operators["count"], Operator("split", inputs="in")],
            ["the operators were in the order split, count"],
        ),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::rheostat.topology.TopologyWarning")
def test_what_differs_is_named(parts, words):
    now = Topology("words", parts)
    assert differences(shape_of(WORDS), shape_of(now)) == words
    assert now.fingerprint() != WORDS.fingerprint()
