"""Changes of the cluster: what they do to the tuples in the system."""
