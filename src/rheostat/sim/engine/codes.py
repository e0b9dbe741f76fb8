"""Numbers that stand for kinds in the tables, and for what there is not."""

import numpy as np

NONE = -1
UNBOUNDED = np.iinfo(np.int64).max

# How an operator serves.
OWN_QUEUES, SHARED_QUEUE, MICRO_BATCH = 0, 1, 2
# How an operator's records find an executor.
ROUND_ROBIN, RANDOM, BY_VALUE, BY_KEY, LOAD_AWARE, OSG, NEAREST, BATCH_GREEDY = 0, 1, 2, 3, 4, 5, 6, 7
# Service-time distributions.
FIXED, EXPONENTIAL, LOGNORMAL, UNIFORM = 0, 1, 2, 3
# How many records one record gives on a stream: whole part plus a coin, Poisson, or all or nothing.
ROUNDED, POISSON, BULK = 0, 1, 2
