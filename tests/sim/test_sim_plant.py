from plants import CHAIN, plant

from rheostat.decision import Fuse
from rheostat.plan import Plan


def test_a_plan_that_fuses_operators_is_an_obstacle_and_everything_runs_on():
    it, plan = plant(CHAIN), Plan.initial(CHAIN)
    fused = plan.after(Fuse(operators=("a", "b"), reason="test"))
    assert it.apply(fused) == (
        "the simulator neither fuses nor splits operators: they keep the pools they started with",
    )
    assert it.reached(fused) == frozenset()
    it.clock.wait_until(10.0)
    assert it.observe().operators["b"].completed
    assert (it.apply(plan), it.reached(plan)) == ((), {"a", "b"})
