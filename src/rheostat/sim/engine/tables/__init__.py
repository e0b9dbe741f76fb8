"""Tables: the memory of the event loop."""
