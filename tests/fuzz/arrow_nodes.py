"""Columns as Arrow lays them out: with an offset, with garbage around the rows that count, plain or
as dictionaries and runs."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field

import numpy as np

from .case import Column
from .column_types import ColumnType
from .pools import own_values

_GARBAGE = 0xA5
INDEX_FORMATS = {"c": "i1", "s": "i2", "i": "i4", "l": "i8", "C": "u1", "S": "u2", "I": "u4"}
INDEX_FORMATS["L"] = "u8"
_END_FORMATS = {"s": "i2", "i": "i4", "l": "i8"}


@dataclass
class Node:
    """An array and its schema, not yet as the structs of the C data interface.

    buffers  of numpy; None = there is none
    lengths  bytes of the buffers that views name
    """

    format: str
    length: int
    offset: int = 0
    null_count: int = -1
    name: str = ""
    buffers: list = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    dictionary: Node | None = None


@dataclass
class Laid:
    """A column, and how it was laid out.

    node        as Arrow; its buffers are what a plain column has, too
    wrap        "", "runs", or "dictionary": also of runs of positions in one
    indices     of a dictionary: the format of its positions
    values      of a dictionary: its entries, with their validity
    buffers     that views name
    """

    node: Node
    wrap: str = ""
    values: tuple[np.ndarray, np.ndarray | None] | None = None
    buffers: list[bytes] = field(default_factory=list)
    indices: str = ""


class Layouter:
    """Lays out columns of `rows` rows that begin at `offset` of their arrays' rows.

    rng  None = no offsets, no dictionaries, nothing that is not needed
    """

    def __init__(self, rows: int, offset: int, back: int, rng: random.Random | None) -> None:
        self._rows, self._offset, self._back = rows, offset, back
        self._rng = rng

    def draw(self, most: int) -> int:
        return self._rng.randint(0, most) if self._rng else 0

    def lay_out(self, column: Column, valid: np.ndarray | None, wraps: bool) -> Laid:
        """wraps  whether it may become a dictionary or runs"""
        choice = self._rng.random() if self._rng and wraps else 1
        if column.type.layout == "nulls" or choice > 0.4:
            return self._plain(column.type, column.values, valid)
        if choice > 0.15:
            return self._dictionary(column.type, column.values, valid)
        return self._runs(column.type, column.values, valid)

    def _plain(self, column_type: ColumnType, values: np.ndarray, valid: np.ndarray | None) -> Laid:
        offset = self.draw(70)
        front = self._offset + offset
        node = Node(column_type.format, self._offset + self._rows + self._back, offset)
        if column_type.layout == "nulls":
            node.null_count = node.length
            return Laid(node)
        node.buffers = [self._bits(valid, front)]
        if valid is None or self.draw(1):  # else -1: not counted
            node.null_count = 0 if valid is None else int(len(valid) - valid.sum())
        laid = Laid(node)
        if column_type.layout == "bits":
            node.buffers.append(self._bits(values, front))
        elif column_type.layout == "text":
            node.buffers += self._text(column_type, values, front)
        elif column_type.layout == "views":
            node.buffers += self._views(values, valid, front, laid)
        else:
            shift = self.draw(7) if column_type.is_fixed_bytes and column_type.width != 16 else 0
            node.buffers.append(padded(values, front, self._back, shift))
        return laid

    def _bits(self, valid: np.ndarray | None, front: int) -> np.ndarray | None:
        if valid is None:
            return None
        bits = np.ones(front + len(valid) + 9, bool)
        bits[front : front + len(valid)] = valid
        return np.packbits(bits, bitorder="little")

    def _text(self, column_type: ColumnType, values: np.ndarray, front: int) -> list[np.ndarray]:
        """Every row around those that count has a byte."""
        words = values.tolist()
        before, after = self.draw(5) + front, self._back
        data = b"\xa5" * before + b"".join(words) + b"\xa5" * (after + 1)
        lengths = [1] * front + list(map(len, words)) + [1] * after
        dtype = "i4" if column_type.format in "uz" else "i8"
        offsets = np.zeros(len(lengths) + 1, dtype)
        np.cumsum(lengths, out=offsets[1:])
        offsets += before - front
        return [offsets, np.frombuffer(data, np.uint8).copy()]

    def _views(
        self, values: np.ndarray, valid: np.ndarray | None, front: int, laid: Laid
    ) -> list[np.ndarray]:
        words = values.tolist()
        buffers = [bytearray(b"\xa5" * self.draw(9)) for _ in range(1 + self.draw(2))]
        views = {}
        for word in dict.fromkeys(words):
            if len(word) <= 12:
                views[word] = struct.pack("<i12s", len(word), word)
                continue
            number = self.draw(len(buffers) - 1)
            place = struct.pack("<ii", number, len(buffers[number]))
            views[word] = struct.pack("<i4s", len(word), word[:4]) + place
            buffers[number] += word
        if not any(buffers) and self.draw(1):
            buffers = []
        laid.buffers = [bytes(buffer) for buffer in buffers]
        made = np.frombuffer(b"".join(views[word] for word in words), "V16")
        if valid is not None and self.draw(2) == 0:  # under a NULL lies anything
            made = made.copy()
            made.view(np.uint8).reshape(-1, 16)[~valid] = _GARBAGE
        sizes = np.array([len(buffer) for buffer in buffers] or [0], np.int64)
        kept = [np.frombuffer(b or b"\0", np.uint8).copy() for b in laid.buffers]
        return [padded(made, front, self._back, 0), *kept, sizes]

    def _dictionary(
        self, column_type: ColumnType, values: np.ndarray, valid: np.ndarray | None
    ) -> Laid:
        entries, indices = _distinct(values)
        count = len(entries)
        extra = own_values(self._rng, column_type, 1 + self.draw(3))
        again = [self.draw(count - 1) for _ in range(self.draw(3))] if count else []
        entries = np.concatenate([entries, entries[again], extra])
        for copy, original in enumerate(again, count):
            indices[(indices == original) & (self._coins(len(indices)))] = copy
        order = np.array(self._rng.sample(range(len(entries)), len(entries)))
        entries, indices = entries[order], np.argsort(order)[indices]
        entries_valid = None
        if valid is not None and self.draw(1) or self.draw(9) == 9:
            null = len(entries)  # an entry that is NULL; some NULLs name it
            entries = np.concatenate([entries, extra[:1]])
            entries_valid = np.arange(len(entries)) != null
            if valid is not None:
                named = ~valid & self._coins(len(valid))
                indices[named] = null
                valid = valid | named
        formats = [
            form for form, dtype in INDEX_FORMATS.items() if len(entries) - 1 <= np.iinfo(dtype).max
        ]
        form = self._rng.choice(formats)
        indices = indices.astype(INDEX_FORMATS[form])
        if valid is not None and self.draw(1):  # under a NULL lies anything
            indices[~valid] = np.iinfo(indices.dtype).max
        offset = self.draw(70)
        front = self._offset + offset
        node = Node(form, self._offset + self._rows + self._back, offset)
        node.buffers = [self._bits(valid, front), padded(indices, front, self._back, 0)]
        beside = Layouter(len(entries), 0, 0, self._rng)  # all of it is part of the dictionary
        node.dictionary = beside._plain(column_type, entries, entries_valid).node
        return Laid(node, "dictionary", (entries, entries_valid), indices=form)

    def _runs(self, column_type: ColumnType, values: np.ndarray, valid: np.ndarray | None) -> Laid:
        """A run may be followed by one of the same value."""
        offset = self.draw(70)
        front = self._offset + offset
        starts = self._coins(len(values)) & self._coins(len(values))
        starts[:1] = True
        _, codes = _distinct(values)
        codes = codes if valid is None else codes * 2 + valid
        starts[1:] |= codes[1:] != codes[:-1]
        first = np.flatnonzero(starts)
        ends = front + np.append(first[1:], len(values))[: len(first)]
        if len(ends):
            ends[-1] += self._back
        total = front + len(values) + self._back
        if not len(ends):
            ends, first = np.array([max(1, total)]), np.array([-1])
            run_values, run_valid = own_values(self._rng, column_type, 1), None
        else:
            run_values, run_valid = values[first], None if valid is None else valid[first]
        form = self._rng.choice([f for f, d in _END_FORMATS.items() if total <= np.iinfo(d).max])
        length = len(ends)
        beside = Layouter(length, 0, self.draw(2), self._rng)
        end_offset = self.draw(5)
        padded_ends = padded(ends.astype(_END_FORMATS[form]), end_offset, 0, 0)
        end_node = Node(form, length, end_offset, 0, "run_ends", [None, padded_ends])
        lay_out = beside._dictionary if self.draw(6) == 6 else beside._plain
        inner = lay_out(column_type, run_values, run_valid)
        inner.node.name = "values"
        node = Node("+r", total - offset, offset, 0, children=[end_node, inner.node])
        return Laid(node, inner.wrap or "runs", inner.values, inner.buffers, inner.indices)

    def _coins(self, count: int) -> np.ndarray:
        bits = np.frombuffer(self._rng.randbytes((count + 7) // 8), np.uint8)
        return np.unpackbits(bits, count=count) == 1


def _distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values that differ by their bytes, and for each value which it is."""
    keys = values.tolist() if values.dtype == object else _raw(values)
    known: dict = {}
    codes = np.array([known.setdefault(key, len(known)) for key in keys], np.int64)
    first = np.zeros(len(known), np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return values[first], codes


def _raw(values: np.ndarray) -> list:
    if values.dtype.kind == "f":  # NaN is not equal to itself
        values = values.view(f"u{values.dtype.itemsize}")
    return values.tolist()


def padded(values: np.ndarray, front: int, back: int, shift: int) -> np.ndarray:
    """The values with garbage around them, `shift` bytes off an address that is aligned to their
    width, of more than 8 bytes to 8."""
    width = values.dtype.itemsize
    size = (front + len(values) + back) * width
    raw = np.full(size + 24, _GARBAGE, np.uint8)
    start = -raw.ctypes.data % (width if width in (1, 2, 4, 8) else 8) + shift
    cut = raw[start : start + size].view(values.dtype)
    cut[front : front + len(values)] = values
    return cut


def nested_node(length: int) -> Node:
    """A list column: one that no join can name."""
    items = Node("i", 3, 0, 0, "item", [None, np.arange(3, dtype=np.int32)])
    offsets = np.minimum(np.arange(length + 1), 3).astype(np.int32)
    return Node("+l", length, 0, 0, "list", [None, offsets], [items])
