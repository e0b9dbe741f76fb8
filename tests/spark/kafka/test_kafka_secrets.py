"""On a real broker: what a user gives to log in at a broker is in no journal, no log and on no page."""

import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from rheostat.journal import Journal

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

PATIENCE_S = 300.0
SECRET = "open-sesame-4711"
SETTINGS = """
app = "wordcount"
master = "local[2]"
dir = "{folder}/run"
period = "1s"
streams = "kafka:{lines}-streams@{servers}"
[sources]
sentences = "kafka:{lines}@{servers}"
[sinks]
count = "kafka:{results}@{servers}"
[kafka]
"kafka.sasl.jaas.config" = 'org.apache.kafka.common.security.plain.PlainLoginModule required password="{secret}";'
"kafka.ssl.truststore.password" = "{secret}"
[conf]
"spark.jars" = "{jars}"
"""
PAGES = [
    "",
    "api/run",
    "api/timeline",
    "api/decisions",
    "api/actions",
    "api/state",
    "api/operator?name=split",
    "metrics",
]


def address_in(output: Path) -> str | None:
    found = re.search(r"dashboard: (http://[^/]+)/", output.read_text())
    return None if found is None else found[1]


def pages(address: str) -> Iterator[str]:
    for page in PAGES:
        with urllib.request.urlopen(f"{address}/{page}", timeout=30) as answer:
            yield answer.read().decode()


def test_secrets_are_in_no_journal_log_or_page(new_topic, connector, tmp_path: Path, eventually) -> None:
    lines, results = new_topic(1), new_topic(1)
    lines.write(["to be or not to be"])
    names = {"lines": lines.name, "results": results.name, "servers": lines.servers, "secret": SECRET}
    settings = SETTINGS.format(folder=tmp_path, jars=",".join(map(str, connector)), **names)
    (tmp_path / "run.toml").write_text(settings)
    command = [sys.executable, "-m", "rheostat.cli", "run", "--config", str(tmp_path / "run.toml"), "--dashboard"]
    output = tmp_path / "output"
    with output.open("w") as file, subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT) as run:
        try:
            address = eventually(lambda: address_in(output), "the address of the page", PATIENCE_S)
            eventually(lambda: results.values() or None, "counted words", PATIENCE_S)
            shown = list(pages(address))
        finally:
            run.terminate()
    said = output.read_text()
    assert run.returncode == 143, said[-2000:]
    with Journal(tmp_path / "run" / "journal.db", read_only=True) as journal:
        recorded = msgspec.json.encode([each.snapshot for each in journal.last_recorded(100)])
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"journal.db", "spark.log", "identity.json"}
    texts = [*(path.read_bytes() for path in files), recorded, *(text.encode() for text in [said, *shown])]
    assert not [text[:200] for text in texts if SECRET.encode() in text]
