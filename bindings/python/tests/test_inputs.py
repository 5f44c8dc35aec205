"""What a join takes: tables in chunks, slices, frames and capsules."""

import pyarrow as pa
import pytest
from tables import customers_and_orders, reference_join, rows

import gpujoin

SELECT = [("left", "rank"), ("left", "city"), ("right", "day"), ("right", "note")]
NAMES = ["rank", "city", "day", "note_right"]


def check(left, right, context, left_input, right_input):
    result = gpujoin.join(
        left_input, right_input, left_on="id", right_on="customer", select=NAMES, context=context
    )
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


def structs(**columns):
    return pa.StructArray.from_arrays(list(columns.values()), names=list(columns))


@pytest.mark.parametrize("wrap", [lambda data: data, Stream, Array, DeviceArray])
@pytest.mark.parametrize("first, count", [(0, 1), (1, 2), (2, 1), (3, 0), (0, 3)])
def test_sliced_structs(context, wrap, first, count):
    """A slice of structs has its rows only, though its fields still have them all."""
    whole = structs(k=pa.array([1, 2, 3]), v=pa.array(["a", None, "c"]))
    part = whole.slice(first, count)
    if wrap is Stream:
        part = pa.chunked_array([part, whole.slice(0, 0)])
    if wrap in (Array, DeviceArray):
        part = Whole(part)
    right = pa.table({"k": [1, 2, 3]})
    result = gpujoin.join(wrap(part), right, "k", context=context)
    expected = [(1, "a"), (2, None), (3, "c")][first : first + count]
    assert rows(result) == {row: 1 for row in expected}
    assert result.num_rows == count


class Whole:
    """What Array and DeviceArray wrap: one batch, here an array of structs."""

    def __init__(self, batch):
        self._batch = batch

    def to_batches(self):
        return [self._batch]


def test_chunks_of_sliced_structs(context):
    whole = structs(k=pa.array([1, 2, 3]))
    part = pa.chunked_array([whole.slice(0, 1), whole.slice(2), whole.slice(3)])
    result = gpujoin.join(pa.table({"k": [3, 2, 1]}), part, "k", context=context)
    assert rows(result) == {(1,): 1, (3,): 1}


def test_structs_that_are_null_are_no_rows(context):
    right = pa.table({"k": [1, 2, 3]})
    mask = pa.array([False, True, False])
    nulls = pa.StructArray.from_arrays([pa.array([1, 2, 3])], names=["k"], mask=mask)
    for left in (nulls, pa.chunked_array([nulls, nulls.slice(0, 1)]), Array(Whole(nulls))):
        with pytest.raises(gpujoin.InvalidArgument, match="left: 1 rows of the struct .* NULL"):
            gpujoin.join(left, right, "k", context=context)
    assert rows(gpujoin.join(nulls.slice(2), right, "k", context=context)) == {(3,): 1}


def test_arrays_that_are_no_tables(context):
    for left in (pa.array([1]), pa.chunked_array([[1], [2]])):
        with pytest.raises(gpujoin.InvalidArgument, match="left is an Arrow array of type int64"):
            gpujoin.join(left, pa.table({"k": [1]}), "k", context=context)


def test_a_batch_that_pyarrow_made_too_long(context):
    """pyarrow makes this one of a slice: of one row, with a column of three."""
    batch = pa.record_batch(structs(k=pa.array([1, 2, 3])).slice(0, 1))
    with pytest.raises(gpujoin.InvalidArgument, match="right: "):
        gpujoin.join(pa.table({"k": [1]}), batch, "k", context=context)


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (1,), (0, 1, 0, 1)])
def test_empty_batches_at_an_offset(context, order):
    batch = pa.record_batch({"k": [1, 2, 3], "text": ["a", "b", None]})
    batches = [(batch, batch.slice(3, 0))[i] for i in order]
    reader = pa.RecordBatchReader.from_batches(batch.schema, batches)
    result = gpujoin.join(Stream(reader), pa.table({"k": [1, 3]}), "k", context=context)
    count = order.count(0)
    assert rows(result) == ({(1, "a"): count, (3, None): count} if count else {})


@pytest.mark.parametrize("wrap", [Stream, Array, DeviceArray])
def test_capsules(context, wrap):
    if wrap is DeviceArray and not hasattr(pa.RecordBatch, "__arrow_c_device_array__"):
        pytest.skip("this pyarrow has no device arrays")
    left, right = customers_and_orders()
    check(left, right, context, wrap(left), wrap(right))


def test_a_result_is_an_input(context):
    left, right = customers_and_orders()
    first = gpujoin.join(left, right, "id", "customer", select=["id", "order"], context=context)
    again = gpujoin.join(first, right, "order", select=["id", "customer"], context=context)
    assert again.num_rows == first.num_rows
    assert all(i == customer for i, customer in rows(again))


