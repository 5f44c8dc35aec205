"""The command line: python -m gpujoin join | info."""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from . import __version__, _abi, library_version
from ._arguments import INT32, whole
from ._cli_files import Bar, FileError, TableFile, Writer, head
from ._columns import OutputColumn, all_columns, select_columns
from ._context import Context, parse_bytes
from ._plan import Plan, plan
from ._result import Result, Statistics
from .errors import GpujoinError, InvalidArgument

PAGE_ROWS = 1 << 20

JOIN_NOTES = """\
files are .parquet, .feather, .arrow or .csv; only the columns needed are read.
exit status: 0 done, 1 failed, 2 wrong arguments (an unknown column too), 130 interrupted,
143 terminated, 129 hung up.
"""


class UsageError(Exception):
    """What was asked for cannot be: exit status 2."""


class Stopped(BaseException):
    """A signal asks the program to end: exit status 128 + its number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def _ending_by_exception() -> Iterator[None]:
    """Signals that would end the program at once raise Stopped, so that unfinished files go."""
    numbers = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) == signal.SIG_DFL
        and threading.current_thread() is threading.main_thread()
    ]

    def stop(number: int, _: Any) -> None:
        for other in numbers:  # a second one must not interrupt the clearing away
            signal.signal(other, signal.SIG_IGN)
        raise Stopped(number)

    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit status; errors are one line on stderr."""
    options = _parser().parse_args(arguments)
    try:
        with _ending_by_exception():
            options.run(options)
            sys.stdout.flush()
        return 0
    except Stopped as stop:
        return _fail(signal.strsignal(stop.number) or "stopped", 128 + stop.number)
    except UsageError as error:
        return _fail(str(error), 2)
    except (GpujoinError, FileError) as error:
        return _fail(str(error), 1)
    except MemoryError:
        return _fail("out of memory", 1)
    except pa.ArrowException as error:
        return _fail(str(error), 1)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:  # head, or a pager that was left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _fail(str(error), 1)


