"""The `layers` form of a graph: a list of layers, applied to the first input, expanded to nodes and parameters."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.core.errors import DocumentError, EngineError, Finding
from engine.core.options import Reader
from engine.core.value import Node
from engine.graph.definition import Definition
from engine.graph.layer_copies import LayerExpander
from engine.graph.layer_scope import Draft, LayerScope, LossScope
from engine.graph.limits import LIMITS, GraphLimits
from engine.graph.loss_spec import append_loss
from engine.graph.shape_inference import InferredShapes, choose_trial_dims, trial_note
from engine.graph.trace import Trace, build
from engine.nn.layers.containers import read_layer

Entry = tuple[str, str, dict[str, Any]]
"""Kind, name ("" when it has none) and attributes of a layer."""


def expand_layers(layers: Any, loss: Any, draft: Definition, limits: GraphLimits = LIMITS) -> InferredShapes:
    """Trace the nodes, parameters and buffers of the layers, and the loss if one is given.

    The definition of the first trace is `draft` with all of them.

    Raises:
        DocumentError: with the pointer of the layer at fault.
    """
    reader = Reader()
    listed = reader.sequence(layers, "/layers")
    LIMITS.check_count("/layers", "layers", len(listed), LIMITS.nodes)
    entries = [read_layer(entry, f"/layers/{index}", reader) for index, entry in enumerate(listed)]
    if not entries:
        reader.fault("/layers", "empty", "give at least one layer")
    if not draft.inputs:
        reader.fault("/inputs", "empty", "give at least one input: the first flows through the layers")
    reader.finish()
    fault: DocumentError | None = None
    expanded: list[Trace] = []
    calls: list[Hashable] = [(kind, repr(attrs)) for kind, _, attrs in entries]
    for dims in choose_trial_dims(draft):
        try:
            leaves = build(draft, dims, training=True, limits=limits, shapes_only=bool(expanded))
            expanded.append(_expand(entries, loss, leaves, calls))
        except DocumentError as error:
            fault = fault or DocumentError([_noting_trial(finding, dims) for finding in error.findings])
        if len(expanded) == 2:
            break
    if not expanded:
        assert fault is not None
        raise fault
    first, second = expanded[0], expanded[1] if len(expanded) == 2 else None
    if second is not None and first.definition != second.definition:
        raise DocumentError([_dependent(first.definition, second.definition)])
    return InferredShapes(first, second)


def _noting_trial(finding: Finding, dims: Mapping[str, int]) -> Finding:
    """Return a finding about shapes with the numbers that stand for named extents in them."""
    if finding.code != "shape_mismatch":
        return finding
    return replace(finding, detail=finding.detail + trial_note(dims))


def _dependent(first: Definition, second: Definition) -> Finding:
    """Return the difference between the layers at two extents."""
    what = "an attribute of a node"
    for kind, ones, others in (
        ("parameter", first.parameters, second.parameters),
        ("buffer", first.buffers, second.buffers),
    ):
        name = next((name for name, spec in ones.items() if spec != others.get(name)), None)
        if name is not None:
            what = f"the shape of the {kind} {name!r}"
            break
    else:
        pairs = zip(first.nodes, second.nodes, strict=False)
        name = next((one.name for one, other in pairs if one != other), None)
        what = what if name is None else f"an attribute of the node {name!r}"
    detail = f"{what} would depend on an extent that is only a name; give that extent a number"
    return Finding("/inputs", "shape_invalid", detail)


def _expand(entries: Sequence[Entry], loss: Any, graph: Trace, calls: list[Hashable]) -> Trace:
    """Add layers and a loss to the trace of a definition without nodes, and to the definition; return the trace.

    `calls` stand for equal layers; the specs of their inputs are added.
    """
    draft, expander = Draft(graph), LayerExpander()
    x = next(iter(graph.inputs.values()))
    counts: dict[str, int] = {}
    with graph.trace():
        for index, (kind, given_name, attrs) in enumerate(entries):
            number = counts.get(kind, 0)
            counts[kind] = number + 1
            scope = LayerScope(given_name or f"{kind}_{number}", f"/layers/{index}", draft)
            call = calls[index]
            calls[index] = (call, x.spec)
            try:
                x = expander.add(scope, x, kind, attrs, call)
            except DocumentError:
                raise
            except EngineError as error:
                raise DocumentError([Finding(f"/layers/{index}", error.code, str(error))]) from error
        output = draft.references[x.key]
        losses: tuple[str, ...] = ()
        outputs: tuple[str, ...] = (output,)
        if loss is not None:
            more = append_loss(loss, x, LossScope("loss", "/loss", draft))
            losses, outputs = ("loss",), (output, *(draft.references[value.key] for value in more))
    graph.end = next(Node.numbers)
    graph.definition = replace(
        graph.definition,
        parameters=draft.parameters,
        buffers=draft.buffers,
        constants=draft.constants,
        nodes=tuple(draft.nodes),
        outputs=outputs,
        losses=losses,
    )
    return graph
