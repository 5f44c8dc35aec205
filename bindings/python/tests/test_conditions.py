"""join(where=): what conditions are translated to, in SQL and as expressions of pyarrow."""

import datetime
import random
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conditions import Drawn, NoValue, evaluate

import gpujoin
from gpujoin._condition import NUMBERS, condition_of

LEFT = pa.schema(
    [
        *[("a", pa.int32()), ("k", pa.int64()), ("t", pa.string()), ("d", pa.date32())],
        *[("p", pa.bool_()), ("m", pa.decimal128(9, 2)), ("f", pa.float64()), ("left", pa.int8())],
        *[("Say \"x\"", pa.int32()), ("a.b", pa.int32()), ("y", pa.binary())],
    ]
)
RIGHT = pa.schema(
    [
        *[("b", pa.int32()), ("k", pa.int64()), ("u", pa.string()), ("e", pa.date32())],
        *[("q", pa.bool_()), ("v", pa.uint64()), ("w", pa.int16()), ("date", pa.int32())],
    ]
)
FIELD = pc.field


def written(where):
    """Nodes as text: columns as side.name, constants as type and value, lists in brackets."""
    words = []
    for node in condition_of(where, LEFT, RIGHT).nodes:
        if node.operator == "column":
            schema = LEFT if node.side == "left" else RIGHT
            words.append(f"{node.side}.{schema.names[node.column]}")
        elif node.operator == "constant":
            words.append(f"{node.values.type}:{node.values[0].as_py()}")
        else:
            listed = "" if node.values is None else f"{node.values.type}{node.values.to_pylist()}"
            words.append(f"{node.operator}{node.count if node.count > 2 else ''}{listed}")
    return " ".join(words)


