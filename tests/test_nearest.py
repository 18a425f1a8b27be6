"""What was meant by a name that is not known."""

from __future__ import annotations

from benchlint.checker.nearest import nearest


def test_the_most_alike_is_meant() -> None:
    assert nearest("acceptance_lenght", ["acceptance_rate", "accepted_length"]) == "accepted_length"
    assert nearest("xyz", ["acceptance_rate"]) is None
    assert nearest("a", []) is None


def test_names_of_any_length_and_number_are_taken() -> None:
    assert nearest("a" * 1_000_000, ["a" * 1_000_000]) is None
    assert nearest("ab", ["a" * 1_000_000, "abc"]) == "abc"
    assert nearest("needle", [*(f"straw{i}" for i in range(100_000)), "needle"]) is None
