"""Keys of every type and of every two that compare, against plain Python: what the values mean."""

import datetime
import decimal
import itertools
import math
import random

import pyarrow as pa
import pyarrow.compute
import pytest

import gpujoin

DAY = 86400
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def array(values, kind):
    """As pa.array; for numbers that stand for times, and for types that pyarrow makes by casts."""
    if pa.types.is_run_end_encoded(kind):
        return pa.compute.run_end_encode(array(values, kind.value_type), kind.run_end_type)
    if pa.types.is_dictionary(kind):
        encoded = array(values, kind.value_type).dictionary_encode()
        indices = encoded.indices.cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(indices, encoded.dictionary)
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        integer = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(values, integer).view(kind)
    return pa.array(values, kind)


def seconds(kind):
    """How many of a type's units are a second."""
    if kind == pa.date64():
        return 1000
    return 1 if kind == pa.date32() else UNITS[kind.unit]


def of_seconds(numbers, kind):
    if kind == pa.date32():
        return array([None if n is None else n // DAY for n in numbers], kind)
    return array([None if n is None else n * seconds(kind) for n in numbers], kind)


def arrays(values, kinds, make=array):
    return [(make(values, kind), values) for kind in kinds]


ZONES = [pa.timestamp(unit, zone) for unit in UNITS for zone in ("UTC", "Europe/Paris", "+05:30")]
TEXTS = ["", "a", "a\0", "twelve bytes", "more than twelve 1", "more than twelve 2", "é", None, "a"]
BYTES = [b"abc", b"\0\0\0", b"ab\0", None, b"abc", b"\xff\xff\xff"]
SIXTEEN = [b"0123456789abcdef", b"\0" * 16, None, b"0123456789abcde0"]
WIDE = [bytes([i]) * 21 for i in (0, 1, 255)] + [None, b"\0" * 20 + b"\1"]
WHOLE = [0, 1, 100, None, 99, 1]
HALVES = [decimal.Decimal(n) / 2 for n in (-3, 0, 1, 2, 200)] + [None]
DATES = [0, DAY, -DAY, 20000 * DAY, None, DAY]
INTEGERS = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
DECIMALS = [
    *(pa.decimal32(9, 2), pa.decimal64(18, 1), pa.decimal128(38, 10), pa.decimal256(76, 30)),
    *(pa.decimal128(20, 1), pa.decimal256(40, 2)),
]
VALUES_OF_TEXT = [pa.string(), pa.large_string(), pa.string_view()]
VALUES_OF_BYTES = [pa.binary(), pa.large_binary(), pa.binary_view()]
ENCODED = [
    *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.uint32(), pa.large_string())),
    *(pa.dictionary(pa.int64(), pa.string_view()), pa.run_end_encoded(pa.int16(), pa.string())),
    *(pa.run_end_encoded(pa.int32(), pa.large_string()),),
]

# Columns that compare with each other, with what their values mean.
GROUPS = {
    "bool": arrays([True, False, None, True], [pa.bool_(), pa.dictionary(pa.int8(), pa.bool_())]),
    "whole": arrays(WHOLE, [*INTEGERS, *DECIMALS, pa.decimal32(4, 0), pa.decimal256(50, 0)]),
    "scaled": arrays(HALVES, DECIMALS) + arrays([-1, 0, 1, 100, None], [pa.int8(), pa.int64()]),
    "floats": arrays([0.0, 1.5, -0.0, None, math.inf], [pa.float16(), pa.float32(), pa.float64()]),
    "dates": arrays(
        DATES, [pa.date32(), pa.date64(), *(pa.timestamp(unit) for unit in UNITS)], of_seconds
    ),
    "instants": arrays([0, 1, -1, None, 1 << 33], ZONES, of_seconds),
    "times": arrays(
        [0, 1, 86399, None],
        [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")],
        of_seconds,
    ),
    "durations": arrays([0, 1, -1, None], [pa.duration(unit) for unit in UNITS], of_seconds),
    "text": arrays(TEXTS, VALUES_OF_TEXT + ENCODED),
    "bytes": arrays(
        BYTES,
        [*VALUES_OF_BYTES, pa.binary(3), pa.dictionary(pa.int16(), pa.binary())]
        + [pa.run_end_encoded(pa.int32(), pa.binary())],
    ),
    "16 bytes": arrays(SIXTEEN, [pa.binary(16), pa.binary(), pa.binary_view()]),
    "21 bytes": arrays(WIDE, [pa.binary(21), pa.large_binary()]),
    "dictionaries and runs of numbers": [
        *arrays(WHOLE, [pa.dictionary(pa.int8(), pa.int64()), pa.int16()]),
        *arrays(WHOLE, [pa.run_end_encoded(pa.int64(), pa.int32()), pa.decimal128(10, 3)]),
    ],
    "months, days and nanoseconds": arrays(
        [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), None, (1, 0, 0)],
        [pa.month_day_nano_interval()],
    ),
}
PAIRS = [
    pytest.param(left, right, id=f"{left[0].type} = {right[0].type}")
    for columns in GROUPS.values()
    for left, right in itertools.product(columns, columns)
]