@pytest.mark.parametrize(
    "where, nodes",
    [
        ("left.a < right.b + 1", "left.a right.b int32:1 add less"),
        ("a<b", "left.a right.b less"),
        ('left."a"="b"', "left.a right.b equal"),
        ('LEFT.a = "Right".w', "left.a right.w equal"),
        ('"Say ""x""" = "a.b"', 'left.Say "x" left.a.b equal'),
        ("left = date", "left.left right.date equal"),
        ("left.left = 3", "left.left int32:3 equal"),
        ("a = 1 or b = 2 and p", "left.a int32:1 equal right.b int32:2 equal left.p and or"),
        ("p and q and a=1", "left.p right.q left.a int32:1 equal and3"),
        ("not p and q", "left.p not right.q and"),
        ("not a = 1 is true", "left.a int32:1 equal is_true not"),
        ("not not p", "left.p not not"),
        ("a - b - 1 = 2", "left.a right.b subtract int32:1 subtract int32:2 equal"),
        ("a - b * 2 = 2", "left.a right.b int32:2 multiply subtract int32:2 equal"),
        ("a // 2 % w = w", "left.a int32:2 quotient right.w modulo right.w equal"),
        ("a % 2 / b = w", "left.a int32:2 modulo right.b divide right.w equal"),
        ("- a * -2 = - - b", "left.a negate int32:-2 multiply right.b negate negate equal"),
        ("+a > +1", "left.a int32:1 greater"),
        ("a between 1 and b and p", "left.a int32:1 right.b between3 left.p and"),
        ("a NOT BETWEEN 1 AND 2 + 1", "left.a int32:1 int32:2 int32:1 add between3 not"),
        ("a is not null", "left.a is_not_null"),
        ("p is not false or q is unknown", "left.p is_false not right.q is_null or"),
        ("a is distinct from b", "left.a right.b distinct"),
        ("a is not distinct from b + 1", "left.a right.b int32:1 add not_distinct"),
        ("a in (1, 2, -3)", "left.a inint32[1, 2, -3]"),
        ("a in (1, 3000000000)", "left.a inint64[1, 3000000000]"),
        ("v in (1, 18446744073709551615)", "right.v inuint64[1, 18446744073709551615]"),
        ("a not in (null, 2)", "left.a inint32[2, None] not"),
        ("a in (null)", "left.a innull[None]"),
        ("a in (1, b)", "left.a inint32[1] left.a right.b equal or"),
        ("a in (b)", "left.a right.b equal"),
        ("f in (1.5e0, 2)", "left.f indouble[1.5] left.f inint32[2] or"),
        ("t in ('x', '')", "left.t instring['x', '']"),
        ("t like 'ab%'", "left.t string:ab starts_with"),
        ("t not like 'ab'", "left.t string:ab equal not"),
        ("t like '50!%%' escape '!'", "left.t string:50% starts_with"),
        ("t like '%%'", "left.t string: starts_with"),
        ("starts_with(t, u)", "left.t right.u starts_with"),
        ("t = 'it''s' -- a comment", "left.t string:it's equal"),
        ("t /* no * end */ = u", "left.t right.u equal"),
        ("case when p then a else b end = 1", "left.p left.a right.b case3 int32:1 equal"),
        ("case when p then q end", "left.p right.q case"),
        (
            "case a when 1 then p when b then q end",
            "left.a int32:1 equal left.p left.a right.b equal right.q case4",
        ),
        ("coalesce(a, b, 0) = 1", "left.a right.b int32:0 coalesce3 int32:1 equal"),
        ("a = ABS(-b)", "left.a right.b negate absolute equal"),
        ("m = 1.50", "left.m decimal128(3, 2):1.50 equal"),
        ("m = -.5", "left.m decimal128(1, 1):-0.5 equal"),
        ("m = 7.", "left.m decimal128(1, 0):7 equal"),
        ("f = 1.5e0 or f = 2E-1", "left.f double:1.5 equal left.f double:0.2 equal or"),
        ("a = -2147483648", "left.a int32:-2147483648 equal"),
        ("a = 2147483648", "left.a int64:2147483648 equal"),
        ("k = -9223372036854775808", None),
        ("v = 18446744073709551615", "right.v uint64:18446744073709551615 equal"),
        ("v = 18446744073709551616", "right.v decimal128(20, 0):18446744073709551616 equal"),
        ("v = " + "9" * 40, f"right.v decimal256(40, 0):{'9' * 40} equal"),
        ("y = x'00fF'", "left.y binary:b'\\x00\\xff' equal"),
        ("d < date '2020-02-29'", "left.d date32[day]:2020-02-29 less"),
        ("d < date '0001-01-01'", "left.d date32[day]:0001-01-01 less"),
        (
            "d < timestamp '1969-12-31 23:59:59.5'",
            "left.d timestamp[us]:1969-12-31 23:59:59.500000 less",
        ),
        ("d < timestamp '2020-01-01T10:30'", "left.d timestamp[us]:2020-01-01 10:30:00 less"),
        ("null is null and true", "null:None is_null bool:True and"),
    ],
)
def test_sql(where, nodes):
    if nodes is None:
        with pytest.raises(gpujoin.InvalidArgument, match="both sides have a column 'k'"):
            written(where)
    else:
        assert written(where) == nodes


def test_literals_of_time():
    def value(text):
        (node,) = condition_of(text, LEFT, RIGHT).nodes
        return node.values.type, node.values.cast(pa.int64()).to_pylist()[0]

    assert value("timestamp '1970-01-01 00:00:01.000000002'") == (pa.timestamp("ns"), 1000000002)
    assert value("timestamp '1970-01-01 00:00:00+01'") == (pa.timestamp("us", "UTC"), -3600 * 10**6)
    assert value("timestamp '1970-01-01 00:00:00 -00:30'")[1] == 1800 * 10**6
    assert value("timestamp '1970-01-02 00:00:00Z'")[1] == 86400 * 10**6
    assert value("time '00:00:01.5'") == (pa.time64("us"), 1500000)
    assert value("time '23:59'") == (pa.time64("us"), 86340 * 10**6)


