"""Order of rows, limits of rows and bytes, exact sizes."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import program

import gpujoin
from gpujoin._kinds import KINDS

NONE = 1 << 30  # sorts behind every row number
MATCHING = [kind for kind in KINDS if "single" not in kind]


def table(seed, rows, keys, prefix):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "k": pa.array(rng.integers(0, keys, rows), mask=rng.random(rows) < 0.05),
            prefix + "v": pa.array(rng.integers(0, 99, rows), pa.int32(), mask=rng.random(rows) < 0.1),
            prefix + "s": pa.array(["x" * int(n) for n in rng.integers(0, 9, rows)]),
            prefix + "b": pa.array(rng.random(rows) < 0.5),
            prefix + "l": pa.array([str(n) for n in range(rows)], pa.large_string()),
        }
    )


LEFT, RIGHT = table(1, 900, 200, "l"), table(2, 600, 250, "r")


def join_of(how, **more):
    keys = {"on": "k"} if KINDS[how].has_keys else {}
    names = [c for side, t in (("left", LEFT), ("right", RIGHT)) if side in KINDS[how].sides
             for c in t.column_names[1:]]  # fmt: skip
    mark = ["mark"] if KINDS[how].has_mark else []
    return {"how": how, "select": names + mark, **keys, **more}


def row_numbers(answer, order):
    sides = ("right", "left") if order == "right" else ("left", "right")
    names = [side + "_row" for side in sides if side + "_row" in answer.column_names]
    return list(zip(*(answer[name].fill_null(NONE).to_pylist() for name in names))), names


@pytest.mark.parametrize("order", ["left", "right"])
@pytest.mark.parametrize("how", MATCHING)
def test_rows_come_in_order(context, how, order):
    asked = join_of(how, pairs=True, context=context)
    answer = gpujoin.join(LEFT, RIGHT, order=order, **asked).to_table()
    answer.validate(full=True)
    numbers, names = row_numbers(answer, order)
    assert numbers == sorted(numbers) and len(set(numbers)) == len(numbers)
    keys = [(name, "ascending") for name in names]
    any_order = gpujoin.join(LEFT, RIGHT, **asked).to_table()
    assert answer.equals(any_order.sort_by(keys))
    without_pairs = gpujoin.join(LEFT, RIGHT, order=order, **join_of(how, context=context))
    assert without_pairs.to_table().equals(answer.drop_columns(names))


@pytest.mark.parametrize("build_side, probe", [("left", "right"), ("right", "left")])
def test_order_of_the_probe_side(context, build_side, probe):
    asked = join_of("inner", context=context, build_side=build_side)
    rows = [gpujoin.join(LEFT, RIGHT, order=o, **asked).to_table() for o in ("probe", probe)]
    assert rows[0].equals(rows[1])


def size_of(answer, nullable):
    """The bytes that gpujoin.h says a result has."""
    rows, total = answer.num_rows, 0
    for field in answer.schema if rows else ():
        kind, values = field.type, answer[field.name]
        if pa.types.is_boolean(kind):
            total += (rows + 7) // 8
        elif kind in (pa.string(), pa.large_string()):
            width = 4 if kind == pa.string() else 8
            total += width * (rows + 1) + sum(len(v) for v in values.to_pylist() if v is not None)
        else:
            total += kind.bit_width // 8 * rows
        total += (rows + 7) // 8 if field.name in nullable else 0
    return total


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("how", MATCHING)
def test_count_is_the_size(context, how, pairs):
    planned = gpujoin.plan(LEFT, RIGHT, **join_of(how, pairs=pairs, context=context))
    answer = planned.execute().to_table()
    nullable = {"lv", "rv", "mark"}
    for side, t in (("left", LEFT), ("right", RIGHT)):
        if side in KINDS[how].without_row:
            nullable |= set(t.column_names)
    assert planned.count() == (answer.num_rows, size_of(answer, nullable))


@pytest.mark.parametrize("order", [None, "left", "right"])
@pytest.mark.parametrize("how", MATCHING)
def test_limits(context, how, order):
    asked = join_of(how, context=context, order=order)
    rows, size = gpujoin.plan(LEFT, RIGHT, **asked).count()
    if rows == 0:  # of NOT IN, a NULL is there; a limit of 0 is none
        return
    for more in (0, 1):
        made = gpujoin.join(LEFT, RIGHT, row_limit=rows + more, byte_limit=size + more, **asked)
        assert made.num_rows == rows
    with pytest.raises(gpujoin.RowLimit, match=f"row_limit is {rows - 1} and the join has"):
        gpujoin.join(LEFT, RIGHT, row_limit=rows - 1, **asked)
    with pytest.raises(gpujoin.ByteLimit, match=f"byte_limit is {size - 1} and the join"):
        gpujoin.join(LEFT, RIGHT, byte_limit=size - 1, **asked)


def test_limits_of_an_exploding_join(context):
    many = pa.table({"k": np.zeros(30_000, np.int32), "v": np.arange(30_000)})
    with pytest.raises(gpujoin.RowLimit, match="or more"):
        gpujoin.join(many, many, on="k", row_limit=1000, context=context)
    with pytest.raises(gpujoin.ByteLimit, match="or more"):
        gpujoin.join(many, many, on="k", byte_limit=1000, order="left", context=context)
    with pytest.raises(gpujoin.RowLimit, match="900000000 rows"):
        gpujoin.join(many, many, how="cross", row_limit=1000, context=context)
    assert gpujoin.plan(many, many, on="k", context=context).count() == (9 * 10**8, 18 * 10**9)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"order": "middle"}, "order 'middle' is none of"),
        ({"order": 1}, "order 1"),
        ({"row_limit": 0}, "row_limit is 0"),
        ({"row_limit": 1 << 63}, "row_limit is"),
        ({"byte_limit": -1}, "byte_limit is -1"),
        ({"byte_limit": 1.5}, "byte_limit is 1.5"),
    ],
)
def test_wrong_arguments(context, wrong, message):
    with pytest.raises(gpujoin.InvalidArgument, match=message):
        gpujoin.join(LEFT, RIGHT, on="k", context=context, **wrong)


def test_explain_and_statistics(context):
    planned = gpujoin.plan(LEFT, RIGHT, order="left", **join_of("inner", context=context))
    assert "order: " in planned.explain()
    assert "order" in [stage.stage for stage in planned.execute().statistics.stages]


def test_command_line(tmp_path):
    for side, t in (("left", LEFT), ("right", RIGHT)):
        pa.parquet.write_table(t, tmp_path / f"{side}.parquet")
    files = "join", "left.parquet", "right.parquet", "--on", "k", "--select", "lv,rs"
    rows, size = gpujoin.plan(LEFT, RIGHT, on="k", select=["lv", "rs"]).count()
    run = program.gpujoin(*files, "--count", folder=tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, f"{rows} rows, {size} bytes\n", "")
    run = program.gpujoin(*files, "--order", "right", "-o", "out.parquet", folder=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    wanted = gpujoin.join(LEFT, RIGHT, on="k", select=["lv", "rs"], order="right").to_table()
    assert pa.parquet.read_table(tmp_path / "out.parquet").equals(wanted)
    for option, limit in (("--row-limit", rows - 1), ("--byte-limit", "1KiB")):
        run = program.gpujoin(*files, option, str(limit), folder=tmp_path)
        assert run.returncode == 1 and "limit" in run.stderr
    for wrong in (["--row-limit", "0"], ["--byte-limit", "much"], ["--count", "-o", "x.csv"]):
        run = program.gpujoin(*files, *wrong, folder=tmp_path)
        assert run.returncode == 2 and run.stderr.startswith("gpujoin: --")


def test_limits_of_an_exploding_join_with_a_condition(context):
    many = pa.table({"k": np.zeros(30_000, np.int32), "v": np.arange(30_000)})
    for how in ("inner", "left", "full"):
        asked = {"where": "left.v < right.v", "how": how, "context": context}
        with pytest.raises(gpujoin.RowLimit, match="row_limit is 1000 and the join has .* or more"):
            gpujoin.join(many, many, on="k", row_limit=1000, **asked)
        with pytest.raises(gpujoin.RowLimit, match="row_limit is 1000 and the join has .* or more"):
            gpujoin.join(many, many, row_limit=1000, **asked)
        with pytest.raises(gpujoin.ByteLimit, match="byte_limit is 1000 and the join has .* or more"):
            gpujoin.join(many, many, byte_limit=1000, **asked)
        with pytest.raises(gpujoin.RowLimit, match="or more"):  # each pair is evaluated
            gpujoin.join(many, many, row_limit=1000, **asked | {"where": "left.v <> right.v"})
