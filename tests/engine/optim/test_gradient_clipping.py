"""Clipping and noise on gradients as plans hold them; golden/unitwise.json is what optax makes of units."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.autograd.gradients import clip_by_norm
from engine.core.dtypes import FLOAT32, FLOAT64
from engine.core.modes import tracing
from engine.core.options import Reader, describe_options, read_options
from engine.core.value import Value
from engine.execution.plan import NumpyExecutor, make_plan
from engine.ops.elementwise.elementwise import square
from engine.ops.reduce.reduce import sum
from engine.optim.transforms.clipping import (
    AdaptiveClip,
    Clip,
    clip_adaptively,
    clip_by_each_norm,
    clip_by_global_norm,
    clip_by_value,
    clip_jointly,
    clip_per_parameter,
    global_norm,
    unit_axes,
)
from tests.support.rows import each_row

GOLDEN = Path(__file__).parent / "golden"
UNITWISE = json.loads((GOLDEN / "unitwise.json").read_text())
NORMS = json.loads((GOLDEN / "clip_norms.json").read_text())
ORDERS = [0.5, 1.0, 2.0, 3.0, 7.5, math.inf]


def values(**arrays):
    return {name: engine.tensor(np.array(array, float)) for name, array in arrays.items()}


def arrays(gradients):
    return {name: gradient.numpy() for name, gradient in gradients.items()}


def clipped(gradients, parameters, clip):
    """Apply all limits, as a training step does."""
    return clip_jointly(clip_per_parameter(gradients, parameters, clip), clip)


@pytest.fixture
def gradients(waves):
    return {"a": engine.tensor(waves(3) * 2), "b": engine.tensor(waves(2, 2, start=1.0) * 3)}


@pytest.mark.parametrize("run", NORMS, ids=lambda run: f"order {run['order']} limit {run['limit']}")
def test_all_gradients_are_clipped_together_as_by_pytorch(run, gradients):
    found, norm = clip_by_global_norm(gradients, run["limit"], float(run["order"]))
    assert norm.item() == pytest.approx(run["total"], rel=1e-14)
    for name in "ab":
        np.testing.assert_allclose(found[name].numpy(), run[name], rtol=1e-14)


@pytest.mark.parametrize("p", ORDERS)
def test_a_norm_is_that_of_all_elements_in_one_vector(p, gradients):
    vector = np.concatenate([gradient.numpy().ravel() for gradient in gradients.values()])
    assert global_norm(gradients, p).item() == pytest.approx(np.linalg.norm(vector, p), rel=1e-14)
    assert global_norm({}, p).item() == 0
    assert global_norm({"empty": engine.tensor(np.zeros((0, 3)))}, p).item() == 0


@each_row("p", [1.0, 2.0, 4.0, 10.0, math.inf])
def test_norms_of_small_float32_gradients_do_not_vanish(p):
    tiny = {"g": engine.tensor(np.full(4, 1e-8, "float32"))}
    assert global_norm(tiny, p).item() == pytest.approx(np.linalg.norm(np.full(4, 1e-8), p), rel=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_clipping_by_the_norm_of_order_2_has_the_bits_of_clip_by_norm(dtype):
    numbers = np.random.default_rng(0)
    a, b = (engine.tensor(numbers.standard_normal(n).astype(dtype)) for n in (1000, 77))
    total = sum(square(a)) + sum(square(b))
    found, norm = clip_by_global_norm({"a": a, "b": b}, 0.7)
    for mine, gradient in ((found["a"], a), (found["b"], b)):
        np.testing.assert_array_equal(mine.numpy(), clip_by_norm(gradient, total, 0.7).numpy())
        assert mine.dtype == gradient.dtype
    assert norm.item() == np.sqrt(total.numpy())


@pytest.mark.parametrize("p", ORDERS)
def test_each_gradient_is_clipped_by_its_own_norm(p, gradients):
    found = arrays(clip_by_each_norm(gradients, 2.0, p))
    for name, gradient in arrays(gradients).items():
        length = np.linalg.norm(gradient.ravel(), p)
        np.testing.assert_allclose(found[name], gradient * min(2.0 / (length + 1e-6), 1.0), rtol=1e-14)
    assert any(np.linalg.norm(gradient.numpy().ravel(), p) > 2 for gradient in gradients.values())


def test_elements_are_limited_to_both_sides():
    assert clip_by_value(values(g=[-3.0, 0.5, 2.0]), 1.0)["g"].numpy().tolist() == [-1, 0.5, 1]


@each_row("run", UNITWISE, ids=lambda run: str(np.shape(run["gradient"])))
def test_units_are_clipped_by_the_size_of_their_parameters_as_by_optax(run):
    gradient, parameter = (engine.tensor(np.array(run[name])) for name in ("gradient", "parameter"))
    found = clip_adaptively(gradient, parameter, run["clipping"], run["eps"])
    np.testing.assert_allclose(found.numpy(), run["clipped"], rtol=1e-13)
    leaf = engine.parameter(parameter.numpy())
    leaf.grad = gradient.numpy().copy()
    engine.clip_grad_adaptive_([leaf, engine.parameter(np.ones(2))], run["clipping"], run["eps"])
    np.testing.assert_array_equal(leaf.grad.numpy(), found.numpy())


def test_some_units_were_within_their_limit_and_others_not():
    same = [np.isclose(run["clipped"], run["gradient"]).ravel() for run in UNITWISE]
    assert np.concatenate(same).any()
    assert not np.concatenate(same).all()


@each_row(
    ("shape", "first", "last"),
    [
        ((), (), ()),
        ((5,), (0,), (0,)),
        ((1, 4), (1,), (0, 1)),
        ((4, 3), (1,), (0,)),
        ((2, 3, 4), (1, 2), (0,)),
        ((8, 3, 2, 2), (1, 2, 3), (0, 1, 2)),
        ((2, 2, 2, 2, 2, 2), (1, 2, 3, 4, 5), (0, 1, 2, 3, 4)),
    ],
)
def test_the_elements_of_a_unit_lie_along_all_other_axes(shape, first, last):
    assert (unit_axes(shape, "first"), unit_axes(shape, "last")) == (first, last)


def test_rows_are_units_of_weights_whose_outputs_come_first():
    gradient, weight = np.array([[3.0, 4.0], [0.3, 0.4]]), np.array([[1.0, 0.0], [0.0, 2.0]])
    found = clip_adaptively(engine.tensor(gradient), engine.tensor(weight), 0.5, units="first")
    np.testing.assert_allclose(found.numpy(), [[0.3, 0.4], [0.3, 0.4]], rtol=1e-15)


def test_what_starts_at_0_is_clipped_as_if_it_were_eps_long():
    found = clip_adaptively(engine.tensor(np.array([3.0, 4.0])), engine.tensor(np.zeros(2)), 0.1, 0.01)
    np.testing.assert_allclose(found.numpy(), [0.0006, 0.0008], rtol=1e-15)


def test_limits_are_applied_in_their_order(gradients):
    parameters = {name: engine.tensor(np.ones(gradient.shape)) for name, gradient in gradients.items()}
    clip = Clip(norm=1.0, p=3.0, per_parameter=0.9, value=0.4, adaptive=AdaptiveClip(clipping=0.5))
    expected = {n: clip_adaptively(g, parameters[n], 0.5) for n, g in gradients.items()}
    expected = clip_by_each_norm(expected, 0.9, 3.0)
    expected, _ = clip_by_global_norm(expected, 1.0, 3.0)
    expected = clip_by_value(expected, 0.4)
    found = clipped(gradients, parameters, clip)
    for name in "ab":
        np.testing.assert_array_equal(found[name].numpy(), expected[name].numpy())
    assert clipped(gradients, parameters, Clip()) == gradients
    apart = clip_per_parameter(gradients, parameters, clip)
    vector = np.concatenate([apart[name].numpy().ravel() for name in "ab"])
    (packed,) = clip_jointly({"vector": engine.tensor(vector)}, clip).values()
    np.testing.assert_allclose(packed.numpy()[:3], found["a"].numpy(), rtol=1e-14)


@each_row("dtype", ["float16", "float32", "float64"])
@each_row("shape", [(), (3,), (2, 3)])
def test_clipped_gradients_keep_their_dtype_and_shape(dtype, shape):
    gradients = {"g": engine.tensor(np.full(shape, 5.0, dtype))}
    for order in ORDERS:
        clip = Clip(norm=1.0, p=order, per_parameter=2.0, value=0.5, adaptive=AdaptiveClip(clipping=0.5))
        (found,) = clipped(gradients, gradients, clip).values()
        assert (found.dtype, found.shape) == (np.dtype(dtype), shape)
        assert np.isfinite(found.numpy()).all()


def test_clipping_in_a_plan_gives_the_bits_it_gives_at_once(waves):
    clip = Clip(norm=0.5, p=3.0, per_parameter=0.4, value=0.2, adaptive=AdaptiveClip(clipping=0.3))
    data = {"a": waves(3).astype("float32"), "b": waves(4, 2).astype("float32")}
    leaves = {name: Value(array.shape, FLOAT32, None, name=name) for name, array in data.items()}
    with tracing(lambda: pytest.fail("clipping is not random")):
        found = clipped(leaves, leaves, clip)
        outputs = {**found, "norm": global_norm(leaves)}
    executor = NumpyExecutor(make_plan(leaves, {}, outputs, {}), {})
    for name, array in data.items():
        executor.inputs[name][...] = array
    executor.run()
    tensors = {name: engine.tensor(array) for name, array in data.items()}
    for name, expected in clipped(tensors, tensors, clip).items():
        np.testing.assert_array_equal(executor.outputs[name], expected.numpy())
    assert executor.outputs["norm"] == global_norm(tensors).numpy()


def read(document):
    reader = Reader()
    return read_options(reader, document, "/clip", Clip), [(f.pointer, f.code) for f in reader.findings]


@each_row(
    ("document", "clip"),
    [
        ({}, Clip()),
        ({"norm": 5, "value": None}, Clip(norm=5.0)),
        ({"norm": 5.0, "p": "inf"}, Clip(norm=5.0, p=math.inf)),
        ({"per_parameter": 1, "p": 1}, Clip(per_parameter=1.0, p=1.0)),
        ({"adaptive": {}, "nonfinite": "skip"}, Clip(adaptive=AdaptiveClip(), nonfinite="skip")),
        ({"adaptive": {"clipping": 0.1, "units": "first"}}, Clip(adaptive=AdaptiveClip(clipping=0.1, units="first"))),
    ],
)
def test_limits_are_read_from_a_document(document, clip):
    assert read(document) == (clip, [])


@each_row(
    ("document", "pointer", "code"),
    [
        ({"norm": 0}, "/clip/norm", "out_of_range"),
        ({"norm": "5"}, "/clip/norm", "attribute_invalid"),
        ({"p": 0}, "/clip/p", "out_of_range"),
        ({"p": -1.5}, "/clip/p", "out_of_range"),
        ({"p": "two"}, "/clip/p", "attribute_invalid"),
        ({"per_parameter": -1}, "/clip/per_parameter", "out_of_range"),
        ({"value": -1}, "/clip/value", "out_of_range"),
        ({"adaptive": {"clipping": 0}}, "/clip/adaptive/clipping", "out_of_range"),
        ({"adaptive": {"eps": 0}}, "/clip/adaptive/eps", "out_of_range"),
        ({"adaptive": 0.1}, "/clip/adaptive", "type_mismatch"),
        ({"nonfinite": "ignore"}, "/clip/nonfinite", "attribute_invalid"),
        ({"max_norm": 1}, "/clip/max_norm", "unknown_field"),
    ],
)
def test_a_faulty_limit_is_found_at_its_place(document, pointer, code):
    found, faults = read(document)
    assert (found, faults) == (None, [(pointer, code)])


def test_the_limits_are_described_for_clients():
    described = {entry["name"]: entry for entry in describe_options(Clip)}
    assert described["p"]["type"] == 'a number greater than 0, or "inf"'
    assert described["norm"]["range"] == "greater than 0"
    assert [entry["name"] for entry in described["adaptive"]["attrs"]] == ["clipping", "eps", "units"]
    assert json.dumps(list(described.values()), allow_nan=False)


def test_norms_are_numbers_of_their_own_on_float64():
    assert global_norm(values(a=[3.0], b=[[4.0]])).dtype == FLOAT64
