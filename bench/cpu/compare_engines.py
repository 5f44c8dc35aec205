#!/usr/bin/env python3
"""Times one inner join on the CPU executor and on the CPU engines that are installed beside it.

    bench/cpu/compare_engines.py --threads 16 --output cpu-16-threads.json

The join: R has a key (a random permutation of 0 .. |R| - 1) and a payload, S a key drawn uniformly
from those of R and a payload; int32 all; the output is (key, payload of R, payload of S), whole, in
memory. Every engine starts from its own form of the tables in memory.

Every other engine runs in each order of its sides and with each of its settings, which are the
variants below; what is reported of it is its best one. This library is called one way, and plans
for itself. All run in this one process, on the same cores, in turn, so that whatever else the
machine does falls on all of them:

1. Each variant once, and again unless it took twice as long as another of its engine. The first
   result is checked: its number of rows, and a sum of a hash of each row, must be those that follow
   from how the tables were made. The lesser time counts.
2. The best two variants of each engine, in rounds, until the middle half of the times of every
   engine lies within 5 % of their median, or --most_rounds. Reported is the median of the better,
   in milliseconds of the wall clock.

An engine that is not installed is named under "absent". Needs numpy and pyarrow; the library is
found as the Python binding finds it (GPUJOIN_LIBRARY names it). Where no package can be fetched,
wheels do that were brought along:

    python3 -m pip install --no-index --no-deps --target site wheels/*.whl
    PYTHONPATH=site bench/cpu/compare_engines.py ...
"""

import argparse
import datetime
import gc
import importlib
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FINALISTS = 2  # variants of an engine that are timed in rounds
HOPELESS = 2  # times as long as another variant: not run again
SPREAD = 0.05  # of the middle half of the times, over their median: small enough
COLUMNS = ("key", "a", "b")


class Gpujoin:
    """The CPU executor, through the Python binding: Arrow tables in, Arrow table out."""

    def __init__(self, tables, threads):
        sys.path.insert(0, str(ROOT / "bindings" / "python"))
        self.library = importlib.import_module("gpujoin")
        self.version = self.library.library_version()
        self.tables = tables
        self.context = self.library.Context("cpu", threads=threads)
        self.plan = ""

    def variants(self):
        return {"its own plan": self.join}

    def join(self):
        result = self.library.join(*self.tables, "key", select=COLUMNS, context=self.context)
        table = result.to_table()
        self.plan = result.statistics.plan
        return table


class Polars:
    """Frames in, frame out."""

    def __init__(self, tables, threads):
        # Read when the module is imported, and not again.
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        self.library = importlib.import_module("polars")
        self.version = self.library.__version__
        self.frames = [self.library.from_arrow(table, rechunk=True).lazy() for table in tables]

    def variants(self):
        engines, builds = ("streaming", "in-memory"), ("auto", "force_left", "force_right")
        return {
            f"{engine}, {order}, build_side {build}":
                lambda engine=engine, sides=sides, build=build: self.join(engine, sides, build)
            for engine, (order, sides), build in itertools.product(engines, ORDERS, builds)
        }

    def join(self, engine, sides, build):
        first, second = (self.frames[side] for side in sides)
        return first.join(second, on="key", how="inner", build_side=build).collect(engine=engine)

    def arrow(self, frame):
        return frame.to_arrow()


class Duckdb:
    """Tables of an in-memory database in; a new table, or an Arrow table, out."""

    OPTIMIZERS = {"sides as it likes": "", "sides as written": "join_order,build_side_probe_side"}

    def __init__(self, tables, threads):
        self.library = importlib.import_module("duckdb")
        self.version = self.library.__version__
        self.connection = self.library.connect()
        # What it would take by itself is tried too.
        chosen = self.connection.execute("select current_setting('threads')").fetchall()
        self.threads = sorted({threads, int(chosen[0][0])})
        for name, table in zip("rs", tables):
            self.connection.register("arrow_table", table)
            self.connection.execute(f"create table {name} as select * from arrow_table")
            self.connection.unregister("arrow_table")

    def variants(self):
        made = {}
        for target, (order, sides), (freedom, disabled), keeps_order, threads in itertools.product(
            ("table", "Arrow"), ORDERS, self.OPTIMIZERS.items(), (True, False), self.threads
        ):
            label = f"to {target}, {order}, {freedom}, threads {threads}"
            label += "" if keeps_order else ", preserve_insertion_order off"
            settings = (
                f"set threads = {threads}; set disabled_optimizers = '{disabled}'; "
                f"set preserve_insertion_order = {keeps_order}"
            )
            first, second = ("rs"[side] for side in sides)
            query = f"select r.key, r.a, s.b from {first} join {second} on r.key = s.key"
            made[label] = lambda target=target, settings=settings, query=query: self.join(
                target, settings, query
            )
        return made

    def join(self, target, settings, query):
        self.connection.execute(settings)
        if target == "Arrow":
            return self.connection.sql(query).to_arrow_table()
        self.connection.execute("create table output as " + query)
        return None

    def arrow(self, output):
        return output or self.connection.sql("select * from output").to_arrow_table()

    def discard(self):
        self.connection.execute("drop table if exists output")