@pytest.mark.parametrize(
    "where, error, text",
    [
        ("", gpujoin.InvalidArgument, "a value is missing, at its end"),
        ("a =", gpujoin.InvalidArgument, "a value is missing, at its end"),
        ("a = 1)", gpujoin.InvalidArgument, r"'\)' cannot stand here, at character 6: \)"),
        ("(a = 1", gpujoin.InvalidArgument, r"\) should stand here, at its end"),
        ("a b", gpujoin.InvalidArgument, "'b' cannot stand here, at character 3: b"),
        ("k = 1", gpujoin.InvalidArgument, "both sides have a column 'k': .*at character 1: k = 1"),
        ("p or zz = 1", gpujoin.InvalidArgument, "no side has a column 'zz'; .* character 6: zz"),
        ("left.zz = 1", gpujoin.InvalidArgument, "left has no column 'zz'; it has a, k, t"),
        ("t.a = 1", gpujoin.InvalidArgument, "left.NAME or right.NAME, not t.NAME"),
        ("left.3 = 1", gpujoin.InvalidArgument, "cannot stand here|name of a column"),
        ("left.d.x = 1", gpujoin.Unsupported, "fields of nested columns"),
        ("a < b < 3", gpujoin.InvalidArgument, "comparisons do not stand in a row.*character 7"),
        ("a = not p", gpujoin.InvalidArgument, "NOT needs brackets here, at character 5"),
        ("t = 'it''s", gpujoin.InvalidArgument, "a text without an end, at character 5"),
        ('"t = 1', gpujoin.InvalidArgument, "a name without an end, at character 1"),
        ("a = $1", gpujoin.InvalidArgument, r"'\$' means nothing, at character 5"),
        ("a = 12ab", gpujoin.InvalidArgument, "'ab' cannot stand here, at character 7"),
        ("a in ()", gpujoin.InvalidArgument, "cannot stand here, at character 7"),
        ("a in 1", gpujoin.InvalidArgument, r"\( should stand here, at character 6"),
        ("a between 1 or 2", gpujoin.InvalidArgument, "AND should stand here, at character 13"),
        ("a is 3", gpujoin.InvalidArgument, "behind IS stand .* at character 6"),
        ("case when p then a", gpujoin.InvalidArgument, "END should stand here, at its end"),
        ("case a end", gpujoin.InvalidArgument, "WHEN should stand here, at character 8"),
        ("abs(a, b) = 1", gpujoin.InvalidArgument, "abs has 2 values in its brackets, not 1"),
        ("coalesce() = 1", gpujoin.InvalidArgument, "coalesce needs a value, at character 10"),
        ("starts_with(t)", gpujoin.InvalidArgument, "starts_with has 1 values"),
        ("d = date '2021-02-29'", gpujoin.InvalidArgument, "no date is 2021-02-29: .*acter 10"),
        ("d = date 'today'", gpujoin.InvalidArgument, "'today' is not a date"),
        ("d = timestamp '2021-01-01 25:00'", gpujoin.InvalidArgument, "no day has a 25:00:00"),
        ("d = timestamp '1600-01-01 00:00:00.1234567'", gpujoin.InvalidArgument, "nanoseconds"),
        ("y = x'0'", gpujoin.InvalidArgument, "two hexadecimal digits"),
        ("v = " + "9" * 77, gpujoin.InvalidArgument, "a number of 77 digits"),
        (f"v in ({'9' * 70}, 0.0000001)", gpujoin.InvalidArgument, "numbers of 77 digits in all"),
        ("t like '%b'", gpujoin.Unsupported, "only a text with % at its end.* at character 8"),
        ("t like 'a_'", gpujoin.Unsupported, "LIKE 'a_'"),
        ("t like u", gpujoin.Unsupported, "the pattern must be a text in quotes"),
        ("t ilike 'a%'", gpujoin.Unsupported, "ILIKE"),
        ("t || 'a' = u", gpujoin.Unsupported, "text is not put together"),
        ("upper(t) = u", gpujoin.Unsupported, "no function is called upper; there are starts_with"),
        ("cast(a as int) = 1", gpujoin.Unsupported, "there are no casts"),
        ("a::int = 1", gpujoin.Unsupported, "there are no casts: .*, at character 2"),
        ("(a, b) = (1, 2)", gpujoin.Unsupported, "rows are not compared"),
        ("exists (select 1)", gpujoin.Unsupported, "no subqueries"),
        ("a in (select b)", gpujoin.Unsupported, "no subqueries"),
        ("d < e + interval '1' day", gpujoin.Unsupported, "there are no intervals"),
        ("(" * 5000 + "p", gpujoin.Unsupported, "more than 100 brackets in one another"),
        ("not " * 5000 + "p", gpujoin.Unsupported, "more than 100"),
        (" and ".join(["p"] * 5000), gpujoin.InvalidArgument, "more than 4096 columns"),
        (3, gpujoin.InvalidArgument, "is a int; it must be a text of SQL, a pyarrow"),
    ],
)
def test_sql_that_is_none(where, error, text):
    with pytest.raises(error, match=f"^where:? .*({text})"):
        condition_of(where, LEFT, RIGHT)


