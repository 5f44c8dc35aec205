"""gpujoin join."""

from __future__ import annotations

import argparse
import sys
import time

from . import _abi
from ._bounds import Bounds, bounds_of
from ._cli_bar import Bar
from ._cli_columns import Chosen, UsageError, choose_asof, choose_columns, split_names
from ._cli_context import Shares, open_context, shares_of
from ._cli_crew import Crew
from ._cli_output import Output
from ._cli_sources import Source
from ._cli_stream import Head, StreamedJoin, can_stream
from ._cli_text import head, summary
from ._cli_whole import WholeJoin
from ._context import parse_bytes
from ._promises import Promises, promises_of
from .errors import InvalidArgument

# Options of joins that are made of whole inputs.
_OF_WHOLE = ("asof", "aggregate", "order", "row_limit", "byte_limit", "promise", "algorithm")
_OF_WHOLE += ("explain", "count")


class Timer:
    """Seconds by what they were spent on, in the order of the first use."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def add(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now


def join(options: argparse.Namespace) -> None:
    """Joins as the options say. Errors: UsageError, FileError, and those of the library."""
    timer = Timer()
    bar = Bar(sys.stderr)
    try:
        _join(options, timer, bar)
    finally:
        bar.clear()


def _join(options: argparse.Namespace, timer: Timer, bar: Bar) -> None:
    _check(options)
    promises = _promises_of(options)
    bounds = _bounds(options)
    shares = shares_of(options)
    sources = {"left": _source(options.left), "right": _source(options.right)}
    output = None if options.output is None else _output(options.output, sources)
    schemas = [source.schema for source in sources.values()]
    chosen = choose_columns(*schemas, options)
    asof = choose_asof(*schemas, options)
    option = next((name for name in _OF_WHOLE if getattr(options, name)), None)
    if option is None and can_stream(chosen, sources):
        _stream(options, timer, bar, shares, sources, output, chosen)
        return
    why = "this join" if option is None else "--" + option.replace("_", "-")
    whole = WholeJoin(options, sources, chosen, asof, promises, bounds, why)
    whole.run(output, timer, bar)


def _stream(
    options: argparse.Namespace,
    timer: Timer,
    bar: Bar,
    shares: Shares | None,
    sources: dict[str, Source],
    output: Output | None,
    chosen: Chosen,
) -> None:
    context = open_context(options, None if shares is None else shares.joins)
    threads = context.info().threads
    crew = Crew(threads, bar)
    budget = None if shares is None else shares.reading
    made = StreamedJoin(context, chosen, sources, options.build_side, crew, budget)
    first = Head(options.rows)
    timer.add("start")
    if output is None:
        streamed = made.run(None, first)
    else:
        limit = None if shares is None else shares.writing
        with output.open(made.fields, threads, limit, bar) as hand:
            streamed = made.run(hand, first)
    timer.add("join")
    bar.clear()
    rows = first.batch(made.fields)
    if rows.num_rows:
        print(head(rows) + "\n")
    print(summary(streamed, chosen.kind.name, context.info(), timer.seconds))
    if output is not None:
        print(output.report())


def _check(options: argparse.Namespace) -> None:
    if options.count and options.output is not None:
        raise UsageError("--count writes no output: no -o with it")
    if options.rows < 0:
        raise UsageError("--rows must not be negative")
    if options.algorithm and options.algorithm.lower().replace("-", "_") not in _abi.ALGORITHMS:
        raise UsageError(f"--algorithm {options.algorithm} is none of {', '.join(_abi.ALGORITHMS)}")


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


def _source(path: str) -> Source:
    try:
        return Source(path)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _output(path: str, sources: dict[str, Source]) -> Output:
    try:
        return Output(path, list(sources.values()))
    except ValueError as error:
        raise UsageError(str(error)) from None
