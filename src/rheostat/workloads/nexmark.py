"""NEXMark: an online auction with new persons, auctions and bids, and the benchmark's queries 1 to 8.

    events ──> split ──persons, auctions, bids──> the operators of a query
                 └─rejected

`rheostat run nexmark-q5` runs one query. StreamSwitch uses 2, 5 and 8. Windows are those of the benchmark's usual
streaming form: ten seconds, sliding by two. An event without a time of its own (`at`) happens when it enters.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from rheostat.load import Sine
from rheostat.spark.query.per_record.record_function import Record, RecordFunction
from rheostat.spark.query.user_functions import final_rows
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.application import Application
from rheostat.workloads.feeder import MakeRecord
from rheostat.workloads.intake import checked, json_records, require, require_timely

EVENT = """kind string, id long, at timestamp, name string, city string, state string, person long, category long,
    seconds long, auction long, price long"""
"""`person` is the seller of an auction and the bidder of a bid; `seconds` is how long an auction is open."""
KINDS = {
    "persons": "person long, name string, city string, state string, at timestamp",
    "auctions": "auction long, person long, category long, at timestamp, expires timestamp",
    "bids": "auction long, person long, price long, at timestamp, period long",
}
SHARES = {"persons": 1 / 50, "auctions": 3 / 50, "bids": 46 / 50}
LATE_S, EARLY_S = 10.0, 5.0
WATERMARK = "20 seconds"
"""More than an accepted event can be behind the newest one: no event that was accepted is dropped later."""
WINDOW, SLIDE = "10 seconds", "2 seconds"
PERIOD_S = 10

_NEEDED = {
    "person": ("id", "name", "city", "state"),
    "auction": ("id", "person", "category", "seconds"),
    "bid": ("person", "auction", "price"),
}
_OPTIONAL = ("id", "at", "name", "city", "state", "person", "category", "seconds", "auction", "price")


def split(*kinds: str) -> RecordFunction:
    """Sorts events into these kinds; the others are not needed."""

    @checked({kind: KINDS[kind] for kind in kinds}, optional=_OPTIONAL)
    def split_events(event: Record) -> Iterator[tuple[str, Record]]:
        kind, at = event["kind"], event["at"] or event["entered"]
        require(kind in _NEEDED, "unknown kind")
        for name in _NEEDED[kind]:
            require(event[name] is not None, f"{kind} without {name}")
        require_timely(event, at, LATE_S, EARLY_S)
        require(event["price"] is None or 0 < event["price"] < 10**12, "price out of range")
        require(event["seconds"] is None or 0 < event["seconds"] <= 3600, "duration out of range")
        output, record = _sorted(kind, at, event)
        if output in kinds:
            yield output, record

    return split_events


def _sorted(kind: str, at: datetime, event: Record) -> tuple[str, Record]:
    if kind == "person":
        return "persons", {"person": event["id"], "at": at, **{n: event[n] for n in ("name", "city", "state")}}
    if kind == "auction":
        expires = at + timedelta(seconds=event["seconds"])
        told = {name: event[name] for name in ("person", "category")}
        return "auctions", {"auction": event["id"], "at": at, "expires": expires, **told}
    period = int(at.timestamp() // PERIOD_S)
    return "bids", {"at": at, "period": period, **{name: event[name] for name in ("auction", "person", "price")}}


# Q1: prices in euros.
def to_euro(bids: DataFrame) -> DataFrame:
    return bids.withColumn("price", sf.col("price") * 0.908)


# Q2: bids on some auctions.
def chosen(bids: DataFrame) -> DataFrame:
    return bids.filter("auction % 123 = 0").select("auction", "price")


# Q3: who sells in category 10 in three states, whenever they have registered. All rows are kept as state.
def local_sellers(persons: DataFrame, auctions: DataFrame) -> DataFrame:
    local = persons.filter(sf.col("state").isin("OR", "ID", "CA"))
    sold = auctions.filter("category = 10").withColumnRenamed("person", "seller")
    return sold.join(local, sf.expr("seller = person")).select("name", "city", "state", "auction")


# Q4 and Q6: the highest bid of each auction when it closes.
def winners(auctions: DataFrame, bids: DataFrame) -> DataFrame:
    offered = auctions.withWatermark("at", WATERMARK).select("auction", "at", "expires", "category", "person")
    asked = bids.withWatermark("at", WATERMARK).select("auction", "at", "price")
    both = offered.unionByName(asked, allowMissingColumns=True)
    timed = both.withColumn("at_ms", sf.unix_millis("at")).withColumn("expires_ms", sf.unix_millis("expires"))
    won = "auction long, category long, person long, price long, closed_ms long"
    return timed.groupBy("auction").transformWithState(Winner(), won, "Append", "EventTime")


class Winner(StatefulProcessor):
    """Keeps an auction with its highest bid, and sells it when it closes.

    A bid may be read before its auction: bids are kept until the auction is known, or for an hour.
    """

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.auction = handle.getValueState(
            "auction", "at_ms long, expires_ms long, category long, person long, price long"
        )
        self.early = handle.getListState("early", "at_ms long, price long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        auction, bids = self.auction.get(), []
        for row in rows:
            if row["price"] is not None:
                bids.append((row["at_ms"], row["price"]))
            else:
                auction = (row["at_ms"], row["expires_ms"], row["category"], row["person"], 0)
                bids.extend(self.early.get())
                self.early.clear()
                self.handle.registerTimer(row["expires_ms"])
        if auction is not None:
            self.auction.update(with_bids(auction, bids))
        elif bids:
            self.early.appendList(bids)
            self.handle.registerTimer(max(at_ms for at_ms, _ in bids) + 3_600_000)
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        auction = self.auction.get()
        self.auction.clear()
        self.early.clear()
        if auction is not None and auction[-1]:
            _, expires_ms, category, person, price = auction
            yield Row(auction=key[0], category=category, person=person, price=price, closed_ms=expires_ms)

    def close(self) -> None:
        pass


Auction = tuple[int, int, int, int, int]
"""Opened and closes (ms), category, seller, and the highest bid so far; 0 if there is none."""


def with_bids(auction: Auction, bids: Sequence[tuple[int, int]]) -> Auction:
    """The auction after these bids (ms, price), of which only those in its time count."""
    at_ms, expires_ms, category, person, price = auction
    highest = max((price for bid_ms, price in bids if at_ms <= bid_ms < expires_ms), default=0)
    return at_ms, expires_ms, category, person, max(price, highest)


def mean_by_category(won: DataFrame) -> DataFrame:
    return won.groupBy("category").agg(sf.avg("price").alias("price"), sf.count("*").alias("auctions"))


# Q5: the auctions with the most bids in each sliding window.
@final_rows
def count_bids(bids: DataFrame) -> DataFrame:
    windows = bids.withWatermark("at", WATERMARK).groupBy("auction", sf.window("at", WINDOW, SLIDE))
    return windows.agg(sf.count("*").alias("bids")).select("auction", "bids", sf.col("window.end").alias("until"))


@final_rows
def most_bids(counts: DataFrame) -> DataFrame:
    """All counts of a window come in one batch; of equal ones the newest auction is taken."""
    most = sf.max(sf.struct("bids", "auction")).alias("most")
    return counts.withWatermark("until", "0 seconds").groupBy("until").agg(most).select("until", "most.*")


# Q6: the mean price of a seller's last ten auctions.
class LastTen(StatefulProcessor):
    """Keeps the last ten prices of a seller, in the order in which the auctions closed."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.sold = handle.getValueState("sold", "prices array<struct<closed_ms: long, auction: long, price: long>>")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        (before,) = self.sold.get() or ([],)
        sold = sorted([*map(tuple, before), *((row["closed_ms"], row["auction"], row["price"]) for row in rows)])[-10:]
        self.sold.update((sold,))
        yield Row(person=key[0], price=sum(price for *_, price in sold) / len(sold))

    def close(self) -> None:
        pass


