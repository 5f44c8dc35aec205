"""Executes a case in one way, and says what came of it."""

from __future__ import annotations

import ctypes
from contextlib import ExitStack
from ctypes import c_int32, c_size_t
from dataclasses import dataclass, replace

from . import library, promises
from .aggregates import laid_of, seen_as, spec_side, structs_of
from .by_batches import ByBatches
from .case import Answer, Case
from .compare import difference, order_of
from .encode import Encoded
from .encode_condition import residual_of
from .library import Answered, Handle, abi, call
from .output import BadResult, Output
from .picks import Picked
from .read_result import read
from .way import ENOUGH_BYTES, Way

RIGHT_ANSWER, REFUSED, NO_MEMORY, FAILED = "right", "refused", "memory_limit", "failed"


@dataclass
class Outcome:
    """what     "right", "refused" (ILLEGAL_PLAN of a plan that names techniques), "memory_limit" or
             "failed"
    problem  of "failed"
    has_spilled  rows went to files
    """

    what: str
    problem: str = ""
    has_spilled: bool = False


@dataclass
class _Executed:
    """Once. picked: of the sides of which rows are picked."""

    output: Output
    picked: dict[str, Picked]
    has_spilled: bool = False


def try_case(case: Case, expected: Answer, way: Way, disturb=None) -> Outcome:
    """disturb  changes the output before it is compared, to see whether that is found."""
    seen, wanted = case, expected
    if case.grouped is not None:
        seen, wanted = seen_as(case, expected)
    try:
        side = way.bounds.ordering_side(case, seen, way.options)
        # Of the rows that are picked, which numbers of the larger table may name in another order.
        order = None if side is None or wanted.is_error else order_of(wanted, side)
        has_spilled = False
        for executed in _outputs(case, seen, wanted, way):
            output, picked = executed.output, executed.picked
            has_spilled |= executed.has_spilled
            if disturb is not None:
                disturb(output)
            if not _is_kept(case, wanted, way):
                return Outcome(FAILED, f"{output.rows} rows instead of BROKEN_PROMISE")
            if case.grouped is not None:  # one group of all rows is no row
                picked = {side: p for side, p in picked.items() if side == case.grouped.by}
            problem = difference(seen, _as_picked(wanted, picked), output, order)
            if not problem and way.bounds.must_fail(wanted):
                problem = "the limit of rows was passed"
            if problem:
                return Outcome(FAILED, problem)
    except Answered as answer:
        return _judge(answer, case, wanted, way)
    except BadResult as problem:
        return Outcome(FAILED, str(problem))
    return Outcome(RIGHT_ANSWER, has_spilled=has_spilled)


def _as_picked(expected: Answer, picked: dict[str, Picked]) -> Answer:
    """The answer with the numbers that rows have which are the same."""
    if not picked or expected.is_error:
        return expected
    rows = {s: picked[s].named(r) if s in picked else r for s, r in expected.rows.items()}
    return replace(expected, rows=rows)


def _is_kept(case: Case, expected: Answer, way: Way) -> bool:
    rows = expected.count + way.spare_rows
    said = promises.sayable(case, way.promises)
    return promises.are_kept(case, expected, said, max(0, rows))


def _judge(answer: Answered, case: Case, expected: Answer, way: Way) -> Outcome:
    is_spilling = way.batches is not None and way.batches.host_bytes != 0
    if answer.status == library.MEMORY_LIMIT and (
        is_spilling or 0 < way.limit_bytes < ENOUGH_BYTES
    ):
        return Outcome(NO_MEMORY)
    refusals = {library.ILLEGAL_PLAN, library.NO_DEVICE}
    if way.options.get("transfer"):
        refusals |= {library.UNSUPPORTED}  # managed memory, where the platform has none to page
    if way.options.get("transform") or way.options.get("algorithm"):
        refusals |= {library.TOO_MANY_ROWS}
    if answer.status in refusals and way.names_techniques:
        return Outcome(REFUSED)
    if answer.status == library.ROW_LIMIT and way.bounds.must_fail(expected):
        return Outcome(RIGHT_ANSWER)
    if answer.status == library.SEVERAL_MATCHES and expected.several:
        return Outcome(RIGHT_ANSWER)
    if answer.status == library.BROKEN_PROMISE and not _is_kept(case, expected, way):
        return Outcome(RIGHT_ANSWER)
    if answer.status == library.TYPE and expected.no_type:
        return Outcome(RIGHT_ANSWER)
    # Which of two errors comes depends on which rows were joined first.
    is_promised = way.batches is not None and way.promises & promises.ROWS
    if answer.status == library.BROKEN_PROMISE and is_promised and expected.is_error:
        return Outcome(RIGHT_ANSWER)
    is_either = way.batches is not None and case.grouped is not None and expected.several
    is_open = expected.no_value or expected.is_open or is_either
    if answer.status == library.EVALUATION and is_open:
        return Outcome(RIGHT_ANSWER)
    return Outcome(FAILED, str(answer))


