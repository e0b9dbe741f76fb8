"""DABS-Storm's topologies: costs by value, and subgroups of opinions. Without Spark."""

import hashlib
from collections import Counter

import pytest

from rheostat.workloads import insensitive, opinions, sensitive
from rheostat.workloads.opinions import city_of, dispatch, locate
from rheostat.workloads.sensitive import ROUNDS, VALUES, finalize, hashed, work

GOOD = {
    "entered": "now", "user": 1, "age": 47, "code": 3, "topic": "parks", "opinion": "for", "malformed": None
}  # fmt: skip


def test_a_value_is_hashed_as_often_as_it_costs():
    assert hashed(7, 2) == hashlib.sha256(hashlib.sha256(b"7").digest()).hexdigest()
    assert sorted(ROUNDS) == list(range(100, 6500, 100))
    ((output, done),) = work({"value": 9, "malformed": None})
    assert (output, done) == ("good", {"value": 9, "digest": hashed(9, ROUNDS[9])})
    assert next(iter(finalize(done))) == {"value": 9, "digest": hashed(9, ROUNDS[9])[:16]}
    ((_, same),) = insensitive.work({"value": 9, "malformed": None})
    assert same["digest"] == hashed(9, insensitive.ROUNDS)


@pytest.mark.parametrize("operator", [work, insensitive.work])
@pytest.mark.parametrize(
    ("value", "reason"), [(VALUES, "value out of range"), (-1, "value out of range"), (None, "no value")]
)
def test_values_that_cannot_be_used_are_set_aside(operator, value, reason):
    ((output, rejected),) = operator({"value": value, "malformed": None})
    assert (output, rejected["reason"]) == ("rejected", reason)


def test_an_opinion_takes_both_branches_unless_its_topic_is_irrelevant():
    told = {"topic": "parks", "opinion": "for"}
    assert list(dispatch(GOOD)) == [("located", {"code": 3, **told}), ("aged", {"age_group": "40s", **told})]
    assert list(dispatch({**GOOD, "topic": "gossip"})) == []
    assert list(locate({"code": 3, **told})) == [{"city": city_of(3), **told}]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"age": 200}, "age out of range"),
        ({"code": 64}, "unknown code"),
        ({"topic": "none"}, "unknown topic"),
        ({"opinion": "maybe"}, "unknown opinion"),
        ({"user": None}, "no user"),
    ],
)
def test_opinions_that_cannot_be_used_are_set_aside(changed, reason):
    ((output, rejected),) = dispatch({**GOOD, **changed})
    assert (output, rejected["reason"]) == ("rejected", reason)


def test_generated_values_are_skewed_and_opinions_usable():
    make = sensitive.generate(1)
    values = Counter(make(0.0)["value"] for _ in range(5000))
    assert values[0] > 0.3 * 5000
    tell = opinions.generate(1)
    outputs = [list(dispatch({**GOOD, **tell(0.0)})) for _ in range(2000)]
    assert {len(made) for made in outputs} == {0, 2}
    assert sum(not made for made in outputs) == pytest.approx(2000 * 2 / 7, rel=0.15)
    assert len({city_of(code) for code in range(opinions.CODES)}) > 6
