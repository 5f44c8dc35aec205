"""A join of the command line that reads, joins and writes at the same time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from ._build import Build, Operation
from ._cli_bar import Phase
from ._cli_columns import Chosen
from ._cli_crew import Crew, Shared
from ._cli_key_range import KeyRange, reads_all
from ._cli_moved import Plain, is_coded
from ._cli_output import Hand, OutputFields
from ._cli_side import Side, key_types
from ._cli_sources import Source
from ._cli_tables import Piece
from ._columns import MARK
from ._context import Context
from ._inputs import is_carried

# That a processor joins at once: what comes of more takes memory, and of fewer time.
_PIECE_ROWS = 1 << 16
_MOST_ROWS_AT_ONCE = 1 << 17


def can_stream(chosen: Chosen, sources: dict[str, Source]) -> bool:
    """Whether a join of these columns can be one of batches."""
    columns = [c for c in chosen.columns if c.side != MARK]
    has_pairs = bool(chosen.keys["left"]) or not chosen.kind.has_keys
    return has_pairs and bool(chosen.columns) and all(
        is_carried(sources[c.side].schema.field(c.column).type) for c in columns
    )


@dataclass(frozen=True)
class Streamed:
    """What a join did."""

    build_side: str
    rows: dict[str, int]  # that were read of each side
    output_rows: int
    build_bytes: int
    spilled_bytes: int
    skipped_rows: int  # of row groups that cannot match


class Head:
    """The first rows that come."""

    def __init__(self, rows: int) -> None:
        self._missing = rows
        self._batches: list[pa.RecordBatch] = []
        self._lock = threading.Lock()

    def add(self, batch: pa.RecordBatch) -> None:
        if self._missing:
            with self._lock:
                kept = batch.slice(0, min(self._missing, batch.num_rows))
                self._missing -= kept.num_rows
                self._batches.append(kept)

    def batch(self, fields: OutputFields) -> pa.RecordBatch:
        made = [fields.values(batch) for batch in self._batches]
        rows = pa.Table.from_batches(made, fields.schema).combine_chunks().to_batches()
        return rows[0] if rows else pa.RecordBatch.from_pylist([], fields.schema)


class StreamedJoin:
    """A join of two sources.

    build_side  None = the smaller one
    budget      bytes of what readers hold; None = no limit
    """

    def __init__(
        self,
        context: Context,
        chosen: Chosen,
        sources: dict[str, Source],
        build_side: str | None,
        crew: Crew,
        budget: int | None,
    ) -> None:
        self._context, self._chosen, self._crew = context, chosen, crew
        types = key_types(chosen, sources)
        share = None if budget is None else budget // (2 * crew.threads)
        self._sides = {
            name: Side(name, source, chosen, types[name], share)
            for name, source in sources.items()
        }
        self._build_side = build_side or self._smaller()
        places = {name: side.places for name, side in self._sides.items()}
        self._keys = {n: [places[n][key] for key in keys] for n, keys in chosen.keys.items()}
        self._columns = [
            replace(c, column=places[c.side][c.column]) if c.side in places else c
            for c in chosen.columns
        ]
        condition = chosen.condition
        self._condition = None if condition is None else condition.moved(places)
        self.fields = self._fields()
        is_cpu = context.info().device == "cpu"
        self._piece_rows = _PIECE_ROWS if is_cpu else sys.maxsize  # a GPU's are what it likes
        self._rows_out = 0
        self._skipped_rows = 0
        self._lock = threading.Lock()

    def run(self, hand: Hand | None, head: Head) -> Streamed:
        """Puts the rows into a hand, and their first ones into a head.

        Errors: FileError, those of Build, Operation and Probe, and what the hand raises.
        """
        building = self._sides[self._build_side]
        probing = self._sides["left" if self._build_side == "right" else "right"]
        keys = [building.schema.names[key] for key in self._keys[building.name]]
        flags = [bool(flag) for flag in self._chosen.flags]
        with Build(
            building.schema, keys or None, null_equal=flags or False, context=self._context
        ) as build:
            read = building.phase("reading")
            ranges = KeyRange(building.schema, self._keys[building.name])
            self._fill(build, building, read, ranges)
            info = build.info
            operation = build.operation_of(
                *(probing.schema, building.name, self._chosen.kind),
                *(self._keys, self._chosen.flags, self._condition, self._columns),
            )
            with operation:
                probed = probing.phase("joining")
                pieces = self._that_may_match(probing, ranges, probed)
                self._crew.run(
                    probed,
                    lambda: self._probe(operation, probing, pieces, probed, hand, head),
                    operation.cancel,
                    self._crew.threads,
                )
                rest = Phase(f"joining what was kept of {probing.source.name}", None, 0)
                self._crew.run(
                    rest, lambda: self._rest(operation, rest, hand, head), operation.cancel, 1
                )
                spilled = operation.progress.spilled_bytes
        return Streamed(
            self._build_side,
            {building.name: read.rows_done, probing.name: probed.rows_done},
            self._rows_out,
            info.bytes,
            max(info.spilled_bytes, spilled),
            self._skipped_rows,
        )

    def _smaller(self) -> str:
        left, right = self._sides["left"].source.rows, self._sides["right"].source.rows
        if left is None or right is None:
            left, right = self._sides["left"].bytes, self._sides["right"].bytes
        return "left" if left < right else "right"

    def _fields(self) -> OutputFields:
        kind = self._chosen.kind
        columns, fields, coded = [], [], []
        for column in self._columns:
            if column.side == MARK:
                columns.append(Plain(pa.bool_()))
                fields.append(pa.field(column.name, pa.bool_()))
                continue
            side = self._sides[column.side]
            field = side.fields[column.column]
            columns.append(side.columns[column.column])
            is_nullable = field.nullable or column.side in kind.without_row
            fields.append(pa.field(column.name, columns[-1].type, is_nullable))
            is_unknown = side.source.rows is None and is_coded(field.type)
            if is_unknown or side.source.is_repetitive(field.name):
                coded.append(column.name)
        return OutputFields(columns, pa.schema(fields), coded)

    def _fill(self, build: Build, side: Side, phase: Phase, ranges: KeyRange) -> None:
        pieces = Shared(side.source.pieces(side.reading))

        def work() -> None:
            for piece in pieces:
                for batch in piece.batches():
                    if self._crew.is_stopped:
                        return
                    moved = side.moved(batch)
                    ranges.add(moved)
                    build.append(moved)
                    phase.add(len(batch))
                phase.add(0, piece.bytes)

        self._crew.run(phase, work, build.cancel, self._crew.threads)
        self._crew.run(phase, build.finish, build.cancel, 1)
        self._context.trim()  # the rows were gathered anew

    def _that_may_match(self, side: Side, ranges: KeyRange, phase: Phase) -> Shared:
        """The pieces of the probe side, without those whose keys lie outside the build side's."""
        pieces = side.source.pieces(side.reading)
        keys = self._keys[side.name]
        if reads_all(self._chosen.kind.name, self._build_side) or len(keys) != 1:
            return Shared(pieces)
        name = side.schema.names[keys[0]]
        is_same = side.schema.field(keys[0]).type == ranges.type

        def chosen() -> Iterator[Piece]:
            for piece in pieces:
                found = piece.range_of(name) if is_same else None
                if found is None or ranges.may_meet(*found):
                    yield piece
                else:
                    phase.add(piece.rows, piece.bytes)
                    self._skipped_rows += piece.rows

        return Shared(chosen())

    def _probe(
        self,
        operation: Operation,
        side: Side,
        pieces: Shared,
        phase: Phase,
        hand: Hand | None,
        head: Head,
    ) -> None:
        with operation.probe() as probe:

            def take() -> None:
                while (result := probe.next()) is not None:
                    self._put(result, hand, head)

            rows = 0
            for piece in pieces:
                for batch in piece.batches():
                    if self._crew.is_stopped:
                        return
                    moved = side.moved(batch)
                    while not probe.append(moved):
                        take()
                    phase.add(len(batch))
                    rows += len(batch)
                    if rows >= self._piece_rows:
                        probe.flush()
                        take()
                        rows = 0
                phase.add(0, piece.bytes)
            probe.finish()
            take()

    def _rest(self, operation: Operation, phase: Phase, hand: Hand | None, head: Head) -> None:
        operation.close_input()
        while (result := operation.next()) is not None:
            self._put(result, hand, head)
            phase.add(len(result))

    def _put(self, result: pa.RecordBatch, hand: Hand | None, head: Head) -> None:
        with self._lock:
            self._rows_out += len(result)
        head.add(result)
        if hand is not None:
            # Writers make other types of what they take: of partitions that is much at once.
            for first in range(0, len(result), _MOST_ROWS_AT_ONCE):
                hand.put(result.slice(first, _MOST_ROWS_AT_ONCE))
