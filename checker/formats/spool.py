"""Output laid by in a temporary file until what comes before it is known."""

from __future__ import annotations

import tempfile

#: Bytes kept in memory before they go to disk.
IN_MEMORY = 1 << 20


def spool() -> tempfile.SpooledTemporaryFile[str]:
    """An empty text file that nobody else sees, removed when it is closed."""
    return tempfile.SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8", newline="\n")
