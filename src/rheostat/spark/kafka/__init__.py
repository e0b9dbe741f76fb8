"""Kafka: topics that a topology reads and writes, and the load of topics that queries read."""
