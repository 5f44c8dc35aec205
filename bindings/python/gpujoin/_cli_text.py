"""What the command line prints: tables as text, and what a join did."""

from __future__ import annotations

import pyarrow as pa

from ._cli_stream import Streamed
from ._context import ContextInfo
from ._result import Statistics


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
    lines += [
        "",
        f"executor {statistics.device}: {statistics.reason}",
        f"plan {statistics.plan}",
        f"{statistics.left_rows:,} x {statistics.right_rows:,} rows -> "
        f"{statistics.output_rows:,} rows",
        f"peak memory {statistics.peak_memory_bytes / 1e6:,.1f} MB",
        _total(seconds),
    ]
    return "\n".join(lines)


def summary(streamed: Streamed, kind: str, info: ContextInfo, seconds: dict[str, float]) -> str:
    """What a join that streamed did, and how long it took."""
    where = "in memory"
    if streamed.spilled_bytes:
        where = f"{streamed.spilled_bytes / 1e6:,.1f} MB of both sides in files meanwhile"
    lines = [
        f"executor {info.device}: {info.reason}",
        f"join {kind}, build={streamed.build_side}: {streamed.build_bytes / 1e6:,.1f} MB, {where}",
        f"{streamed.rows['left']:,} x {streamed.rows['right']:,} rows -> "
        f"{streamed.output_rows:,} rows",
    ]
    if streamed.skipped_rows:
        lines.append(f"{streamed.skipped_rows:,} of them not read: row groups without a match")
    lines += [f"peak memory {info.host_peak / 1e6:,.1f} MB", _total(seconds)]
    return "\n".join(lines)


def _total(seconds: dict[str, float]) -> str:
    spent = ", ".join(f"{name} {took:.2f}" for name, took in seconds.items())
    return f"total {sum(seconds.values()):.2f} s ({spent})"