def _fail(message: str, status: int) -> int:
    print("gpujoin: " + " ".join(message.split()), file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gpujoin", description="Joins tables on an NVIDIA GPU, or on the CPU."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    info = commands.add_parser("info", help="print the device, why it was taken, and the version")
    info.set_defaults(run=_info)
    _add_context_options(info)

    join = commands.add_parser(
        "join",
        help="inner-join two files",
        description="Inner-joins two files on one key column or several.",
        epilog=JOIN_NOTES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    join.set_defaults(run=_join)
    join.add_argument("left", metavar="LEFT", help="a file")
    join.add_argument("right", metavar="RIGHT", help="a file")
    join.add_argument("--left-on", metavar="A,B,...", required=True, help="key columns of LEFT")
    join.add_argument(
        "--right-on", metavar="A,B,...", help="key columns of RIGHT; default: --left-on"
    )
    join.add_argument(
        "--select",
        metavar="A,B,...",
        help="output columns; a column of RIGHT whose name LEFT has too is NAME_right; "
        "default: all, but the keys of RIGHT",
    )
    join.add_argument("-o", "--output", metavar="FILE", help="write the output to a file")
    join.add_argument("--rows", type=int, default=10, metavar="N", help="rows to print (10)")
    join.add_argument(
        "--explain",
        action="store_true",
        help="print the plan and the cost of its candidates; stop there without -o or --execute",
    )
    join.add_argument("--execute", action="store_true", help="with --explain: join all the same")
    join.add_argument("--algorithm", metavar="NAME", help=", ".join(_abi.ALGORITHMS))
    join.add_argument("--build-side", choices=["left", "right"], help="default: the smaller")
    _add_context_options(join)
    return parser


def _add_context_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", choices=["auto", "cuda", "cpu"], default="auto", help="default: auto"
    )
    parser.add_argument(
        "--threads", type=int, metavar="N", help="of the CPU executor; default: all"
    )
    parser.add_argument("--memory-limit", metavar="SIZE", help="for example 8GiB; default: none")


def _open_context(options: argparse.Namespace, **callbacks: Any) -> Context:
    try:
        if options.memory_limit is not None:
            parse_bytes("--memory-limit", options.memory_limit)
        if options.threads is not None:
            whole("--threads", options.threads, 1, INT32)
    except InvalidArgument as error:
        raise UsageError(str(error)) from None
    return Context(options.device, options.memory_limit, options.threads, **callbacks)


def _info(options: argparse.Namespace) -> None:
    with _open_context(options) as context:
        info = context.info()
        lines = [
            ("device", f"{info.device}: {info.device_name}"),
            ("reason", info.reason),
            ("threads", info.threads),
            ("memory limit", f"{info.memory_limit} bytes" if info.memory_limit else "none"),
            ("library", library_version()),
            ("package", __version__),
        ]
    for name, value in lines:
        print(f"{name:14}{value}")


class _Timer:
    """Seconds by what they were spent on, in the order of the first use."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def add(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now


def _join(options: argparse.Namespace) -> None:
    timer = _Timer()
    bar = Bar(sys.stderr)
    try:
        _run_join(options, timer, bar)
    finally:
        bar.clear()


def _run_join(options: argparse.Namespace, timer: _Timer, bar: Bar) -> None:
    if options.rows < 0:
        raise UsageError("--rows must not be negative")
    if options.algorithm and options.algorithm.lower().replace("-", "_") not in _abi.ALGORITHMS:
        raise UsageError(f"--algorithm {options.algorithm} is none of {', '.join(_abi.ALGORITHMS)}")
    left, right = _open_file(options.left), _open_file(options.right)
    writer = _open_writer(options.output, [left, right]) if options.output is not None else None
    keys, columns = _choose_columns(left.schema, right.schema, options)
    context = _open_context(options, progress=bar.stage)
    timer.add("start")

    tables = [
        _read(left, [*keys["left"], *(c for c in columns if c.side == "left")], bar),
        _read(right, [*keys["right"], *(c for c in columns if c.side == "right")], bar),
    ]
    timer.add("read")

    # Every column now has its name in the output, which only one column has.
    planned = plan(
        tables[0],
        tables[1],
        [key.name for key in keys["left"]],
        [key.name for key in keys["right"]],
        select=[column.name for column in columns],
        algorithm=options.algorithm,
        build_side=options.build_side,
        context=context,
    )
    del tables
    timer.add("plan")
    if options.explain:
        bar.clear()
        print(planned.explain().rstrip())
        if not options.execute and writer is None:
            return
        print()
    _execute(planned, options.rows, writer, timer, bar)


def _read(file: TableFile, columns: Sequence[OutputColumn], bar: Bar) -> pa.Table:
    """Columns of a file under their names in the output."""
    names = {column.column: column.name for column in columns}
    positions = sorted(names)
    report = functools.partial(bar.show, f"reading {file.name}")
    return file.read(positions, report).rename_columns([names[i] for i in positions])


def _execute(planned: Plan, rows: int, writer: Writer | None, timer: _Timer, bar: Bar) -> None:
    with planned:
        result = planned.execute()
    timer.add("join")
    first = _first_rows(result, rows)
    timer.add("fetch")
    if writer is not None:
        _write(result, writer, bar)
        timer.add("write")
    bar.clear()
    if first.num_rows:
        print(head(first) + "\n")
    print(_phases(result.statistics, timer))
    if writer is not None:
        print(f"written to {writer.name} ({writer.path.stat().st_size / 1e6:.1f} MB)")


def _open_file(path: str) -> TableFile:
    try:
        return TableFile(path)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _open_writer(path: str, inputs: Sequence[TableFile]) -> Writer:
    try:
        return Writer(path, inputs)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _choose_columns(
    left: pa.Schema, right: pa.Schema, options: argparse.Namespace
) -> tuple[dict[str, list[OutputColumn]], list[OutputColumn]]:
    """The keys of each side, and the output columns."""
    keys: dict[str, list[OutputColumn]] = {"left": [], "right": []}
    for side, schema, text in (
        ("left", left, options.left_on),
        ("right", right, options.right_on or options.left_on),
    ):
        for name in [text] if text in schema.names else [n.strip() for n in text.split(",")]:
            position = schema.get_field_index(name)
            if position < 0:
                names = ", ".join(schema.names)
                raise UsageError(
                    f"--{side}-on: {getattr(options, side)} has no column {name!r}; it has {names}"
                )
            keys[side].append(
                next(c for c in all_columns(left, right) if (c.side, c.column) == (side, position))
            )
    counts = len(keys["left"]), len(keys["right"])
    if counts[0] != counts[1]:
        raise UsageError(f"--left-on names {counts[0]} columns, and --right-on {counts[1]}")
    select = None if options.select is None else [n.strip() for n in options.select.split(",")]
    try:
        return keys, select_columns(left, right, [k.column for k in keys["right"]], select)
    except InvalidArgument as error:
        raise UsageError("--" + str(error)) from None


def _first_rows(result: Result, rows: int) -> pa.RecordBatch:
    if rows and result.num_rows:
        return next(result.pages(max_rows=min(rows, result.num_rows)))
    return pa.RecordBatch.from_pylist([], result.schema)


def _write(result: Result, writer: Writer, bar: Bar) -> None:
    with writer.open(result.schema) as write:
        done = 0
        for page in result.pages(PAGE_ROWS):
            write(page)
            done += page.num_rows
            bar.show(f"writing {writer.name}", done, result.num_rows)


def _phases(statistics: Statistics, timer: _Timer) -> str:
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
    seconds = ", ".join(f"{name} {spent:.2f}" for name, spent in timer.seconds.items())
    lines += [
        "",
        f"executor {statistics.device}: {statistics.reason}",
        f"plan {statistics.plan}",
        f"{statistics.left_rows:,} x {statistics.right_rows:,} rows -> "
        f"{statistics.output_rows:,} rows",
        f"peak memory {statistics.peak_memory_bytes / 1e6:,.1f} MB",
        f"total {sum(timer.seconds.values()):.2f} s ({seconds})",
    ]
    return "\n".join(lines)
