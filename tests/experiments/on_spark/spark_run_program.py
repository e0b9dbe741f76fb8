"""A program that runs a scenario on Spark, and prints its figures and what became of each record as JSON."""

import json
import sys
from collections import Counter

import msgspec
from spark_scenarios import scenario

from rheostat.experiments.on_spark.record_log import RecordLog
from rheostat.experiments.on_spark.run import run_on_spark
from rheostat.experiments.on_spark.shared_cluster import shared_cluster


def main(*policies: str) -> None:
    with shared_cluster():
        for policy in policies:
            log = RecordLog()
            run = run_on_spark(scenario(), policy, {}, log=log)
            results = [int(record) for batch in log.batches.values() for record in batch.ids]
            counted: Counter[int] = Counter()
            for batch in log.batches.values():
                for key, count in zip(batch.keys, batch.counts, strict=True):
                    counted[int(key)] = max(counted[int(key)], int(count))
            records = {
                "entered": len(log.entered_s),
                "results": sorted(record for record in results if record >= 0),
                "all_results": len(results),
                "counted": counted.total(),
            }
            print(json.dumps({"run": msgspec.to_builtins(run), "records": records}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
