"""The brains: each maps an observation to decisions, reads no clock, does no I/O and draws no randomness."""
