"""Contexts: a budget of bytes, tensors in ggml's order of extents, the overhead that is known beforehand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import AttributeValueError, Context, Graph, GraphError, OutOfContextMemory, ShapeError, graph_overhead
from engine.ggml.context import next_prime, tensor_overhead
from tests.support.rows import each_row

Build = Callable[..., Any]


def test_a_tensor_is_charged_its_bytes_and_its_overhead() -> None:
    with Context(10_000) as context:
        context.new_tensor("float32", 4, 4)
        assert context.used_mem == 64 + tensor_overhead()
        context.new_tensor("float64", 3)
        assert context.used_mem == 64 + 32 + 2 * tensor_overhead()  # 24 bytes take up 32


def test_a_tensor_that_does_not_fit_is_refused_and_nothing_is_charged() -> None:
    with Context(1024) as context:
        with pytest.raises(OutOfContextMemory, match="do not fit in a context of 1024") as caught:
            context.new_tensor("float32", 1024)
        assert caught.value.code == "out_of_context_memory"
        assert context.used_mem == 0


def test_without_allocation_only_the_overhead_is_charged() -> None:
    with Context(1024, no_alloc=True) as context:
        tensor = context.new_tensor("float32", 1024)
        assert context.used_mem == tensor_overhead()
        context.set(tensor, 2.0)
        assert context.get(tensor).sum() == 2048.0


def test_tensors_lie_in_the_memory_that_was_given() -> None:
    memory = bytearray(b"\xff" * 2048)
    with Context(2048, memory) as context:
        tensor = context.new_tensor("int32", 2)
        assert context.get(tensor).tolist() == [0, 0]
        context.set(tensor, [1, 2])
        assert np.array([1, 2], np.int32).tobytes() in bytes(memory)


@pytest.mark.parametrize("memory", [bytes(64), bytearray(63)], ids=["cannot be written to", "too small"])
def test_memory_that_does_not_serve_is_refused(memory: bytes) -> None:
    with pytest.raises(AttributeValueError, match="mem_buffer must be 64 bytes that can be written to"):
        Context(64, memory)


def test_a_context_has_bytes() -> None:
    with pytest.raises(AttributeValueError, match="mem_size 0 must be at least 1"):
        Context(0)


def test_a_context_that_was_freed_makes_nothing() -> None:
    context = Context(4096)
    context.free()
    with pytest.raises(GraphError, match="has been freed"):
        context.new_tensor("float32", 1)


def test_the_first_extent_varies_fastest() -> None:
    with Context(4096) as context:
        tensor = context.new_tensor("float32", 3, 2)
        assert tensor.shape == (2, 3)
        for index in range(6):
            context.set_at(tensor, index, index)
        assert context.get(tensor).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("ne", [(), (1, 1, 1, 1, 1)])
def test_a_tensor_has_one_to_four_extents(ne: tuple[int, ...]) -> None:
    with Context(4096) as context, pytest.raises(ShapeError, match="1 to 4 extents"):
        context.new_tensor("float32", *ne)


def test_graphs_of_one_context_share_the_data_of_leaves() -> None:
    with Context(2**20) as context:
        x = context.new_tensor("float32", 1)
        first, second = Graph(context=context), Graph(context=context)
        doubled, squared = x + x, x * x
        first.expand(doubled)
        second.expand(squared)
        context.set(x, 3.0)
        first.compute()
        assert context.get_at(doubled) == 6.0
        second.compute()
        assert context.get_at(squared) == 9.0


@pytest.mark.parametrize("grads", [False, True])
def test_the_overhead_of_a_graph_is_what_the_context_is_charged(grads: bool) -> None:
    with Context(2**20) as context:
        Graph(100, grads=grads, context=context)
        assert context.used_mem == graph_overhead(100, grads=grads)


def test_the_overhead_grows_with_size_and_gradients() -> None:
    sizes = [graph_overhead(size) for size in (1, 10, 100, 2048, 5000)]
    assert sizes == sorted(set(sizes))
    assert graph_overhead() == graph_overhead(2048)
    assert all(graph_overhead(size, grads=True) > graph_overhead(size) for size in (1, 10, 2048))


@each_row(("number", "prime"), [(0, 2), (2, 2), (8, 11), (4096, 4099), (13, 13)])
def test_hash_tables_have_a_prime_number_of_keys(number: int, prime: int) -> None:
    assert next_prime(number) == prime


def test_a_graph_that_does_not_fit_the_context_is_refused() -> None:
    with Context(graph_overhead(64) - 1) as context, pytest.raises(OutOfContextMemory):
        Graph(64, context=context)


def model_in(context: Context) -> tuple[Graph, engine.Value]:
    x = engine.set_param(context.new_tensor("float32", 64))
    graph = Graph(32, grads=True, context=context)
    graph.expand(engine.ops.sum(x * x))
    context.set(x, 1.0)
    return graph, x


def test_the_work_buffer_may_come_from_the_context() -> None:
    with Context(2**16) as context:
        graph, x = model_in(context)
        graph.build_backward()
        before = context.used_mem
        for _ in range(3):
            graph.compute(context=context)
        assert context.used_mem == before + graph.plan().work_size
        assert context.get(graph.grad(x)).tolist() == [6.0] * 64


def test_a_context_too_small_for_the_work_buffer_is_refused() -> None:
    with Context(2**16) as context:
        graph, _ = model_in(context)
        graph.build_backward()
        needed = context.used_mem
    with Context(needed + graph.plan().work_size - 1) as context:
        graph, _ = model_in(context)
        graph.build_backward()
        with pytest.raises(OutOfContextMemory):
            graph.compute(context=context)
        assert context.used_mem == needed


def test_gradients_that_do_not_fit_the_context_leave_the_forward_graph() -> None:
    with Context(2**16) as context:
        graph, _ = model_in(context)
        needed = context.used_mem
    with Context(needed + 400) as context:
        graph, x = model_in(context)
        before = graph.to_text()
        with pytest.raises(OutOfContextMemory):
            graph.build_backward()
        assert graph.to_text() == before
        assert graph.grad(x) is None
