import os
import signal
import threading

import pytest
from wmo_kit.errors import Terminated
from wmo_score.stopping import deferred_signals


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)])
def test_the_first_signal_is_raised_at_the_end_and_more_change_nothing(number, raised):
    reached = False
    with pytest.raises(raised), deferred_signals() as stop:
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.event.is_set()
        reached = True
    assert reached


def test_handlers_come_back():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with deferred_signals():
        pass
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


class Thing:
    def __init__(self) -> None:
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()


def test_a_signal_closes_what_is_open_and_what_is_opened_after_it():
    early, done, late = Thing(), Thing(), Thing()
    with pytest.raises(KeyboardInterrupt), deferred_signals() as stop:
        with stop.closing(done):
            pass
        with stop.closing(early):
            os.kill(os.getpid(), signal.SIGINT)
            assert early.closed.wait(20)
        with stop.closing(late):
            assert late.closed.is_set()
    assert not done.closed.is_set()


def test_the_end_without_a_signal_closes_nothing_and_raises_nothing():
    thing = Thing()
    with deferred_signals() as stop, stop.closing(thing):
        pass
    assert not thing.closed.is_set()
