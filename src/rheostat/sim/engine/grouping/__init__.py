"""Groupings of `rheostat.grouping`, compiled: they choose executors on the tables of the event loop."""
