"""Times single joins whose probe side comes in batches: of Parquet and ORC files, and of a cached
table; with Spark alone and with gpujoin, in turns, on two cores of this machine.

    bindings/spark/test                      # makes build/spark
    build/spark/venv/bin/python bindings/spark/bench_batches.py TABLES [--jar JAR] [--repeat 6]
        [--memory 6g]

TABLES is a folder of TPC-H's lineitem, orders and supplier as Parquet files; an ORC copy of the
first comes beside them. What joins is broadcast, the rows go nowhere. Prints the least seconds of
the wall clock. --jar names another build of the extension. GPUJOIN_LIB_DIR as in test.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tests"))
from conftest import FORCED, JAR, decisions, session, settings  # noqa: E402: beside the tests

SUPPLIER = "JOIN supplier ON l_suppkey = s_suppkey"
FEW = "(SELECT * FROM supplier WHERE s_nationkey = 3) ON l_suppkey = s_suppkey"
NUMBERS = "SELECT l_orderkey, l_quantity, l_extendedprice, s_nationkey FROM {} {} " + SUPPLIER
TEXT = "SELECT l_orderkey, l_shipmode, l_comment, s_name FROM {} " + SUPPLIER
QUERIES = {
    "parquet, numbers": NUMBERS.format("lineitem", ""),
    "parquet, numbers, left": NUMBERS.format("lineitem", "LEFT"),
    "parquet, text": TEXT.format("lineitem"),
    "parquet, 16 columns": "SELECT * FROM lineitem " + SUPPLIER,
    "parquet, few match": f"SELECT l_orderkey, l_quantity FROM lineitem LEFT SEMI JOIN {FEW}",
    "parquet, text, few match": "SELECT l_orderkey, l_shipmode, l_comment FROM lineitem "
                                f"JOIN {FEW}",
    "parquet, orders": "SELECT l_orderkey, l_quantity, o_custkey FROM lineitem "
                       "JOIN orders ON l_orderkey = o_orderkey",
    "parquet, batches of 16": NUMBERS.format("lineitem", ""),
    "parquet, off heap": NUMBERS.format("lineitem", ""),
    "orc, numbers": NUMBERS.format("lineitem_orc", ""),
    "orc, text": TEXT.format("lineitem_orc"),
    "cached, numbers": NUMBERS.format("cached", ""),
    "cached, numbers, left": NUMBERS.format("cached", "LEFT"),
}
MORE = {
    "parquet, batches of 16": {"spark.sql.parquet.columnarReaderBatchSize": "16"},
    "parquet, off heap": {"spark.sql.columnVector.offheap.enabled": "true"},
}
WAYS = {"spark": {"spark.gpujoin.enabled": "false"}, "gpujoin": FORCED}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("--jar", type=pathlib.Path, default=JAR)
    parser.add_argument("--repeat", type=int, default=6)
    parser.add_argument("--memory", default="6g")
    options = parser.parse_args()
    spark = session(**{
        "spark.jars": options.jar,
        "spark.driver.memory": options.memory,
        "spark.driver.extraJavaOptions": "",
        "spark.sql.autoBroadcastJoinThreshold": "200m",
    })
    for table in ("lineitem", "orders", "supplier"):
        spark.read.parquet(f"{options.tables}/{table}.parquet").createOrReplaceTempView(table)
    orc = options.tables / "lineitem_orc"
    if not orc.exists():
        spark.table("lineitem").write.orc(str(orc))
    spark.read.orc(str(orc)).createOrReplaceTempView("lineitem_orc")
    spark.sql("""CACHE TABLE cached AS
                 SELECT l_orderkey, l_suppkey, cast(l_quantity AS DOUBLE) AS l_quantity,
                        cast(l_extendedprice AS DOUBLE) AS l_extendedprice FROM lineitem""")
    for name, sql in QUERIES.items():
        least = dict.fromkeys(WAYS, float("inf"))
        for turn in range(options.repeat):
            for way in sorted(WAYS, reverse=turn % 2 == 1):
                with settings(spark, {**WAYS[way], **MORE.get(name, {})}):
                    decisions(spark)
                    began = time.perf_counter()
                    spark.sql(sql).write.format("noop").mode("overwrite").save()
                    least[way] = min(least[way], time.perf_counter() - began)
                    made = decisions(spark)
                if any(not taken for taken, _, _ in made) or bool(made) != (way == "gpujoin"):
                    raise SystemExit(f"{name}: {made}")
        print(f"{name}: " + ", ".join(f"{way} {seconds:.2f} s" for way, seconds in least.items()),
              flush=True)


if __name__ == "__main__":
    main()
