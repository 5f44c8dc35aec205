"""Files as the command line reads them: each in pieces, of the columns that are asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import pyarrow as pa
import pyarrow.parquet

_CSV_BLOCK_BYTES = 4 << 20
_CSV_FIRST_BYTES = 16 << 20  # of a file, that say the types of its columns
# A dictionary pays where its positions take no more than this of a row.
_MOST_CODE_BYTES = 3.0
_MOST_SHARE_OF_VALUES = 0.35
_BUFFER_BYTES = 256 << 10  # that a column is read by where memory is limited

_opened = threading.local()  # the one Parquet file that a thread has open: folders have many


@dataclass(frozen=True)
class Reading:
    """How the columns of a source are read.

    columns       their names, in the order in which they come
    dictionaries  those of them that come as dictionaries
    batch_rows    the most rows of a batch
    is_limited    whether memory is: files are then read by small buffers
    """

    columns: Sequence[str]
    dictionaries: frozenset[str] = frozenset()
    batch_rows: int = 1 << 16
    is_limited: bool = False


@dataclass(frozen=True)
class Piece:
    """Rows that one thread reads.

    batches  reads them
    rows     how many; 0 = not known
    bytes    of the file, for the progress
    range_of the least and the greatest value of a column, where the file says so: no row lies
             outside, and none is NULL
    """

    batches: Callable[[], Iterator[pa.RecordBatch]]
    bytes: int
    rows: int = 0
    range_of: Callable[[str], tuple[Any, Any] | None] = lambda _: None


class ParquetTable:
    """A Parquet file. Row groups are its pieces."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with pyarrow.parquet.ParquetFile(path) as file:
            self.schema = file.schema_arrow
            self.metadata = file.metadata
        self.rows: int | None = self.metadata.num_rows
        self._leaves: dict[str, int] = {}
        for leaf in range(self.metadata.num_columns):
            self._leaves.setdefault(self.metadata.schema.column(leaf).path, leaf)

    def bytes_of(self, columns: Sequence[str]) -> int:
        """Of these columns, as they are decoded: what the metadata says."""
        first = set(columns)
        size = 0
        for group in range(self.metadata.num_row_groups):
            described = self.metadata.row_group(group)
            for path, leaf in self._leaves.items():
                if path.partition(".")[0] in first:
                    size += described.column(leaf).total_uncompressed_size
        return size

    def is_repetitive(self, name: str) -> bool:
        """Whether a column's values are few, and lie in the file as positions in a dictionary."""
        leaf = self._leaves.get(name)
        if leaf is None or not self.metadata.num_row_groups:
            return False
        column = self.metadata.row_group(0).column(leaf)
        if not column.num_values or not {"RLE_DICTIONARY", "PLAIN_DICTIONARY"} & set(
            column.encodings
        ):
            return False
        share = column.total_uncompressed_size / column.num_values
        width = {"INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8}.get(column.physical_type)
        return share < (_MOST_CODE_BYTES if width is None else _MOST_SHARE_OF_VALUES * width)

    def range_of(self, name: str) -> tuple[Any, Any] | None:
        """The least and the greatest value of a column; None = not known."""
        leaf = self._leaves.get(name)
        if leaf is None:
            return None
        ranges = []
        for group in range(self.metadata.num_row_groups):
            found = self.metadata.row_group(group).column(leaf).statistics
            if found is None or not found.has_min_max:
                return None
            ranges.append((found.min, found.max))
        return (min(r[0] for r in ranges), max(r[1] for r in ranges)) if ranges else None

    def pieces(self, reading: Reading) -> Iterator[Piece]:
        size = self.path.stat().st_size
        for group in range(self.metadata.num_row_groups):
            described = self.metadata.row_group(group)
            yield Piece(
                lambda group=group: self._batches(group, reading),
                size * described.num_rows // max(self.metadata.num_rows, 1),
                described.num_rows,
                lambda name, described=described: self._range_of(described, name),
            )

    def _batches(self, group: int, reading: Reading) -> Iterator[pa.RecordBatch]:
        file = self._file_of_thread(reading)
        yield from file.iter_batches(
            batch_size=reading.batch_rows,
            row_groups=[group],
            columns=list(reading.columns),
            use_threads=False,
        )

    def _file_of_thread(self, reading: Reading) -> pyarrow.parquet.ParquetFile:
        if getattr(_opened, "of", None) != (self, reading):
            if hasattr(_opened, "file"):
                _opened.file.close()
            _opened.file = pyarrow.parquet.ParquetFile(
                self.path,
                metadata=self.metadata,
                read_dictionary=[n for n in reading.dictionaries if n in self._leaves],
                pre_buffer=False,
                buffer_size=_BUFFER_BYTES if reading.is_limited else 0,
            )
            _opened.of = (self, reading)
        return _opened.file

    def _range_of(self, described: Any, name: str) -> tuple[Any, Any] | None:
        leaf = self._leaves.get(name)
        found = None if leaf is None else described.column(leaf).statistics
        if found is None or not found.has_min_max or found.null_count != 0:
            return None
        return found.min, found.max


class ArrowTable:
    """An Arrow file. Record batches are its pieces."""

    rows: int | None = None

    def __init__(self, path: Path) -> None:
        import pyarrow.ipc

        self.path = path
        with pyarrow.ipc.open_file(str(path)) as file:
            self.schema = file.schema
            self._batch_count = file.num_record_batches

    def bytes_of(self, columns: Sequence[str]) -> int:
        return self.path.stat().st_size * len(columns) // max(len(self.schema), 1)

    def is_repetitive(self, name: str) -> bool:
        return pa.types.is_dictionary(self.schema.field(name).type)

    def range_of(self, _: str) -> None:
        return None

    def pieces(self, reading: Reading) -> Iterator[Piece]:
        size = self.path.stat().st_size // max(self._batch_count, 1)
        for number in range(self._batch_count):
            yield Piece(lambda number=number: self._batches(number, reading), size)

    def _batches(self, number: int, reading: Reading) -> Iterator[pa.RecordBatch]:
        fields = sorted(self.schema.names.index(name) for name in reading.columns)
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        with pa.memory_map(str(self.path)) as mapped:
            with pa.ipc.open_file(mapped, options=options) as file:
                batch = file.get_batch(number)
        for first in range(0, batch.num_rows, reading.batch_rows):
            yield batch.slice(first, reading.batch_rows)


class CsvTable:
    """A CSV file. What is read of it at once is a piece."""

    rows: int | None = None

    def __init__(self, path: Path) -> None:
        import pyarrow.csv

        self.path = path
        first = pyarrow.csv.ReadOptions(block_size=_CSV_FIRST_BYTES)
        with pyarrow.csv.open_csv(path, first) as reader:
            fields = list(reader.schema)
        if path.stat().st_size > _CSV_FIRST_BYTES:  # there may be values of any type further on
            is_null = pa.types.is_null
            fields = [f.with_type(pa.string()) if is_null(f.type) else f for f in fields]
        self.schema = pa.schema(fields)

    def bytes_of(self, columns: Sequence[str]) -> int:
        return self.path.stat().st_size * len(columns) // max(len(self.schema), 1)

    def is_repetitive(self, _: str) -> bool:
        return False

    def range_of(self, _: str) -> None:
        return None

    def pieces(self, reading: Reading) -> Iterator[Piece]:
        types = {name: self.schema.field(name).type for name in reading.columns}
        convert = pa.csv.ConvertOptions(include_columns=list(reading.columns), column_types=types)
        block = min(_CSV_BLOCK_BYTES, 64 * reading.batch_rows)
        options = pa.csv.ReadOptions(block_size=block, use_threads=not reading.is_limited)
        with self.path.open("rb") as file:
            done = 0
            with pa.csv.open_csv(file, options, convert_options=convert) as reader:
                for batch in reader:
                    place = file.tell()
                    yield Piece(lambda batch=batch: iter([batch]), place - done)
                    done = place
