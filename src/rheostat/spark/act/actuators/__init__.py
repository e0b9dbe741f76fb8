"""The calls by which Spark is changed: executors, stages, queries."""
