"""The verbs of a session through the client, held to a session of the engine that is spoken with directly."""

import math

import numpy as np
import pytest

import engine
from adjoint_client import ServerError

RNG = np.random.default_rng(3)
X = RNG.standard_normal((12, 4)).astype(np.float32)
LABELS = RNG.integers(0, 3, 12)
GRAPH = {
    "inputs": {"x": ["batch", 4], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 6, "activation": "relu"}, {"layer": "linear", "units": 3}],
    "loss": "cross_entropy",
}
LOGITS = {
    "inputs": {"x": ["batch", 4]},
    "parameters": {"w": [4, 3], "b": [3]},
    "program": "logits = x @ w + b",
    "outputs": ["logits"],
}
W = "linear_0.weight"


@pytest.fixture
def session(client):
    with client.session(GRAPH, optimizer="adam", lr=0.05, seed=1) as session:
        yield session


@pytest.fixture
def reference():
    return engine.Session(
        engine.parse_graph(GRAPH), {"kind": "adam", "lr": 0.05}, execution=engine.Execution(threads=1), seed=1
    )


def test_a_loop_gives_the_numbers_of_the_engine(session, reference):
    for rate in (0.05, 0.02, np.float32(0.01)):
        session.zero_grad()
        out = session.forward_backward(x=X, label=LABELS, outputs=True)
        step = session.optim_step(lr=rate)
        reference.zero_grad()
        expected = reference.forward_backward({"x": X, "label": LABELS}, outputs=True)
        updated = reference.optim_step(lr=float(rate))
        assert (out.loss, out.grad_norm, out.grad_norms) == (expected.loss, expected.norm, expected.norms)
        assert (step.step, step.grad_norm, step.taken) == (updated.step, updated.norm, True)
        for name, array in expected.outputs.items():
            np.testing.assert_array_equal(out.outputs[name], array)
    assert session.next_seq == 10
    np.testing.assert_array_equal(session.parameters[W], reference.parameters[W])


def test_outputs_come_only_where_they_are_asked_for(session):
    assert session.forward_backward({"x": X, "label": LABELS}).outputs is None


def test_options_reach_the_engine(session, reference):
    out = session.forward_backward({"x": X, "label": LABELS}, reduction="sum", micro_batch_size=5)
    expected = reference.forward_backward({"x": X, "label": LABELS}, reduction="sum", micro_batch_size=5)
    assert out.grad_norms == expected.norms


def test_cotangents_of_the_caller_come_to_the_gradients_of_a_loss(client):
    with client.session(LOGITS, seed=1) as session:
        forward = session.forward(x=X, keep=True)
        logits = forward.outputs["logits"]
        norms = session.backward(forward.tape, {"logits": 2 * logits})
        np.testing.assert_allclose(session.gradients["w"], X.T @ (2 * logits), rtol=1e-5)
        assert norms.grad_norms["w"] == pytest.approx(np.linalg.norm(X.T @ (2 * logits)), rel=1e-5)
        assert session.forward(x=X, training=False).tape is None


def test_a_tape_that_is_gone_is_a_refusal_that_changes_nothing(session):
    with pytest.raises(ServerError) as refused:
        session.backward("tape_7", logits=np.ones((1, 3)))
    assert (refused.value.code, refused.value.expected_seq) == ("tape_gone", 2)
    assert session.forward(x=X, label=LABELS).losses


def test_arrays_are_read_and_written_by_name(session, reference):
    assert list(session.parameters) == list(reference.parameters)
    assert session.gradients[W] is None
    session.gradients[W] = np.full((6, 4), 2, np.float32)
    session.parameters[W] = np.zeros((6, 4))
    np.testing.assert_array_equal(session.gradients[W], np.full((6, 4), 2))
    np.testing.assert_array_equal(session.parameters[W], np.zeros((6, 4)))
    assert set(session.gradients.load()) == {W}
    assert set(session.parameters.load()) == set(reference.parameters)
    (info,) = [info for info in session.gradients.infos() if info.name == W]
    assert (info.shape, info.norm) == ((6, 4), pytest.approx(math.sqrt(4 * 24)))
    del session.gradients[W]
    assert session.gradients[W] is None
    assert session.gradients.statistics(W) is None
    assert (len(session.buffers), "nothing" in session.parameters) == (0, False)


def test_statistics_show_what_is_not_finite(session):
    broken = np.ones((6, 4), np.float32)
    broken[0, :2] = np.nan, np.inf
    session.gradients[W] = broken
    found = session.gradients.statistics(W)
    assert (found.nan_count, found.inf_count, found.min) == (1, 1, 1)
    assert math.isnan(found.norm)


def test_some_arrays_cannot_be_written(session):
    with pytest.raises(TypeError, match="buffers cannot be written"):
        session.buffers["mean"] = np.ones(2)
    with pytest.raises(TypeError, match="parameters cannot be removed"):
        del session.parameters[W]