@pytest.mark.parametrize(
    "where, nodes",
    [
        (FIELD("left", "a") < FIELD("right", "b") + 1, "left.a right.b int64:1 add less"),
        (FIELD("left.a") == FIELD("b"), "left.a right.b equal"),
        (FIELD("a.b") != 1, "left.a.b int64:1 not_equal"),
        ((FIELD("p") & FIELD("q")) | ~FIELD("p"), "left.p right.q and left.p not or"),
        (pc.xor(FIELD("p"), FIELD("q")), "left.p right.q not_equal"),
        (FIELD("a").is_null() | FIELD("b").is_valid(), "left.a is_null right.b is_not_null or"),
        (FIELD("a").isin([1, 2]), "left.a inint64[1, 2] is_true"),
        (FIELD("a").isin([1, None]), "left.a inint64[1] is_true left.a is_null or"),
        (FIELD("a").isin([]), "left.a is_null left.a is_not_null and is_true is_true"),
        (FIELD("a") / 2 == 1, "left.a int64:2 quotient int64:1 equal"),
        (FIELD("f") / 2 == 1, "left.f int64:2 divide int64:1 equal"),
        (pc.divide(FIELD("f"), FIELD("a")) == 1, "left.f left.a divide int64:1 equal"),
        (pc.abs(pc.negate(FIELD("a"))) == 1, "left.a negate absolute int64:1 equal"),
        (FIELD("a") * 2 - 1 > 0, "left.a int64:2 multiply int64:1 subtract int64:0 greater"),
        (pc.starts_with(FIELD("t"), "ab"), "left.t string:ab starts_with"),
        (pc.starts_with(FIELD("y"), b"ab"), "left.y binary:b'ab' starts_with"),
        (pc.match_like(FIELD("t"), "50\\%%"), "left.t string:50% starts_with"),
        (
            pc.if_else(FIELD("p"), FIELD("a"), 2) == 1,
            "left.p left.a left.p not int64:2 case4 int64:1 equal",
        ),
        (
            pc.case_when(pc.make_struct(FIELD("p"), FIELD("q")), 1, 2, 3) == 2,
            "left.p int64:1 right.q int64:2 int64:3 case5 int64:2 equal",
        ),
        (pc.coalesce(FIELD("a"), FIELD("b")) == 1, "left.a right.b coalesce int64:1 equal"),
        (FIELD("a").cast(pa.int64()) == 1, "left.a int64:0 add int64:1 equal"),
        (FIELD("a").cast(pa.int32()) == 1, "left.a int64:1 equal"),
        (FIELD("d").cast(pa.timestamp("s")) > FIELD("e"), "left.d right.e greater"),
        (FIELD("d") < datetime.date(2020, 1, 2), "left.d date32[day]:2020-01-02 less"),
        (FIELD("m") == Decimal("1.5"), "left.m decimal128(2, 1):1.5 equal"),
        (FIELD("p") == pa.scalar(None, pa.bool_()), "left.p bool:None equal"),
        (pc.scalar(True), "bool:True"),
    ],
)
def test_expressions(where, nodes):
    assert written(where) == nodes


