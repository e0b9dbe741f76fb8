"""Shared by all tests of the simulator: this folder's helpers (plants, worlds, intervals) can be imported below it."""
