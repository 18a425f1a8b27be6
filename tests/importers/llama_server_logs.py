"""Logs in llama-server's shapes, of requests that never were."""

from __future__ import annotations

from collections.abc import Callable, Iterable

#: A server that loads a target and a drafter at `-lv 4`.
START = """\
0.00.001.204 I srv  llama_server: initializing ...
0.00.001.310 I cmn  common_param: common_params_print_info: build 9107 (7c3e1ab) with GNU 13.3.0
0.00.001.311 I cmn  common_param: common_params_print_info: verbosity = 4 (adjust with the `-lv N`)
0.00.001.312 I cmn  common_param: device_info:
0.00.001.330 I cmn  common_param:   - CUDA0   : NVIDIA L40S (45589 MiB, 45000 MiB free)
0.00.001.331 I cmn  common_param:   - CPU     : AMD EPYC 9354 (257000 MiB, 250000 MiB free)
0.00.001.400 I cmn  common_param: system_info: n_threads = 6 (n_threads_batch = 12) / 32 |
0.00.003.100 I srv    load_model: loading model '/srv/gguf/Aurora-9B-Q5_K_M.gguf'
0.00.090.000 I llama_prepare_model: using device CUDA0 (NVIDIA L40S) - 45000 MiB free
0.00.100.000 I print_info: file type   = Q5_K - Medium
0.00.100.010 I print_info: file size   = 6.07 GiB (5.69 BPW)
0.00.100.020 I print_info: n_layer               = 36
0.00.100.030 I print_info: n_expert              = 0
0.00.100.040 I print_info: model params          = 9.17 B
0.00.200.000 I load_tensors: offloaded 37/37 layers to GPU
0.00.210.000 I llama_context: n_ctx                 = 16384
0.00.210.010 I llama_context: n_ctx_seq             = 8192
0.00.210.020 I llama_context: n_batch               = 1024
0.00.210.030 I llama_context: n_ubatch              = 256
0.00.220.000 I llama_kv_cache: 512.00 MiB (8192 cells), K (q8_0): 272.00 MiB, V (q4_0): 240.00 MiB
0.00.230.000 I resolve_fused_ops: Flash Attention enabled
0.00.300.000 I common_speculative_init_result: loading draft model '/srv/gguf/Aurora-0.4B.gguf'
0.00.310.000 I print_info: file type   = Q8_0
0.00.310.010 I print_info: n_layer               = 12
0.00.320.000 I llama_context: n_batch               = 4096
0.00.330.000 I llama_kv_cache: 64.00 MiB (8192 cells), K (f16): 32.00 MiB, V (f16): 32.00 MiB
0.00.400.000 I srv    load_model: initializing, n_slots = 2, n_ctx_slot = 8192, kv_unified = 'false'
0.00.410.000 I spec common_specu: adding speculative implementation 'draft-simple'
0.00.410.010 I spec common_specu: - n_max=3, n_min=0, p_min=0.250000
0.00.410.020 I spec common_specu: - gpu_layers=-1, cache_k=f16, cache_v=f16, ctx_tgt=yes
0.00.420.000 I srv  llama_server: model loaded
"""

#: What the request at hand sampled with.
SAMPLER = (
    "0.01.000.000 I slot launch_slot_: id  0 | task -1 | sampler params: \n"
    "\trepeat_last_n = 64, repeat_penalty = 1.050, frequency_penalty = 0.000, "
    "presence_penalty = 0.100\n"
    "\ttop_k = 20, top_p = 0.900, min_p = 0.020, xtc_probability = 0.000, typical_p = 1.000, "
    "temp = {temp}\n"
)

#: The end of a request. 20 verify steps: 12, 10 and 5 accepted at least 1, 2 and 3.
TIMES = (
    "{p}prompt eval time =      80.00 ms /   400 tokens (    0.20 ms per token, "
    " 5000.00 tokens per second)\n"
    "{p}       eval time =     960.00 ms /    49 tokens (   20.00 ms per token, "
    "   50.00 tokens per second)\n"
    "{p}      total time =    1040.00 ms /   449 tokens\n"
)

ACCEPTANCE = {
    "2025": "draft acceptance rate = 0.45000 (   27 accepted /    60 generated)",
    "early 2026": "draft acceptance = 0.45000 (   27 accepted /    60 generated)",
    "June 2026": "draft acceptance = 0.45000 (   27 accepted /    60 generated), mean acceptance "
    "length =  2.35, acceptance rate per position = (0.600, 0.500, 0.250)",
    "late 2026": "draft acceptance = 0.45000 (   27 accepted /    60 generated), mean len =  2.35",
}

POSITIONS = "     acc per pos = (0.600, 0.500, 0.250)"


def statistics(requests: int, *, drafts: int, drafted: int, accepted: int, kind: str = "") -> str:
    """The line of one type of speculation, cumulative over the process."""
    return (
        f"statistics {kind or 'draft-simple':>16}: #calls(b,g,a) = {requests:4} {drafts:6} "
        f"{drafts:6}, #gen drafts = {drafts:6}, #acc drafts = {drafts:5}, #gen tokens = "
        f"{drafted:6}, #acc tokens = {accepted:5}, dur(b,g,a) = 0.001, 25.390, 0.015 ms"
    )


def request(task: int, *more: str, slot: int = 0, prefix: str = "0.09.000.001 I ") -> str:
    """A request from launch to release as newer builds print it: one line each."""
    head = f"{prefix}slot print_timing: id {slot:2} | task {task} | "
    return (
        f"{prefix}slot launch_slot_: id {slot:2} | task {task} | processing task, is_child = 0\n"
        f"{prefix}slot   operator(): id {slot:2} | task {task} | new prompt, n_ctx_slot = 8192, "
        f"n_keep = 0, task.n_tokens = 400\n"
        + TIMES.format(p=head)
        + "".join(f"{_of(line, head, prefix)}{line}\n" for line in more)
        + f"{prefix}slot      release: id {slot:2} | task {task} | stop processing: n_tokens = "
        "448, truncated = 0\n"
    )


def _of(line: str, head: str, prefix: str) -> str:
    return f"{prefix}spec common_specu: " if line.startswith("statistics") else head


def old_request(task: int, *more: str) -> str:
    """The same from a build of 2025: released first, and then several lines without a mark."""
    return (
        f"slot launch_slot_: id  0 | task {task} | processing task\n"
        f"slot update_slots: id  0 | task {task} | new prompt, n_ctx_slot = 8192, n_keep = 0, "
        "n_prompt_tokens = 400\n"
        f"slot update_slots: id  0 | task {task} | kv cache rm [0, end)\n"
        f"slot      release: id  0 | task {task} | stop processing: n_past = 448, truncated = 0\n"
        f"slot print_timing: id  0 | task {task} | \n"
        + TIMES.format(p="")
        + "".join(f"{line}\n" for line in more)
        + "srv  update_slots: all slots are idle\n"
    )


def each_line(text: str, change: Callable[[str], str]) -> str:
    """The text with every line changed."""
    lines: Iterable[str] = text.splitlines()
    return "".join(f"{change(line)}\n" for line in lines)
