"""JVM extras: what Rheostat adds to Spark's JVMs, made once and cached: compiled helpers and archived classes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rheostat.spark.install.class_archive import archive_options, class_archive_or_none
from rheostat.spark.install.jvm_helpers import helpers_jar_or_none

LOG4J = Path(__file__).with_name("log4j2.properties")


@dataclass(frozen=True, slots=True)
class JvmExtras:
    """Either may be missing; everything then works, but slower."""

    helpers: Path | None = None
    archive: Path | None = None

    @property
    def java_options(self) -> str:
        """Options for daemons and executors: how to log, and the archive if there is one."""
        logging = f'"-Dlog4j2.configurationFile={LOG4J}"'
        return logging if self.archive is None else f"{logging} {archive_options(self.archive)}"

    def class_path(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The variable that puts the helpers on the class path of a daemon and of the executors it starts.

        They are last there: an archive is valid only for class paths that start with its own.
        """
        words = [environ.get("SPARK_DIST_CLASSPATH"), self.helpers and str(self.helpers)]
        return {"SPARK_DIST_CLASSPATH": os.pathsep.join(word for word in words if word)}


def prepare_jvm_extras() -> JvmExtras:
    """The extras for the installed Spark; what cannot be made is logged and left out."""
    return JvmExtras(helpers_jar_or_none(), class_archive_or_none())
