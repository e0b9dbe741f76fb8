"""Whether an act is worth what it costs: DRS lists a re-allocation cost and leaves open how it is weighed.

Here an act stops the network for C seconds, and its gain counts until the next possible act, H seconds later.
The stop holds up the λ0·E[T] records in the network for C, and those that arrive meanwhile for C/2 on average.
"""

import math

from rheostat.duration import human


def not_worth_the_latency(now_s: float, then_s: float, cost_s: float, horizon_s: float) -> str | None:
    """Why a gain in latency does not make up for the stop, or None: (E[T] − E[T'])·H against C·(E[T] + C/2)."""
    if cost_s == 0 or math.isinf(now_s):
        return None
    gained_s, lost_s = (now_s - then_s) * horizon_s, cost_s * (now_s + cost_s / 2)
    if gained_s > lost_s:
        return None
    return f"{human(now_s - then_s)} less for {human(horizon_s)} does not make up for a stop of {human(cost_s)}"


def not_worth_the_executors(now: int, then: int, cost_s: float, horizon_s: float) -> str | None:
    """Why executors saved do not make up for the work that all lose in the stop, or None."""
    if (now - then) * horizon_s > now * cost_s:
        return None
    return f"{now - then} of {now} executors for {human(horizon_s)} do not make up for a stop of {human(cost_s)}"
