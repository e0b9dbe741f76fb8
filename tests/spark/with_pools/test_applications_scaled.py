"""Applications have exact answers while executors come and go and substreams move."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

import pytest
from scaled_run import reasons, scaled_run

from rheostat.workloads import (
    debs2024,
    dns,
    fpd,
    insensitive,
    logs,
    nexmark,
    opinions,
    orders,
    sensitive,
    twitter,
    twitter_wide,
    wordcount,
)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture
def scaled(free, tmp_path, eventually):
    """Runs the topology that `make` makes of a folder on these lines."""
    return lambda make, lines, **more: scaled_run(free, make(tmp_path / "input"), lines, tmp_path, eventually, **more)


def taken(generate: Any, count: int) -> list[dict[str, Any]]:
    """Records as they are generated in the first seconds, a hundred a second."""
    return [generate(0.01 * n) for n in range(count)]


def test_orders(scaled):
    good = [{**order, "stock": f"S{int(order['stock'][1:]) % 20}"} for order in taken(orders.generate(1), 1200)]
    bad = [{**good[0], "stock": "S9999"}, "{not json", {**good[0], "quantity": "many"}, {"number": 5}]
    results = scaled(lambda folder: orders.topology(folder, substreams=4, resting=50), [*good[:500], *bad, *good[500:]])
    books = {order["stock"]: orders.Book(order["stock"], [], [], {}, {}) for order in good}
    for book in books.values():
        book.open(50)
    expected = sorted((event for order in good for event in books[order["stock"]].enter(order)), key=repr)
    assert sorted((tuple(row[n] for n in orders.EVENT_COLUMNS) for row in results["match"]), key=repr) == expected
    assert reasons(results["accept.rejected"]) == ["malformed", "malformed", "no stock", "unknown stock"]


@pytest.mark.slow
def test_debs2024(scaled):
    good = taken(debs2024.generate(1, drives=60), 1500)
    late = {**good[0], "date": "2023-06-01"}
    bad = [{**good[0], "smart_194_raw": 999}, {**good[0], "date": "2999-01-01"}, "nonsense", {**good[0], "model": None}]
    results = scaled(
        lambda folder: debs2024.topology(folder, substreams=4),
        [*good[:700], *bad, *good[700:]],
        shared=[("filter", "detect"), ("store", "alert")],
        last=[late],
    )
    readings = [{**reading, "late": None} for reading in good]
    expected = {}
    for model in {reading["model"] for reading in good}:
        _, updates = debs2024.weeks({}, [reading for reading in readings if reading["model"] == model])
        for week in updates:
            values = {name: week[name] for name in ("readings", "failures", "celsius")}
            expected[f"{model}/{week['until']}"] = values
    stored = [(row["batch"], json.loads(row["value"]), row["key"]) for row in results["store.good"]]
    stored.sort(key=lambda each: (each[0], each[1]["readings"]))  # a batch may have several updates of a week
    assert {key: value for _, value, key in stored} == expected
    assert reasons(results["store.rejected"]) == ["late"]
    assert reasons(results["filter.rejected"]) == [
        "date in the future", "malformed", "no model", "temperature out of range",
    ]  # fmt: skip
    drives: dict[str, tuple[str, int]] = {}
    alerts = []
    for reading in good:
        if len(list(debs2024.detect(reading))) == 2:
            last = drives.get(reading["serial_number"], ("", 0))
            found = [(kind, last[1], now) for kind, now in debs2024.anomalies(last, reading)]
            told = {name: reading[name] for name in ("serial_number", "model", "date")}
            alerts += [next(iter(debs2024.alert({**told, "kind": k, "before": b, "now": n}))) for k, b, n in found]
            drives[reading["serial_number"]] = (reading["date"], debs2024.lost_sectors(reading))
    assert sorted(row["message"] for row in results["alert"]) == sorted(alert["message"] for alert in alerts)
    assert alerts


START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def nexmark_events(count: int) -> list[dict[str, Any]]:
    """Twenty events a second by their own times, which are the times at which they enter."""
    moments = [(START + timedelta(seconds=n / 20)).isoformat() for n in range(count)]
    return [
        {"entered": at, "at": at, **event} for at, event in zip(moments, taken(nexmark.generate(1), count), strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 9))
def test_nexmark(scaled, number):
    events = nexmark_events(1500)
    late = {**events[-1], "at": START.isoformat(), "entered": events[-1]["entered"]}
    bad = [late, {**events[0], "kind": "?"}, "[1, 2", {**events[-1], "at": "2999-01-01T00:00:00Z"}]
    closing = [
        {**event, "at": moment, "entered": moment}
        for hour in (1, 2, 3)
        for moment in [(START + timedelta(hours=hour)).isoformat()]
        for event in [{"kind": "person", "id": 10**6, "name": "z", "city": "z", "state": "zz"},
                      {"kind": "auction", "id": 10**6, "person": -1, "category": 10**6, "seconds": 1},
                      {"kind": "bid", "auction": 10**6, "person": -1, "price": 1}]
    ]  # fmt: skip
    query = getattr(nexmark, f"Q{number}")
    results = scaled(lambda folder: query.topology(folder, substreams=4), [*events, *bad], last=closing)
    assert reasons(results["split.rejected"]) == sorted(
        ["more than 10 s late", "unknown kind", "malformed", "more than 5 s in the future"]
    )
    (name,) = results.keys() - {"split.rejected"}
    expected, found = nexmark_answer(number, events), results[name]
    columns = list(expected[0])
    if number in (4, 6):  # updates: the last one of each key counts
        found = list({row[columns[0]]: row for row in sorted(found, key=itemgetter("batch"))}.values())
    told = [tuple(_plain(row[column]) for column in columns) for row in found]
    told = [row for row in told if 10**6 not in row and -1 not in row]
    told = [row for row in told if not any(isinstance(v, datetime) and v > START + timedelta(minutes=30) for v in row)]
    assert sorted(told, key=repr) == sorted((tuple(row.values()) for row in expected), key=repr)
    assert told


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return round(value, 6) if isinstance(value, float) else value


def nexmark_answer(number: int, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The query over all events at once, in plain Python."""
    at = lambda event: datetime.fromisoformat(event["at"])  # noqa: E731
    end = lambda moment: START + timedelta(seconds=10 * (int((moment - START).total_seconds()) // 10 + 1))  # noqa: E731
    persons = [event for event in events if event["kind"] == "person"]
    auctions = [event for event in events if event["kind"] == "auction"]
    bids = [event for event in events if event["kind"] == "bid"]
    if number == 1:
        return [{"auction": b["auction"], "person": b["person"], "price": round(b["price"] * 0.908, 6)} for b in bids]
    if number == 2:
        return [{"auction": b["auction"], "price": b["price"]} for b in bids if b["auction"] % 123 == 0]
    if number == 3:
        local = {p["id"]: p for p in persons if p["state"] in ("OR", "ID", "CA")}
        sold = [(local[a["person"]], a) for a in auctions if a["category"] == 10 and a["person"] in local]
        return [{"name": p["name"], "city": p["city"], "state": p["state"], "auction": a["id"]} for p, a in sold]
    if number == 5:
        counts: Counter[tuple[datetime, int]] = Counter()
        for bid in bids:
            first = START + timedelta(seconds=2 * (int((at(bid) - START).total_seconds()) // 2 + 1))
            counts.update((first + timedelta(seconds=2 * n), bid["auction"]) for n in range(5))
        windows = {until for until, _ in counts}
        most = {until: max((n, auction) for (u, auction), n in counts.items() if u == until) for until in windows}
        return [{"until": until, "bids": n, "auction": auction} for until, (n, auction) in most.items()]
    if number == 7:
        best: dict[datetime, tuple[int, int, int]] = {}
        for bid in bids:
            until = end(at(bid))
            best[until] = max(best.get(until, (0, 0, 0)), (bid["price"], bid["auction"], bid["person"]))
        return [{"until": u, "price": p, "auction": a, "person": w} for u, (p, a, w) in best.items()]
    if number == 8:
        registered = {(p["id"], end(at(p))): p for p in persons}
        together = [
            (registered[a["person"], end(at(a))], a) for a in auctions if (a["person"], end(at(a))) in registered
        ]
        return [{"person": p["id"], "name": p["name"], "auction": a["id"], "until": end(at(a))} for p, a in together]
    won = []
    for auction in auctions:
        closes = at(auction) + timedelta(seconds=auction["seconds"])
        prices = [b["price"] for b in bids if b["auction"] == auction["id"] and at(auction) <= at(b) < closes]
        won += [(auction, closes, max(prices))] if prices else []
    field = "category" if number == 4 else "person"
    groups: dict[int, list[Any]] = {}
    for auction, _, price in sorted(won, key=lambda each: (each[1], each[0]["id"])):
        groups.setdefault(auction[field], []).append(price)
    last = -10 if number == 6 else None
    return [{field: key, "price": round(sum(p[last:]) / len(p[last:]), 6)} for key, p in groups.items()]


def last_by(rows: list[dict[str, Any]], *key: str) -> list[dict[str, Any]]:
    """The newest row of each key."""
    newest = {tuple(row[name] for name in key): row for row in sorted(rows, key=itemgetter("batch"))}
    return list(newest.values())


def through(records: list[dict[str, Any]], first: Any, *functions: Any) -> list[dict[str, Any]]:
    """What functions on single records make of what `first` accepts."""
    made = [
        record
        for each in records
        for output, record in first({"entered": START, **each, "malformed": None})
        if output != "rejected"
    ]
    for function in functions:
        made = [after for before in made for after in function(before)]
    return made


def untimed(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records of a source with times, which have none."""
    return [{"at": None, **record} for record in records]


def counted(rows: list[dict[str, Any]], *columns: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[column] for column in columns) for row in rows)


@pytest.mark.slow
def test_wordcount(scaled):
    good = taken(wordcount.APPLICATION.generate(1), 1500)
    results = scaled(wordcount.topology, [*good[:300], "{", {"text": None}, {"text": 7}, *good[300:]])
    found = {row["word"]: row["count"] for row in last_by(results["count"], "word")}
    words = Counter(word for sentence in good for word in sentence["text"].split())
    assert found == {**words, "7": 1}, "a number is a text to Spark"
    assert reasons(results["split.rejected"]) == ["malformed", "no text"]


@pytest.mark.slow
def test_logs(scaled):
    good = taken(logs.generate(1), 1500)
    bad = [{"line": ""}, {"line": "what?"}, "{", {"line": None}]
    results = scaled(lambda folder: logs.topology(folder, 4), [*good, *bad], shared=[("template", "judge")])
    columns = ("template", "component", "severity")
    found = {tuple(row[c] for c in columns): row["lines"] for row in last_by(results["count"], *columns)}
    assert found == counted(through(good, logs.parse, logs.find_template, logs.judge), *columns)
    assert reasons(results["parse.rejected"]) == ["empty line", "malformed", "no line", "unknown format"]


@pytest.mark.slow
def test_dns(scaled):
    good = taken(dns.generate(1), 1500)
    bad = [{**good[0], "client": "?"}, {**good[0], "bytes": -1}, {**good[0], "at": "2999-01-01T00:00:00Z"}, "]"]
    results = scaled(lambda folder: dns.topology(folder, 4), [*good, *bad], shared=[("features", "classify")])
    found = {(row["client"], row["verdict"]): row["queries"] for row in last_by(results["count"], "client", "verdict")}
    assert found == counted(through(untimed(good), dns.parse, dns.find_features, dns.classify), "client", "verdict")
    assert reasons(results["parse.rejected"]) == [
        "malformed", "more than 5 s in the future", "size out of range", "unknown client",
    ]  # fmt: skip


@pytest.mark.slow
def test_twitter(scaled):
    good = taken(twitter.generate(1), 1500)
    bad = [{**good[0], "user": "nobody"}, {**good[0], "id": "x"}, {"id": 1}]
    results = scaled(twitter.topology, [*good[:200], *bad, *good[200:]], shared=[("topic", "author")])
    expected = through(untimed(good), twitter.clean, twitter.find_topic, twitter.find_author, twitter.store)
    assert counted(results["store"], "key", "value") == counted(expected, "key", "value")
    assert reasons(results["clean.rejected"]) == ["malformed", "no user", "unknown user"]


@pytest.mark.slow
def test_twitter_wide(scaled):
    good = taken(twitter.generate(2), 800)
    pools = [("kind", "source", "sentiment"), ("trust", "strength", "unite", "store")]
    results = scaled(twitter_wide.topology, [*good, {**good[0], "text": "x" * 5000}], shared=pools)
    expected = []
    for tweet in through(untimed(good), twitter.clean):
        ((kind, _),) = twitter_wide.tell_kind(tweet)
        if kind == "news":
            steps = (twitter_wide.find_source, twitter_wide.weigh_source)
        else:
            steps = (twitter_wide.find_sentiment, twitter_wide.weigh_sentiment)
        for step in (*steps, twitter_wide.store):
            (tweet,) = step(tweet)
        expected.append(tweet)
    assert counted(results["store"], "key", "value") == counted(expected, "key", "value")
    assert reasons(results["clean.rejected"]) == ["text too long"]


@pytest.mark.slow
def test_opinions(scaled):
    good = taken(opinions.generate(1), 800)
    bad = [{**good[0], "code": 64}, {**good[0], "age": -5}, "nothing"]
    pools = [("cities", "ages"), ("dispatch", "persist")]
    results = scaled(lambda folder: opinions.topology(folder, 4), [*good, *bad], shared=pools)
    expected: Counter[tuple[str, str, str]] = Counter()
    for opinion in good:
        for output, record in opinions.dispatch({"entered": START, **opinion, "malformed": None}):
            subgroup = opinions.city_of(record["code"]) if output == "located" else record["age_group"]
            expected[subgroup, record["topic"], record["opinion"]] += 1
    most: Counter[tuple[str, str, str]] = Counter()  # counts only grow
    for row in results["persist"]:
        key = (row["subgroup"], row["topic"], row["opinion"])
        most[key] = max(most[key], row["persons"])
    assert most == expected
    assert reasons(results["dispatch.rejected"]) == ["age out of range", "malformed", "unknown code"]


@pytest.mark.slow
@pytest.mark.parametrize("application", [sensitive, insensitive])
def test_values(scaled, application):
    good = taken(sensitive.generate(1), 800)
    results = scaled(application.topology, [*good, {"value": 999}, {"value": "a"}, "-"])
    expected = through(good, application.work, sensitive.finalize)
    assert counted(results["finalize"], "value", "digest") == counted(expected, "value", "digest")
    assert reasons(results["work.rejected"]) == ["malformed", "malformed", "value out of range"]


@pytest.mark.slow
def test_fpd(scaled):
    good = taken(fpd.generate(1, window=60), 240)
    bad = [{**good[0], "sign": "?"}, {**good[0], "sign": None}, "+", {**good[0], "text": "x" * 5000}]
    results = scaled(
        lambda folder: fpd.topology(folder, 4, threshold=5),
        [*good[:100], *bad, *good[100:]],
        shared=[("unite", "report")],
    )
    newest = {row["pattern"]: row for row in sorted(results["report"], key=itemgetter("version"))}
    found = {pattern for pattern, row in newest.items() if row["maximal"]}
    inside = Counter()
    for tweet in good:
        inside[tweet["text"], tweet["number"]] += 1 if tweet["sign"] == "+" else -1
    counts = Counter(p for (text, _), there in inside.items() if there for p in set(fpd.patterns(text)))
    frequent = [set(pattern.split()) for pattern, count in counts.items() if count >= 5]
    assert found == {" ".join(sorted(p)) for p in frequent if not any(p < other for other in frequent)}
    assert found
    assert reasons(results["generate.rejected"]) == ["malformed", "no sign", "text too long", "unknown sign"]


@pytest.mark.slow
def test_vld(scaled):
    pytest.importorskip("cv2")
    from rheostat.workloads import vld

    moments = [(START + timedelta(seconds=n / 5)).isoformat() for n in range(60)]
    good = [{"entered": at, **frame} for at, frame in zip(moments, taken(vld.generate(1), 60), strict=True)]
    bad = [{**good[0], "image": "????"}, {"frame": 1}, "x"]
    later = [(START + timedelta(hours=hour)).isoformat() for hour in (1, 2)]
    closing = [{**good[n], "entered": at, "frame": 10**6 + n} for n, at in enumerate(later, 30)]
    results = scaled(lambda folder: vld.topology(folder, 4), [*good, *bad], last=closing)
    expected = set()
    for frame in good:
        accepted = vld.extract({**frame, "entered": START, "malformed": None})
        matches = Counter(matched["logo"] for _, feature in accepted for matched in vld.match(feature))
        expected |= {(frame["frame"], logo, count) for logo, count in matches.items() if count >= vld.ENOUGH}
    found = {(row["frame"], row["logo"], row["matches"]) for row in results["aggregate"] if row["frame"] < 10**6}
    assert found == expected
    truth = {(frame["frame"], logo) for frame in good for logo in frame["truth"]}
    precision, recall = vld.precision_and_recall({pair[:2] for pair in found}, truth)
    assert precision > 0.9
    assert recall > 0.9
    assert reasons(results["extract.rejected"]) == ["malformed", "no image", "no image"]
