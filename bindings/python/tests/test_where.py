"""join(where=): joins with conditions, against duckdb."""

import random
from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest
from conditions import Drawn
from program import gpujoin as program
from tables import customers_and_orders, rows

import gpujoin

FIELD = pc.field
IN_SQL = {
    "inner": "SELECT {all} FROM l JOIN r ON {on}",
    "left": "SELECT {all} FROM l LEFT JOIN r ON {on}",
    "right": "SELECT {all} FROM l RIGHT JOIN r ON {on}",
    "full": "SELECT {all} FROM l FULL JOIN r ON {on}",
    "left_semi": "SELECT l.* FROM l SEMI JOIN r ON {on}",
    "left_anti": "SELECT l.* FROM l ANTI JOIN r ON {on}",
    "right_semi": "SELECT r.* FROM r SEMI JOIN l ON {on}",
    "right_anti": "SELECT r.* FROM r ANTI JOIN l ON {on}",
}
LEFT = pa.table({"k": [1, 2, 2, 3, None], "a": pa.array([1, 2, 3, 0, 5], pa.int8())})
RIGHT = pa.table({"j": [1, 2, 3, 3, None], "b": pa.array([1, 2, 0, None, 5], pa.int8())})


def random_table(pick, names, count):
    def column(kind, values):
        picked = [pick.choice(values) for _ in range(count)]
        return pa.array([None if pick.random() < 0.2 else value for value in picked], kind)

    key, number, text, truth, day = names
    return pa.table(
        {
            key: column(pa.int64(), range(8)),
            number: column(pa.int32(), range(-2, 4)),
            text: column(pa.string(), ["", "a", "b", "bc", "é"]),
            truth: column(pa.bool_(), [True, False]),
            day: column(pa.int32(), [18262, 18263, 18264]).cast(pa.date32()),
        }
    )


@pytest.mark.parametrize("kind", IN_SQL)
def test_conditions_drawn_at_random(context, kind):
    duckdb = pytest.importorskip("duckdb")
    pick = random.Random(f"conditions of {kind}")
    columns = {
        "number": ["a", "b", "left.a", "right.b", "1", "-2", "0", "null", "1.5", "2e0"],
        "text": ["t", "u", "'b'", "''", "null"],
        "truth": ["p", "q", "left.p"],
        "date": ["d", "e", "date '2020-01-02'", "null"],
    }
    left, right = random_table(pick, "katpd", 60), random_table(pick, "jbuqe", 50)
    names = {"left": left.schema.names, "right": right.schema.names}
    selected = names[kind.split("_")[0]] if "_" in kind else names["left"] + names["right"]
    drawn = Drawn(pick, columns)
    sizes = set()
    with duckdb.connect() as connection:
        connection.register("l", left)
        connection.register("r", right)
        for _ in range(25):
            where = drawn.condition(pick.choice([1, 2, 2, 3]))
            sql = where.replace("left.", "l.").replace("right.", "r.")
            query = IN_SQL[kind].format(on=f"l.k = r.j AND ({sql})", all=", ".join(selected))
            wanted = Counter(connection.sql(query).fetchall())
            given = {"left_on": "k", "right_on": "j", "how": kind, "where": where}
            found = gpujoin.join(left, right, **given, select=selected, context=context)
            assert rows(found) == wanted, where
            sizes.add(sum(wanted.values()))
    assert len(sizes) > 5


@pytest.mark.parametrize(
    "where, pairs",
    [
        (FIELD("a") < FIELD("b"), 0),
        (FIELD("left", "a") <= FIELD("right", "b"), 3),
        (FIELD("left.a") + 1 > FIELD("right.b"), 4),
        (FIELD("b").is_null() | FIELD("a").isin([1, 3]), 3),
        (pc.if_else(FIELD("b") > 1, FIELD("a") == 3, FIELD("a") == 0), 2),
        (pc.coalesce(FIELD("b"), 7) == 7, 1),
        (FIELD("a").cast(pa.int64()) * 100 == FIELD("b").cast(pa.int64()) * 100, 3),
        (FIELD("a") == pa.scalar(2, pa.uint64()), 1),
    ],
)
def test_expressions(context, where, pairs):
    found = gpujoin.join(LEFT, RIGHT, "k", "j", where=where, context=context)
    assert found.num_rows == pairs


def test_sides_of_names(context):
    table = pa.table({"k": [1, 1], "v": [1, 2], 'unit "price"': [3, 1]})
    found = gpujoin.join(
        *(table, table, "k"),
        where='left.v < right.v and left."unit ""price""" > RIGHT."unit ""price"""',
        pairs=True,
        context=context,
    )
    assert rows(found.to_table().select(["left_row", "right_row"])) == Counter({(0, 1): 1})