def test_polars_frames(context):
    polars = pytest.importorskip("polars")
    left, right = customers_and_orders()
    frames = polars.DataFrame(left), polars.DataFrame(right)
    check(left, right, context, *frames)
    result = gpujoin.join(*frames, "id", "customer", select=NAMES, context=context)
    assert rows(polars.DataFrame(result).to_arrow()) == rows(result)
    ours = result.to_polars().sort(NAMES)
    theirs = frames[0].join(frames[1], left_on="id", right_on="customer").select(NAMES).sort(NAMES)
    assert ours.equals(theirs)


def test_polars_text_inside_other_types(context):
    polars = pytest.importorskip("polars")
    texts = [["a", None], [], None, ["a text of more than twelve bytes"]]
    left = polars.DataFrame(
        {
            "k": [0, 1, 2, 3],
            "list": texts,
            "struct": [{"x": "a", "y": [b"b"]}, None, {"x": None, "y": None}, {"x": "", "y": []}],
        }
    )
    wide = left.with_columns(array=polars.lit(["p", "q"]).cast(polars.Array(polars.String, 2)))
    for frame in (left, wide):
        result = gpujoin.join(frame, frame.select("k").reverse(), "k", context=context)
        assert polars.DataFrame(result).sort("k").equals(frame)
        assert polars.DataFrame(result.to_batch()).sort("k").equals(frame)


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
    name = ("left", "right")[side]
    for wrong, text in (
        ([1, 2], f"{name} is a list; it must be"),
        ({"id": [1]}, f"{name}: column 'id' is a list; the columns of a dict are NumPy"),
        ({5: pa.array([1])}, f"{name}: the name 5 of a column is no text"),
        ({"id": pa.array([1]), "v": pa.array([1, 2])}, f"{name}: .* length"),
    ):
        inputs[side] = wrong
        with pytest.raises(gpujoin.InvalidArgument, match=f"^{text}"):
            gpujoin.join(*inputs, "id", "customer", context=context)


NUMPY = {
    "int16": [-1, 0, 300],
    "uint64": [0, 1, 2**64 - 1],
    "float16": [0.5, -0.0, 1.5],
    "float64": [0.5, -0.0, float("inf")],
    "datetime64[D]": [0, 1, -1],
    "datetime64[s]": [0, 1, -1],
    "datetime64[ns]": [0, 1, 86400],
    "timedelta64[ms]": [0, 1, -5],
}


@pytest.mark.parametrize("dtype", NUMPY)
def test_arrays_of_numpy(context, dtype):
    numpy = pytest.importorskip("numpy")
    stored = "int64" if "64[" in dtype else dtype
    values = numpy.array(NUMPY[dtype], stored).astype(dtype)
    left = {"k": values, "row": numpy.arange(3), "every other": numpy.arange(6)[::2]}
    records = numpy.empty(3, [("j", dtype), ("i", "int8")])
    records["j"], records["i"] = values[::-1], range(3)
    for right in (records, {"j": values[::-1], "i": numpy.arange(3)}):
        result = gpujoin.join(left, right, "k", "j", context=context)
        found = result.to_table().select(["row", "every other", "i"])
        assert rows(found) == {(0, 0, 2): 1, (1, 2, 1): 1, (2, 4, 0): 1}
        assert result.schema.field("k").type == pa.array(values).type


def test_truth_values_of_numpy(context):
    numpy = pytest.importorskip("numpy")
    left = {"k": numpy.array([True, False])}
    right = {"k": numpy.array([False, False]), "v": numpy.ones(2)}
    result = gpujoin.join(left, right, "k", context=context)
    assert result.schema.types == [pa.bool_(), pa.float64()]
    assert rows(result) == {(False, 1.0): 2}


def test_what_numpy_says_is_missing(context):
    """NaT is NULL; NaN is a value like any other."""
    numpy = pytest.importorskip("numpy")
    for values, nulls in (
        (numpy.array(["NaT", "2024-02-29"], "datetime64[s]"), 1),
        (numpy.array([numpy.nan, 1.0]), 0),
        (numpy.ma.MaskedArray([1, 2], [True, False]), 1),
    ):
        result = gpujoin.join({"k": values}, {"k": values}, "k", context=context)
        assert result.num_rows == 2 - nulls
    with pytest.raises(gpujoin.InvalidArgument, match="^left: column 'k' is a ndarray"):
        gpujoin.join({"k": numpy.zeros((2, 2))}, {"k": numpy.zeros(2)}, "k", context=context)


def test_text_of_polars_is_read_in_place(context):
    polars = pytest.importorskip("polars")
    texts = [f"a text of more than twelve bytes, {i}" for i in range(20000)]
    frame = polars.DataFrame({"text": texts, "k": range(20000)})
    before = pa.total_allocated_bytes()
    with gpujoin.plan(frame, frame.head(3), "k", context=context) as plan:
        assert pa.total_allocated_bytes() - before < 100000
        result = plan.execute()
    assert result.schema.field("text").type == pa.string_view()
    assert sorted(result.to_table()["text"].to_pylist()) == texts[:3]
    assert result.to_polars().schema["text"] == polars.String
    by_text = gpujoin.join(frame, frame.reverse(), "text", context=context)
    assert by_text.num_rows == 20000
