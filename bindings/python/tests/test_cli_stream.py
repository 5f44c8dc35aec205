"""gpujoin join while it reads: kinds against DuckDB, memory limits, row groups left out."""

import os
import random
import subprocess
import sys
import time

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from program import gpujoin

OF_LEFT = "SELECT l.* FROM l WHERE"
ALL = "l.k, l.text, l.number, r.v"
KINDS = {
    "inner": f"SELECT {ALL} FROM l JOIN r ON l.k = r.k",
    "left": f"SELECT {ALL} FROM l LEFT JOIN r ON l.k = r.k",
    "right": "SELECT l.text, l.number, r.k, r.v FROM l RIGHT JOIN r ON l.k = r.k",
    "full": "SELECT l.k, l.text, l.number, r.k, r.v FROM l FULL JOIN r ON l.k = r.k",
    "left_semi": f"{OF_LEFT} EXISTS (FROM r WHERE l.k = r.k)",
    "left_anti": f"{OF_LEFT} NOT EXISTS (FROM r WHERE l.k = r.k)",
    "left_mark": "SELECT l.*, l.k IN (SELECT k FROM r) FROM l",
    "left_not_in": f"{OF_LEFT} l.k NOT IN (SELECT k FROM r)",
    "right_semi": "SELECT r.* FROM r WHERE EXISTS (FROM l WHERE l.k = r.k)",
    "right_anti": "SELECT r.* FROM r WHERE NOT EXISTS (FROM l WHERE l.k = r.k)",
    "right_mark": "SELECT r.*, r.k IN (SELECT k FROM l) FROM r",
    "right_not_in": "SELECT r.* FROM r WHERE r.k NOT IN (SELECT k FROM l)",
    "left_single": f"SELECT {ALL} FROM l LEFT JOIN r ON l.k = r.k",
    "cross": f"SELECT l.k, l.text, l.number, r.k, r.v FROM l, r",
}


def write_tables(folder, left_rows, right_rows, nulls=0.02):
    draw = random.Random(7)

    def some(value):
        return None if draw.random() < nulls else value

    left = pa.table(
        {
            "k": pa.array([some(draw.randrange(right_rows * 2)) for _ in range(left_rows)]),
            "text": [some(f"t{draw.randrange(9)}") for _ in range(left_rows)],
            "number": [some(draw.randrange(10**6)) for _ in range(left_rows)],
        }
    )
    right = pa.table(
        {
            "k": sorted(draw.sample(range(right_rows * 2), right_rows)),
            "v": [some(draw.choice("abc")) for _ in range(right_rows)],
        }
    )
    (folder / "l").mkdir()
    half = left_rows // 2
    pa.parquet.write_table(left.slice(0, half), folder / "l" / "1.parquet", row_group_size=400)
    pa.parquet.write_table(left.slice(half), folder / "l" / "2.parquet", row_group_size=700)
    pa.parquet.write_table(right, folder / "r.parquet", row_group_size=100)
    return left, right


def theirs(left, right, query):
    engine = duckdb.connect()
    engine.register("l", left)
    engine.register("r", right)
    return sorted(engine.execute(query).fetchall(), key=repr)


def ours(path):
    table = pa.parquet.read_table(path)
    return sorted(zip(*(column.to_pylist() for column in table.columns)), key=repr)


def run_kind(folder, how, *arguments, output="out.parquet"):
    keys = [] if how == "cross" else ["--on", "k"]
    run = gpujoin("join", "l", "r.parquet", *keys, "--how", how, "-o", output, *arguments,
                  folder=folder)
    assert (run.returncode, run.stderr) == (0, "")
    assert "join " in run.stdout and "build=" in run.stdout  # it was one of batches
    return run


@pytest.mark.parametrize("build", ["left", "right"])
@pytest.mark.parametrize("how", KINDS)
def test_kinds(device, tmp_path, how, build):
    size = (200, 30) if how == "cross" else (5000, 900)
    left, right = write_tables(tmp_path, *size)
    run_kind(tmp_path, how, "--build-side", build, "--device", device, "--threads", "2")
    assert ours(tmp_path / "out.parquet") == theirs(left, right, KINDS[how])


def test_conditions_and_null_keys(tmp_path):
    left, right = write_tables(tmp_path, 3000, 500)
    run = gpujoin(
        *("join", "l", "r.parquet", "--on", "k", "--null-equal", "--how", "left"),
        *("--where", "left.number % 2 = 0 and right.v <> 'b'", "-o", "out.parquet"),
        folder=tmp_path,
    )
    assert (run.returncode, run.stderr) == (0, "")
    query = f"SELECT {ALL} FROM l LEFT JOIN r ON l.k IS NOT DISTINCT FROM r.k "
    query += "AND l.number % 2 = 0 AND r.v <> 'b'"
    assert ours(tmp_path / "out.parquet") == theirs(left, right, query)


