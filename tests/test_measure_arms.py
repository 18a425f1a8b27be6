"""The arms that measure is asked for."""

from __future__ import annotations

from benchlint.reproducers.engine import Arm, Sampling
from benchlint.reproducers.measure_arms import ArmWishes, arms_of

GREEDY = Sampling(temperature=0.0)
F16 = ("f16", "f16")


def names(**wishes: object) -> list[str]:
    return [arm.name for arm in arms_of(ArmWishes(**wishes))]  # type: ignore[arg-type]


def test_one_method_at_several_lengths_beside_a_baseline() -> None:
    wishes = ArmWishes(("draft_model",), (2, 4), 0.5, ("gpu",), GREEDY, F16)
    assert arms_of(wishes) == (
        Arm("plain", sampling=GREEDY, kv_types=F16),
        Arm("k2", "draft_model", 2, 0.5, "gpu", GREEDY, kv_types=F16),
        Arm("k4", "draft_model", 4, 0.5, "gpu", GREEDY, kv_types=F16),
    )


def test_names_tell_what_differs() -> None:
    assert names(methods=("draft_model", "prompt_lookup"), draft_lengths=(4, 8)) == [
        "plain",
        *("draft_model-k4", "draft_model-k8", "prompt_lookup-k4", "prompt_lookup-k8"),
    ]
    assert names(methods=("draft_model",), draft_lengths=(4,), placements=("gpu", "cpu")) == [
        *("plain", "k4-gpu", "k4-cpu")
    ]
    assert names(methods=("mtp",), baseline=False) == ["mtp"]
    assert names() == ["plain"]


def test_what_is_looked_up_is_not_selected() -> None:
    wishes = ArmWishes(("ngram", "draft_model"), (4,), 0.5, ("gpu", "cpu"))
    found = [(arm.name, arm.draft_selection, arm.p_min) for arm in arms_of(wishes)]
    assert found == [
        ("plain", None, 0.0),
        ("ngram-k4", None, 0.0),
        ("draft_model-k4-gpu", "gpu", 0.5),
        ("draft_model-k4-cpu", "cpu", 0.5),
    ]
