"""Orders: a stock exchange's continuous double auction, the financial application of StreamSwitch (§6.1).

    orders ──> accept ──good──> match (by stock)
                 └─rejected

`match` has the book of each stock as keyed state: resting orders by price and age, and what each account owns. Trades
happen at the price of the older order. Substreams move between executors with their books.
"""

from bisect import insort
from collections.abc import Hashable, Iterator, MutableMapping
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from rheostat.load import OpeningAuction
from rheostat.load.skew import limit_orders
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.application import Application
from rheostat.workloads.feeder import MakeRecord
from rheostat.workloads.intake import checked, json_records, require

STOCKS = 1156
SUBSTREAMS = 64
ACCOUNTS = 200
FIRST_CASH, FIRST_SHARES = 100_000_000, 10_000
"""What an account can trade with in each stock at first; prices are in cents."""

RESTING = 320
"""Orders in each book when StreamSwitch's exchange opens: 370 thousand in all."""

ORDER = "number long, stock string, account long, side string, price long, quantity long"
EVENT = "stock string, event string, number long, other long, price long, quantity long"
EVENT_COLUMNS = ("stock", "event", "number", "other", "price", "quantity")
_MOST = 1_000_000
_OPENING_PRICES = 4
"""On each side of a book with generated orders: each is an entry of the state to write."""

Order = dict[str, Any]
Event = tuple[str, str, int, int | None, int, int]


def topology(folder: Path, substreams: int = SUBSTREAMS, resting: int = 0) -> Topology:
    """With `resting` each stock has so many generated orders in its book before its first order comes: the state of an
    exchange that has been open for a while."""
    return Topology(
        "orders",
        [
            Source("orders", reader=json_records(folder, ORDER)),
            Operator("accept", accept, inputs="orders", outputs={"good": 1, "rejected": 0}),
            Operator(
                "match", partial(match, resting=resting), inputs="accept.good", key="stock", substreams=substreams
            ),
        ],
    )


@checked(ORDER)
def accept(order: Order) -> Iterator[Order]:
    stock = order["stock"]
    require(stock.startswith("S") and stock[1:].isdecimal() and int(stock[1:]) < STOCKS, "unknown stock")
    require(0 <= order["account"] < ACCOUNTS, "unknown account")
    require(order["side"] in ("buy", "sell"), "unknown side")
    require(0 < order["price"] <= _MOST, "price out of range")
    require(0 < order["quantity"] <= _MOST, "quantity out of range")
    yield {name: order[name] for name in ("number", "stock", "account", "side", "price", "quantity")}


def match(orders: DataFrame, resting: int = 0) -> DataFrame:
    return orders.groupBy("stock").transformWithState(Matcher(resting), EVENT, "Update", "None")


