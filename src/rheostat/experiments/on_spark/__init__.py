"""Runs on Spark: a scenario that the simulator reads, run on real Spark, with the same figures."""
