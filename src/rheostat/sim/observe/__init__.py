"""Observation of the simulated cluster: snapshots for the control loop, and the score of a run."""
