#!/usr/bin/env python3
"""Counts the test cases of one test run: prints "passed failed skipped".

usage: count_tests.py ctest.xml [folder]
       count_tests.py pytest.xml

The file is a JUnit report. With a folder, a program of it that left a GTest report
folder/<program>.xml counts with that report's cases; any other one counts as one case.
"""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path


def outcome(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "failed" if case.get("status") == "fail" else "passed"


def count(report, folder):
    total = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        inner = folder / (case.get("name") + ".xml") if folder else None
        if inner is None or not inner.exists():
            total[outcome(case)] += 1
            continue
        cases = Counter(outcome(c) for c in ElementTree.parse(inner).iter("testcase"))
        # A program can fail beside its cases: a sanitizer's report, a crash at exit.
        if outcome(case) == "failed" and not cases["failed"]:
            cases["failed"] += 1
        total += cases
    return total


if __name__ == "__main__":
    totals = count(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    print(totals["passed"], totals["failed"], totals["skipped"])
