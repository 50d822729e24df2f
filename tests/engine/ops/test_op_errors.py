"""Every op of the registry, called wrongly: it refuses by an error of ours that names it, computing and tracing alike.

What an op takes although it differs from its samples is legal by a rule or stands in a table here, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, get_args

import numpy as np
import pytest

from engine.autograd.backward import reachable
from engine.core.attributes import Attribute
from engine.core.errors import EngineError
from engine.core.modes import tracing
from engine.core.registry import Op
from engine.core.samples import Sample
from engine.core.value import Array, Spec, Value, tensor
from engine.ops import OPS

pytestmark = pytest.mark.filterwarnings("ignore:.*(every pair of the broadcast shape|mean loss of an empty batch)")


class Call(NamedTuple):
    """A call of an op that differs from one of its samples, and in what."""

    what: str
    place: int
    arrays: list[Array]
    attrs: dict[str, Any]


class Outcome(NamedTuple):
    """What came of a call: specs, or the text of the refusal."""

    specs: list[Spec] | None
    refusal: str


def _key() -> Value:
    return Value((2,), np.dtype("int64"), None)


def _drawn(op: Op[Any]) -> Iterator[tuple[Sample, list[Array]]]:
    for number, sample in enumerate(op.samples):
        yield sample, [np.asarray(array) for array in sample.arrays(f"{op.name}-{number}")]


def _try(op: Op[Any], call: Call, *, trace: bool) -> Outcome:
    """Make a call; anything but an EngineError that names the op passes through and fails the test."""
    try:
        if trace:
            with tracing(_key):
                made = op(*(Value(a.shape, a.dtype, None) for a in call.arrays), **call.attrs)
        else:
            made = op(*map(tensor, call.arrays), **call.attrs)
    except EngineError as error:
        refusal = str(error)
    else:
        values = made if isinstance(made, tuple) else (made,)
        if not trace:
            assert [(v.numpy().shape, v.numpy().dtype) for v in values] == [v.spec for v in values]
        return Outcome([v.spec for v in values], "")
    assert re.search(rf"\b{op.name}\b", refusal), f"{refusal!r} does not name {op.name}"
    return Outcome(None, refusal)


def _with(arrays: list[Array], place: int, array: Array) -> list[Array]:
    return [array if number == place else old for number, old in enumerate(arrays)]


def _ranks(arrays: list[Array], attrs: dict[str, Any]) -> Iterator[Call]:
    for place, array in enumerate(arrays):
        yield Call("no axes", place, _with(arrays, place, np.zeros((), array.dtype)), attrs)
        shape = (2,) * (7 - array.ndim) + array.shape
        yield Call("seven axes", place, _with(arrays, place, np.broadcast_to(array, shape).copy()), attrs)


def _shapes(arrays: list[Array], attrs: dict[str, Any]) -> Iterator[Call]:
    for place, array in enumerate(arrays):
        for axis, extent in enumerate(array.shape):
            if extent:
                longer = np.concatenate([array, np.take(array, [0], axis=axis)], axis=axis)
                yield Call("longer", place, _with(arrays, place, longer), attrs)
            yield Call("empty", place, _with(arrays, place, np.take(array, [], axis=axis)), attrs)


def _dtypes(arrays: list[Array], attrs: dict[str, Any]) -> Iterator[Call]:
    for place, array in enumerate(arrays):
        for dtype in ("int64", "bool") if array.dtype.kind == "f" else ("float64",):
            yield Call(dtype, place, _with(arrays, place, array.astype(dtype)), attrs)
    if any(array.dtype.kind == "f" for array in arrays):
        for dtype in ("int64", "bool"):
            yield Call(f"all {dtype}", -1, [array.astype(dtype) for array in arrays], attrs)


def _like(given: Any, number: int) -> Any:
    return (number,) * len(given) if isinstance(given, tuple) and given else number


def _values(op: Op[Any], arrays: list[Array], attrs: dict[str, Any]) -> Iterator[Call]:
    for name, attribute in op.attributes.items():
        given = attrs.get(name, attribute.default)
        for value in (_like(given, 99), _like(given, -7), 0, (), "nonsense"):
            yield Call(f"{name}={value}", -1, arrays, {**attrs, name: value})


every_op = pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in OPS.values()])
WITH_INPUTS = [op for op in OPS.values() if op.inputs]

CHECKS_VALUES = {
    "indices, which must lie within an axis": """gather scatter_add embedding add_rows index_select take_along_dim
        index_get index_scatter index_set index_put index_add index_copy index_fill set_rows scatter scatter_set
        scatter_prod scatter_extreme scatter_reduce max_unpool max_unpool1d max_unpool2d max_unpool3d grouped_product
        grouped_outer mul_mat_id distinct_index distinct_places take_flat put_flat index_reduce masked_scatter
        bag_of_each embedding_bag limit_rows""",
    "classes, which must be known": "class_index cross_entropy nll_loss softmax_cross_entropy multi_margin_loss",
    "lengths and labels": "ctc_lattice ctc_loss ctc_losses ctc_losses_backward rnn lstm gru",
    "whether a matrix has an inverse": "solve solve_matrix tensorsolve",
    "numbers to count": "bincount",
    "integers to divide by": "floor_divide fmod remainder trunc_divide",
    "weights that are not negative": "nonnegative cov",
}
"""Ops that look at numbers and not only at shapes, so that a trace takes what a computation refuses."""

NEEDS_DATA = {"one_hot": "without `classes` they are counted"}
"""Ops that a trace refuses for a value of an attribute, since the shape of their result would depend on data."""

looks_at_values = {name for names in CHECKS_VALUES.values() for name in names.split()}


@every_op
def test_a_wrong_call_is_refused_by_name_and_alike_when_tracing(op: Op[Any]) -> None:
    for number, (sample, arrays) in enumerate(_drawn(op)):
        calls = [*_ranks(arrays, sample.attrs), *_shapes(arrays, sample.attrs), *_dtypes(arrays, sample.attrs)]
        for call in [*calls, *(_values(op, arrays, sample.attrs) if number == 0 else ())]:
            made, traced = _try(op, call, trace=False), _try(op, call, trace=True)
            if made.specs is None:
                assert traced.specs is None or op.name in looks_at_values, call
            elif traced.specs is None:
                assert op.data_dependent or op.name in NEEDS_DATA, call
            else:
                assert made.specs == traced.specs, call


@every_op
def test_the_number_of_inputs_and_the_names_of_attributes_are_checked(op: Op[Any]) -> None:
    sample, arrays = next(_drawn(op))
    wrong = [Call("unknown attribute", -1, arrays, {**sample.attrs, "surprise": 1})]
    if op.required_inputs and not (op.random and len(op.inputs) == 1):  # a key left out is supplied
        wrong.append(Call("too few", -1, [], sample.attrs))
    if not op.variadic:
        wrong.append(Call("too many", -1, [*arrays, *[np.ones(2)] * (len(op.inputs) - len(arrays) + 1)], sample.attrs))
    for call in wrong:
        for trace in (False, True):
            assert _try(op, call, trace=trace).refusal, call


ANY_INTEGER = {
    "counts from either end": "axis source destination offset start stop end diagonal n_past",
    "moves or turns either way": "shifts step times",
    "is compared only": "ignore_index",
    "is an exponent, or a number of decimals": "exponent decimals",
    "is a divisor other than 0": "divisor",
    "is a number": "value low high",
    "may lie outside": "correction",
}
"""Integer attributes that may be negative, and why."""

AXES = ("axis", "axis0", "axis1", "source", "destination")
may_be_negative = {name for names in ANY_INTEGER.values() for name in names.split()}


def _takes(attribute: Attribute, type_: type) -> bool:
    options = [attribute.type, *get_args(attribute.type)]
    return type_ in [o for option in options for o in (option, *get_args(option))]


@every_op
def test_an_attribute_of_another_type_or_out_of_its_domain_is_refused(op: Op[Any]) -> None:
    sample, arrays = next(_drawn(op))
    for name, attribute in op.attributes.items():
        wrong: list[Any] = [object(), {"a": 1}, float("nan"), [object()]]
        given = sample.attrs.get(name, attribute.default)
        if not _takes(attribute, str):
            wrong.append("nonsense")
        if name in AXES:
            wrong += [_like(given, 99), _like(given, -99)]
        if _takes(attribute, int) and not _takes(attribute, float) and name not in may_be_negative:
            wrong.append(_like(given, -7))
        for value in wrong:
            for trace in (False, True):
                call = Call(f"{name}={value!r}", -1, arrays, {**sample.attrs, name: value})
                assert _try(op, call, trace=trace).refusal, call


def _accepts(op: Op[Any], calls: Callable[[list[Array], dict[str, Any]], Iterator[Call]], *kinds: str) -> bool:
    """Whether an op takes every such call made of its samples, at least one."""
    tried = [
        _try(op, call, trace=False).specs is not None
        for sample, arrays in _drawn(op)
        for call in calls(arrays, sample.attrs)
        if call.what in kinds
    ]
    return bool(tried) and all(tried)


def _named(table: dict[str, str]) -> set[str]:
    return {name for names in table.values() for name in names.split()}


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
}
"""Ops other than elementwise ones and compositions of these that take inputs of no axes and of seven, and why."""


def _is_elementwise(op: Op[Any]) -> bool:
    """Whether an op is elementwise, or a composition of nothing but such."""
    if not op.composite:
        return op.elementwise
    sample, arrays = next(_drawn(op))
    if op.data_dependent:
        return False
    with tracing(_key):
        made = op(*(Value(a.shape, a.dtype, None) for a in arrays), **sample.attrs)
    used = {node.op for node in reachable(made if isinstance(made, tuple) else (made,))}
    return all(part.elementwise or part.name in _named(ANY_RANK) for part in used)


def _but_elementwise(names: set[str]) -> set[str]:
    return {name for name in names if not _is_elementwise(OPS[name])}


def test_an_op_takes_any_rank_by_a_reason() -> None:
    accepting = {op.name for op in WITH_INPUTS if _accepts(op, _ranks, "no axes", "seven axes")}
    assert _but_elementwise(accepting) == _but_elementwise(_named(ANY_RANK))


ANY_DTYPE: dict[str, str] = {
    "moves elements": """reshape permute broadcast_to slice slice_scatter flip pad pack diagonal diagonal_scatter tril
        triu copy barrier stop_gradient cast unfold unfold_back strided_slice""",
    "compares": """isnan isfinite isinf amax amin argmax argmin argsort argmedian argmode overall_median argcummax
        argcummin unique_padded clamp step signbit isposinf isneginf""",
    "adds and multiplies in int64, as PyTorch": "sum sum_to prod product_of_others cumsum cumprod",
    "leaves integers as they are": "floor ceil trunc abs square nan_to_num",
}
"""Primitives that neither promote nor mind truth values in the place of floats, and why."""


def test_an_op_takes_any_dtype_by_a_reason() -> None:
    without_rule = [op for op in WITH_INPUTS if not op.composite and op.promotion == "none"]
    accepting = {op.name for op in without_rule if _accepts(op, _dtypes, "all bool")}
    assert accepting == _named(ANY_DTYPE) & {op.name for op in without_rule}


FLOAT_INDICES: dict[str, str] = {
    "asks whether an element is 0": "all any argwhere nonzero",
    "orders or compares": """isin argsort argmode unique_padded unique unique_consecutive row_places bucketize
        count_equal clamp""",
    "takes targets between 0 and 1, or -1 and 1": """bce_loss bce_with_logits_loss focal_loss ggml_cross_entropy
        multilabel_soft_margin_loss margin_ranking_loss hinge_embedding_loss soft_margin_loss cosine_embedding_loss""",
    "takes a mask that is added": "soft_max attention",
    "reads the bits of any number": "bitcast",
}
"""Ops whose samples hold integers or truth values that may be floats, and why."""


def test_floats_in_the_place_of_integers_are_taken_by_a_reason() -> None:
    accepting = {op.name for op in WITH_INPUTS if _accepts(op, _dtypes, "float64")}
    assert _but_elementwise(accepting) == _but_elementwise(_named(FLOAT_INDICES))


ANY_SHAPES: dict[str, str] = {
    "takes every shape of each input": """pack embedding limit_rows index_select index_fill meshgrid outer kron
        bucketize isin equal block_diag cartesian_prod take_flat atleast_1d atleast_2d atleast_3d""",
    "looks at the dtype of the other alone": "type_as",
    "only waits for the other": "barrier",
}
"""Ops of several inputs, any of which may grow along any axis, and why."""


def test_shapes_that_do_not_fit_are_taken_by_a_reason() -> None:
    of_several = {op.name: op for op in WITH_INPUTS if len(op.inputs) > 1 or op.variadic}
    accepting = {name for name, op in of_several.items() if _accepts(op, _shapes, "longer")}
    assert accepting == _named(ANY_SHAPES) & of_several.keys()
