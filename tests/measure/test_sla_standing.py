"""SLA standings, against a window computed from all records."""

import random

import pytest
from msgspec import structs

from rheostat.measure.sla_standing import SlaStandings
from rheostat.sla import SLA
from rheostat.snapshot import Latency, OperatorState, Snapshot

SLAS = (SLA("2s", "10s"), SLA("1s", "3s", operator="count"), SLA("1s", "3s", path=["split", "count"]))


def snapshot(time_s, count, mean_s, *, operator=None, oldest_s=None):
    state = OperatorState("count", latency=operator, oldest_s=oldest_s)
    return Snapshot(time_s, (state,), latency=Latency(count, mean_s))


def test_the_mean_is_over_what_completed_in_the_window() -> None:
    generator, standings, seen, time_s = random.Random(3), SlaStandings(SLAS[:1]), [], 0.0
    for _ in range(200):
        time_s += generator.choice([0.5, 1.0, 4.0])
        count, mean_s = generator.randrange(5), generator.uniform(0.1, 4.0)
        seen.append((time_s, count, mean_s))
        [standing] = standings.update(snapshot(time_s, count, mean_s))
        inside = [(n, s) for at_s, n, s in seen if at_s > time_s - 10.0]
        total = sum(n for n, _ in inside)
        if time_s - seen[0][0] < 10.0 or not total:
            assert standing.latency_s is None
        else:
            expected_s = sum(n * s for n, s in inside) / total
            assert standing.latency_s == pytest.approx(expected_s)
            assert standing.missed is (expected_s > 2.0)


def test_an_operator_is_judged_by_its_own_records_and_a_path_by_the_sum_of_its_operators() -> None:
    standings = SlaStandings(SLAS[::-1])
    for time_s in range(12):
        split = OperatorState("split", latency=Latency(1, 0.25) if time_s % 2 else None)
        seen = snapshot(float(time_s), 3, 0.5, operator=Latency(2, 0.9))
        found = standings.update(structs.replace(seen, operator_states=(*seen.operator_states, split)))
    assert [(standing.sla, standing.latency_s) for standing in found] == [
        ("2s over 10s", pytest.approx(0.5)),
        ("1s over 3s along split -> count", pytest.approx(1.15)),
        ("1s over 3s at count", pytest.approx(0.9)),
    ]
    assert [standing.missed for standing in found] == [False, True, False]


def test_a_path_is_not_judged_while_one_of_its_operators_is_not_known() -> None:
    standings = SlaStandings(SLAS[2:])
    for time_s in range(12):
        [standing] = standings.update(snapshot(float(time_s), 3, 0.5, operator=Latency(2, 1.5)))
    assert standing.missed is None


@pytest.mark.parametrize(("oldest_s", "missed"), [(None, None), (1.5, None), (2.5, True)])
def test_where_nothing_completes_the_oldest_record_tells(oldest_s, missed) -> None:
    standings = SlaStandings(SLAS[:1])
    for time_s in range(12):
        [standing] = standings.update(snapshot(float(time_s), 0, 0.0, oldest_s=oldest_s))
    assert standing.missed is missed