def test_plans_are_executed_again(context):
    with gpujoin.plan(LEFT, RIGHT, "k", "j", where="a = b", context=context) as plan:
        assert [plan.execute().num_rows for _ in range(2)] == [3, 3]


def test_columns_of_a_condition_need_not_come_out(context):
    chunked = pa.chunked_array([[1, 2], [3, 0, 5]], pa.int8())
    left = pa.table({"x": ["v", "w", "x", "y", "z"], "k": LEFT["k"], "a": chunked})
    found = gpujoin.join(left, RIGHT, "k", "j", where="a > b", select=["x"], context=context)
    assert found.to_table().to_pydict() == {"x": ["x"]}


@pytest.mark.parametrize(
    "where, error, text",
    [
        ("a = b and a // b = 1", gpujoin.EvaluationError, "; where: a // b$"),
        ("a = b and 100 * a + 2147483647 > b", gpujoin.EvaluationError, "; where: 100 . a . 21"),
        ("a = 'x' or b = 1", gpujoin.TypeMismatch, "; where: a = 'x'$"),
        ("a + b", gpujoin.TypeMismatch, "BOOL.*; where: a . b$"),
        ("not a", gpujoin.TypeMismatch, "; where: not a$"),
    ],
)
def test_errors_name_what_was_written(context, where, error, text):
    with pytest.raises(error, match=text) as caught:
        gpujoin.join(LEFT, RIGHT, "k", "j", where=where, context=context)
    assert "spec.residual.nodes[" in str(caught.value)


def test_nested_columns(context):
    left = LEFT.append_column("n", pa.array([[1], [2], [], None, [3]]))
    with pytest.raises(gpujoin.TypeMismatch, match="nodes.*; where: n"):
        gpujoin.join(left, RIGHT, "k", "j", where="n is null", context=context)


def test_from_the_command_line(files):
    left, right = customers_and_orders()
    where = "left.rank < 50 and right.note is not null and day > date '1970-06-01'"
    run = program(
        *("join", "left.parquet", "right.parquet", "--left-on", "id", "--right-on", "customer"),
        *("--where", where, "--how", "semi", "--select", "id,city", "-o", "out.parquet"),
        folder=files,
    )
    assert (run.returncode, run.stderr) == (0, "")
    wanted = gpujoin.join(left, right, "id", "customer", how="semi", where=where)
    found = rows(pyarrow.parquet.read_table(files / "out.parquet"))
    assert found == rows(wanted.to_table().select(["id", "city"]))
    assert 50 < sum(found.values()) < 300


def test_errors_of_the_command_line(files):
    run = program(
        *("join", "left.parquet", "right.parquet", "--left-on", "id", "--right-on", "customer"),
        *("--where", "left.rank // 0 = 1"),
        folder=files,
    )
    assert run.returncode == 1
    assert run.stderr.startswith("gpujoin: ") and "where: left.rank // 0" in run.stderr


@pytest.mark.parametrize("kind", ["inner", "left", "right", "full"])
@pytest.mark.parametrize("key", [pa.int32(), pa.int64()])
def test_columns_that_travel_with_their_keys(kind, key):
    """Partitions of the CPU hold what is compared, and the match marks the rows that have one."""
    duckdb = pytest.importorskip("duckdb")
    pick = random.Random(f"{kind}, {key}")

    def table(names, count, with_null):
        keys = pa.array([pick.choice([None, *range(40)]) for _ in range(count)], key)
        values = [pick.choice([None] * with_null + list(range(9))) for _ in range(count)]
        wide = [pick.randrange(5) for _ in range(count)]
        return pa.table([keys, pa.array(values, pa.int32()), pa.array(wide, pa.int64())], names)

    for with_null in (False, True):
        l, r = table(["k", "a", "c"], 700, with_null), table(["j", "b", "d"], 500, False)
        for where in ("a < b", "a < b and c >= d", "k < 20 and d = 3", "a <> 3 and j > 5"):
            sql = IN_SQL[kind].format(all="k, a, c, j, b, d", on=f"k = j and {where}")
            with gpujoin.Context("cpu", threads=2) as cpu:
                for side, bits in (("left", 3), ("right", 3), ("auto", None)):
                    found = gpujoin.join(
                        *(l, r, "k", "j"), how=kind, where=where, select=["k", "a", "c", "b", "d"],
                        context=cpu, build_side=side, radix_bits=bits, gather="transformed",
                    ).to_table()
                    wanted = duckdb.sql(sql).to_arrow_table().drop_columns(["j"])
                    assert Counter(rows(found)) == Counter(rows(wanted)), (where, side)
