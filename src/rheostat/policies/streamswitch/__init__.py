"""StreamSwitch: examine, diagnose and treat keyed operators, so that a latency SLA holds (see `policy`)."""
