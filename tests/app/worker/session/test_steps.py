"""The order of steps: places, gaps, repeats, keys, batches, and what is accepted before it is done."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from app.domain.frames import Step
from app.worker.session import steps as waiting
from app.worker.session.steps import ReorderBuffer

from .driver import LINE, MLP, Process, SessionHarness, batch

Make = Callable[..., SessionHarness]
TWO = {"x": [[1.0, 2.0], [3.0, 4.0]]}


@pytest.fixture
def process(session: Make) -> Process:
    return session(LINE, {"kind": "sgd", "lr": 0.1}).open()


def test_steps_are_carried_out_in_the_order_of_their_places(process: Process) -> None:
    late = [process.send("set_parameter", name="w", value=[float(seq), 0.0], seq=seq) for seq in (4, 2, 3)]
    first = process.send("set_parameter", name="w", value=[1.0, 0.0], seq=1)
    heads = [process.answer(id)[0] for id in (first, *late)]
    assert [head.seq for head in heads] == [1, 4, 2, 3]
    assert process.order == [first, late[1], late[2], late[0]]
    assert process.do("parameters", name="w")["data"] == [4.0, 0.0]


def test_a_step_without_a_place_takes_the_next_one(process: Process) -> None:
    ahead = process.send("zero_grad", seq=2)
    assert process.do("zero_grad")["seq"] == 1
    assert process.answer(ahead)[0].seq == 2
    assert process.do("forward_backward", inputs=TWO)["seq"] == 3
    assert process.do("gradients")["seq"] is None


def test_a_repeated_step_gets_the_first_answer_and_changes_nothing(process: Process) -> None:
    first = process.answer(process.send("forward_backward", inputs=TWO, seq=1))
    bits = process.parameters()
    again = process.answer(process.send("forward_backward", inputs=TWO, seq=1))
    assert (again[0].replayed, again[0].seq, again[1]) == (True, 1, first[1])
    assert process.parameters() == bits


def test_another_step_in_a_taken_place_is_refused(process: Process) -> None:
    process.do("forward_backward", inputs=TWO, seq=1)
    error = process.refused("zero_grad", seq=1)
    assert (error["status"], error["code"], error["expected_seq"]) == (409, "seq_used", 2)
    error = process.refused("forward_backward", {"x": np.zeros((1, 2))}, seq=1)
    assert error["code"] == "seq_used"


def test_a_request_or_a_key_that_comes_again_is_answered_as_before(process: Process) -> None:
    result = process.do("forward_backward", inputs=TWO, id="same", key="k")
    assert process.do("forward_backward", inputs=TWO, id="same") == result
    assert process.do("forward_backward", inputs=TWO, key="k") == result
    error = process.refused("zero_grad", key="k")
    assert (error["status"], error["code"]) == (422, "idempotency_key_reused")
    assert process.do("gradients")["data"][0]["norm"] == result["grad_norm"]


def test_a_failed_step_takes_its_place_and_is_answered_alike_again(process: Process) -> None:
    error = process.refused("forward_backward", inputs={"x": [[1.0]]}, seq=1)
    again = process.answer(process.send("forward_backward", inputs={"x": [[1.0]]}, seq=1))[0]
    assert (again.replayed, again.error) == (True, error)
    assert process.do("zero_grad", seq=2)["seq"] == 2


def test_no_more_than_so_many_steps_wait_for_others(process: Process) -> None:
    ahead = [process.send("zero_grad", seq=seq) for seq in range(2, waiting.MAX_EARLY_STEPS + 2)]
    error = process.refused("zero_grad", seq=waiting.MAX_EARLY_STEPS + 2)
    assert (error["status"], error["code"], error["expected_seq"]) == (409, "sequence_gap", 1)
    process.do("zero_grad", seq=1)
    assert [process.answer(id)[0].seq for id in ahead] == list(range(2, waiting.MAX_EARLY_STEPS + 2))


def test_a_step_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(waiting.time, "monotonic", lambda: now)
    ahead = ReorderBuffer()
    ahead.add(3, Step("a", "zero_grad", {}, 3), b"")
    now = 4.0
    ahead.add(3, Step("b", "zero_grad", {}, 3), b"")
    assert ahead.seconds_left() == waiting.REORDER_SECONDS - 4.0
    now = waiting.REORDER_SECONDS + 1.0
    assert [step.id for step, _ in ahead.overdue()] == ["a"]
    assert [step.id for step, _ in ahead.ready(3)] == ["b"]
    assert ahead.seconds_left() is None


def test_an_answer_that_is_not_kept_any_more_is_not_made_up(process: Process) -> None:
    steps = [{"verb": "zero_grad"}] * 1024
    process.do("zero_grad", seq=1)
    process.do("batch", steps=steps)
    error = process.refused("zero_grad", seq=1)
    assert (error["status"], error["code"], error["expected_seq"]) == (409, "answer_forgotten", 1026)
    assert process.refused("operation", seq=1)["code"] == "answer_forgotten"


def test_an_operation_is_asked_for_by_its_place(process: Process) -> None:
    id = process.send("forward_backward", inputs=TWO, notify=True)
    _, body = process.answer(id)
    assert process.accepted == {id: 1}
    again = process.answer(process.send("operation", seq=1))
    assert (again[0].seq, again[0].replayed, again[1]) == (1, True, body)
    error = process.refused("operation", seq=2)
    assert (error["status"], error["code"], error["expected_seq"]) == (404, "not_carried_out", 2)


def entries(result: dict[str, Any]) -> list[tuple[int | None, int]]:
    return [(entry["seq"], entry["status"]) for entry in result["data"]]


def test_a_batch_takes_a_place_for_each_step(process: Process) -> None:
    steps = [{"verb": "forward_backward", "inputs": TWO}, {"verb": "optim_step", "seq": 2}, {"verb": "parameters"}]
    result = process.do("batch", steps=steps)
    assert entries(result) == [(1, 200), (2, 200), (None, 200)]
    assert result["data"][1]["answer"]["step"] == 1
    again = process.do("batch", steps=[{"seq": 1, **steps[0]}, steps[1], {"verb": "zero_grad", "seq": 1}])
    assert again["data"][:2] == result["data"][:2]
    assert (again["data"][2]["status"], again["data"][2]["error"]["code"]) == (409, "seq_used")


def test_a_batch_stops_at_an_error_unless_it_should_not(process: Process) -> None:
    bad = {"verb": "forward_backward", "inputs": {"x": [[1.0]]}}
    result = process.do("batch", steps=[{"verb": "zero_grad"}, bad, {"verb": "zero_grad"}])
    assert entries(result) == [(1, 200), (2, 422), (None, 424)]
    assert result["data"][1]["error"]["errors"][0]["pointer"] == "/steps/1/inputs/x"
    assert result["data"][2]["error"]["code"] == "not_carried_out"
    assert result["data"][2]["error"]["expected_seq"] == 3
    result = process.do("batch", steps=[bad, {"verb": "zero_grad"}], stop_on_error=False)
    assert entries(result) == [(3, 422), (4, 200)]


def test_a_batch_waits_for_its_turn_and_leaves_no_gap(process: Process) -> None:
    ahead = process.send("batch", steps=[{"verb": "zero_grad", "seq": 2}, {"verb": "zero_grad", "seq": 5}])
    process.do("zero_grad", seq=1)
    head, body = process.answer(ahead)
    assert head.error is None
    assert b'"sequence_gap"' in body


def test_a_batch_comes_in_binary_too(session: Make) -> None:
    process, single = session(MLP).open(), session(MLP).open()
    arrays = {f"{place}/{name}": array for place in (0, 2) for name, array in batch(place).items()}
    steps = [{"verb": "forward_backward"}, {"verb": "optim_step"}, {"verb": "forward_backward"}]
    assert entries(process.do("batch", arrays, steps=steps)) == [(1, 200), (2, 200), (3, 200)]
    for place, step in enumerate(steps):
        single.do(step["verb"], None if place == 1 else batch(place))
    assert process.parameters() == single.parameters()
    error = process.refused("batch", {"7/x": np.zeros(1)}, steps=steps)
    assert (error["status"], error["code"]) == (422, "unknown_name")


@pytest.mark.parametrize("verb", ["save", "load", "batch"])
def test_what_needs_files_is_not_taken_in_a_batch(process: Process, verb: str) -> None:
    result = process.do("batch", steps=[{"verb": verb}])
    assert result["data"][0]["error"]["code"] == "not_in_batch"
