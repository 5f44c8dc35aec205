"""Joins of the command line whose inputs are read whole: those that batches do not make."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from ._asof import AsofColumns
from ._bounds import Bounds
from ._cli_bar import Bar, Phase
from ._cli_columns import Chosen
from ._cli_context import open_context, shares_of
from ._cli_crew import Crew, Shared
from ._cli_moved import PlainText
from ._cli_output import Output, OutputFields
from ._cli_sources import FileError, Source
from ._cli_tables import Reading
from ._cli_text import head, phases
from ._context import Context
from ._inputs import Input
from ._plan import Plan, plan_columns
from ._plan_options import plan_options
from ._promises import Promises
from ._result import Result

if TYPE_CHECKING:
    from ._cli_join import Timer

_PAGE_ROWS = 1 << 17


@dataclass(frozen=True)
class WholeJoin:
    """A join in one call.

    why  which option asks for it, for messages
    """

    options: argparse.Namespace
    sources: dict[str, Source]
    chosen: Chosen
    asof: AsofColumns | None
    promises: Promises
    bounds: Bounds
    why: str

    def run(self, output: Output | None, timer: Timer, bar: Bar) -> None:
        """Errors: FileError, and those of the library."""
        options = self.options
        context = open_context(options, None, progress=bar.stage)
        timer.add("start")
        planned = self._planned(context, Crew(context.info().threads, bar), timer)
        if options.explain:
            bar.clear()
            print(planned.explain().rstrip())
            if not options.execute and not options.count and output is None:
                return
            print()
        if options.count:
            counted = planned.count()
            bar.clear()
            print(f"{counted.rows} rows, {counted.bytes} bytes")
            return
        with planned:
            result = planned.execute()
        timer.add("join")
        first = _first_rows(result, options.rows)
        if output is not None:
            self._write(result, output, context, bar)
            timer.add("write")
        bar.clear()
        if first.num_rows:
            print(head(first) + "\n")
        print(phases(result.statistics, timer.seconds))
        if output is not None:
            print(output.report())

    def _planned(self, context: Context, crew: Crew, timer: Timer) -> Plan:
        chosen, asof = self.chosen, self.asof
        inputs: dict[str, Input] = {}
        places: dict[str, dict[int, int]] = {}
        keys: dict[str, list[int]] = {}
        for side, source in self.sources.items():
            needed = chosen.read(side) | ({asof.positions[side]} if asof is not None else set())
            positions = sorted(needed or {0})  # a cross join needs its rows all the same
            inputs[side] = Input(self._read(source, positions, crew), side)
            places[side] = {column: place for place, column in enumerate(positions)}
            keys[side] = [places[side][key] for key in chosen.keys[side]]
        columns = [
            replace(c, column=places[c.side][c.column]) if c.side in places else c
            for c in chosen.columns
        ]
        timer.add("read")
        choices = {"algorithm": self.options.algorithm, "build_side": self.options.build_side}
        condition = chosen.condition.moved(places) if chosen.condition is not None else None
        planned = plan_columns(
            *(context, inputs, chosen.kind, keys, chosen.flags, condition, columns),
            pairs=False,
            bounds=self.bounds,
            options=plan_options(choices),
            asof=asof.moved(places) if asof is not None else None,
            aggregates=[aggregate.moved(places) for aggregate in chosen.aggregates],
            by=self.options.by,
            promises=self.promises,
        )
        timer.add("plan")
        return planned

    def _read(self, source: Source, positions: list[int], crew: Crew) -> pa.Table:
        """The columns at some positions, of all rows in their order."""
        shares = shares_of(self.options)
        reading = Reading(source.names_of(positions), is_limited=shares is not None)
        phase = Phase(f"reading {source.name}", source.rows, source.bytes)
        parts: dict[int, list[pa.RecordBatch]] = {}
        pieces = Shared(enumerate(source.pieces(reading)))
        left = [shares.limit if shares is not None else 0]

        def work() -> None:
            for number, piece in pieces:
                batches = parts.setdefault(number, [])
                for batch in piece.batches():
                    if crew.is_stopped:
                        return
                    batches.append(batch)
                    phase.add(len(batch))
                    left[0] -= batch.nbytes
                    if shares is not None and left[0] < 0:
                        raise FileError(
                            f"{self.why} needs the inputs whole, and {source.name} is larger than "
                            f"--memory-limit {self.options.memory_limit}"
                        )
                phase.add(0, piece.bytes)

        crew.run(phase, work, lambda: None, crew.threads)
        schema = pa.schema([source.schema.field(i) for i in positions])
        batches = [batch for number in sorted(parts) for batch in parts[number]]
        return pa.Table.from_batches([_named(batch, schema) for batch in batches], schema)

    def _write(self, result: Result, output: Output, context: Context, bar: Bar) -> None:
        columns = [PlainText(field.type) for field in result.schema]
        fields = OutputFields(columns, result.schema)
        with output.open(fields, context.info().threads, None, bar) as hand:
            for page in result.pages(_PAGE_ROWS):
                hand.put(page)


def _named(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _first_rows(result: Result, rows: int) -> pa.RecordBatch:
    if rows and result.num_rows:
        return next(result.pages(max_rows=min(rows, result.num_rows)))
    schema = result.schema
    return pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)
