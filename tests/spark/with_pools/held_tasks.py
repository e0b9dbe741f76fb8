"""Held tasks: tasks that run until a test lets them go."""


def holding(held, release):
    """A task that says that it runs and waits to be let go, a minute at most."""

    def work(batches):
        import os
        import time

        open(f"{held}{os.getpid()}", "w").close()
        end = time.monotonic() + 60
        while not os.path.exists(release) and time.monotonic() < end:
            time.sleep(0.05)
        return batches

    return work
