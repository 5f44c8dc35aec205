"""Every test that takes `context` runs on the CPU and on CUDA; without CUDA that is skipped."""

import signal

import pytest

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
