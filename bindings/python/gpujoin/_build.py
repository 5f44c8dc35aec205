"""Build: a side of joins whose rows come in batches, and what joins other batches with it."""

from __future__ import annotations

import ctypes
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from . import _abi
from ._arguments import INT64, check_suffix, milliseconds, whole
from ._asof import Asof, AsofColumns, asof_of
from ._bounds import Bounds, bounds_of
from ._columns import MARK, SUFFIX, OutputColumn, all_columns, select_columns
from ._condition import Condition, Where, condition_of, naming_nodes
from ._context import Context, choose, context_or_default
from ._decider import Decider
from ._filter import Batch, Filter, applied, own_filter_of
from ._inputs import is_carried
from ._keys import OfKeys, key_flags, key_positions, naming_key_types
from ._kinds import Kind, kind_of
from ._plan import describe_join, int32_array
from ._plan_options import plan_options
from ._promises import Promises, promises_of
from ._result import Result
from .errors import BufferTooSmall, EvaluationError, InvalidArgument, NotReady, Unsupported

_EXPLAIN_BYTES = 1 << 12
_WAITING = 4  # batches of a probing thread that nobody has taken yet


@dataclass(frozen=True)
class BuildInfo:
    """What a build has. Sizes are bytes."""

    rows: int
    bytes: int
    spilled_bytes: int  # in files
    is_finished: bool
    is_whole: bool  # it fits: rows of probes are joined as they come
    partitions: int  # into which it was parted, else 1


@dataclass(frozen=True)
class Progress:
    """How far an operation is. Sizes are bytes."""

    rows_in: int
    rows_out: int
    bytes_in: int
    bytes_out: int
    spilled_bytes: int
    pieces_done: int
    pieces: int  # that are known so far
    rows_dropped: int  # of rows_in, those that did not pass a filter


def _like(data: Any, argument: str) -> Batch:
    batch = Batch(data.empty_table() if isinstance(data, pa.Schema) else data, argument)
    for field in batch.schema:
        if not is_carried(field.type):
            raise Unsupported(
                f"{argument}: column {field.name!r} is of type {field.type}; columns of nested "
                "types are not kept"
            )
    return batch


