"""The event loop: arrivals, services, transfers and micro-batches, compiled where numba is there.

Two ways lead in, `run.run` and `act.act`; both get the tables of `state` by their addresses. The way of a tuple:
`sources` let a record enter, `streams` send it to an operator, `arrival` puts it into the `queue` of an executor
or of the operator, `service` and `batches` take time for it, `completion` counts it and sends on what it gave,
and `roots` knows when nothing of the record is left. What a cluster that changes does to tuples is in `handover` and
`breakdown`.
"""
