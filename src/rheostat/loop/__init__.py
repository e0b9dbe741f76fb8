"""The control loop: observe, smooth, decide, guard, write down, act."""
