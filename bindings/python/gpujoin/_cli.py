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
from dataclasses import replace
from typing import Any

import pyarrow as pa

from . import __version__, _abi, library_version
from ._arguments import INT32, whole
from ._bounds import Bounds, bounds_of
from ._cli_columns import UsageError, choose_asof, choose_columns
from ._cli_files import Bar, FileError, TableFile, Writer, head, phases, split_names
from ._columns import SUFFIX
from ._context import Context, parse_bytes
from ._inputs import Input
from ._kinds import ALIASES, KINDS
from ._plan import Plan, plan_columns
from ._plan_options import plan_options
from ._promises import Promises, promises_of
from ._result import Result
from .errors import GpujoinError, InvalidArgument

PAGE_ROWS = 1 << 20

JOIN_NOTES = """\
files are .parquet, .feather, .arrow or .csv; only the columns needed are read.
exit status: 0 done, 1 failed, 2 wrong arguments (an unknown column too), 130 interrupted,
143 terminated, 129 hung up.
"""


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
    try:
        options = _parser().parse_args(arguments)
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


class _Version(argparse.Action):
    """--version: asks the library only when it is given."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"gpujoin {__version__}, library {library_version()}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gpujoin", description="Joins tables on an NVIDIA GPU, or on the CPU."
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="print the versions of package and library"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    info = commands.add_parser("info", help="print the device, why it was taken, and the version")
    info.set_defaults(run=_info)
    _add_context_options(info)

    join = commands.add_parser(
        "join",
        help="join two files",
        description="Joins two files on one key column or several, on a condition, or on both.",
        epilog=JOIN_NOTES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    join.set_defaults(run=_join)
    join.add_argument("left", metavar="LEFT", help="a file")
    join.add_argument("right", metavar="RIGHT", help="a file")
    join.add_argument("--on", metavar="A,B,...", help="key columns of both files")
    join.add_argument("--left-on", metavar="A,B,...", help="key columns of LEFT")
    join.add_argument(
        "--right-on", metavar="A,B,...", help="key columns of RIGHT; default: --left-on"
    )
    join.add_argument(
        "--where",
        metavar="CONDITION",
        help="what rows have to fulfil besides to match, in SQL: 'left.a < right.b'",
    )
    _add_asof_options(join)
    join.add_argument(
        "--null-equal",
        nargs="?",
        const=True,
        default=False,
        metavar="A,B,...",
        help="NULL equals NULL in all keys, or in these key columns of LEFT",
    )
    join.add_argument(
        "--how",
        metavar="KIND",
        default="inner",
        help=f"which rows: {', '.join([*KINDS, *ALIASES])}; default: inner",
    )
    join.add_argument(
        "--select",
        metavar="A,B,...",
        help="output columns; a column of RIGHT whose name LEFT has too is NAME_right; "
        "default: all, but keys that are there already",
    )
    join.add_argument(
        "--aggregate",
        action="append",
        metavar="AGGREGATE",
        help="in the place of rows: count, exists, 'sum(right.price)'; count, sum, avg, min, max "
        "and any of columns. May be repeated",
    )
    join.add_argument(
        "--by",
        choices=["left", "right"],
        help="aggregates of each row of a side, with its columns; default: of all rows",
    )
    join.add_argument(
        "--order", choices=["probe", "left", "right"], help="rows by that side's; default: any"
    )
    join.add_argument("--row-limit", type=int, metavar="N", help="fail where there are more rows")
    join.add_argument("--byte-limit", metavar="SIZE", help="the same of bytes, for example 8GiB")
    join.add_argument("--suffix", metavar="TEXT", default=SUFFIX, help=f"in the place of {SUFFIX}")
    join.add_argument(
        "--promise",
        metavar="A,B,...",
        help="what is known, and checked: left_unique, right_unique, left_sorted, right_sorted",
    )
    join.add_argument("-o", "--output", metavar="FILE", help="write the output to a file")
    join.add_argument("--rows", type=int, default=10, metavar="N", help="rows to print (10)")
    join.add_argument(
        "--explain",
        action="store_true",
        help="print the plan and the cost of its candidates; stop there without -o or --execute",
    )
    join.add_argument("--execute", action="store_true", help="with --explain: join all the same")
    join.add_argument("--count", action="store_true", help="print how large the output is; no more")
    join.add_argument("--algorithm", metavar="NAME", help=", ".join(_abi.ALGORITHMS))
    join.add_argument("--build-side", choices=["left", "right"], help="default: the smaller")
    _add_context_options(join)
    return parser


def _add_asof_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--asof",
        metavar="COLUMN[=COLUMN]",
        help="of the rows with equal keys only the one next to LEFT's in this column matches",
    )
    parser.add_argument(
        "--direction", choices=["backward", "forward", "nearest"], help="default: backward"
    )
    parser.add_argument("--strict", action="store_true", help="not at the same place")
    parser.add_argument(
        "--tolerance", metavar="N", help="no farther away: a number, or of times 5s, 100ms ..."
    )


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
    if options.count and options.output is not None:
        raise UsageError("--count writes no output: no -o with it")
    if options.rows < 0:
        raise UsageError("--rows must not be negative")
    if options.algorithm and options.algorithm.lower().replace("-", "_") not in _abi.ALGORITHMS:
        raise UsageError(f"--algorithm {options.algorithm} is none of {', '.join(_abi.ALGORITHMS)}")
    promises = _promises_of(options)
    left, right = _open_file(options.left), _open_file(options.right)
    writer = _open_writer(options.output, [left, right]) if options.output is not None else None
    chosen = choose_columns(left.schema, right.schema, options)
    kind, keys, flags, condition, columns, aggregates = chosen
    asof = choose_asof(left.schema, right.schema, options)
    bounds = _bounds(options)
    context = _open_context(options, progress=bar.stage)
    timer.add("start")

    inputs: dict[str, Input] = {}
    places: dict[str, dict[int, int]] = {}
    for side, file in (("left", left), ("right", right)):
        needed = {*keys[side], *(column.column for column in columns if column.side == side)}
        needed |= set(condition.columns(side)) if condition is not None else set()
        needed |= {asof.positions[side]} if asof is not None else set()
        needed |= {aggregate.column for aggregate in aggregates if aggregate.side == side}
        inputs[side], places[side] = _read(side, file, needed, bar)
        keys[side] = [places[side][key] for key in keys[side]]
    columns = [
        replace(c, column=places[c.side][c.column]) if c.side in places else c for c in columns
    ]
    condition = condition.moved(places) if condition is not None else None
    timer.add("read")

    choices = {"algorithm": options.algorithm, "build_side": options.build_side}
    planned = plan_columns(
        *(context, inputs, kind, keys, flags, condition, columns),
        pairs=False,
        bounds=bounds,
        options=plan_options(choices),
        asof=asof.moved(places) if asof is not None else None,
        aggregates=[aggregate.moved(places) for aggregate in aggregates],
        by=options.by,
        promises=promises,
    )
    del inputs
    timer.add("plan")
    if options.explain:
        bar.clear()
        print(planned.explain().rstrip())
        if not options.execute and not options.count and writer is None:
            return
        print()
    if options.count:
        counted = planned.count()
        bar.clear()
        print(f"{counted.rows} rows, {counted.bytes} bytes")
        return
    _execute(planned, options.rows, writer, timer, bar)


def _bounds(options: argparse.Namespace) -> Bounds:
    limit = options.byte_limit
    try:
        size = None if limit is None else parse_bytes("--byte-limit", limit)
        return bounds_of(options.order, options.row_limit, size)
    except InvalidArgument as error:
        raise UsageError(str(error).replace("row_limit", "--row-limit", 1)) from None


def _promises_of(options: argparse.Namespace) -> Promises:
    try:
        return promises_of(split_names(options.promise) if options.promise else None, None)
    except InvalidArgument as error:
        raise UsageError(f"--{error}") from None


def _read(
    side: str, file: TableFile, needed: set[int], bar: Bar
) -> tuple[Input, dict[int, int]]:
    """What a join needs of a file, and the positions of its columns in that."""
    positions = sorted(needed or {0})  # a cross join needs its rows all the same
    report = functools.partial(bar.show, f"reading {file.name}")
    table = Input(file.read(positions, report), side)
    return table, {column: place for place, column in enumerate(positions)}


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
    print(phases(result.statistics, timer.seconds))
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


def _first_rows(result: Result, rows: int) -> pa.RecordBatch:
    if rows and result.num_rows:
        return next(result.pages(max_rows=min(rows, result.num_rows)))
    schema = result.schema
    return pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)


def _write(result: Result, writer: Writer, bar: Bar) -> None:
    with writer.open(result.schema) as write:
        done = 0
        for page in result.pages(PAGE_ROWS):
            write(page)
            done += page.num_rows
            bar.show(f"writing {writer.name}", done, result.num_rows)
