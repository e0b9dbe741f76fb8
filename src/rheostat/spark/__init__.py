"""Spark as the plant: the embedded cluster, sessions and everything that acts on running queries."""
