"""Joins whose pairs the caller decides on: where= as a function."""

from __future__ import annotations

import numpy
import pyarrow as pa
import pytest

import gpujoin


def _tables() -> tuple[pa.Table, pa.Table]:
    random = numpy.random.default_rng(18)
    left = {"k": random.integers(0, 30, 200), "a": random.integers(0, 100, 200)}
    right = {"k": random.integers(0, 30, 120), "b": random.integers(0, 100, 120)}
    return pa.table(left), pa.table(right)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_is_the_join_by_that_condition(how: str) -> None:
    left, right = _tables()
    a, b = left["a"].to_numpy(), right["b"].to_numpy()

    def is_less(pairs: pa.RecordBatch) -> pa.Array:
        assert pairs.schema.names == ["left_row", "right_row"]
        return pa.array(a[pairs["left_row"]] < b[pairs["right_row"]])

    rows = {
        where: gpujoin.join(left, right, "k", how=how, where=where, pairs=True)
        .to_table()
        .sort_by([(name, "ascending") for name in ("left_row", "right_row") if how not in "semi anti"
                  or name == "left_row"])
        for where in (is_less, "left.a < right.b")
    }
    assert rows[is_less].num_rows > 0
    assert rows[is_less] == rows["left.a < right.b"]


def test_null_is_no() -> None:
    left = pa.table({"k": [1, 2]})
    found = gpujoin.join(left, left, "k", where=lambda pairs: pa.array([None, True]), pairs=True)
    assert found.num_rows == 1


def test_wants_a_boolean_a_pair() -> None:
    left = pa.table({"k": [1, 2]})
    for wrong in ([True], [1, 2], "no"):
        with pytest.raises(gpujoin.InvalidArgument, match="where"):
            gpujoin.join(left, left, "k", where=lambda pairs, wrong=wrong: wrong)
    with pytest.raises(ZeroDivisionError):
        gpujoin.join(left, left, "k", where=lambda pairs: 1 / 0)
    with pytest.raises(gpujoin.Unsupported, match="mark"):
        gpujoin.join(left, left, "k", how="mark", where=lambda pairs: [True, True])
