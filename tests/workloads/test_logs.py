"""Log lines in Loghub's formats: parsed, reduced to templates, judged. Without Spark."""

from pathlib import Path

import pytest

from rheostat.workloads import logs
from rheostat.workloads.logs import find_template, judge, parse, read_lines


def parsed(line):
    ((output, record),) = parse({"line": line, "entered": "now", "malformed": None})
    return output, record


def template(line):
    (found,) = find_template(parsed(line)[1])
    return found


HDFS = "081109 203518 143 INFO dfs.DataNode$DataXceiver: Receiving block blk_-1608999687919862906 src: /10.0.9.2:54106"
SPARK = "17/06/09 20:10:40 WARN storage.BlockManager: Putting block rdd_2_1 failed"
HADOOP = "2015-10-18 18:01:47,978 ERROR [main] org.apache.hadoop.mapreduce.v2.app.MRAppMaster: Exit after 3 attempts"
APACHE = "[Sun Dec 04 04:47:44 2005] [error] mod_jk child workerEnv in error state 6"
SYSLOG = "Jun 14 15:16:01 combo sshd(pam_unix)[19939]: authentication failure; uid=0 rhost=218.188.2.4"


@pytest.mark.parametrize(
    ("line", "level", "component", "reduced"),
    [
        (HDFS, "INFO", "dfs.DataNode$DataXceiver", "Receiving block <*> src: <*>"),
        (SPARK, "WARN", "storage.BlockManager", "Putting block rdd_<*>_<*> failed"),
        (HADOOP, "ERROR", "org.apache.hadoop.mapreduce.v2.app.MRAppMaster", "Exit after <*> attempts"),
        (APACHE, "ERROR", "apache", "mod_jk child workerEnv in error state <*>"),
        (SYSLOG, "INFO", "sshd(pam_unix)", "authentication failure; uid=<*> rhost=<*>"),
    ],
)
def test_the_formats_of_loghub_are_parsed(line, level, component, reduced):
    found = template(line)
    assert (found["level"], found["component"], found["template"]) == (level, component, reduced)


def test_lines_are_judged_by_level_and_by_words():
    severities = [next(iter(judge(template(line))))["severity"] for line in (HDFS, SPARK, HADOOP, APACHE, SYSLOG)]
    assert severities == ["normal", "suspect", "critical", "critical", "suspect"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "empty line"),
        ("x" * 10_001, "line too long"),
        ("no log at all", "unknown format"),
        (HDFS.replace("INFO", "LOUD"), "unknown level"),
        (HADOOP.replace("2015-10-18", "2915-10-18"), "time in the future"),
        (HADOOP.replace("2015-10-18", "1015-10-18"), "no usable time"),
        (HADOOP.replace("2015-10-18", "2015-13-41"), "no usable time"),
        (None, "no line"),
    ],
)
def test_lines_that_cannot_be_used_are_set_aside(line, reason):
    output, rejected = parsed(line)
    assert (output, rejected["reason"]) == ("rejected", reason)


def test_generated_lines_have_as_many_templates_as_there_are_messages():
    make = logs.generate(1)
    assert len({template(make(0.1 * n)["line"])["template"] for n in range(2000)}) == len(logs.MESSAGES)


def test_a_file_is_read_line_by_line(tmp_path: Path):
    (tmp_path / "a.log").write_bytes(HDFS.encode() + b"\n\xff\xfe\n")
    assert [record["line"] for record in read_lines(tmp_path / "a.log")] == [HDFS, "\ufffd\ufffd"]
