"""Noise on gradients: how large it is, and what decides the draws."""

import numpy as np
import pytest

import engine
from engine.core.dtypes import FLOAT32, INT64
from engine.core.modes import tracing
from engine.core.options import Reader, read_options
from engine.core.rng import key_value
from engine.core.value import Value
from engine.execution.plan import NumpyExecutor, make_plan
from engine.ops.random.random import fold_in
from engine.optim.transforms.clipping import GradientNoise, add_noise, add_noise_to_gradients
from tests.support.rows import each_row

KEY = key_value(3, 7)


def at(step):
    return engine.tensor(np.array(step))


def zeros(**shapes):
    return {name: engine.tensor(np.zeros(shape)) for name, shape in shapes.items()}


def drawn(step, key=KEY, options=None, **shapes):
    found = add_noise_to_gradients(zeros(**shapes), key, at(step), options or GradientNoise())
    return {name: gradient.numpy() for name, gradient in found.items()}


@pytest.mark.parametrize(("eta", "gamma", "step"), [(0.01, 0.55, 0), (0.3, 0.55, 99), (1.0, 0.0, 5)])
def test_the_variance_falls_as_eta_over_a_power_of_the_step(eta, gamma, step):
    noise = drawn(step, options=GradientNoise(eta=eta, gamma=gamma), w=(200, 200))["w"]
    expected = eta / (1 + step) ** gamma
    assert noise.var() == pytest.approx(expected, rel=0.02)
    assert abs(noise.mean()) < 4 * np.sqrt(expected) / 200


def test_noise_is_added_to_the_gradient():
    gradient = engine.tensor(np.arange(6.0).reshape(2, 3))
    alone = add_noise(engine.tensor(np.zeros((2, 3))), KEY, at(4), GradientNoise()).numpy()
    np.testing.assert_array_equal(add_noise(gradient, KEY, at(4), GradientNoise()).numpy(), gradient.numpy() + alone)


def test_draws_follow_from_the_key_the_step_and_the_order_of_names():
    first = drawn(5, a=(4,), b=(4,))
    again = drawn(5, b=(4,), a=(4,))
    np.testing.assert_array_equal([first["a"], first["b"]], [again["a"], again["b"]])
    others = [drawn(6, a=(4,), b=(4,)), drawn(5, key_value(3, 8), a=(4,), b=(4,))]
    scaled = [noise / noise.std() for found in (first, *others) for noise in found.values()]
    assert len({noise.round(6).tobytes() for noise in scaled}) == 6


def test_draws_are_not_those_of_ops_that_the_graph_derives_from_the_key():
    noise = drawn(0, options=GradientNoise(eta=1.0), w=(4,))["w"]
    for number in range(50):
        other = engine.ops.random_normal(fold_in(KEY, number), shape=(4,), dtype=np.dtype("float64")).numpy()
        assert not np.isclose(noise, other).any()


@each_row("dtype", ["float16", "float32", "float64"])
@each_row("shape", [(), (3,)])
def test_a_gradient_keeps_its_dtype_and_shape(dtype, shape):
    found = add_noise(engine.tensor(np.zeros(shape, dtype)), KEY, at(1), GradientNoise())
    assert (found.dtype, found.shape) == (np.dtype(dtype), shape)


def test_a_plan_draws_what_is_drawn_at_once():
    gradients = {name: Value((3,), FLOAT32, None, name=name) for name in "ba"}
    key, step = Value((2,), INT64, None, name="key"), Value((), INT64, None, name="step")
    with tracing(lambda: pytest.fail("the keys are given")):
        found = add_noise_to_gradients(gradients, key, step, GradientNoise())
    executor = NumpyExecutor(make_plan({**gradients, "key": key, "step": step}, {}, found, {}), {})
    for count in (0, 8):
        for name in "ab":
            executor.inputs[name][...] = 0
        executor.inputs["key"][...], executor.inputs["step"][...] = KEY.numpy(), count
        executor.run()
        zero = {name: engine.tensor(np.zeros(3, "float32")) for name in "ab"}
        for name, expected in add_noise_to_gradients(zero, KEY, at(count), GradientNoise()).items():
            np.testing.assert_array_equal(executor.outputs[name], expected.numpy())


@pytest.mark.parametrize(
    ("document", "pointer"),
    [({"eta": 0}, "/noise/eta"), ({"gamma": -0.1}, "/noise/gamma"), ({"std": 1}, "/noise/std")],
)
def test_a_faulty_option_of_noise_is_found_at_its_place(document, pointer):
    reader = Reader()
    assert read_options(reader, document, "/noise", GradientNoise) is None
    assert [finding.pointer for finding in reader.findings] == [pointer]
    assert read_options(reader, {"eta": 0.3}, "/noise", GradientNoise) == GradientNoise(eta=0.3, gamma=0.55)
