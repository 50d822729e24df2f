"""Looking into a session: losses by row, where NaN comes from, what takes the time, arrays in a few numbers."""

import numpy as np
import pytest

import engine


def test_the_row_that_spikes_is_reported(matrices, pairs):
    session = matrices(precision="float64")
    pairs["y"][4] += 100
    losses = session.losses_by_row(pairs)
    expected = ((np.tanh(pairs["x"] @ session.parameters["v"]) @ session.parameters["w"] - pairs["y"]) ** 2).mean(1)
    assert losses.argmax() == 4
    np.testing.assert_allclose(losses, expected, rtol=1e-6)


def test_rows_are_looked_at_in_evaluation_mode(classifier, batch, state):
    session = classifier()
    session.forward(batch)
    before = state(session)
    np.testing.assert_array_equal(session.losses_by_row(batch), session.losses_by_row(batch))
    np.testing.assert_allclose(
        session.losses_by_row(batch).mean(), session.forward(batch, training=False).losses["loss"], rtol=1e-6
    )
    session.restore(session.snapshot())
    assert {**state(session), "cursor": ""} == {**before, "cursor": ""}


@pytest.mark.parametrize(
    ("text", "parameters", "x", "expected"),
    [
        ("a = x * w\nb = log(a)\nloss = sum(b * 0)", {"w": [1.0, 1.0]}, [1.0, 2.0], None),
        ("a = x * w\nb = log(a)\nloss = sum(b * 0)", {"w": [1.0, 1.0]}, [1.0, -2.0], ("b", "forward", "log", 1, 0)),
        ("a = x * w\nb = log(a)\nloss = sum(b * 0)", {"w": [1.0, 1.0]}, [1.0, 0.0], ("b", "forward", "log", 0, 1)),
        ("a = x * w\nloss = sum(a)", {"w": [1.0, 1.0]}, [1.0, np.inf], ("x", "input", None, 0, 1)),
        ("a = x * w\nloss = sum(a)", {"w": [np.nan, 1.0]}, [1.0, 1.0], ("w", "parameter", None, 1, 0)),
    ],
)
def test_the_first_that_is_not_finite_is_named(program, state, text, parameters, x, expected):
    session = program(text, parameters, {"x": [2]})
    before = state(session)
    found = session.first_nonfinite({"x": x})
    assert (None if found is None else (found.name, found.kind, found.op, found.nan, found.inf)) == expected
    assert state(session) == before


def test_a_backward_pass_that_divides_by_zero_is_found_too(program):
    session = program("a = sqrt(x * w)\nloss = sum(a)", {"w": [0.0]}, {"x": [1]})
    found = session.first_nonfinite({"x": [1.0]})
    assert (found.kind, found.inf) == ("backward", 1)


def test_a_profile_has_every_node_of_the_graph_and_the_update(classifier, batch, state):
    session = classifier()
    session.forward_backward(batch)
    before = state(session)
    timings = session.profile(batch)
    assert state(session) == before
    phases = ("forward", "backward", "update")
    of = {phase: [timing.name for timing in timings if timing.phase == phase] for phase in phases}
    nodes = engine.graph_nodes(session.definition, backward=True)
    assert set(of["forward"]) <= {node["name"] for node in nodes if node["kind"] == "forward"}
    assert {"loss", "linear_1"} <= set(of["forward"])
    assert "grad for linear_0.weight" in of["backward"]
    assert of["update"]
    assert [timing.phase for timing in timings] == [phase for phase in phases for _ in of[phase]]
    assert all(timing.seconds >= 0 and timing.bytes_made > 0 for timing in timings)


def test_a_profile_of_several_repeats_changes_nothing_either(classifier, batch, state):
    session = classifier()
    before = state(session)
    once, often = session.profile(batch), session.profile(batch, repeats=3)
    assert [timing.name for timing in once] == [timing.name for timing in often]
    assert [timing.live_bytes for timing in once] == [timing.live_bytes for timing in often]
    assert state(session) == before


def test_without_a_loss_rows_have_none(program):
    session = program("y = exp(x * w)", {"w": 1.0}, {"x": ["n"]})
    with pytest.raises(engine.DocumentError, match="no loss"):
        session.losses_by_row({"x": [1.0]})


def test_a_node_that_is_not_finite_is_reported_with_what_it_was_given(program):
    session = program("a = x * w\nb = log(a)\nloss = sum(b)", {"w": [1.0, 1.0]}, {"x": [2]})
    found = session.first_nonfinite({"x": [1.0, -2.0]})
    assert (found.phase, found.index, found.shape) == ("forward", (1,), (2,))
    assert [(operand.name, operand.min) for operand in found.inputs] == [("a", -2.0)]


def test_statistics_are_those_of_the_array(matrices, pairs):
    session = matrices()
    assert session.statistics("v") is None
    session.forward_backward(pairs)
    assert session.statistics("v") == engine.array_statistics(session.gradients["v"])
    assert session.statistics("v", of="parameters").max == session.parameters["v"].max()
    assert session.statistics("v").norm == pytest.approx(session.norms().norms["v"], rel=1e-6)
    with pytest.raises(engine.DocumentError, match="did you mean"):
        session.statistics("vv")
