"""Batches of consecutive rows are read where they are: the same bits as copied ones, and no copy."""

import numpy as np
import pytest

import engine
from engine.core.errors import EngineError
from engine.core.modes import tracing
from engine.core.value import Value
from engine.execution.native import lowering
from engine.execution.native.executor import NativeExecutor
from engine.execution.native.loop import Blocks, Loop, LoopTables
from engine.execution.native.lowering import address_of
from engine.execution.plan import make_plan
from engine.ops import OPS
from engine.training.step.plans import plan_evaluation
from tests.support.rows import each_row

ROWS, BATCH = 40, 8
IMAGES = [{"layer": "conv2d", "channels": 3, "kernel": 3}, "relu", "flatten", {"layer": "linear", "units": 3}]
TOKENS = {"x": {"shape": ["batch", 5], "dtype": "int64"}, "y": {"shape": ["batch"], "dtype": "int64"}}
STEPS = """
h = tanh(embedding(table, x[:, 1:4]) * 2.0) + mean(embedding(table, x), axis=1, keepdims=True)
loss = cross_entropy(mean(h, axis=1), y)
"""


def labelled(shape, layers):
    inputs = {"x": ["batch", *shape], "y": {"shape": ["batch"], "dtype": "int64"}}
    return {"inputs": inputs, "layers": layers, "loss": "cross_entropy"}


GRAPHS = {
    "vectors": labelled([20], [{"layer": "linear", "units": 3}]),
    "shards": labelled([600], [{"layer": "linear", "units": 600}, {"layer": "linear", "units": 3}]),
    "chains": labelled([3], [*["tanh", "relu", "sigmoid"]]),
    "images": labelled([1, 6, 6], IMAGES),
    "series": labelled([5, 4], [{"layer": "lstm", "units": 6}, "flatten", {"layer": "linear", "units": 3}]),
    "tokens": {"inputs": TOKENS, "parameters": {"table": [7, 3]}, "program": STEPS},
}
CONSECUTIVE = np.arange(ROWS).reshape(-1, BATCH)
SCATTERED = np.random.default_rng(3).permutation(ROWS).reshape(-1, BATCH)
MIXED = np.concatenate([CONSECUTIVE[:2], SCATTERED[:2], CONSECUTIVE[3:], SCATTERED[4:]])
NEARLY = CONSECUTIVE.copy()
NEARLY[[0, 1, 2], [0, 3, BATCH - 1]] = [39, 30, 25]  # one row of a batch is not beside the others


def columns_of(document):
    rng, columns = np.random.default_rng(1), {}
    for name, spec in document["inputs"].items():
        if isinstance(spec, list):
            columns[name] = rng.standard_normal((ROWS, *spec[1:])).astype(np.float32)
        else:
            columns[name] = rng.integers(0, 3, (ROWS, *spec["shape"][1:]))
    return columns


def loop_of(document, columns):
    """Return an executor of the loss and the loop that feeds it; all buffers of inputs hold 0."""
    recipe = engine.read_recipe({"steps": 1, "batch_size": BATCH, "optimizer": {"kind": "sgd"}})
    fit = engine.Fit(engine.parse_graph(document), recipe, columns, execution=engine.Execution("numpy"))
    plan = plan_evaluation(fit.model, {"batch": BATCH}, (), most_shards=2)
    executor = NativeExecutor(plan, fit.model.arrays)
    blocks = {n: Blocks(c, address_of(c), c.strides[0], c.strides[0]) for n, c in columns.items()}
    fed = [name for name in executor.inputs if name not in columns]
    return executor, Loop(executor, executor.whole, LoopTables(blocks, fed, ["loss"]), 16)


def losses_of(document, columns, numbers):
    """Return the loss of each batch, computed one by one on copies."""
    executor, _ = loop_of(document, columns)
    losses = []
    for rows in numbers:
        for name, column in columns.items():
            executor.inputs[name][...] = column[rows]
        executor.run()
        losses.append(executor.outputs["loss"].item())
    return losses


def test_one_of_the_graphs_is_cut_into_shards():
    executor, _ = loop_of(GRAPHS["shards"], columns_of(GRAPHS["shards"]))
    assert executor.plan.shards == 2


@each_row("name", GRAPHS)
def test_bound_and_copied_batches_have_the_same_bits(name, monkeypatch):
    monkeypatch.setattr("engine.execution.native.loop.CACHED", 0)  # rows are fetched ahead
    columns = columns_of(GRAPHS[name])
    for numbers in (CONSECUTIVE, MIXED, NEARLY):
        _, loop = loop_of(GRAPHS[name], columns)
        assert loop.run(numbers) == len(numbers)
        assert loop.logged["loss"][: len(numbers)].tolist() == losses_of(GRAPHS[name], columns, numbers)


@each_row("name", [n for n in GRAPHS if n != "tokens"])
def test_consecutive_rows_are_not_copied(name):
    executor, loop = loop_of(GRAPHS[name], columns_of(GRAPHS[name]))
    loop.run(CONSECUTIVE)
    assert not executor.inputs["x"].any()
    loop.run(SCATTERED)
    assert executor.inputs["x"].any()


def test_a_single_run_afterwards_reads_the_buffer():
    columns = columns_of(GRAPHS["vectors"])
    executor, loop = loop_of(GRAPHS["vectors"], columns)
    loop.run(CONSECUTIVE)
    for name, column in columns.items():
        executor.inputs[name][...] = column[SCATTERED[0]]
    executor.run()
    assert [executor.outputs["loss"].item()] == losses_of(GRAPHS["vectors"], columns, SCATTERED[:1])


def test_rows_that_python_reads_are_copied(monkeypatch):
    monkeypatch.delitem(lowering.LOWERINGS, "tanh")
    columns = columns_of(GRAPHS["chains"])
    executor, loop = loop_of(GRAPHS["chains"], columns)
    assert executor.python_steps == ["tanh"]
    loop.run(CONSECUTIVE)
    assert loop.logged["loss"][: len(CONSECUTIVE)].tolist() == losses_of(GRAPHS["chains"], columns, CONSECUTIVE)


def test_rows_that_are_an_output_are_copied():
    column = np.random.default_rng(1).standard_normal((ROWS, 3)).astype(np.float32)
    x = Value((BATCH, 3), column.dtype, None, name="x")
    with tracing(lambda: pytest.fail("nothing is random")):
        outputs = {"x": x, "y": OPS["tanh"](x)}
    executor = NativeExecutor(make_plan({"x": x}, {}, outputs, {}), {})
    blocks = {"x": Blocks(column, address_of(column), column.strides[0], column.strides[0])}
    loop = Loop(executor, executor.whole, LoopTables(blocks, [], ["x", "y"]), len(CONSECUTIVE))
    loop.run(CONSECUTIVE)
    np.testing.assert_array_equal(loop.logged["x"], column[CONSECUTIVE])


def test_an_index_outside_the_table_is_refused_with_its_value():
    columns = columns_of(GRAPHS["tokens"])
    columns["x"][-1, 2] = 9
    _, loop = loop_of(GRAPHS["tokens"], columns)
    with pytest.raises(EngineError, match="9"):
        loop.run(CONSECUTIVE)