@pytest.mark.parametrize(
    "how, mebibytes", [("inner", 8), ("full", 8), ("left_anti", 3), ("right_mark", 3)]
)
@pytest.mark.parametrize("output", ["out.parquet", "out/"])
def test_within_a_limit(tmp_path, how, mebibytes, output):
    left, right = write_tables(tmp_path, 60_000, 40_000)
    (tmp_path / "spill").mkdir()
    limit = ["--memory-limit", f"{mebibytes}MiB", "--spill-path", "spill", "--device", "cpu"]
    run = run_kind(tmp_path, how, *limit, output=output)
    assert "of both sides in files meanwhile" in run.stdout
    assert ours(tmp_path / output) == theirs(left, right, KINDS[how])
    assert not list((tmp_path / "spill").iterdir())
    peak = next(line for line in run.stdout.splitlines() if line.startswith("peak memory"))
    assert float(peak.split()[2]) <= mebibytes * 1.048576


def test_what_needs_whole_inputs_says_so(tmp_path):
    write_tables(tmp_path, 60_000, 40_000)
    run = gpujoin(
        *("join", "l", "r.parquet", "--on", "k", "--order", "left", "--memory-limit", "256KiB"),
        folder=tmp_path,
    )
    assert run.returncode == 1
    assert "--order needs the inputs whole, and l is larger than --memory-limit" in run.stderr


@pytest.mark.parametrize("how", ["inner", "left", "right_semi", "left_anti"])
def test_row_groups_that_cannot_match_are_not_read(tmp_path, how):
    left = pa.table({"k": range(10_000), "a": range(10_000)})
    right = pa.table({"k": range(4200, 4300), "b": range(100)})
    pa.parquet.write_table(left, tmp_path / "l.parquet", row_group_size=1000)
    pa.parquet.write_table(right, tmp_path / "r.parquet")
    run = gpujoin(
        *("join", "l.parquet", "r.parquet", "--on", "k", "--how", how, "-o", "out.parquet"),
        folder=tmp_path,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert ("9,000 of them not read" in run.stdout) == (how in ("inner", "right_semi"))
    found = pa.parquet.read_table(tmp_path / "out.parquet")
    assert found.num_rows == {"inner": 100, "left": 10_000, "right_semi": 100}.get(how, 9900)


def test_statistics_that_lie(tmp_path):
    """Integers are moved as narrow as a file says that they are; one that is wider is an error."""
    table = pa.table({"k": range(100), "v": [1] * 99 + [100_000]})
    pa.parquet.write_table(table, tmp_path / "l.parquet")
    pa.parquet.write_table(table.select(["k"]), tmp_path / "r.parquet")
    patch = "sources.Source.integers_of = lambda self, name: (0, 120)"
    program = "import gpujoin._cli as cli, gpujoin._cli_sources as sources, sys\n"
    program += f"{patch}\nsys.exit(cli.main(sys.argv[1:]))"
    run = subprocess.run(
        [sys.executable, "-c", program, "join", "l.parquet", "r.parquet", "--on", "k"]
        + ["-o", "out.parquet"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 1
    assert run.stderr.startswith("gpujoin: l.parquet: ")
    assert "100000" in run.stderr and len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize("output", ["out.parquet", "out/"])
def test_a_signal_in_the_middle(tmp_path, output):
    """A cross join that would take hours ends when it is told to, and leaves nothing."""
    table = pa.table({"a": range(300_000)})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    process = subprocess.Popen(
        [sys.executable, "-m", "gpujoin", "join", "t.parquet", "t.parquet", "--how", "cross"]
        + ["-o", output, "--device", "cpu"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("out*.part")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (143, b"gpujoin: Terminated\n")
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_a_disk_that_is_full(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    write_tables(tmp_path, 3000, 500)
    (tmp_path / "full.parquet").symlink_to("/dev/full")
    program = "import gpujoin._cli as cli, gpujoin._cli_output as output, sys\n"
    program += "part = output.Path.with_name\n"
    program += "output.Path.with_name = lambda path, _: part(path, 'full.parquet')\n"
    program += "output.Path.unlink = lambda path: None\n"
    program += "sys.exit(cli.main(sys.argv[1:]))"
    run = subprocess.run(
        [sys.executable, "-c", program, "join", "l", "r.parquet", "--on", "k", "-o", "o.parquet"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 1
    assert run.stderr.startswith("gpujoin: o.parquet: ")
    assert "space" in run.stderr.lower() and len(run.stderr.splitlines()) == 1
