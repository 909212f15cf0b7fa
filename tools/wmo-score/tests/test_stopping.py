import os
import signal

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
