"""A machine's own figures: measured, kept in a file, read again."""

import pyarrow as pa
import pytest

import gpujoin


def explained(context):
    side = pa.table({"k": pa.array([1, 2, 3], pa.int32())})
    return gpujoin.plan(side, side, "k", context=context).explain()


def test_measured_and_read_again(context, device, tmp_path):
    path = tmp_path / "rates"
    assert "rates  built in" in explained(context)
    context.calibrate(path)
    assert path.read_text().endswith("\nend\n")
    with gpujoin.Context(device, calibration=path) as again:
        for calibrated in (context, again):
            assert "rates  measured on this machine" in explained(calibrated)


def test_what_cannot_be_written_or_read(context, device, tmp_path):
    with pytest.raises(gpujoin.InvalidArgument, match="path: cannot write"):
        context.calibrate(tmp_path / "no" / "folder")
    with pytest.raises(gpujoin.InvalidArgument, match="options.calibration_path"):
        gpujoin.Context(device, calibration=tmp_path / "none")


def test_cancelled(device, tmp_path):
    with gpujoin.Context(device, progress=lambda *_: True) as context:
        with pytest.raises(gpujoin.Cancelled):
            context.calibrate(tmp_path / "rates")
    assert not list(tmp_path.iterdir())
