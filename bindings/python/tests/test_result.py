"""What a result gives: whole, in pages, as Arrow; its lifetime and its statistics."""

import gc
import os
import sys

import pyarrow as pa
import pytest
from tables import customers_and_orders, keys, rows

import gpujoin


@pytest.fixture
def result(context):
    left, right = customers_and_orders()
    return gpujoin.join(left, right, "id", "customer", context=context)


def test_table_and_batch(result):
    table, batch = result.to_table(), result.to_batch()
    table.validate(full=True)
    batch.validate(full=True)
    assert isinstance(batch, pa.RecordBatch)
    assert table.schema == batch.schema == result.schema
    assert rows(table) == rows(batch)


def test_arrow_takes_it(result):
    assert rows(pa.table(result)) == rows(result)
    assert rows(pa.record_batch(result)) == rows(result)
    assert pa.schema(result) == result.schema


@pytest.mark.parametrize("max_rows", [1, 7, 64, 1000, None])
def test_pages_of_rows(result, max_rows):
    pages = list(result.pages(max_rows=max_rows))
    for page in pages:
        page.validate(full=True)
    sizes = [page.num_rows for page in pages]
    assert sum(sizes) == result.num_rows
    assert max(sizes) <= (max_rows or result.num_rows)
    assert set(sizes[:-1]) <= {max_rows}
    assert rows(pa.Table.from_batches(pages)) == rows(result)


def test_pages_of_bytes(context):
    table = keys(1000)
    result = gpujoin.join(table, table, "k", select=["k", "v"], context=context)
    pages = list(result.pages(max_rows=None, max_bytes=1600))
    assert all(0 < page.num_rows <= 100 for page in pages)
    assert len(pages) >= 10
    assert rows(pa.Table.from_batches(pages)) == rows(result)
    assert [p.num_rows for p in result.pages(max_bytes=1)] == [1] * 1000


def test_pages_of_nothing(context):
    result = gpujoin.join(keys(0), keys(3), "k", context=context)
    assert list(result.pages()) == []


def test_rows_without_columns(context):
    """An output of no columns still has its rows, whichever way it is taken."""
    result = gpujoin.join(keys(10), keys(7), "k", select=[], context=context)
    table, batch = result.to_table(), result.to_batch()
    assert table.num_columns == batch.num_columns == 0
    assert result.num_rows == len(result) == table.num_rows == batch.num_rows == 7
    assert [page.num_rows for page in result.pages(3)] == [3, 3, 1]
    assert pa.table(result).num_rows == pa.record_batch(result).num_rows == 7
    assert table.schema == batch.schema == result.schema
    empty = gpujoin.join(keys(10), keys(0), "k", select=[], context=context)
    assert empty.num_rows == empty.to_table().num_rows == empty.to_batch().num_rows == 0


@pytest.mark.parametrize("size", [0, -1, 1 << 64, (1 << 64) + 1, 1.0, True, "5"])
@pytest.mark.parametrize("name", ["max_rows", "max_bytes"])
def test_pages_refuse_sizes(result, name, size):
    with pytest.raises(gpujoin.InvalidArgument, match=f"^{name} is "):
        result.pages(**{name: size})


def test_pages_of_the_largest_sizes(result):
    pages = list(result.pages(max_rows=(1 << 63) - 1, max_bytes=(1 << 64) - 1))
    assert [page.num_rows for page in pages] == [result.num_rows]


def test_pairs_must_be_asked_for(context):
    result = gpujoin.join(keys(3), keys(3), "k", context=context)
    with pytest.raises(gpujoin.InvalidArgument, match="pairs=True"):
        result.pairs()


def test_data_outlives_everything(device):
    context = gpujoin.Context(device)
    left, right = customers_and_orders()
    plan = gpujoin.plan(left, right, "id", "customer", context=context)
    result = plan.execute()
    expected = rows(result)
    table, pages = result.to_table(), list(result.pages(100))
    plan.close()
    context.close()
    del context, plan, left, right
    gc.collect()
    assert rows(result) == expected  # the result needs neither
    result.close()
    del result
    gc.collect()
    assert rows(table) == expected
    assert rows(pa.Table.from_batches(pages)) == expected


def test_closed_objects_refuse(context):
    plan = gpujoin.plan(keys(3), keys(3), "k", context=context)
    result = plan.execute()
    for closed, call in ((plan, plan.execute), (plan, plan.explain), (result, result.to_table)):
        closed.close()
        closed.close()
        with pytest.raises(gpujoin.InvalidArgument, match="closed"):
            call()
    context.close()
    with pytest.raises(gpujoin.InvalidArgument, match="closed"):
        context.info()


def test_statistics(device, context):
    result = gpujoin.join(keys(10000), keys(2000), "k", context=context)
    statistics = result.statistics
    assert statistics.device == device
    assert (statistics.left_rows, statistics.right_rows) == (10000, 2000)
    assert statistics.output_rows == result.num_rows == 2000
    assert statistics.plan and statistics.reason
    assert statistics.milliseconds > 0
    assert any(stage.technique for stage in statistics.stages)
    for stage in statistics.stages:
        assert stage.stage
        assert stage.milliseconds >= 0
    assert statistics.predicted_bytes == sum(s.predicted_bytes for s in statistics.stages)
    assert statistics.peak_memory_bytes > 0


def test_context_info(device):
    with gpujoin.Context(device, memory_limit="1.5 GiB", threads=2) as context:
        info = context.info()
        assert info.device == device
        assert info.device_name and info.reason
        assert info.memory_limit == 3 << 29
        assert (info.cuda_device is None) == (device == "cpu")
        if device == "cpu":
            assert info.threads == min(2, len(os.sched_getaffinity(0)))
        result = gpujoin.join(keys(100000), keys(100000), "k", context=context)
        assert context.info().memory_peak > 0
        result.close()
        context.trim()
        assert context.info().memory_used <= info.memory_limit


def test_threads_are_those_that_run(device):
    """More than the process may run on are not made, and neither reported nor reckoned with."""
    all_of_them = len(os.sched_getaffinity(0))
    with gpujoin.Context(device, threads=100000) as context:
        assert context.info().threads == all_of_them
        if device == "cpu":
            explained = gpujoin.plan(keys(3), keys(3), "k", context=context).explain()
            assert f"the CPU, {all_of_them} threads\n" in explained


def test_auto_says_why():
    with gpujoin.Context() as context:
        info = context.info()
    assert info.device in ("cpu", "cuda")
    assert info.reason
    assert info.memory_limit is None


def test_frames_of_polars(result):
    polars = pytest.importorskip("polars")
    frame = result.to_polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == result.schema.names
    assert rows(frame.to_arrow()) == rows(result)


def test_frames_of_pandas(context):
    pandas = pytest.importorskip("pandas")
    frame = gpujoin.join(keys(5), keys(3), "k", context=context).to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert sorted(frame["v_right"]) == [0, 1, 2]


@pytest.mark.parametrize("package", ["polars", "pandas"])
def test_frames_of_a_package_that_is_not_there(result, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(gpujoin.Unsupported, match=f"to_{package}.. needs the package {package}"):
        getattr(result, f"to_{package}")()
