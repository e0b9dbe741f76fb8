import math

import pytest
from drs_observations import chain, goal

from rheostat.errors import ConfigError
from rheostat.policies.drs.options import DrsLimits, DrsOptions, limits_of
from rheostat.policies.registry import make_policy, options_of, policy_class
from rheostat.sla import SLA, Goal

AB = chain("a", "b")


def limits(wanted, **options):
    return limits_of(DrsOptions(**options), wanted)


def test_the_goal_says_what_is_left_out():
    assert limits(goal(AB, latency="2s", total=12)) == DrsLimits(
        k_max=12, t_max_s=2.0, t_min_s=pytest.approx(0.9), t_ra_s=0.0, t_m_s=0.0, cost_s=0.5, keep_s=30.0
    )


def test_without_an_end_to_end_sla_it_is_the_problem_of_k_max():
    for_b = Goal(AB, (SLA("1s", operator="b"),), goal(AB, total=5).budget)
    assert limits(for_b).t_max_s is None
    assert limits(goal(AB, total=5)).k_max == 5


def test_the_problem_of_k_max_can_be_asked_for_though_there_is_an_sla():
    assert limits(goal(AB, latency="2s", total=12), problem="k_max").t_max_s is None


def test_options_come_before_the_goal():
    told = limits(goal(AB, latency="2s", total=12), t_max="1s", t_min="450ms", k_max=7, t_ra="3m", t_m="1m")
    assert (told.t_max_s, told.t_min_s, told.k_max, told.t_ra_s, told.t_m_s) == (1.0, 0.45, 7, 180.0, 60.0)


def test_k_max_never_exceeds_the_budget():
    assert limits(goal(AB, total=4), k_max=9).k_max == 4


def test_t_ra_may_be_forever():
    assert math.isinf(limits(goal(AB, total=4), t_ra="forever").t_ra_s)


@pytest.mark.parametrize(
    ("wanted", "options", "words"),
    [
        (goal(AB), {}, "drs needs an SLA, end to end or for operators .* name another policy, for example 'threshold'"),
        (goal(AB, latency="1s"), {"problem": "k_max"}, "drs needs k_max"),
        (goal(AB, total=4), {"problem": "t_max"}, "drs needs t_max"),
        (goal(AB, latency="1s"), {"t_min": "1s"}, "t_min 1s must be below t_max 1s"),
        (goal(AB), {"k_max": 1}, "k_max 1 is below the 2 executors"),
        (goal(AB, latency="1s"), {"t_ra": "often"}, "t_ra 'often' is not a duration"),
        (goal(AB, latency="1s"), {"t_max": 0}, "t_max 0 must be longer than zero"),
        (goal(AB, total=4), {"margin": 1}, "option 'margin' cannot be 1"),
        (goal(AB, total=4), {"model": "mm2"}, "option 'model' cannot be 'mm2'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_value(wanted, options, words):
    with pytest.raises(ConfigError, match=words):
        make_policy("drs", wanted, options)


@pytest.mark.parametrize("name", ["drs", "drs-lb"])
def test_all_of_the_papers_configuration_is_there_with_a_description(name):
    rows = {row.name: row for row in options_of(policy_class(name))}
    listed = {"problem", "k_max", "t_min", "t_max", "t_ra", "t_m", "smoothing", "reallocation_cost", "model"}
    assert listed <= rows.keys()
    assert all(row.description for row in rows.values())
