"""The simulated plant: a discrete-event cluster that the same control loop and policies drive.

`model` says what is simulated, `plant` follows a plan, `meter` reads snapshots and `score` keeps the score. The
`cluster` is a `simulation` (tables, clock, agenda, fleet) with all that changes it: `feed` tells of the input, `staff`
lets executors come and go, `moves` hands substreams over, `pauses` and `failures` do what their names say. Records move
in `engine`, which `build` fills from the model.
"""
