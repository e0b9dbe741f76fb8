"""Grouping: how the rows of a batch are spread over its tasks."""
