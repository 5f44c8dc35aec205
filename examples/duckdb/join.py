"""Ten minutes with gpujoin in DuckDB: the README beside it says what happens here, and what it
prints."""

import gpujoin.duckdb

ORDERS = 1 << 20
LINES = 1 << 22


def tables(connection):
    connection.execute(f"""
        CREATE TABLE orders AS
        SELECT i * 7 AS id, i % 5 AS region, CASE WHEN i % 9 = 0 THEN NULL ELSE i % 100 END AS due
        FROM range({ORDERS}) AS r(i)""")
    connection.execute(f"""
        CREATE TABLE lines AS
        SELECT (hash(i) % {ORDERS})::BIGINT * 7 AS "order", i % 100 AS day, i % 10 AS price
        FROM range({LINES}) AS r(i)""")


def one_join(connection):
    sql = """SELECT region, count(*), sum(price) FROM orders JOIN lines ON id = "order"
             GROUP BY region ORDER BY region LIMIT 2"""
    for region, rows, price in connection.execute(sql).fetchall():
        print(f"region {region}: {rows} lines, {price}")
    return sql


def who_joined(connection, sql):
    def print_decisions():
        for kind, is_taken in connection.execute(
            "SELECT join_type, taken FROM gpujoin_decisions()"
        ).fetchall():
            print(kind, "by gpujoin" if is_taken else "by DuckDB")

    # A join of ten rows is not worth handing over, unless it is asked for.
    connection.execute("SELECT * FROM range(10) AS a(i) JOIN range(10) AS b(i) USING (i)").fetchall()
    print_decisions()
    connection.execute("SET gpujoin_force = true")
    answer = connection.execute(sql).fetchall()
    print_decisions()
    plan = connection.execute("EXPLAIN " + sql).fetchall()[0][1]
    print("the plan has GPUJOIN:", "GPUJOIN" in plan.upper())
    connection.execute("SET gpujoin_enable = false")
    print("DuckDB alone answers the same:", connection.execute(sql).fetchall() == answer)
    connection.execute("RESET gpujoin_enable")


def other_kinds(connection):
    late = """SELECT count(*) FROM lines WHERE EXISTS
              (SELECT 1 FROM orders WHERE id = "order" AND due < day)"""
    print("late lines:", connection.execute(late).fetchone()[0])
    most = """SELECT max((SELECT sum(price) FROM lines WHERE "order" = id)) FROM orders
              WHERE region = 3"""
    print("the largest order of region 3:", connection.execute(most).fetchone()[0])
    # A list is no key of gpujoin's: DuckDB joins, and the reason is told.
    connection.execute("SELECT 1 FROM orders a JOIN orders b ON [a.id] = [b.id]").fetchone()
    print("left to DuckDB:", connection.execute("FROM gpujoin_decisions()").fetchone()[3])


def little_memory(connection, sql):
    answer = connection.execute(sql).fetchall()
    connection.execute("SET gpujoin_memory_limit = '16MiB'")
    print("the same within 16 MiB:", connection.execute(sql).fetchall() == answer)


def main():
    connection = gpujoin.duckdb.load(gpujoin.duckdb.connect(config={"threads": 2}))
    tables(connection)
    sql = one_join(connection)
    who_joined(connection, sql)
    other_kinds(connection)
    little_memory(connection, sql)


main()