class Build:
    """A side of joins whose rows come in batches; any number of joins then share it.

    like         what its batches look like: a pyarrow.Schema, or anything that join() takes
    on           the key columns, as in join(); None = none, of joins by a condition or an order
    row_numbers  whether rows have numbers, which append() is given: joins may put them out
    null_equal, ieee_float  as in join(), of the joins to come
    context      None = a shared one, on device "auto". Its memory_limit and host_limit are kept to:
                 what does not fit goes to its spill_path
    device       auto, cpu, cuda: where the joins run
    timeout      seconds that a call may take, else DeadlineExceeded; None = any

    with gpujoin.Build(orders.schema, on="o_orderkey") as build:
        for batch in orders:
            build.append(batch)
        build.finish()
        for batch in build.probe(lines, on="l_orderkey", how="inner"):
            ...

    Any thread may call. Errors: InvalidArgument, TypeMismatch, Unsupported, NoDevice.
    """

    def __init__(
        self,
        like: Any,
        on: str | Sequence[str] | None = None,
        *,
        row_numbers: bool = False,
        null_equal: OfKeys = False,
        ieee_float: OfKeys = False,
        context: Context | None = None,
        device: str | None = None,
        timeout: float | None = None,
    ) -> None:
        self._context = context_or_default(context)
        self._like = _like(like, "like")
        self._keys = [] if on is None else self._like.keys(on, "on")
        names = [self._like.schema.names[key] for key in self._keys]
        self._null_equal, self._ieee_float = null_equal, ieee_float
        flags = key_flags(names, null_equal, ieee_float)
        self._has_row_numbers = bool(row_numbers)
        relation, _ = self._like.register(self._context, ())
        options = _abi.BuildOptions(
            device=choose("device", _abi.DEVICES, device),
            has_row_numbers=int(self._has_row_numbers),
            timeout_milliseconds=milliseconds(timeout),
        )
        self._handle = _abi.Handle("build")
        self._context._call(
            *("build_create", self._context._handle, relation, int32_array(self._keys)),
            *(len(self._keys), int32_array(flags), ctypes.byref(options), self._handle.out),
        )

    @property
    def schema(self) -> pa.Schema:
        """Of its batches."""
        return self._like.schema

    def append(self, batch: Any, first_row: int = 0) -> None:
        """Copies the rows of a batch, which is anything that join() takes as a side.

        first_row  the number of its first row, where rows have numbers
        Errors: InvalidArgument, TypeMismatch, MemoryLimit, OutOfMemory, SpillError, Cancelled,
        DeadlineExceeded.
        """
        relation, _ = Batch(batch, "batch").register(self._context, ())
        first = whole("first_row", first_row, 0, INT64)
        self._context._call("build_append", self._handle, relation, first)

    def finish(self) -> None:
        """No further batch will come. Errors: those of append()."""
        self._context._call("build_finish", self._handle)

    @property
    def info(self) -> BuildInfo:
        """What it has so far."""
        raw = _abi.BuildInfo()
        self._context._call("build_get_info", self._handle, ctypes.byref(raw))
        return BuildInfo(
            rows=raw.rows,
            bytes=raw.bytes,
            spilled_bytes=raw.spilled_bytes,
            is_finished=bool(raw.is_finished),
            is_whole=bool(raw.is_whole),
            partitions=raw.partitions,
        )

    def filter(
        self,
        key: str | None = None,
        *,
        kind: str | None = None,
        largest_bytes: int | None = None,
        false_positive_rate: float | None = None,
    ) -> Filter:
        """Which rows of another table none of this finished build's keys equals.

        key   one of the key columns; None = all of them together
        kind  "min_max", "bitmap", "bloom"; None = the library decides
        largest_bytes, false_positive_rate  of its bits, and of a Bloom filter; None = the library
              decides
        Errors: InvalidArgument, Unsupported, MemoryLimit, OutOfMemory, SpillError, Cancelled,
        DeadlineExceeded.
        """
        names = [self._like.schema.names[position] for position in self._keys]
        if key is not None and key not in names:
            raise InvalidArgument(f"key is {key!r}, and the build's keys are {names}")
        if false_positive_rate is not None and not 0 < false_positive_rate < 1:
            raise InvalidArgument("false_positive_rate is to lie between 0 and 1")
        options = _abi.KeyFilterOptions(
            kind=choose("kind", _abi.KEY_FILTERS, kind),
            largest_bytes=whole("largest_bytes", largest_bytes or 0, 0, INT64),
            false_positive_rate=false_positive_rate or 0.0,
        )
        handle = _abi.Handle("key_filter")
        place = -1 if key is None else names.index(key)
        self._context._call(
            "build_get_filter", self._handle, place, ctypes.byref(options), handle.out
        )
        fields = [self._like.schema.field(position) for position in self._keys]
        return Filter(self._context, handle, fields if key is None else [fields[place]])

    def cancel(self) -> None:
        """Calls on the build raise Cancelled; joins with a finished one go on. Any thread."""
        self._context._call("build_cancel", self._handle)

    def close(self) -> None:
        """Lets go of the rows; operations go on."""
        self._handle.close()

    def __enter__(self) -> Build:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def operation(
        self,
        like: Any,
        on: str | Sequence[str] | None = None,
        *,
        how: str = "inner",
        side: str = "right",
        where: Where | None = None,
        asof: Asof | None = None,
        select: Sequence[str] | None = None,
        pairs: bool = False,
        suffix: str = SUFFIX,
        order: str | None = None,
        row_limit: int | None = None,
        byte_limit: int | None = None,
        promise: str | Sequence[str] | None = None,
        promised_rows: int | None = None,
        filters: Sequence[tuple[Filter, str | Sequence[str] | None]] | None = None,
        own_filter: bool | None = None,
        shown: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> Operation:
        """One join with this build, which is finished.

        like   what the batches of the other side, the probe side, look like: as of a Build
        on     the key columns of that side, as many as the build has; None = of the same names
        side   which side of the join the build is: "right" or "left"
        pairs  row numbers, int64, as both sides' append() gave them
        how, where, asof, select, suffix, order, row_limit, byte_limit  as in join(); of the order
               only that of the probe side, in each result
        promise, promised_rows  as in join(); sorted only of the probe side, in each batch by itself.
               That its keys are not unique is seen when all have come, at the latest by next()
        filters  of other builds, each with the columns of this probe side that it tests (None = of
               the same names): rows that do not pass are as if they had not come
        own_filter  whether a filter of this build drops rows without a match before they are kept:
               None = on the CPU, and where the build does not fit, as long as a sample says that
               it pays
        shown  of a where that is a function: columns that it is called with, behind the row numbers
               of the sides that have them, as they are called in a full join, those of left first;
               None = all of both sides. It is called while results are asked for, from as many threads as do, with
               65536 pairs at most; what it raises they raise
        timeout  seconds that each call on the operation and its probes may take
        Errors: InvalidArgument, TypeMismatch, Unsupported, EvaluationError, BrokenPromise.
        """
        build_side = choose("side", {"left": 1, "right": 2}, side)
        kind = kind_of(how)
        check_suffix(suffix)
        bounds = bounds_of(order, row_limit, byte_limit)
        promises = promises_of(promise, promised_rows)
        probe = _like(like, "like")
        inputs = {"left": self._like, "right": probe} if build_side == 1 else {}
        inputs = inputs or {"left": probe, "right": self._like}
        schemas = [source.schema for source in inputs.values()]
        condition = condition_of(where, *schemas)
        ordered = asof_of(asof, *schemas)
        own = [self._like.schema.names[key] for key in self._keys] or None
        named = own if on is None and kind.has_keys else on
        of_left, of_right = (own, named) if build_side == 1 else (named, own)
        may_lack = condition is not None or ordered is not None
        if not kind.has_keys or own is None:
            of_left = of_right = on
        keys = key_positions(inputs, kind, None, of_left, of_right, may_lack)
        flags = key_flags(own if keys["left"] else [], self._null_equal, self._ieee_float)
        columns = all_columns(inputs["left"].schema, inputs["right"].schema, kind, keys, suffix)
        selected = select_columns(columns, kind, keys, select)
        decider = None
        if condition is not None and condition.decide is not None:
            both = kind_of("full")
            there = all_columns(inputs["left"].schema, inputs["right"].schema, both, keys, suffix)
            numbered = {"left": pairs, "right": pairs}
            numbered[side] = self._has_row_numbers
            decider = Decider(
                condition.decide,
                [f"{name}_row" for name, is_there in numbered.items() if is_there],
                select_columns(there, both, keys, shown),
            )
        elif shown is not None:
            raise InvalidArgument("shown is given, and where is no function")
        if not pairs and not any(column.side != MARK for column in selected) and not kind.has_mark:
            raise InvalidArgument("select names no column, and pairs are not asked for")
        return self.operation_of(
            *(probe.schema, side, kind, keys, flags, condition, selected),
            pairs=pairs,
            bounds=bounds,
            asof=ordered,
            promises=promises,
            filters=filters,
            own_filter=own_filter,
            timeout=timeout,
            decider=decider,
        )

    def operation_of(
        self,
        like: pa.Schema,
        side: str,
        kind: Kind,
        keys: dict[str, list[int]],
        flags: Sequence[int],
        condition: Condition | None,
        columns: Sequence[OutputColumn],
        *,
        pairs: bool = False,
        bounds: Bounds = Bounds(),
        asof: AsofColumns | None = None,
        promises: Promises = Promises(),
        filters: Sequence[tuple[Filter, str | Sequence[str] | None]] | None = None,
        own_filter: bool | None = None,
        timeout: float | None = None,
        decider: Decider | None = None,
    ) -> Operation:
        """As operation(), of what was found by name already: keys and columns are positions."""
        probe = _like(like, "like")
        inputs = {"left": self._like, "right": probe}
        if side == "right":
            inputs = {"left": probe, "right": self._like}
        described = describe_join(
            *(self._context, inputs, kind, keys, flags, condition, columns, pairs, bounds, asof),
            promises=promises,
        )
        options = plan_options({"build_side": side, "timeout": timeout})
        given, kept = applied(filters, probe)
        raw = _abi.OperationOptions(
            has_row_numbers=int(bool(pairs)),
            plan=ctypes.pointer(options),
            filters=(_abi.AppliedFilter * len(given))(*given),
            filter_count=len(given),
            own_filter=own_filter_of(own_filter),
        )
        if decider is not None:
            decider.fill(raw)
        handle = _abi.Handle("operation")
        relation = described.relations[1 if side == "left" else 0]
        fields = [[inputs[side].schema.field(key) for key in keys[side]] for side in inputs]
        with naming_nodes(condition), naming_key_types(list(zip(*fields))):
            self._context._call(
                *("operation_create", self._handle, relation, ctypes.byref(described.spec)),
                *(ctypes.byref(raw), handle.out),
            )
        del kept
        pair_fields = [field.with_type(pa.int64()) for field in described.pair_fields]

        def result_of(result: _abi.Handle) -> pa.RecordBatch:
            return Result(self._context, result, described.columns, pair_fields).to_batch()

        return Operation(self._context, handle, result_of, condition, decider)

    def probe(
        self,
        batches: Iterable[Any],
        on: str | Sequence[str] | None = None,
        *,
        threads: int = 1,
        how: str = "inner",
        side: str = "right",
        where: Where | None = None,
        asof: Asof | None = None,
        select: Sequence[str] | None = None,
        pairs: bool = False,
        suffix: str = SUFFIX,
        order: str | None = None,
        row_limit: int | None = None,
        byte_limit: int | None = None,
        promise: str | Sequence[str] | None = None,
        promised_rows: int | None = None,
        filters: Sequence[tuple[Filter, str | Sequence[str] | None]] | None = None,
        own_filter: bool | None = None,
        shown: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a join with these batches, in batches, while they come.

        batches  of the probe side: anything that append() takes, or a pyarrow.RecordBatchReader or
                 Table; numbered from 0 on, where pairs are asked for
        threads  that join: batches of results then come in any order
        on and the other arguments are those of operation().

        Closing the iterator early cancels the join. Errors: those of operation(), and of
        Probe.append() and Probe.next().
        """
        whole("threads", threads, 1, 1024)
        source = iter(batches.to_batches() if isinstance(batches, pa.Table) else batches)
        first = next(source, None)
        if first is None:
            like = getattr(batches, "schema", None)
            if like is None:
                raise InvalidArgument("batches has none, and no schema")
        else:
            like = first
        operation = self.operation(
            like,
            on,
            how=how,
            side=side,
            where=where,
            asof=asof,
            select=select,
            pairs=pairs,
            suffix=suffix,
            order=order,
            row_limit=row_limit,
            byte_limit=byte_limit,
            promise=promise,
            promised_rows=promised_rows,
            filters=filters,
            own_filter=own_filter,
            shown=shown,
            timeout=timeout,
        )
        return _rows_of(operation, _numbered(first, source), threads)


class Operation:
    """One join with a build; made by Build.operation()."""

    def __init__(
        self,
        context: Context,
        handle: _abi.Handle,
        result_of: Callable[[_abi.Handle], pa.RecordBatch],
        condition: Any,
        decider: Decider | None,
    ) -> None:
        self._context = context
        self._handle = handle
        self._result_of = result_of
        self._condition = condition
        self._decider = decider

    def probe(self) -> Probe:
        """Rows of the probe side, of one thread."""
        return Probe(self)

    def close_input(self) -> None:
        """No further probe will come."""
        self._context._call("operation_close", self._handle)

    def next(self) -> pa.RecordBatch | None:
        """The next rows of those that come when all rows have come: rows of the build side by their
        matches, and what did not fit into memory. None = there is none.

        Errors: NotReady while probes still run; those of Plan.execute(), SpillError,
        DeadlineExceeded; InvalidArgument where a probe failed.
        """
        batch, state = self._next("operation_next", self._handle)
        if batch is None and state != _abi.STATE_FINISHED:
            raise NotReady("probes still run, or close_input() was not called")
        return batch

    def explain(self) -> str:
        """How it joins, and why."""
        length = ctypes.c_size_t(_EXPLAIN_BYTES)
        while True:
            buffer = ctypes.create_string_buffer(length.value)
            try:
                self._context._call("operation_explain", self._handle, buffer, ctypes.byref(length))
                return _abi.text(buffer.value)
            except BufferTooSmall:
                if length.value <= len(buffer):
                    raise

    @property
    def progress(self) -> Progress:
        """How far it is."""
        raw = _abi.Progress()
        self._context._call("operation_get_progress", self._handle, ctypes.byref(raw))
        return Progress(
            **{name: getattr(raw, name) for name in Progress.__dataclass_fields__}
        )

    def cancel(self) -> None:
        """Calls on it and its probes raise Cancelled. Any thread."""
        self._context._call("operation_cancel", self._handle)

    def close(self) -> None:
        """Lets go of it; its probes go on."""
        self._handle.close()

    def __enter__(self) -> Operation:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _next(self, name: str, handle: _abi.Handle) -> tuple[pa.RecordBatch | None, int]:
        result = _abi.Handle("result")
        state = ctypes.c_int32()
        try:
            with naming_nodes(self._condition):
                self._context._call(name, handle, ctypes.byref(state), result.out)
        except EvaluationError:
            if self._decider is None or self._decider.error is None:
                raise
            raise self._decider.error from None
        if state.value != _abi.STATE_READY:
            return None, state.value
        try:
            return self._result_of(result), state.value
        finally:
            result.close()


class Probe:
    """Rows of the probe side of an operation; made by Operation.probe(). Calls take turns."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._context = operation._context
        self._handle = _abi.Handle("probe")
        self._context._call("probe_create", operation._handle, self._handle.out)
        self.is_finished = False

    def append(self, batch: Any, first_row: int = 0) -> bool:
        """Copies the rows of a batch; False: rows wait to be joined, and none was taken: next().

        first_row  the number of its first row, where the join puts out row numbers
        Errors: those of Build.append().
        """
        relation, _ = Batch(batch, "batch").register(self._context, ())
        try:
            first = whole("first_row", first_row, 0, INT64)
            self._context._call("probe_append", self._handle, relation, first)
        except NotReady:
            return False
        return True

    def flush(self) -> None:
        """What was appended is joined, however little it is."""
        self._context._call("probe_flush", self._handle)

    def finish(self) -> None:
        """No further batch will come."""
        self._context._call("probe_finish", self._handle)

    def next(self) -> pa.RecordBatch | None:
        """The next rows of those that are joined; None = append more, or, where is_finished is
        True then, there will be none. Errors: those of Operation.next() but NotReady."""
        batch, state = self._operation._next("probe_next", self._handle)
        self.is_finished = state == _abi.STATE_FINISHED
        return batch

    def close(self) -> None:
        """Lets go of it. The operation is not complete, unless next() said that it is finished."""
        self._handle.close()

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _numbered(first: Any, rest: Iterator[Any]) -> Iterator[tuple[Any, int]]:
    """Batches with the number of their first row."""
    row = 0
    batch = first
    while batch is not None:
        yield batch, row
        row += len(batch)
        batch = next(rest, None)


def _probe_rows(
    operation: Operation, take: Callable[[], Any], is_stopped: Callable[[], bool]
) -> Iterator[pa.RecordBatch]:
    """Results of one probe of what take() gives, until that is None."""
    with operation.probe() as probe:
        while (taken := take()) is not None and not is_stopped():
            while not probe.append(*taken):
                while (batch := probe.next()) is not None:
                    yield batch
            while (batch := probe.next()) is not None:
                yield batch
        probe.finish()
        while (batch := probe.next()) is not None:
            yield batch


def _rows_of(
    operation: Operation, batches: Iterator[tuple[Any, int]], threads: int
) -> Iterator[pa.RecordBatch]:
    with operation:
        try:
            if threads == 1:
                yield from _probe_rows(operation, lambda: next(batches, None), lambda: False)
            else:
                yield from _rows_of_threads(operation, batches, threads)
            operation.close_input()
            while (batch := operation.next()) is not None:
                yield batch
        finally:
            operation.cancel()


class _Failed:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _rows_of_threads(
    operation: Operation, batches: Iterator[tuple[Any, int]], threads: int
) -> Iterator[pa.RecordBatch]:
    results: queue.Queue[Any] = queue.Queue(threads * _WAITING)
    stopped = threading.Event()
    lock = threading.Lock()

    def take() -> Any:
        with lock:
            return next(batches, None)

    def put(item: Any) -> bool:
        while not stopped.is_set():
            try:
                results.put(item, timeout=0.05)
                return True
            except queue.Full:
                continue
        return False

    def run() -> None:
        try:
            for batch in _probe_rows(operation, take, stopped.is_set):
                if not put(batch):
                    return
            put(None)
        except BaseException as error:  # raised again where the rows are taken
            put(_Failed(error))

    workers = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    running = threads
    for worker in workers:
        worker.start()
    try:
        while running:
            item = results.get()
            if isinstance(item, _Failed):
                raise item.error
            if item is None:
                running -= 1
            else:
                yield item
    finally:
        stopped.set()
        if running:
            operation.cancel()
        for worker in workers:
            worker.join()
