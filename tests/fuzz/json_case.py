"""Cases as JSON: all types, what lies under NULLs, the flags of keys, how the join is executed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np

from .asof import Asof
from .case import Case, Column, Table
from .column_types import ColumnType, type_of
from .condition import Node
from .kinds import KINDS
from .pools import from_values
from .batches import Batches
from .bounds import Bounds
from .way import Encoding, Picks, Reading, Way


@dataclass
class WrittenJoin:
    """A join of a file.

    rows   what it expects, as compare.expected_rows has an answer; None = not told
    way    in which it failed; None = not told
    error  whether it expects an error
    """

    case: Case
    rows: list[tuple] | None = None
    way: Way | None = None
    error: bool = False


def write_json(case: Case, way: Way, comments: Iterable[str]) -> str:
    written = {
        "comments": list(comments),
        "kind": case.kind.name,
        "tables": {side: _table(table) for side, table in case.tables.items()},
        "is_one_table": case.tables["left"] is case.tables["right"],
        "keys": case.keys,
        "flags": case.flags,
        "outputs": case.outputs,
        "residual": None if case.residual is None else _node(case.residual),
        "asof": None if case.asof is None else asdict(case.asof),
        "columns": case.columns,
        "pairs": case.pairs,
        "way": asdict(way),
    }
    return json.dumps(written, indent=1, ensure_ascii=False) + "\n"


def read_json(text: str) -> WrittenJoin:
    read = json.loads(text)
    tables = {side: _read_table(table) for side, table in read["tables"].items()}
    if read["is_one_table"]:
        tables["right"] = tables["left"]
    case = Case(
        KINDS[read["kind"]],
        tables,
        read["keys"],
        read["outputs"],
        read["columns"],
        read["pairs"],
        read["flags"],
        None if read["residual"] is None else _read_node(read["residual"]),
        None if read["asof"] is None else Asof(**read["asof"]),
    )
    way = read["way"]
    for fields in way["encodings"].values():
        fields["picks"] = Picks(**fields["picks"]) if fields.get("picks") else None
    way["encodings"] = {side: Encoding(**fields) for side, fields in way["encodings"].items()}
    way["reading"] = Reading(**way["reading"])
    way["bounds"] = Bounds(**way.get("bounds", {}))
    way["batches"] = Batches(**way["batches"]) if way.get("batches") else None
    return WrittenJoin(case, way=Way(**way))


def _node(node: Node) -> dict:
    return {
        "operator": node.operator,
        "arguments": [_node(argument) for argument in node.arguments],
        "side": node.side,
        "column": node.column,
        "values": None if node.values is None else _column(node.values),
    }


def _read_node(node: dict) -> Node:
    values = None if node["values"] is None else _read_column(node["values"])
    arguments = tuple(map(_read_node, node["arguments"]))
    return Node(node["operator"], arguments, node["side"], node["column"], values)


def _table(table: Table) -> dict:
    return {"rows": table.rows, "columns": [_column(column) for column in table.columns]}


def _column(column: Column) -> dict:
    valid = None if column.valid is None else "".join("01"[ok] for ok in column.valid.tolist())
    values = [_written(value, column.type) for value in column.values.tolist()]
    return {"name": column.name, "format": column.type.format, "valid": valid, "values": values}


def _read_table(table: dict) -> Table:
    return Table([_read_column(column) for column in table["columns"]], table["rows"])


def _read_column(column: dict) -> Column:
    column_type = type_of(column["format"])
    valid = column["valid"]
    return Column(
        column["name"],
        column_type,
        from_values(column_type, [_read(v, column_type) for v in column["values"]]),
        None if valid is None else np.array([digit == "1" for digit in valid], bool),
    )


def _written(value: object, column_type: ColumnType) -> object:
    """Bytes as hexadecimal digits, but text as text; decimals as integers; NaN as JSON has none."""
    if column_type.digits and isinstance(value, bytes):
        return int.from_bytes(value, "little", signed=True)
    if isinstance(value, bytes):
        return value.decode() if column_type.family == "text" else value.hex()
    if isinstance(value, float):
        return value.hex()
    return value


def _read(value: object, column_type: ColumnType) -> object:
    if column_type.dtype.kind == "f":
        return float.fromhex(value)
    if column_type.digits and column_type.dtype.kind == "V":
        return value.to_bytes(column_type.width, "little", signed=True)
    if isinstance(value, str):
        return value.encode() if column_type.family == "text" else bytes.fromhex(value)
    return value
