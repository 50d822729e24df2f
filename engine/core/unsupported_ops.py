"""Operations of ggml and PyTorch that the engine does not support, with reasons and alternatives."""

from __future__ import annotations

from typing import NamedTuple

from engine.core.errors import UnsupportedOp


class Family(NamedTuple):
    """Unsupported operations with a common reason; each name maps to the alternative, or to an empty string."""

    name: str
    reason: str
    members: dict[str, str]


_COMPLEX = "the engine computes with real numbers only"
_SPARSE = "the engine holds dense arrays only"
_FUSED = "it is a fused inference kernel"

FAMILIES = (
    Family(
        "fused attention", _FUSED, dict.fromkeys(("flash_attn_ext", "flash_attn_back"), "scaled_dot_product_attention")
    ),
    Family("state space models", _FUSED, {"ssm_conv": "conv1d with groups", "ssm_scan": "linear_recurrence"}),
    Family(
        "linear attention",
        _FUSED,
        {
            "rwkv_wkv6": "linear_recurrence",
            "rwkv_wkv7": "linear_recurrence",
            "gated_linear_attn": "linear_recurrence",
            "gated_delta_net": "",
            "delta_net": "",
        },
    ),
    Family(
        "image windows",
        "it is particular to one published model",
        {
            "win_part": "pad, reshape and permute",
            "win_unpart": "permute, reshape and slice",
            "get_rel_pos": "embedding",
            "add_rel_pos": "add",
            "timestep_embedding": "sinusoidal_encoding",
        },
    ),
    Family(
        "complex numbers",
        _COMPLEX,
        {
            **dict.fromkeys(("complex", "view_as_complex", "view_as_real", "real", "imag", "conj"), ""),
            "polar": "mul with cos and sin",
            "angle": "atan2",
            **dict.fromkeys(("stft", "istft"), "unfold and rfft"),
        },
    ),
    Family(
        "sparse arrays",
        _SPARSE,
        {
            **dict.fromkeys(("sparse_coo_tensor", "to_sparse", "to_dense", "coalesce"), ""),
            "sparse_mm": "matmul",
            "sparse_softmax": "softmax",
        },
    ),
    Family(
        "quantised types",
        "the engine trains in floating types",
        dict.fromkeys(("quantize", "dequantize", "quantize_per_tensor", "quantize_per_channel", "fake_quantize"), ""),
    ),
)


def refuse_unsupported(name: str) -> None:
    """Raise an error if `name` is a known operation that the engine does not support.

    Raises:
        UnsupportedOp: with the reason, and the alternative if there is one.
    """
    for family in FAMILIES:
        if name in family.members:
            instead = family.members[name]
            advice = f"; use {instead} instead" if instead else ""
            raise UnsupportedOp(f"{name} ({family.name}) is not supported: {family.reason}{advice}")
