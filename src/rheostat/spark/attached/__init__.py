"""Queries that run already, as the plant of the control loop."""