@pytest.mark.parametrize(
    "where, error, text",
    [
        (FIELD("k") == 1, gpujoin.InvalidArgument, "both sides have a column 'k'"),
        (FIELD("zz") == 1, gpujoin.InvalidArgument, "no side has a column 'zz'"),
        (FIELD("right", "a") == 1, gpujoin.InvalidArgument, "right has no column 'a'"),
        (FIELD("left", "a", "b") == 1, gpujoin.InvalidArgument, "a column is field"),
        (FIELD(0) == 1, gpujoin.Unsupported, "fields must be named"),
        (pc.utf8_upper(FIELD("t")) == "A", gpujoin.Unsupported, "the function utf8_upper"),
        (pc.starts_with(FIELD("t"), "a", ignore_case=True), gpujoin.Unsupported, "ignore_case"),
        (FIELD("a").is_null(nan_is_null=True), gpujoin.Unsupported, "nan_is_null"),
        (FIELD("a").cast(pa.int8()) == 1, gpujoin.Unsupported, "cast of int32 to int8"),
        (FIELD("m") / 2 == 1, gpujoin.Unsupported, "divide of decimals"),
    ],
)
def test_expressions_that_are_none(where, error, text):
    with pytest.raises(error, match=f"^where: .*{text}"):
        condition_of(where, LEFT, RIGHT)


def test_deep_expressions():
    nested = FIELD("a")
    for _ in range(1000):
        nested = pc.negate(nested)
    with pytest.raises(gpujoin.Unsupported, match="calls in one another"):
        condition_of(nested == 1, LEFT, RIGHT)


def test_numbers_of_operators():
    """Those of gpujoin.h."""
    assert NUMBERS["column"] == 1 and NUMBERS["in"] == 12 and NUMBERS["absolute"] == 30


def test_what_a_node_was_written_as():
    nodes = condition_of("a = 1 and  b + 1 in (2, 3)", LEFT, RIGHT).nodes
    texts = [node.text for node in nodes]
    assert texts == [
        *("a", "1", "a = 1", "b", "1", "b + 1", "b + 1 in (2, 3)"),
        "a = 1 and  b + 1 in (2, 3)",
    ]


def random_table(pick, names, rows):
    def column(kind, values):
        return pa.array([None if pick.random() < 0.25 else pick.choice(values) for _ in rows], kind)

    a, t, p, d = names
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(3)]
    return pa.table(
        {
            a: column(pa.int32(), range(-2, 4)),
            t: column(pa.string(), ["", "a", "b", "bc", "é"]),
            p: column(pa.bool_(), [True, False]),
            d: column(pa.date32(), days),
        }
    )


def test_conditions_drawn_at_random_mean_what_duckdb_says():
    """Of 300 conditions: the parser's precedence, and what becomes of NULLs."""
    duckdb = pytest.importorskip("duckdb")
    pick = random.Random(11)
    left = random_table(pick, "atpd", range(6))
    right = random_table(pick, "buqe", range(6))
    columns = {
        "number": ["a", "b", "left.a", "right.b", "1", "-2", "0", "null", "1.5", "2e0"],
        "text": ["t", "u", "'b'", "''", "null"],
        "truth": ["p", "q", "left.p"],
        "date": ["d", "e", "date '2020-01-02'", "null"],
    }
    drawn = Drawn(pick, columns)
    pairs = [
        {"left": tuple(one.values()), "right": tuple(other.values())}
        for one in left.to_pylist()
        for other in right.to_pylist()
    ]
    answers = set()
    with duckdb.connect() as connection:
        connection.register("l", left.append_column("i", pa.array(range(left.num_rows))))
        connection.register("r", right.append_column("i", pa.array(range(right.num_rows))))
        for _ in range(300):
            where = drawn.condition(pick.choice([1, 2, 2, 3]))
            nodes = condition_of(where, left.schema, right.schema).nodes
            try:
                found = [evaluate(nodes, rows) for rows in pairs]
            except NoValue:
                continue
            sql = where.replace("left.", "l.").replace("right.", "r.")
            query = f"select ({sql}) from l cross join r order by l.i, r.i"
            wanted = [None if a is None else bool(a) for (a,) in connection.sql(query).fetchall()]
            assert found == wanted, where
            answers.update(found)
    assert answers == {True, False, None}
