"""What cannot be used is set aside with its reason, and nothing else is."""

from datetime import UTC, datetime, timedelta

import pytest

from rheostat.workloads.intake import checked, require, require_timely

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@checked("price long", optional=["note"])
def accept(order):
    require(order["price"] > 0, "price out of range")
    require_timely(order, order["at"], late_s=60, early_s=5)
    yield {"price": order["price"]}


def order(**changed):
    return {"entered": NOW, "at": NOW, "price": 3, "note": None, "malformed": None, **changed}


def test_a_usable_record_passes():
    assert list(accept(order())) == [("good", {"price": 3})]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"price": 0}, "price out of range"),
        ({"price": None}, "no price"),
        ({"at": NOW - timedelta(seconds=61)}, "more than 60 s late"),
        ({"at": NOW + timedelta(seconds=6)}, "more than 5 s in the future"),
    ],
)
def test_an_unusable_record_is_set_aside_as_it_came_in(changed, reason):
    ((output, rejected),) = accept(order(**changed))
    assert (output, rejected["reason"]) == ("rejected", reason)
    assert (
        f'"price": {"null" if order(**changed)["price"] is None else order(**changed)["price"]}' in rejected["record"]
    )


def test_a_malformed_record_keeps_its_text():
    ((output, rejected),) = accept(order(price=None, malformed="{price: many"))
    assert (output, rejected) == ("rejected", {"reason": "malformed", "record": "{price: many"})


def test_several_outputs_keep_their_names():
    @checked({"even": "n long", "odd": "n long"})
    def parity(record):
        require(record["n"] >= 0, "negative")
        yield ("odd" if record["n"] % 2 else "even"), {"n": record["n"]}

    assert list(parity({"n": 3, "malformed": None})) == [("odd", {"n": 3})]
    assert [output for output, _ in parity({"n": -3, "malformed": None})] == ["rejected"]
