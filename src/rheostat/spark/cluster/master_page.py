"""Master page: the state of a standalone master, from its page `/json/`."""

import urllib.error
import urllib.request

import msgspec

_TIMEOUT_S = 15.0


class WorkerEntry(msgspec.Struct, frozen=True):
    """A worker that the master knows; it may be dead."""

    id: str
    host: str
    state: str
    cores: int
    coresused: int
    memory: int
    memoryused: int
    resources: dict[str, msgspec.Raw]


class ApplicationEntry(msgspec.Struct, frozen=True):
    """An application that runs or waits for executors."""

    id: str
    name: str
    cores: int
    state: str


class MasterPage(msgspec.Struct, frozen=True):
    """The master's state; `status` is `ALIVE` once it accepts workers and applications."""

    url: str
    status: str
    workers: list[WorkerEntry]
    activeapps: list[ApplicationEntry]

    def worker_offering(self, resource: str) -> WorkerEntry | None:
        """The worker with this resource; a living one rather than a dead one."""
        offering = [worker for worker in self.workers if resource in worker.resources]
        return min(offering, key=lambda worker: worker.state != "ALIVE", default=None)


_decode_page = msgspec.json.Decoder(MasterPage).decode


def read_master_page(web_url: str, timeout_s: float = _TIMEOUT_S) -> MasterPage | None:
    """The page, or None if no master answers at `web_url` within `timeout_s`."""
    # Requests to this machine must not go through a proxy that the environment names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{web_url}/json/", timeout=timeout_s) as answer:
            return _decode_page(answer.read())
    except (urllib.error.URLError, OSError, msgspec.DecodeError):
        return None
