"""Mixed precision: in which type each op takes its floating inputs, semantics of torch.autocast.

The table follows the policies of PyTorch 2.13 for CPU and CUDA; where they differ, the wider type is taken, so that a
graph trains alike everywhere. Parameters stay float32: they are cast where they are used, and their gradients arrive
in float32 by the rule of that cast. (Micikevicius et al. 2018, "Mixed Precision Training")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import reduce
from typing import Any

from engine.core.dtypes import FLOAT32, FLOAT64, DType, is_float, promote
from engine.core.errors import DocumentError, DTypeError, Finding
from engine.core.registry import Op
from engine.core.value import Operand, Value
from engine.graph.definition import Definition
from engine.ops.casting import cast


class Policy(Enum):
    """In which type an op takes its floating inputs."""

    LOW = "the half type"
    FLOAT32 = "float32"
    WIDEST = "the widest type among them"
    AS_GIVEN = "the type that each one has"


LOW = frozenset(
    {
        "linear", "matmul", "matrix_product", "grouped_product", "grouped_outer", "mul_mat", "mul_mat_id", "out_prod",
        "addmm", "addmv", "addr", "addbmm", "baddbmm", "inner", "vecdot", "multi_dot", "einsum", "tensordot",
        "matrix_power", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
        "convolution", "convolution_input", "convolution_weight", "im2col", "col2im", "scaled_dot_product_attention",
        "multi_head_attention", "general_attention", "attention", "rnn",
        "lstm", "gru", "rnn_cell", "lstm_cell", "gru_cell", "rnn_steps",
        "lstm_steps", "gru_steps", "prelu",
    }
)  # fmt: skip
"""Ops whose arithmetic is products of matrices, which lose least in a half type and gain most."""

WIDE = frozenset(
    {
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "xlogy", "xlog1py", "pow",
        "pow_scalar", "power", "rsqrt", "reciprocal", "tan", "asin", "acos", "sinh", "cosh", "erfinv", "ndtri", "logit",
        "entr", "softplus", "softmax", "log_softmax", "softmin", "soft_max", "softmax_backward", "log_softmax_backward",
        "logsumexp", "logcumsumexp", "sum", "sum_rows", "mean", "prod", "product_of_others", "cumsum", "cumprod",
        "linear_recurrence", "trace", "nansum", "nanmean", "var", "std", "var_mean", "std_mean", "cov", "corrcoef",
        "quantile", "nanquantile", "overall_median", "median", "nanmedian", "trapezoid", "cumulative_trapezoid",
        "lp_pool1d", "lp_pool2d", "lp_pool3d", "norm", "sum_of_squares", "normalize", "l2_norm", "matrix_norm",
        "cosine_similarity",
        "pairwise_distance", "cdist", "pdist", "dist", "renorm", "layer_norm", "rms_norm", "group_norm", "batch_norm",
        "batch_normalize", "instance_norm", "tracked_batch_norm",
        "tracked_instance_norm", "limit_rows", "local_response_norm", "standardize",
        "standardize_backward", "mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "bce_loss", "bce_terms",
        "bce_with_logits_loss", "kl_div", "ctc_loss", "ctc_losses", "ctc_losses_backward", "cross_entropy",
        "softmax_cross_entropy", "softmax_cross_entropy_backward", "categorical_cross_entropy", "nll_loss",
        "target_weights",
        "gaussian_nll_loss", "poisson_nll_loss", "focal_loss", "weighted_mse_loss", "ggml_cross_entropy",
        "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "margin_ranking_loss",
        "hinge_embedding_loss", "soft_margin_loss", "cosine_embedding_loss", "triplet_margin_loss", "avg_pool3d",
        "max_pool3d", "max_unpool2d", "max_unpool3d", "adaptive_avg_pool3d", "adaptive_max_pool3d", "interpolate",
        "resample", "resample_back", "grid_sample", "inv", "solve", "solve_matrix", "solve_triangular",
        "solve_triangular_left", "det", "slogdet", "logdet", "cofactors", "cofactors_along", "cholesky",
        "cholesky_solve", "cholesky_inverse", "qr", "reduced_qr", "orthogonal_complement", "eigh", "eigvalsh", "svd",
        "reduced_svd", "svdvals", "pinv", "lstsq", "lstsq_results", "matrix_rank", "opt_step_sgd", "opt_step_adamw",
        "adam_rates", "adam_update", "sgd_update", "momentum_update",
    }
)  # fmt: skip
"""Ops that need the digits or the range of float32: sums, statistics, powers and exponentials, losses, equations."""

AS_GIVEN = frozenset({"cast", "type_as", "bitcast"})
"""Ops that are asked for a type."""


def policy_of(op: Op[Any]) -> Policy:
    """Return in which type an op takes its floating inputs; what no list names takes the widest among them."""
    if op.name in LOW:
        return Policy.LOW
    if op.name in WIDE:
        return Policy.FLOAT32
    return Policy.AS_GIVEN if op.name in AS_GIVEN else Policy.WIDEST


def at_autocast(op: Op[Any], operands: Sequence[Operand], half: DType) -> list[Operand]:
    """Cast the operands of an op as its policy says; integers, truth values and plain numbers stay as they are.

    An op that is given a float64 among them, which the graph must have asked for, is left alone.
    """
    floats = [v.dtype for v in operands if isinstance(v, Value) and is_float(v.dtype)]
    dtype = _chosen(op, floats, half)
    if dtype is None:
        return list(operands)
    return [
        cast(v, dtype=dtype) if isinstance(v, Value) and is_float(v.dtype) and v.dtype != dtype else v for v in operands
    ]


def _chosen(op: Op[Any], floats: Sequence[DType], half: DType) -> DType | None:
    policy = policy_of(op)
    if not floats or FLOAT64 in floats or policy is Policy.AS_GIVEN:
        return None
    if policy is Policy.WIDEST:
        # Ops that promote do it themselves, by the rules for arrays beside numbers without axes.
        return reduce(promote, floats) if op.promotion == "none" else None
    return half if policy is Policy.LOW else FLOAT32


def check_autocast(definition: Definition, half: DType) -> None:
    """Refuse definitions that mixed precision is not for.

    Raises:
        DocumentError: with a finding for each input, parameter, buffer and constant of float64.
        DTypeError: `half` is not float16 or bfloat16.
    """
    if not is_float(half) or half.itemsize != 2:
        raise DTypeError(f"mixed precision computes in float16 or bfloat16, not in {half.name}")
    findings = [
        Finding(pointer, "dtype_mismatch", f"mixed precision is for float32 graphs, but {name!r} is float64")
        for pointer, name, dtype in _leaves(definition)
        if dtype == FLOAT64
    ]
    if findings:
        raise DocumentError(findings)


def _leaves(definition: Definition) -> Iterator[tuple[str, str, DType]]:
    for kind in ("inputs", "parameters", "buffers", "constants"):
        for name, spec in getattr(definition, kind).items():
            yield f"/{kind}/{name}/dtype", name, spec.dtype
