"""Ra-Stream: few nodes, and executors that exchange many records on the same node (see `policy`)."""
