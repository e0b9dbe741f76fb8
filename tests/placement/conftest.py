"""Shared by all tests of placement: this folder's helpers (task_graphs) can be imported below it."""
