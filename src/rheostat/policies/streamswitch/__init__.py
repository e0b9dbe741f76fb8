"""StreamSwitch: latency bounds for keyed operators by moving substreams between executors (see `policy`)."""
