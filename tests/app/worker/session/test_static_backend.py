"""The bench of a static session: its verbs, what is put aside of it, and its process when that is killed."""

import gc
import io
import json
import re
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from app.domain.errors import ApiError
from app.domain.runtime import Runtime
from app.service.resources.memory import memory_left
from app.system.durable import Writable
from app.worker.session import static_backend as static_computing
from app.worker.session.backend import Call
from app.worker.session.replies import encode_answer, encode_error
from app.worker.session.static_backend import StaticBackend

from .driver import Lost, Process, SessionHarness, session_assignment

NETWORK = {
    "inputs": {"x": ["batch", 4], "y": ["batch"]},
    "parameters": {"w": {"shape": [4, 3], "init": "normal"}, "v": {"shape": [3], "init": "normal"}},
    "program": "h = dropout(tanh(x @ w), p=0.25)\nloss = mean((h @ v - y) ** 2)",
}
ROWS = {"x": (np.arange(24.0).reshape(6, 4) / 7).tolist(), "y": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}
PARS = [0.1, 0.9, 0.999, 1e-8, 0.0, 10.0, 1000.0]
# Whatever a replay could get wrong: random numbers, sums, moments, results behind an abort, a refused step, copies.
STEPS: list[tuple[str, dict[str, Any]]] = [
    ("build_forward_expand", {"outputs": ["loss"]}),
    ("graph_dup", {"name": "gf"}),
    ("build_backward_expand", {"accumulators": {"v": 0.5}}),
    ("graph_compute", {"inputs": ROWS}),
    ("threadpool_new", {"params": {"n_threads": 2, "poll": 0}}),
    ("graph_compute", {}),
    ("graph_compute", {"inputs": {"y": [1, 2]}}),
    ("opt_step_adamw", {"pars": PARS}),
    ("graph_compute", {"gradients": ["w"]}),
    ("graph_compute", {"abort_after": "h"}),
    ("threadpool_pause", {}),
    ("graph_compute", {"graph": "gf"}),
    ("graph_compute", {"graph": "gf", "auto_resume": True, "with_ctx": True}),
    ("set_name", {"tensor": "h", "name": "hidden"}),
    ("graph_reset", {"grads": False, "momenta": True}),
    ("graph_compute", {}),
]
LOOKS: list[tuple[str, dict[str, Any]]] = [
    *((look, {"graph": graph}) for graph in ("main", "gf") for look in ("graph", "graph_nodes", "graph_print")),
    *(("graph_tensor", {"name": name}) for name in ("w", "v", "h", "loss", "m for w", "opt pars")),
    *(("graph_gradient", {"name": name, "accumulator": True}) for name in ("w", "v", "loss")),
    ("graph_overhead", {}),
    ("threadpool", {}),
]


ASKED = {"dims": {"batch": 6}, "mem_size": 2**20}


def bench(folder: Path) -> StaticBackend:
    """Make a bench."""
    reported = session_assignment(folder, NETWORK, static=ASKED)
    return StaticBackend(reported, Runtime.from_json(reported.runtime))


def no_file(_: Callable[[Writable], None]) -> str:
    raise AssertionError("nothing is handed over here")


def call(created: StaticBackend, verb: str, **options: Any) -> Any:
    """Call a verb; return its answer as a client gets it, or the code of its refusal."""
    found = created.handlers[verb]
    try:
        result = found.run(Call(options, {}, 1, {}, "application/json", no_file))
    except (ApiError, engine.EngineError) as error:
        return encode_error(error)
    return encode_answer(result.document, None, "application/json")[1].decode()


def seen(created: StaticBackend) -> list[Any]:
    return [call(created, verb, **options) for verb, options in LOOKS]


@pytest.mark.parametrize("put_aside_at", [3, 6, 10, 13])
def test_what_was_put_aside_goes_on_with_the_same_answers(put_aside_at: int, tmp_path: Path) -> None:
    created = bench(tmp_path)
    answers = [call(created, verb, **options) for verb, options in STEPS[:put_aside_at]]
    assert all(answers)
    with (tmp_path / "snapshot").open("wb") as file:
        created.snapshot(file)
    other = bench(tmp_path)
    assert set(other.restore(tmp_path / "snapshot")) >= {"numpy"}
    assert seen(other) == seen(created)
    for verb, options in STEPS[put_aside_at:]:
        assert call(other, verb, **options) == call(created, verb, **options), verb
    assert seen(other) == seen(created)


def take_snapshot() -> tracemalloc.Snapshot:
    """Return what `app` and `engine` have allocated and still hold: threads of other tests may allocate as well."""
    gc.collect()  # what no collection has reached yet is not held
    root = Path(engine.__file__).parents[1]
    ours = [tracemalloc.Filter(True, f"{root / folder}/*") for folder in ("app", "engine")]
    return tracemalloc.take_snapshot().filter_traces(ours)


