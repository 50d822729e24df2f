"""Where NaN comes from: in an input, a parameter, the forward pass, or the backward pass alone."""

import math

import numpy as np
import pytest

import engine
from engine.execution.interpreter import node_runner as bounds

LOGS = {"inputs": {"x": [2, 2]}, "parameters": {"w": [2]}, "program": "a = x * w\nb = log(a)\nloss = sum(b)"}
ONES = [[1.0, 1.0], [1.0, 1.0]]


def traced(document, **request):
    return engine.trace_nonfinite(engine.parse_graph(document), request)


def tensor(data):
    """Write an array as answers have it: JSON has no NaN."""
    array = np.asarray(data)
    flat = array.reshape(-1).tolist()
    named = {str(place): str(number) for place, number in enumerate(flat) if not math.isfinite(number)}
    data = [number if math.isfinite(number) else None for number in flat]
    return {"shape": list(array.shape), "data": data, "nonfinite": named}


def test_nothing_is_named_where_all_is_finite():
    assert traced(LOGS, inputs={"x": ONES}, parameters={"w": [1.0, 2.0]}) is None


def test_a_node_is_named_with_what_it_was_given_and_where_it_went_wrong():
    found = traced(LOGS, inputs={"x": [[1.0, 2.0], [3.0, 0.0]]}, parameters={"w": [-1.0, 2.0]})
    assert (found.name, found.kind, found.phase, found.op) == ("b", "forward", "forward", "log")
    assert (found.nan, found.inf, found.index, found.shape, found.dtype) == (2, 1, (0, 0), (2, 2), "float32")
    assert math.isnan(found.value)
    (operand,) = found.inputs
    assert operand == engine.Operand("a", (2, 2), "float32", min=-3.0, max=4.0, nan=0, inf=0)


def test_a_gradient_is_named_where_only_the_backward_pass_goes_wrong():
    document = {"inputs": {"x": [3]}, "parameters": {"w": [3]}, "program": "loss = sum(sqrt(x * w))"}
    found = traced(document, inputs={"x": [1.0, 1.0, 1.0]}, parameters={"w": [4.0, 0.0, 0.0]})
    assert (found.kind, found.phase, found.inf, found.index, found.value) == ("backward", "backward", 2, (1,), math.inf)
    assert all(operand.nan == operand.inf == 0 for operand in found.inputs)
    assert any(operand.min == 0.0 for operand in found.inputs)


def test_a_parameter_comes_before_every_node():
    found = traced(LOGS, inputs={"x": ONES}, parameters={"w": tensor([1.0, -np.inf])})
    assert (found.name, found.kind, found.phase, found.op) == ("w", "parameter", None, None)
    assert (found.inf, found.index, found.value, found.inputs) == (1, (1,), -math.inf, ())


def test_an_input_comes_before_every_parameter():
    found = traced(LOGS, inputs={"x": tensor([[1.0, 1.0], [np.nan, 1.0]])}, parameters={"w": tensor([np.nan, 1.0])})
    assert (found.name, found.kind, found.nan, found.index) == ("x", "input", 1, (1, 0))


def test_a_buffer_is_named_too():
    document = {
        "inputs": {"x": ["n", 1], "y": ["n", 1]},
        "layers": ["batch_norm"],
        "loss": {"kind": "mse", "target": "y"},
    }
    inputs = {"x": [[1.0], [2.0]], "y": [[0.0], [0.0]]}
    found = traced(document, inputs=inputs, buffers={"batch_norm_0.running_var": tensor([np.nan])})
    assert (found.name, found.kind) == ("batch_norm_0.running_var", "buffer")


def test_the_mode_decides_which_pass_is_gone_through():
    document = {
        "inputs": {"x": ["n", 1], "y": ["n", 1]},
        "layers": [{"layer": "batch_norm", "eps": 0.0}],
        "loss": {"kind": "mse", "target": "y"},
    }
    request = {
        "inputs": {"x": [[1.0], [2.0]], "y": [[0.0], [0.0]]},
        "buffers": {"batch_norm_0.running_var": [0.0]},
    }
    assert traced(document, **request) is None
    assert traced(document, **request, training=False).phase == "forward"


def test_numbers_that_an_op_does_not_take_are_a_fault_of_the_inputs():
    document = {
        "inputs": {"i": {"shape": ["n"], "dtype": "int64"}},
        "parameters": {"t": [3]},
        "program": "y = take(t, i)",
    }
    with pytest.raises(engine.DocumentError, match="index 9") as caught:
        traced(document, inputs={"i": [9]})
    assert caught.value.findings[0].pointer == "/inputs"


def test_too_much_work_is_refused_before_anything_is_computed(monkeypatch):
    monkeypatch.setattr(bounds, "OPERATIONS", 1000)
    with pytest.raises(engine.DocumentError, match="operations"):
        traced(LOGS, inputs={"x": ONES})
    with pytest.raises(engine.DocumentError) as caught:
        traced(LOGS, inputs={"x": ONES}, wants=[])
    assert [(found.pointer, found.code) for found in caught.value.findings] == [("/wants", "unknown_field")]
