"""left_rows=, right_rows=, fact_rows=, dimension_rows=: which rows of an input are read."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

import gpujoin
from gpujoin import errors


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(5)

    def table(side, rows):
        keys = rng.integers(0, rows // 3, rows)
        nulls = rng.random(rows) < 0.1
        return pa.table(
            {
                "k": pa.array(keys, mask=nulls),
                "t": pa.array([None if n else f"v{k}" for k, n in zip(keys, nulls)]),
                f"p{side}": np.arange(rows),
                f"s{side}": [f"s{i}" if i % 5 else None for i in range(rows)],
                f"b{side}": [bool(i % 3) for i in range(rows)],
                f"d{side}": pa.array([f"d{i % 7}" for i in range(rows)]).dictionary_encode(),
                f"l{side}": [[i] for i in range(rows)],
            }
        )

    return table("l", 90), table("r", 70)


def as_rows(table):
    return sorted(map(repr, zip(*(column.to_pylist() for column in table.columns))))


def renumbered(table, **numbers):
    """Row numbers of picked rows as those of the whole table."""
    for name, of_rows in numbers.items():
        if name in table.schema.names:
            known = [None if i is None else int(of_rows[i]) for i in table[name].to_pylist()]
            position = table.schema.names.index(name)
            table = table.set_column(position, name, pa.array(known, pa.uint32()))
    return table


def selections(rows, seed):
    """What picks rows, and the numbers of these rows."""
    rng = np.random.default_rng(seed)
    for share in (0.0, 0.1, 0.6, 0.95, 1.0):
        bits = rng.random(rows) < share
        yield bits, np.flatnonzero(bits)
        yield pa.chunked_array([bits[:7], bits[7:]]), np.flatnonzero(bits)
        yield pa.array(np.append([True] * 5, bits)).slice(5), np.flatnonzero(bits)
    numbers = rng.integers(0, rows, rows)
    yield numbers, numbers
    yield pa.array(numbers.astype(np.uint32)), numbers
    yield numbers.tolist(), numbers
    yield numbers.astype(np.int16), numbers
    yield [], np.zeros(0, np.int64)


KINDS = [
    *("inner", "left", "right", "full", "left_semi", "right_semi", "left_anti", "right_anti"),
    *("left_mark", "right_mark", "left_not_in", "right_not_in"),
]


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("on", ["k", "t", ["t", "k"]], ids=str)
@pytest.mark.parametrize("null_equal", [False, True])
def test_join_is_of_the_rows_picked(context, tables, how, on, null_equal):
    left, right = tables
    options = {"on": on, "how": how, "null_equal": null_equal, "pairs": True, "context": context}
    picks = zip(selections(left.num_rows, 1), itertools.cycle(selections(right.num_rows, 2)))
    for (left_rows, left_numbers), (right_rows, right_numbers) in picks:
        found = gpujoin.join(left, right, left_rows=left_rows, right_rows=right_rows, **options)
        whole = gpujoin.join(left.take(left_numbers), right.take(right_numbers), **options)
        numbers = {"left_row": left_numbers, "right_row": right_numbers}
        expected = renumbered(whole.to_table(), **numbers)
        assert found.schema.types == expected.schema.types
        assert as_rows(found.to_table()) == as_rows(expected)


def test_cross_join(context, tables):
    left, right = tables
    found = gpujoin.join(left, right, how="cross", left_rows=[3, 3], right_rows=[69, 0],
                         select=["pl", "sr"], pairs=True, context=context).to_table()
    assert as_rows(found) == sorted(
        map(repr, [(3, 69, 3, "s69"), (3, 0, 3, None), (3, 69, 3, "s69"), (3, 0, 3, None)])
    )


def test_single_join_names_the_row_of_the_whole_table(context):
    left, right = pa.table({"k": [1, 2, 3]}), pa.table({"k": [3, 3, 1]})
    with pytest.raises(errors.SeveralMatches, match="left row 2"):
        gpujoin.join(left, right, "k", how="left_single", left_rows=[2, 0], context=context)
    rows = [False, True, True]
    found = gpujoin.join(left, right, "k", how="left_single", right_rows=rows, context=context)
    assert found.num_rows == 3


@pytest.mark.parametrize("where", ["left.a > right.b", "left.a * right.b > 8"])
def test_single_join_without_keys_names_the_row_of_the_whole_table(context, where):
    left, right = pa.table({"a": [1, 2, 9]}), pa.table({"b": [3, 3, 1]})
    with pytest.raises(errors.SeveralMatches, match="left row 2"):
        gpujoin.join(left, right, how="left_single", where=where, left_rows=[2, 0], context=context)


def test_null_is_not_picked(context):
    left = pa.table({"k": [1, 2, 3]})
    found = gpujoin.join(left, left, "k", left_rows=pa.array([True, None, False]), context=context)
    assert found.to_table()["k"].to_pylist() == [1]


def test_validate_looks_at_the_rows_picked(context):
    left, right = pa.table({"k": [1, 2]}), pa.table({"k": [1, 1, 2]})
    gpujoin.join(left, right, "k", validate="1:1", right_rows=[1, 2], context=context)
    with pytest.raises(errors.NotUnique):
        gpujoin.join(left, right, "k", validate="1:1", right_rows=[2, 2], context=context)


def test_plan_keeps_what_it_reads(context, tables):
    left, right = tables
    plan = gpujoin.plan(left, right, "k", left_rows=np.arange(40, dtype=np.uint32)[::2].copy(),
                        select=["pl", "sl"], pairs=True, context=context)
    np.full(1000, 7, np.uint32)
    expected = gpujoin.join(left.take(np.arange(40)[::2]), right, "k", select=["pl", "sl"],
                            context=context)
    for _ in range(2):
        found = plan.execute().to_table()
        assert as_rows(found.select(["pl", "sl"])) == as_rows(expected.to_table())
        assert set(found["left_row"].to_pylist()) <= set(range(0, 40, 2))
    assert "20 of 90 rows are picked" in plan.explain()


@pytest.mark.parametrize(
    "rows, message",
    [
        ([True], "left_rows has 1 truth values and there are 3 rows"),
        ([0, 3], r"selection.data\[1\] is 3 and the relation has 3 rows"),
        ([0, -1], r"selection.data\[1\] is -1"),
        ([0, None], "left_rows: 1 row numbers are NULL"),
        ([0.5], "left_rows is of type double"),
        ("010", "left_rows is a str"),
        (7, "left_rows is a int"),
        ([2**63], "left_rows"),
    ],
)
def test_what_is_refused(context, rows, message):
    left = pa.table({"k": [1, 2, 3]})
    with pytest.raises(errors.InvalidArgument, match=message):
        gpujoin.join(left, left, "k", left_rows=rows, context=context)


def test_a_condition_names_rows_of_the_whole_table(context):
    left = pa.table({"k": [1, 1, 1, 1], "a": [0, 0, 7, 8]})
    right = pa.table({"k": [1, 1, 1], "b": [0, 2, 2]})
    options = {"where": "left.a // right.b > 0", "context": context}
    with pytest.raises(errors.EvaluationError, match="left row 3 and right row 0"):
        gpujoin.join(left, right, "k", left_rows=[3], right_rows=[2, 0], **options)
    found = gpujoin.join(left, right, "k", left_rows=[3, 1], right_rows=[2], **options)
    assert found.num_rows == 1


@pytest.mark.parametrize("how", ["inner", "left", ["left", "left_semi"]], ids=str)
@pytest.mark.parametrize("materialize", ["auto", "as_they_come", "at_the_end"])
def test_sequence(context, tables, how, materialize):
    fact, dimension = tables
    fact = fact.append_column("k2", pa.array(np.arange(90) % 20))
    second = pa.table({"k2": np.arange(30) % 20, "x": [f"x{i}" for i in range(30)]})
    options = {"how": how, "materialize": materialize, "pairs": True, "context": context}
    for (rows, numbers), (others, other_numbers) in zip(selections(90, 3), selections(70, 4)):
        last = np.arange(30) % 3 > 0
        steps = [(dimension, "k"), (second, "k2")]
        found = gpujoin.join_sequence(
            fact, steps, fact_rows=rows, dimension_rows=[others, last], **options
        )
        steps = [(dimension.take(other_numbers), "k"), (second.filter(last), "k2")]
        whole = gpujoin.join_sequence(fact.take(numbers), steps, **options).to_table()
        known = {"left_row": numbers, "right_row_0": other_numbers}
        expected = renumbered(whole, **known, right_row_1=np.flatnonzero(last))
        assert as_rows(found.to_table()) == as_rows(expected)


def test_sequence_refuses(context, tables):
    fact, dimension = tables
    with pytest.raises(errors.InvalidArgument, match="dimension_rows"):
        gpujoin.join_sequence(fact, [(dimension, "k")], dimension_rows=[None, None])
    with pytest.raises(errors.InvalidArgument, match=r"dimension_rows\[0\] has 1 truth"):
        gpujoin.join_sequence(fact, [(dimension, "k")], dimension_rows=[[True]])
