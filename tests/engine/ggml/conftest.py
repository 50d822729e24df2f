"""Small static graphs that several tests build, as fixtures that give the functions which build them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import engine
from engine import Graph, Value, declare


@dataclass
class Parabola:
    """f = a x² + b with the parameter x, and its values x = 2, a = 3, b = 4."""

    graph: Graph
    x: Value
    a: Value
    b: Value
    f: Value

    def fill(self) -> None:
        """Set the leaves."""
        for leaf, number in ((self.x, 2.0), (self.a, 3.0), (self.b, 4.0)):
            self.graph.set(leaf, number)


def _parabola(*, grads: bool = True, shape: tuple[int, ...] = (1,), **options: object) -> Parabola:
    """Build the forward graph."""
    x = declare(shape, "float32", "x", requires_grad=True)
    a, b = declare(shape, "float32", "a"), declare(shape, "float32", "b")
    f = a * (x * x) + b
    graph = Graph(grads=grads, **options)
    graph.expand(f)
    return Parabola(graph, x, a, b, f)


def _differentiated(**options: object) -> Parabola:
    """Build forward and backward graph, with data."""
    model = _parabola(**options)
    model.graph.build_backward()
    model.fill()
    return model


def _wide(branches: int = 6, extent: int = 48) -> tuple[Graph, Value, Value]:
    """Build a graph of independent branches over one leaf: (graph, leaf, sum of the branches)."""
    leaf = declare([extent, extent], "float64", "w", requires_grad=True)
    numbers = np.random.default_rng(5).normal(size=(branches, extent, extent))
    parts = [engine.ops.tanh(leaf @ engine.tensor(number)) for number in numbers]
    total = engine.ops.mean(parts[0])
    for part in parts[1:]:
        total = total + engine.ops.mean(engine.ops.exp(part))
    graph = Graph(grads=True)
    graph.expand(total)
    graph.build_backward()
    graph.set(leaf, np.random.default_rng(6).normal(size=(extent, extent)))
    return graph, leaf, total


@pytest.fixture
def parabola() -> Callable[..., Parabola]:
    """Give a function that builds a forward graph."""
    return _parabola


@pytest.fixture
def differentiated() -> Callable[..., Parabola]:
    """Give a function that builds a forward and a backward graph, with data."""
    return _differentiated


@pytest.fixture
def wide() -> Callable[..., tuple[Graph, Value, Value]]:
    """Give a function that builds a graph of independent branches, with data."""
    return _wide
