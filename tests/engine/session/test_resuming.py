"""Snapshots of sessions: the same calls give the same bits; without optimizer state they do not."""

from dataclasses import replace

import numpy as np
import pytest

import engine

WITHOUT_STATE = ("sgd", "chain")


def steps(session, batch, count):
    """Take steps, each by two calls on rows mixed up in another way; return what they reported."""
    result = []
    for number in range(count):
        for part in (slice(0, 7), slice(7, 12)):
            inputs = {name: np.roll(array, number)[part] for name, array in batch.items()}
            result.append(session.forward_backward(inputs))
        result.append(session.optim_step(lr=0.01 / (1 + number)))
    return result


@pytest.mark.parametrize("kind", engine.optim.optimizers.OPTIMIZERS)
def test_every_optimizer_goes_on_to_the_same_bits_and_needs_its_state_for_that(kind, matrices, pairs, state, tmp_path):
    whole = matrices(kind)
    steps(whole, pairs, 3)
    whole.snapshot().save(tmp_path / "state.safetensors")
    kept = engine.Checkpoint.load(tmp_path / "state.safetensors")
    rest = steps(whole, pairs, 3)
    resumed, afresh = matrices(kind, seed=5), matrices(kind)
    resumed.restore(kept)
    assert steps(resumed, pairs, 3) == rest
    assert state(resumed) == state(whole)
    afresh.restore(kept, optimizer=False)
    assert afresh.step == 0
    steps(afresh, pairs, 3)
    same = all(np.array_equal(afresh.parameters[name], array) for name, array in whole.parameters.items())
    assert same == (not kept.optimizer)
    assert same == (kind in WITHOUT_STATE)


@pytest.mark.parametrize("executor", engine.executors())
def test_draws_running_statistics_and_half_a_sum_go_on_too(executor, classifier, batch, state, tmp_path):
    whole, part = (
        classifier(execution=engine.Execution(executor), seed=3),
        {name: array[:7] for name, array in batch.items()},
    )
    assert whole.forward(batch).losses != whole.forward(batch).losses
    steps(whole, batch, 2)
    whole.forward_backward(part)
    whole.snapshot().save(tmp_path / "state.safetensors")

    def go_on(session):
        result = [session.forward_backward(part), session.optim_step(), session.forward(batch).losses, session.seed]
        return [*result, *steps(session, batch, 2)]

    rest = go_on(whole)
    resumed = classifier(execution=engine.Execution(executor))
    resumed.restore(engine.Checkpoint.load(tmp_path / "state.safetensors"))
    assert go_on(resumed) == rest
    assert state(resumed) == state(whole)


def test_parameters_that_were_stepped_apart_stay_apart(program, state):
    def start():
        return program("y = a * 1\nz = b * 1", {"a": [1.0, 2.0], "b": [3.0]}, optimizer={"kind": "adam", "lr": 0.1})

    def go_on(session):
        for names in ("b", "ab"):
            for name in names:
                session.set_gradient(name, np.ones(session.parameters[name].shape))
            result = session.optim_step()
        return result

    whole = start()
    whole.set_gradient("a", np.ones(2))
    whole.optim_step()
    kept, resumed = whole.snapshot(), start()
    resumed.restore(kept)
    assert state(resumed) == state(whole)
    assert go_on(resumed) == go_on(whole)
    assert state(resumed) == state(whole)


def test_mixed_precision_goes_on_with_its_scale(matrices, pairs, state):
    whole = matrices(precision="mixed_float16")
    steps(whole, pairs, 2)
    resumed = matrices(precision="mixed_float16")
    resumed.restore(whole.snapshot())
    assert steps(resumed, pairs, 2) == steps(whole, pairs, 2)
    assert state(resumed) == state(whole)


def test_a_fits_checkpoint_is_taken_up_with_its_optimizer_state(matrices, pairs):
    fit = engine.Fit(
        matrices().definition,
        engine.read_recipe({"steps": 3, "batch_size": 12, "shuffle": False, "optimizer": "adam"}),
        pairs,
    )
    fit.advance(2)
    session = matrices("adam", seed=1)
    session.restore(fit.snapshot())
    assert session.step == 2
    session.forward_backward(pairs)
    session.optim_step()
    fit.advance()
    for name, parameter in fit.model.parameters.items():
        np.testing.assert_allclose(session.parameters[name], parameter, rtol=1e-6)


def test_a_snapshot_is_what_predictors_read(classifier, batch):
    session = classifier()
    steps(session, batch, 1)
    predictor = engine.Predictor(session.definition, session.snapshot())
    found = session.predict({"x": batch["x"]}, chunk=5)
    assert found.keys() == predictor.predict({"x": batch["x"]}).keys() != set()
    for name, array in predictor.predict({"x": batch["x"]}, chunk=5).items():
        np.testing.assert_array_equal(found[name], array)
    session.set_parameters({name: np.zeros_like(array) for name, array in session.parameters.items()})
    assert all(not array.any() for array in session.predict({"x": batch["x"]}).values())


def damaged(kept):
    """Yield checkpoints that fit no session of the same graph."""
    result = kept.cursor["session"]
    for entry in ({}, {**result, "passes": -1}, {**result, "apart": {"x": 1}}, {**result, "squares": {"v": "much"}}):
        yield replace(kept, cursor={**kept.cursor, "session": entry})
    yield replace(kept, parameters=dict(list(kept.parameters.items())[1:]))
    yield replace(kept, state={**kept.state, "gradient/v": np.zeros(3)})
    yield replace(kept, meta={"graph": "another"})
    yield replace(kept, optimizer={})


def test_a_checkpoint_that_does_not_fit_changes_nothing(matrices, pairs, state):
    session = matrices()
    steps(session, pairs, 1)
    session.forward_backward(pairs)
    kept, before = session.snapshot(), state(session)
    for bad in damaged(kept):
        with pytest.raises(engine.CheckpointError):
            session.restore(bad)
        assert state(session) == before
