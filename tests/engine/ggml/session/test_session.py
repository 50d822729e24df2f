"""Static sessions: a posted definition by its names, verbs that change nothing when they fail, putting away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine import (
    Checkpoint,
    ComputeError,
    ComputeManner,
    DocumentError,
    EngineError,
    GradientError,
    GraphError,
    GraphFull,
    LimitError,
    OutOfContextMemory,
    PoolPaused,
    ShapeError,
    StaticOptions,
    StaticSession,
    Status,
    ThreadpoolParams,
    UnknownName,
)
from engine.ggml.session import computing, graphs
from tests.support.rows import each_row

PARABOLA = {
    "inputs": {"a": [1], "b": [1]},
    "parameters": {"x": [1]},
    "nodes": [
        {"name": "x2", "op": "mul", "inputs": ["x", "x"]},
        {"name": "ax2", "op": "mul", "inputs": ["a", "x2"]},
        {"name": "f", "op": "add", "inputs": ["ax2", "b"]},
    ],
    "outputs": ["f"],
}
NETWORK = {
    "inputs": {"x": ["batch", 4], "y": ["batch"]},
    "parameters": {
        "w": {"shape": [4, 3], "init": "normal"},
        "v": {"shape": [3], "init": "normal"},
        "gain": {"shape": [3], "init": "ones"},
        "shift": [3],
    },
    "buffers": {"mean": [3], "var": {"shape": [3], "init": "ones"}},
    "nodes": [
        {"name": "h", "op": "matmul", "inputs": ["x", "w"]},
        {"name": "n", "op": "batch_norm", "inputs": ["h", "gain", "shift", "mean", "var"]},
        {"name": "d", "op": "dropout", "inputs": ["n"], "attrs": {"p": 0.25}},
        {"name": "z", "op": "matmul", "inputs": ["d", "v"]},
        {"name": "e", "op": "sub", "inputs": ["z", "y"]},
        {"name": "q", "op": "square", "inputs": ["e"]},
        {"name": "loss", "op": "mean", "inputs": ["q"]},
    ],
    "losses": ["loss"],
}
ROWS = {"x": np.arange(24.0).reshape(6, 4) / 7, "y": np.arange(6.0)}

Make = Callable[..., StaticSession]


def parabola(*, built: bool = True, **options: Any) -> StaticSession:
    """Make a session over f = a x² + b with x = 2, a = 3, b = 4, forward and backward built if asked for."""
    session = StaticSession(engine.parse_graph(PARABOLA), options=StaticOptions(**options))
    session.tensor_set({"x": 2.0, "a": 3.0, "b": 4.0})
    if built:
        session.build_forward_expand(["f"])
        session.build_backward_expand()
        session.graph_reset()
    return session


def network(**options: Any) -> StaticSession:
    """Make a session over a network with running statistics and dropout, forward and backward built."""
    session = StaticSession(engine.parse_graph(NETWORK), {"batch": 6}, StaticOptions(seed=3, **options))
    session.build_forward_expand(["loss"])
    session.build_backward_expand()
    return session


def again(session: StaticSession, create: Make, path: Path, **options: Any) -> StaticSession:
    """Put a session away in a file, and take it up in another one."""
    session.snapshot().save(path)
    other = create(**options)
    other.restore(Checkpoint.load(path))
    return other


def everything(session: StaticSession) -> str:
    """Return all that can be seen of a session, to the bit."""
    snapshot = session.snapshot()
    tables = {**snapshot.parameters, **snapshot.buffers, **snapshot.state}
    arrays = {name: array.tobytes().hex() for name, array in tables.items()}
    text = [graph.to_text() + graph.to_dot() for graph in session.graphs.values()]
    return json.dumps([arrays, snapshot.cursor, text], sort_keys=True)


def test_the_example_of_the_seed_document_gives_12() -> None:
    session = parabola()
    done = session.graph_compute()
    assert (done.status, done.losses, done.computed) == (Status.SUCCESS, {"f": 16.0}, session.graph().n_nodes)
    assert session.gradient("x") == [12.0]
    assert session.gradient("a") is None
    assert session.graph().implicit_loss


def test_values_are_called_as_in_the_definition() -> None:
    graph = parabola().graph()
    assert [graph.name_of(node) for node in graph.nodes][:4] == ["x", "x2", "ax2", "f"]
    assert [graph.name_of(leaf) for leaf in graph.leafs][:2] == ["a", "b"]
    assert graph.find("grad for x") is graph.grad(graph.node(0))


def test_named_extents_are_bound_by_numbers() -> None:
    session = network()
    assert session.value("d").shape == (6, 3)
    assert session.value("loss").shape == ()


@each_row(
    ("dims", "pointer"),
    [
        ({}, "/dims"),
        ({"batch": -1}, "/dims/batch"),
        ({"batch": 6, "rows": 2}, "/dims/rows"),
        ({"batch": 1.5}, "/dims/batch"),
    ],
)
def test_extents_that_do_not_suit_are_pointed_at(dims: Any, pointer: str) -> None:
    with pytest.raises(DocumentError) as refused:
        StaticSession(engine.parse_graph(NETWORK), dims)
    assert [finding.pointer for finding in refused.value.findings] == [pointer]


def test_parameters_begin_as_the_definition_says_and_inputs_are_to_be_set() -> None:
    session = network()
    assert session.tensor("w").std() > 0
    assert session.tensor("var").tolist() == [1.0] * 3
    with pytest.raises(GraphError, match="x has no data"):
        session.graph_compute()


def test_running_statistics_move_with_each_complete_computation() -> None:
    session = network()
    session.graph_compute(ROWS, abort_after="loss")
    assert session.tensor("mean").tolist() == [0.0] * 3
    session.graph_compute(ROWS)
    moved = session.tensor("mean")
    assert np.all(moved != 0)
    session.graph_compute(ROWS)
    assert np.all(np.abs(session.tensor("mean")) > np.abs(moved))


def test_dropout_draws_again_with_each_computation_and_the_same_for_one_seed() -> None:
    drawn = []
    for _ in range(2):
        session = network()
        for _ in range(2):
            session.graph_compute(ROWS)
            drawn.append((session.tensor("d") == 0).tolist())
    assert drawn[0] != drawn[1]
    assert drawn[:2] == drawn[2:]


def test_losses_that_are_declared_are_marked_in_every_graph() -> None:
    session = network()
    session.new_graph("other", grads=True)
    session.build_forward_expand(["loss", "z"], "other")
    session.build_backward_expand(graph="other")
    session.graph_clear()
    session.build_forward_expand(["loss"])
    session.build_backward_expand()
    for graph in session.graphs.values():
        assert [graph.name_of(loss) for loss in graph.losses] == ["loss"]
        assert not graph.implicit_loss


# Whatever fails changes nothing

REFUSED: dict[str, tuple[type[EngineError], Callable[[StaticSession], object]]] = {
    "unknown graph": (UnknownName, lambda s: s.build_forward_expand(["f"], "gf")),
    "unknown output": (UnknownName, lambda s: s.build_forward_expand(["x2", "g"])),
    "unknown tensor": (UnknownName, lambda s: s.tensor_set({"x": 1.0, "g": 1.0})),
    "one shape of two": (ShapeError, lambda s: s.tensor_set({"x": 1.0, "a": [1.0, 2.0]})),
    "no leaf": (GraphError, lambda s: s.tensor_set({"x": 1.0, "f": 1.0})),
    "no sum": (GradientError, lambda s: s.tensor_set({"x": 1.0}, {"a": 1.0})),
    "index": (ShapeError, lambda s: s.tensor_set({"x": 1.0}, elements=[engine.ElementWrite("x", 1, 1.0)])),
    "inputs of a computation": (ShapeError, lambda s: s.graph_compute({"x": 9.0, "a": [1.0, 2.0]})),
    "node to abort after": (UnknownName, lambda s: s.graph_compute({"x": 9.0}, abort_after="g")),
    "position to abort after": (UnknownName, lambda s: s.graph_compute({"x": 9.0}, abort_after=99)),
    "work buffer": (GraphError, lambda s: s.graph_compute({"x": 9.0}, manner=ComputeManner(work_size=8))),
    "paused pool": (PoolPaused, lambda s: s.graph_compute({"x": 9.0})),
    "wrong number of accumulators": (ShapeError, lambda s: s.build_backward_expand([None, None])),
    "shape of an accumulator": (ShapeError, lambda s: s.build_backward_expand({"x": [1.0, 2.0]})),
    "accumulator where nothing flows": (GradientError, lambda s: s.build_backward_expand({"a": 0.0})),
    "result as parameter": (GraphError, lambda s: s.set_param(["a", "f"])),
    "view of nothing": (UnknownName, lambda s: s.graph_view("v", start=0, stop=99)),
    "name": (EngineError, lambda s: s.set_name("f", "n" * 64)),
    "momenta": (GraphError, lambda s: s.graph_reset(momenta=True)),
    "gradient of no parameter": (UnknownName, lambda s: s.opt_step("sgd", [0.1, 0.0], ["a"])),
    "numbers of a step": (ShapeError, lambda s: s.opt_step("adamw", [0.1, 0.0])),
    "branch": (GraphError, lambda s: s.build_forward_select(["x2", "f"], 2)),
}  # fmt: skip


@each_row("case", REFUSED)
def test_what_is_refused_changes_nothing(case: str) -> None:
    session = parabola(mem_size=2**20, threadpool=ThreadpoolParams(2, paused=True))
    session.graph_compute(manner=ComputeManner(auto_resume=True))
    session.threadpool.required().pause()
    before = everything(session)
    error, attempt = REFUSED[case]
    with pytest.raises(error):
        attempt(session)
    session.context.used_mem = int(json.loads(before)[1]["static"]["used_mem"])
    assert everything(session) == before


def test_a_graph_that_is_full_stays_as_it_was() -> None:
    session = parabola(built=False, size=8)
    session.build_forward_expand(["f"])
    text = session.graph().to_text()
    with pytest.raises(GraphFull):
        session.build_backward_expand()
    assert session.graph().to_text() == text


def test_a_second_backward_pass_that_fails_leaves_the_first() -> None:
    session = parabola()
    session.graph_compute()
    with pytest.raises(GradientError):
        session.build_backward_expand({"b": 0.0})
    session.graph_compute()
    assert session.gradient("x") == [24.0]


def test_a_computation_that_breaks_off_leaves_sums_and_inputs_alone() -> None:
    document = {
        "inputs": {"m": {"shape": [2, 2], "dtype": "float64"}},
        "parameters": {"w": {"shape": [2, 2], "dtype": "float64", "init": "ones"}},
        "nodes": [
            {"name": "i", "op": "inv", "inputs": ["m"]},
            {"name": "p", "op": "mul", "inputs": ["w", "w"]},
            {"name": "r", "op": "mul", "inputs": ["p", "i"]},
            {"name": "loss", "op": "sum", "inputs": ["r"]},
        ],
        "losses": ["loss"],
    }
    session = StaticSession(engine.parse_graph(document))
    session.build_forward_expand(["loss"])
    session.build_backward_expand()
    session.graph_compute({"m": np.eye(2)})
    kept = session.gradient("w")
    with pytest.raises(ComputeError, match="singular"):
        session.graph_compute({"m": np.zeros((2, 2))})
    assert np.array_equal(session.gradient("w"), kept)
    assert np.array_equal(session.tensor("m"), np.eye(2))
    with pytest.raises(GraphError, match="has not been computed"):
        session.tensor("r")


def test_there_are_limits_on_graphs_and_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    session = parabola(built=False)
    for number in range(15):
        session.new_graph(f"g{number}", size=4)
    with pytest.raises(LimitError, match="16 graphs"):
        session.new_graph("g15", size=4)
    monkeypatch.setattr(graphs, "MOST_CHANGES", 16)
    with pytest.raises(LimitError, match="changed 16 times"):
        session.set_loss(["f"])
    session.graph_free("g0")
    session.set_loss(["f"])


def test_a_graph_that_is_built_over_and_over_is_reported_in_few_changes() -> None:
    session = parabola()
    for _ in range(20):
        session.graph_clear()
        session.build_forward_expand(["f"])
        session.build_backward_expand()
    assert len(session.snapshot().cursor["static"]["structure"]["changes"]) == 3


def test_a_graph_that_is_made_under_a_known_name_takes_the_place_of_the_other() -> None:
    session = network()
    for _ in range(2):
        session.graph_dup("copy", force_grads=True)
        session.build_backward_expand(None, "copy")
        session.graph_compute(ROWS, "copy")
        session.new_graph("empty", size=8)
        assert (session.graph("empty").n_nodes, session.held_gradient("w", "copy") is None) == (0, False)


# Putting away


def flow(session: StaticSession) -> None:
    """Do a bit of everything that leaves a trace."""
    session.graph_compute(ROWS)
    session.graph_dup("gb", force_grads=True)
    session.graph_view("first", stop=3, start=0)
    session.build_backward_expand({"w": np.full((4, 3), 0.5), "loss": 0.25}, "gb")
    session.opt_step("adamw", [0.1, 0.9, 0.999, 1e-8, 0.0, 10.0, 1000.0], graph="gb")
    session.set_name("z", "prediction", "gb")
    session.graph_compute({"y": ROWS["y"] + 1}, "gb", manner=ComputeManner(with_ctx=True))
    session.graph_compute(graph="gb", abort_after="e")
    session.new_graph("kept", size=32, grads=True)
    session.build_forward_expand(["h"], "kept")
    session.graph_dup("copy", "kept")
    session.graph_clear("kept")
    session.build_forward_select(["n", "z"], 1, "kept")
    session.graph_compute(graph="kept")


@pytest.mark.parametrize("mem_size", [None, 2**20])
def test_a_session_that_was_put_away_goes_on_to_the_same_bits(mem_size: int | None, tmp_path: Path) -> None:
    def create() -> StaticSession:
        return StaticSession(engine.parse_graph(NETWORK), {"batch": 6}, StaticOptions(seed=3, mem_size=mem_size))

    session = network(mem_size=mem_size)
    flow(session)
    other = again(session, create, tmp_path / "snapshot")
    assert everything(other) == everything(session)
    for one in (session, other):
        one.graph_reset("gb", momenta=True)
        one.graph_compute(graph="gb", abort_after="q")
        one.graph_compute(graph="gb", manner=ComputeManner(with_ctx=True, n_threads=2))
        one.graph_compute(ROWS)
        one.graph_compute(graph="first")
        one.build_forward_expand(["loss"], "copy")
        one.graph_compute(graph="copy")
    assert everything(other) == everything(session)


def test_nodes_behind_an_abort_are_untouched_also_after_the_session_was_put_away(tmp_path: Path) -> None:
    session = parabola()
    session.graph_compute()
    other = again(session, lambda: StaticSession(engine.parse_graph(PARABOLA)), tmp_path / "snapshot")
    for one in (session, other):
        done = one.graph_compute({"a": 5.0}, abort_after="ax2")
        assert (done.status, done.computed, done.losses) == (Status.ABORTED, 3, {})
        assert (one.tensor("ax2"), one.tensor("f"), one.gradient("x")) == ([20.0], [16.0], [12.0])


def test_a_pool_is_made_again_as_it_was(tmp_path: Path) -> None:
    session = parabola(threadpool=ThreadpoolParams(2, poll=7))
    session.threadpool.required().pause()
    other = again(session, lambda: StaticSession(engine.parse_graph(PARABOLA)), tmp_path / "snapshot")
    assert other.threadpool.describe() == session.threadpool.describe()
    assert other.threadpool.required().paused
    for one in (session, other):
        one.close()


def test_what_was_put_away_fits_its_own_graph_only(tmp_path: Path) -> None:
    parabola().snapshot().save(tmp_path / "snapshot")
    with pytest.raises(engine.CheckpointError, match="another graph"):
        network().restore(Checkpoint.load(tmp_path / "snapshot"))


def test_what_was_put_away_and_is_damaged_is_refused() -> None:
    snapshot = parabola().snapshot()
    del snapshot.cursor["static"]["structure"]["numbers"]
    with pytest.raises(engine.CheckpointError, match="is damaged"):
        parabola(built=False).restore(snapshot)


def test_the_context_is_charged_for_leaves_and_graphs() -> None:
    with pytest.raises(OutOfContextMemory):
        StaticSession(
            engine.parse_graph({**PARABOLA, "inputs": {"a": [1024], "b": [1]}}), options=StaticOptions(mem_size=1024)
        )
    small, large = (
        StaticSession(
            engine.parse_graph({**PARABOLA, "inputs": {"a": [n], "b": [1]}}), options=StaticOptions(mem_size=2**20)
        )
        for n in (4, 1028)
    )
    assert large.context.used_mem - small.context.used_mem == 4096
    free = StaticSession(engine.parse_graph(PARABOLA), options=StaticOptions(mem_size=2**20, no_alloc=True))
    assert free.context.used_mem < small.context.used_mem


def test_threads_beyond_the_machine_are_cut_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computing, "usable_cores", lambda: 2)
    session = parabola(threadpool=ThreadpoolParams(6))
    described = session.threadpool.describe() or {}
    assert (described["n_threads"], described["warnings"]) == (
        4,
        ["6 threads requested; this machine allows 4, which are used"],
    )
    assert "6 threads requested; the pool has 4" in session.graph_compute(manner=ComputeManner(n_threads=6)).warnings[0]
    session.threadpool.free()
    assert session.graph_compute(manner=ComputeManner(n_threads=0)).warnings == ()
    assert session.graph_compute(manner=ComputeManner(n_threads=5)).warnings
    assert session.plan().n_threads == 4


def test_a_step_of_the_optimizer_moves_parameters_with_each_complete_computation() -> None:
    session = parabola()
    session.opt_step("sgd", [0.1, 0.0])
    session.graph_compute()
    assert session.tensor("x") == pytest.approx(2 - 0.1 * 12)
    session.graph_compute(abort_after=-1)
    assert session.tensor("x") == pytest.approx(2 - 0.1 * 12)


def test_constants_inside_the_graph_are_as_they_were_after_a_failure_and_when_put_away(tmp_path: Path) -> None:
    document = {"parameters": {"x": []}, "program": "y = x * 2.0 + 3.0\nloss = y * y"}

    def create() -> StaticSession:
        return StaticSession(engine.parse_graph(document), options=StaticOptions(mem_size=2**20))

    session = create()
    session.build_forward_expand(["loss"])
    constant = next(leaf for leaf in session.graph().leafs if leaf.data is not None)
    name = session.graph().name_of(constant)
    with pytest.raises(GraphError, match="work buffer"):
        session.graph_compute({name: 9.0}, manner=ComputeManner(work_size=0))
    session.context.mem_size = session.context.used_mem
    with pytest.raises(OutOfContextMemory):
        session.graph_compute({"x": 1.0}, manner=ComputeManner(with_ctx=True))
    session.context.mem_size = 2**20
    session.graph_compute({"x": 1.0})
    other = again(session, create, tmp_path / "snapshot")
    for one in (session, other):
        one.graph_compute({name: 4.0, "x": 5.0})
    assert everything(other) == everything(session)
