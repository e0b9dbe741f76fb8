"""JVM objects: the Java side of PySpark's sessions and DataFrames."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession


def java_session(session: SparkSession) -> Any:
    classic: Any = session
    return classic._jsparkSession


def java_frame(df: DataFrame) -> Any:
    classic: Any = df
    return classic._jdf


def cloned_session(session: SparkSession) -> SparkSession:
    """A session of the same application whose settings can be changed on their own."""
    return SparkSession(session.sparkContext, java_session(session).cloneSession())


def dataframe_of(session: SparkSession, plan: Any) -> DataFrame:
    """A logical plan of the JVM as a DataFrame."""
    # By its full name: along `jvm.org.apache` Py4J asks of each part whether it is a class, and the JVM looks for it in
    # all of its jars. That takes milliseconds, and this is done in every batch.
    dataset = getattr(session.sparkContext._jvm, "org.apache.spark.sql.classic.Dataset")
    return DataFrame(dataset.ofRows(java_session(session), plan), session)


def scala_object(jvm: Any, name: str) -> Any:
    """A Scala singleton, such as a companion object; needed where its methods have no static form."""
    return getattr(getattr(jvm, f"{name}$"), "MODULE$")
