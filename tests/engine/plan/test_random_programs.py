"""Programs nobody thought of: built at random, run on the tape and as a plan, equal to the bit."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import ops
from engine.backward import pull_back
from engine.errors import EngineError
from engine.value import Value

UNARY = ("exp", "tanh", "square", "neg", "relu", "abs", "sigmoid", "copy", "stop_gradient")
BINARY = ("add", "sub", "mul", "maximum", "atan2")
REDUCTIONS = ("sum", "mean", "max", "argmax")


class Choices:
    """Numbers that decide, one after the other, what a program is made of; when they run out, the first option."""

    def __init__(self, numbers):
        self.numbers = iter(numbers)

    def of(self, options):
        return options[next(self.numbers, 0) % len(options)]


def unary(choose, pool):
    return getattr(ops, choose.of(UNARY))(choose.of(pool))


def binary(choose, pool):
    return getattr(ops, choose.of(BINARY))(choose.of(pool), choose.of([*pool, 0.5, 3]))


def chained(choose, pool):
    value = choose.of(pool)
    for _ in range(choose.of([1, 2, 4])):
        value = ops.tanh(value * 1.25 + 0.5)
    return value


def reduction(choose, pool):
    value = choose.of(pool)
    axis = choose.of([None, *range(value.ndim)])
    reduced = getattr(ops, choose.of(REDUCTIONS))(value, axis=axis, keepdims=choose.of([False, True]))
    return ops.cast(reduced, dtype=value.dtype)


def running(choose, pool):
    value = choose.of(pool)
    return ops.cumsum(value, axis=choose.of(range(max(value.ndim, 1))))


def reordered(choose, pool):
    value = choose.of(pool)
    if choose.of([True, False]):
        return ops.flip(value, axis=choose.of([None, *range(value.ndim)]))
    turn = choose.of(range(max(value.ndim, 1)))
    return ops.permute(value, axes=tuple((axis + turn) % value.ndim for axis in range(value.ndim)))


def sliced(choose, pool):
    value, start = choose.of(pool), choose.of([0, 1, 2])
    axis, stop, step = choose.of(range(max(value.ndim, 1))), start + choose.of([3, 1, 0]), choose.of([1, 2])
    return ops.slice(value, axis=axis, start=start, stop=stop, step=step)


def reshaped(choose, pool):
    value = choose.of(pool)
    if choose.of([True, False]):
        return ops.broadcast_to(value, shape=(2, *value.shape))
    return ops.reshape(value, shape=(*choose.of([(), (1,), (1, 1)]), value.size))


def product(choose, pool):
    a, b = choose.of(pool), choose.of(pool)
    return ops.matmul(a, ops.transpose(b) if choose.of([True, False]) else b)


def joined(choose, pool):
    return ops.concat(*(choose.of(pool) for _ in range(choose.of([1, 2, 3]))), axis=0)


def packed(choose, pool):
    values = [choose.of(pool) for _ in range(choose.of([1, 2, 3]))]
    offsets, end = [], choose.of([0, 2])
    for value in values:
        offsets.append(end)
        end += value.size + choose.of([0, 1, 3])
    return ops.pack(*values, offsets=tuple(offsets), size=end)


def selected(choose, pool):
    a, b = choose.of(pool), choose.of(pool)
    return ops.where(a > b, a, choose.of([b, a, 0.0]))


def normed(choose, pool):
    return choose.of([ops.softmax, ops.log_softmax])(choose.of(pool), axis=-1)


def derived(choose, pool):
    moving = [value for value in pool if value.requires_grad]
    value, leaves = ops.sum(choose.of(pool)), [choose.of(moving) for _ in range(2)]
    seed = Value((), value.dtype, np.ones((), value.dtype))
    found = [gradient for gradient in pull_back([value], [seed], leaves) if gradient is not None]
    return choose.of(found or [value])


STEPS = (
    unary,
    binary,
    chained,
    reduction,
    running,
    reordered,
    sliced,
    reshaped,
    product,
    joined,
    packed,
    selected,
    normed,
    derived,
)


def build(numbers, leaves):
    """Build the program that `numbers` stand for: outputs, and updates of the states s, t and u."""
    choose = Choices(numbers)
    pool = list(leaves.values())
    for _ in range(choose.of(range(1, 13))):
        try:
            value = choose.of(STEPS)(choose, pool)
        except EngineError:
            continue  # these shapes do not go together
        if value.size <= 4096:
            pool.append(value)
    outputs = {f"o{index}": choose.of(pool[::-1]) for index in range(choose.of(range(1, 4)))}
    updates = {}
    for name in ("s", "t", "u"):
        fitting = [value for value in pool[::-1] if value.spec == leaves[name].spec]
        if choose.of([True, True, False]):
            updates[name] = choose.of(fitting)
    return outputs, updates


def arrays(dtype):
    generator = np.random.default_rng(3)
    shapes = {"x": (3,), "m": (2, 3), "b": (2, 1), "k": (), "s": (3,), "t": (3,), "u": (2, 3)}
    return {name: generator.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_any_program_gives_the_same_bits_on_the_tape_and_as_a_plan(both, dtype):
    leaves = arrays(dtype)
    inputs = {name: leaves[name] for name in "xmbk"}
    state = {name: leaves[name] for name in "stu"}

    @settings(max_examples=200, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.integers(0, 2**12), min_size=10, max_size=80))
    def run(numbers):
        both(lambda v: build(numbers, v), inputs, state).check()

    run()
