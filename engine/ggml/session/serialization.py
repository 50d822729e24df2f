"""Serialization of a static session: the log of its graphs, and the arrays of leaves and results.

Leaves are numbered in an order that the log alone determines: the leaves of the definition, then those of each graph.
Results are named by graph and position of their node.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.core.errors import CheckpointError, EngineError
from engine.core.fingerprint import fingerprint
from engine.core.value import Value
from engine.data.checkpoint import Checkpoint
from engine.ggml.context import Context
from engine.ggml.graph import Graph
from engine.ggml.session.computing import GraphRunner, SessionThreadpool
from engine.ggml.session.graphs import SessionGraphs
from engine.graph.definition import Definition

LEAF, RESULT = "leaf/", "result/"
"""Prefixes of names in the state of a checkpoint."""
STATIC = "static"
"""Entry of the cursor of a checkpoint that only static sessions write."""


def snapshot(
    definition: Definition, graphs: SessionGraphs, runner: GraphRunner, context: Context, pool: SessionThreadpool
) -> Checkpoint:
    """Return a checkpoint of the whole session; parameters and buffers are stored under their names."""
    storage, leaves = context.storage, graphs.values.leaves
    state = {}
    for number, leaf in enumerate(_other_leaves(definition, graphs)):
        saved = storage.copy_written(leaf)
        if saved is not None:
            state[f"{LEAF}{number}"] = saved
    for name, graph in graphs.graphs.items():
        for position, array in () if graph.is_view else graph.computed():
            state[f"{RESULT}{graphs.numbers[name]}/{position}"] = array.copy()
    cursor = {
        "structure": graphs.to_json(),
        "computations": runner.count,
        "used_mem": context.used_mem,
        "reserved": {name: graph.reserved(context) for name, graph in graphs.graphs.items()},
        "threadpool": pool.to_json(),
    }
    return Checkpoint(
        parameters={name: storage.leaf(leaves[name]).copy() for name in definition.parameters},
        buffers={name: storage.leaf(leaves[name]).copy() for name in definition.buffers},
        state=state,
        cursor={"step": 0, STATIC: cursor},
        meta={"graph": definition.digest, "fingerprint": fingerprint("numpy")},
    )


def restore(
    checkpoint: Checkpoint,
    definition: Definition,
    graphs: SessionGraphs,
    runner: GraphRunner,
    context: Context,
    pool: SessionThreadpool,
) -> None:
    """Restore a checkpoint of `snapshot`.

    Raises:
        CheckpointError: it belongs to another graph, or is damaged.
    """
    if checkpoint.meta.get("graph") != definition.digest:
        raise CheckpointError("the checkpoint belongs to another graph")
    try:
        cursor = checkpoint.cursor[STATIC]
        graphs.replay(cursor["structure"])
        leaves = graphs.values.leaves
        for name, array in (*checkpoint.parameters.items(), *checkpoint.buffers.items()):
            context.set(leaves[name], array)
        for number, leaf in enumerate(_other_leaves(definition, graphs)):
            context.storage.restore(leaf, checkpoint.state.get(f"{LEAF}{number}"))
        for name, graph in graphs.graphs.items():
            if not graph.is_view:
                _resume(graph, checkpoint, graphs.numbers[name], context, cursor["reserved"][name])
        context.used_mem = int(cursor["used_mem"])
        runner.count = int(cursor["computations"])
        pool.recreate(cursor["threadpool"])
    except (KeyError, TypeError, ValueError, AttributeError, EngineError) as error:
        raise CheckpointError(f"the checkpoint of the static session is damaged ({error})") from error


def _resume(graph: Graph, checkpoint: Checkpoint, number: int, context: Context, reserved: int) -> None:
    arrays = checkpoint.under(f"{RESULT}{number}/")
    if arrays or reserved:
        results = {int(position): array for position, array in arrays.items()}
        graph.resume(results, context if reserved else None, reserved)


def _other_leaves(definition: Definition, graphs: SessionGraphs) -> Iterator[Value]:
    """Yield every leaf but parameters and buffers, each once, in an order that the log determines."""
    named = graphs.values.leaves
    seen = {named[name].key for name in (*definition.parameters, *definition.buffers)}
    of_graphs = (leaf for graph in graphs.graphs.values() for leaf in graph.leaves)
    for leaf in (*named.values(), *of_graphs):
        if leaf.key not in seen:
            seen.add(leaf.key)
            yield leaf
