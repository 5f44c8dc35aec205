"""Files of the command line: reading some columns, writing page by page; a progress bar; tables as
text."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Callable, TextIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from ._result import Statistics

FORMATS = {".parquet": "parquet", ".feather": "arrow", ".arrow": "arrow", ".csv": "csv"}

Report = Callable[[int, int], Any]


def split_names(text: str) -> list[str]:
    """Names of columns with commas between them."""
    return [name.strip() for name in text.split(",")]


class FileError(Exception):
    """A file cannot be read or written; the text names it."""


def _format(name: str) -> str:
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", name):
        raise ValueError(f"{name} is a URL; files are local ones")
    found = FORMATS.get(Path(name).suffix.lower())
    if found is None:
        raise ValueError(f"{name}: the name must end in one of {', '.join(FORMATS)}")
    return found


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    """Errors of a file as one line that names it."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{name}: {error.strerror or error}") from None
    except pa.ArrowException as error:
        raise FileError(f"{name}: {error}") from None


class TableFile:
    """A table in a file: its schema is read at once, columns when asked for.

    name  the path as it was given; messages say it so
    Errors: ValueError for an ending that says nothing and for a URL, FileError.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = path = Path(name)
        self._format = _format(name)
        with _naming(name):
            if path.is_dir():
                raise IsADirectoryError(0, "is a directory")
            path.open("rb").close()  # for the plain message of the system
            if self._format == "parquet":
                self.schema = pyarrow.parquet.read_schema(path)
            elif self._format == "arrow":
                with pyarrow.ipc.open_file(path) as file:
                    self.schema = file.schema
            else:
                with pyarrow.csv.open_csv(path) as reader:
                    self.schema = reader.schema

    def read(self, columns: Sequence[int], report: Report) -> pa.Table:
        """The columns at some positions, ascending; report is called with (steps done, in all)."""
        names = [self.schema.names[i] for i in columns]
        counts = Counter(self.schema.names)
        for name in names:  # readers find columns by them, and would give the first one twice
            if counts[name] > 1:
                raise FileError(f"{self.name}: more than one column is named {name!r}")
        with _naming(self.name):
            if self._format == "parquet":
                return self._read_parquet(names, report)
            report(0, 1)
            if self._format == "arrow":
                return pyarrow.feather.read_table(self.path, columns=names)
            convert = pyarrow.csv.ConvertOptions(include_columns=names)
            return pyarrow.csv.read_csv(self.path, convert_options=convert)

    def _read_parquet(self, names: list[str], report: Report) -> pa.Table:
        with pyarrow.parquet.ParquetFile(self.path) as file:
            groups = file.num_row_groups
            parts = []
            for group in range(groups):
                report(group, groups)
                parts.append(file.read_row_group(group, columns=names))
            table = pa.concat_tables(parts) if parts else file.read(columns=names)
            return table.select(names)


class Writer:
    """Writes a file by batches, under another name until it is complete. Errors: as TableFile, and
    ValueError where the file is one of the inputs: however it is spelled, and through links."""

    def __init__(self, name: str, inputs: Sequence[TableFile]) -> None:
        self.name = name
        self.path = path = Path(name)
        self._format = _format(name)
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise ValueError(f"{name}: cannot be written there")
        for file in inputs:
            if path.exists() and path.samefile(file.path):
                raise ValueError(f"{name} is the input {file.name}: write to another file")

    @contextlib.contextmanager
    def open(self, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        make = {
            "parquet": pyarrow.parquet.ParquetWriter,
            "arrow": pyarrow.ipc.new_file,
            "csv": pyarrow.csv.CSVWriter,
        }[self._format]
        try:
            with _naming(self.name):
                written = schema if self._format != "csv" else _csv_schema(schema)
                with make(str(part), written) as file:
                    if written is schema:
                        yield file.write_batch
                    else:
                        yield lambda batch: file.write_batch(batch.cast(written))
                part.replace(self.path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                part.unlink()


def _csv_schema(schema: pa.Schema) -> pa.Schema:
    """The schema as pyarrow can write it as text: without dictionaries and views."""
    fields = []
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if kind in (pa.string_view(), pa.binary_view()):
            kind = pa.large_string() if kind == pa.string_view() else pa.large_binary()
        fields.append(field.with_type(kind))
    return pa.schema(fields)


class Bar:
    """A progress bar on a terminal, for work of more than half a second; silent anywhere else."""

    WIDTH = 30
    WAIT = 0.5  # seconds until it appears
    PAUSE = 0.1  # seconds between two drawings

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_on = stream.isatty()
        self._next = time.monotonic() + self.WAIT
        self._drawn = 0

    def show(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._is_on or now < self._next:
            return
        self._next = now + self.PAUSE
        filled = self.WIDTH * done // total if total > 0 else 0
        line = f"[{'#' * filled}{' ' * (self.WIDTH - filled)}] {what}"
        width = os.get_terminal_size(self._stream.fileno()).columns
        line = line[: width - 1] if width else line
        self._stream.write("\r" + line.ljust(self._drawn))
        self._stream.flush()
        self._drawn = len(line)

    def stage(self, stage: str, done: int, total: int) -> None:
        """As Context's progress callback."""
        self.show(f"joining: {stage}", done, total)

    def clear(self) -> None:
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
            self._drawn = 0


def head(batch: pa.RecordBatch, width: int = 24) -> str:
    """A batch as a text table; cells are cut to `width` characters, numbers set right."""
    columns = []
    for field, values in zip(batch.schema, batch.columns):
        cells = [field.name, *("NULL" if v is None else str(v) for v in values.to_pylist())]
        cells = [cell if len(cell) <= width else cell[: width - 3] + "..." for cell in cells]
        is_number = pa.types.is_integer(field.type) or pa.types.is_decimal(field.type)
        is_number = is_number or pa.types.is_floating(field.type)
        size = max(map(len, cells))
        columns.append([cell.rjust(size) if is_number else cell.ljust(size) for cell in cells])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns))


def phases(statistics: Statistics, seconds: dict[str, float]) -> str:
    """The stages as a table, and what was joined, where and how long it took."""
    rows = [("stage", "technique", "ms", "MB predicted")]
    for stage in statistics.stages:
        bytes_moved = f"{stage.predicted_bytes / 1e6:,.1f}"
        rows.append(
            (stage.stage, stage.technique or "none", f"{stage.milliseconds:,.2f}", bytes_moved)
        )
    total = f"{statistics.predicted_bytes / 1e6:,.1f}"
    rows.append(("join", "", f"{statistics.milliseconds:,.2f}", total))
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}"
        for row in rows
    ]
    spent = ", ".join(f"{name} {took:.2f}" for name, took in seconds.items())
    lines += [
        "",
        f"executor {statistics.device}: {statistics.reason}",
        f"plan {statistics.plan}",
        f"{statistics.left_rows:,} x {statistics.right_rows:,} rows -> "
        f"{statistics.output_rows:,} rows",
        f"peak memory {statistics.peak_memory_bytes / 1e6:,.1f} MB",
        f"total {sum(seconds.values()):.2f} s ({spent})",
    ]
    return "\n".join(lines)
