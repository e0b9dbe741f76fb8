"""Codes: the numbers that stand for kinds, and for "none", in the tables."""

import numpy as np

NONE = -1
UNBOUNDED = np.iinfo(np.int64).max

# How an operator serves.
OWN_QUEUES, SHARED_QUEUE, MICRO_BATCH = 0, 1, 2
# How an operator's records find an executor.
ROUND_ROBIN, RANDOM, BY_VALUE, BY_KEY, LOAD_AWARE, OSG, NEAREST, BATCH_GREEDY = 0, 1, 2, 3, 4, 5, 6, 7
# Service-time distributions.
FIXED, EXPONENTIAL, LOGNORMAL, UNIFORM = 0, 1, 2, 3
# How many records one record yields on a stream: rounded at random, Poisson, or a bulk or nothing.
ROUNDED, POISSON, BULK = 0, 1, 2
