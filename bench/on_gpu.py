"""A context of libgpujoin on CuPy's stream: columns that lie on the GPU, results that stay there.

For the scripts beside it, which need GPUJOIN_LIBRARY.
"""

import argparse
import ctypes
import datetime
import json
import pathlib
import statistics
import sys

import cupy as cp

_ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT / "bindings/python"))
from gpujoin import _abi, errors  # noqa: E402, F401
from gpujoin._kinds import KINDS  # noqa: E402, F401
from gpujoin._plan_options import plan_options  # noqa: E402, F401
from gpujoin._structs import Column  # noqa: E402

NO_ROW = 0xFFFFFFFF
TYPE_INT32, TYPE_INT64, TYPE_UTF8, MEMORY_DEVICE, FETCH_COLUMN = 3, 4, 23, 2, 1
Int32s = ctypes.POINTER(ctypes.c_int32)


class Values:
    """A column: CuPy arrays of values, of validity words and of text's offsets."""

    def __init__(self, data, type=TYPE_INT32, validity=None, offsets=None):
        self.data, self.type, self.validity, self.offsets = data, type, validity, offsets

    @property
    def rows(self):
        return len(self.offsets) - 1 if self.offsets is not None else len(self.data)


class Session:
    """A context on CuPy's stream."""

    def __init__(self):
        self.stream = cp.cuda.Stream(non_blocking=True)
        options = _abi.ContextOptions(device=_abi.DEVICES["cuda"], cuda_stream=self.stream.ptr)
        self.context = _abi.Handle("context")
        _abi.invoke("context_create", ctypes.byref(options), self.context.out)

    def relate(self, columns):
        """Of Values, which must outlive the relation."""
        described = (Column * len(columns))()
        for column, values in zip(described, columns):
            column.struct_size = ctypes.sizeof(Column)
            column.type = values.type
            column.data = values.data.data.ptr
            column.validity = values.validity.data.ptr if values.validity is not None else None
            column.offsets = values.offsets.data.ptr if values.offsets is not None else None
            column.memory = MEMORY_DEVICE
        # The columns were written on another stream than the context's.
        cp.cuda.Device().synchronize()
        relation = _abi.Handle("relation")
        arguments = ctypes.c_int64(columns[0].rows), described, len(columns), relation.out
        _abi.invoke("relation_create", self.context, *arguments)
        return relation

    def join(self, left, right, kind=1, keys=(0,), left_columns=(), right_columns=(), plan=None, **fields):
        """Without columns: row numbers. plan: gpujoin_plan_options; fields: others of gpujoin_join_spec."""
        spec = _abi.JoinSpec(kind=kind, key_count=len(keys), **fields)
        spec.output = 1 if left_columns or right_columns or "aggregates" in fields else 2
        lists = [(ctypes.c_int32 * len(each))(*each) for each in (keys, left_columns, right_columns)]
        spec.left_keys = spec.right_keys = ctypes.cast(lists[0], Int32s)
        spec.left_columns, spec.left_column_count = ctypes.cast(lists[1], Int32s), len(lists[1])
        spec.right_columns, spec.right_column_count = ctypes.cast(lists[2], Int32s), len(lists[2])
        result = _abi.Handle("result")
        options = None if plan is None else ctypes.byref(plan)
        _abi.invoke("join", self.context, left, right, ctypes.byref(spec), options, result.out)
        return result

    def fetch(self, result, what, column, width=4):
        """A column of the result, and where it is valid; width 0: bits."""
        rows = rows_of(result)
        words = (rows + 31) // 32
        values = cp.empty(rows if width else words, cp.uint64 if width == 8 else cp.uint32)
        validity = cp.empty(words, cp.uint32)
        # CuPy gives out memory again that kernels on its own stream may still read.
        cp.cuda.Device().synchronize()
        fetch = _abi.Fetch(what=what, column=column, memory=MEMORY_DEVICE)
        fetch.type = _abi.TYPE_UINT32 if what != FETCH_COLUMN else 0
        fetch.data, fetch.data_bytes = values.data.ptr, values.nbytes
        fetch.validity, fetch.validity_bytes = validity.data.ptr, validity.nbytes
        _abi.invoke("result_fetch", result, None, ctypes.byref(fetch), 1)
        return values if width else bits_of(values, rows), bits_of(validity, rows)

    def pairs(self, result):
        """Row numbers of both sides."""
        return [
            self.fetch(result, what, 0)[0] for what in (_abi.FETCH_LEFT_INDEX, _abi.FETCH_RIGHT_INDEX)
        ]

    def measure(self, make_result, calls, check_result):
        """Median of the calls behind two, by two events on the stream, planning counted; the plan and
        the stages are of the call in the middle."""
        measured = []
        for call in range(calls + 2):
            start, end = cp.cuda.Event(), cp.cuda.Event()
            start.record(self.stream)
            result = make_result()
            end.record(self.stream)
            end.synchronize()
            if call >= 2:  # the pool is warm
                measured.append((cp.cuda.get_elapsed_time(start, end), *stages_of(result)))
            if call == 0:
                check_result(result)
            rows = rows_of(result)
            result.close()
        measured.sort(key=lambda call: call[0])
        times = [call[0] for call in measured]
        _, plan, stages = measured[len(measured) // 2]
        return {
            "ms": round(statistics.median(times), 4),
            "spread": round((max(times) - min(times)) / statistics.median(times), 4),
            "rows": rows,
            "plan": plan,
            "stages": stages,
        }

    def trim(self):
        _abi.invoke("context_trim", self.context)
        cp.get_default_memory_pool().free_all_blocks()


def spread_keys(numbers):
    """64 bits that tell numbers apart, far from each other."""
    mixed = numbers.astype(cp.uint64) * cp.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> cp.uint64(29))).view(cp.int64)


