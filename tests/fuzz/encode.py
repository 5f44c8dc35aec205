"""A table in memory, as the library is given it: columns with offsets and with more around them
than they need, plain or as Arrow."""

from __future__ import annotations

import ctypes
import random
from ctypes import CFUNCTYPE, c_void_p

import numpy as np

from .case import Column, Table
from .library import Answered, Handle, abi, call
from .library import Column as AbiColumn
from .way import Encoding

_GARBAGE = 0xA5
_NULLABLE = 2  # ARROW_FLAG_NULLABLE


class _Bits:
    """Validity as bits from bit `offset` of `data` on."""

    def __init__(self, valid: np.ndarray, offset: int) -> None:
        bits = np.ones(offset + len(valid) + 9, bool)
        bits[offset : offset + len(valid)] = valid
        self.data = np.packbits(bits, bitorder="little")


def _padded(values: np.ndarray, front: int, back: int) -> np.ndarray:
    """The values with garbage around them, aligned to their width; of 16 bytes to 8."""
    width = values.dtype.itemsize
    raw = np.full((front + len(values) + back) * width + 16, _GARBAGE, np.uint8)
    start = -raw.ctypes.data % min(width, 8)
    cut = raw[start : start + (front + len(values) + back) * width].view(values.dtype)
    cut[front : front + len(values)] = values
    return cut


class Encoded:
    """A relation of the library, and the memory that it describes.

    Used in a with block; `problem` says afterwards what the library did wrong with an import.
    """

    def __init__(self, context: c_void_p, table: Table, encoding: Encoding) -> None:
        self._rng = random.Random(encoding.seed) if encoding.seed else None
        self._kept: list = []
        self._batch: _Batch | None = None
        self.relation = Handle("relation")
        self.problem = ""
        if encoding.form == "plain":
            self._create(context, table)
        else:
            self._import(context, table, encoding.form)

    def _create(self, context: c_void_p, table: Table) -> None:
        columns = (AbiColumn * max(1, len(table.columns)))()
        for column, abi_column in zip(table.columns, columns):
            front, bit_offset = self._draw(5), self._draw(70)
            values = _padded(column.values, front, self._draw(3))
            self._kept.append(values)
            abi_column.struct_size = ctypes.sizeof(AbiColumn)
            abi_column.type = column.type.number
            abi_column.data = values.ctypes.data + front * column.type.width
            abi_column.memory = abi.MEMORY_HOST if self._draw(2) == 0 else 0
            abi_column.name = column.name.encode()
            valid = self._validity(column)
            if valid is not None:
                bits = _Bits(valid, bit_offset)
                self._kept.append(bits.data)
                abi_column.validity = bits.data.ctypes.data
                abi_column.validity_bit_offset = bit_offset
        call("relation_create", context, table.rows, columns, len(table.columns), self.relation.out)

    def _import(self, context: c_void_p, table: Table, form: str) -> None:
        self._batch = batch = _Batch(table.rows, self._draw(20), self._draw(3))
        for column in table.columns:
            batch.add(column, self._validity(column), self._draw(70), self._rng)
        if self._draw(5) == 1:
            batch.add_text(self._draw(9))
        batch.finish()
        if form == "arrow":
            function, array = "relation_import", batch.array
        else:
            function = "relation_import_device"
            array = abi.ArrowDeviceArray(
                array=batch.array, device_id=-1, device_type=abi.ARROW_DEVICE_CPU
            )
        addresses = ctypes.addressof(batch.schema), ctypes.addressof(array)
        try:
            call(function, context, *addresses, self.relation.out)
        except Answered:
            batch.forget()
            raise
        moved = array if form == "arrow" else array.array
        if moved.release or batch.schema.release:
            self.problem = "an import succeeded and its release members are not NULL"

    def _draw(self, most: int) -> int:
        return self._rng.randint(0, most) if self._rng else 0

    def _validity(self, column: Column) -> np.ndarray | None:
        """As the column has it; at times one that is not needed, of true bits."""
        if column.valid is None and self._draw(2) == 1:
            return np.ones(len(column.values), bool)
        return column.valid

    def __enter__(self) -> Encoded:
        return self

    def __exit__(self, *_) -> None:
        self.relation.close()
        if self._batch is not None:
            schema, array = self._batch.released
            self._batch.forget()
            if (schema, array) != (1, 1):
                self.problem = f"released the schema {schema} times, and the array {array} times"


