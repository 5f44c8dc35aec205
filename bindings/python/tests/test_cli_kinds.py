"""python -m gpujoin join: kinds of joins, and ways to name their keys."""

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from program import gpujoin, join
from tables import customers_and_orders, rows

import gpujoin as package


def test_keys_that_both_files_name_so(files):
    for named in (["--on", "order"], ["--left-on", "order"]):
        run = gpujoin(
            *("join", "right.parquet", "right.parquet", *named),
            *("--select", "order,day!", "--suffix", "!", "-o", "out.parquet"),
            folder=files,
        )
        assert (run.returncode, run.stderr) == (0, "")
        right = customers_and_orders()[1]
        assert rows(pa.parquet.read_table(files / "out.parquet")) == rows(
            right.select(["order", "day"])
        )


@pytest.mark.parametrize(
    "how, names",
    [
        ("full", ["id", "city", "rank", "note", "order", "customer", "note_right", "day"]),
        ("right", ["city", "rank", "note", "order", "customer", "note_right", "day"]),
        ("Anti", ["id", "city", "rank", "note"]),
        ("right-mark", ["order", "customer", "note", "day", "mark"]),
    ],
)
def test_kinds(files, how, names):
    run = join(files, "--how", how, "-o", "out.parquet")
    assert (run.returncode, run.stderr) == (0, "")
    found = pa.parquet.read_table(files / "out.parquet")
    assert found.schema.names == names
    left, right = customers_and_orders()
    wanted = package.join(left, right, left_on="id", right_on="customer", how=how)
    assert rows(found) == rows(wanted)


def test_a_mark_beside_a_column_of_its_name(files):
    for side, name in zip(("left", "right"), ("city", "day")):
        path = files / f"{side}.parquet"
        table = pa.parquet.read_table(path)
        names = ["mark" if n == name else n for n in table.schema.names]
        pa.parquet.write_table(table.rename_columns(names), path)
    run = join(files, "--how", "mark", "--select", "id,mark_right", "-o", "out.parquet")
    assert (run.returncode, run.stderr) == (0, "")
    assert pa.parquet.read_schema(files / "out.parquet").names == ["id", "mark_right"]
    assert pa.parquet.read_schema(files / "out.parquet").field("mark_right").type == pa.bool_()


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv"])
def test_a_cross_join_of_one_side(files, ending):
    pa.csv.write_csv(pa.table({"k": [1, 2]}), files / "left.csv")
    pa.feather.write_feather(pa.table({"k": [1, 2]}), files / "left.feather")
    pa.parquet.write_table(pa.table({"k": [1, 2]}), files / "left.parquet")
    named = ["--how", "cross", "--select", "order", "-o", "out.parquet"]
    run = gpujoin("join", f"left.{ending}", "right.parquet", *named, folder=files)
    assert (run.returncode, run.stderr) == (0, "")
    numbers = customers_and_orders()[1]["order"].to_pylist()
    assert rows(pa.parquet.read_table(files / "out.parquet")) == {(i,): 2 for i in numbers}


