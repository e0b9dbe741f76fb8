"""The simulated plant: a discrete-event cluster that the same control loop and policies drive."""
