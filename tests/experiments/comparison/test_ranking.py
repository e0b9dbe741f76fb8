import msgspec
import pytest
from compared_runs import compared_run

from rheostat.experiments.comparison.figures import Entry, entry_of
from rheostat.experiments.comparison.ranking import ranks, summary


def entry(policy: str, success: float, cost: float, *, reference: float | None = 100.0) -> Entry:
    return entry_of([compared_run(policy, success, cost)], {}, reference)


def ranked(*entries: Entry) -> list[Entry]:
    return [msgspec.structs.replace(each, rank=rank) for each, rank in zip(entries, ranks(entries), strict=True)]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([("a", 0.99, 300), ("b", 1.0, 200), ("c", 0.98, 100)], [2, 1, 3]),
        ([("a", 0.7, 300), ("b", 0.8, 900), ("c", 0.2, 100)], [2, 1, 3]),
        ([("a", 1.0, 200), ("b", 1.0, 200), ("c", 0.5, 1)], [1.5, 1.5, 3]),
    ],
    ids=["those that meet 99 % by cost", "none does: the best, then by success", "equals share ranks"],
)
def test_ranks_are_as_defined(entries: list[tuple[str, float, float]], expected: list[float]) -> None:
    assert ranks([entry(*each) for each in entries]) == expected


def test_the_summary_is_over_all_scenarios_and_a_policy_without_a_result_comes_last() -> None:
    first = ranked(entry("a", 1.0, 150), entry("b", 0.6, 100), entry("c", 0.5, 100))
    second = ranked(entry("a", 0.8, 100), entry("b", 1.0, 300))
    a, b, c = summary([first, second], "default")
    assert (a.policy, a.mean_rank, a.median_success, a.worst_success, a.met) == ("a", 1.5, 0.9, 0.8, 1)
    assert (b.policy, b.mean_rank, b.median_cost_ratio, b.scenarios) == ("b", 1.5, 2.0, 2)
    assert (c.policy, c.mean_rank, c.scenarios) == ("c", 3.0, 1)


def test_settings_are_ranked_apart() -> None:
    tuned = msgspec.structs.replace(entry("a", 1.0, 100), setting="tuned", rank=1.0)
    assert [each.policy for each in summary([[tuned, *ranked(entry("b", 1.0, 50))]], "tuned")] == ["a"]
