"""gpujoin.aggregate() against loops over the rows that the join puts out, and against DuckDB."""

import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import gpujoin

KINDS = ["inner", "left", "right", "full", "semi", "anti", "right_semi", "right_anti", "not_in"]
BY = [("inner", "left"), ("inner", "right"), ("left", "left"), ("right", "right")]


def rows_of(left, right, how, context):
    """The row numbers of the join's rows."""
    keys = {} if how == "cross" else {"on": "k"}
    pairs = gpujoin.join(
        *(left, right), **keys, how=how, select=[], pairs=True, context=context
    ).pairs()
    columns = {name: pairs.column(name).to_pylist() for name in pairs.schema.names}
    none = [None] * pairs.num_rows
    return list(zip(columns.get("left_row", none), columns.get("right_row", none)))


def order_of(value):
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value)
    return value.encode() if isinstance(value, str) else value


def expected(aggregate, rows, values, other_present):
    """An aggregate over pairs of row numbers, in plain Python."""
    if aggregate == "count":
        return len(rows)
    if aggregate == "exists":
        return other_present
    function, side, column = aggregate
    at = ("left", "right").index(side)
    found = [values[side][column][row[at]] for row in rows if row[at] is not None]
    found = [value for value in found if value is not None]
    if function == "count":
        return len(found)
    if not found:
        return None
    if function == "sum":
        return sum(map(Fraction, found)) if isinstance(found[0], Decimal) else sum(found)
    if function == "avg":
        if isinstance(found[0], float):
            return sum(found) / len(found)
        return float(sum(map(Fraction, found)) / len(found))
    if function == "any":
        return set(map(str, found))
    return (min if function == "min" else max)(found, key=order_of)


def is_same(got, wanted):
    if isinstance(wanted, set):
        return str(got) in wanted
    if isinstance(wanted, float) and isinstance(got, float):
        if wanted != wanted:
            return got != got
        return got == pytest.approx(wanted, rel=1e-12, abs=1e-9)
    return got == wanted