def _outputs(
    case: Case, seen: Case, wanted: Answer, way: Way
) -> list[_Executed]:
    """The output of each execution, with the sides of which rows were picked. Errors: Answered,
    BadResult.

    seen  what the result is read as
    """
    if way.batches is not None:
        return _outputs_of_batches(case, seen, wanted, way)
    context = library.context(way.device, way.threads, way.limit_bytes)
    outputs = []
    encoded = []
    with ExitStack() as stack:
        for side in ("left", "right"):
            if encoded and case.tables["left"] is case.tables["right"]:
                continue  # one relation on both sides
            encoded.append(Encoded(context, case.tables[side], way.encodings[side]))
            stack.enter_context(encoded[-1])
        laid = {"left": encoded[0].laid, "right": encoded[-1].laid}
        if case.grouped is not None:
            laid = laid_of(case, seen, laid)
        relations = [encoded[0].relation, encoded[-1].relation]
        picked = {
            side: of.picked
            for side, of in (("left", encoded[0]), ("right", encoded[-1]))
            if of.picked is not None
        }
        spec, kept = _spec(case, way)
        relations += _complete(spec, case, context, stack)
        _promise(spec, case, wanted, way)
        way.bounds.say(spec, wanted)
        options = abi.PlanOptions(**way.options) if way.options else None
        given_options = ctypes.byref(options) if options is not None else None
        parts = [context, *(r.pointer for r in relations[:2]), ctypes.byref(spec), given_options]
        if not way.planned:
            result = stack.enter_context(Handle("result"))
            call("join", *parts, result.out)
            _close(relations)  # a result needs neither
            outputs.append(_Executed(_read(result, case, seen, way, laid, picked), picked))
        else:
            plan = stack.enter_context(Handle("plan"))
            call("plan_create", *parts, plan.out)
            if way.bounds.is_counted and not wanted.is_error:
                size = way.bounds.count(plan, wanted)
                way.bounds.check_byte_limit(parts, spec, size)
            _close(relations)  # a plan keeps what it needs of them
            _explain(plan)
            results = []
            for _ in range(way.executions):
                results.append(stack.enter_context(Handle("result")))
                call("plan_execute", plan.pointer, results[-1].out)
            plan.close()
            for result in results:
                outputs.append(_Executed(_read(result, case, seen, way, laid, picked), picked))
        del kept
    for e in encoded:
        if e.problem:
            raise BadResult(e.problem)
    return outputs


def _promise(spec: abi.JoinSpec, case: Case, wanted: Answer, way: Way) -> None:
    spec.promises = promises.sayable(case, way.promises)
    if way.promises & promises.ROWS:
        spec.promised_rows = max(0, wanted.count + way.spare_rows)


def _outputs_of_batches(
    case: Case, seen: Case, wanted: Answer, way: Way
) -> list[_Executed]:
    """As _outputs(): of one execution, or of none, where no row came and none was expected."""
    context = library.context(way.device, way.threads, way.limit_bytes, way.batches.host_bytes)
    with ExitStack() as stack:
        spec, kept = _spec(case, way)
        _complete(spec, case, context, stack)
        _promise(spec, case, wanted, way)
        options = abi.PlanOptions(build_side={"left": 1, "right": 2}[way.batches.build])
        join = ByBatches(case, seen, wanted.is_error, way, spec, options, stack)

        def laid_of_result(laid: dict[str, dict]) -> dict[str, dict]:
            return laid if case.grouped is None else laid_of(case, seen, laid)

        output = join.output(context, laid_of_result)
        del kept
    if output is not None:
        return [_Executed(output, {}, join.has_spilled)]
    if not wanted.is_error and wanted.count == 0:
        return []
    raise BadResult("no rows came")


def _complete(spec: ctypes.Structure, case: Case, context, stack: ExitStack) -> list[Handle]:
    """Adds what stands beside the keys; relations of constants, which plans keep."""
    if case.asof is not None:
        ordered = case.asof.described()
        spec.asof = ctypes.pointer(ordered)
    if case.residual is None:
        return []
    described, constants = residual_of(case.residual, context, stack)
    spec.residual = ctypes.pointer(described)
    return constants


def _close(handles: list[Handle]) -> None:
    for handle in handles:
        handle.close()


def _spec(case: Case, way: Way) -> tuple[ctypes.Structure, list]:
    spec = abi.JoinSpec(kind=case.kind.number, key_count=len(case.keys["left"]))
    kept = []
    for side in ("left", "right"):
        for name, positions in (("keys", case.keys[side]), ("columns", case.outputs[side])):
            if positions:
                kept.append((c_int32 * len(positions))(*positions))
                setattr(spec, f"{side}_{name}", kept[-1])
        setattr(spec, f"{side}_column_count", len(case.outputs[side]))
    if any(case.flags) or (case.flags and not way.spec_output):  # else NULL means the same
        kept.append((c_int32 * len(case.flags))(*case.flags))
        spec.key_flags = kept[-1]
    spec.output = case.columns * abi.OUTPUT_COLUMNS | case.pairs * abi.OUTPUT_PAIRS
    named = any(case.outputs.values())
    if not way.spec_output and case.columns == named and case.pairs != named:
        spec.output = 0  # means the same
    if case.grouped is not None:
        kept.append(structs_of(case.grouped))
        spec.aggregates, spec.aggregate_count = kept[-1], len(kept[-1])
        spec.group_side = spec_side(case.grouped)
    return spec, kept


def _explain(plan: Handle) -> None:
    length = c_size_t(1 << 14)
    buffer = ctypes.create_string_buffer(length.value)
    call("plan_explain", plan.pointer, buffer, ctypes.byref(length))
    if length.value != len(buffer.value) + 1:
        raise BadResult(f"plan_explain says {length.value} bytes, and writes {len(buffer.value)}")


def _read(
    result: Handle,
    case: Case,
    seen: Case,
    way: Way,
    laid: dict[str, dict],
    picked: dict[str, Picked],
) -> Output:
    statistics = abi.Statistics()
    call("result_get_statistics", result.pointer, ctypes.byref(statistics))
    output = read(result, seen, way.reading, laid)
    said = statistics.left_rows, statistics.right_rows, statistics.output_rows
    are = case.tables["left"].rows, case.tables["right"].rows, output.rows
    if said != are:
        raise BadResult(f"statistics say {said} rows left, right and out; they are {are}")
    for side, numbers in output.indices.items():
        if side in picked:
            output.indices[side] = picked[side].rows_of(numbers)
    return output
