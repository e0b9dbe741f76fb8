"""Streams between the operators of a topology on Spark: durable, exactly once, read as native DataFrames."""
