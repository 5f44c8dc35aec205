"""A table in memory, as the library is given it: columns with offsets and with more around them
than they need, plain or as Arrow."""

from __future__ import annotations

import ctypes
import random
from ctypes import CFUNCTYPE, c_void_p

import numpy as np

from .arrow_nodes import Laid, Layouter, Node, nested_node
from .case import Column, Table
from .column_types import FIXED_BINARY
from .library import Answered, Handle, abi, call
from .library import Column as AbiColumn
from .picks import Picked
from .way import Encoding

_POISON = 0xEE
_NULLABLE = 2  # ARROW_FLAG_NULLABLE


class Encoded:
    """A relation of the library, and the memory that it describes.

    Used in a with block; `problem` says afterwards what the library did wrong with an import.
    laid     how each column was laid out, by its name
    may_nest whether a nested column may lie beside the table's
    """

    def __init__(
        self, context: c_void_p, table: Table, encoding: Encoding, may_nest: bool = True
    ) -> None:
        self._rng = random.Random(encoding.seed) if encoding.seed else None
        self._kept: list = []
        self._may_nest = may_nest
        self._batch: _Batch | None = None
        self.picked = Picked(table, encoding.picks) if encoding.picks else None
        if self.picked is not None:
            table = self.picked.table
        self.relation = Handle("relation")
        self.problem = ""
        self.laid: dict[str, Laid] = {}
        if encoding.form == "plain" and table.is_plain:
            self._create(context, table, encoding)
        else:
            self._import(context, table, encoding)
        if self.picked is not None:
            self.relation = self.picked.select(self.relation)

    def _lay_out(self, table: Table, encoding: Encoding, offset: int, back: int) -> None:
        """Each column in its own way, whichever others there are."""
        wraps = encoding.wraps and encoding.form != "plain"
        for column in table.columns:
            own = random.Random(f"{encoding.seed} {column.name}") if encoding.seed else None
            layouter = Layouter(table.rows, offset, back, own)
            valid = self._validity(column)
            self.laid[column.name] = layouter.lay_out(column, valid, wraps)

    def _create(self, context: c_void_p, table: Table, encoding: Encoding) -> None:
        self._lay_out(table, encoding, 0, self._draw(3))
        columns = (AbiColumn * max(1, len(table.columns)))()
        for column, abi_column in zip(table.columns, columns):
            node = self.laid[column.name].node
            abi_column.struct_size = ctypes.sizeof(AbiColumn)
            abi_column.type = column.type.number
            abi_column.memory = abi.MEMORY_HOST if self._draw(2) == 0 else 0
            abi_column.name = column.name.encode()
            if node.buffers:
                _describe(node, column, abi_column)
        call("relation_create", context, table.rows, columns, len(table.columns), self.relation.out)

    def _import(self, context: c_void_p, table: Table, encoding: Encoding) -> None:
        offset, back = self._draw(20), self._draw(3)
        self._lay_out(table, encoding, offset, back)
        nodes = []
        for column in table.columns:
            nodes.append(self.laid[column.name].node)
            nodes[-1].name = column.name
        if self._may_nest and self._draw(5) == 1:
            nodes.append(nested_node(offset + table.rows + back))
        root = Node("+s", table.rows, offset, 0, "", [None], nodes)
        self._batch = batch = _Batch(root)
        if encoding.form != "arrow_device":
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
        moved = array.array if encoding.form == "arrow_device" else array
        if moved.release or batch.schema.release:
            self.problem = "an import succeeded and its release members are not NULL"

    def _draw(self, most: int) -> int:
        return self._rng.randint(0, most) if self._rng else 0

    def _validity(self, column: Column) -> np.ndarray | None:
        """As the column has it; at times one that is not needed, of true bits."""
        if column.valid is None and self._draw(4) == 1:
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


def _describe(node: Node, column: Column, abi_column: AbiColumn) -> None:
    """The array's rows as those of a plain column, which has no offset."""
    first = node.offset
    validity, data = node.buffers[0], node.buffers[-1]
    if validity is not None:
        abi_column.validity = validity.ctypes.data
        abi_column.validity_bit_offset = first
    abi_column.data = data.ctypes.data
    if column.type.layout == "bits":
        abi_column.first_bit = first
    elif column.type.layout == "text":
        offsets = node.buffers[1]
        abi_column.offsets = offsets.ctypes.data + first * offsets.dtype.itemsize
    else:
        abi_column.data += first * column.type.width
    if column.type.number == FIXED_BINARY:
        abi_column.value_width = column.type.width
    abi_column.decimal_precision = column.type.digits
    abi_column.decimal_scale = column.type.scale


_batches: dict[int, _Batch] = {}


def _counting_release(struct: type, what: int):
    """A release callback: `private_data` is the number of a batch, 0 in its children."""

    def release(address: int) -> None:
        released = struct.from_address(address)
        released.release = None
        batch = _batches.get(released.private_data or 0)
        if batch is not None:
            batch.note(what)

    return CFUNCTYPE(None, c_void_p)(release)


_release_schema = _counting_release(abi.ArrowSchema, 0)
_release_array = _counting_release(abi.ArrowArray, 1)


def _address(function) -> int:
    return ctypes.cast(function, c_void_p).value


def _addresses(structs: list):
    return (c_void_p * max(1, len(structs)))(*map(ctypes.addressof, structs))


class _Batch:
    """Arrow's structs for a node and all below it."""

    _last = 0

    def __init__(self, root: Node) -> None:
        self.released = [0, 0]
        self._kept: list = []
        self._buffers: list[np.ndarray] = []
        _Batch._last += 1
        self._number = _Batch._last
        self.schema, self.array = self._structs(root, self._number)
        _batches[self._number] = self

    def note(self, what: int) -> None:
        self.released[what] += 1
        if what == 1:  # whoever still reads its memory now reads this
            for buffer in self._buffers:
                buffer.view(np.uint8)[...] = _POISON

    def forget(self) -> None:
        """No release is expected any more, and nothing is kept for one."""
        del _batches[self._number]

    def _structs(self, node: Node, number: int = 0) -> tuple:
        below = [self._structs(child) for child in node.children]
        words = node.format.encode(), node.name.encode()
        buffers = (c_void_p * max(1, len(node.buffers)))(
            *(None if b is None else b.ctypes.data for b in node.buffers)
        )
        schemas, arrays = ([pair[i] for pair in below] for i in range(2))
        children = [_addresses(schemas), _addresses(arrays)]
        dictionary = self._structs(node.dictionary) if node.dictionary else None
        self._kept += [below, words, buffers, children, dictionary]
        self._buffers += [b for b in node.buffers if b is not None]
        schema = abi.ArrowSchema(
            format=words[0],
            name=words[1],
            flags=0 if number else _NULLABLE,
            n_children=len(below),
            children=ctypes.addressof(children[0]),
            dictionary=ctypes.addressof(dictionary[0]) if dictionary else None,
            release=_address(_release_schema),
            private_data=number,
        )
        array = abi.ArrowArray(
            length=node.length,
            null_count=node.null_count,
            offset=node.offset,
            n_buffers=len(node.buffers),
            n_children=len(below),
            buffers=ctypes.addressof(buffers),
            children=ctypes.addressof(children[1]),
            dictionary=ctypes.addressof(dictionary[1]) if dictionary else None,
            release=_address(_release_array),
            private_data=number,
        )
        return schema, array
