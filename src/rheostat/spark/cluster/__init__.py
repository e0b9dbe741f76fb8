"""Embedded cluster: a Spark standalone cluster of our own, on this machine."""
