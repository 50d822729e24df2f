"""Sessions that are saved and gone on with: every optimizer comes to the same bits, and needs its state for that."""

import numpy as np
import pytest

import engine
from tests.extent import FULL

WITHOUT_STATE = ("sgd", "chain")
MAY_AGREE = ("lion",)
"""Steps by signs, which may be the same without the state of before."""
EVERY_KIND = [
    kind for kind in engine.optim.optimizers.OPTIMIZERS if kind not in engine.optim.optimizers.CLOSURE_OPTIMIZERS
]
KINDS = EVERY_KIND if FULL else ["adam", "adafactor", "chain"]
"""With moments, with factored moments, and a chain of transforms; tests/engine/session has every kind."""
GRAPH = {
    "inputs": {"x": ["batch", 4], "y": ["batch", 2]},
    "parameters": {"w1": [4, 6], "w2": [6, 2]},
    "program": "pred = tanh(x @ w1) @ w2\nloss = mean((pred - y) ** 2)",
}
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((9, 4)), RNG.standard_normal((9, 2))


def steps(session, count):
    """Take steps, each by two calls on rows mixed up in another way; return what they reported."""
    reported = []
    with session.pipeline() as pipeline:
        for number in range(count):
            x, y = np.roll(X, number, 0), np.roll(Y, number, 0)
            reported.append(pipeline.forward_backward(x=x[:5], y=y[:5]))
            reported.append(pipeline.forward_backward(x=x[5:], y=y[5:]))
            reported.append(pipeline.optim_step(lr=0.01 / (1 + number)))
    return [future.result() for future in reported]


def bits(session):
    return {name: array.tobytes() for name, array in session.parameters.load().items()}


@pytest.mark.parametrize("kind", KINDS)
def test_uninterrupted_is_resumed_and_neither_is_a_load_without_optimizer_state(client, kind):
    optimizer = {"kind": kind, **({"transforms": [{"kind": "scale", "step_size": -0.01}]} if kind == "chain" else {})}
    with client.session(GRAPH, optimizer=optimizer) as whole:
        steps(whole, 3)
        saved = whole.save()
        whole.pause()
        whole.resume()
        rest, end = steps(whole, 3), bits(whole)
        assert whole.load(saved) == 3
        assert (steps(whole, 3), bits(whole)) == (rest, end)
        assert whole.load(saved, optimizer=False) == 0
        steps(whole, 3)
        assert kind in MAY_AGREE or (bits(whole) == end) == (kind in WITHOUT_STATE)
    with client.session(checkpoint=saved.id, optimizer=optimizer) as other:
        assert other.info.step in (3, None)
        assert (steps(other, 3), bits(other)) == (rest, end)
    with client.session(checkpoint=saved.id, optimizer=optimizer, restore="parameters") as afresh:
        steps(afresh, 3)
        assert kind in MAY_AGREE or (bits(afresh) == end) == (kind in WITHOUT_STATE)
