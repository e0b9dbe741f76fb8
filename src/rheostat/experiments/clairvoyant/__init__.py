"""Clairvoyant: what is possible when the future is known, as a yardstick for policies.

`lower_bound`: executor-seconds that no policy can stay below. `best_schedule`: the cheapest schedule found that really
meets the SLA. `cheapest_fixed`: the cheapest fixed size. `present_knower`: the present is known, the future is not.
"""
