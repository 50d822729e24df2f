"""Transforms of functions whose arguments are dicts, tuples and lists of values."""

from typing import NamedTuple

import numpy as np
import pytest

import engine
from engine import ops
from engine.core.errors import ShapeError
from engine.core.trees import leaves_of, with_leaves
from tests.support.rows import each_row


class Pair(NamedTuple):
    weight: object
    bias: object


X = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
Y = np.arange(4.0)
PARAMETERS = {"hidden": Pair(np.full((3, 2), 0.5), np.zeros(2)), "out": [np.array([1.0, -1.0]), np.array(0.1)]}


def loss(parameters, x, y):
    hidden = ops.tanh(x @ parameters["hidden"].weight + parameters["hidden"].bias)
    return ops.mean((hidden @ parameters["out"][0] + parameters["out"][1] - y) ** 2)


def flat_loss(a, b, c, d):
    return loss({"hidden": Pair(a, b), "out": [c, d]}, X, Y)


FLAT = leaves_of(PARAMETERS)
ONES = with_leaves(PARAMETERS, iter([np.ones_like(leaf) for leaf in FLAT]))


def test_a_gradient_has_the_branches_of_its_argument():
    value, gradient = engine.value_and_grad(loss)(PARAMETERS, X, Y)
    assert list(gradient) == ["hidden", "out"]
    assert isinstance(gradient["hidden"], Pair)
    assert isinstance(gradient["out"], list)
    flat = engine.grad(flat_loss, (0, 1, 2, 3))(*FLAT)
    for mine, theirs in zip(leaves_of(gradient), flat, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    assert value.item() == flat_loss(*map(engine.tensor, FLAT)).item()


def test_products_of_every_kind_take_trees():
    def of_parameters(parameters):
        return loss(parameters, X, Y)

    gradient = engine.grad(of_parameters)(PARAMETERS)
    _, slope = engine.jvp(of_parameters, (PARAMETERS,), (ONES,))
    np.testing.assert_allclose(slope.item(), sum(g.numpy().sum() for g in leaves_of(gradient)), rtol=1e-12)
    _, pull = engine.vjp(of_parameters, PARAMETERS)
    np.testing.assert_array_equal(pull(2.0)[0]["out"][0].numpy(), 2 * gradient["out"][0].numpy())
    product = engine.hvp(of_parameters, (PARAMETERS,), (ONES,))[0]
    flat = engine.hvp(flat_loss, FLAT, [np.ones_like(leaf) for leaf in FLAT])
    for mine, theirs in zip(leaves_of(product), flat, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_gradients_per_example_of_a_model_in_a_dict():
    per_example = engine.vmap(engine.grad(loss), (None, 0, 0))(PARAMETERS, X, Y)
    assert per_example["hidden"].weight.shape == (4, 3, 2)
    alone = engine.grad(loss)(PARAMETERS, X[2], Y[2])
    for mine, theirs in zip(leaves_of(per_example), leaves_of(alone), strict=True):
        np.testing.assert_allclose(mine.numpy()[2], theirs.numpy(), rtol=1e-12, atol=1e-15)


def test_trees_are_batched_and_come_out():
    created = engine.vmap(lambda p: {"sum": p["a"] + p["b"], "parts": (p["a"] * 2, p["b"])})({"a": X, "b": X})
    np.testing.assert_array_equal(created["sum"].numpy(), 2 * X)
    np.testing.assert_array_equal(created["parts"][0].numpy(), 2 * X)


@each_row(
    ("tangents", "says"),
    [
        (({"hidden": PARAMETERS["hidden"]},), r"must be a dict of \['hidden', 'out'\]"),
        (({**PARAMETERS, "out": [np.ones(2)]},), r"\['out'\] must hold 2 parts"),
        ((3.0,), "must be a dict"),
        ((PARAMETERS, X), "must hold 1 parts"),
        (({**PARAMETERS, "out": [np.ones(3), np.array(0.0)]},), "does not fit"),
    ],
)
def test_tangents_of_other_branches_are_refused(tangents, says):
    with pytest.raises(ShapeError, match=says):
        engine.jvp(lambda p: loss(p, X, Y), (PARAMETERS,), tangents)


def test_a_list_of_numbers_is_data():
    np.testing.assert_array_equal(engine.grad(lambda v: ops.sum(v * v))([1.0, 2.0]).numpy(), [2.0, 4.0])
