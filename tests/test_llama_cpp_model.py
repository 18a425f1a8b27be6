"""What the bindings' wrapper does by itself, with a library of a few functions."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchlint.reproducers.llama_cpp_model import Context, Weights

PIECES = (b"a ", b" .. note", b"::", "é".encode()[:1], "é".encode()[1:], b"", b"=" * 200)


def _piece(_: object, token: int, raw: ctypes.Array[ctypes.c_char], size: int, *__: object) -> int:
    """As llama_token_to_piece: the length needed, negative, where there is no room."""
    piece = PIECES[token]
    if len(piece) > size:
        return -len(piece)
    raw[: len(piece)] = piece
    return len(piece)


def test_a_text_is_its_pieces_with_every_space_in_it() -> None:
    weights = Weights.__new__(Weights)
    weights.llama = SimpleNamespace(llama_token_to_piece=_piece)  # type: ignore[assignment]
    weights.vocabulary = None
    assert weights.detokenize(range(len(PIECES))) == "a  .. note::é" + "=" * 200
    assert weights.detokenize([3]) == "\N{REPLACEMENT CHARACTER}"
    assert weights.detokenize([]) == ""


def test_forbidden_tokens_have_no_probability_until_others_are() -> None:
    kept = (ctypes.c_float * 4)(1.0, 3.0, 2.0, 0.0)
    pointer = ctypes.cast(kept, ctypes.POINTER(ctypes.c_float))
    context = Context.__new__(Context)
    context._llama = SimpleNamespace(llama_get_logits_ith=lambda *_: pointer)  # type: ignore[assignment]
    context._handle, context._vocabulary = None, 4
    context._last_alone, context._views = True, {}
    context.forbid(())
    assert context.logits(0).tolist() == [1.0, 3.0, 2.0, 0.0]
    context.forbid({1})
    assert context.logits(0).tolist() == [1.0, -np.inf, 2.0, 0.0]
    kept[1] = 5.0  # the next pass
    context.forbid(())
    assert context.logits(0)[1] == pytest.approx(5.0)


def test_logits_are_those_of_the_place_they_were_kept_at() -> None:
    rows = [(ctypes.c_float * 2)(float(i), float(-i)) for i in range(3)]
    pointers = [ctypes.cast(row, ctypes.POINTER(ctypes.c_float)) for row in rows]
    context = Context.__new__(Context)
    context._llama = SimpleNamespace(llama_get_logits_ith=lambda _, i: pointers[i])  # type: ignore[assignment]
    context._handle, context._vocabulary = None, 2
    context._last_alone, context._views = False, {}
    context.forbid(())
    assert [context.logits(i).tolist() for i in (2, 0, 1)] == [[2, -2], [0, 0], [1, -1]]
    rows[1][:] = [7.0, 8.0]  # the next pass writes to the same places
    assert context.logits(1).tolist() == [7.0, 8.0]


@pytest.mark.skipif(sys.platform != "linux", reason="the runtime has another name there")
def test_one_copy_of_the_cxx_runtime_is_found_by_all() -> None:
    """In a process of its own, since what is loaded stays; numpy comes first, as in a run."""
    code = """
import ctypes, numpy
from benchlint.reproducers.llama_cpp_model import share_cxx_runtime
share_cxx_runtime()
print(hasattr(ctypes.CDLL(None), "_ZSt4cout"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
