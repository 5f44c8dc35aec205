"""Every test that takes `context` runs on the CPU and on CUDA; without CUDA that is skipped."""

import pytest

import gpujoin


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
