"""Runs one command for as long as its own standard input stays open, then stops it.

The write end of that pipe is held by the process that started the guard. When that process
ends, however it ends, the kernel closes the pipe and the guard stops the command. On Linux the
command also dies with the guard itself.

Usage: python -m benchlint.reproducers.server_guard COMMAND [ARGUMENT…]
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading

_PR_SET_PDEATHSIG = 1
_GRACE_S = 5.0


def main(command: list[str]) -> int:
    """The command's exit status, 0 where the guard had to stop it."""
    # This process has one thread, so a function between fork and exec is safe.
    preexec = _die_with_parent if sys.platform == "linux" else None
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=preexec)  # noqa: S603
    watcher = threading.Thread(target=_stop_at_end_of_input, args=(child,), daemon=True)
    watcher.start()
    return max(child.wait(), 0)


def _stop_at_end_of_input(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 1024):
            pass
    child.terminate()
    try:
        child.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
