"""Operations whose pairs a function decides."""

import threading

import pyarrow as pa
import pytest

import gpujoin

LEFT = pa.table({"k": [1, 2, 2, None, 5], "price": [10, 20, 30, 40, 50]})
RIGHT = pa.table({"k": [2, 1, 2, 7], "bid": [25, 5, 15, 1], "name": ["a", "b", "c", "d"]})


@pytest.fixture
def context():
    with gpujoin.Context("cpu") as made:
        yield made


def cheaper(batch):
    return pa.compute.less(batch["price"], batch["bid"])


def joined(build, how, where, **options):
    rows = [b for b in build.probe([LEFT], "k", how=how, where=where, **options)]
    return sorted((row for b in rows for row in b.to_pylist()), key=str)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti", "right_anti"])
def test_it_joins_as_a_condition_does(context, how):
    with gpujoin.Build(RIGHT.schema, "k", context=context) as build:
        build.append(RIGHT)
        build.finish()
        rows = joined(build, how, cheaper)
        assert rows and rows == joined(build, how, "price < bid")


@pytest.mark.parametrize("select", [["price"], ["name"], ["price", "name"]])
@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_columns_of_one_side_come_without_pairs(context, how, select):
    options = {"on": "k", "how": how, "select": select, "context": context}

    def is_even(batch):
        return pa.array([(row["left_row"] + row["right_row"]) % 2 == 0 for row in batch.to_pylist()])

    with_pairs = gpujoin.join(LEFT, RIGHT, where=is_even, pairs=True, **options).to_table()
    rows = gpujoin.join(LEFT, RIGHT, where=is_even, **options).to_table()
    assert sorted(rows.to_pylist(), key=str) == sorted(
        with_pairs.select(select).to_pylist(), key=str
    )


def test_it_sees_what_is_shown(context):
    seen = []

    def where(batch):
        seen.append(batch)
        return pa.nulls(batch.num_rows, pa.bool_())

    with gpujoin.Build(RIGHT.schema, "k", row_numbers=True, context=context) as build:
        build.append(RIGHT, first_row=100)
        build.finish()
        shown = ["name", "price", "k_right"]
        assert joined(build, "inner", where, select=["k", "price"], shown=shown) == []
    (batch,) = seen
    assert batch.schema.names == ["right_row", "price", "name", "k_right"]
    assert sorted(batch["right_row"].to_pylist()) == [100, 100, 101, 102, 102]


def test_what_it_raises_comes_out(context):
    def where(_):
        raise KeyError("no such price")

    with gpujoin.Build(RIGHT.schema, "k", context=context) as build:
        build.append(RIGHT)
        build.finish()
        with pytest.raises(KeyError, match="no such price"):
            joined(build, "inner", where)
        with pytest.raises(gpujoin.InvalidArgument, match="5 booleans"):
            joined(build, "inner", lambda batch: [True])
        with pytest.raises(gpujoin.InvalidArgument, match="shown"):
            joined(build, "inner", "price < bid", shown=["price"])
        assert len(joined(build, "inner", cheaper)) == 1


def test_it_is_called_by_the_threads_that_ask(context):
    table = pa.table({"k": list(range(1000)) * 3, "price": list(range(3000))})
    threads = set()

    def where(batch):
        threads.add(threading.get_ident())
        return pa.compute.greater(batch["price"], 1499)

    with gpujoin.Build(RIGHT.schema, "k", context=context) as build:
        build.append(pa.table({"k": range(1000), "bid": range(1000), "name": ["x"] * 1000},
                              schema=RIGHT.schema))
        build.finish()
        batches = table.to_batches(max_chunksize=100)
        rows = list(build.probe(batches, "k", where=where, select=["price"], threads=3))
    assert sorted(p for b in rows for p in b["price"].to_pylist()) == list(range(1500, 3000))
    assert threads
