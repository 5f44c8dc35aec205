"""What a join takes: tables in chunks, slices, frames and capsules."""

import pyarrow as pa
import pytest
from tables import customers_and_orders, reference_join, rows

import gpujoin

SELECT = [("left", "rank"), ("left", "city"), ("right", "day"), ("right", "note")]
NAMES = ["rank", "city", "day", "note_right"]


def check(left, right, context, left_input, right_input):
    result = gpujoin.join(left_input, right_input, "id", "customer", NAMES, context=context)
    assert rows(result) == reference_join(left, right, "id", "customer", SELECT)


def in_chunks(table, size):
    return pa.concat_tables(table.slice(i, size) for i in range(0, table.num_rows, size))


def test_chunked_tables(context):
    left, right = customers_and_orders()
    check(left, right, context, in_chunks(left, 77), in_chunks(right, 1000))


def test_slices(context):
    left, right = customers_and_orders()
    left, right = left.slice(13, 401), right.slice(1001, 1003)
    check(left, right, context, left, right)
    check(left, right, context, left.to_batches()[0], right.to_batches()[0])


def test_tables_without_chunks(context):
    schema = pa.schema({"k": pa.int64(), "v": pa.int32(), "text": pa.string()})
    empty = pa.Table.from_batches([], schema)
    result = gpujoin.join(empty, empty, "k", context=context)
    table = result.to_table()
    assert table.num_rows == 0
    assert table.schema.names == ["k", "v", "text", "v_right", "text_right"]


class Stream:
    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Array:
    def __init__(self, table):
        self._batch = table.to_batches()[0]

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


class DeviceArray:
    def __init__(self, table):
        self._batch = table.to_batches()[0]

    def __arrow_c_device_array__(self, requested_schema=None, **_):
        return self._batch.__arrow_c_device_array__(requested_schema)


@pytest.mark.parametrize("wrap", [Stream, Array, DeviceArray])
def test_capsules(context, wrap):
    if wrap is DeviceArray and not hasattr(pa.RecordBatch, "__arrow_c_device_array__"):
        pytest.skip("this pyarrow has no device arrays")
    left, right = customers_and_orders()
    check(left, right, context, wrap(left), wrap(right))


def test_a_result_is_an_input(context):
    left, right = customers_and_orders()
    first = gpujoin.join(left, right, "id", "customer", ["id", "order"], context=context)
    again = gpujoin.join(first, right, "order", select=["id", "customer"], context=context)
    assert again.num_rows == first.num_rows
    assert all(i == customer for i, customer in rows(again))


def test_polars_frames(context):
    polars = pytest.importorskip("polars")
    left, right = customers_and_orders()
    frames = polars.DataFrame(left), polars.DataFrame(right)
    check(left, right, context, *frames)
    result = gpujoin.join(*frames, "id", "customer", NAMES, context=context)
    assert rows(polars.DataFrame(result).to_arrow()) == rows(result)
    ours = polars.DataFrame(result).sort(NAMES)
    theirs = frames[0].join(frames[1], left_on="id", right_on="customer").select(NAMES).sort(NAMES)
    assert ours.equals(theirs)


def test_pandas_frames(context):
    pandas = pytest.importorskip("pandas", minversion="2.2")
    left = pandas.DataFrame({"k": [1, 2, 3], "text": ["a", "b", None]})
    right = pandas.DataFrame({"k": [3, 1, 1], "v": [0.5, 1.5, 2.5]})
    result = gpujoin.join(left, right, "k", context=context)
    assert rows(result) == {(3, None, 0.5): 1, (1, "a", 1.5): 1, (1, "a", 2.5): 1}


def test_inputs_are_left_as_they_are(context):
    left, right = customers_and_orders()
    copies = [pa.concat_tables([table]).combine_chunks() for table in (left, right)]
    gpujoin.join(left, right, "id", "customer", context=context)
    assert [left, right] == copies


@pytest.mark.parametrize("side", [0, 1])
def test_anything_else_is_refused(side, context):
    inputs = list(customers_and_orders())
    inputs[side] = {"id": [1]}
    with pytest.raises(gpujoin.InvalidArgument, match=("left", "right")[side] + " is a dict"):
        gpujoin.join(*inputs, "id", "customer", context=context)
