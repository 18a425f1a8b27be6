"""Drafts looked up in the text so far: what followed the same few tokens before.

Prompt lookup decoding (Saxena 2023, github.com/apoorvumang/prompt-lookup-decoding): the longest
n-gram at the end of the text that occurred earlier is looked up, and the tokens after its first
occurrence are the draft, as many as there are (transformers, PromptLookupCandidateGenerator).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchlint.reproducers.rejection import certain
from benchlint.reproducers.speculative_loop import Draft

#: Saxena's own setting of draft tokens a step and of the longest n-gram.
DRAFT_LENGTH = 10
LONGEST = 3


class PromptLookup:
    """A drafter without a model; it keeps nothing from one answer to the next.

    draft_length: most draft tokens a step, from 1. longest: most tokens of an n-gram, from 1.
    """

    def __init__(self, draft_length: int = DRAFT_LENGTH, longest: int = LONGEST) -> None:
        self.draft_length = draft_length
        self.longest = longest
        self._after: dict[tuple[int, ...], int] = {}
        self._seen = 0

    def begin(self, prompt: Sequence[int]) -> None:
        """Forget the last answer and learn the n-grams of a prompt."""
        self._after.clear()
        self._seen = 0
        self._learn(prompt)

    def draft(
        self,
        context: Sequence[int],
        most: int,
        uniform: Callable[[], float],  # noqa: ARG002  a look-up draws nothing
    ) -> Sequence[Draft]:
        """What followed the end of the context when it occurred first; empty if it never did."""
        self._learn(context)
        start = self._look_up(context)
        found = () if start is None else context[start : start + most]
        return [Draft(token, certain(token)) for token in found]

    def _learn(self, context: Sequence[int]) -> None:
        """Note the n-grams that another token follows; the one at the very end has none."""
        for end in range(self._seen, len(context)):
            for size in range(1, min(self.longest, end) + 1):
                self._after.setdefault(tuple(context[end - size : end]), end)
        self._seen = max(self._seen, len(context))

    def _look_up(self, context: Sequence[int]) -> int | None:
        sizes = range(min(self.longest, len(context)), 0, -1)
        ends = (self._after.get(tuple(context[-size:])) for size in sizes)
        return next((end for end in ends if end is not None), None)
