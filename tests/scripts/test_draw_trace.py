"""scripts/draw_trace.py, on intervals that are made up."""

import json
import pathlib
import random
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

import draw_trace  # noqa: E402


def trace_of(*intervals):
    """(name, start, end) each, in microseconds."""
    return {
        "context": {"device": "made <up>", "commit": "0123456789", "date": "2026-01-01"},
        "join": {"memory": "pinned", "threads": 2, "build_rows": 1000, "probe_rows": 2000,
                 "budget_bytes": 1 << 20},
        "columns": ["name", "stream", "start_us", "us", "bytes"],
        "intervals": [[name, 7, start, end - start, 0] for name, start, end in intervals],
    }


def shares_of(trace):
    return dict(draw_trace.shares_of(draw_trace.lanes_of(trace)))


@pytest.mark.parametrize("name, lane", [
    ("copy to device", "copy in"),
    ("gather_runs_kernel", "copy in"),
    ("copy to host", "copy out"),
    ("copy", None),
    ("fill", None),
    ("number_partitions_kernel", "partition"),
    ("move_to_runs_kernel", "partition"),
    ("DeviceRadixSortOnesweepKernel", "partition"),
    ("radix_unordered_kernel", "partition"),
    ("join_partitions_kernel", "join"),
    ("place_rows_kernel", "join"),
    ("table_columns_kernel", "join"),
])
def test_lanes(name, lane):
    assert draw_trace.lane_of(name) == lane


def test_what_touches_is_one():
    assert draw_trace.united([(5, 6), (0, 2), (1, 3), (3, 4)]) == [(0, 4), (5, 6)]
    assert draw_trace.united([(0, 9), (1, 2)]) == [(0, 9)]
    assert draw_trace.united([]) == []


def test_shares():
    shares = shares_of(trace_of(
        ("copy to device", 100, 140),
        ("copy to device", 120, 150),  # on another stream: the lane is busy once
        ("join_partitions_kernel", 140, 180),
        ("copy to host", 145, 200),
        ("fill", 0, 1000),  # of no lane, nor of the time
    ))
    assert shares == pytest.approx({
        "copy in is busy": 0.5,
        "partition is busy": 0,
        "join is busy": 0.4,
        "copy out is busy": 0.55,
        "two lanes at least are busy": 0.4,  # 140 to 180
        "copies go both ways": 0.05,
    })


def test_one_lane_is_not_two():
    shares = shares_of(trace_of(("copy to device", 0, 10), ("copy to host", 10, 20)))
    assert shares["two lanes at least are busy"] == 0
    assert shares["copies go both ways"] == 0


def test_against_every_moment():
    rng = random.Random(1)
    names = ("copy to device", "number_partitions_kernel", "look_up_kernel", "copy to host")
    for _ in range(20):
        drawn = []
        for _ in range(rng.randrange(1, 40)):
            start = rng.randrange(200)
            drawn.append((rng.choice(names), start, start + rng.randrange(1, 30)))
        busy = [
            {draw_trace.lane_of(name) for name, start, end in drawn if start <= moment < end}
            for moment in range(min(s for _, s, _ in drawn), max(e for *_, e in drawn))
        ]
        shares = shares_of(trace_of(*drawn))
        for lane in draw_trace.LANES:
            expected = sum(lane in at for at in busy) / len(busy)
            assert shares[f"{lane} is busy"] == pytest.approx(expected)
        expected = sum(len(at) >= 2 for at in busy) / len(busy)
        assert shares["two lanes at least are busy"] == pytest.approx(expected)
        expected = sum({"copy in", "copy out"} <= at for at in busy) / len(busy)
        assert shares["copies go both ways"] == pytest.approx(expected)


def test_picture_has_a_bar_where_a_lane_is_busy():
    drawn = draw_trace.picture(trace_of(("copy to device", 0, 500), ("look_up_kernel", 500, 1000)))
    bars = re.findall(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)" .*class="([a-z-]+)"', drawn)
    half = (draw_trace.RIGHT - draw_trace.LEFT) / 2
    assert [(float(x), float(width), lane) for x, width, lane in bars if lane != "card"] == [
        (draw_trace.LEFT, half, "copy-in"),
        (draw_trace.LEFT + half, half, "join"),
    ]
    xml.etree.ElementTree.fromstring(drawn)


def test_bars_are_no_more_than_pixels_show():
    many = [("copy to device", 10 * i, 10 * i + 5) for i in range(100_000)]
    bars = draw_trace.picture(trace_of(*many)).count('class="copy-in"')
    assert 0 < bars <= 3 * (draw_trace.RIGHT - draw_trace.LEFT)


@pytest.mark.parametrize("milliseconds", [0.01, 0.5, 1, 37, 1000, 98765])
def test_marks_of_the_axis(milliseconds):
    assert 2 <= milliseconds / draw_trace.step_of(milliseconds) <= 10


def test_from_a_file_to_a_file(tmp_path):
    trace, drawn = tmp_path / "trace.json", tmp_path / "trace.svg"
    trace.write_text(json.dumps(trace_of(("copy to device", 0, 10), ("copy to host", 5, 20))))
    command = [sys.executable, SCRIPTS / "draw_trace.py", trace, drawn]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert " 25.0%  copies go both ways" in said
    assert drawn.read_text().startswith("<svg")
    trace.write_text(json.dumps(trace_of(("fill", 0, 10))))
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and "no interval" in failed.stderr
