"""Laws of what ops take although it differs from their samples: it stands in a table here, with the reason."""

from __future__ import annotations

from collections.abc import Callable

from engine.autograd.backward import reachable
from engine.ops import OPS
from tests.engine.laws.case import Case
from tests.engine.laws.errors import Tried, with_other_ranks, with_other_shapes, with_other_types
from tests.engine.laws.law import law


def _named(table: dict[str, str]) -> set[str]:
    return {name for names in table.values() for name in names.split()}


def _accepts(cases: list[Case], calls: Callable[[Case], Tried], *kinds: str) -> bool:
    """Whether an op takes every such call made of its samples, at least one."""
    taken = [created.specs is not None for case in cases for call, created, _ in case.once(calls) if call.what in kinds]
    return bool(cases[0].op.inputs) and bool(taken) and all(taken)


ANY_RANK: dict[str, str] = {
    "works elementwise in a shape rule of its own": """clamp softplus hardtanh nan_to_num l1_loss huber_loss
        smooth_l1_loss bessel_i bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift
        class_index logit polygamma celu bitcast hardshrink softshrink sinc_derivative cast one_hot
        round heaviside trunc_divide threshold isin""",
    "counts over all axes": "histc",
    "makes powers along a new last axis": "vander",
    "sums over all axes, or over the last one": """poisson_nll_loss hinge_embedding_loss dist pairwise_distance inner
        sum_of_squares""",
    "goes along one axis of however many, a number counting as one element": """all any cumsum cumprod logcumsumexp
        argcummax argcummin cummax cummin argsort sort argmedian argmode overall_median l2_norm cosine_similarity
        aminmax""",
    "arranges whatever there is": """flatten unsqueeze flip repeat kron argwhere nonzero masked_select atleast_1d
        atleast_2d atleast_3d broadcast_tensors diagflat""",
    "looks at the shape alone": "full_like ones_like zeros_like",
}
"""Ops other than elementwise ones and compositions of these that take inputs of no axes and of seven, and why."""


def _is_elementwise(case: Case) -> bool:
    """Whether an op is elementwise, or a composition of nothing but such."""
    if not case.op.composite or case.op.data_dependent:
        return case.op.elementwise
    used = {node.op for node in reachable(case.traced().outputs)}
    return all(part.elementwise or part.name in _named(ANY_RANK) for part in used)


@law(of_the_op=True, with_warnings=True)
def an_op_takes_any_rank_by_a_reason(cases: list[Case]) -> None:
    takes = _accepts(cases, with_other_ranks, "no axes", "seven axes")
    assert takes == (cases[0].op.name in _named(ANY_RANK)) or _is_elementwise(cases[0]), takes


ANY_DTYPE: dict[str, str] = {
    "moves elements": """reshape permute broadcast_to slice slice_scatter flip pad pack diagonal diagonal_scatter tril
        triu copy barrier stop_gradient cast unfold unfold_back strided_slice""",
    "compares": """isnan isfinite isinf amax amin argmax argmin argsort argmedian argmode overall_median argcummax
        argcummin unique_padded clamp step signbit isposinf isneginf""",
    "adds and multiplies in int64, as PyTorch": "sum sum_to prod product_of_others cumsum cumprod",
    "leaves integers as they are": "floor ceil trunc abs square nan_to_num",
}
"""Primitives that do not promote, and take truth values in the place of floats, and why."""


@law(of_the_op=True, with_warnings=True)
def an_op_takes_any_dtype_by_a_reason(cases: list[Case]) -> None:
    op = cases[0].op
    if op.inputs and not op.composite and op.promotion == "none":
        takes = _accepts(cases, with_other_types, "all bool")
        assert takes == (op.name in _named(ANY_DTYPE)), takes


FLOAT_INDICES: dict[str, str] = {
    "asks whether an element is 0": "all any argwhere nonzero",
    "orders or compares": """isin argsort argmode unique_padded unique unique_consecutive row_places bucketize
        count_equal clamp""",
    "takes targets between 0 and 1, or -1 and 1": """bce_loss bce_with_logits_loss focal_loss ggml_cross_entropy
        multilabel_soft_margin_loss margin_ranking_loss hinge_embedding_loss soft_margin_loss cosine_embedding_loss""",
    "takes a mask that is added": "soft_max attention",
    "reads the bits of any number": "bitcast",
    "looks at the shape alone": "full_like ones_like",
}
"""Ops whose samples hold integers or truth values that may be floats, and why."""


@law(of_the_op=True, with_warnings=True)
def floats_in_the_place_of_integers_are_taken_by_a_reason(cases: list[Case]) -> None:
    takes = _accepts(cases, with_other_types, "float64")
    assert takes == (cases[0].op.name in _named(FLOAT_INDICES)) or _is_elementwise(cases[0]), takes


ANY_SHAPES: dict[str, str] = {
    "takes every shape of each input": """pack embedding limit_rows index_select index_fill meshgrid outer kron
        bucketize isin equal block_diag cartesian_prod take_flat atleast_1d atleast_2d atleast_3d""",
    "looks at the dtype of the other alone": "type_as",
    "only waits for the other": "barrier",
}
"""Ops of several inputs, any of which may grow along any axis, and why."""


@law(of_the_op=True, with_warnings=True)
def shapes_that_do_not_fit_are_taken_by_a_reason(cases: list[Case]) -> None:
    op = cases[0].op
    if len(op.inputs) > 1 or op.variadic:
        takes = _accepts(cases, with_other_shapes, "longer")
        assert takes == (op.name in _named(ANY_SHAPES)), takes


TABLES = (ANY_RANK, ANY_DTYPE, FLOAT_INDICES, ANY_SHAPES)


def unknown_names() -> set[str]:
    """Return the names in the tables that no op has."""
    return {name for table in TABLES for name in _named(table)} - OPS.keys()
