"""Names of operators and pools, as two types, so that a type checker finds where one is used for the other."""

from typing import NewType

OperatorName = NewType("OperatorName", str)
"""The name of an operator in its topology."""

PoolName = NewType("PoolName", str)
"""The name of a pool of executors in a plan: that of its operator, or `split+count` when operators share it."""
