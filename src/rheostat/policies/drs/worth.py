"""Whether an act is worth what it costs: DRS lists a re-allocation cost and leaves open how it is weighed.

Here an act stops the network for C seconds, and its gain counts until the next possible act, H seconds later.
The stop holds up the λ0·E[T] records in the network for C, and those that arrive meanwhile for C/2 on average:
over H seconds that is C·(E[T] + C/2)/H for each record.
"""

import math

from rheostat.duration import human


def held_up_s(now_s: float, cost_s: float, horizon_s: float) -> float:
    """By how much a stop of `cost_s` prolongs the mean latency of `now_s` until the next possible act."""
    return cost_s * (now_s + cost_s / 2) / horizon_s if cost_s else 0.0


def not_worth_it(now_s: float, then_s: float, cost_s: float, horizon_s: float) -> str | None:
    """Why a shorter latency does not make up for the stop, or None. What cannot keep up is worth any stop."""
    if math.isinf(now_s) or now_s - then_s > held_up_s(now_s, cost_s, horizon_s):
        return None
    return f"{human(now_s - then_s)} less for {human(horizon_s)} does not make up for a stop of {human(cost_s)}"


def not_bearable(now_s: float, then_s: float, t_max_s: float, cost_s: float, horizon_s: float) -> str | None:
    """Why executors cannot be removed, or None: with the stop, latency must stay within T_max."""
    total_s = then_s + held_up_s(now_s, cost_s, horizon_s)
    if total_s <= t_max_s:
        return None
    return f"with a stop of {human(cost_s)} it would be {human(total_s)} over the next {human(horizon_s)}"
