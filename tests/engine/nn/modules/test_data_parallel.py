"""Replicas that step by their mean gradient do what one model does on the mean of their samples."""

import numpy as np
import pytest

import engine
from engine import ops
from engine.core.errors import AttributeValueError, DataError

SAMPLES = [(np.sin(np.arange(4.0) + k), np.array([np.cos(k), np.sin(k)])) for k in range(6)]


def make_model(seed=3, *more):
    return engine.Sequential(
        ("linear", {"units": 5, "activation": "tanh"}), *more, ("linear", {"units": 2}),
        inputs=(4,), seed=seed, dtype="float64",
    )  # fmt: skip


def loss_fn(output, target):
    return ops.mse_loss(output, engine.tensor(target[None]))


def train(make=make_model, **options):
    return engine.dp_train(
        make,
        SAMPLES,
        loss_fn,
        **{
            "forward_fn": lambda model, sample: model(sample[0][None]),
            "target_fn": lambda sample: sample[1],
            "replicas": 4,
            "iterations": 8,
            "lr": 0.05,
            "max_norm": 0.5,
            **options,
        },
    )


def test_four_replicas_equal_one_on_the_mean_of_the_same_samples():
    model = make_model()
    optimizer = engine.TapeOptimizer(model.parameters(), "adam", lr=0.05)
    history = []
    for iteration in range(8):
        batch = [SAMPLES[(iteration * 4 + replica) % 6] for replica in range(4)]
        loss = sum((loss_fn(model(x[None]), y) for x, y in batch), engine.tensor(np.zeros(()))) * 0.25
        history.append(loss.item())
        gradients = engine.gradients_by_name(loss)
        engine.clip_gradients(gradients, 0.5)
        optimizer.step(gradients)
        optimizer.zero_grad()
    trained = train()
    np.testing.assert_allclose(trained.loss_history, history, rtol=1e-12)
    for name, leaf in model.parameters().items():
        np.testing.assert_allclose(trained.parameters[name].numpy(), leaf.numpy(), rtol=1e-12, atol=1e-12)


def test_replicas_start_from_the_first_and_stay_equal():
    created = []

    def make():
        created.append(make_model(seed=len(created)))
        return created[-1]

    seen = []
    trained = train(make, on_iteration=lambda number, loss: seen.append((number, loss)))
    assert trained.model is created[0]
    for other in created[1:]:
        for name, leaf in trained.parameters.items():
            np.testing.assert_array_equal(other.parameters()[name].numpy(), leaf.numpy())
    assert seen == list(enumerate(trained.loss_history, 1))


def test_draws_depend_on_the_seed_alone():
    def make():
        return make_model(3, ("dropout", {"p": 0.5}))

    first, second, other = (train(make, seed=seed).loss_history for seed in (1, 1, 2))
    assert first == second != other


def test_a_default_dtype_reaches_the_replicas():
    before = engine.set_default_dtype("float64")
    try:
        seen = []
        train(target_fn=lambda sample: seen.append(engine.tensor([1.0]).dtype) or sample[1], iterations=1)
        assert set(seen) == {np.dtype("float64")}
    finally:
        engine.set_default_dtype(before)


def test_faulty_settings_are_refused():
    with pytest.raises(AttributeValueError, match="replicas"):
        train(replicas=0)
    with pytest.raises(DataError, match="at least one sample"):
        engine.dp_train(make_model, [], loss_fn)
