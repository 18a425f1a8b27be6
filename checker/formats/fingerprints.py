"""Names of findings that stay the same while lines, numbers and wording change.

Trackers of alerts (SARIF, GitLab) tell by them which finding is new.
"""

from __future__ import annotations

import hashlib
from collections import Counter

from benchlint.checker.finding import Finding


class Fingerprints:
    """Fingerprints of the findings of one file, in their order."""

    def __init__(self, place: str) -> None:
        """place: the file as it is called in the output."""
        self._place = place
        self._repeats: Counter[str] = Counter()

    def of(self, finding: Finding) -> str:
        """64 hex digits; the second finding of one rule about one place gets others."""
        related = (each.pointer for each in finding.related)
        identity = "\0".join([self._place, finding.code, finding.pointer, *related])
        self._repeats[identity] += 1
        text = f"{identity}\0{self._repeats[identity]}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
