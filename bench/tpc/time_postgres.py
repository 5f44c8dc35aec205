#!/usr/bin/env python3
"""Times single joins and TPC-H's queries with PostgreSQL, alone and with gpujoin, in turns.

    bench/tpc/time_postgres.py --host FOLDER --scale 3 [--workers 4] [--work-mem 256MB]
        [--memory-limit 4GB] [--turns 2] [--seconds N] [--longest 30] [--explain] [--commit TEXT]
        [--only tpch/2,joins/J1] [--output bench/results/DATE-COMMIT-postgresql-tpch-3.json]

FOLDER has the socket of a running server in which gpujoin is installed. The tables are those of the
schema tpch_SCALE, which tpchgen-cli fills where it is not. PostgreSQL alone runs with --workers
parallel workers of a query and with none, since either may be faster, the latter for 1.2 times as
long as the former at most; gpujoin by the gate on the CPU and on the GPU, and forced on the GPU,
with --workers. Without a GPU it is forced on the CPU.

Times are the least of the turns, of the wall clock, planning included; each engine has a session of
its own, whose first join comes before. Each answer is that of the first engine, or there are no
times of the query. What took more than twice as long as the best engine does not run again. What
fails, or has run for --longest seconds, has no time. After --seconds what has been measured is
written. --explain prints what EXPLAIN (ANALYZE) says of the single joins, and what the gate had
expected of them, in the time that is left.

psycopg is in build/postgresql/venv, which bindings/postgresql/test makes.
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import shutil
import sys
import time

import psycopg

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "bench"), str(ROOT / "bindings/postgresql/tests")]
from device_name import device_name  # noqa: E402: where it lies is known only now
from tpch import INDEX_OF_ORDERS, INDEXES, QUERIES, make_tables  # noqa: E402

Query = collections.namedtuple("Query", "name sql has_defaults")

ALONE = {"gpujoin.enable": "off"}
POSTGRES, ONE_PROCESS = "PostgreSQL", "PostgreSQL, one process"
# That both sides work with where nobody has set anything: PostgreSQL's hash joins go to files.
DEFAULTS = {"work_mem": "4MB", "gpujoin.memory_limit": "256MB"}
JOINS = re.findall(r"^-- (\w+)\n(.*?);\s*(?=^-- \w+\n|\Z)",
                   (ROOT / "bench/tpc/joins.sql").read_text(), re.M | re.S)  # fmt: skip
# Beside those of joins.sql: rows that are only counted, with much memory and little, and wide ones.
COUNT = "SELECT count(*) FROM lineitem, orders WHERE l_orderkey = o_orderkey"
WIDE = """SELECT count(*), sum(l_extendedprice), max(l_shipdate), max(l_receiptdate),
    max(l_shipinstruct), max(l_comment), sum(p_size), max(p_name), max(p_type), max(p_comment)
    FROM lineitem, part WHERE l_partkey = p_partkey"""
SINGLE = [*(Query(f"joins/{name}", sql, False) for name, sql in JOINS),
          Query("joins/LineitemOrdersCount", COUNT, False),
          Query("joins/LineitemOrdersCount by default", COUNT, True),
          Query("joins/LineitemPartWide", WIDE, False)]  # fmt: skip
WHOLE = [Query(f"tpch/{number}", sql, False) for number, sql in QUERIES.items()]
# The context of the library, and its first kernels.
FIRST_JOIN = "SELECT count(*), max(n_name) FROM customer, nation WHERE c_nationkey = n_nationkey"


def engines_of(devices):
    """By their names, what they set."""
    engines = {POSTGRES: ALONE,
               ONE_PROCESS: {**ALONE, "max_parallel_workers_per_gather": "0"}}  # fmt: skip
    for device in devices:
        engines[f"gpujoin, by the gate, {device}"] = {"gpujoin.device": device.lower()}
    engines[f"gpujoin, forced, {devices[-1]}"] = {"gpujoin.device": devices[-1].lower(),
                                                  "gpujoin.force": "on"}  # fmt: skip
    return engines


class Sessions:
    """One for each engine and kind of settings, since a change of device or memory makes gpujoin's
    context anew."""

    def __init__(self, options):
        self.options = options
        self.schema = "tpch_" + f"{options.scale:g}".replace(".", "_")
        self.settings = {"max_parallel_workers_per_gather": str(options.workers),
                         "work_mem": options.work_mem,
                         "gpujoin.memory_limit": options.memory_limit}  # fmt: skip
        self.open = {}
        self.first_join_ms = {}
        with self.connect({}) as first:
            first.execute("CREATE EXTENSION IF NOT EXISTS gpujoin")
            if not first.execute("SELECT to_regnamespace(%s)", [self.schema]).fetchone()[0]:
                generator = shutil.which("tpchgen-cli") or ROOT / ".venv/bin/tpchgen-cli"
                make_tables(first, self.schema, f"{options.scale:g}", generator,
                            [INDEX_OF_ORDERS])  # fmt: skip
            self.version = first.execute("SHOW server_version").fetchone()[0]
            found = first.execute("SELECT device, reason FROM gpujoin_device()").fetchone()
            print("device: %s, %s" % found, flush=True)
        self.engines = engines_of(["CPU", "CUDA"] if found[0] == "cuda" else ["CPU"])

    def connect(self, settings):
        # Every run is planned.
        made = psycopg.connect(host=self.options.host, user="postgres", dbname="postgres",
                               autocommit=True, prepare_threshold=None)  # fmt: skip
        made.execute("LOAD 'gpujoin'")
        made.execute(f"SET search_path = {self.schema}, public")
        for name, value in {**self.settings, **settings}.items():
            made.execute(f"SET {name} = '{value}'")
        return made

    def of(self, engine, has_defaults):
        if (engine, has_defaults) not in self.open:
            settings = {**self.engines[engine], **(DEFAULTS if has_defaults else {})}
            made = self.open[engine, has_defaults] = self.connect(settings)
            if "gpujoin.device" in settings:
                begin = time.perf_counter()
                made.execute("SET gpujoin.force = on")
                made.execute(FIRST_JOIN)
                self.first_join_ms.setdefault(engine, round(1000 * (time.perf_counter() - begin)))
                made.execute(f"SET gpujoin.force = {settings.get('gpujoin.force', 'off')}")
        return self.open[engine, has_defaults]


class Measurement:
    """Times and answers of all queries."""

    def __init__(self, sessions, seconds, longest):
        self.sessions = sessions
        self.end = time.perf_counter() + seconds
        self.longest = longest
        self.times = {}
        self.taken = {}
        self.answers = {}
        self.wrong = set()
        self.left_out = set()

    def left(self):
        return self.end - time.perf_counter()

    def seconds_for(self, query, engine):
        seconds = min(self.left(), self.longest)
        if engine == ONE_PROCESS and (query, POSTGRES) in self.times:
            # Of interest where it is the better one.
            seconds = min(seconds, 0.02 + 1.2 * min(self.times[query, POSTGRES]) / 1000)
        return seconds

    def least_of(self, query):
        return {engine: min(self.times[query, engine]) for engine in self.sessions.engines
                if (query, engine) in self.times}  # fmt: skip

    def is_worth_a_run(self, query, engine):
        if query in self.wrong or (query, engine) in self.left_out or self.left() <= 0:
            return False
        least = self.least_of(query)
        return engine not in least or least[engine] <= 2 * min(least.values())

    def run(self, query, engine):
        connection = self.sessions.of(engine, query.has_defaults)
        seconds = self.seconds_for(query, engine)
        if seconds <= 0:
            return
        connection.execute(f"SET statement_timeout = {int(1000 * seconds) + 1}")
        try:
            if (query, engine) not in self.taken:
                plan = "".join(row[0] for row in connection.execute("EXPLAIN " + query.sql))
                self.taken[query, engine] = plan.count("Custom Scan (GPUJOIN)")
            begin = time.perf_counter()
            cursor = connection.execute(query.sql)
            took = 1000 * (time.perf_counter() - begin)
        except psycopg.Error as error:
            self.left_out.add((query, engine))
            print(f"{query.name}, {engine}: no time within {seconds:.2f} s: {error}", flush=True)
            if connection.closed:
                raise
            return
        answer = collections.Counter(map(repr, cursor.fetchall()))
        if self.answers.setdefault(query, answer) != answer:
            self.wrong.add(query)
            print(f"{query.name}, {engine}: another answer", flush=True)
        self.times.setdefault((query, engine), []).append(took)

    def turn(self, queries):
        for query in queries:
            ran = [engine for engine in self.sessions.engines
                   if self.is_worth_a_run(query, engine)]  # fmt: skip
            for engine in ran:
                self.run(query, engine)
            if ran:
                print(f"{query.name}: " + ", ".join(
                    f"{engine} {time:.0f} ms ({self.taken[query, engine]})"
                    for engine, time in self.least_of(query).items()), flush=True)  # fmt: skip

    def explain(self, queries):
        for query in queries:
            for engine in self.sessions.engines:
                if not self.is_worth_a_run(query, engine):
                    continue
                connection = self.sessions.of(engine, query.has_defaults)
                seconds = max(self.seconds_for(query, engine), 0)
                connection.execute(f"SET statement_timeout = {int(1000 * seconds) + 1}")
                print(f"\n{query.name}, {engine}")
                try:
                    for row in connection.execute("EXPLAIN (ANALYZE, TIMING OFF) " + query.sql):
                        print(row[0])
                    if self.taken[query, engine] != 0:
                        # What the gate had expected.
                        for row in connection.execute("SELECT reason FROM gpujoin_decisions()"):
                            print(row[0])
                except psycopg.errors.QueryCanceled:
                    print("no time is left")

    def is_complete(self, queries):
        return not self.wrong and all(
            (query, engine) in self.times for query in queries
            for engine in self.sessions.engines if engine != ONE_PROCESS)  # fmt: skip

    def entries(self, scale):
        return [
            {"name": f"postgresql/{query.name}/{engine}/{scale:g}",
             "real_time": round(min(times), 3), "time_unit": "ms", "x": scale,
             "joins_taken": self.taken[query, engine], "turns": len(times)}
            for (query, engine), times in self.times.items() if query not in self.wrong
        ]  # fmt: skip


def write(options, measurement, queries):
    sessions = measurement.sessions
    context = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": options.commit,
        "device": device_name(),
        "command": f"bench/tpc/time_postgres.py --scale {options.scale:g} "
                   f"--workers {options.workers} --work-mem {options.work_mem} "
                   f"--memory-limit {options.memory_limit} --turns {options.turns}"
                   + (f" --only {options.only}" if options.only else ""),
        "postgresql": sessions.version,
        "cpus": len(os.sched_getaffinity(0)),
        "indexes": [*INDEXES, INDEX_OF_ORDERS],
        "first_join_ms": sessions.first_join_ms,
        "is_complete": measurement.is_complete(queries),
    }  # fmt: skip
    entries = measurement.entries(options.scale)
    text = json.dumps({"context": context, "benchmarks": entries}, indent=1) + "\n"
    options.output.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="/var/run/postgresql")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--work-mem", default="256MB")
    parser.add_argument("--memory-limit", default="4GB")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e6)
    parser.add_argument("--longest", type=float, default=30)
    parser.add_argument("--only", help="names of queries, by commas: joins/J1,tpch/13")
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    begin = time.perf_counter()
    sessions = Sessions(options)
    seconds = options.seconds - (time.perf_counter() - begin)
    measurement = Measurement(sessions, seconds, options.longest)
    queries = SINGLE + WHOLE
    if options.only:
        named = options.only.split(",")
        queries = [query for query in queries if query.name in named]
    try:
        for _ in range(options.turns):
            measurement.turn(queries)
    finally:
        if options.output and measurement.times:
            write(options, measurement, queries)
    if options.explain:
        measurement.explain([query for query in SINGLE if query in queries])
    raise SystemExit(bool(measurement.wrong))


if __name__ == "__main__":
    main()
