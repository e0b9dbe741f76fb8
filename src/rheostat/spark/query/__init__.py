"""Queries: a topology as Structured Streaming queries with durable streams between them.

The way from a topology to its batches, file by file:

    topology      units_of           unit             which operators run in one query
    unit          DataFrameBuilder   unit_dataframe   the user's functions applied to the input streams
    DataFrame     QueryBuilder       query_builder    a query with its streams, sinks and checkpoint
    query         UnitQuery          unit_query       runs, publishes each batch
    batch         BatchLog           batch_log        when it ran, its rows and latencies

`runtime` holds it all together.
"""
