"""DABS-Storm: AUTOSCALE+ for the degree of operators, OSG for the balance within them (see `policy`)."""
