"""Laws of wrong calls: an op refuses by an error of ours that names it, computing and tracing alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, get_args

import numpy as np

from engine.core.attributes import Attribute
from engine.core.errors import EngineError
from engine.core.modes import tracing
from engine.core.registry import Op
from engine.core.value import Array, Spec, Value, tensor
from tests.engine.laws.case import Case
from tests.engine.laws.law import law


class Call(NamedTuple):
    """A call of an op that differs from one of its samples, and in what."""

    what: str
    place: int
    arrays: list[Array]
    attrs: dict[str, Any]


class Outcome(NamedTuple):
    """The result of a call: specs, or the text of the refusal."""

    specs: list[Spec] | None
    refusal: str


def any_key() -> Value:
    return Value((2,), np.dtype("int64"), None)


def _try(op: Op[Any], call: Call, *, trace: bool) -> Outcome:
    """Make a call; anything but an EngineError that names the op passes through and fails the test."""
    try:
        if trace:
            with tracing(any_key):
                created = op(*(Value(a.shape, a.dtype, None) for a in call.arrays), **call.attrs)
        else:
            created = op(*map(tensor, call.arrays), **call.attrs)
    except EngineError as error:
        refusal = str(error)
    else:
        values = created if isinstance(created, tuple) else (created,)
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
        for value in (_like(given, 19), _like(given, -7), 0, (), "nonsense"):
            yield Call(f"{name}={value}", -1, arrays, {**attrs, name: value})


CHECKS_VALUES = {
    "indices, which must lie within an axis": """gather scatter_add embedding add_rows add_all_rows index_select
        take_along_dim index_get index_scatter index_set index_put index_add index_copy index_fill set_rows scatter
        scatter_set scatter_prod scatter_extreme scatter_reduce max_unpool max_unpool1d max_unpool2d max_unpool3d
        grouped_product grouped_outer mul_mat_id distinct_index distinct_places take_flat put_flat index_reduce
        masked_scatter bag_of_each embedding_bag limit_rows""",
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


Tried = list[tuple[Call, Outcome, Outcome]]


def with_other_ranks(case: Case) -> Tried:
    return _tried(case.op, _ranks(case.arrays(), case.sample.attrs))


def with_other_shapes(case: Case) -> Tried:
    return _tried(case.op, _shapes(case.arrays(), case.sample.attrs))


def with_other_types(case: Case) -> Tried:
    return _tried(case.op, _dtypes(case.arrays(), case.sample.attrs))


def _with_other_values(case: Case) -> Tried:
    return _tried(case.op, _values(case.op, case.arrays(), case.sample.attrs) if case.number == 0 else ())


def _tried(op: Op[Any], calls: Iterable[Call]) -> Tried:
    """Make calls, and return the outcome of each, computing and tracing."""
    return [(call, _try(op, call, trace=False), _try(op, call, trace=True)) for call in calls]


@law(with_warnings=True)
def a_wrong_call_is_refused_by_name_and_alike_when_tracing(case: Case) -> None:
    op = case.op
    for calls in (with_other_ranks, with_other_shapes, with_other_types, _with_other_values):
        for call, created, traced in case.once(calls):
            if created.specs is None:
                assert traced.specs is None or op.name in looks_at_values, call
            elif traced.specs is None:
                assert op.data_dependent or op.name in NEEDS_DATA, call
            else:
                assert created.specs == traced.specs, call


@law(lambda case: case.number == 0, with_warnings=True)
def the_number_of_inputs_and_the_names_of_attributes_are_checked(case: Case) -> None:
    op, sample, arrays = case.op, case.sample, case.arrays()
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
    "moves or turns either way": "shifts step times top left",
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


@law(lambda case: case.number == 0, with_warnings=True)
def an_attribute_of_another_type_or_out_of_its_domain_is_refused(case: Case) -> None:
    op, sample, arrays = case.op, case.sample, case.arrays()
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
