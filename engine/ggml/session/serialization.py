"""A static session as a checkpoint, and back: graphs are made again, and take up the data they had.

Arrays are numbered in an order that follows from the structure alone: the leaves of the definition, then those of each
graph; results by graph and position of their node.
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
"""What names in a checkpoint's state start with."""
STATIC = "static"
"""The entry of a checkpoint's cursor that only static sessions write."""


def snapshot(
    definition: Definition,
    structure: SessionGraphs,
    computing: GraphRunner,
    context: Context,
    pooling: SessionThreadpool,
) -> Checkpoint:
    """Copy everything that the next calls depend on; parameters and buffers stand under their names."""
    storage, leaves = context.storage, structure.values.leaves
    state = {}
    for number, leaf in enumerate(_other_leaves(definition, structure)):
        saved = storage.saved(leaf)
        if saved is not None:
            state[f"{LEAF}{number}"] = saved
    for name, graph in structure.graphs.items():
        for position, array in () if graph.is_view else graph.computed():
            state[f"{RESULT}{structure.numbers[name]}/{position}"] = array.copy()
    told = {
        "structure": structure.tell(),
        "computations": computing.count,
        "used_mem": context.used_mem,
        "reserved": {name: graph.reserved(context) for name, graph in structure.graphs.items()},
        "threadpool": pooling.tell(),
    }
    return Checkpoint(
        parameters={name: storage.leaf(leaves[name]).copy() for name in definition.parameters},
        buffers={name: storage.leaf(leaves[name]).copy() for name in definition.buffers},
        state=state,
        cursor={"step": 0, STATIC: told},
        meta={"graph": definition.digest, "fingerprint": fingerprint("numpy")},
    )


def restore(
    checkpoint: Checkpoint,
    definition: Definition,
    structure: SessionGraphs,
    computing: GraphRunner,
    context: Context,
    pooling: SessionThreadpool,
) -> None:
    """Take up what `snapshot` copied.

    Raises:
        CheckpointError: it is of another graph, or damaged.
    """
    if checkpoint.meta.get("graph") != definition.digest:
        raise CheckpointError("the checkpoint belongs to another graph")
    try:
        told = checkpoint.cursor[STATIC]
        structure.remake(told["structure"])
        leaves = structure.values.leaves
        for name, array in (*checkpoint.parameters.items(), *checkpoint.buffers.items()):
            context.set(leaves[name], array)
        for number, leaf in enumerate(_other_leaves(definition, structure)):
            context.storage.put_back(leaf, checkpoint.state.get(f"{LEAF}{number}"))
        for name, graph in structure.graphs.items():
            if not graph.is_view:
                _resume(graph, checkpoint, structure.numbers[name], context, told["reserved"][name])
        context.used_mem = int(told["used_mem"])
        computing.count = int(told["computations"])
        pooling.remake(told["threadpool"])
    except (KeyError, TypeError, ValueError, AttributeError, EngineError) as error:
        raise CheckpointError(f"the checkpoint of a static session cannot be taken up ({error})") from error


def _resume(graph: Graph, checkpoint: Checkpoint, number: int, context: Context, reserved: int) -> None:
    arrays = checkpoint.under(f"{RESULT}{number}/")
    if arrays or reserved:
        results = {int(position): array for position, array in arrays.items()}
        graph.resume(results, context if reserved else None, reserved)


def _other_leaves(definition: Definition, structure: SessionGraphs) -> Iterator[Value]:
    """Yield every leaf but parameters and buffers, each once, in an order that follows from the structure."""
    named = structure.values.leaves
    seen = {named[name].key for name in (*definition.parameters, *definition.buffers)}
    graphs = (leaf for graph in structure.graphs.values() for leaf in graph.leaves)
    for leaf in (*named.values(), *graphs):
        if leaf.key not in seen:
            seen.add(leaf.key)
            yield leaf
