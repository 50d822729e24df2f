"""Calls in PyTorch's form: what is given by place reaches the attribute that PyTorch means, or is refused."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest

import engine
from engine import EngineError, ops
from engine.core.call_arguments import normalize_call
from engine.core.registry import ALIASES, OPS, Op, lookup
from engine.core.value import Value
from tests.support.rows import each_row

ROWS = json.loads((Path(__file__).parents[1] / "golden" / "data" / "torch_orders.json").read_text())
TENSORS = frozenset(
    """input self other tensor index src source tensor1 tensor2 mat1 mat2 batch1 batch2 vec1 vec2 mat vec A B L x y x1
    x2 target weight bias mask end boundaries values sorted_sequence input1 input2 grid theta indices a b anchor
    positive negative log_probs targets input_lengths target_lengths query key value running_mean running_var pos_weight
    var attn_mask offsets per_sample_weights logits mask_source LU_data LU_pivots Q tau_ hx""".split()  # noqa: SIM905
)
RENAMED = {
    "dims": "axis", "dim": "axis", "keepdim": "keepdims", "kernel_size": "kernel", "negative_slope": "slope",
    "min_val": "min", "max_val": "max", "ord": "order", "norm_type": "p", "upscale_factor": "factor",
    "downscale_factor": "factor", "num_groups": "groups", "scale_factor": "scale", "divisor_override": "divisor",
    "num_classes": "classes", "is_causal": "causal", "dropout_p": "dropout", "start_dim": "start", "end_dim": "end",
    "maxnorm": "largest", "size": "shape", "stride": "stride", "storage_offset": "offset", "num_samples": "samples",
}  # fmt: skip
PER_OP = {
    "permute": {"dims": "axes"}, "tensordot": {"dims": "axes"}, "rot90": {"k": "times", "dims": "axes"},
    "transpose": {"dim0": "axis0", "dim1": "axis1"}, "diagonal": {"dim1": "axis0", "dim2": "axis1"},
    "diag_embed": {"dim1": "axis0", "dim2": "axis1"}, "diag": {"diagonal": "offset"}, "repeat": {"dims": "repeats"},
    "matrix_power": {"n": "exponent"}, "diff": {"n": "order"}, "polygamma": {"n": "order"}, "mvlgamma": {"p": "order"},
    "split": {"split_size": "sizes", "split_size_or_sections": "sizes"},
    "unfold": {"dimension": "axis", "size": "size"},
    "tensor_split": {"indices_or_sections": "sections"}, "combinations": {"r": "size"},
    "full": {"fill_value": "value"}, "eye": {"n": "rows", "m": "columns"}, "linspace": {"end": "stop"},
    "strided_slice": {"stride": "strides"}, "col2im": {"output_size": "size", "size": "size"},
    "narrow": {"dimension": "axis"}, "lstsq": {"rcond": "rtol"}, "interpolate": {"size": "size"},
    "local_response_norm": {"size": "size"}, "pad": {"pad": "widths"},
    "random_integers": {"size": "shape"}, "norm": {"ord": "p"}, "arange": {"end": "stop"},
}  # fmt: skip
"""What arguments of PyTorch are called here, for one op."""


def plain_value(type_: Any, place: int) -> Any:
    """Return a value of the type of an attribute, another one at each place where the type has several."""
    values = {int: place + 1, float: place + 0.5, bool: True, str: f"text{place}"}
    options = get_args(type_) if get_origin(type_) not in (tuple, Literal) and get_args(type_) else (type_,)
    for option in options:
        if option in values:
            return values[option]
        if get_origin(option) is Literal:
            return get_args(option)[0]
    return (place + 1,) if get_origin(options[0]) is tuple else "float32"


@each_row(("name", "order"), ROWS, ids=[f"{name}-{len(order)}" for name, order in ROWS])
def test_what_is_given_by_place_is_what_pytorch_means(name: str, order: list[list[str | None]]) -> None:
    op = lookup(name)
    operands: list[Any] = []
    meant: dict[str, Any] = {}
    for argument, default in order:
        assert argument is not None
        own = PER_OP.get(op.name, {}).get(argument, RENAMED.get(argument, argument))
        if own in op.attributes and not (argument in TENSORS and any(p.name == own for p in op.inputs)):
            operands.append(plain_value(op.attributes[own].type, len(operands)))
            meant[own] = operands[-1]
        elif argument in TENSORS:
            operands.append(engine.tensor([1.0]))
        else:
            operands.append(_parsed(default))
            meant[argument] = operands[-1]
        try:
            _, given = normalize_call(op, tuple(operands), {})
            bound = op.bind(given)
        except EngineError:
            continue
        for attribute in given:
            assert attribute in meant, f"{name}: PyTorch has no {attribute} among {[a for a, _ in order]}"
            assert bound[attribute] == op.bind({**given, attribute: meant[attribute]})[attribute]


def _parsed(default: str | None) -> Any:
    try:
        return ast.literal_eval(default or "None")
    except (ValueError, SyntaxError):
        return "?"


def test_call_forms_name_inputs_and_attributes_of_their_op() -> None:
    for op in OPS.values():
        known = {*op.attributes, *(p.name for p in op.inputs)}
        assert all(known.issuperset(order) for order in op.call.orders), op.name
        assert set(op.attributes).issuperset(op.call.by_place or ()), op.name
        if op.call.with_index:
            assert OPS[op.call.with_index].documentation.outputs == ("values", "indices")
            assert "axis" in op.attributes


def test_every_op_is_in_the_package_by_each_of_its_names() -> None:
    assert ops.cat is ops.concat
    assert ops.mm is ops.matmul
    for name in (*OPS, *ALIASES):
        found = getattr(ops, name)
        assert not isinstance(found, Op) or found is lookup(name)
        assert name in dir(ops)
    with pytest.raises(AttributeError, match="no op called 'expand_dim'; did you mean 'expand_dims'"):
        _ = ops.expand_dim


X = np.arange(6.0).reshape(2, 3)
SAME: list[tuple[str, Any, Any]] = [
    ("sum", lambda x: ops.sum(x, 0), lambda x: ops.sum(x, axis=0)),
    ("sum keeps axes", lambda x: x.sum(0, True), lambda x: ops.sum(x, axis=0, keepdims=True)),
    ("dim", lambda x: x.sum(dim=0, keepdim=True), lambda x: ops.sum(x, axis=0, keepdims=True)),
    ("reshape", lambda x: ops.reshape(x, (3, 2)), lambda x: ops.reshape(x, shape=(3, 2))),
    ("reshape spread", lambda x: x.reshape(3, -1), lambda x: ops.reshape(x, shape=(3, 2))),
    ("view", lambda x: x.view(-1), lambda x: ops.reshape(x, shape=(6,))),
    ("transpose", lambda x: x.transpose(0, 1), lambda x: ops.transpose(x)),
    ("permute", lambda x: x.permute(1, 0), lambda x: ops.permute(x, axes=(1, 0))),
    ("clamp_", lambda x: x.clone().clamp_(-1, 1), lambda x: ops.clamp(x, min=-1, max=1)),
    ("concat", lambda x: ops.concat([x, x], 1), lambda x: ops.concat(x, x, axis=1)),
    ("cat", lambda x: ops.cat((x, x), dim=1), lambda x: ops.concat(x, x, axis=1)),
    ("stack", lambda x: ops.stack([x, X], 1), lambda x: ops.stack(x, x, axis=1)),
    ("gather", lambda x: x.gather(1, np.array([[2], [0]])), lambda x: ops.gather(x, np.array([[2], [0]]), axis=1)),
    ("our gather", lambda x: ops.gather(x, np.array([[2], [0]]), 1), lambda x: x.gather(np.array([[2], [0]]), axis=1)),
    ("split", lambda x: x.split(2, 1)[0], lambda x: ops.split(x, sizes=(2, 1), axis=1)[0]),
    ("einsum", lambda x: ops.einsum("ij,kj->ik", x, x), lambda x: ops.einsum(x, x, equation="ij,kj->ik")),
    ("arange", lambda x: x * ops.arange(1, 4), lambda x: x * np.arange(1, 4)),
    ("narrow", lambda x: x.narrow(1, 1, 2), lambda x: ops.slice(x, axis=1, start=1, stop=3)),
    ("narrow from the end", lambda x: x.narrow(1, -2, 2), lambda x: ops.slice(x, axis=1, start=1, stop=3)),
    ("diff", lambda x: x.diff(1, 0), lambda x: ops.diff(x, order=1, axis=0)),
    ("max", lambda x: x.max(dim=1)[0], lambda x: ops.max(x, axis=1)),
    ("max index", lambda x: x.max(dim=1)[1], lambda x: ops.argmax(x, axis=1)),
    ("median index", lambda x: x.median(dim=1)[1], lambda x: ops.argmax(x * 0 + np.array([0.0, 1, 0]), axis=1)),
    ("to", lambda x: x.to("float32"), lambda x: ops.cast(x, dtype="float32")),
]


@each_row(("label", "one", "other"), SAME, ids=[label for label, *_ in SAME])
def test_a_call_by_place_is_the_call_by_name(label: str, one: Any, other: Any) -> None:
    results = [make(engine.tensor(X)) for make in (one, other)]
    assert all(isinstance(result, Value) for result in results)
    np.testing.assert_array_equal(results[0].numpy(), results[1].numpy())
    assert results[0].dtype == results[1].dtype


@each_row(
    ("call", "message"),
    [
        (lambda x: x.sum(0, axis=0), "got 'axis' by place and by name"),
        (lambda x: x.sum(dim=0, axis=0), "'dim' and 'axis' are one attribute"),
        (lambda x: x.sum(0, True, 1), r"takes \(x\) and then axis, keepdims by place, got 4 arguments"),
        (lambda x: x.svd(True), "give full_matrices= by name"),
        (lambda x: x.max(0), r"axis= gives the values, dim= or max_with_index values and indices"),
        (lambda x: x.split(0), "size 0 must be at least 1"),
        (lambda x: x.narrow(1, 2, 2), "do not lie in axis 1 of extent 3"),
        (lambda x: x.sum(dimension=0), "no attribute 'dimension'"),
    ],
)
def test_a_call_that_could_mean_something_else_is_refused(call: Any, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        call(engine.tensor(X))


def test_a_dropout_by_place_draws_its_key() -> None:
    engine.seed(0)
    dropped = ops.dropout(engine.tensor(np.ones(1000)), 0.25)
    assert 0.6 < (dropped.numpy() > 0).mean() < 0.9
    assert ops.random_uniform(2, 3).shape == (2, 3)
