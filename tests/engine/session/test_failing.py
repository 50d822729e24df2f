"""A call that fails changes nothing, however late it fails."""

import numpy as np
import pytest

import engine

TABLE = {
    "inputs": {"x": ["n", 4], "at": {"shape": ["n"], "dtype": "int64"}, "y": ["n", 2]},
    "parameters": {"table": [5, 4], "w": [4, 2], "scale": {"shape": [4], "init": "ones"}, "shift": [4]},
    "buffers": {"mean": [4], "variance": {"shape": [4], "init": "ones"}},
    "nodes": [
        {"name": "n", "op": "batch_norm", "inputs": ["x", "scale", "shift", "mean", "variance"]},
        {"name": "d", "op": "dropout", "inputs": ["n:0"], "attrs": {"p": 0.5}},
        {"name": "row", "op": "embedding", "inputs": ["table", "at"]},
        {"name": "h", "op": "add", "inputs": ["d", "row"]},
        {"name": "pred", "op": "matmul", "inputs": ["h", "w"]},
        {"name": "loss", "op": "mse_loss", "inputs": ["pred", "y"]},
    ],
    "outputs": ["pred"],
    "losses": ["loss"],
}


def rows(at):
    """Return as many rows as there are places in the table."""
    count = len(at)
    return {"x": np.arange(4.0 * count).reshape(count, 4), "at": np.array(at), "y": np.ones((count, 2))}


@pytest.fixture(params=engine.executors())
def session(request):
    """Give a session that has taken a step and begun another."""
    session = engine.Session(engine.parse_graph(TABLE), execution=engine.Execution(request.param))
    session.forward_backward(rows([0, 1, 2]))
    session.optim_step()
    session.forward_backward(rows([3, 4]))
    return session


@pytest.mark.parametrize(
    "call", ["forward", "forward_backward", "predict", "losses_by_row", "first_nonfinite", "profile"]
)
def test_an_index_out_of_range_is_an_error_after_which_all_is_as_it_was(session, state, call):
    before = state(session)
    inputs = rows([0, 5, 1])
    if call == "predict":
        del inputs["y"]
    with pytest.raises(engine.EngineError):
        getattr(session, call)(inputs)
    assert state(session) == before


def test_a_failure_in_the_last_part_of_a_batch_undoes_the_parts_before(session, state):
    before = state(session)
    with pytest.raises(engine.EngineError):
        session.forward_backward(rows([0, 1, 2, 3, 4, 9]), reduction="sum", micro_batch_size=2)
    assert state(session) == before
    session.forward_backward(rows([0, 1, 2, 3, 4, 0]), reduction="sum", micro_batch_size=2)
    assert state(session) != before


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"x": np.zeros((2, 3))}, "/inputs/x"),
        ({"x": np.zeros((3, 4))}, "/inputs/at"),
        ({"x": "nothing"}, "/inputs/x"),
        ({"x": [[1.0], [1.0, 2.0]]}, "/inputs/x"),
        ({"at": np.array([0.5, 1.0])}, "/inputs/at"),
        ({"z": np.zeros(2)}, "/inputs/z"),
        ({"y": None}, "/inputs/y"),
    ],
)
def test_inputs_are_checked_before_anything_is_done(session, state, change, pointer):
    before = state(session)
    for call in (session.forward, session.forward_backward):
        with pytest.raises(engine.DocumentError) as error:
            call({**rows([0, 1]), **change})
        assert pointer in {finding.pointer for finding in error.value.findings}
    with pytest.raises(engine.DocumentError, match="'y' is required"):
        session.forward_backward({name: array for name, array in rows([0, 1]).items() if name != "y"})
    assert state(session) == before


@pytest.mark.parametrize(
    ("options", "pointer"),
    [
        ({"reduction": "most"}, "/reduction"),
        ({"micro_batch_size": 0}, "/micro_batch_size"),
        ({"micro_batch_size": 2, "outputs": True}, "/outputs"),
    ],
)
def test_requests_that_cannot_be_met_are_refused(session, state, options, pointer):
    before = state(session)
    with pytest.raises(engine.DocumentError) as error:
        session.forward_backward(rows([0, 1]), **options)
    assert [finding.pointer for finding in error.value.findings] == [pointer]
    assert state(session) == before


def test_parameters_are_set_all_or_none(session, state):
    before = state(session)
    with pytest.raises(engine.DocumentError) as error:
        session.set_parameters({"w": np.ones((4, 2)), "shift": np.ones(3), "W": 1.0, "scale": "ones"})
    assert {finding.pointer for finding in error.value.findings} == {
        "/parameters/shift",
        "/parameters/W",
        "/parameters/scale",
    }
    assert state(session) == before
    session.set_parameters({"w": np.ones((4, 2))})
    np.testing.assert_array_equal(session.parameters["w"], np.ones((4, 2)))


def test_what_a_session_shows_cannot_be_written_to(session):
    session.forward_backward(rows([0, 1]))
    for arrays in (session.parameters, session.gradients, session.buffers):
        assert arrays
        for array in arrays.values():
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def test_a_graph_without_a_loss_says_what_to_call():
    session = engine.Session(
        engine.parse_graph({"inputs": {"x": [2]}, "parameters": {"w": [2]}, "program": "y = x * w"})
    )
    with pytest.raises(engine.DocumentError, match=r"forward\(keep=True\)"):
        session.forward_backward({"x": [1.0, 2.0]})
