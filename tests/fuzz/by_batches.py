"""Executes a case by a build and probes: both sides come in batches, results as they are ready."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from contextlib import ExitStack
from ctypes import c_int32, c_void_p
from dataclasses import replace

import numpy as np
import pyarrow as pa

from .batches import Batches
from .case import Case, Table
from .column_types import type_of
from .encode import Encoded
from .evaluate import NO_VALUE, Evaluator
from .library import Answered, Handle, abi, call
from .output import BadResult, Output
from .read_result import concatenated, read

NOT_READY, UNSUPPORTED, _EVALUATION = 22, 3, 17  # statuses
_OF_CALLER = 31  # GPUJOIN_OPERATOR_CALLER
_OWN_FILTER_ON = 2
_STATE_READY, _STATE_FINISHED = 1, 2
_SIDES = {"left": 1, "right": 2}
_MOST_BATCHES = 40


class ByBatches:
    """An operation of a case, whose handles live as long as the stack.

    ends         with an error that is expected: no result before it is to be read
    spec         of the join; its key flags are those of the build, too
    has_spilled  whether rows went to files
    """

    def __init__(
        self, case: Case, seen: Case, ends: bool, way, spec, options, stack: ExitStack
    ) -> None:
        self._case, self._seen, self._way = case, _gathered(seen), way
        self._batches: Batches = way.batches
        self._is_read_at_once = self._batches.host_bytes != 0 and not ends
        self._spec, self._options, self._stack = spec, options, stack
        self._rng = random.Random(self._batches.seed)
        self.has_spilled = False
        self._laid: dict[str, dict] = {}
        self._problems: list[Encoded] = []

    def output(self, context: c_void_p, laid_of) -> Output | None:
        """All rows; None: no result came. laid_of: from how columns were laid out to how those of
        a result are."""
        like = {side: self._like(context, side) for side in _SIDES}
        build = self._build(context, like[self._batches.build], self._batches.build)
        operation = self._operation(context, build, like[self._batches.probe])
        build.close()  # operations go on
        laid = laid_of(self._laid)
        outputs = list(self._read(self._results(context, operation), laid))
        progress = abi.Progress()
        call("operation_get_progress", operation.pointer, ctypes.byref(progress))
        self.has_spilled = progress.spilled_bytes != 0
        for encoded in self._problems:
            if encoded.problem:
                raise BadResult(encoded.problem)
        return concatenated(outputs) if outputs else None

    def _results(self, context: c_void_p, operation: Handle) -> Iterator[Handle]:
        yield from self._probed(context, operation)
        call("operation_close", operation.pointer)
        yield from self._taken("operation_next", operation, _STATE_FINISHED)

    def _read(self, results: Iterator[Handle], laid: dict[str, dict]) -> Iterator[Output]:
        """Each as it comes where there is a limit, which they are under as long as they are there;
        else all at the end."""
        for result in results if self._is_read_at_once else list(results):
            yield read(result, self._seen, self._way.reading, laid)
            if self._is_read_at_once:
                result.close()

    def _operation(self, context: c_void_p, build: Handle, like: Encoded) -> Handle:
        operation = self._stack.enter_context(Handle("operation"))
        raw = abi.OperationOptions(
            has_row_numbers=1,
            plan=ctypes.pointer(self._options),
            own_filter=self._batches.own_filter,
        )
        spec = self._decided(raw) if self._batches.decided else self._spec
        keys = self._case.keys[self._batches.probe]
        if self._batches.all_pass is not None and keys:
            columns = (c_int32 * len(keys))(*keys)
            applied = abi.AppliedFilter(
                column_count=len(keys),
                filter=self._all_pass(context, like).pointer,
                columns=columns,
            )
            raw.filters, raw.filter_count = ctypes.pointer(applied), 1
        arguments = (
            *("operation_create", build.pointer, like.relation.pointer),
            *(ctypes.byref(spec), ctypes.byref(raw), operation.out),
        )
        try:
            call(*arguments)
        except Answered as answer:
            if answer.status != UNSUPPORTED or raw.own_filter != _OWN_FILTER_ON:
                raise
            raw.own_filter = 0
            call(*arguments)
        return operation

    def _decided(self, raw: abi.OperationOptions) -> abi.JoinSpec:
        """The specification of a join whose residual this side of the library evaluates."""
        answer = Evaluator(self._case.residual, self._case.tables).answer

        @abi.DecideFunction
        def decide(rows: int, schema: int, array: int, matches: int, _: int) -> int:
            pairs = pa.RecordBatch._import_from_c(array, schema)
            for i, (left, right) in enumerate(zip(*(column.to_pylist() for column in pairs))):
                value = answer(left, right)
                if value is NO_VALUE:
                    return _EVALUATION
                ctypes.c_uint8.from_address(matches + i).value = value is True
            return 0

        raw.decide = self._decide = decide  # as long as the operation
        node = abi.Node(operation=_OF_CALLER)
        condition = abi.Condition(node_count=1, nodes=ctypes.pointer(node))
        spec = abi.JoinSpec.from_buffer_copy(self._spec)
        spec.residual = ctypes.pointer(condition)
        return spec

    def _all_pass(self, context: c_void_p, like: Encoded) -> Handle:
        """A filter of the probe side's own keys, of which NULL equals NULL."""
        flags = [flag | abi.KEY_NULL_EQUAL for flag in self._case.flags]
        build = self._build(context, like, self._batches.probe, flags)
        made = self._stack.enter_context(Handle("key_filter"))
        options = abi.KeyFilterOptions(kind=self._batches.all_pass)
        call("build_get_filter", build.pointer, -1, ctypes.byref(options), made.out)
        return made

    def _like(self, context: c_void_p, side: str) -> Encoded:
        whole = self._case.tables[side]
        encoded = self._encoded(context, whole.take(np.arange(0)), side)
        self._stack.enter_context(encoded)
        self._laid[side] = encoded.laid
        return encoded

    def _encoded(self, context: c_void_p, table: Table, side: str) -> Encoded:
        encoded = Encoded(context, table, self._way.encodings[side], may_nest=False)
        self._problems.append(encoded)
        return encoded

    def _pieces(self, side: str, most: int) -> Iterator[tuple[int, Table]]:
        table = self._case.tables[side]
        most = max(most, table.rows // _MOST_BATCHES + 1)
        first = 0
        while first < table.rows:
            rows = min(table.rows - first, self._rng.randint(0, most))
            yield first, table.take(np.arange(first, first + rows))
            first += rows

    def _build(
        self, context: c_void_p, like: Encoded, side: str, key_flags: list[int] | None = None
    ) -> Handle:
        keys = self._case.keys[side]
        flags = self._case.flags if key_flags is None else key_flags
        made = self._stack.enter_context(Handle("build"))
        options = abi.BuildOptions(has_row_numbers=1)
        call(
            *("build_create", context, like.relation.pointer, (c_int32 * len(keys))(*keys)),
            *(len(keys), (c_int32 * len(flags))(*flags), ctypes.byref(options), made.out),
        )
        for first, table in self._pieces(side, self._batches.build_rows):
            with self._encoded(context, table, side) as batch:
                call("build_append", made.pointer, batch.relation.pointer, first)
        call("build_finish", made.pointer)
        return made

    def _probed(self, context: c_void_p, operation: Handle) -> Iterator[Handle]:
        probes = [self._stack.enter_context(Handle("probe")) for _ in range(self._batches.probes)]
        for probe in probes:
            call("probe_create", operation.pointer, probe.out)
        side = self._batches.probe
        for first, table in self._pieces(side, self._batches.probe_rows):
            probe = self._rng.choice(probes)
            with self._encoded(context, table, side) as batch:
                while not _is_appended(probe, batch, first):
                    yield from self._taken("probe_next", probe, None)
                if self._rng.random() < 0.2:
                    call("probe_flush", probe.pointer)
                if self._rng.random() < 0.3 or table.rows >= 1 << 20:
                    yield from self._taken("probe_next", probe, None)
        for probe in probes:
            call("probe_finish", probe.pointer)
            yield from self._taken("probe_next", probe, _STATE_FINISHED)

    def _taken(self, function: str, source: Handle, last: int | None) -> Iterator[Handle]:
        """Results until there are none; last: the state that has to come then."""
        while True:
            state = c_int32()
            result = self._stack.enter_context(Handle("result"))
            call(function, source.pointer, ctypes.byref(state), result.out)
            if state.value != _STATE_READY:
                if last is not None and state.value != last:
                    raise BadResult(f"{function} ends with state {state.value}")
                return
            yield result


def _gathered(case: Case) -> Case:
    """With columns of the types that results have: views are gathered as text."""
    forms = {"vu": "U", "vz": "Z"}
    tables = {
        side: Table(
            [
                replace(column, type=type_of(forms.get(column.type.format, column.type.format)))
                for column in table.columns
            ],
            table.rows,
        )
        for side, table in case.tables.items()
    }
    return case.changed(tables=tables)


def _is_appended(probe: Handle, batch: Encoded, first: int) -> bool:
    try:
        call("probe_append", probe.pointer, batch.relation.pointer, first)
    except Answered as answer:
        if answer.status != NOT_READY:
            raise
        return False
    return True