@pytest.mark.parametrize(
    "named, text",
    [
        ([], "no keys are named: give --on, or --left-on and --right-on"),
        (["--right-on", "order"], "no keys are named"),
        (["--on", "order", "--left-on", "order"], "--on names the keys of both files: no --left"),
        (["--on", "day"], "--on: left.parquet has no column 'day'; it has id, city, rank, note"),
        (["--on", "note", "--how", "best"], "--how 'best' is none of inner, left, right, full, "),
        (["--on", "note", "--how", "cross"], "--how cross has no keys: no --on, --left-on or "),
        (["--on", "note", "--null-equal=id"], "--null-equal: 'id' is no key; the keys are note"),
        (["--how", "cross", "--null-equal"], "--null-equal: there are no keys"),
        (["--on", "note", "--suffix", ""], "--suffix is empty, and two columns would be named "),
    ],
)
def test_wrong_keys(files, named, text):
    run = gpujoin("join", "left.parquet", "right.parquet", *named, folder=files)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"gpujoin: {text}")
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "named, null_equal",
    [
        ([], False),
        (["--null-equal"], True),
        (["--null-equal", "word"], ["word"]),
        (["--null-equal=n, word"], True),
        (["--null-equal", "n"], ["n"]),
    ],
)
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_null_equal(files, ending, named, null_equal):
    left = pa.table({"n": [1, 1, None, None], "word": ["a", None, "a", None], "v": [1, 2, 3, 4]})
    right = left.rename_columns(["m", "text", "w"])
    for name, table in (("l", left), ("r", right)):
        if ending == "parquet":
            pa.parquet.write_table(table, files / f"{name}.parquet")
        else:
            pa.feather.write_feather(table, files / f"{name}.feather")
    keys = ["--left-on", "n,word", "--right-on", "m,text"]
    run = gpujoin(
        *("join", f"l.{ending}", f"r.{ending}", *keys, *named, "-o", f"out.{ending}"), folder=files
    )
    assert (run.returncode, run.stderr) == (0, "")
    wanted = package.join(left, right, ["n", "word"], ["m", "text"], null_equal=null_equal)
    read = pa.parquet.read_table if ending == "parquet" else pa.feather.read_table
    assert rows(read(files / f"out.{ending}")) == rows(wanted)
    assert wanted.num_rows == (4 if null_equal is True else 2 if null_equal else 1)


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv"])
def test_columns_of_all_sorts(files, ending):
    """Keys of text, and outputs of views, dictionaries and runs, from files to files."""
    texts = pa.array(["a", None, "a text of more than twelve bytes"])
    table = pa.table(
        {
            "k": texts,
            "word": texts.dictionary_encode(),
            "view": texts.cast(pa.string_view()),
            "bit": [True, None, False],
            "bytes": pa.array([b"ab", None, b"cd"], pa.binary(2)),
        }
    )
    pa.feather.write_feather(table, files / "t.feather")
    out = f"out.{ending}"
    named = ["--on", "k", "--null-equal", "--how", "left", "-o", out]
    run = gpujoin("join", "t.feather", "t.feather", *named, folder=files)
    assert (run.returncode, run.stderr) == (0, "")
    assert "a text of more than t..." in run.stdout
    if ending != "csv":
        read = pa.parquet.read_table if ending == "parquet" else pa.feather.read_table
        found = read(files / out)
        assert found.num_rows == 3
        assert rows(found.select(table.schema.names)) == rows(table)
    empty = gpujoin("join", "t.feather", "t.feather", *named, "--rows", "0", folder=files)
    assert empty.returncode == 0


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--where", "left.id <"], "--where: a value is missing, at its end"),
        (["--where", "note = 1"], "--where: both sides have a column 'note'"),
        (["--where", "city like '%x'"], "--where: LIKE '%x'"),
        (["--left-on", "id", "--where", "a"], "--right-on: right.parquet has no column 'id'"),
        ([], "no keys are named: give --on, or --left-on and --right-on, or --where"),
    ],
)
def test_conditions_that_are_none(files, arguments, said):
    run = gpujoin("join", "left.parquet", "right.parquet", *arguments, folder=files)
    assert run.returncode == 2
    assert run.stderr.startswith("gpujoin: ") and said in run.stderr


def test_aggregates(files):
    asked = ["--aggregate", "count", "--aggregate", "max(right.day)", "--aggregate", "any(left.city)"]
    run = join(files, *asked, "--how", "left", "--by", "left", "--select", "id", "-o", "out.parquet")
    assert (run.returncode, run.stderr) == (0, "")
    left, right = customers_and_orders()
    wanted = package.aggregate(
        *(left, right), left_on="id", right_on="customer", how="left", by="left", select=["id"],
        aggregates={name: name for name in asked[1::2]},
    )
    assert rows(pa.parquet.read_table(files / "out.parquet")) == rows(wanted)
    run = join(files, *asked[:2], "-o", "out.parquet")
    assert pa.parquet.read_table(files / "out.parquet").to_pydict().keys() == {"count"}
    for arguments, problem in [
        (["--by", "left"], "--by is given"),
        (["--aggregate", "sum(left.nothing)"], "no column has the name"),
        (["--aggregate", "count", "--select", "id"], "--select: all rows are one group"),
    ]:
        run = join(files, *arguments)
        assert run.returncode == 2 and problem in run.stderr


def test_promises(files):
    run = join(files, "--promise", "left_unique", "-o", "out.parquet")
    assert (run.returncode, run.stderr) == (0, "")
    run = join(files, "--promise", "left_unique,right_unique", "-o", "out.parquet")
    assert run.returncode != 0 and "keys of right are not unique" in run.stderr
    run = join(files, "--promise", "sorted", "-o", "out.parquet")
    assert run.returncode == 2 and "'sorted' is none of left_unique" in run.stderr