COLUMNS = {
    "i8": pa.int8(),
    "i64": pa.int64(),
    "u32": pa.uint32(),
    "u64": pa.uint64(),
    "f16": pa.float16(),
    "f32": pa.float32(),
    "f64": pa.float64(),
    "d64": pa.decimal64(12, 3),
    "d128": pa.decimal128(30, 2),
    "d256": pa.decimal256(60, 5),
    "t": pa.string(),
    "view": pa.string_view(),
    "bin": pa.binary(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "stamp": pa.timestamp("us"),
    "fix": pa.binary(3),
    "none": pa.null(),
}
NUMBERS = {name for name in COLUMNS if name[0] in "iudf" and name not in ("date", "fix")}


def draw(kind, random):
    if kind == pa.null() or random.random() < 0.15:
        return None
    if pa.types.is_floating(kind):
        return random.choice([random.randrange(-50, 50) / 4.0, -0.0, 0.25])
    if pa.types.is_decimal(kind):
        digits = min(kind.precision - 2, 33)
        return Decimal(random.randrange(-(10**digits), 10**digits)).scaleb(-kind.scale)
    if kind == pa.bool_():
        return random.random() < 0.5
    if kind == pa.binary(3):
        return random.randbytes(3)
    if kind == pa.binary():
        return random.randbytes(random.randrange(4))
    if kind in (pa.string(), pa.string_view()):
        return random.choice(["", "a", "ab", "a\0", "zebra", "äöü", "x" * 40 + str(random.random())])
    if kind in (pa.date32(), pa.timestamp("us")):
        return random.randrange(-1000, 1000)
    width = kind.bit_width
    most = 2 ** (width - 1) // 4096 + 1  # of which no test has more rows
    return random.choice([0 if str(kind)[0] == "u" else -most, most - 1, random.randrange(most)])


def draw_table(rows, keys, random):
    columns = {"k": pa.array([random.choice([None, *range(keys)]) for _ in range(rows)], pa.int32())}
    for name, kind in COLUMNS.items():
        columns[name] = pa.array([draw(kind, random) for _ in range(rows)], kind)
    columns["dict"] = pa.array([draw(pa.string(), random) for _ in range(rows)]).dictionary_encode()
    for name in ("i64", "u32", "f32"):
        columns[f"dict_{name}"] = columns[name].dictionary_encode()
    runs = pa.array([-500 + 300 * (row // 3) for row in range(rows)], pa.int64())
    columns["runs"] = pa.compute.run_end_encode(runs)
    return pa.table(columns)


def all_aggregates(sides, random):
    made = {"n": "count", "e": "exists"}
    for side in sides:
        for column in [*COLUMNS, "dict", "dict_i64", "dict_u32", "dict_f32", "runs"]:
            functions = ["count", "min", "max", "any"]
            if column in NUMBERS or column == "runs" or column.startswith("dict_"):
                functions += ["sum", "avg"]
            function = random.choice(functions)
            made[f"{function}_{side}_{column}"] = (function, side, column)
    return made


def sides_of(how):
    if how.startswith("right_"):
        return ["right"]
    return ["left"] if how in ("semi", "anti", "not_in") else ["left", "right"]


def check_group(made, row, rows, values, by):
    other = None if by is None else {"left": 1, "right": 0}[by]
    present = bool(rows) if other is None else any(pair[other] is not None for pair in rows)
    for name, aggregate in made.items():
        wanted = expected(aggregate, rows, values, present)
        assert is_same(row[name], wanted), (name, row[name], wanted)


def draw_sides(how, source):
    left = draw_table(source.choice([0, 1, 40]), 12, source)
    right = draw_table(source.choice([0, 7, 60]), 12, source)
    return left, right.slice(0, 1) if how == "left_single" else right


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("how", [*KINDS, "cross", "left_single"])
def test_all_rows_are_a_group(context, how, seed):
    source = random.Random(f"{how} {seed}")
    left, right = draw_sides(how, source)
    made = all_aggregates(sides_of(how), source)
    keys = {} if how == "cross" else {"on": "k"}
    answer = gpujoin.aggregate(
        *(left, right), **keys, how=how, aggregates=made, context=context
    ).to_table()
    answer.validate(full=True)
    assert answer.schema.names == list(made)
    values = {"left": left.to_pydict(), "right": right.to_pydict()}
    (row,) = answer.to_pylist()
    check_group(made, row, rows_of(left, right, how, context), values, None)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("how, by", [*BY, ("cross", "right"), ("left_single", "left")])
def test_rows_of_a_side_are_groups(context, how, by, seed):
    source = random.Random(f"{how} {by} {seed}")
    left, right = draw_sides(how, source)
    made = all_aggregates(["left", "right"], source)
    keys = {} if how == "cross" else {"on": "k"}
    answer = gpujoin.aggregate(
        *(left, right), **keys, how=how, by=by, aggregates=made, pairs=True, context=context
    ).to_table()
    answer.validate(full=True)
    side = {"left": left, "right": right}[by]
    assert answer.schema.names == [f"{by}_row", *side.schema.names, *made]
    groups = {}
    at = ("left", "right").index(by)
    for pair in rows_of(left, right, how, context):
        groups.setdefault(pair[at], []).append(pair)
    numbers = answer[f"{by}_row"].to_pylist()
    assert sorted(numbers) == sorted(groups)
    assert answer.select(["k", "t"]).to_pydict() == side.select(["k", "t"]).take(pa.array(numbers, pa.int64())).to_pydict()
    values = {"left": left.to_pydict(), "right": right.to_pydict()}
    for number, row in zip(numbers, answer.to_pylist()):
        check_group(made, row, groups[number], values, by)


def test_types_of_the_answer(context):
    left = pa.table({"k": [1]})
    right = pa.table({name: pa.array([None], kind) for name, kind in COLUMNS.items()} | {"k": [1]})
    made = {f"sum_{name}": ("sum", "right", name) for name in NUMBERS}
    made |= {f"max_{name}": ("max", "right", name) for name in COLUMNS}
    made |= {"n": "count", "e": "exists", "avg": "avg(right.d64)", "c": "count(right.t)"}
    schema = gpujoin.aggregate(left, right, "k", aggregates=made, context=context).schema
    for name in NUMBERS:
        kind = COLUMNS[name]
        if pa.types.is_decimal(kind):
            wanted = pa.decimal128(38, kind.scale)
        elif pa.types.is_floating(kind):
            wanted = pa.float64()
        else:
            wanted = pa.uint64() if name[0] == "u" else pa.int64()
        assert schema.field(f"sum_{name}").type == wanted
    assert all(schema.field(f"max_{name}").type == COLUMNS[name] for name in COLUMNS)
    assert [schema.field(name).type for name in ("n", "e", "avg", "c")] == [
        *(pa.int64(), pa.bool_(), pa.float64(), pa.int64())
    ]
    assert not schema.field("n").nullable and schema.field("avg").nullable


def test_totals_are_exact_and_checked(context):
    left = pa.table({"k": [1, 1]})
    big = 2**63 - 1

    def total(values, kind, function="sum", by=None):
        right = pa.table({"k": pa.array([1] * len(values)), "x": pa.array(values, kind)})
        made = {"x": (function, "right", "x")}
        answer = gpujoin.aggregate(
            *(left, right), "k", aggregates=made, by=by, select=[] if by else None, context=context
        )
        return answer.to_table()["x"].to_pylist()[0]

    # Between, the sums are larger than the type holds.
    assert total([big, big, -big, -big, 7], pa.int64()) == 14
    assert total([big // 2], pa.int64()) == big - 1
    assert total([2**64 - 1, 0], pa.uint64(), by="left") == 2**64 - 1
    assert total([big, big - 2], pa.int64(), "avg") == (2 * big - 2) / 2
    assert total([2**64 - 1, 2**64 - 2], pa.uint64(), "avg") == float(2**64 - 1)
    near = Decimal(10**38 - 1)
    assert total([near, near, *[near.copy_negate()] * 2, Decimal(7)], pa.decimal128(38, 0)) == 14
    assert total([near, 0], pa.decimal128(38, 0), by="left") == near
    for values, kind in [
        ([big], pa.int64()),
        ([-(2**63)], pa.int64()),
        ([2**63], pa.uint64()),
        ([near], pa.decimal128(38, 0)),
        ([Decimal(10) ** 70], pa.decimal256(76, 0)),
    ]:
        with pytest.raises(gpujoin.EvaluationError, match=r'spec.aggregates\[0\]: "x" does not fit'):
            total(values, kind)
    with pytest.raises(gpujoin.EvaluationError, match="of left row 0 does not fit INT64"):
        total([big, 1], pa.int64(), by="left")


def test_duckdb_agrees(context):
    duckdb = pytest.importorskip("duckdb")
    source = random.Random(5)
    rows = 30_000
    left = pa.table(
        {
            "k": pa.array([source.randrange(9000) for _ in range(rows)], pa.int32()),
            "row": pa.array(range(rows), pa.int64()),
        }
    )
    right = pa.table(
        {
            "k": pa.array([source.randrange(12000) for _ in range(rows)], pa.int32()),
            "x": pa.array([source.choice([None, *range(-99, 99)]) for _ in range(rows)], pa.int64()),
            "t": [source.choice(["a", "bb", "c" * 30]) for _ in range(rows)],
        }
    )
    made = {
        **{"n": "count", "s": "sum(right.x)", "m": "min(right.t)", "a": "avg(right.x)"},
        **{"c": "count(right.x)", "g": "max(right.x)"},
    }
    values = "count(*) n, sum(x)::bigint s, min(t) m, avg(x) a, count(x) c, max(x) g"
    connection = duckdb.connect()
    connection.register("l", left)
    connection.register("r", right)

    def ask(query):
        return connection.sql(query).to_arrow_table().to_pylist()

    for how in ("inner", "left"):
        answer = gpujoin.aggregate(left, right, "k", how=how, aggregates=made, context=context)
        join = f"from l {how} join r using (k)"
        assert answer.to_table().to_pylist() == ask(f"select {values} {join}")
        answer = gpujoin.aggregate(
            *(left, right), "k", how=how, by="left", select=["row"], aggregates=made, context=context
        ).to_table()
        assert answer.sort_by("row").to_pylist() == ask(
            f"select row, {values} {join} group by row order by row"
        )
        fact = gpujoin.aggregate(
            *(right, left), "k", how="inner", by="right", select=["row"], context=context,
            aggregates={name: _turned(aggregate) for name, aggregate in made.items()},
        ).to_table()
        assert fact.sort_by("row").to_pylist() == ask(
            f"select row, {values} from l join r using (k) group by row order by row"
        )


@pytest.mark.parametrize("by", ["left", "right"])
@pytest.mark.parametrize("how", ["inner", "outer of by"])
def test_many_groups_and_a_heavy_one(context, by, how):
    """More groups than each thread has of its own, of a partition that is cut among threads."""
    rows = 100_000
    data = np.random.default_rng(3)
    keys = data.permutation(rows).astype(np.int32)
    left = pa.table({"k": keys, "x": data.integers(-9, 9, rows)})
    others = np.concatenate([data.integers(0, 2 * rows, rows), np.full(3 * rows, 17)])
    right = pa.table({"k": others.astype(np.int32), "y": data.integers(-(2**62), 2**62, 4 * rows)})
    kind = how if how == "inner" else by
    made = {
        **{"n": "count", "there": "exists", "x": "sum(left.x)", "least": "min(right.y)"},
        **{"mean": "avg(right.y)", "ys": "count(right.y)"},
    }
    answer = gpujoin.aggregate(
        *(left, right), "k", by=by, how=kind, select=["k"], pairs=True, aggregates=made,
        context=context,
    ).to_table()
    x_of = dict(zip(keys.tolist(), left["x"].to_pylist()))
    ys_of = {}
    for key, y in zip(others.tolist(), right["y"].to_pylist()):
        ys_of.setdefault(key, []).append(y)
    assert len(set(answer[f"{by}_row"].to_pylist())) == answer.num_rows
    side = left if by == "left" else right
    of_kind = side.num_rows if how != "inner" else sum(
        key in (ys_of if by == "left" else x_of) for key in side["k"].to_pylist()
    )
    assert answer.num_rows == of_kind
    y_at = right["y"].to_pylist()
    for row in answer.to_pylist():
        x, ys = x_of.get(row["k"]), ys_of.get(row["k"], [])
        if by == "right":
            ys = [y_at[row["right_row"]]]
            assert row["there"] == (x is not None) and row["n"] == 1 and row["x"] == x
        else:
            assert row["there"] == bool(ys) and row["n"] == max(1, len(ys))
            assert row["x"] == x * max(1, len(ys))
        assert row["ys"] == len(ys)
        assert row["least"] == min(ys, default=None)
        if row["k"] != 17 or by == "right":
            assert row["mean"] == (sum(ys) / len(ys) if ys else None)


def _turned(aggregate):
    return aggregate.replace("right.", "left.")


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"aggregates": {}}, gpujoin.InvalidArgument, "aggregates is not a dict"),
        ({"aggregates": {"x": "total"}}, gpujoin.InvalidArgument, "'total'; of rows there are"),
        ({"aggregates": {"x": "sum(r.x)"}}, gpujoin.InvalidArgument, "is none such as"),
        ({"aggregates": {"x": "sum(right.y)"}}, gpujoin.InvalidArgument, "no column has the name"),
        ({"aggregates": {"x": ("mean", "left", "k")}}, gpujoin.InvalidArgument, "not a function"),
        ({"aggregates": {"x": "sum(right.t)"}}, gpujoin.TypeMismatch, "of type UTF8 has no sum"),
        ({"by": "up"}, gpujoin.InvalidArgument, "by is 'up'"),
        ({"select": ["k"]}, gpujoin.InvalidArgument, "all rows are one group"),
        ({"by": "left", "how": "right"}, gpujoin.Unsupported, "without a left row have no group"),
        ({"by": "left", "how": "full"}, gpujoin.Unsupported, "without a left row have no group"),
        ({"by": "left", "how": "semi"}, gpujoin.Unsupported, "come out once each"),
        ({"how": "mark"}, gpujoin.Unsupported, "has a mark"),
        ({"how": "semi", "aggregates": {"x": "sum(right.x)"}}, gpujoin.InvalidArgument, "no right"),
        ({"pairs": True}, gpujoin.InvalidArgument, "of no row number"),
        ({"by": "left", "aggregates": {"k": "count"}}, gpujoin.InvalidArgument, "has the name 'k'"),
    ],
)
def test_what_is_refused(context, arguments, error, message):
    left = pa.table({"k": [1]})
    right = pa.table({"k": [1], "x": [2], "t": ["a"]})
    with pytest.raises(error, match=message):
        gpujoin.aggregate(
            left, right, "k", context=context, **{"aggregates": {"n": "count"}, **arguments}
        )


def test_by_needs_aggregates(context):
    table = pa.table({"k": [1]})
    with pytest.raises(gpujoin.InvalidArgument, match="aggregates are not"):
        gpujoin.plan(table, table, "k", by="left", context=context)


@pytest.mark.parametrize("key", [np.int32, np.int64])
@pytest.mark.parametrize("repeats", [False, True])
def test_rows_of_one_side_alone(key, repeats):
    """Of more unique, dense keys than a small table has, the CPU keeps a bit each."""
    rng = np.random.default_rng(3)
    keys = rng.permutation(np.arange(-50_000, 50_000)[rng.random(100_000) < 0.9]).astype(key)
    if repeats:
        keys[0] = keys[1]
    null = rng.random(len(keys)) < 0.05
    left = pa.table({"k": pa.array(keys, mask=null)})
    asked = rng.integers(-60_000, 60_000, 200_000).astype(key)
    unknown = rng.random(len(asked)) < 0.05
    y = rng.integers(-100, 100, len(asked))
    right = pa.table({"k": pa.array(asked, mask=unknown), "y": y})
    having = np.zeros(120_001, np.int64)
    np.add.at(having, keys[~null].astype(np.int64) + 60_000, 1)
    matches = np.where(unknown, 0, having[asked.astype(np.int64) + 60_000])
    with gpujoin.Context("cpu", threads=2) as cpu:
        result = gpujoin.aggregate(
            left, right, "k", aggregates={"n": "count", "s": "sum(right.y)"}, context=cpu
        )
        used = " ".join(stage.technique for stage in result.statistics.stages)
        assert ("build keys as bits" in used) != repeats
        assert result.to_table().to_pylist() == [{"n": matches.sum(), "s": (matches * y).sum()}]
        by = gpujoin.aggregate(
            *(left, right), "k", by="right", select=["y"], pairs=True,
            aggregates={"n": "count"}, context=cpu,
        ).to_table()
        rows = by["right_row"].to_numpy()
        assert sorted(rows) == list(np.flatnonzero(matches))
        assert (by["n"].to_numpy() == matches[rows]).all()
        assert (by["y"].to_numpy() == y[rows]).all()
        for sides in ((left, right), (right, left)):
            found = gpujoin.join(*sides, "k", select=["y"], context=cpu).to_table()["y"].to_numpy()
            assert sorted(found) == sorted(np.repeat(y, matches))


SUMMED = {"a": np.int8, "b": np.uint16, "c": np.int32, "d": np.uint32}


def summed_side(rows, key_type, seed):
    """Keys of which most repeat and some are the other side's; values at the ends of their types."""
    draw = np.random.default_rng(seed)
    keys = draw.integers(-5000, 20_000, rows) * (1 if key_type == np.int32 else 1 << 40)
    columns = {"k": keys.astype(key_type)}
    for name, kind in SUMMED.items():
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        columns[name] = np.where(draw.random(rows) < 0.3, high, draw.integers(low, high, rows)).astype(kind)
    table = pa.table(columns)
    texts = [None if i % 7 == 0 else f"row {i}" for i in range(rows)]
    return table.append_column("t", pa.array(texts)), columns


@pytest.mark.parametrize("by", ["left", "right"])
@pytest.mark.parametrize("key_type", [np.int32, np.int64])
@pytest.mark.parametrize("radix_bits", [1, 6, 15])
def test_groups_that_partitions_add_up(device, radix_bits, key_type, by):
    """On a GPU in chunks of a partition, by buckets and by ranks of bits; text is fetched by row."""
    sides = {"left": summed_side(30_000, key_type, 1), "right": summed_side(20_000, key_type, 2)}
    other = "right" if by == "left" else "left"
    aggregates = {"n": "count", "mean": ("avg", other, "c"), "own": ("sum", by, "c")}
    aggregates |= {name: ("sum", other, column) for name, column in [("x", "a"), ("y", "c"), ("z", "d")]}
    named = {"algorithm": "phj_carried", "radix_bits": radix_bits} if device == "cuda" else {}
    with gpujoin.Context(device) as context:
        made = gpujoin.aggregate(
            *(sides["left"][0], sides["right"][0], "k"), by=by, select=["k", "t", "b"], pairs=True,
            aggregates=aggregates, context=context, **named,
        ).to_table()
    own, theirs = sides[by][1], sides[other][1]
    counts, sums = {}, {name: {} for name in "acd"}
    for row, key in enumerate(theirs["k"].tolist()):
        counts[key] = counts.get(key, 0) + 1
        for name in sums:
            sums[name][key] = sums[name].get(key, 0) + int(theirs[name][row])
    found = {row["%s_row" % by]: row for row in made.to_pylist()}
    rows = [row for row, key in enumerate(own["k"].tolist()) if key in counts]
    assert sorted(found) == rows and made.num_rows == len(rows)
    texts = sides[by][0].column("t").to_pylist()
    for row in rows:
        key, got = int(own["k"][row]), found[row]
        n = counts[key]
        assert (got["k"], got["t"], got["b"]) == (key, texts[row], int(own["b"][row]))
        assert (got["n"], got["own"]) == (n, n * int(own["c"][row]))
        assert (got["x"], got["y"], got["z"]) == tuple(sums[name][key] for name in "acd")
        assert got["mean"] == float(Fraction(sums["c"][key], n))