def are_equal(one, other, null_equal=False, ieee=False):
    if one is None or other is None:
        return null_equal and one is other
    return one == other or (not ieee and one != one and other != other)


def expected(left, right, **how):
    found = itertools.product(enumerate(left), enumerate(right))
    return sorted((i, j) for (i, one), (j, other) in found if are_equal(one, other, **how))


def joined(context, left, right, **named):
    """The row numbers of each pair."""
    left, right = pa.table({"l": left}), pa.table({"r": right})
    result = gpujoin.join(left, right, "l", "r", select=[], pairs=True, context=context, **named)
    return sorted(zip(*result.pairs().to_pydict().values()))


def turned(column):
    """The same column from back to front, as a slice of a longer one."""
    values, meaning = column
    whole = pa.chunked_array([values, values]).combine_chunks()
    first = len(values) // 2
    return whole.slice(first, len(values)), (meaning * 2)[first : first + len(values)]


@pytest.mark.parametrize("left, right", PAIRS)
def test_every_two_that_compare(context, left, right):
    right = turned(right)
    for null_equal in (False, True):
        found = joined(context, left[0], right[0], null_equal=null_equal)
        assert found == expected(left[1], right[1], null_equal=null_equal)


@pytest.mark.parametrize("columns", GROUPS.values(), ids=GROUPS)
def test_nothing_is_what_has_no_values(context, columns):
    """A column of type null compares with every other, and is NULL throughout."""
    nothing = pa.nulls(3)
    for values, meaning in columns:
        assert joined(context, values, nothing) == joined(context, nothing, values) == []
        wanted = expected(meaning, [None] * 3, null_equal=True)
        assert joined(context, values, nothing, null_equal=True) == wanted
        assert joined(context, values.slice(0, 0), values) == []
    assert len(joined(context, nothing, nothing, null_equal=True)) == 9


NUMBERS = {"whole", "scaled", "dictionaries and runs of numbers"}
BINARIES = {"bytes", "16 bytes", "21 bytes"}
STRANGERS = [
    pair
    for pair in itertools.combinations(GROUPS, 2)
    if not any(set(pair) <= group for group in (NUMBERS, BINARIES))
]


@pytest.mark.parametrize("left, right", STRANGERS, ids=str)
def test_others_do_not_compare(context, left, right):
    (left, _), (right, _) = GROUPS[left][0], GROUPS[right][0]
    with pytest.raises(gpujoin.TypeMismatch) as caught:
        joined(context, left, right)
    for name, values in (("l", left), ("r", right)):
        assert f"{name} ({values.type})" in str(caught.value)


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.int8()), pa.struct([("x", pa.int8())]), pa.map_(pa.int8(), pa.int8())],
    ids=str,
)
def test_nested_types_are_no_keys(context, kind):
    for column in (pa.nulls(2, kind), pa.DictionaryArray.from_arrays([0, None], pa.nulls(1, kind))):
        with pytest.raises(gpujoin.TypeMismatch, match=r'"l".*l \('):
            joined(context, column, column)


