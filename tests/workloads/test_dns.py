"""DNS queries: features by hand, verdicts against what was generated. Without Spark."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from rheostat.workloads import dns
from rheostat.workloads.dns import classify, find_features, parse

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
GOOD = {
    "entered": NOW, "at": None, "client": "10.0.0.1", "name": "www.Bank.org.", "type": "A", "bytes": 40,
    "malformed": None,
}  # fmt: skip


def only(records):
    (record,) = records
    return record


def test_features_are_those_of_the_longest_label():
    output, query = only(parse(GOOD))
    assert (output, query["labels"]) == ("good", ["www", "bank", "org"])
    found = only(find_features({**query, "labels": ["x", "aab1"]}))
    assert (found["length"], found["entropy"], found["digits"], found["vowels"]) == (4, 1.5, 0.25, 0.5)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"name": "a..b"}, "no domain name"),
        ({"name": "x" * 64 + ".org"}, "no domain name"),
        ({"name": ""}, "no domain name"),
        ({"type": "WHAT"}, "unknown type"),
        ({"bytes": 10**6}, "size out of range"),
        ({"client": "10.0.0.256"}, "unknown client"),
        ({"client": "localhost"}, "unknown client"),
        ({"at": NOW - timedelta(hours=1)}, "more than 60 s late"),
        ({"at": NOW + timedelta(hours=1)}, "more than 5 s in the future"),
        ({"malformed": "??"}, "malformed"),
    ],
)
def test_queries_that_cannot_be_used_are_set_aside(changed, reason):
    output, rejected = only(parse({**GOOD, **changed}))
    assert (output, rejected["reason"]) == ("rejected", reason)


def test_tunnels_and_generated_domains_are_found():
    make, outcomes = dns.generate(1), Counter()
    for query in (make(0.0) for _ in range(4000)):
        truth = "tunnel" if query["type"] == "TXT" else "generated" if query["name"].endswith(".info") else "usual"
        verdict = only(classify(only(find_features(only(parse({**GOOD, **query}))[1]))))["verdict"]
        outcomes[truth, verdict] += 1
    for kind in ("tunnel", "generated"):
        found = sum(count for (_, verdict), count in outcomes.items() if verdict == kind)
        there = sum(count for (truth, _), count in outcomes.items() if truth == kind)
        assert there > 150
        assert outcomes[kind, kind] / found > 0.95
        assert outcomes[kind, kind] / there > 0.95
