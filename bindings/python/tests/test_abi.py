"""The ctypes declarations against the header: the same fields, sizes and numbers."""

import ctypes
import re
from pathlib import Path

import pytest

from gpujoin import _abi, _structs, errors
from gpujoin._kinds import KINDS

HEADER = Path(__file__).parents[3] / "include" / "gpujoin.h"
SCALARS = {
    **{f"int{bits}_t": ctypes.sizeof(getattr(ctypes, f"c_int{bits}")) for bits in (32, 64)},
    **{f"uint{bits}_t": ctypes.sizeof(getattr(ctypes, f"c_uint{bits}")) for bits in (32, 64)},
    **{"double": 8, "char": 1, "gpujoin_log_function": 8, "gpujoin_progress_function": 8},
}
STRUCTS = {
    "gpujoin_error": _abi.Error,
    "gpujoin_context_options": _abi.ContextOptions,
    "gpujoin_context_info": _abi.ContextInfo,
    "gpujoin_column": _structs.Column,
    "gpujoin_join_spec": _abi.JoinSpec,
    "gpujoin_plan_options": _abi.PlanOptions,
    "gpujoin_sequence_step": _abi.SequenceStep,
    "gpujoin_sequence_spec": _abi.SequenceSpec,
    "gpujoin_key_filter_options": _abi.KeyFilterOptions,
    "gpujoin_key_filter_info": _abi.KeyFilterInfo,
    "gpujoin_applied_filter": _abi.AppliedFilter,
    "gpujoin_page": _abi.Page,
    "gpujoin_fetch": _abi.Fetch,
    "gpujoin_statistics": _abi.Statistics,
    "gpujoin_stage_statistics": _abi.StageStatistics,
}


@pytest.fixture(scope="module")
def header():
    if not HEADER.exists():
        pytest.skip("the header is not here")
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    return re.sub(r"[\s\\]+", " ", text)


def size_of(kind, header):
    if kind.endswith("*"):
        return 8
    while kind not in SCALARS:
        kind = re.search(rf"typedef (\w+) {kind};", header)[1]
    return SCALARS[kind]


@pytest.mark.parametrize("name", STRUCTS)
def test_structs(header, name):
    body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", header)[1]
    fields = re.findall(r"([\w ]+?\**) *(\w+)(?:\[(\d+)\])?;", body)
    expected = [
        (field, size_of(kind.strip(), header) * int(count or 1)) for kind, field, count in fields
    ]
    ours = STRUCTS[name]
    assert [(f, getattr(ours, f).size) for f, _ in ours._fields_] == expected


def test_functions(header):
    for name, arguments in _abi.FUNCTIONS.items():
        declared = re.search(rf"GPUJOIN_API gpujoin_status gpujoin_{name}\((.*?)\);", header)
        assert declared[1].count(",") == len(arguments), name


@pytest.mark.parametrize(
    "prefix, names",
    [
        ("DEVICE", {"automatic" if k == "auto" else k: v for k, v in _abi.DEVICES.items()}),
        ("ALGORITHM", {"automatic" if k == "auto" else k: v for k, v in _abi.ALGORITHMS.items()}),
        ("TRANSFORM", {k: v for k, v in _abi.TRANSFORMS.items() if v}),
        ("MATCH", {k: v for k, v in _abi.MATCHES.items() if v}),
        ("GATHER", {k: v for k, v in _abi.GATHERS.items() if v}),
        ("JOIN", {name: kind.number for name, kind in KINDS.items()}),
        ("KEY(?!_FILTER)", {"null_equal": _abi.KEY_NULL_EQUAL, "ieee_float": _abi.KEY_IEEE_FLOAT}),
        ("SIDE", {k: v for k, v in _abi.SIDES.items() if v}),
        ("TRANSFER", {k: v for k, v in _abi.TRANSFERS.items() if v}),
        ("SKEW", {k: v for k, v in _abi.SKEWS.items() if v}),
        (
            "KEY_FILTER",
            {"automatic" if k == "auto" else k: v for k, v in _abi.KEY_FILTERS.items()},
        ),
        ("FILTER", {k: v for k, v in _abi.FILTERS.items() if v}),
        (
            "MATERIALIZE",
            {"automatic" if k == "auto" else k: v for k, v in _abi.MATERIALIZE.items()},
        ),
    ],
)
def test_numbers(header, prefix, names):
    found = re.findall(rf"#define GPUJOIN_{prefix}_(\w+) (\d+)", header)
    assert {name.lower(): int(number) for name, number in found} == names


def test_statuses(header):
    found = dict(re.findall(r"#define GPUJOIN_ERROR_(\w+) (\d+)", header))
    assert sorted(map(int, found.values())) == sorted(errors._CLASSES)


def test_version(header):
    found = re.findall(r"#define GPUJOIN_VERSION_M\w+ (\d+)", header)
    assert tuple(map(int, found)) == _abi.VERSION