def test_a_thousand_computations_leave_nothing_behind(tmp_path: Path) -> None:
    created = bench(tmp_path)
    for verb, options in STEPS[:4]:
        call(created, verb, **options)
    tracemalloc.start()
    try:
        for _ in range(20):
            call(created, "graph_compute", inputs=ROWS)
        before = take_snapshot()
        for _ in range(200):
            call(created, "graph_compute", inputs=ROWS)
        growth = take_snapshot().compare_to(before, "lineno")
        assert sum(place.size_diff for place in growth) < 20_000, growth[:10]
    finally:
        tracemalloc.stop()


REFUSALS: list[tuple[str, dict[str, Any], int]] = [
    ("build_forward_expand", {"outputs": ["nobody"]}, 422),
    ("build_backward_expand", {}, 422),
    ("graph_compute", {"work_size": 0, "graph": "nobody"}, 422),
    ("graph_view", {"name": "v", "start": 0, "stop": 1}, 422),
    ("threadpool_pause", {}, 409),
    ("graph_tensor", {"name": "h"}, 409),
    ("graph_tensor", {"name": "nobody"}, 404),
    ("graph_node", {"node": "7"}, 404),
    ("graph_gradient", {"name": "nobody"}, 404),
]


@pytest.mark.parametrize(("verb", "options", "status"), REFUSALS)
def test_obstacles_are_distinguished_from_mistakes(
    verb: str, options: dict[str, Any], status: int, tmp_path: Path
) -> None:
    with pytest.raises((ApiError, engine.EngineError)) as refused:
        bench(tmp_path).handlers[verb].run(Call(options, {}, 1, {}, "application/json", no_file))
    assert encode_error(refused.value)["status"] == status


def test_results_beyond_the_memory_there_is_are_refused_with_their_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = {
        "inputs": {"x": ["n"]},
        "program": "y = reshape(x, shape=[-1, 1]) * reshape(x, shape=[1, -1])\nloss = sum(y)",
    }
    reported = session_assignment(tmp_path, outer, static={"dims": {"n": 600}})
    created = StaticBackend(reported, Runtime.from_json(reported.runtime))
    call(created, "build_forward_expand", outputs=["loss"])
    call(created, "tensor_set", tensors={"x": 1.0})
    monkeypatch.setattr(static_computing, "memory_left", lambda: 2**20)
    refused = call(created, "graph_compute")
    assert (refused["code"], refused["compute_status"], refused["status"]) == ("alloc_failed", "ALLOC_FAILED", 422)
    assert re.search(r"for 14\d{5} bytes of results: 1048576 bytes are there", refused["detail"])
    monkeypatch.setattr(static_computing, "memory_left", lambda: 2**30)
    assert json.loads(call(created, "graph_compute"))["losses"] == {}
    monkeypatch.setattr(static_computing, "memory_left", lambda: 0)
    assert json.loads(call(created, "graph_compute"))["status"] == "SUCCESS"


def test_the_memory_that_is_left_is_reported() -> None:
    left = memory_left()
    assert left is None or 0 < left < 2**50


def test_what_is_saved_holds_parameters_that_another_session_begins_with(tmp_path: Path) -> None:
    created, saved = bench(tmp_path), io.BytesIO()

    def hand_over(write: Callable[[Writable], None]) -> str:
        write(saved)
        return "saved-1"

    call(created, "tensor_set", tensors={"v": 7.0})
    result = created.handlers["save"].run(Call({}, {}, 1, {}, "application/json", hand_over))
    assert result.file == "saved-1"
    assert isinstance(result.document, dict)
    assert result.document["size_bytes"] == len(saved.getvalue())
    (tmp_path / "saved").write_bytes(saved.getvalue())
    other = bench(tmp_path)
    other.start_from(tmp_path / "saved", parameters_only=True)
    assert json.loads(call(other, "graph_tensor", name="v"))["data"] == [7.0, 7.0, 7.0]


def taken(process: Process, first: int) -> int:
    """Take the steps from `first` on; return how many have been answered in all, fewer if the process is lost."""
    for number, (verb, options) in enumerate(STEPS[first:], first):
        try:
            process.answer(process.send(verb, id=f"s{number}", seq=number + 1, **options))
        except Lost:
            return number
    return len(STEPS)


def looked(process: Process) -> list[Any]:
    return [process.answer(process.send(verb, **options))[1] for verb, options in LOOKS]


@pytest.mark.parametrize("kill_at_op", [4, 11, 18])
def test_a_process_that_is_killed_is_followed_by_one_with_the_same_bits(
    kill_at_op: int, session: Callable[..., SessionHarness]
) -> None:
    expected = None
    for killed in (None, kill_at_op):
        harness = session(NETWORK, static=ASKED)
        harness.assignment = replace(harness.assignment, kind="static")
        process, done = harness.start(kill_at_op=killed), 0
        while done < len(STEPS):
            done = taken(process, done)
            if done < len(STEPS):
                process = harness.open()
        if killed is not None:
            process.kill()
            process = harness.open()
        expected, found = expected or looked(process), looked(process)
        assert found == expected