class Acero:
    """pyarrow tables in, pyarrow table out."""

    def __init__(self, tables, threads):
        self.library = importlib.import_module("pyarrow")
        self.acero = importlib.import_module("pyarrow.acero")
        self.library.set_cpu_count(threads)
        self.version = self.library.__version__
        self.tables = tables

    def variants(self):
        return {
            f"{name}, {order}": lambda call=call, sides=sides: call(
                *(self.tables[side] for side in sides)
            )
            for (name, call), (order, sides) in itertools.product(
                {"Table.join": self.join, "hashjoin node": self.node}.items(), ORDERS
            )
        }

    def join(self, first, second):
        return first.join(second, "key", join_type="inner")

    def node(self, first, second):
        """Table.join less the projections after its join."""
        sources = [
            self.acero.Declaration("table_source", self.acero.TableSourceNodeOptions(table))
            for table in (first, second)
        ]
        payload = second.column_names[1]
        options = self.acero.HashJoinNodeOptions(
            "inner", ["key"], ["key"], first.column_names, [payload]
        )
        return self.acero.Declaration("hashjoin", options, inputs=sources).to_table()


class Datafusion:
    """Record batches in as many partitions as there are threads in, record batches out."""

    ROWS = (8192, 65536)  # of a batch, in and out

    def __init__(self, tables, threads):
        self.library = importlib.import_module("datafusion")
        self.version = self.library.__version__
        self.contexts = {}
        for rows, spread in itertools.product(self.ROWS, (True, False)):
            config = self.library.SessionConfig()
            config = config.with_target_partitions(threads).with_batch_size(rows)
            context = self.library.SessionContext(config.with_repartition_joins(spread))
            for name, table in zip("rs", tables):
                batches = table.to_batches(max_chunksize=rows)
                parts = [part for part in (batches[n::threads] for n in range(threads)) if part]
                context.register_record_batches(name, parts)
            label = f"batches of {rows}, {'partitioned' if spread else 'one hash table'}"
            self.contexts[label] = context

    def variants(self):
        return {
            f"{order}, {label}": lambda context=context, sides=sides: self.join(context, sides)
            for (label, context), (order, sides) in itertools.product(
                self.contexts.items(), ORDERS
            )
        }

    def join(self, context, sides):
        first, second = ("rs"[side] for side in sides)
        query = f"select r.key, r.a, s.b from {first} join {second} on r.key = s.key"
        return context.sql(query).collect()

    def arrow(self, batches):
        return importlib.import_module("pyarrow").Table.from_batches(batches)


ORDERS = (("R join S", (0, 1)), ("S join R", (1, 0)))
ENGINES = {
    "gpujoin": Gpujoin,
    "polars": Polars,
    "duckdb": Duckdb,
    "acero": Acero,
    "datafusion": Datafusion,
}


def make_tables(left_rows, right_rows):
    numpy = importlib.import_module("numpy")
    pyarrow = importlib.import_module("pyarrow")
    random = numpy.random.default_rng(20)
    keys = random.permutation(left_rows).astype(numpy.int32)
    drawn = keys[random.integers(0, left_rows, right_rows)]
    left = pyarrow.table({"key": keys, "a": payload_of(keys)})
    right = pyarrow.table({"key": drawn, "b": numpy.arange(right_rows, dtype=numpy.int32)})
    return left, right


def payload_of(keys):
    return keys ^ keys.dtype.type(0x2A5A5A5A)


def rows_and_checksum(table):
    """The checksum is the sum over all rows, in whatever order, of a hash of their columns."""
    numpy = importlib.import_module("numpy")
    factors = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
    total = 0
    for batch in table.select(COLUMNS).to_batches(max_chunksize=1 << 20):
        mixed = numpy.zeros(batch.num_rows, dtype=numpy.uint64)
        for column, factor in zip(batch.columns, factors):
            values = column.to_numpy(zero_copy_only=False).astype(numpy.int64)
            mixed ^= values.view(numpy.uint64) * numpy.uint64(factor)
            mixed ^= mixed >> numpy.uint64(29)
        total += int(mixed.sum())
    return table.num_rows, f"{total % (1 << 64):016x}"


def expected_of(right):
    """Each row of S has one match, whose payload follows from the key."""
    keys = right.column("key").to_numpy()
    return rows_and_checksum(right.append_column("a", [payload_of(keys)]))


def timed(engine, run):
    gc.collect()
    start = time.perf_counter()
    output = run()
    return (time.perf_counter() - start) * 1000, output


def discard(engine):
    getattr(engine, "discard", lambda: None)()


