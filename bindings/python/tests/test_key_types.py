"""Keys of every type that the library compares by value, and of two types at a time."""

import math
from decimal import Decimal

import pyarrow as pa
import pytest

import gpujoin

INTEGERS = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = [pa.float16(), pa.float32(), pa.float64()]


def extremes(kind):
    """Values at the ends of an integer type, around zero, and NULL."""
    unsigned = pa.types.is_unsigned_integer(kind)
    bits = kind.bit_width
    low = 0 if unsigned else -(1 << bits - 1)
    high = (1 << bits) - 1 if unsigned else (1 << bits - 1) - 1
    values = {low, low + 1, 0, 1, 100, high - 1, high} | (set() if unsigned else {-1, -100})
    return [*sorted(values), None]


def joined(context, left, right, **named):
    left = pa.table({"k": left, "i": range(len(left))})
    right = pa.table({"k": right, "j": range(len(right))})
    answer = gpujoin.join(left, right, "k", select=["i", "j"], context=context, **named)
    return sorted(zip(*answer.to_table().to_pydict().values()))


@pytest.mark.parametrize("left", INTEGERS, ids=str)
@pytest.mark.parametrize("right", INTEGERS, ids=str)
def test_integers_compare_by_value(context, left, right):
    lefts, rights = extremes(left), extremes(right)
    expected = [
        (i, j)
        for i, one in enumerate(lefts)
        for j, other in enumerate(rights)
        if one is not None and one == other
    ]
    assert joined(context, pa.array(lefts, left), pa.array(rights, right)) == expected


@pytest.mark.parametrize("left", FLOATS, ids=str)
@pytest.mark.parametrize("right", FLOATS, ids=str)
def test_floats_compare_by_value(context, left, right):
    values = [0.0, -0.0, 1.5, -1.5, math.nan, math.inf, -math.inf, 65504.0, 2.0**-24, None]
    expected = [
        (i, j)
        for i, one in enumerate(values)
        for j, other in enumerate(values)
        if None not in (one, other) and (one == other or (one != one and other != other))
    ]
    assert joined(context, pa.array(values, left), pa.array(values, right)) == expected


def test_a_tenth_of_two_widths_is_not_equal(context):
    narrow, wide = pa.array([0.1, 0.5], pa.float32()), pa.array([0.1, 0.5], pa.float64())
    assert joined(context, narrow, wide) == [(1, 1)]


def test_decimals_binaries_and_times(context):
    for kind, values in (
        (pa.decimal128(38, 2), [Decimal("-1.25"), Decimal("1e30"), Decimal(0), None]),
        (pa.binary(16), [b"0123456789abcdef", b"0" * 16, b"0" * 15 + b"1", None]),
        (pa.time32("ms"), [0, 1, 86399999, None]),
        (pa.time64("ns"), [0, 1, 1 << 40, None]),
        (pa.duration("s"), [0, -1, 1 << 40, None]),
    ):
        other = list(reversed(values))
        assert joined(context, pa.array(values, kind), pa.array(other, kind)) == [
            (0, 3),
            (1, 2),
            (2, 1),
        ]


def test_types_that_do_not_compare(context):
    for left, right in (
        (pa.decimal128(10, 2), pa.float64()),
        (pa.time64("us"), pa.duration("us")),
        (pa.date32(), pa.int32()),
        (pa.int64(), pa.float64()),
        (pa.bool_(), pa.int8()),
        (pa.string(), pa.binary()),
        (pa.string(), pa.int64()),
    ):
        with pytest.raises(gpujoin.TypeMismatch):
            joined(context, pa.array([None], left), pa.array([None], right))


def test_kinds_with_keys_of_two_types(context):
    left, right = pa.array([-1, 0, 300, None], pa.int16()), pa.array([0, 255, None], pa.uint8())
    left, right = pa.table({"k": left}), pa.table({"k": right})
    full = gpujoin.join(left, right, "k", how="full", context=context).to_table()
    assert full.schema.field("k").type == pa.int16()
    assert full.schema.field("k_right").type == pa.uint8()
    found = sorted(zip(*full.to_pydict().values()), key=str)
    wanted = [(-1, None), (0, 0), (300, None), (None, 255), (None, None), (None, None)]
    assert found == sorted(wanted, key=str)
    mark = gpujoin.join(left, right, "k", how="mark", context=context).to_table()
    assert dict(zip(*mark.to_pydict().values())) == {-1: None, 0: True, 300: None, None: None}
