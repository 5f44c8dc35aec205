"""estimate(): from schemas and numbers."""

import math

import pyarrow as pa
import pytest

import gpujoin
from gpujoin._kinds import KINDS

LEFT = pa.schema([pa.field("k", pa.int32(), False), ("a", pa.int64()), ("s", pa.string())])
RIGHT = pa.schema([pa.field("k", pa.int32(), False), ("b", pa.int64()), ("t", pa.large_string())])
ROWS = {"left_rows": 1 << 20, "right_rows": 1 << 22}


def test_a_foreign_key(context):
    found = gpujoin.estimate(LEFT, RIGHT, "k", select=["a", "b"], context=context, **ROWS)
    assert found.output_rows == 1 << 22
    assert found.output_bytes == (1 << 22) * 16 + 2 * (1 << 19)
    assert 1 < found.cpu_milliseconds < 10_000
    assert found.cpu_memory >= found.output_bytes / 2 and found.cpu_plan.startswith("cpu ")
    assert (found.cuda_milliseconds is None) == (context.info().device == "cpu")


@pytest.mark.parametrize("how", KINDS)
def test_rows_of_all_kinds(context, how):
    """As the same join of tables counts them."""
    left = pa.table({"k": pa.array([1, 2, 2, 3], pa.int32()), "a": [1, 2, 3, 4]})
    right = pa.table({"k": pa.array([2, 3, 4, 5, 6], pa.int32()), "b": [1, 2, 3, 4, 5]})
    if "right_single" == how:
        pytest.skip("a row has two matches")
    keys = {"on": "k"} if KINDS[how].has_keys else {}
    found = gpujoin.estimate(
        *(left.schema, right.schema),
        **keys,
        left_rows=4,
        right_rows=5,
        how=how,
        matches=3,
        left_matched=3,
        right_matched=2,
        context=context,
    )
    counted = gpujoin.plan(left, right, how=how, context=context, **keys).count()
    assert found.output_rows == counted.rows


def test_text_costs_more_when_it_is_longer(context):
    times = [
        gpujoin.estimate(LEFT, RIGHT, "k", text_bytes=size, context=context, **ROWS)
        for size in (10, 100, {"s": 1000, "t": 100})
    ]
    assert times[0].cpu_milliseconds < times[1].cpu_milliseconds < times[2].cpu_milliseconds
    assert times[0].output_bytes < times[1].output_bytes < times[2].output_bytes


def test_order_costs_something(context):
    plain = gpujoin.estimate(LEFT, RIGHT, "k", select=["a", "b"], context=context, **ROWS)
    ordered = gpujoin.estimate(LEFT, RIGHT, "k", order="left", select=["a", "b"], context=context, **ROWS)
    assert ordered.cpu_milliseconds > plain.cpu_milliseconds


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.bool_(), pa.float16(), pa.date32(), pa.date64(), pa.timestamp("us", "UTC")),
        *(pa.time32("s"), pa.time64("ns"), pa.duration("ms"), pa.decimal128(20, 2)),
        *(pa.decimal256(50, 2), pa.binary(3), pa.binary(16), pa.string_view(), pa.large_binary()),
        *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.int64())),
        *(pa.run_end_encoded(pa.int32(), pa.int16()), pa.null(), pa.month_day_nano_interval()),
    ],
    ids=str,
)
def test_types(context, kind):
    schema = pa.schema([("k", kind), ("p", kind)])
    found = gpujoin.estimate(schema, schema, "k", context=context, **ROWS)
    assert math.isfinite(found.cpu_milliseconds) and found.cpu_milliseconds > 0


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"left_rows": -1}, "left_rows is -1"),
        ({"left_rows": 1 << 32}, "rows"),
        ({"matches": -1}, "matches is -1"),
        ({"left_matched": 1 << 21}, "left_matched is"),
        ({"right_distinct": 0}, "right_distinct is 0"),
        ({"text_bytes": "much"}, "text_bytes is 'much'"),
        ({"memory": "disk"}, "memory 'disk'"),
        ({"on": "nothing"}, "nothing"),
        ({"select": ["nothing"]}, "nothing"),
        ({"how": "sideways"}, "sideways"),
    ],
)
def test_wrong_arguments(context, wrong, message):
    arguments = {"on": "k", "context": context, **ROWS, **wrong}
    with pytest.raises((gpujoin.InvalidArgument, gpujoin.TooManyRows), match=message):
        gpujoin.estimate(LEFT, RIGHT, **arguments)


def test_wrong_schemas(context):
    with pytest.raises(gpujoin.InvalidArgument, match="left_schema is a Table"):
        gpujoin.estimate(LEFT.empty_table(), RIGHT, "k", context=context, **ROWS)
    with pytest.raises(gpujoin.TypeMismatch):
        gpujoin.estimate(LEFT, RIGHT, "s", "k", context=context, **ROWS)
    nested = pa.schema([("k", pa.list_(pa.int32()))])
    with pytest.raises(gpujoin.TypeMismatch, match="list"):
        gpujoin.estimate(nested, nested, "k", context=context, **ROWS)