def mean_by_seller(won: DataFrame) -> DataFrame:
    return won.groupBy("person").transformWithState(LastTen(), "person long, price double", "Update", "None")


# Q7: the highest bid of each ten seconds.
@final_rows
def highest(bids: DataFrame) -> DataFrame:
    windows = bids.withWatermark("at", WATERMARK).groupBy("period", sf.window("at", WINDOW))
    best = windows.agg(sf.max(sf.struct("price", "auction", "person")).alias("best"))
    return best.select(sf.col("window.end").alias("until"), "best.*")


# Q8: persons who open an auction in the same ten seconds in which they have registered.
def new_sellers(persons: DataFrame, auctions: DataFrame) -> DataFrame:
    new = persons.withWatermark("at", WATERMARK).select("person", "name", sf.window("at", WINDOW).alias("registered"))
    opened = auctions.withWatermark("at", WATERMARK).select(
        sf.col("person").alias("seller"), "auction", sf.window("at", WINDOW).alias("sold")
    )
    together = new.join(opened, sf.expr("person = seller AND registered = sold"))
    return together.select("person", "name", "auction", sf.col("registered.end").alias("until"))


def generate(seed: int) -> MakeRecord:
    """Events in the benchmark's proportions: of 50, one person, three auctions and 46 bids; half of the bids are on one
    in a hundred auctions, and three quarters of the auctions are of few sellers."""
    rng = np.random.default_rng(seed)
    number = 0

    def make(time_s: float) -> Record:
        nonlocal number
        (fifties, place), number = divmod(number, 50), number + 1
        persons, auctions = fifties + 1, 3 * fifties + 3
        recent = partial(_recent, rng)
        if place == 0:
            cities = [("Portland", "OR"), ("Boise", "ID"), ("San Diego", "CA"), ("Phoenix", "AZ"), ("Seattle", "WA")]
            city, state = cities[rng.integers(len(cities))]
            return {"kind": "person", "id": persons - 1, "name": f"person {persons - 1}", "city": city, "state": state}
        if place <= 3:
            seller = persons - 1 - (persons - 1) % 4 if rng.random() < 0.75 else recent(persons, 1000)
            category = 10 + int(rng.integers(5))
            length_s = int(rng.integers(2, 21))
            return {"kind": "auction", "id": auctions - 4 + place, "person": seller, "category": category,
                    "seconds": length_s}  # fmt: skip
        auction = (auctions - 1) // 100 * 100 if rng.random() < 0.5 else recent(auctions, 100)
        price = int(100 * 10 ** (6 * rng.random()))
        return {"kind": "bid", "person": recent(persons, 1000), "auction": auction, "price": price}

    return make


