"""Every test that takes `context` runs on the CPU and on CUDA; without CUDA that is skipped."""

import signal

import pyarrow.parquet
import pytest
from tables import customers_and_orders

import gpujoin


@pytest.fixture(autouse=True)
def signals_as_in_the_foreground():
    """A runner in the background, or under nohup, hands down that it ignores these."""
    wanted = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session", params=["cpu", "cuda"])
def device(request):
    try:
        gpujoin.Context(request.param).close()
    except gpujoin.NoDevice as error:
        pytest.skip(f"no CUDA: {error}")
    return request.param


@pytest.fixture
def context(device):
    with gpujoin.Context(device) as opened:
        yield opened


@pytest.fixture
def files(tmp_path):
    """left.parquet and right.parquet in a folder of their own."""
    left, right = customers_and_orders()
    pyarrow.parquet.write_table(left, tmp_path / "left.parquet", row_group_size=100)
    pyarrow.parquet.write_table(right, tmp_path / "right.parquet")
    return tmp_path