_batches: dict[int, _Batch] = {}


def _counting_release(struct: type, what: int):
    """A release callback: `private_data` is the number of a batch, 0 in its children."""

    def release(address: int) -> None:
        released = struct.from_address(address)
        released.release = None
        batch = _batches.get(released.private_data or 0)
        if batch is not None:
            batch.released[what] += 1

    return CFUNCTYPE(None, c_void_p)(release)


_release_schema = _counting_release(abi.ArrowSchema, 0)
_release_array = _counting_release(abi.ArrowArray, 1)


def _address(function) -> int:
    return ctypes.cast(function, c_void_p).value


class _Batch:
    """An Arrow struct array of columns, at an offset, with a row or more after its end."""

    _last = 0

    def __init__(self, rows: int, offset: int, back: int) -> None:
        self.rows, self.offset, self.back = rows, offset, back
        self.released = [0, 0]
        self._schemas: list = []
        self._arrays: list = []
        self._kept: list = []

    def forget(self) -> None:
        """No release is expected any more, and nothing is kept for one."""
        del _batches[self._number]

    def add(
        self,
        column: Column,
        valid: np.ndarray | None,
        offset: int,
        rng: random.Random | None,
    ) -> None:
        """The offset is the child's own, beside that of the struct."""
        front = self.offset + offset
        values = _padded(column.values, front, self.back)
        validity = 0
        if valid is not None:
            bits = _Bits(valid, front)
            self._kept.append(bits.data)
            validity = bits.data.ctypes.data
        formats = column.type.formats
        chosen = rng.choice(formats) if rng else formats[0]
        self._child(chosen, column.name, offset, validity, [values], values.ctypes.data)
        if valid is None or (rng and rng.random() < 0.5):  # else -1: not counted
            self._arrays[-1].null_count = 0 if valid is None else int(len(valid) - valid.sum())

    def add_text(self, offset: int) -> None:
        """A column that no join can name."""
        rows = self.offset + offset + self.rows + self.back
        offsets = np.arange(rows + 1, dtype=np.int32)
        letters = np.full(rows + 1, ord("x"), np.uint8)
        addresses = offsets.ctypes.data, letters.ctypes.data
        self._child("u", "text", offset, 0, [offsets, letters], *addresses)

    def _child(
        self, form: str, name: str, offset: int, validity: int, kept: list, *data: int
    ) -> None:
        words = form.encode(), name.encode()
        buffers = (c_void_p * (1 + len(data)))(validity or None, *data)
        self._kept += [kept, words, buffers]
        self._schemas.append(
            abi.ArrowSchema(
                format=words[0],
                name=words[1],
                flags=_NULLABLE,
                release=_address(_release_schema),
            )
        )
        self._arrays.append(
            abi.ArrowArray(
                length=self.offset + self.rows + self.back,
                null_count=-1,
                offset=offset,
                n_buffers=1 + len(data),
                buffers=ctypes.addressof(buffers),
                release=_address(_release_array),
            )
        )

    def finish(self) -> None:
        count = len(self._schemas)
        lists = [
            (c_void_p * max(1, count))(*map(ctypes.addressof, children))
            for children in (self._schemas, self._arrays)
        ]
        no_validity = (c_void_p * 1)(None)
        _Batch._last += 1
        self._number = number = _Batch._last
        self._kept += [*lists, no_validity]
        self.schema = abi.ArrowSchema(
            format=b"+s",
            n_children=count,
            children=ctypes.addressof(lists[0]),
            release=_address(_release_schema),
            private_data=number,
        )
        self.array = abi.ArrowArray(
            length=self.rows,
            null_count=0,
            offset=self.offset,
            n_buffers=1,
            n_children=count,
            buffers=ctypes.addressof(no_validity),
            children=ctypes.addressof(lists[1]),
            release=_address(_release_array),
            private_data=number,
        )
        _batches[number] = self
