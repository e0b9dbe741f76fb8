"""Names of operators and pools, as two types: a pool that several operators share has a name of its own, and a type
checker tells where one name stands for the other."""

from typing import NewType

OperatorName = NewType("OperatorName", str)
"""What a topology calls an operator."""

PoolName = NewType("PoolName", str)
"""What a plan calls a pool of executors: as its operator, or `split+count` when operators share it."""
