"""Ra-Stream: few nodes, chatty executors together, and another placement when the load asks for one."""