def qualify(name, engine, expected):
    """{variant: the lesser of its times}; the first result is checked."""
    times = {}
    for variant, run in engine.variants().items():
        first, output = timed(engine, run)
        found = rows_and_checksum(getattr(engine, "arrow", lambda table: table)(output))
        if found != expected:
            sys.exit(f"WRONG RESULT: {name}, {variant} has {found}, expected {expected}")
        del output
        discard(engine)
        times[variant] = first
        if first > HOPELESS * min(times.values()):
            continue
        second, output = timed(engine, run)
        del output
        discard(engine)
        times[variant] = min(first, second)
    return times


def spread_of(times):
    """The middle half of the times, over their median."""
    if len(times) < 4:
        return None
    lower, middle, upper = statistics.quantiles(times, n=4)
    return (upper - lower) / middle


def figures_of(rounds, qualifying):
    """Of one engine: its best variant, and what all of its variants took."""
    best = best_of(rounds)
    spread = spread_of(rounds[best])
    return {
        "best": best,
        "median_ms": round(statistics.median(rounds[best]), 3),
        "spread": None if spread is None else round(spread, 4),
        "rounds_ms": {v: [round(t, 3) for t in each] for v, each in rounds.items()},
        "qualifying_ms": {v: round(t, 3) for v, t in qualifying.items()},
    }


def best_of(of_engine):
    return min(of_engine, key=lambda variant: statistics.median(of_engine[variant]))


def run_rounds(engines, finalists, options):
    """{engine: {variant: times}}."""
    times = {name: {variant: [] for variant in finalists[name]} for name in engines}
    for number in range(1, options.most_rounds + 1):
        for name, engine in engines.items():
            variants = engine.variants()
            for variant in finalists[name]:
                elapsed, output = timed(engine, variants[variant])
                del output
                discard(engine)
                times[name][variant].append(elapsed)
        spreads = [spread_of(each[best_of(each)]) for each in times.values()]
        if number >= options.rounds and all(each and each <= SPREAD for each in spreads):
            break
    return times


def measure(size, names, options, report):
    left_rows, right_rows = size
    tables = make_tables(left_rows, right_rows)
    expected = expected_of(tables[1])
    engines, qualified = {}, {}
    for name in names:
        try:
            engines[name] = ENGINES[name](tables, options.threads)
            report["versions"][name] = engines[name].version
        except ImportError as error:
            report["absent"][name] = str(error)
            continue
        qualified[name] = qualify(name, engines[name], expected)
    finalists = {
        name: sorted(times, key=times.get)[:FINALISTS] for name, times in qualified.items()
    }
    cell = {
        "left_rows": left_rows,
        "right_rows": right_rows,
        "output_rows": expected[0],
        "checksum": expected[1],
        "engines": {},
    }
    for name, of_engine in run_rounds(engines, finalists, options).items():
        cell["engines"][name] = figures_of(of_engine, qualified[name])
    if "gpujoin" in engines:
        cell["gpujoin_plan"] = engines["gpujoin"].plan
    return cell


def print_cell(cell):
    print(f"{cell['left_rows']} x {cell['right_rows']}, {cell['output_rows']} rows out:")
    for name, found in sorted(cell["engines"].items(), key=lambda each: each[1]["median_ms"]):
        spread = "" if found["spread"] is None else f"+- {100 * found['spread'] / 2:.1f} %"
        print(f"  {name:10} {found['median_ms']:10.1f} ms {spread:10} {found['best']}")
    print(flush=True)


def cpu_name():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit_of(options):
    if options.commit:
        return options.commit
    said = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return said.stdout.strip() or "unknown"


def parse_size(text):
    left, right = text.split("x")
    return 1 << int(left), 1 << int(right)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=7, help="at the least (default: 7)")
    parser.add_argument("--most_rounds", type=int, default=15, help="(default: 15)")
    parser.add_argument(
        "--size",
        action="append",
        metavar="RxS",
        help="powers of two, may be repeated (default: 20x22, 22x24 and 24x26)",
    )
    parser.add_argument("--engines", default=",".join(ENGINES), help="of " + ", ".join(ENGINES))
    parser.add_argument("--commit", help="for the report (default: asked of git)")
    parser.add_argument("--output", type=Path, help="JSON file (default: none)")
    options = parser.parse_args()

    cores = sorted(os.sched_getaffinity(0))
    if options.threads > len(cores):
        parser.error(f"--threads {options.threads}: only {len(cores)} cores may be used")
    os.sched_setaffinity(0, cores[: options.threads])

    report = {
        "commit": commit_of(options),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": " ".join(["bench/cpu/compare_engines.py", *sys.argv[1:]]),
        "cpu": cpu_name(),
        "threads": options.threads,
        "versions": {},
        "absent": {},
        "cells": [],
    }
    for size in map(parse_size, options.size or ["20x22", "22x24", "24x26"]):
        report["cells"].append(measure(size, options.engines.split(","), options, report))
        print_cell(report["cells"][-1])
    for name, why in report["absent"].items():
        print(f"{name} is absent: {why}")
    if options.output:
        options.output.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
