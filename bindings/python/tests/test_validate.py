"""join(validate=): keys that should be unique, and are not."""

import datetime
import decimal
import math

import pyarrow as pa
import pyarrow.compute
import pytest

import gpujoin

ONCE = pa.table({"k": [1, 2, None, None], "a": range(4)})
TWICE = pa.table({"k": [5, 1, 1, None], "b": range(4)})


@pytest.mark.parametrize(
    "left, right, passing",
    [
        (ONCE, ONCE, {"1:1", "1:m", "m:1", "m:m"}),
        (ONCE, TWICE, {"1:m", "m:m"}),
        (TWICE, ONCE, {"m:1", "m:m"}),
        (TWICE, TWICE, {"m:m"}),
    ],
)
def test_sides(context, left, right, passing):
    names = {"1": "one", "m": "many"}
    for validate in ("1:1", "1:m", "m:1", "m:m"):
        words = "_to_".join(names[part] for part in validate.split(":"))
        for spelled in (validate, words, words.upper()):
            named = {"on": "k", "validate": spelled, "context": context}
            if validate in passing:
                assert gpujoin.join(left, right, **named).num_rows > 0
                continue
            with pytest.raises(gpujoin.NotUnique, match="k = 1 is in 2 rows") as caught:
                gpujoin.plan(left, right, **named)
            side = "left" if left is TWICE and validate.startswith("1") else "right"
            assert f"the keys of {side} are not unique" in str(caught.value)


@pytest.mark.parametrize("how", ["left", "full", "semi", "right_anti", "mark"])
def test_of_other_kinds(context, how):
    assert gpujoin.join(ONCE, TWICE, "k", how=how, validate="1:m", context=context).num_rows
    with pytest.raises(gpujoin.NotUnique):
        gpujoin.join(ONCE, TWICE, "k", how=how, validate="m:1", context=context)


def test_several_keys(context):
    left = pa.table({"a": [1, 1, 2, None, None], "b": [1, 2, None, 3, 3]})
    right = pa.table({"c": pa.array([1, 1], pa.int16()), "d": [2, 2]})
    named = {"left_on": ["a", "b"], "right_on": ["c", "d"], "context": context}
    assert gpujoin.join(left, right, validate="1:m", **named).num_rows == 2
    with pytest.raises(gpujoin.NotUnique, match="of right are not unique: c, d = 1, 2 is in 2 "):
        gpujoin.join(left, right, validate="1:1", **named)


@pytest.mark.parametrize(
    "kind, text",
    [
        (pa.date32(), "1970-01-02"),
        (pa.date64(), "1970-01-01"),
        (pa.timestamp("us"), "1970-01-01 00:00:00.000001"),
        (pa.timestamp("s", "UTC"), "1970-01-01 00:00:01"),
        (pa.uint64(), "1"),
    ],
    ids=str,
)
def test_types(context, kind, text):
    integer = pa.int32() if kind.bit_width == 32 else pa.int64()
    values = pa.array([1, 0, 1], integer).view(kind)
    table = pa.table({"k": values})
    with pytest.raises(gpujoin.NotUnique, match=f"k = {text}"):
        gpujoin.join(table, table, "k", validate="1:1", context=context)
    nulls = pa.table({"k": pa.nulls(3)})
    assert gpujoin.join(nulls, table, "k", validate="1:m", context=context).num_rows == 0


def test_chunks_and_names_that_come_twice(context):
    day = datetime.date(2024, 2, 29)
    table = pa.table([[day], [1], [2]], names=["k", "v", "v"])
    table = pa.concat_tables([table, table])
    with pytest.raises(gpujoin.NotUnique, match="2024-02-29 is in 2 rows"):
        gpujoin.join(table, table.slice(0, 1), "k", validate="1:m", context=context)
    assert gpujoin.join(table, table.slice(0, 1), "k", validate="m:1", context=context).num_rows


@pytest.mark.parametrize("validate", ["", "1", "1:n", "one", True, 11])
def test_what_says_nothing(context, validate):
    with pytest.raises(gpujoin.InvalidArgument, match="^validate .* is none of 1:1, 1:m, m:1, m:m"):
        gpujoin.join(ONCE, ONCE, "k", validate=validate, context=context)
    with pytest.raises(gpujoin.InvalidArgument, match="^validate '1:1': there are no keys"):
        gpujoin.join(ONCE, ONCE, how="cross", validate="1:1", context=context)


KEYS_TWICE = [
    (pa.array(["b", "a", "b"]).dictionary_encode(), "b"),
    (pa.array(["b", "a", "b"], pa.string_view()), "b"),
    (pa.array([b"b", b"a", b"b"], pa.binary_view()), "b'b'"),
    (pa.compute.run_end_encode(pa.array([7, 7, 8])), "7"),
    (pa.array([True, False, True]), "True"),
    (pa.array([float("nan"), 1.0, float("nan")]), "nan"),
    (pa.array([0.0, 1.0, -0.0], pa.float16()), "0.0"),
    (pa.array([decimal.Decimal("1.5"), None, decimal.Decimal("1.5")], pa.decimal32(5, 1)), "1.5"),
    (pa.array([decimal.Decimal("1.5"), None, decimal.Decimal("1.5")], pa.decimal256(50, 1)), "1.5"),
    (pa.array([b"0" * 16, b"1" * 16, b"0" * 16], pa.binary(16)).cast(pa.uuid()), ""),
]


@pytest.mark.parametrize("values, text", KEYS_TWICE, ids=lambda v: str(getattr(v, "type", v)))
def test_types_of_all_sorts(context, values, text):
    table = pa.table({"k": values})
    with pytest.raises(gpujoin.NotUnique, match=f"k = {text}.* is in 2 rows"):
        gpujoin.join(table, table, "k", validate="1:1", context=context)
    once = table.slice(1, 1)
    assert gpujoin.join(once, once, "k", validate="1:1", context=context).num_rows < 2


def test_what_is_equal_is_what_the_join_finds_so(context):
    """NULL with null_equal, and NaN without ieee_float."""
    table = pa.table({"k": [1.0, None, None]})
    named = {"on": "k", "validate": "1:1", "context": context}
    assert gpujoin.join(table, table, **named).num_rows == 1
    with pytest.raises(gpujoin.NotUnique, match="k = None is in 2 rows"):
        gpujoin.join(table, table, null_equal=True, **named)
    nothing = pa.table({"k": pa.nulls(2)})
    assert gpujoin.join(nothing, nothing, **named).num_rows == 0
    with pytest.raises(gpujoin.NotUnique, match="k = None is in 2 rows"):
        gpujoin.join(nothing, nothing, null_equal=["k"], **named)
    nans = pa.table({"k": [math.nan, math.nan, 1.0]})
    assert gpujoin.join(nans, nans, ieee_float=True, **named).num_rows == 1
    with pytest.raises(gpujoin.NotUnique, match="k = nan is in 2 rows"):
        gpujoin.join(nans, nans, **named)