def _recent(rng: np.random.Generator, count: int, most: int) -> int:
    """One of the last `most` of so many."""
    return int(rng.integers(max(0, count - most), count))


def _query(number: int, kinds: Sequence[str], operators: Callable[[int], list[Operator]]) -> Application:
    def topology(folder: Path, substreams: int = 8) -> Topology:
        outputs = {**{kind: SHARES[kind] for kind in kinds}, "rejected": 0.0}
        source = Source("events", reader=json_records(folder, EVENT))
        first = Operator("split", split(*kinds), inputs="events", outputs=outputs)
        return Topology(f"nexmark-q{number}", [source, first, *operators(substreams)])

    return Application(topology, generate, Sine(300, 200, "2m"))


def _winning(last: Operator) -> Callable[[int], list[Operator]]:
    def operators(substreams: int) -> list[Operator]:
        inputs = ["split.auctions", "split.bids"]
        return [
            Operator("winners", winners, inputs=inputs, key="auction", substreams=substreams, selectivity=0.06),
            last,
        ]

    return operators


Q1 = _query(1, ["bids"], lambda substreams: [Operator("convert", to_euro, inputs="split.bids")])

Q2 = _query(2, ["bids"], lambda substreams: [Operator("select", chosen, inputs="split.bids", selectivity=1 / 123)])

Q3 = _query(
    3,
    ["persons", "auctions"],
    lambda substreams: [
        Operator("join", local_sellers, inputs=["split.persons", "split.auctions"], key="person", substreams=substreams)
    ],
)

Q4 = _query(
    4,
    ["auctions", "bids"],
    _winning(Operator("categories", mean_by_category, inputs="winners", key="category", substreams=4)),
)

Q5 = _query(
    5,
    ["bids"],
    lambda substreams: [
        Operator("count", count_bids, inputs="split.bids", key="auction", substreams=substreams),
        Operator("hottest", most_bids, inputs="count", key="until", substreams=4, selectivity=0.01),
    ],
)

Q6 = _query(
    6,
    ["auctions", "bids"],
    _winning(Operator("sellers", mean_by_seller, inputs="winners", key="person", substreams=4)),
)

Q7 = _query(
    7, ["bids"], lambda substreams: [Operator("highest", highest, inputs="split.bids", key="period", substreams=4)]
)

Q8 = _query(
    8,
    ["persons", "auctions"],
    lambda substreams: [
        Operator("join", new_sellers, inputs=["split.persons", "split.auctions"], key="person", substreams=substreams)
    ],
)
