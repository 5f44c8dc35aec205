"""Ten minutes with gpujoin in Spark: the README beside it says what happens here, and what it
prints."""

import os
import pathlib

from pyspark.sql import SparkSession

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = pathlib.Path(os.environ.get("GPUJOIN_LIB_DIR", ROOT / "build/cpu")) / "libgpujoin.so"

ORDERS = 1 << 18
LINES = 1 << 20


def session():
    builder = SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.jars": ROOT / "build/spark/gpujoin-spark.jar",
        "spark.sql.extensions": "org.apache.spark.sql.gpujoin.GpuJoinExtension",
        "spark.gpujoin.library": LIBRARY,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
    }.items():
        builder = builder.config(name, str(value))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def tables(spark):
    spark.range(ORDERS).selectExpr(
        "id * 7 AS id", "id % 5 AS region", "CASE WHEN id % 9 <> 0 THEN id % 100 END AS due"
    ).createOrReplaceTempView("orders")
    spark.range(LINES).selectExpr(
        f"id * 5 % {ORDERS} * 7 AS order", "id % 100 AS day", "id % 10 AS price"
    ).createOrReplaceTempView("lines")


def one_join(spark):
    sql = """SELECT region, count(*) AS lines, sum(price) AS price FROM orders JOIN lines
             ON id = order GROUP BY region ORDER BY region LIMIT 2"""
    for row in spark.sql(sql).collect():
        print(f"region {row.region}: {row.lines} lines, {row.price}")
    return sql


def who_joined(spark, sql):
    def print_decisions():
        for taken, kind, reason in spark.sql(
            "SELECT taken, join_type, reason FROM gpujoin_decisions()"
        ).collect():
            print(kind, "by gpujoin" if taken else f"by Spark: {reason}")

    print_decisions()
    # What Spark broadcasts it does not sort for, and is left to it, unless it is asked for.
    small = "SELECT count(*) FROM orders JOIN range(10) AS few ON orders.id = few.id"
    spark.sql(small).collect()
    print_decisions()
    spark.conf.set("spark.gpujoin.force", "true")
    spark.sql(small).collect()
    print_decisions()
    plan = spark.sql("EXPLAIN " + sql).collect()[0][0]
    print("the plan has GpuJoin:", "GpuJoin" in plan)
    answer = spark.sql(sql).collect()
    spark.conf.set("spark.gpujoin.enabled", "false")
    print("Spark alone answers the same:", spark.sql(sql).collect() == answer)
    spark.conf.unset("spark.gpujoin.enabled")
    spark.sql("SELECT * FROM gpujoin_decisions()").collect()


def other_kinds(spark):
    late = """SELECT count(*) FROM lines WHERE EXISTS
              (SELECT 1 FROM orders WHERE id = order AND due < day)"""
    print("late lines:", spark.sql(late).collect()[0][0])
    spark.sql("SELECT * FROM gpujoin_decisions()").collect()
    # An array is no key of gpujoin's: Spark joins, and the reason is told.
    spark.sql("SELECT 1 FROM orders a JOIN orders b ON array(a.id) = array(b.id)").head()
    print("left to Spark:", spark.sql("SELECT * FROM gpujoin_decisions()").collect()[0].reason)


def little_memory(spark, sql):
    answer = spark.sql(sql).collect()
    spark.conf.set("spark.gpujoin.memoryLimit", "16m")
    print("the same within 16 MiB:", spark.sql(sql).collect() == answer)


def main():
    spark = session()
    tables(spark)
    sql = one_join(spark)
    who_joined(spark, sql)
    other_kinds(spark)
    little_memory(spark, sql)
    spark.stop()


main()
