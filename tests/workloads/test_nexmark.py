"""NEXMark's generator and the functions of its queries on single events. Without Spark."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from rheostat.workloads import nexmark
from rheostat.workloads.nexmark import split, with_bids

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FIELDS = [column.split()[0] for column in nexmark.EVENT.split(",")]
every = split("persons", "auctions", "bids")


def event(**told):
    return {"entered": NOW, **dict.fromkeys(FIELDS), **told, "malformed": None}


BID = event(kind="bid", person=1, auction=2, price=300)


def test_events_are_sorted_by_kind():
    person = event(kind="person", id=1, name="a", city="Boise", state="ID")
    assert list(every(person)) == [("persons", {"person": 1, "name": "a", "city": "Boise", "state": "ID", "at": NOW})]
    auction = event(kind="auction", id=2, person=1, category=10, seconds=5)
    opened = {"auction": 2, "person": 1, "category": 10, "at": NOW, "expires": NOW + timedelta(seconds=5)}
    assert list(every(auction)) == [("auctions", opened)]
    period = int(NOW.timestamp()) // 10
    assert list(every(BID)) == [("bids", {"auction": 2, "person": 1, "price": 300, "at": NOW, "period": period})]
    assert list(split("bids")(auction)) == []


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"kind": "offer"}, "unknown kind"),
        ({"kind": None}, "no kind"),
        ({"auction": None}, "bid without auction"),
        ({"price": 0}, "price out of range"),
        ({"price": 10**15}, "price out of range"),
        ({"at": NOW - timedelta(seconds=11)}, "more than 10 s late"),
        ({"at": NOW + timedelta(seconds=6)}, "more than 5 s in the future"),
        ({"kind": "auction", "id": 1, "category": 10, "seconds": 10**9}, "duration out of range"),
        ({"malformed": "{"}, "malformed"),
    ],
)
def test_events_that_cannot_be_used_are_set_aside(changed, reason):
    ((output, rejected),) = every({**BID, **changed})
    assert (output, rejected["reason"]) == ("rejected", reason)


def test_only_bids_in_the_time_of_an_auction_count():
    auction = (1000, 2000, 10, 7, 0)
    assert with_bids(auction, [(999, 9), (1000, 5), (1999, 6), (2000, 8)]) == (1000, 2000, 10, 7, 6)
    assert with_bids((1000, 2000, 10, 7, 9), [(1500, 6)]) == (1000, 2000, 10, 7, 9)
    assert with_bids(auction, []) == auction


def test_events_have_the_proportions_of_the_benchmark():
    make = nexmark.generate(1)
    made = [make(0.0) for _ in range(50_000)]
    assert Counter(each["kind"] for each in made) == {"person": 1000, "auction": 3000, "bid": 46_000}
    assert [each["id"] for each in made if each["kind"] == "person"] == list(range(1000))
    assert sorted(each["id"] for each in made if each["kind"] == "auction") == list(range(3000))
    hot = sum(each["auction"] % 100 == 0 for each in made if each["kind"] == "bid")
    assert 0.5 < hot / 46_000 < 0.53
    known_auctions = known_persons = 0
    for each in made:
        if each["kind"] == "bid":
            assert each["auction"] < known_auctions
            assert each["person"] < known_persons
        known_auctions += each["kind"] == "auction"
        known_persons += each["kind"] == "person"
    assert all(next(every(event(**each)))[0] != "rejected" for each in made[:1000])
