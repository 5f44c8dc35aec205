"""Times TPC-H's queries with Spark alone, with the joins that gpujoin takes by itself, and with all
that it can take, in turns, on two cores of this machine.

    bindings/spark/test                      # makes build/spark
    build/spark/venv/bin/python bindings/spark/bench_queries.py TABLES [--repeat 3] [--memory 8g]
        [--broadcast 10m]

TABLES is a folder of Parquet files, one a table. Prints the least seconds of the wall clock of each
way, in total and for each query. Spark plans as it does by default, with AQE; below the threshold
of --broadcast it broadcasts, -1 has it sort and merge always. GPUJOIN_LIB_DIR as in test.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tests"))
from conftest import decisions, rows_of, session, settings  # noqa: E402: lies beside the tests
from test_tpch import QUERIES  # noqa: E402

WAYS = {
    "spark": {"spark.gpujoin.enabled": "false"},
    "chosen": {"spark.gpujoin.force": "false"},
    "forced": {"spark.gpujoin.force": "true"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--memory", default="8g")
    parser.add_argument("--broadcast", default="10m")
    options = parser.parse_args()
    spark = session(**{
        "spark.driver.memory": options.memory,
        "spark.driver.extraJavaOptions": "",
        "spark.sql.autoBroadcastJoinThreshold": options.broadcast,
    })
    for file in sorted(options.tables.glob("*.parquet")):
        spark.read.parquet(str(file)).createOrReplaceTempView(file.stem)
    ways = list(WAYS)
    totals = dict.fromkeys(WAYS, 0.0)
    for number, sql in QUERIES.items():
        least = dict.fromkeys(WAYS, float("inf"))
        answers, taken = {}, {}
        for turn in range(options.repeat):
            # What runs first compiles for those after it: each is first once.
            first = turn % len(ways)
            for way in ways[first:] + ways[:first]:
                with settings(spark, WAYS[way]):
                    decisions(spark)
                    began = time.perf_counter()
                    answers[way] = rows_of(spark, sql)
                    least[way] = min(least[way], time.perf_counter() - began)
                    made = decisions(spark)
                taken[way] = sum(is_taken for is_taken, _, _ in made)
        if any(answer != answers["spark"] for answer in answers.values()):
            raise SystemExit(f"the answers of query {number} differ")
        for way, seconds in least.items():
            totals[way] += seconds
        print(f"{number}: " + ", ".join(
            f"{way} {seconds:.2f} s" + (f" with {taken[way]} joins" if way != "spark" else "")
            for way, seconds in least.items()), flush=True)
    print("all: " + ", ".join(f"{way} {seconds:.1f} s" for way, seconds in totals.items()))


if __name__ == "__main__":
    main()
