"""What ops declare: a new op needs nothing outside its declaration, and no other module names an op."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.autograd.vmap import vmap
from engine.core.dtypes import FLOAT16, FLOAT32
from engine.core.registry import OPS, Op
from engine.core.value import Value, tensor
from engine.execution.native.executor import NativeExecutor
from engine.execution.plan import NumpyExecutor, make_plan, sharding
from engine.execution.plan.verifier import verify_plan
from engine.graph.trace import KEY, build

ROOT = Path(__file__).parents[3]
OP_NAME = re.compile(r"(\bop|\blookup\(.*\))\.name$|\.op$")
"""Expressions that stand for the name of an op: `op.name`, `node.op.name`, `lookup(...).name`, and `node.op` of a
definition."""
NEEDED = re.compile(r"\bop\.name\b|\blookup\(|\.op\b|\bengine\.ops\b")
"""Text that a module has if it has such an expression, or imports an op."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / "engine").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(("engine/ops/", "engine/execution/native/")):
            continue
        text = path.read_text(encoding="utf-8")
        if NEEDED.search(text):
            yield name, ast.parse(text)


def names_of_ops(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value in OPS for n in ast.walk(node))


def imported_ops(tree: ast.Module) -> set[str]:
    """Return the names under which a module imports ops."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("engine.ops")
        for alias in node.names
        if alias.name in OPS
    }


def test_no_module_outside_ops_and_lowerings_names_an_op() -> None:
    found: list[str] = []
    for path, tree in modules():
        ops = imported_ops(tree)
        tables = {
            target.id
            for statement in tree.body
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None
            for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
            if isinstance(target, ast.Name) and names_of_ops(statement.value)
        }
        for node in ast.walk(tree):
            sides: list[ast.expr] = []
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                if any(isinstance(name, ast.Name) and name.id in ops for name in ast.walk(node)) and any(
                    isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn) for operator in node.ops
                ):
                    found.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
            elif isinstance(node, ast.Subscript):
                sides = [node.value, node.slice]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
                sides = [node.func.value, *node.args]
            named = any(names_of_ops(side) or (isinstance(side, ast.Name) and side.id in tables) for side in sides)
            if named and any(OP_NAME.search(ast.unparse(side)) for side in sides):  # to unparse all takes seconds
                found.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    assert not found, "declare it on the op instead:\n" + "\n".join(found)


@pytest.fixture
def center() -> Iterator[Op[Any]]:
    """The op of docs/add-an-op.md, declared by running the page's example."""
    page = (ROOT / "docs" / "add-an-op.md").read_text(encoding="utf-8")
    before = dict(OPS)
    scope: dict[str, Any] = {"__name__": __name__}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], scope)
    try:
        yield scope["center"]
    finally:
        for name in OPS.keys() - before.keys():
            del OPS[name]


ROWS, COLUMNS = 8, 4
GRAPH = {
    "inputs": {"x": {"shape": ["batch", COLUMNS]}},
    "parameters": {"w": {"shape": [COLUMNS, COLUMNS]}},
    "nodes": [
        {"name": "made", "op": "matmul", "inputs": ["x", "w"]},
        {"name": "centered", "op": "center", "inputs": ["made"]},
        {"name": "loss", "op": "mean", "inputs": ["squared"]},
    ],
    "outputs": ["centered"],
    "losses": ["loss"],
}
GRAPH["nodes"].insert(2, {"name": "squared", "op": "square", "inputs": ["centered"]})  # type: ignore[attr-defined]  # a list of nodes


def expected(x: Any, w: Any) -> tuple[Any, Any]:
    created = x @ w
    y = created - created.mean(axis=-1, keepdims=True)
    return y, x.T @ (2 * y / y.size)


def test_an_op_added_at_run_time_works_everywhere(center: Op[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    x, w = draw.standard_normal((ROWS, COLUMNS), np.float32), draw.standard_normal((COLUMNS, COLUMNS), np.float32)
    y, slope = expected(x, w)

    # On the tape, with its gradient, and for a batch.
    weights = engine.tensor(w, requires_grad=True)
    taped = center(tensor(x) @ weights)
    np.testing.assert_allclose(taped.numpy(), y, rtol=1e-5, atol=1e-6)
    (taped * taped).mean().backward()
    np.testing.assert_allclose(weights.grad.numpy(), slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(vmap(center)(tensor(x)).numpy(), x - x.mean(-1, keepdims=True), rtol=1e-5, atol=1e-6)

    # In a graph read from JSON, as a plan by both executors, whole and in shards.
    graph = build(engine.parse_graph(GRAPH), {"batch": ROWS}, training=True)
    (gradient,) = graph.gradients(graph.total_loss(), graph.parameters).values()
    assert isinstance(gradient, Value)
    outputs = {"y": graph.outputs["centered"], "gradient": gradient}
    monkeypatch.setattr(sharding, "WORTHWHILE", 1)
    for shards in (1, 2):
        inputs = {**graph.inputs, KEY: graph.key}
        plan = make_plan(inputs, graph.parameters, outputs, {}, rows=("x",), most_shards=shards)
        verify_plan(plan)
        steps = [step for step in plan.steps if step.op is center]
        assert plan.shards == shards
        assert all(plan.buffers[step.outputs[0]].split == (0 if shards > 1 else None) for step in steps)
        assert [plan.flops_of(step) for step in steps] == [2 * ROWS * COLUMNS] * 2
        assert [plan.scratch_of(step) for step in steps] == [ROWS // shards * FLOAT32.itemsize] * 2
        for kind in (NativeExecutor,) if shards > 1 else (NumpyExecutor, NativeExecutor):
            executor = kind(plan, {"w": w.copy()})
            executor.inputs["x"][...] = x
            executor.run()
            np.testing.assert_allclose(executor.outputs["y"], y, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(executor.outputs["gradient"], slope, rtol=1e-5, atol=1e-6)

    # In mixed precision the product is in the half type, and the op gets its input in float32.
    mixed = build(engine.parse_graph(GRAPH), {"batch": ROWS}, training=True, autocast=FLOAT16)
    assert mixed.values["made"][0].dtype == FLOAT16
    assert mixed.values["centered"][0].dtype == FLOAT32
