"""Cluster folder: the logs, settings and working files of an embedded cluster.

logs/     of the daemons and, below each node's name, of the executors
conf/     settings; they hold the secret, and only the owner can read them
scratch/  working files
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from rheostat.errors import PlantError
from rheostat.spark.cluster.node import Node

DRIVER_SETTINGS = "spark-defaults"
"""The settings of driver programs, under the name that Spark looks for."""


class ClusterFolder:
    """`path` itself, or a temporary folder if it is None, which exists from `create` to `remove_temporary`."""

    def __init__(self, path: Path | str | None) -> None:
        self._is_temporary = path is None
        self._path = None if path is None else Path(path).absolute()

    @property
    def logs(self) -> Path:
        return self._subfolder("logs")

    @property
    def conf(self) -> Path:
        return self._subfolder("conf")

    @property
    def scratch(self) -> Path:
        return self._subfolder("scratch")

    def create(self) -> None:
        if self._path is None:
            self._path = Path(tempfile.mkdtemp(prefix="rheostat-cluster-"))
        for folder in (self.logs, self.conf, self.scratch):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def remove_temporary(self) -> None:
        """Delete the folder if it is a temporary one."""
        if self._is_temporary and self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
            self._path = None

    def write_settings(self, name: str, settings: Mapping[str, str]) -> Path:
        """Settings for a daemon. The secret is passed in such files, never in arguments."""
        path = self.conf / f"{name}.conf"
        write_private(path, "".join(f"{key} {value}\n" for key, value in settings.items()))
        return path

    def write_resources(self, node: Node) -> dict[str, str]:
        """Labels as Spark resources of the worker, one unit for each executor that can fit on it.

        Returns the settings that make the worker offer them.
        """
        units = [str(unit) for unit in range(node.cores)]
        offers = [
            {"id": {"componentName": "spark.worker", "resourceName": name}, "addresses": units}
            for name in node.resources
        ]
        path = self.conf / f"{node.name}.resources.json"
        path.write_bytes(msgspec.json.encode(offers))
        amounts = {f"spark.worker.resource.{name}.amount": str(node.cores) for name in node.resources}
        return amounts | {"spark.worker.resourcesFile": str(path)}

    def _subfolder(self, name: str) -> Path:
        if self._path is None:
            raise PlantError("the cluster has no folder: it has not been started")
        return self._path / name


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)
