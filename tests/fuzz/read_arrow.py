"""A page of a result, exported as Arrow."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, c_void_p
from dataclasses import dataclass

import numpy as np

from .arrow_nodes import INDEX_FORMATS, Laid
from .case import Case, Column
from .column_types import ColumnType, type_of
from .library import Handle, abi, call
from .output import (
    NO_ROW,
    Output,
    check,
    check_null_count,
    no_values,
    of_dictionary,
    words_between,
    words_of_views,
)
from .way import Reading

_BUFFERS = {"values": 2, "bits": 2, "text": 3, "nulls": 0}


def export_page(
    result: Handle, case: Case, reading: Reading, laid: dict[str, dict], page, _most_rows: int
) -> Output:
    schema, device_array = abi.ArrowSchema(), abi.ArrowDeviceArray()
    array = device_array.array
    given_page = ctypes.byref(page) if page is not None else None
    out = ctypes.byref(array if reading.form == "export" else device_array)
    first_row = 0 if page is None else page.first_row
    call("result_" + reading.form, result.pointer, given_page, ctypes.byref(schema), out)
    if device_array.device_type not in (0, abi.ARROW_DEVICE_CPU):
        # Nothing here reads a GPU's memory: the same page is exported to the host's.
        _release(schema, array)
        if page is not None:
            page.first_row = first_row
        call("result_export", result.pointer, given_page, ctypes.byref(schema), ctypes.byref(array))
    try:
        check(page is None or array.length == page.rows, "the array is not as long as the page")
        if page is None and reading.late:
            result.close()  # what was exported outlives it
        return _imported(case, reading, laid, schema, array)
    finally:
        _release(schema, array)


def _release(*structs) -> None:
    for struct in structs:
        CFUNCTYPE(None, c_void_p)(struct.release)(ctypes.addressof(struct))


@dataclass
class _Child:
    """A child of what was exported; start: its first row that is one of the page's."""

    schema: object
    array: object
    start: int
    rows: int

    @property
    def format(self) -> str:
        return self.schema.format.decode()

    @property
    def first(self) -> int:
        return self.start + self.array.offset

    def buffer(self, number: int) -> int:
        return ctypes.cast(self.array.buffers, ctypes.POINTER(c_void_p))[number]

    def bytes_of(self, number: int, first: int, nbytes: int) -> bytes:
        return ctypes.string_at(self.buffer(number) + first, nbytes) if nbytes else b""

    def bits(self, number: int) -> np.ndarray:
        if self.rows == 0:
            return np.zeros(0, bool)
        last = self.first + self.rows
        raw = np.frombuffer(self.bytes_of(number, 0, (last + 7) // 8), np.uint8)
        return np.unpackbits(raw, count=last, bitorder="little")[self.first :] == 1

    def array_of(self, number: int, dtype: np.dtype, rows: int) -> np.ndarray:
        width = dtype.itemsize
        return np.frombuffer(self.bytes_of(number, self.first * width, rows * width), dtype)


def _imported(case: Case, reading: Reading, laid: dict[str, dict], schema, array) -> Output:
    columns = case.output_columns()
    sides = [side for side in case.kind.sides if case.pairs]
    names = [f"{side}_row" for side in sides] + [column.name for _, column in columns]
    names += ["mark"] * case.kind.has_mark
    check(schema.format == b"+s", f"the schema's format is {schema.format}")
    check(
        schema.n_children == array.n_children == len(names),
        f"{schema.n_children} and {array.n_children} children instead of {len(names)}",
    )
    children = []
    for i, name in enumerate(names):
        child = _Child(
            _struct(abi.ArrowSchema, schema.children, i),
            _struct(abi.ArrowArray, array.children, i),
            array.offset,
            array.length,
        )
        check(child.schema.name == name.encode(), f"child {i} is {child.schema.name}, not {name}")
        children.append(child)
    indices = {}
    for side, child in zip(sides, children):
        form = "l" if reading.numbers else "I"
        check(child.format == form, f"{side}_row has the format {child.format}")
        values, valid = _plain_values(child, type_of(form))
        indices[side] = values.astype(np.int64)
        if valid is not None:
            indices[side][~valid] = NO_ROW
    values = [
        _column_values(child, column, laid[side][column.name])
        for child, (side, column) in zip(children[len(sides) :], columns)
    ]
    mark = None
    if case.kind.has_mark:
        check(children[-1].format == "b", f"the mark has the format {children[-1].format}")
        bits, valid = _plain_values(children[-1], type_of("b"))
        mark = bits.astype(np.int64)
        if valid is not None:
            mark[~valid] = NO_ROW
    return Output(array.length, indices, values, mark)


def _struct(struct: type, addresses: int, i: int):
    return struct.from_address(ctypes.cast(addresses, ctypes.POINTER(c_void_p))[i])


def _column_values(
    child: _Child, column: Column, lies: Laid
) -> tuple[np.ndarray, np.ndarray | None]:
    is_dictionary = lies.wrap == "dictionary"
    form = lies.indices if is_dictionary else column.type.format
    check(child.format == form, f"a column of {form} is exported as {child.format}")
    has_one = bool(child.schema.dictionary), bool(child.array.dictionary)
    check(has_one == (is_dictionary,) * 2, f"{form}: whether there is a dictionary: {has_one}")
    if not is_dictionary:
        return _plain_values(child, column.type)
    indices, valid = _values_and_valid(child, np.dtype(INDEX_FORMATS[form]))
    array = abi.ArrowArray.from_address(child.array.dictionary)
    entries = _Child(abi.ArrowSchema.from_address(child.schema.dictionary), array, 0, array.length)
    form = entries.format
    check(form == column.type.format, f"a dictionary of {column.type.format} is one of {form}")
    return of_dictionary(indices, valid, _plain_values(entries, column.type))


def _plain_values(child: _Child, column_type: ColumnType) -> tuple[np.ndarray, np.ndarray | None]:
    """Copies of the values and of where they are valid."""
    layout, rows = column_type.layout, child.rows
    buffers = child.array.n_buffers
    enough = buffers >= 3 if layout == "views" else buffers == _BUFFERS[layout]
    check(enough, f"a column of {column_type.format} has {buffers} buffers")
    if layout == "nulls":
        said = child.array.null_count
        check(said == child.array.length, f"null_count is {said} of a column that is all NULL")
        return no_values(column_type, rows)
    if layout == "values":
        return _values_and_valid(child, column_type.dtype)
    valid = _valid(child)
    if layout == "bits":
        return child.bits(1), valid
    if layout == "text":
        dtype = np.dtype(np.int32 if column_type.format in "uz" else np.int64)
        offsets = child.array_of(1, dtype, rows + 1)
        first, last = int(offsets[0]), int(offsets[-1])
        check(0 <= first <= last, f"the offsets of text are {first} to {last}")
        return words_between(offsets - offsets[0], child.bytes_of(2, first, last - first)), valid
    sizes = ctypes.cast(child.buffer(buffers - 1), ctypes.POINTER(ctypes.c_int64))
    named = [child.bytes_of(2 + i, 0, sizes[i]) for i in range(buffers - 3)]
    views = child.bytes_of(1, 16 * child.first, 16 * rows)
    return words_of_views(views, valid, named), valid


def _valid(child: _Child) -> np.ndarray | None:
    valid = child.bits(0) if child.buffer(0) else None
    is_whole = child.start == 0 and child.array.length == child.rows
    if is_whole and child.array.null_count != -1:  # -1: not counted
        check_null_count(valid, child.array.null_count)
    return valid


def _values_and_valid(child: _Child, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray | None]:
    return child.array_of(1, dtype, child.rows), _valid(child)
