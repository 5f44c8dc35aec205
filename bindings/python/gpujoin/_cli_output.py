"""What the command line writes: a file, or a folder of files that are written side by side."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import pyarrow as pa
import pyarrow.parquet

from ._cli_bar import Bar, Phase
from ._cli_moved import Plain
from ._cli_sources import Source, format_of, naming, refuse_urls

_GROUP_ROWS = 122_880  # of a row group, as DuckDB has it
_WAITING_BYTES = 4 << 20  # of batches that wait to be written


@dataclass(frozen=True)
class OutputFields:
    """The columns of an output.

    columns   how each was moved
    schema    as readers shall see it
    coded     names of those that Parquet files have as positions in dictionaries; None = let
              pyarrow try
    """

    columns: Sequence[Plain]
    schema: pa.Schema
    coded: Sequence[str] | None = None

    def values(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows in the types of the schema."""
        arrays = [c.values(array) for c, array in zip(self.columns, batch.columns)]
        return self._batch(arrays, self.schema, batch.num_rows)

    def written(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows in the types that a Parquet file is written from."""
        arrays = [c.written(array) for c, array in zip(self.columns, batch.columns)]
        return self._batch(arrays, self.written_schema, batch.num_rows)

    @property
    def written_schema(self) -> pa.Schema:
        return pa.schema([f.with_type(c.written_type) for f, c in zip(self.schema, self.columns)])

    @staticmethod
    def _batch(arrays: list[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
        if arrays:
            return pa.RecordBatch.from_arrays(arrays, schema=schema)
        return pa.RecordBatch.from_arrays([pa.nulls(rows)], names=["left out"]).select([])


class Output:
    """The file or the folder that -o names. A file is replaced when the new one is complete, and a
    folder is there when all its files are.

    Errors: as Source, and ValueError where it cannot be written, a folder has something in it, or
    the file is one of the inputs: however it is spelled, and through links.
    """

    def __init__(self, name: str, inputs: Sequence[Source]) -> None:
        self.name = name
        refuse_urls(name)
        self.path = path = Path(name)
        self.is_folder = name.endswith("/") or path.is_dir()
        self._format = "parquet" if self.is_folder else format_of(name)
        if not path.absolute().parent.is_dir():
            raise ValueError(f"{name}: cannot be written there")
        if self.is_folder and path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ValueError(f"{name}: is there already, and not an empty folder")
        for source in inputs:
            for file, _ in source.files:
                if path.exists() and path.samefile(file):
                    raise ValueError(f"{name} is the input {file}: write to another file")
        self._part = path.with_name(f"{path.name}.{os.getpid()}.part")

    def report(self) -> str:
        """What was written."""
        files = self.path.iterdir() if self.is_folder else [self.path]
        size = sum(file.stat().st_size for file in files)
        return f"written to {self.name} ({size / 1e6:.1f} MB)"

    @contextlib.contextmanager
    def open(
        self, fields: OutputFields, writers: int, limit: int | None, bar: Bar
    ) -> Iterator[Hand]:
        """Where batches are put, from any thread; complete when left without an exception.

        writers     files of a folder that are written at a time
        limit       bytes of batches that wait to be written, or are; None = no limit
        bar         shows how far the writers are when all batches have been put
        """
        writers = writers if self.is_folder else 1
        hand = Hand(_WAITING_BYTES if limit is None else limit // (2 * writers + 1))
        group_bytes = None if limit is None else hand.most_bytes
        threads = []
        try:
            with naming(self.name):
                if self.is_folder:
                    self._part.mkdir()
                for number in range(writers):
                    path = self._part / f"part-{number}.parquet" if self.is_folder else self._part
                    write = _Writing(path, self._format, fields, hand, group_bytes)
                    threads.append(threading.Thread(target=write.run, name="gpujoin writer"))
                    threads[-1].start()
                yield hand
                hand.end()
                phase = Phase(f"writing {self.name}", hand.rows_put, 0)
                for thread in threads:
                    while True:
                        phase.rows_done = hand.rows_written
                        phase.show(bar)
                        thread.join(bar.PAUSE or 0.01)
                        if not thread.is_alive():
                            break
                hand.check()
                if self.is_folder and self.path.is_dir():
                    self.path.rmdir()
                self._part.replace(self.path)
        finally:
            hand.stop()
            for thread in threads:
                thread.join()
            if self.is_folder:
                shutil.rmtree(self._part, ignore_errors=True)
            else:
                with contextlib.suppress(FileNotFoundError):
                    self._part.unlink()


class Hand:
    """Batches on their way from those who join to those who write."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._waiting: deque[tuple[pa.RecordBatch, int]] = deque()
        self._bytes = 0  # of those that wait
        self._changed = threading.Condition()
        self._is_ended = self._is_stopped = False
        self._error: BaseException | None = None
        self.rows_put = self.rows_written = 0

    def put(self, batch: pa.RecordBatch) -> None:
        """Waits until there is room. Errors: that of a writer, when it has failed."""
        size = batch.nbytes
        with self._changed:
            while self._bytes and self._bytes + size > self.most_bytes and not self._is_stopped:
                self._changed.wait(0.1)  # seconds: a signal must get through
            if self._error is None and not self._is_stopped:
                self._waiting.append((batch, size))
                self._bytes += size
                self.rows_put += batch.num_rows
                self._changed.notify_all()
        self.check()

    def take(self) -> pa.RecordBatch | None:
        """The next one; None = there is none."""
        with self._changed:
            while not self._waiting and not self._is_ended and not self._is_stopped:
                self._changed.wait()
            if self._is_stopped or not self._waiting:
                return None
            batch, size = self._waiting.popleft()
            self._bytes -= size
            self._changed.notify_all()
            return batch

    def wrote(self, rows: int) -> None:
        with self._changed:
            self.rows_written += rows

    def end(self) -> None:
        with self._changed:
            self._is_ended = True
            self._changed.notify_all()

    def stop(self, error: BaseException | None = None) -> None:
        with self._changed:
            self._error = self._error or error
            self._is_stopped = True
            self._waiting.clear()
            self._changed.notify_all()

    def check(self) -> None:
        """Errors: that of a writer."""
        if self._error is not None:
            raise self._error


class _Writing:
    """One file, written by a thread of its own."""

    def __init__(
        self, path: Path, format: str, fields: OutputFields, hand: Hand, group_bytes: int | None
    ) -> None:
        self._path, self._format, self._fields, self._hand = path, format, fields, hand
        self._group_bytes = group_bytes

    def run(self) -> None:
        try:
            {"parquet": self._parquet, "arrow": self._arrow, "csv": self._csv}[self._format]()
        except BaseException as error:  # raised again where batches are put
            self._hand.stop(error)

    def _parquet(self) -> None:
        fields = self._fields
        schema = fields.written_schema
        coded = True if fields.coded is None else list(fields.coded)
        with pyarrow.parquet.ParquetWriter(
            str(self._path),
            schema,
            use_dictionary=coded or False,
            store_decimal_as_integer=True,
            store_schema=False,
        ) as file:
            seen = base64.b64encode(fields.schema.serialize().to_pybytes()).decode()
            file.add_key_value_metadata({"ARROW:schema": seen})
            for group in self._groups():
                batches = [fields.written(batch) for batch in group]
                file.write_table(pa.Table.from_batches(batches), row_group_size=1 << 30)
                self._hand.wrote(sum(batch.num_rows for batch in batches))

    def _groups(self) -> Iterator[list[pa.RecordBatch]]:
        """Batches that are written together."""
        group: list[pa.RecordBatch] = []
        rows = size = 0
        while (batch := self._hand.take()) is not None:
            group.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
            is_over = self._group_bytes is not None and size >= self._group_bytes
            if rows >= _GROUP_ROWS or is_over:
                yield group
                group, rows, size = [], 0, 0
        if group:
            yield group

    def _arrow(self) -> None:
        import pyarrow.ipc

        with pa.ipc.new_file(str(self._path), self._fields.schema) as file:
            self._each(file.write_batch)

    def _csv(self) -> None:
        import pyarrow.csv

        schema = _csv_schema(self._fields.schema)
        with pa.csv.CSVWriter(str(self._path), schema) as file:
            self._each(lambda batch: file.write_batch(batch.cast(schema)))

    def _each(self, write: Callable[[pa.RecordBatch], Any]) -> None:
        while (batch := self._hand.take()) is not None:
            write(self._fields.values(batch))
            self._hand.wrote(batch.num_rows)


def _csv_schema(schema: pa.Schema) -> pa.Schema:
    """The schema as pyarrow can write it as text: without dictionaries and views."""
    fields = []
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if kind in (pa.string_view(), pa.binary_view()):
            kind = pa.large_string() if kind == pa.string_view() else pa.large_binary()
        fields.append(field.with_type(kind))
    return pa.schema(fields)
