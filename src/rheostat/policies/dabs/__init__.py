"""DABS-Storm: AUTOSCALE+ for the number of executors, OSG for the balance between them (see `policy`)."""
