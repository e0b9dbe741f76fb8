"""What to do with executors that gain less than a double can hold."""

from collections.abc import Sequence


def deal(executors: list[int], highest: Sequence[float], left: int) -> None:
    """Hand out what is left in equal shares among the stations below their upper bounds, the first ones first.

    A lightly loaded M/M/k gains from every further executor, but soon less than 1e-308 tuples: such gains are
    all alike.
    """
    while left > 0 and (below := [i for i, most in enumerate(highest) if executors[i] < most]):
        share = max(1, left // len(below))
        for i in below[:left]:
            more = int(min(share, highest[i] - executors[i]))
            executors[i] += more
            left -= more