def bits_of(words, rows):
    return cp.unpackbits(words.view(cp.uint8), bitorder="little")[:rows].astype(bool)


def words_of(bits):
    """Validity as gpujoin_column has it, of booleans."""
    padded = cp.zeros((len(bits) + 31) // 32 * 32, bool)
    padded[: len(bits)] = bits
    return cp.packbits(padded, bitorder="little").view(cp.uint32)


def rows_of(result):
    rows = ctypes.c_int64()
    _abi.invoke("result_get_rows", result, ctypes.byref(rows))
    return rows.value


def stages_of(result):
    raw = _abi.Statistics()
    _abi.invoke("result_get_statistics", result, ctypes.byref(raw))
    stages = {}
    for number in range(raw.stage_count):
        stage = _abi.StageStatistics()
        _abi.invoke("result_get_stage", result, number, ctypes.byref(stage))
        name = _abi.text(stage.stage)
        stages[name] = round(stages.get(name, 0) + stage.milliseconds, 4)
    return _abi.text(raw.plan), stages


def expect(holds, what):
    if not holds:
        raise SystemExit("WRONG RESULT: " + what)


def options_of(description, **numbers):
    """The command line: a benchmark's own numbers with their defaults, and what all of them have."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    for name, default in numbers.items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=default)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output", type=pathlib.Path)
    return parser.parse_args()


def write(options, **figures):
    """bench/results: figures with what they are of, where a file for them is named."""
    if options.output is None:
        return
    command = [str(pathlib.Path(sys.argv[0]).resolve().relative_to(_ROOT))]
    for name, value in vars(options).items():
        # Files and folders are of one machine.
        if name != "commit" and not isinstance(value, pathlib.Path | None):
            value = " ".join(value) if isinstance(value, list) else value
            command.append(f"--{name.replace('_', '-')} {value}")
    context = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": options.commit,
        "device": cp.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "command": " ".join(command),
    }
    options.output.write_text(json.dumps({"context": context, **figures}, indent=2) + "\n")
