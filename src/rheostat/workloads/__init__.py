"""Workloads: sample applications, and a feeder that generates their input."""
