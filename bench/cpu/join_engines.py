"""The engines that compare_joins.py times: this library, DuckDB and Polars.

Each starts from its own form of a case's tables in memory. variants() are the ways to call it:
{name: what runs it}, and more_variants(best) those to be tried besides when the best of them is
known; set_up(name) goes before, outside of the time.
"""

import importlib
import itertools
import os
import sys
import time
import warnings
from pathlib import Path

import pyarrow
from join_cases import SWAPPED

ROOT = Path(__file__).resolve().parents[2]


class Gpujoin:
    """The CPU executor, through the Python binding: Arrow tables in, Arrow table out."""

    def __init__(self, threads):
        sys.path.insert(0, str(ROOT / "bindings" / "python"))
        self.library = importlib.import_module("gpujoin")
        self.version = self.library.library_version()
        self.context = self.library.Context("cpu", threads=threads)

    def load(self, case):
        self.case = case
        self.result = None

    def variants(self):
        return {"its own plan": self.join}

    def more_variants(self, best):
        return {}

    def set_up(self, variant):
        self.result = None

    def join(self):
        """What gpujoin.join does, with the clock looked at in between."""
        clock = [time.perf_counter()]
        case = self.case
        with self.library.plan(case.left, case.right, **case.words(), context=self.context) as plan:
            clock.append(time.perf_counter())
            self.result = plan.execute()
            clock.append(time.perf_counter())
        table = self.result.to_table()
        clock.append(time.perf_counter())
        self.parts = [round((after - before) * 1000, 3) for before, after in zip(clock, clock[1:])]
        return table

    def statistics(self):
        """Of the last join."""
        found = self.result.statistics
        return {
            "plan": found.plan,
            "call_ms": dict(zip(("plan", "execute", "to_table"), self.parts)),
            "ms": round(found.milliseconds, 3),
            "stages": [[s.stage, s.technique, round(s.milliseconds, 3)] for s in found.stages],
        }

    def unload(self):
        self.case = self.result = None


class Polars:
    """Frames in, frame out."""

    ENGINES = ("streaming", "in-memory")
    BUILDS = ("auto", "force_left", "force_right")

    def __init__(self, threads):
        # Read when the module is imported, and not again.
        assert os.environ["POLARS_MAX_THREADS"] == str(threads)
        self.library = importlib.import_module("polars")
        self.version = self.library.__version__

    def load(self, case):
        self.case = case
        tables = case.left, case.right
        self.frames = [self.library.from_arrow(table, rechunk=True).lazy() for table in tables]

    def variants(self):
        how, keys = self.case.how, (self.case.names("k"), self.case.names("j"))
        orders = [("left, right", self.frames, keys, how)]
        if how in SWAPPED:
            orders.append(("right, left", self.frames[::-1], keys[::-1], SWAPPED[how]))
        made = {}
        for engine, (label, *order), build in itertools.product(self.ENGINES, orders, self.BUILDS):
            # In memory it makes no difference; and the other order builds on the same sides.
            if build == "auto" or (engine == "streaming" and label == "left, right"):
                made[f"{engine}, {label}, build_side {build}"] = (
                    lambda engine=engine, order=order, build=build: self.join(engine, build, *order)
                )
        return made

    def more_variants(self, best):
        return {}

    def set_up(self, variant):
        pass

    def join(self, engine, build, frames, keys, how):
        query = frames[0].join(
            frames[1], left_on=keys[0], right_on=keys[1], how=how, build_side=build
        )
        return query.collect(engine=engine)

    def unload(self):
        self.case = self.frames = None


class Duckdb:
    """Tables of an in-memory database in; a new table, or an Arrow table, out."""

    IN_ORDER = ", preserve_insertion_order"

    def __init__(self, threads):
        self.library = importlib.import_module("duckdb")
        self.version = self.library.__version__
        self.threads = threads
        warnings.filterwarnings("ignore", "Arrow output on a DB-API result")

    def load(self, case):
        self.case = case
        self.connection = self.library.connect()
        self.connection.execute(f"set threads = {self.threads}")
        self.has_text = False
        for name, table in (("r", case.left), ("s", case.right)):
            self.connection.register("arrow_table", table)
            chosen = []
            for column in table.schema:
                self.has_text |= pyarrow.types.is_string(column.type)
                is_dictionary = pyarrow.types.is_dictionary(column.type)
                if is_dictionary and name == "r":
                    words = f"select {column.name}::varchar from arrow_table"
                    self.connection.execute(f"create type words as enum ({words})")
                chosen.append(column.name + ("::words as " + column.name) * is_dictionary)
            self.connection.execute(
                f"create table {name} as select {', '.join(chosen)} from arrow_table"
            )
            self.connection.unregister("arrow_table")
        self.settings = {}
        self.ready = ""

    def variants(self):
        made = {}
        freedoms = {"sides as it likes": "", "sides as written": "join_order,build_side_probe_side"}
        views = (False, True) if self.has_text else (False,)
        targets = [("table", False), *(("Arrow", view) for view in views)]
        if self.case.calls > 1:
            targets.append(("Arrow, execute", False))
        for (target, view), (order, query, swapped), (freedom, disabled) in itertools.product(
            targets, self.case.queries(), freedoms.items()
        ):
            if swapped and not disabled:
                continue  # which side is written first does not matter then
            label = f"to {target}, {order}, {freedom}" + ", string views" * view
            self.settings[label] = (
                f"set disabled_optimizers = '{disabled}'; set preserve_insertion_order = false; "
                f"set produce_arrow_string_view = {view}"
            )
            made[label] = lambda target=target, query=query: self.join(target, query)
        return made

    def more_variants(self, best):
        label = best + self.IN_ORDER
        self.settings[label] = self.settings[best].replace("order = false", "order = true")
        return {label: self.variants()[best]}

    def set_up(self, variant):
        self.connection.execute("drop table if exists output")
        if self.ready != variant:
            self.connection.execute(self.settings[variant])
            self.ready = variant

    def join(self, target, query):
        if target == "Arrow":
            return self.connection.sql(query).to_arrow_table()
        if target == "Arrow, execute":  # less to do before it starts, and a copy more
            return self.connection.execute(query).to_arrow_table()
        self.connection.execute("create table output as " + query)
        return None

    def arrow(self, output):
        if output is None:
            output = self.connection.sql("select * from output").to_arrow_table()
        return output

    def unload(self):
        self.connection.close()
        self.case = self.connection = None


ENGINES = {"gpujoin": Gpujoin, "duckdb": Duckdb, "polars": Polars}
