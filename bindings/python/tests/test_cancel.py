"""Callbacks, cancelling, Ctrl-C, threads."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from program import run_python
from tables import keys

import gpujoin

LEFT, RIGHT = keys(50000), keys(20000)


def join(context, **named):
    return gpujoin.join(LEFT, RIGHT, "k", context=context, **named)


def test_progress(device):
    calls = []
    with gpujoin.Context(device, progress=lambda *call: calls.append(call)) as context:
        assert join(context).num_rows == 20000
    assert calls
    for stage, done, total in calls:
        assert isinstance(stage, str) and stage
        assert 0 <= done <= total


def test_progress_cancels(device):
    answers = [True]
    with gpujoin.Context(device, progress=lambda *_: answers and answers.pop()) as context:
        with pytest.raises(gpujoin.Cancelled):
            join(context)
        assert join(context).num_rows == 20000


def test_an_exception_in_progress_is_raised(device):
    def progress(stage, done, total):
        raise LookupError(stage)

    with gpujoin.Context(device, progress=progress) as context:
        with pytest.raises(LookupError):
            join(context)


def test_cancel_hits_the_next_join_once(context):
    context.cancel()
    with pytest.raises(gpujoin.Cancelled):
        join(context)
    assert join(context).num_rows == 20000


def test_cancel_from_another_thread(device):
    context = gpujoin.Context(device, progress=lambda *_: time.sleep(0.05))
    started = threading.Event()

    def cancel():
        started.wait()
        context.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with gpujoin.plan(LEFT, RIGHT, "k", context=context) as plan:
        started.set()
        with pytest.raises(gpujoin.Cancelled):
            for _ in range(100):
                plan.execute()
    canceller.join()
    assert join(context).num_rows == 20000
    context.close()


def interrupt_once(context_arguments):
    """A context whose first progress call is as if Ctrl-C had been pressed."""
    left_to_do = [True]

    def progress(*_):
        if left_to_do:
            left_to_do.clear()
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)  # for the main thread to ask for the end

    return gpujoin.Context(context_arguments, progress=progress)


def test_ctrl_c_stops_the_join(device):
    with interrupt_once(device) as context:
        with pytest.raises(KeyboardInterrupt):
            join(context)
        assert join(context).num_rows == 20000


def test_ctrl_c_that_comes_too_late_stops_nothing_else(device):
    """At the last step the join may be over before it sees the request; the next is not hit."""

    def progress(stage, done, total):
        if done >= total - 1 and not hit:
            hit.append(stage)
            os.kill(os.getpid(), signal.SIGINT)

    for _ in range(5):
        hit = []
        with gpujoin.Context(device, progress=progress) as context:
            with pytest.raises(KeyboardInterrupt):
                for _ in range(10):
                    join(context)
            for _ in range(3):
                assert join(context).num_rows == 20000


def test_joins_in_threads(device):
    """One context for all threads, whose joins run side by side: each waits for the others."""
    counts = []
    everybody = threading.Barrier(4)
    waited = threading.local()

    def progress(stage, done, total):
        if not getattr(waited, "once", False):
            waited.once = True
            everybody.wait(60)

    with gpujoin.Context(device, progress=progress) as context:

        def work():
            for _ in range(5):
                counts.append(join(context).to_table().num_rows)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counts == [20000] * 20


def test_an_exception_in_progress_ends_its_own_join_alone(device):
    culprit = threading.local()
    both = threading.Barrier(2)
    outcomes = {}

    def progress(stage, done, total):
        if not getattr(culprit, "waited", False):
            culprit.waited = True
            both.wait(60)
            if culprit.fails:
                raise ValueError("not this one")

    with gpujoin.Context(device, progress=progress) as context:

        def work(fails):
            culprit.fails = fails
            try:
                outcomes[fails] = join(context).num_rows
            except ValueError as error:
                outcomes[fails] = str(error)

        threads = [threading.Thread(target=work, args=[fails]) for fails in (True, False)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert outcomes == {True: "not this one", False: 20000}


def test_contexts_in_threads(device):
    counts = []

    def work():
        with gpujoin.Context(device, threads=1) as context:
            counts.append(join(context).num_rows)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [20000] * 4


def test_log(device):
    lines = []
    with gpujoin.Context(device, log=lambda *line: lines.append(line)) as context:
        result = join(context)
    del context
    result.to_table()
    result.close()
    for level, text in lines:
        assert level in (logging.DEBUG, logging.INFO, logging.WARNING)
        assert "\n" not in text


def test_threads_of_the_caller(device):
    """A call stays on the thread that makes it, the main one too."""
    seen = {"own": set(), "caller": set()}
    for whose, idents in seen.items():

        def progress(stage, done, total, idents=idents):
            idents.add(threading.get_ident())

        with gpujoin.Context(device, progress=progress, threads_of=whose) as context:
            assert join(context).num_rows == 20000
            with gpujoin.Build(LEFT.schema, "k", context=context) as build:
                build.append(LEFT)
                build.finish()
                assert sum(len(rows) for rows in build.probe(RIGHT.to_batches())) == 20000
    main = threading.get_ident()
    assert seen["caller"] == {main}
    assert seen["own"] - {main}  # so that the join above does look at something


STARTED = """
import os
import sys

import gpujoin
from tables import keys

context = gpujoin.Context("cpu", threads=2, threads_of=sys.argv[1])
left, right = keys(1000000), keys(1000000)
before = len(os.listdir("/proc/self/task"))
assert gpujoin.join(left, right, "k", context=context).num_rows == 1000000
print(len(os.listdir("/proc/self/task")) - before, context.info().threads)
"""


@pytest.mark.parametrize("whose", ["own", "caller"])
def test_threads_that_are_started(whose):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("of one core, the library starts no thread")
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.pathsep.join([here, *sys.path])
    said = subprocess.run(
        [sys.executable, "-c", STARTED, whose],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path},
    ).stdout
    started, threads = map(int, said.split())
    assert (started > 0) == (whose == "own")
    assert threads == 2  # what the planner reckons with


def test_ctrl_c_waits_for_progress_of_the_callers_thread():
    """Signals come in the main thread, which is the one that joins."""

    def progress(stage, done, total):
        os.kill(os.getpid(), signal.SIGINT)

    with gpujoin.Context("cpu", progress=progress, threads_of="caller") as context:
        with pytest.raises(KeyboardInterrupt):
            join(context)


def test_calls_of_the_main_thread_share_another(device):
    seen = set()
    with gpujoin.Context(device, progress=lambda *_: seen.add(threading.get_ident())) as context:
        for _ in range(10):
            assert join(context).num_rows == 20000
    assert len(seen) <= 5  # one, but where the next call comes before it knows that it is idle
    assert threading.get_ident() not in seen


def test_the_thread_of_calls_is_not_a_childs_and_ends_with_python():
    run = run_python("""
        import atexit, os, pyarrow, gpujoin
        table = pyarrow.table({"k": range(5000)})
        def rows():
            return gpujoin.join(table, table, "k", context=gpujoin.Context("cpu")).num_rows
        assert rows() == 5000
        child = os.fork()
        if child == 0:
            os._exit(0 if rows() == 5000 else 1)
        assert os.waitpid(child, 0)[1] == 0
        atexit.register(lambda: print(rows()))
        """)
    assert (run.returncode, run.stdout, run.stderr) == (0, "5000\n", "")
