"""What Rheostat brings to a Spark's JVMs, made once and cached: compiled helpers and an archive of classes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rheostat.spark.install.class_archive import archive_options, class_archive_or_none
from rheostat.spark.install.jvm_helpers import helpers_jar_or_none

LOG4J = Path(__file__).with_name("log4j2.properties")


@dataclass(frozen=True, slots=True)
class JvmExtras:
    """Either may be missing; the same is done then, slower."""

    helpers: Path | None = None
    archive: Path | None = None

    @property
    def java_options(self) -> str:
        """For daemons and executors: where to log, and the archive if there is one."""
        logging = f'"-Dlog4j2.configurationFile={LOG4J}"'
        return logging if self.archive is None else f"{logging} {archive_options(self.archive)}"

    def class_path(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The variable that puts the helpers on the class path of a daemon and of the executors it starts.

        It comes last there: an archive fits only a class path that begins as the archive's own did.
        """
        words = [environ.get("SPARK_DIST_CLASSPATH"), self.helpers and str(self.helpers)]
        return {"SPARK_DIST_CLASSPATH": os.pathsep.join(word for word in words if word)}


def prepare_jvm_extras() -> JvmExtras:
    """The kit for the installed Spark; what cannot be made is logged and left out."""
    return JvmExtras(helpers_jar_or_none(), class_archive_or_none())
