"""gpujoin join: sides of many files, and outputs of many."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from program import gpujoin, join
from tables import customers_and_orders, reference_join, rows

SELECT = [("left", "rank"), ("left", "city"), ("right", "day"), ("right", "note")]
NAMES = "rank,city,day,note_right"


@pytest.fixture
def parts(files):
    """right/ has the rows of right.parquet in files of all formats, one of them without rows."""
    right = pa.parquet.read_table(files / "right.parquet")
    folder = files / "right"
    (folder / "more").mkdir(parents=True)
    pa.parquet.write_table(right.slice(0, 1000), folder / "a.parquet", row_group_size=300)
    pa.feather.write_feather(right.slice(1000, 700), folder / "b.feather", chunksize=100)
    pa.parquet.write_table(right.slice(0, 0), folder / "c.parquet")
    pa.parquet.write_table(right.slice(1700), folder / "more" / "d.parquet")
    (folder / "_SUCCESS.csv").write_text("no table\n")
    (folder / ".hidden.parquet").write_text("no table")
    (folder / "notes.txt").write_text("no table")
    return files


def expected():
    return reference_join(*customers_and_orders(), "id", "customer", SELECT)


@pytest.mark.parametrize("right", ["right", "right/", "right/**/*.[pf]*", "right.parquet"])
@pytest.mark.parametrize("output", ["out.parquet", "out/"])
def test_folders_and_globs(device, parts, right, output):
    run = join(parts, "--select", NAMES, "--device", device, "-o", output, right=right)
    assert (run.returncode, run.stderr) == (0, "")
    assert "500 x 3,000 rows" in run.stdout
    assert rows(pa.parquet.read_table(parts / output)) == expected()
    if output == "out/":
        assert all(file.name.startswith("part-") for file in (parts / "out").iterdir())
    assert not list(parts.glob("*.part"))


def test_csv_files_beside_others(files):
    left, right = customers_and_orders()
    (files / "l").mkdir()
    # As a CSV file says them.
    left = left.select(["id", "rank"]).cast(pa.schema([("id", pa.int64()), ("rank", pa.int64())]))
    pa.parquet.write_table(left.slice(0, 200), files / "l" / "a.parquet")
    pa.csv.write_csv(left.slice(200), files / "l" / "b.csv")
    run = join(files, "--select", "rank,order", "-o", "out.feather", left="l")
    assert (run.returncode, run.stderr) == (0, "")
    wanted = reference_join(left, right, "id", "customer", [("left", "rank"), ("right", "order")])
    assert rows(pa.feather.read_table(files / "out.feather")) == wanted


def test_a_column_that_one_file_has_no_values_of(files):
    (files / "l").mkdir()
    pa.parquet.write_table(pa.table({"id": [1], "v": pa.nulls(1)}), files / "l" / "a.parquet")
    pa.parquet.write_table(pa.table({"v": ["x"], "id": [2]}), files / "l" / "b.parquet")
    pa.parquet.write_table(pa.table({"id": [1, 2, 3]}), files / "r.parquet")
    run = gpujoin("join", "l", "r.parquet", "--on", "id", "-o", "out.parquet", folder=files)
    assert (run.returncode, run.stderr) == (0, "")
    found = pa.parquet.read_table(files / "out.parquet").sort_by("id").to_pydict()
    assert found == {"id": [1, 2], "v": [None, "x"]}


@pytest.mark.parametrize(
    "second, said",
    [
        ({"id": [2]}, "l/b.parquet: there is no column 'v', which l/a.parquet has"),
        ({"id": [2], "v": [1], "w": [1]}, "l/b.parquet: there is a column 'w', which l/a.parquet"),
        (
            {"id": [2], "v": ["x"]},
            "l/b.parquet: column 'v' is of type string, and in l/a.parquet of type int64",
        ),
    ],
)
def test_files_that_are_no_one_table(files, second, said):
    (files / "l").mkdir()
    pa.parquet.write_table(pa.table({"id": [1], "v": [1]}), files / "l" / "a.parquet")
    pa.parquet.write_table(pa.table(second), files / "l" / "b.parquet")
    run = join(files, "-o", "out.parquet", left="l")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith("gpujoin: " + said)
    assert not (files / "out.parquet").exists()


def test_no_files(files):
    (files / "empty").mkdir()
    for left, said in [
        ("empty", "empty: the folder has no file"),
        ("none-*.parquet", "none-*.parquet: no file has such a name"),
    ]:
        run = join(files, left=left)
        assert run.returncode == 1
        assert said in run.stderr and len(run.stderr.splitlines()) == 1


def test_a_file_that_ends_early(files):
    whole = (files / "left.parquet").read_bytes()
    (files / "l").mkdir()
    (files / "l" / "a.parquet").write_bytes(whole)
    broken = bytearray(whole)
    broken[4:400] = bytes(396)  # its pages, not its footer
    (files / "l" / "b.parquet").write_bytes(broken)
    run = join(files, "-o", "out.parquet", left="l")
    assert run.returncode == 1
    assert "l/b.parquet: " in run.stderr
    assert not (files / "out.parquet").exists() and not list(files.glob("*.part"))


def test_folders_that_are_taken(parts):
    (parts / "out").mkdir()
    assert join(parts, "-o", "out", right="right").returncode == 0  # it was empty
    for output in ("out", "out/", "right/"):
        run = join(parts, "-o", output, right="right")
        assert run.returncode == 2
        assert f"{output}: is there already, and not an empty folder" in run.stderr
    run = join(parts, "-o", "right/more/d.parquet", right="right")
    assert run.returncode == 2
    assert "right/more/d.parquet is the input right/more/d.parquet" in run.stderr


def test_types_come_back(files):
    """Codes, narrow integers and decimals are how columns are moved, not what comes out."""
    texts = ["N", "O", None, "N"] * 50
    prices = [Decimal(i - 100) / 100 for i in range(199)]
    table = pa.table(
        {
            "k": pa.array(range(200), pa.int64()),
            "status": pa.array(texts, pa.string_view()),
            "code": pa.array(texts).dictionary_encode(),
            "price": pa.array([None, *prices], pa.decimal128(15, 2)),
            "wide": pa.array([Decimal(i) for i in range(200)], pa.decimal128(38, 0)),
            "small": pa.array([i % 7 - 3 for i in range(200)], pa.int64()),
            "unsigned": pa.array(range(200), pa.uint32()),
            "bytes": pa.array([b"a", b"b"] * 100, pa.binary()),
        }
    )
    pa.parquet.write_table(table, files / "l.parquet", row_group_size=64)
    pa.feather.write_feather(table, files / "r.feather", chunksize=50)
    for ending in ("parquet", "feather", "csv"):
        out = f"out.{ending}"
        run = gpujoin(
            *("join", "l.parquet", "r.feather", "--on", "k", "-o", out, "--threads", "2"),
            folder=files,
        )
        assert (run.returncode, run.stderr) == (0, "")
        if ending == "csv":
            continue
        read = pa.parquet.read_table if ending == "parquet" else pa.feather.read_table
        found = read(files / out)
        names = table.schema.names
        assert rows(found.select(names)) == rows(table)
        theirs = found.select(["k", *(name + "_right" for name in names[1:])])
        assert rows(theirs) == rows(table)
        for name in ("k", "status", "price", "wide", "small", "unsigned", "bytes"):
            assert found.schema.field(name).type == table.schema.field(name).type
        assert found.schema.field("code").type.value_type == pa.string()
