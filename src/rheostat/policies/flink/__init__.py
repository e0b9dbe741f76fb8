"""Flink: the rule of the Flink Kubernetes operator's autoscaler (see `policy`)."""
