"""Profiles of one step: bytes and operations against those counted by hand, phases, faults."""

import numpy as np
import pytest

import engine
from engine.diagnostics import profiling
from engine.execution.interpreter import node_runner as bounds
from tests.support.rows import each_row

ROWS, WIDTH, UNITS = 16, 8, 4
MATRIX = {
    "inputs": {"x": ["n", WIDTH]},
    "parameters": {"w": [WIDTH, UNITS]},
    "program": "h = x @ w\na = tanh(h)\nloss = mean(a)",
}
AT = {"inputs": {"x": np.ones((ROWS, WIDTH)).tolist()}}
LEAVES = 4 * (ROWS * WIDTH + WIDTH * UNITS)
HIDDEN = 4 * ROWS * UNITS


def profiled(document, request):
    return engine.profile_step(engine.parse_graph(document), request)


def test_bytes_and_operations_are_those_counted_by_hand():
    forward = {timing.name: timing for timing in profiled(MATRIX, AT) if timing.phase == "forward"}
    h, a, loss = forward["h"], forward["a"], forward["loss"]
    assert (h.shape, h.dtype, h.bytes_read, h.bytes_made) == ((ROWS, UNITS), "float32", LEAVES, HIDDEN)
    assert h.operations == 2 * ROWS * WIDTH * UNITS
    assert (a.bytes_read, a.bytes_made, a.operations) == (HIDDEN, HIDDEN, ROWS * UNITS)
    # The key of random draws takes 16 bytes; the backward pass reads a, nothing needs h any more.
    assert h.live_bytes == LEAVES + 16 + HIDDEN
    assert a.live_bytes == LEAVES + 16 + 2 * HIDDEN
    assert loss.live_bytes == LEAVES + 16 + HIDDEN + 4


def test_windows_on_one_block_count_once():
    document = {"inputs": {"x": ["n"]}, "program": "a = exp(x)\nb = reshape(a, shape=[1, -1])\nc = exp(b)"}
    a, b, c = profiled(document, {"inputs": {"x": [0.0] * 100}})
    assert (a.live_bytes, b.live_bytes, c.live_bytes) == (816, 816, 1216)


def test_what_is_held_is_never_more_than_what_is_reserved_for_it():
    definition = engine.parse_graph(MATRIX)
    reader = profiling.Reader()
    runner = profiling.NodeRunner(profiling.read_point(definition, AT, reader, training=True))
    assert max(run.live_bytes for run in runner.run_nodes()) <= runner.peak_bytes + 16
    assert runner.operations == sum(run.operations for run in runner.run_nodes())


@pytest.mark.parametrize("optimizer", ["adam", {"kind": "sgd", "momentum": 0.9}, "adafactor"])
def test_a_profile_has_forward_backward_and_the_update_by_an_optimizer(optimizer):
    timings = profiled(MATRIX, {**AT, "optimizer": optimizer, "repeats": 1})
    phases = [timing.phase for timing in timings]
    assert phases == sorted(phases, key=["forward", "backward", "update"].index)
    assert {*phases} == {"forward", "backward", "update"}
    assert "grad for w" in [timing.name for timing in timings if timing.phase == "backward"]
    assert all(timing.seconds > 0 or timing.op == "reshape" for timing in timings if timing.phase != "update")
    assert all(timing.live_bytes > 0 for timing in timings)


def test_without_a_loss_there_is_only_the_forward_pass():
    document = {"inputs": {"x": ["n"]}, "program": "y = exp(x) * 2.0\nz = y + x"}
    assert {timing.phase for timing in profiled(document, {"inputs": {"x": [1.0, 2.0]}})} == {"forward"}


def test_the_median_of_the_repeats_is_reported(monkeypatch):
    seconds = iter([0.0, 9.0, 0.0, 1.0, 0.0, 2.0])
    monkeypatch.setattr("engine.execution.interpreter.node_runner.time.perf_counter", lambda: next(seconds))
    (timing,) = profiled({"inputs": {"x": []}, "program": "y = exp(x)"}, {"inputs": {"x": 1.0}, "repeats": 3})
    assert timing.seconds == 2.0


FAULTS = {
    "a missing input": ({"inputs": {}}, "/inputs", "missing_field"),
    "an unknown field": ({"repeat": 3}, "/repeat", "unknown_field"),
    "no repeats": ({"repeats": 0}, "/repeats", "out_of_range"),
    "many repeats": ({"repeats": 101}, "/repeats", "out_of_range"),
    "repeats that are none": ({"repeats": "3"}, "/repeats", "attribute_invalid"),
    "a mode": ({"training": True}, "/training", "unknown_field"),
    "an optimizer that there is not": ({"optimizer": "adamm"}, "/optimizer", "unknown_name"),
    "an optimizer that evaluates": ({"optimizer": "lbfgs"}, "/optimizer", "conflict"),
    "an index out of range": ({"inputs": {"x": [[1.0] * 7]}}, "/inputs/x", "shape_mismatch"),
}


@each_row(("more", "pointer", "code"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_request_is_refused_with_its_place(more, pointer, code):
    with pytest.raises(engine.DocumentError) as caught:
        profiled(MATRIX, {**AT, **more})
    assert [(found.pointer, found.code) for found in caught.value.findings] == [(pointer, code)]


@pytest.mark.parametrize(
    ("program", "code"),
    [("y = exp(x) * w", "no_loss"), ("loss = sum(x) + 0.0 * cast(sum(w) > 0.0, dtype='float32')", "nothing_to_train")],
)
def test_there_is_no_update_where_nothing_can_be_trained(program, code):
    document = {"inputs": {"x": [2]}, "parameters": {"w": [2]}, "program": program}
    with pytest.raises(engine.DocumentError) as caught:
        profiled(document, {"inputs": {"x": [1.0, 2.0]}, "optimizer": "sgd"})
    assert [(found.pointer, found.code) for found in caught.value.findings] == [("/optimizer", code)]


def test_an_optimizer_that_does_not_suit_the_parameters_is_refused():
    document = {"inputs": {}, "parameters": {"w": [2]}, "program": "loss = sum(w ** 2)"}
    with pytest.raises(engine.DocumentError, match="matrices only") as caught:
        profiled(document, {"optimizer": "muon"})
    assert caught.value.findings[0].pointer == "/optimizer"


def test_too_much_work_or_memory_is_refused_before_anything_is_computed(monkeypatch):
    document = {"inputs": {"x": ["n"]}, "program": "y = broadcast_to(x, shape=[100000, -1]) * 2.0"}
    with pytest.raises(engine.DocumentError, match="bytes of memory"):
        profiled(document, {"inputs": {"x": [1.0] * 5000}})
    monkeypatch.setattr(bounds, "OPERATIONS", 50_000)
    monkeypatch.setattr("engine.diagnostics.profiling.profile", None)
    with pytest.raises(engine.DocumentError, match="operations") as caught:
        profiled(MATRIX, {**AT, "repeats": 50})
    assert caught.value.findings[0].pointer == "/repeats"