def test_the_ends_of_ranges(context):
    """Where a value of one type has no place in the other."""
    big = 10**37
    for left, right, wanted in (
        (pa.array([2**64 - 1, 0], pa.uint64()), pa.array([-1, 0], pa.int8()), [(1, 1)]),
        (
            pa.array([decimal.Decimal(2**64 - 1), decimal.Decimal(-1)], pa.decimal128(38, 0)),
            pa.array([2**64 - 1, 2**63], pa.uint64()),
            [(0, 0)],
        ),
        (
            pa.array([decimal.Decimal(big), decimal.Decimal(1)], pa.decimal128(38, 0)),
            pa.array([decimal.Decimal(1), decimal.Decimal("1e-38")], pa.decimal256(76, 38)),
            [(1, 0)],
        ),
        (
            pa.array([decimal.Decimal(10**75), decimal.Decimal(-(10**75))], pa.decimal256(76, 0)),
            pa.array([decimal.Decimal(-(10**75))], pa.decimal256(76, 0)),
            [(1, 0)],
        ),
        (
            pa.array([decimal.Decimal(7) * 10**3], pa.decimal128(5, -3)),
            pa.array([7000, 7], pa.int16()),
            [(0, 0)],
        ),
        (
            array([2**62, -(2**62), 1], pa.timestamp("s")),
            array([0, 10**9, 2**62], pa.timestamp("ns")),
            [(2, 1)],
        ),
        (array([2**31 - 1, -1], pa.date32()), array([-DAY, 0], pa.timestamp("s")), [(1, 0)]),
        (array([1], pa.date32()), array([DAY * 1000 + 1], pa.date64()), []),
        (
            pa.array([65504.0, 2.0**-24], pa.float16()),
            pa.array([2.0**-24, 65504.0]),
            [(0, 1), (1, 0)],
        ),
        (pa.array([0.1], pa.float32()), pa.array([0.1], pa.float64()), []),
    ):
        assert joined(context, left, right) == wanted
        assert joined(context, right, left) == sorted((j, i) for i, j in wanted)


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_nan(context, kind):
    values = [math.nan, 1.0, None, -math.nan, 0.0, -0.0]
    for null_equal, ieee in itertools.product((False, True), repeat=2):
        found = joined(
            *(context, pa.array(values, kind), pa.array(values, pa.float64())),
            null_equal=null_equal,
            ieee_float=ieee,
        )
        assert found == expected(values, values, null_equal=null_equal, ieee=ieee)


def test_what_lies_beneath_a_null_is_no_value(context):
    """NULL is neither zero nor empty, whatever the bytes there say."""
    of_kinds = {pa.int64(): [0, 7], pa.string(): ["", "x"], pa.bool_(): [False, True]}
    for kind, values in of_kinds.items():
        mask = pa.array([False, True])
        full = pa.array(values, kind)
        hidden = pa.compute.if_else(mask, pa.scalar(None, kind), full)
        if pa.types.is_integer(kind):
            hidden = pa.Array.from_buffers(kind, 2, [hidden.buffers()[0], full.buffers()[1]])
        zeros = pa.array([values[0], None, values[1]], kind)
        assert joined(context, hidden, zeros, null_equal=True) == [(0, 0), (1, 1)]
        assert joined(context, hidden, zeros) == [(0, 0)]


def test_sixteen_keys_and_no_more(context):
    pick = random.Random(3)
    columns = [column for group in GROUPS.values() for column in group[:2]][:16]
    rows = [tuple(pick.randrange(len(m)) for _, m in columns) for _ in range(40)]
    rows += rows[:20]
    names = [f"k{i}" for i in range(16)]

    def table(numbers):
        taken = [
            pa.concat_arrays([values.slice(row[i], 1) for row in numbers])
            for i, (values, _) in enumerate(columns)
        ]
        return pa.table(taken, names=names)

    def meanings(numbers):
        return [tuple(m[i] for i, (_, m) in zip(row, columns)) for row in numbers]

    lefts, rights = rows[:45], rows[15:]
    named = {"on": names, "select": [], "pairs": True, "context": context}
    for null_equal in (False, True):
        result = gpujoin.join(table(lefts), table(rights), null_equal=null_equal, **named)
        wanted = sorted(
            (i, j)
            for i, one in enumerate(meanings(lefts))
            for j, other in enumerate(meanings(rights))
            if all(are_equal(a, b, null_equal) for a, b in zip(one, other))
        )
        assert sorted(zip(*result.pairs().to_pydict().values())) == wanted
    assert wanted
    named["on"] = [*names, "k0"]
    with pytest.raises(gpujoin.Unsupported, match="key_count: 17; .* 1 to 16"):
        gpujoin.join(table(lefts), table(rights), **named)


FLAGGED = [
    ({}, {(0, 0)}),
    ({"null_equal": True}, {(0, 0), (1, 1), (2, 2), (4, 4)}),
    ({"null_equal": ["a"]}, {(0, 0), (1, 1)}),
    ({"null_equal": "b"}, {(0, 0), (2, 2)}),
    ({"null_equal": [False, True]}, {(0, 0), (2, 2)}),
    ({"null_equal": ("b", "a")}, {(0, 0), (1, 1), (2, 2), (4, 4)}),
    ({"null_equal": []}, {(0, 0)}),
    ({"ieee_float": True, "null_equal": True}, {(0, 0), (1, 1), (2, 2), (4, 4)}),
]


