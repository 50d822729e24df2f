"""Every op of the registry keeps every law on every sample: a new op is tested from the day it is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.core.batching import Call, apply_batched, each, rule_of
from engine.core.errors import AttributeValueError
from engine.core.registry import Op
from engine.core.value import as_value
from engine.ops import OPS
from tests.engine.laws import accepted, batching, errors, gradients, halves, nonsense, plans, values
from tests.engine.laws.law import LAWS, broken

MODULES = (accepted, batching, errors, gradients, halves, nonsense, plans, values)


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_an_op_keeps_every_law(op: Op[Any]) -> None:
    found, first = broken(op)
    if found:
        raise AssertionError(f"{op.name} breaks {len(found)} laws\n" + "\n".join(found)) from first


def test_every_module_declares_laws_and_its_tables_name_ops() -> None:
    assert {law.check.__module__ for law in LAWS} == {module.__name__ for module in MODULES}
    named = errors.looks_at_values | errors.NEEDS_DATA.keys() | halves.DIFFERENCES.keys() | halves.SEVERAL_STEPS.keys()
    assert not accepted.unknown_names() | (named - OPS.keys())


def test_every_op_is_documented_and_has_samples() -> None:
    assert not [name for name, op in OPS.items() if not op.doc.splitlines()[0].endswith(".") or not op.samples]


def test_every_op_refuses_an_unknown_attribute() -> None:
    for name, op in OPS.items():
        with pytest.raises(AttributeValueError, match=rf"\b{name}\b.*no attribute 'surprise'"):
            op(surprise=1)


def test_every_op_that_carries_gradients_has_a_rule() -> None:
    wrong = [name for name, op in OPS.items() if not op.composite and (op.rule is not None) != op.differentiable]
    assert not wrong


EXAMPLE_BY_EXAMPLE = {
    "pack": "it gathers parameters into one vector, of which there is one",
    "opt_step_sgd": "it steps one parameter",
    "opt_step_adamw": "it steps one parameter",
    "adam_rates": "they are those of one step",
    "adam_update": "it steps one parameter",
    "sgd_update": "it steps one parameter",
    "momentum_update": "it steps one parameter",
    "lazy_adam_update": "it steps one parameter",
    "distinct_places": "it checks the places of one array",
    "row_places": "it looks at all rows of one array together",
    "unique_padded": "it looks at all elements of one array together",
    "overall_median": "it looks at all elements of one array together",
    "accuracy": "it counts over all rows of one array",
    "histc": "it counts all elements of one array together",
    "bincount": "it counts all elements of one array together",
    "isin": "it looks at all elements of the second array together",
    "listed_labels": "it turns the lists of one array of targets into places",
    "ctc_lattice": "its paths are those of one set of targets",
    "grouped_outer": "it adds up rows by their group",
    "add_all_rows": "plans make it of sums, after batching",
    "fold_in": "one key gives one key",
    "random_uniform": "one key gives one draw",
    "random_normal": "one key gives one draw",
    "bernoulli": "one key gives one draw",
    "dropout_mask": "one key gives one draw",
    "random_affine_maps": "one key gives one draw",
    "random_boxes": "one key gives one draw",
    "random_spans": "one key gives one draw",
    "exponential": "one key gives one draw",
    "random_beta": "one key gives one draw",
    "truncated_normal": "one key gives one draw",
    "random_integers": "one key gives one draw",
    "randperm": "one key gives one draw",
    "multinomial": "one key gives one draw",
    "limit_rows": "each example limits a table of its own",
}
"""Ops without a rule of their own, and why."""


def test_every_op_batches_by_a_rule_or_stands_in_the_list() -> None:
    without = {
        op.name
        for op in OPS.values()
        if not op.composite and op.inputs and rule_of(op) is each and not op.data_dependent
    }
    assert without == set(EXAMPLE_BY_EXAMPLE)


def test_a_rule_gives_what_applying_the_op_example_by_example_gives() -> None:
    x, w = np.arange(24.0).reshape(2, 2, 2, 3), np.arange(24.0).reshape(2, 3, 2, 2)
    op = OPS["convolution"]
    attrs = op.bind({"stride": (1,), "padding": ((0, 1),), "dilation": (1,)})
    spec = op(x[0], w[0], **attrs).spec
    call = Call(op, 2, (as_value(x), as_value(w)), (True, True), attrs, (spec,))
    np.testing.assert_array_equal(apply_batched(call)[0].numpy(), each(call).numpy())
