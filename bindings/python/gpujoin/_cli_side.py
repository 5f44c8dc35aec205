"""One side of a join of the command line: what is read of it, and how that is moved."""

from __future__ import annotations

import pyarrow as pa

from ._cli_bar import Phase
from ._cli_columns import Chosen
from ._cli_moved import Codes, Integers, PlainText, is_narrowed, moved_column, narrowest
from ._cli_sources import Source, naming
from ._cli_tables import Reading

_BATCH_ROWS = 1 << 16
_LEAST_BATCH_ROWS = 1 << 10


class Side:
    """One side of the join: what is read of it, and how that is moved."""

    def __init__(
        self,
        name: str,
        source: Source,
        chosen: Chosen,
        key_types: dict[int, pa.DataType],
        budget: int | None,
    ) -> None:
        self.name = name
        self.source = source
        # A cross join needs its rows all the same.
        positions = sorted(chosen.read(name) or {0})
        self.places = {column: place for place, column in enumerate(positions)}
        names = source.names_of(positions)
        self.fields = [source.schema.field(i) for i in positions]
        compared = chosen.compared(name)
        self.columns = []
        for position, field in zip(positions, self.fields):
            if position in key_types:
                self.columns.append(Integers(field.type, key_types[position]))
            elif position in compared:
                self.columns.append(PlainText(field.type))
            else:
                range = source.integers_of(field.name) if is_narrowed(field.type) else None
                is_repetitive = source.is_repetitive(field.name)
                self.columns.append(moved_column(field.type, is_repetitive, range))
        self.schema = pa.schema(
            [f.with_type(c.moved_type) for f, c in zip(self.fields, self.columns)]
        )
        self.bytes = source.bytes_of(names)
        coded = [n for n, c in zip(names, self.columns) if isinstance(c, Codes)]
        rows = _BATCH_ROWS
        if budget is not None:
            width = self.bytes // source.rows + 1 if source.rows else 64
            rows = max(min(rows, budget // width), _LEAST_BATCH_ROWS)
        self.reading = Reading(
            names,
            frozenset(n for n in coded if source.is_repetitive(n)),
            rows,
            budget is not None,
        )

    def moved(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch as the join takes it. Errors: FileError."""
        with naming(self.source.name):
            arrays = [c.moved(array) for c, array in zip(self.columns, batch.columns)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def phase(self, what: str) -> Phase:
        return Phase(f"{what} {self.source.name}", self.source.rows, self.source.bytes)


def key_types(
    chosen: Chosen, sources: dict[str, Source]
) -> dict[str, dict[int, pa.DataType]]:
    """Of each side, the keys that are moved as narrower integers: as those of the other side."""
    types: dict[str, dict[int, pa.DataType]] = {side: {} for side in sources}
    pairs = list(zip(chosen.keys["left"], chosen.keys["right"]))
    for pair in pairs:
        ranges, widths = [], []
        for (side, source), key in zip(sources.items(), pair):
            field = source.schema.field(key)
            is_elsewhere = [each[side == "right"] for each in pairs].count(key) > 1
            is_told = chosen.condition is not None and key in chosen.condition.columns(side)
            if is_elsewhere or is_told or not pa.types.is_signed_integer(field.type):
                break
            found = source.integers_of(field.name)
            if found is None:
                break
            ranges.append(found)
            widths.append(field.type.bit_width)
        if len(ranges) < 2:
            continue
        narrow = narrowest(min(r[0] for r in ranges), max(r[1] for r in ranges))
        narrow = pa.int32() if narrow.bit_width < 32 else narrow  # the narrowest that is compared
        if narrow.bit_width < max(widths):
            for side, key in zip(sources, pair):
                types[side][key] = narrow
    return types