def test_numbers_that_are_not_finite_come_back_as_they_were(session):
    session.set({W: np.full((6, 4), np.nan)})
    out = session.forward_backward(x=X, label=LABELS)
    assert math.isnan(out.loss)
    assert math.isnan(out.grad_norm)
    assert math.isnan(out.grad_norms[W])


def test_rows_of_a_dataset_are_inputs(client):
    dataset = client.upload({"features": X, "label": LABELS})
    with client.session(GRAPH, seed=1, dataset=dataset, feeds={"x": "features"}) as session:
        part = session.forward_backward(session.rows(slice(2, 5))).loss
        assert session.forward_backward(session.rows(dataset, np.array([2, 3, 4]))).loss == part
        assert session.forward_backward(session.rows([2, 3, 4], feeds={"x": "features"})).loss == part
        assert session.forward_backward(x=X[2:5], label=LABELS[2:5]).loss == part


@pytest.mark.parametrize("which", [slice(5), slice(2, None), slice(0, 4, 2), slice(-3, 2), [0.5], [[1]]])
def test_rows_are_a_plain_range_or_a_list_of_numbers(session, which):
    if which == slice(5):
        assert session.rows(which).reference == {"start": 0, "stop": 5}
        return
    with pytest.raises(ValueError, match="rows"):
        session.rows(which)


def test_rows_and_arrays_do_not_mix(session):
    with pytest.raises(TypeError, match="label"):
        session.forward(session.rows([1]), label=LABELS)


def test_predictions_take_no_place(session, reference):
    logits = reference.predict({"x": X}, chunk=5)
    found = session.predict(x=X, chunk=5)
    assert found.keys() == logits.keys()
    for name, array in logits.items():
        np.testing.assert_array_equal(found[name], array)
    assert session.next_seq == 1


def test_rows_that_spike_are_named(session, reference):
    spiked = X.copy()
    spiked[2], spiked[5] = 50, np.nan
    found = session.row_losses(x=spiked, label=LABELS, top=1)
    np.testing.assert_array_equal(found.losses, reference.losses_by_row({"x": spiked, "label": LABELS}))
    assert found.top == [5]


def test_what_is_first_not_finite_is_named(session):
    assert session.trace_nonfinite(x=X, label=LABELS) is None
    session.set({W: np.full((6, 4), np.nan)})
    assert session.trace_nonfinite(x=X, label=LABELS)["name"] == W


def test_a_step_is_measured_node_by_node(session):
    assert "relu" in {node["op"] for node in session.profile(x=X, label=LABELS)["data"]}


def test_a_checkpoint_is_gone_back_to(session):
    session.forward_backward(x=X, label=LABELS)
    session.optim_step()
    before = session.parameters[W]
    saved = session.save()
    np.testing.assert_array_equal(saved.load()[W], before)
    session.forward_backward(x=X, label=LABELS)
    session.optim_step()
    assert session.load(saved) == 1
    np.testing.assert_array_equal(session.parameters[W], before)
    assert session.load(saved.id, optimizer=False) == 0


def test_a_refusal_names_what_is_wrong(session):
    with pytest.raises(ServerError) as refused:
        session.forward_backward(x=X[:, :3], label=LABELS)
    assert refused.value.status == 422
    assert refused.value.findings[0].pointer == "/inputs/x"
    assert refused.value.expected_seq == 2
    assert session.forward_backward(x=X, label=LABELS).loss > 0


def test_a_session_is_closed_with_its_block(client):
    with client.session(GRAPH) as session:
        assert session.refresh().state == "active"
    assert session.refresh().state == "closed"
    with pytest.raises(ServerError, match="session_closed"):
        session.zero_grad()


def test_a_session_that_is_kept_is_gone_on_with_by_its_id(client):
    with client.session(GRAPH, keep=True, labels={"team": "kept"}) as session:
        session.forward_backward(x=X, label=LABELS)
        session.optim_step()
    (info,) = client.sessions(label="team:kept")
    assert (info.id, info.state, info.labels["team"], info.step) == (session.id, "active", "kept", 1)
    with client.open_session(info.id, keep=False) as again:
        assert again.next_seq == 3
        assert not again.optim_step().taken
    assert not client.sessions(label="team:kept", state="active")


def test_a_paused_session_takes_no_steps(session):
    assert session.pause().state == "paused"
    with pytest.raises(ServerError, match="session_paused"):
        session.zero_grad()
    assert session.resume().state == "active"
    session.zero_grad()


def test_verbs_show_how_they_are_called(session):
    help_of = type(session).forward_backward
    assert "micro_batch_size" in help_of.__doc__
    assert help_of.__name__ == "forward_backward"
