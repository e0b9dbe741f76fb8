"""The simulated cluster: its executors, what happens to them, and the input of the sources, between event-loop runs."""
