import os
import signal
import subprocess
import sys
import threading

import pytest
from wmo_kit.errors import Cancelled, Terminated
from wmo_kit.signals import STOPPING, handle_stopping, raise_stop
from wmo_kit.stopping import deferred_signals


@pytest.fixture(autouse=True)
def handlers():
    """Bring back pytest's own handlers: after a stop, further signals are ignored."""
    before = {number: signal.getsignal(number) for number in STOPPING}
    yield before
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, None), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_first_signal_is_raised_at_the_end_and_more_change_nothing(number, code):
    reached = False
    with pytest.raises(KeyboardInterrupt if code is None else Terminated) as raised, deferred_signals() as stop:
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.event.is_set()
        reached = True
    assert reached
    assert getattr(raised.value, "code", None) == code
    for again in STOPPING:
        os.kill(os.getpid(), again)  # the clean-up after it is not cut either


def test_handlers_come_back(handlers):
    with deferred_signals():
        pass
    assert {number: signal.getsignal(number) for number in STOPPING} == handlers


def test_a_signal_calls_what_is_registered_and_what_comes_after_it():
    early, done, late = threading.Event(), threading.Event(), threading.Event()
    with pytest.raises(KeyboardInterrupt), deferred_signals() as stop:
        with stop.calling(done.set):
            pass
        with stop.calling(early.set):
            os.kill(os.getpid(), signal.SIGINT)
            assert early.wait(20)
        with stop.calling(late.set):
            assert late.is_set()
    assert not done.is_set()


def test_the_end_without_a_signal_calls_nothing_and_raises_nothing():
    called = threading.Event()
    with deferred_signals() as stop, stop.calling(called.set):
        pass
    assert not called.is_set()


def test_cancelled_work_gives_way_to_the_signal_and_another_error_does_not():
    with pytest.raises(Terminated), deferred_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        raise Cancelled("cut")
    with pytest.raises(OSError, match="full"), deferred_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        raise OSError("full")


def test_work_that_is_worth_finishing_has_its_grace():
    with pytest.raises(KeyboardInterrupt), deferred_signals() as stop:
        now, never = stop.overdue(0.0), stop.overdue(1000.0)
        assert not now.is_set()
        os.kill(os.getpid(), signal.SIGINT)
        while not now.is_set():
            pass
        assert not never.is_set()


def test_an_ignored_hang_up_stays_ignored_as_nohup_has_it():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    handle_stopping(raise_stop)
    os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGTERM) is raise_stop


def test_a_signal_amid_the_handling_of_another_waits_for_nothing():
    """As a threading.Event would, whose lock the first handler holds: here the second comes inside the first's own."""
    with pytest.raises(KeyboardInterrupt), deferred_signals() as stop:
        wake = stop.event.wake

        def interrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            wake()

        stop.event.wake = interrupted
        os.kill(os.getpid(), signal.SIGINT)
        stop.event.wake = wake
        assert stop.number == signal.SIGINT


@pytest.mark.parametrize("seed", range(3))
def test_a_burst_of_signals_from_outside_ends_it(seed):
    program = (
        "import os, signal, sys, threading, time\n"
        "from wmo_kit.stopping import deferred_signals\n"
        "with deferred_signals() as stop:\n"
        "    print(flush=True)\n"
        "    while not stop.event.is_set(): time.sleep(0.001)\n"
        "    time.sleep(0.05)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.readline()
    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP] * 30:
        process.send_signal(number)
    try:
        assert process.wait(20) != 0
    finally:
        process.kill()
        process.stdout.close()
