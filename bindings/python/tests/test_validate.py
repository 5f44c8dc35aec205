"""join(validate=): keys that should be unique, and are not."""

import datetime

import pyarrow as pa
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
    with pytest.raises(gpujoin.InvalidArgument, match="^validate '1:1': a cross join has no keys"):
        gpujoin.join(ONCE, ONCE, how="cross", validate="1:1", context=context)
