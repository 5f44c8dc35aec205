"""What the command line reads: files, folders and globs of them, each side as one table."""

from __future__ import annotations

import contextlib
import glob
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable

import pyarrow as pa

from ._cli_tables import ArrowTable, CsvTable, ParquetTable, Piece, Reading

FORMATS = {".parquet": "parquet", ".feather": "arrow", ".arrow": "arrow", ".csv": "csv"}


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
        files = self._with_rows()
        return bool(files) and all(file.is_repetitive(name) for file in files)

    def _with_rows(self) -> list[Any]:
        return [file for _, file in self.files if file.rows != 0]

    def integers_of(self, name: str) -> tuple[int, int] | None:
        """The least and the greatest value of a column of integers or decimals, of the latter
        without the point; None = not known."""
        ranges = [file.range_of(name) for file in self._with_rows()]
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
