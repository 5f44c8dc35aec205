"""What joins cost PostgreSQL and gpujoin: CPU time of the session's process, the least of several.

usage: bench.py [--host FOLDER] [--repeat 5] [--work-mem 4MB]    a running server on this machine

A star stands where gpujoin joined.
"""

from __future__ import annotations

import argparse
import os
import pathlib

import psycopg

# Rows of the build, of the probe side, and columns of a side besides the key.
SIZES = [(1 << 14, 1 << 18, 1), (1 << 16, 1 << 20, 1), (1 << 18, 1 << 20, 1), (1 << 20, 1 << 20, 1),
         (1 << 20, 1 << 20, 4), (1 << 20, 1 << 22, 1)]
WAYS = {
    "postgresql": {"gpujoin.enable": "off"},
    "forced": {"gpujoin.force": "on"},
    "chosen": {},
}


def cpu_milliseconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(connection, sql: str, values: dict) -> tuple[float, tuple, bool]:
    for name, value in values.items():
        connection.execute(f"SET {name} = {value}")
    before = cpu_milliseconds(connection.info.backend_pid)
    answer = connection.execute(sql).fetchone()
    took = cpu_milliseconds(connection.info.backend_pid) - before
    plan = "".join(row[0] for row in connection.execute("EXPLAIN " + sql))
    for name in values:
        connection.execute(f"RESET {name}")
    return took, answer, "GPUJOIN" in plan


def make_table(connection, name: str, rows: int, keys: int, columns: int) -> None:
    payload = "".join(f", i * {n + 3} AS c{n}" for n in range(columns))
    connection.execute(f"""CREATE TEMP TABLE {name} AS
        SELECT i * 7919 % {keys} AS k{payload} FROM generate_series(0::bigint, {rows} - 1) i""")
    connection.execute(f"ANALYZE {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="/var/run/postgresql")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--work-mem", default="4MB")
    options = parser.parse_args()
    with psycopg.connect(host=options.host, user="postgres", dbname="postgres",
                         autocommit=True) as connection:
        connection.execute("LOAD 'gpujoin'")
        connection.execute("SET max_parallel_workers_per_gather = 0")
        connection.execute(f"SET work_mem = '{options.work_mem}'")
        print("| build rows | probe rows | columns |", " | ".join(WAYS), "|")
        for build, probe, columns in SIZES:
            make_table(connection, "build", build, build, columns)
            make_table(connection, "probe", probe, build, columns)
            sums = " + ".join(f"b.c{n} + p.c{n}" for n in range(columns))
            sql = f"SELECT count(*), sum({sums}) FROM probe p JOIN build b ON b.k = p.k"
            times, answers, marks = {way: [] for way in WAYS}, [], {}
            for _ in range(options.repeat):  # in turns, as the machine may be busy now and then
                for way, values in WAYS.items():
                    took, answer, marks[way] = run(connection, sql, values)
                    times[way].append(took)
                    answers.append(answer)
            cells = [f"{min(times[way]):.0f}{' *' if marks[way] else ''}" for way in WAYS]
            assert len(set(answers)) == 1, answers
            print(f"| {build} | {probe} | {columns} |", " | ".join(cells), "|", flush=True)
            connection.execute("DROP TABLE build, probe")


if __name__ == "__main__":
    main()