@pytest.mark.parametrize("named, wanted", FLAGGED, ids=str)
def test_flags_of_some_keys(context, named, wanted):
    left = pa.table({"a": [1, None, 1, 2, None], "b": ["x", "x", None, "y", None]})
    right = pa.table({"c": left["a"], "d": pa.array(["x", "x", None, "z", None])})
    result = gpujoin.join(
        left, right, ["a", "b"], ["c", "d"], select=[], pairs=True, context=context, **named
    )
    assert set(zip(*result.pairs().to_pydict().values())) == wanted


@pytest.mark.parametrize("how", ["inner", "left", "full", "semi", "anti", "mark", "not_in"])
def test_null_equal_of_other_kinds(context, how):
    left = pa.table({"k": pa.array(["1", None, "3", None])})
    right = pa.table({"k": pa.array([None, "1", "5"])})
    answer = gpujoin.join(left, right, "k", how=how, null_equal=True, context=context)
    found = sorted(zip(*answer.to_table().to_pydict().values()), key=str)
    wanted = {
        "inner": [("1",), (None,), (None,)],
        "left": [("1",), ("3",), (None,), (None,)],
        "full": [("1", "1"), ("3", None), (None, "5"), (None, None), (None, None)],
        "semi": [("1",), (None,), (None,)],
        "anti": [("3",)],
        "mark": [("1", True), ("3", False), (None, True), (None, True)],
        "not_in": [("3",)],
    }
    assert found == sorted(wanted[how], key=str)


@pytest.mark.parametrize("argument", ["null_equal", "ieee_float"])
@pytest.mark.parametrize(
    "given, text",
    [
        (1, "is a int; it must be True, False, a list"),
        (None, "is a NoneType; it must be"),
        ({"a": True}, "is a dict"),
        ("c", ": 'c' is no key; the keys are a, b"),
        (["a", 5], ": 5 is no key; the keys are a, b"),
        ([True], "has 1 truth values, and there are 2 keys"),
        ([True, "a"], ": True is no key; the keys are a, b"),
    ],
)
def test_flags_that_say_nothing(context, argument, given, text):
    table = pa.table({"a": [1], "b": [2]})
    for call in (gpujoin.join, gpujoin.plan):
        with pytest.raises(gpujoin.InvalidArgument, match=f"^{argument} ?{text}"):
            call(table, table, ["a", "b"], context=context, **{argument: given})
    with pytest.raises(gpujoin.InvalidArgument, match=f"^{argument}: .*there are no keys"):
        gpujoin.join(table, table, how="cross", context=context, **{argument: True})


@pytest.mark.parametrize("kind", [*VALUES_OF_TEXT, *ENCODED], ids=str)
def test_many_texts_in_chunks(context, kind):
    """Chunks of other dictionaries each; texts that share their first bytes."""
    pick = random.Random(11)
    pool = [None, "", *(f"{'shared ' * (i % 5)}{i % 700}" for i in range(1500))]

    def column(count, size):
        values = [pick.choice(pool[: 2 + i % 1400]) for i in range(count)]
        small = pa.types.is_dictionary(kind) and kind.index_type == pa.int8()
        values = [pool[i % 90 if small else pool.index(v)] for i, v in enumerate(values)]
        chunks = [array(values[i : i + size], kind) for i in range(0, count, size)]
        return pa.chunked_array(chunks), values

    (left, lefts), (right, rights) = column(2000, 77), column(900, 450)
    places = {}
    for j, value in enumerate(rights):
        places.setdefault(value, []).append(j)
    for null_equal in (False, True):
        wanted = sorted(
            (i, j)
            for i, value in enumerate(lefts)
            if value is not None or null_equal
            for j in places.get(value, [])
        )
        assert joined(context, left, right, null_equal=null_equal) == wanted


def test_dates_stay_what_they_are(context):
    """Keys come out in their own types, whatever they are compared as."""
    day = datetime.date(2024, 2, 29)
    left = pa.table({"k": pa.array([day], pa.date32())})
    right = pa.table({"j": pa.array([datetime.datetime(2024, 2, 29)], pa.timestamp("us"))})
    result = gpujoin.join(left, right, "k", "j", select=["k", "j"], context=context)
    assert result.schema.types == [pa.date32(), pa.timestamp("us")]
    assert result.to_table().to_pylist() == [{"k": day, "j": datetime.datetime(2024, 2, 29)}]
