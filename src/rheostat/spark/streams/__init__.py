"""Streams between the operators of a topology: durable, exactly once, read as native DataFrames."""
