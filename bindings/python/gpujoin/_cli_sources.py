"""What the command line reads: files, folders and globs of them, each side as one table."""

from __future__ import annotations

import contextlib
import glob
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable

import pyarrow as pa
import pyarrow.parquet

FORMATS = {".parquet": "parquet", ".feather": "arrow", ".arrow": "arrow", ".csv": "csv"}

_CSV_BLOCK_BYTES = 4 << 20
# A dictionary pays where its positions take no more than this of a row.
_MOST_CODE_BYTES = 3.0
_MOST_SHARE_OF_VALUES = 0.35
_BUFFER_BYTES = 256 << 10  # that a column is read by where memory is limited


class FileError(Exception):
    """A file cannot be read or written; the text names it."""


@contextlib.contextmanager
def naming(name: str) -> Iterator[None]:
    """Errors of a file as one line that names it."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{name}: {error.strerror or error}") from None
    except pa.ArrowException as error:
        raise FileError(f"{name}: {error}") from None


def format_of(name: str) -> str:
    """Which format a name says. Errors: ValueError for an ending that says none."""
    found = FORMATS.get(Path(name).suffix.lower())
    if found is None:
        raise ValueError(f"{name}: the name must end in one of {', '.join(FORMATS)}")
    return found


def refuse_urls(name: str) -> None:
    """Errors: ValueError."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", name):
        raise ValueError(f"{name} is a URL; files are local ones")


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
        self._of_thread = threading.local()
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
        if getattr(self._of_thread, "reading", None) is not reading:
            self._of_thread.file = pyarrow.parquet.ParquetFile(
                self.path,
                metadata=self.metadata,
                read_dictionary=[n for n in reading.dictionaries if n in self._leaves],
                pre_buffer=False,
                buffer_size=_BUFFER_BYTES if reading.is_limited else 0,
            )
            self._of_thread.reading = reading
        return self._of_thread.file

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
        with pyarrow.csv.open_csv(path) as reader:
            self.schema = reader.schema

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


_TABLES = {"parquet": ParquetTable, "arrow": ArrowTable, "csv": CsvTable}


class Source:
    """One side: the rows of one file or of many, as one table.

    name    as it was given; messages say it so
    schema  of all files; a column may be NULL in each of some files
    rows    of all files, None where a file does not say
    bytes   of all files
    Errors: ValueError for an ending that says nothing and for a URL, FileError.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        refuse_urls(name)
        self.files = []
        for path in _paths_of(name):
            with naming(path):
                Path(path).open("rb").close()  # for the plain message of the system
                self.files.append((path, _TABLES[format_of(path)](Path(path))))
        self.schema = _common_schema(self.files)
        for _, file in self.files:
            if isinstance(file, CsvTable):  # of which a part alone was looked at
                file.schema = self.schema
        counts = [file.rows for _, file in self.files]
        self.rows = None if None in counts else sum(counts)
        self.bytes = sum(Path(path).stat().st_size for path, _ in self.files)

    def names_of(self, positions: Sequence[int]) -> list[str]:
        """The names of columns. Errors: FileError where one is not the only one of its name."""
        counts = Counter(self.schema.names)
        names = [self.schema.names[i] for i in positions]
        for name in names:  # readers find columns by them, and would give the first one twice
            if counts[name] > 1:
                raise FileError(f"{self.name}: more than one column is named {name!r}")
        return names

    def bytes_of(self, columns: Sequence[str]) -> int:
        """About how many bytes these columns are."""
        return sum(file.bytes_of(columns) for _, file in self.files)

    def is_repetitive(self, name: str) -> bool:
        """Whether a column's values are few in each file."""
        return bool(self.files) and all(file.is_repetitive(name) for _, file in self.files)

    def integers_of(self, name: str) -> tuple[int, int] | None:
        """The least and the greatest value of a column of integers or decimals, of the latter
        without the point; None = not known."""
        ranges = [file.range_of(name) for _, file in self.files]
        if not ranges or None in ranges:
            return None
        kind = self.schema.field(name).type
        scale = kind.scale if pa.types.is_decimal(kind) else 0
        ends = [int(Decimal(end).scaleb(scale)) for found in ranges for end in found]
        return min(ends), max(ends)

    def pieces(self, reading: Reading) -> Iterator[Piece]:
        """All rows. One thread at a time may ask for the next piece, and any may read it."""
        for name, file in self.files:
            with naming(name):
                for piece in file.pieces(reading):
                    yield replace(piece, batches=self._arranged(name, piece, reading))

    def _arranged(
        self, name: str, piece: Piece, reading: Reading
    ) -> Callable[[], Iterator[pa.RecordBatch]]:
        fields = [self.schema.field(column) for column in reading.columns]

        def batches() -> Iterator[pa.RecordBatch]:
            with naming(name):
                for batch in piece.batches():
                    arrays = [_of_type(batch.column(f.name), f.type) for f in fields]
                    yield pa.RecordBatch.from_arrays(arrays, names=reading.columns)

        return batches


def _of_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column that is NULL in this file alone, as it is in the others."""
    if pa.types.is_null(array.type) and not pa.types.is_null(kind):
        return pa.nulls(len(array), kind)
    return array


def _paths_of(name: str) -> list[str]:
    path = Path(name)
    if path.is_dir():
        found = sorted(str(p) for p in path.rglob("*") if _is_table(p, path))
        if not found:
            raise FileError(f"{name}: the folder has no file that ends in one of {_endings()}")
        return found
    if not path.exists() and glob.has_magic(name):
        found = sorted(p for p in glob.glob(name, recursive=True) if not Path(p).is_dir())
        if not found:
            raise FileError(f"{name}: no file has such a name")
    else:
        found = [name]
    for each in found:
        format_of(each)
    return found


def _is_table(path: Path, folder: Path) -> bool:
    """Hidden files, and those whose names begin so by habit of other programs, are no tables."""
    parts = path.relative_to(folder).parts
    is_hidden = any(part.startswith((".", "_")) for part in parts)
    return path.suffix.lower() in FORMATS and not is_hidden and path.is_file()


def _endings() -> str:
    return ", ".join(FORMATS)


def _common_schema(files: Sequence[tuple[str, Any]]) -> pa.Schema:
    """Errors: FileError, which names the first file whose columns are others."""
    first_name, first = files[0]
    schema = first.schema.remove_metadata()
    fields = [field.remove_metadata() for field in schema]
    said_by = [first_name] * len(fields)  # which file a column has its type of
    for name, file in files[1:]:
        missing = [n for n in schema.names if n not in file.schema.names]
        if missing:
            raise FileError(f"{name}: there is no column {missing[0]!r}, which {first_name} has")
        more = [n for n in file.schema.names if n not in schema.names]
        if more:
            raise FileError(f"{name}: there is a column {more[0]!r}, which {first_name} has not")
        if len(file.schema) != len(schema):
            raise FileError(f"{name}: its columns have not the names of those of {first_name}")
        for i, field in enumerate(fields):
            of_file = file.schema.field(file.schema.names.index(field.name))
            kind = of_file.type
            if pa.types.is_null(field.type) and not pa.types.is_null(kind):
                said_by[i] = name
            elif pa.types.is_null(kind):
                kind = field.type
            elif kind != field.type:
                raise FileError(
                    f"{name}: column {field.name!r} is of type {kind}, "
                    f"and in {said_by[i]} of type {field.type}"
                )
            is_nullable = field.nullable or of_file.nullable
            fields[i] = pa.field(field.name, kind, is_nullable)
    return pa.schema(fields)
