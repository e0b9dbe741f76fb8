"""The event loop: arrivals, services, transfers and micro-batches, compiled where numba is installed.

It has two entry points, `event_loop.run` and `changes.commands.carry_out`; both get the `tables` by their addresses.
The way of a tuple (`flow`): `sources` let a record enter, `streams` send it to an operator, `arrival` puts it into the
queue of an executor or of the operator, `service` takes time for it, `completion` counts it and sends on its output,
and `entered_records` knows when nothing of the record is left. `grouping` chooses executors, `changes` is what a
changing cluster does to tuples.
"""
