"""The executors of a topology: pools by resource profile, who gets which task, warm before they get any."""
