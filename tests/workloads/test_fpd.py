"""Maximal frequent patterns: messages in any order lead to what brute force finds. Without Spark."""

from collections import Counter, defaultdict
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.workloads import fpd
from rheostat.workloads.fpd import State, changed, find_patterns, patterns

GOOD = {"entered": "now", "number": 1, "sign": "+", "text": "b a", "malformed": None}


def brute_force(window: list[str], threshold: int) -> set[str]:
    """Frequent sets of up to three words of which no superset of up to three words is frequent."""
    tweets = [set(text.split()) for text in window]
    words = sorted(set().union(*tweets))
    sets = [set(each) for size in (1, 2, 3) for each in combinations(words, size)]
    frequent = [each for each in sets if sum(each <= tweet for tweet in tweets) >= threshold]
    return {" ".join(sorted(each)) for each in frequent if not any(each < other for other in frequent)}


TEXT = st.lists(st.sampled_from("abcde"), min_size=1, max_size=5).map(" ".join)


@given(st.lists(st.tuples(st.booleans(), TEXT), max_size=40), st.integers(1, 4), st.randoms())
def test_messages_in_any_order_lead_to_what_brute_force_finds(steps, threshold, random):
    window, messages = [], []
    for leaves, text in steps:
        gone = window.pop(0) if leaves and window else None
        if gone is None:
            window.append(text)
        messages += [(pattern, -1 if gone else 1, 0) for pattern in patterns(gone or text)]
    states: defaultdict[str, State] = defaultdict(lambda: State(0, 0, False, 0))
    reported: dict[str, tuple[int, bool]] = {}
    while messages:
        pattern, tweets, supersets = messages.pop(random.randrange(len(messages)))
        states[pattern], made = changed(pattern, states[pattern], tweets, supersets, threshold)
        for record in made:
            if record["kind"] == "notice":
                messages.append((record["pattern"], 0, record["change"]))
            else:
                newest = (record["version"], record["maximal"])
                reported[record["pattern"]] = max(reported.get(record["pattern"], (0, False)), newest)
    found = {pattern for pattern, (_, maximal) in reported.items() if maximal}
    assert found == (brute_force(window, threshold) if window else set())


def test_patterns_are_all_sets_of_up_to_three_words():
    assert list(patterns("b A b")) == ["a", "b", "a b"]
    assert len(list(patterns("a b c d"))) == 4 + 6 + 4
    assert list(find_patterns(GOOD)) == [("good", {"pattern": p, "change": 1}) for p in ("a", "b", "a b")]


@pytest.mark.parametrize(
    ("told", "reason"),
    [({"sign": "?"}, "unknown sign"), ({"text": "x" * 4001}, "text too long"), ({"sign": None}, "no sign")],
)
def test_tweets_that_cannot_be_used_are_set_aside(told, reason):
    ((output, rejected),) = find_patterns({**GOOD, **told})
    assert (output, rejected["reason"]) == ("rejected", reason)


def test_generated_tweets_enter_and_leave_a_window():
    make = fpd.generate(1, window=100)
    made = [make(0.0) for _ in range(1000)]
    inside = Counter()
    for tweet in made:
        inside[tweet["number"]] += 1 if tweet["sign"] == "+" else -1
    assert set(inside.values()) == {0, 1}
    assert sum(inside.values()) in (100, 101)
    window = [tweet["text"] for tweet in made if tweet["sign"] == "+" and inside[tweet["number"]]]
    assert any(len(pattern.split()) == 3 for pattern in brute_force([" ".join(t.split()[:12]) for t in window[:60]], 5))
