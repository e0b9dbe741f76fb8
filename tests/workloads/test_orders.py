"""The auction: against a naive one, and by its invariants. Without Spark."""

import json
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.workloads import orders
from rheostat.workloads.orders import FIRST_CASH, FIRST_SHARES, Book, StateMap, accept


def book() -> Book:
    return Book("S1", [], [], {}, {})


def naive(entered: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Events of one stock: every resting order is looked at each time, the best price first, then the oldest."""
    resting: list[dict[str, Any]] = []
    cash: defaultdict[int, int] = defaultdict(lambda: FIRST_CASH)
    shares: defaultdict[int, int] = defaultdict(lambda: FIRST_SHARES)
    events: list[tuple[Any, ...]] = []
    for order in map(dict, entered):
        who, price, buys = order["account"], order["price"], order["side"] == "buy"
        if (cash[who] < price * order["quantity"]) if buys else (shares[who] < order["quantity"]):
            events.append(("S1", "refused", order["number"], None, price, order["quantity"]))
            continue
        if buys:
            cash[who] -= price * order["quantity"]
        else:
            shares[who] -= order["quantity"]
        sign = 1 if buys else -1
        others = [o for o in resting if o["side"] != order["side"] and sign * o["price"] <= sign * price]
        for other in sorted(others, key=lambda o: (sign * o["price"], o["number"])):
            traded = min(order["quantity"], other["quantity"])
            if traded:
                order["quantity"] -= traded
                other["quantity"] -= traded
                buyer, seller = (order, other) if buys else (other, order)
                shares[buyer["account"]] += traded
                cash[buyer["account"]] += (buyer["price"] - other["price"]) * traded
                cash[seller["account"]] += other["price"] * traded
                events.append(("S1", "trade", order["number"], other["number"], other["price"], traded))
        resting = [o for o in [*resting, order] if o["quantity"]]
    return events


ORDERS = st.lists(
    st.fixed_dictionaries(
        {
            "account": st.integers(0, 3),
            "side": st.sampled_from(["buy", "sell"]),
            "price": st.integers(95, 105),
            "quantity": st.sampled_from([1, 5, 100, 6000]),
        }
    ),
    max_size=60,
)


@given(ORDERS)
def test_trades_are_those_of_a_naive_auction(entered):
    numbered = [{"number": number, **order} for number, order in enumerate(entered)]
    under_test = book()
    assert [event for order in numbered for event in under_test.enter(order)] == naive(numbered)


@given(ORDERS)
def test_nothing_is_made_or_lost_and_the_book_is_never_crossed(entered):
    under_test = book()
    wanted, traded = Counter(), Counter()
    for number, order in enumerate(entered):
        events = list(under_test.enter({"number": number, **order}))
        if not any(event[1] == "refused" for event in events):
            wanted[number] = order["quantity"]
        for _, kind, taker, maker, _, quantity in events:
            if kind == "trade":
                traded.update({taker: quantity, maker: quantity})
        assert not under_test.bids or not under_test.asks or under_test.bids[-1] < under_test.asks[0]
        assert all(a < b for prices in (under_test.bids, under_test.asks) for a, b in pairwise(prices))
    resting = Counter({number: left for (level,) in under_test.levels.values() for number, _, left in level})
    assert traded + resting == wanted
    held = {account: free for (account,), free in under_test.accounts.items()}
    in_bids = sum(p * left for (side, p), (level,) in under_test.levels.items() for *_, left in level if side == "buy")
    in_asks = sum(left for (side, _), (level,) in under_test.levels.items() for *_, left in level if side == "sell")
    assert sum(cash for cash, _ in held.values()) + in_bids == FIRST_CASH * len(held)
    assert sum(shares for _, shares in held.values()) + in_asks == FIRST_SHARES * len(held)
    assert all(cash >= 0 and shares >= 0 for cash, shares in held.values())


@given(ORDERS, st.integers(1, 20))
def test_a_book_in_state_is_the_same_however_often_it_is_written_and_read(entered, every):
    numbered = [{"number": number, **order} for number, order in enumerate(entered)]
    levels, accounts, prices, events = MapState(), MapState(), ([], []), []
    for start in range(0, len(numbered), every):
        maps = StateMap(levels), StateMap(accounts)
        batch = Book("S1", *map(list, prices), *maps)
        events += [event for order in numbered[start : start + every] for event in batch.enter(order)]
        unwritten = [dict(each) for each in maps]
        for each in maps:
            each.write_back()
        assert unwritten == [levels.content, accounts.content]
        prices = batch.bids, batch.asks
    assert events == naive(numbered)


def test_a_book_that_opens_with_resting_orders_trades_with_them_by_price_and_age():
    under_test = Book("S100", [], [], {}, {})
    under_test.open(orders.RESTING)
    rest = {key: list(level) for key, (level,) in under_test.levels.items()}
    assert sum(map(len, rest.values())) == orders.RESTING
    assert pytest.approx(370_000, rel=0.01) == orders.STOCKS * orders.RESTING, "as in StreamSwitch"
    assert under_test.bids[-1] < under_test.asks[0]
    best = rest["sell", under_test.asks[0]]
    assert [number for number, *_ in best] == sorted(number for number, *_ in best)
    all_of_it = {"number": 1, "account": 5, "side": "buy", "price": under_test.asks[0], "quantity": 100 * len(best) + 7}
    events = list(under_test.enter(all_of_it))
    assert [(kind, maker, quantity) for _, kind, _, maker, _, quantity in events] == [
        ("trade", number, 100) for number, *_ in best
    ]
    assert under_test.bids[-1] == all_of_it["price"], "what is left rests"


class MapState:
    """Spark's, which refuses to remove what it does not have."""

    def __init__(self):
        self.content = {}

    def getValue(self, key):
        return self.content.get(key)

    def keys(self):
        return iter(list(self.content))

    def containsKey(self, key):
        return key in self.content

    def updateValue(self, key, value):
        self.content[key] = value

    def removeKey(self, key):
        del self.content[key]


GOOD = {"number": 1, "stock": "S7", "account": 3, "side": "buy", "price": 900, "quantity": 100}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"stock": "S1156"}, "unknown stock"),
        ({"stock": "X1"}, "unknown stock"),
        ({"account": -1}, "unknown account"),
        ({"side": "hold"}, "unknown side"),
        ({"price": 0}, "price out of range"),
        ({"quantity": 10**12}, "quantity out of range"),
        ({"number": None}, "no number"),
    ],
)
def test_orders_that_cannot_be_matched_are_set_aside(changed, reason):
    ((output, rejected),) = accept({**GOOD, **changed, "entered": "now", "malformed": None})
    assert (output, rejected["reason"]) == ("rejected", reason)
    assert json.loads(rejected["record"]) == {**GOOD, **changed, "entered": "now"}


def test_generated_orders_are_accepted_skewed_and_mostly_rest():
    make = orders.generate(3)
    made = [make(0.0) for _ in range(20_000)]
    assert all(accept({**order, "malformed": None}).__next__()[0] == "good" for order in made)
    stocks = Counter(order["stock"] for order in made)
    assert stocks.most_common(1)[0][1] > 0.015 * len(made)
    assert sum(count for _, count in stocks.most_common(11)) > 0.08 * len(made)
    books = {stock: Book(stock, [], [], {}, {}) for stock in stocks}
    trades = sum(event[1] == "trade" for order in made for event in books[order["stock"]].enter(order))
    resting = sum(len(level) for each in books.values() for (level,) in each.levels.values())
    assert trades > 0.1 * len(made)
    assert resting > 0.3 * len(made)
