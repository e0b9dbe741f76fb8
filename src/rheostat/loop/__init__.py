"""Control loop: observe, measure, decide, guard, record, apply."""