class Matcher(StatefulProcessor):
    """Matches the orders of each stock in the order of their numbers. Only price levels that are touched are read."""

    def __init__(self, resting: int = 0) -> None:
        self.resting = resting

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.prices = handle.getValueState("prices", "bids array<long>, asks array<long>")
        self.levels = handle.getMapState(
            "levels", "side string, price long", "orders array<struct<number: long, account: long, quantity: long>>"
        )
        self.accounts = handle.getMapState("accounts", "account long", "cash long, shares long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        levels, accounts = StateMap[Any, Any](self.levels), StateMap[Any, Any](self.accounts)
        if self.prices.exists():
            bids, asks = self.prices.get() or ([], [])
            book = Book(key[0], list(bids), list(asks), levels, accounts)
        else:
            book = Book(key[0], [], [], levels, accounts)
            book.open(self.resting)
        for order in sorted(rows, key=itemgetter("number")):
            for event in book.enter(order.asDict()):
                yield Row(**dict(zip(EVENT_COLUMNS, event, strict=True)))
        self.prices.update((book.bids, book.asks))
        levels.write_back()
        accounts.write_back()

    def close(self) -> None:
        pass


class Book:
    """The book of one stock. `levels` has resting orders (number, account, quantity) by side and price, oldest first;
    `bids` and `asks` are the prices that have any, ascending; `accounts` has the cash and the shares that are free."""

    def __init__(
        self,
        stock: str,
        bids: list[int],
        asks: list[int],
        levels: MutableMapping[tuple[str, int], tuple[list[Any]]],
        accounts: MutableMapping[tuple[int], tuple[int, int]],
    ) -> None:
        self.stock, self.bids, self.asks, self.levels, self.accounts = stock, bids, asks, levels, accounts

    def open(self, resting: int) -> None:
        """Let generated orders rest in the empty book, a half on each side and too far from the middle to trade soon:
        their numbers are below zero, and what they need is not taken from any account."""
        middle = middle_price(int(self.stock[1:]))
        for number in range(-resting, 0):
            side, away = ("buy", -1) if number % 2 else ("sell", 1)
            price = middle + away * (middle // 20 + -number // 2 % _OPENING_PRICES)
            self._rest(side, price, (number, number % ACCOUNTS, 100))

    def enter(self, order: Order) -> Iterator[Event]:
        """Match an order with resting ones and let the rest of it rest; one that its account cannot pay is refused."""
        number, account, price, quantity = (order[name] for name in ("number", "account", "price", "quantity"))
        buys = order["side"] == "buy"
        cash, shares = self.accounts.get((account,), (FIRST_CASH, FIRST_SHARES))
        if (cash < price * quantity) if buys else (shares < quantity):
            yield self.stock, "refused", number, None, price, quantity
            return
        self._add(account, *((-price * quantity, 0) if buys else (0, -quantity)))
        while quantity and (best := self._best(buys)) is not None and (best <= price if buys else best >= price):
            other, other_account, traded = self._take(buys, best, quantity)
            quantity -= traded
            buyer, seller = (account, other_account) if buys else (other_account, account)
            self._add(buyer, (price - best) * traded if buys else 0, traded)
            self._add(seller, best * traded, 0)
            yield self.stock, "trade", number, other, best, traded
        if quantity:
            self._rest(order["side"], price, (number, account, quantity))

    def _best(self, buys: bool) -> int | None:
        """The best price on the other side."""
        prices = self.asks[:1] if buys else self.bids[-1:]
        return prices[0] if prices else None

    def _take(self, buys: bool, price: int, wanted: int) -> tuple[int, int, int]:
        """Take up to `wanted` from the oldest order at `price` on the other side: its number, account, and how many."""
        level = ("sell" if buys else "buy", price)
        (resting,) = self.levels[level]
        (number, account, quantity), *later = resting
        taken = min(wanted, quantity)
        left = [(number, account, quantity - taken), *later] if taken < quantity else later
        if left:
            self.levels[level] = (left,)
        else:
            del self.levels[level]
            (self.asks if buys else self.bids).remove(price)
        return number, account, taken

    def _rest(self, side: str, price: int, entry: tuple[int, int, int]) -> None:
        if (side, price) not in self.levels:
            insort(self.bids if side == "buy" else self.asks, price)
        (resting,) = self.levels.get((side, price), ([],))
        self.levels[side, price] = ([*resting, entry],)

    def _add(self, account: int, cash: int, shares: int) -> None:
        before = self.accounts.get((account,), (FIRST_CASH, FIRST_SHARES))
        self.accounts[account,] = (before[0] + cash, before[1] + shares)


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class StateMap(MutableMapping[Key, Value]):
    """Spark's `MapState` as a mapping: each key is read once, and written once by `write_back` if it has changed."""

    def __init__(self, state: Any) -> None:
        self._state = state
        self._known: dict[Key, Value | None] = {}
        self._changed: set[Key] = set()

    def write_back(self) -> None:
        for key in self._changed:
            value = self._known[key]
            if value is not None:
                self._state.updateValue(key, value)
            elif self._state.containsKey(key):
                self._state.removeKey(key)

    def __getitem__(self, key: Key) -> Value:
        if key not in self._known:
            self._known[key] = self._state.getValue(key)
        value = self._known[key]
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Key, value: Value | None) -> None:
        self._known[key] = value
        self._changed.add(key)

    def __delitem__(self, key: Key) -> None:
        self[key] = None

    def __iter__(self) -> Iterator[Key]:
        yield from [key for key, value in self._known.items() if value is not None]
        yield from (key for key in self._state.keys() if key not in self._known)  # noqa: SIM118  (Spark's state is no dict)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def middle_price(stock: int) -> int:
    """Around which generated orders are."""
    return 500 + 37 * stock % 4500


def generate(seed: int) -> MakeRecord:
    """Orders around a price for each stock; few stocks have most of them."""
    rng = np.random.default_rng(seed)
    shares = np.cumsum(limit_orders(STOCKS))
    number = 0

    def make(time_s: float) -> Order:
        nonlocal number
        number += 1
        stock = min(int(np.searchsorted(shares, rng.random())), STOCKS - 1)
        side = "buy" if rng.random() < 0.5 else "sell"
        middle = middle_price(stock)
        away = round(rng.normal(0.3, 1.0) * 0.01 * middle)  # most orders wait for a better price than the last
        return {
            "number": number,
            "stock": f"S{stock}",
            "account": int(rng.integers(ACCOUNTS)),
            "side": side,
            "price": int(max(1, middle + (-away if side == "buy" else away))),
            "quantity": 100 * int(rng.geometric(0.3)),
        }

    return make


APPLICATION = Application(topology, generate, OpeningAuction(5, (80, 70), "10s", "2m"), "20s/60s")
