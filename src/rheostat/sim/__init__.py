"""The simulated plant: a discrete-event cluster that the same control loop and policies drive.

`model` describes what is simulated, `plant` follows a plan, `observe` reads snapshots and scores runs. `cluster` is a
simulation (tables, clock, timers, executors) with everything that changes it. Records move in `engine`, the event
loop, whose tables `build` fills from the model.
"""
