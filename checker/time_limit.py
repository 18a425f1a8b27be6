"""A limit on the processor time of something that another's text may make endless."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class OutOfTimeError(Exception):
    """More processor time was taken than allowed."""


@contextlib.contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Raise OutOfTimeError in what runs here after so many seconds of this process's own work.

    The regular expressions of the standard library look for signals while they match, so that
    they end too. Without a timer of processor time (Windows), or outside the main thread, there
    is no limit.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not (
        threading.main_thread()
    ):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _out_of_time)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _out_of_time(_: int, __: FrameType | None) -> None:
    raise OutOfTimeError
