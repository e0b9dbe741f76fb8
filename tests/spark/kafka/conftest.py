"""Topics on the broker of the test run."""

import json
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rheostat.spark.kafka.local_broker import LocalBroker


class Topic:
    """A topic of a test: its name, and records that the test writes to it."""

    def __init__(self, spark: SparkSession, broker: LocalBroker, partitions: int) -> None:
        self._spark, self._broker = spark, broker
        self.name, self.servers = f"topic-{uuid.uuid4().hex[:8]}", broker.address
        self.make(partitions)

    def make(self, partitions: int) -> None:
        new = self._kafka.admin.NewTopic(self.name, partitions, 1)
        self._admin(lambda admin: admin.createTopics(_java_list(self._spark, new)).all())

    def delete(self) -> None:
        self._admin(lambda admin: admin.deleteTopics(_java_list(self._spark, self.name)).all())

    def write(self, values: Iterable[str], partition: int | None = None) -> None:
        """In this order."""
        rows = [(value, partition) for value in values]
        df = self._spark.createDataFrame(rows, "value string, partition int").coalesce(1)
        df.write.format("kafka").options(**self.options).option("topic", self.name).save()

    def values(self) -> list[str]:
        """The values of all its records, by partition and offset."""
        reader = self._spark.read.format("kafka").options(**self.options).option("subscribe", self.name)
        rows = reader.load().orderBy("partition", "offset").selectExpr("CAST(value AS STRING)").collect()
        return [row[0] for row in rows]

    def widen(self, partitions: int) -> None:
        total = self._kafka.admin.NewPartitions.increaseTo(partitions)
        self._admin(lambda admin: admin.createPartitions(self._java_map({self.name: total})).all())

    def delete_before(self, partition: int, offset: int, folder: Path) -> None:
        """As its retention would."""
        file = folder / "deleted.json"
        content = {"partitions": [{"topic": self.name, "partition": partition, "offset": offset}], "version": 1}
        file.write_text(json.dumps(content))
        tool = "org.apache.kafka.tools.DeleteRecordsCommand"
        self._broker.tool(tool, "--bootstrap-server", self.servers, "--offset-json-file", str(file))

    @property
    def options(self) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.servers}

    def end_offsets(self) -> dict[int, int]:
        """As the broker's own tool prints them."""
        text = self._broker.tool(
            "org.apache.kafka.tools.GetOffsetShell", "--bootstrap-server", self.servers, "--topic", self.name
        )
        lines = [line.split(":") for line in text.splitlines() if line.startswith(f"{self.name}:")]
        return {int(partition): int(offset) for _, partition, offset in lines}

    @property
    def _kafka(self) -> Any:
        return self._spark.sparkContext._jvm.org.apache.kafka.clients

    def _java_map(self, items: dict[Any, Any]) -> Any:
        mapped = self._spark.sparkContext._jvm.java.util.HashMap()
        for key, value in items.items():
            mapped.put(key, value)
        return mapped

    def _admin(self, request: Callable[[Any], Any]) -> None:
        admin = self._kafka.admin.Admin.create(self._java_map({"bootstrap.servers": self.servers}))
        try:
            request(admin).get()
        finally:
            admin.close()


def _java_list(spark: SparkSession, item: Any) -> Any:
    listed = spark.sparkContext._jvm.java.util.ArrayList()
    listed.add(item)
    return listed


@pytest.fixture
def new_topic(spark: SparkSession, broker: LocalBroker) -> Callable[[int], Topic]:
    return lambda partitions: Topic(spark, broker, partitions)
