"""ggml's names for the static graphs of the engine: each a line that says what it is called here.

Those for training, of ggml-opt.h, are in `engine.ggml.ggml_opt`.

Differences from ggml.h: a Value carries neither data nor a loss flag, so functions that need one take the graph (or the
context) first; refusals are exceptions, but for `ggml_graph_compute`, which returns the status; extents and indices of
the functions that take `ne` or `i0, i1, ...` are in ggml's order, shapes in NumPy's. Op results are not charged to a
context: the work buffer of a plan holds them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from engine.core.errors import ComputeError, PoolError
from engine.core.value import Value
from engine.ggml.context import DEFAULT_GRAPH_SIZE, Context, graph_overhead, set_param, tensor_overhead
from engine.ggml.executor import DEFAULT_N_THREADS, ComputePlan, Status
from engine.ggml.gradients import Accumulators
from engine.ggml.graph import Graph
from engine.ggml.storage import DataAccess
from engine.ggml.threadpool import Priority, Threadpool, ThreadpoolParams
from engine.ops.elementwise.elementwise import add, div, mul, sub
from engine.ops.loss.likelihood import ggml_cross_entropy
from engine.ops.math.arithmetic import scale
from engine.ops.optimizer.opt_step import opt_step_adamw, opt_step_sgd

GGML_DEFAULT_GRAPH_SIZE = DEFAULT_GRAPH_SIZE
GGML_DEFAULT_N_THREADS = DEFAULT_N_THREADS
GGML_STATUS_SUCCESS, GGML_STATUS_ABORTED = Status.SUCCESS, Status.ABORTED
GGML_STATUS_FAILED, GGML_STATUS_ALLOC_FAILED = Status.FAILED, Status.ALLOC_FAILED
GGML_SCHED_PRIO_LOW, GGML_SCHED_PRIO_NORMAL, GGML_SCHED_PRIO_MEDIUM = Priority.LOW, Priority.NORMAL, Priority.MEDIUM
GGML_SCHED_PRIO_HIGH, GGML_SCHED_PRIO_REALTIME = Priority.HIGH, Priority.REALTIME
GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F64 = "float32", "float16", "bfloat16", "float64"
GGML_TYPE_I8, GGML_TYPE_I16, GGML_TYPE_I32, GGML_TYPE_I64 = "int8", "int16", "int32", "int64"

ggml_add, ggml_sub, ggml_mul, ggml_div, ggml_scale = add, sub, mul, div, scale
ggml_cross_entropy_loss = ggml_cross_entropy
ggml_set_param = set_param
ggml_tensor_overhead = tensor_overhead
ggml_graph_overhead = graph_overhead
ggml_threadpool_params = ThreadpoolParams
ggml_threadpool_params_default = ThreadpoolParams
ggml_free = Context.free
ggml_used_mem = attrgetter("used_mem")
ggml_new_tensor_1d = ggml_new_tensor_2d = ggml_new_tensor_3d = ggml_new_tensor_4d = Context.new_tensor
ggml_set_loss = Graph.set_loss
ggml_set_name = Graph.set_name
ggml_get_name = Graph.name_of
ggml_build_forward_expand = Graph.expand
ggml_build_forward_select = Graph.select
ggml_graph_plan = Graph.plan
ggml_graph_node = Graph.node
ggml_graph_nodes = attrgetter("nodes")
ggml_graph_n_nodes = attrgetter("n_nodes")
ggml_graph_size = attrgetter("size")
ggml_graph_get_tensor = Graph.find
ggml_graph_get_grad = Graph.grad
ggml_graph_get_grad_acc = Graph.grad_leaf
ggml_graph_clear = Graph.clear
ggml_graph_cpy = Graph.copy_to
ggml_graph_view = Graph.view
ggml_threadpool_params_init = ThreadpoolParams.init
ggml_threadpool_params_match = ThreadpoolParams.matches
ggml_threadpool_get_n_threads = attrgetter("n_threads")
ggml_threadpool_free = Threadpool.free
ggml_threadpool_pause = Threadpool.pause
ggml_threadpool_resume = Threadpool.resume
ggml_set_f32_1d = DataAccess.set_at
ggml_set_i32_1d = DataAccess.set_at
ggml_get_data = DataAccess.get


def ggml_init(mem_size: int, mem_buffer: Any = None, no_alloc: bool = False) -> Context:
    """Create a `Context`."""
    return Context(mem_size, mem_buffer, no_alloc=no_alloc)


def ggml_new_tensor(ctx: Context, dtype: object, ne: Sequence[int]) -> Value:
    """`Context.new_tensor`."""
    return ctx.new_tensor(dtype, *ne)


def ggml_opt_step_adamw(graph: Graph, a: Value, grad: Value, m: Value, v: Value, params: Value) -> Value:
    """Append a step of AdamW that moves `a` and its moments after each computation: opt_step_adamw, `Graph.assign`."""
    moved = opt_step_adamw(a, grad, m, v, params)
    for leaf, new in zip((a, m, v), moved, strict=True):
        graph.assign(leaf, new)
    return moved[0]


def ggml_opt_step_sgd(graph: Graph, a: Value, grad: Value, params: Value) -> Value:
    """Append a step of SGD that moves `a` after each computation: opt_step_sgd, `Graph.assign`."""
    moved = opt_step_sgd(a, grad, params)
    graph.assign(a, moved)
    return moved


def ggml_new_graph(ctx: Context | None = None) -> Graph:
    """Create a `Graph`."""
    return Graph(context=ctx)


def ggml_new_graph_custom(ctx: Context | None, size: int, grads: bool) -> Graph:
    """Create a `Graph`."""
    return Graph(size, grads=grads, context=ctx)


def ggml_graph_overhead_custom(size: int, grads: bool) -> int:
    """`graph_overhead`."""
    return graph_overhead(size, grads=grads)


def ggml_build_forward_order(graph: Graph, tensor: Value) -> None:
    """`Graph.expand` without computing."""
    graph.expand(tensor, compute=False)


def ggml_build_backward_expand(
    ctx: Context | None,  # noqa: ARG001 - a graph holds its context
    graph: Graph,
    grad_accs: Accumulators = None,
) -> None:
    """`Graph.build_backward`; what it needs is charged to the context of the graph."""
    graph.build_backward(grad_accs)


def ggml_graph_compute(graph: Graph, plan: ComputePlan) -> Status:
    """`Graph.compute`; a node that could not be computed is a status."""
    try:
        return graph.compute(plan, auto_resume=True)
    except ComputeError as error:
        return Status(error.status)


def ggml_graph_compute_with_ctx(ctx: Context, graph: Graph, n_threads: int) -> Status:
    """`Graph.compute` with a work buffer of the context."""
    return graph.compute(n_threads=n_threads, context=ctx)


def ggml_graph_reset(graph: Graph | None, momenta: bool = False) -> None:
    """`Graph.reset`; without a graph nothing happens."""
    if graph is not None:
        graph.reset(momenta=momenta)


def ggml_graph_print(graph: Graph) -> None:
    """Write `Graph.to_text` to stderr."""
    sys.stderr.write(graph.to_text())


def ggml_graph_dump_dot(gb: Graph, cgraph: Graph | None, filename: str | Path) -> None:
    """Write `Graph.to_dot` of `gb`, whose forward nodes are those of `cgraph`, to a file."""
    Path(filename).write_text(gb.to_dot(cgraph), encoding="utf-8")


def ggml_graph_dup(graph: Graph, force_grads: bool = False) -> Graph:
    """`Graph.dup`."""
    return graph.dup(force_grads=force_grads)


def ggml_set_f32(holder: DataAccess, tensor: Value, value: float) -> Value:
    """`set` of one number; integer tensors cut its fraction off."""
    holder.set(tensor, value)
    return tensor


ggml_set_i32 = ggml_set_f32


def ggml_get_f32_1d(holder: DataAccess, tensor: Value, i: int) -> float:
    """`get_at` a flat index."""
    return float(holder.get_at(tensor, i))


def ggml_get_i32_1d(holder: DataAccess, tensor: Value, i: int) -> int:
    """`get_at` a flat index."""
    return int(holder.get_at(tensor, i))


def ggml_get_f32_nd(holder: DataAccess, tensor: Value, *i: int) -> float:
    """`get_at` an index for each axis, the fastest first."""
    return float(holder.get_at(tensor, _axes(tensor, i)))


def ggml_get_i32_nd(holder: DataAccess, tensor: Value, *i: int) -> int:
    """`get_at` an index for each axis, the fastest first."""
    return int(holder.get_at(tensor, _axes(tensor, i)))


def ggml_set_f32_nd(holder: DataAccess, tensor: Value, *i: int, value: float) -> None:
    """`set_at` an index for each axis, the fastest first."""
    holder.set_at(tensor, _axes(tensor, i), value)


ggml_set_i32_nd = ggml_set_f32_nd


def ggml_threadpool_new(params: ThreadpoolParams) -> Threadpool | None:
    """Create a `Threadpool`; None if the system refuses the threads."""
    try:
        return Threadpool(params)
    except PoolError:
        return None


def _axes(tensor: Value, indices: Sequence[int]) -> list[int]:
    """Return indices in NumPy's order; ggml counts four axes, those beyond the tensor's have extent 1."""
    return [*indices[: tensor.ndim], *(0,) * (tensor.ndim - len(indices))][::-1]
