"""Report of a graph before it runs: shapes, counts, memory, findings; and its plan."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from engine.core.errors import DocumentError, Finding
from engine.core.garbage import rare_collections
from engine.core.registry import lookup
from engine.core.shape_rules import broadcast, broadcast_bool
from engine.execution.native import chosen, most_shards
from engine.execution.plan import Plan, plan_json
from engine.graph.codec import parse_and_infer, unused_values
from engine.graph.definition import Definition, NodeSpec
from engine.graph.fans import fan_findings
from engine.graph.limits import LIMITS, GraphLimits
from engine.graph.shape_inference import InferredShapes, dims_at, infer_shapes
from engine.optim.groups import one_group
from engine.optim.optimizers import make_transform
from engine.training.recipe.options import Record
from engine.training.recipe.recipe import Recipe
from engine.training.step.plan_cache import cached_plan
from engine.training.step.plans import plan_evaluation, plan_training, trained_in, trained_parameters
from engine.training.train_state import StateLayout

ADVICE = "make the shapes equal, with squeeze, unsqueeze or reshape, or by declaring the input so"


def broadcast_findings(definition: Definition, probed: InferredShapes) -> list[Finding]:
    """Return a warning for each node that broadcasts what belongs together row by row.

    These are losses whose operands have unequal shapes, and operations such as `pred - y` of [batch, 1] and [batch],
    operands of different rank whose result [batch, batch] has a named extent more often than either of them.
    """
    return [
        Finding(node.pointer or f"/nodes/{index}", "broadcast_operands", f"{node.place}{detail}; {ADVICE}", "warning")
        for index, node in enumerate(definition.nodes)
        for detail in _unequal(node, probed)
    ]


def _unequal(node: NodeSpec, probed: InferredShapes) -> Iterator[str]:
    op = lookup(node.op)
    if op.loss is not None and node.inputs and isinstance(node.inputs[0], str):
        shapes = [probed.shape(operand) if isinstance(operand, str) else None for operand in node.inputs]
        for operand, shape in zip(op.loss.operands, shapes[1:], strict=False):
            if operand.name in op.loss.paired and shape is not None and shape != shapes[0]:
                yield (
                    f"{op.name} of predictions {shapes[0]} and {operand.name} {shape}: they broadcast, and each row "
                    "is compared with others"
                )
    elif op.shape_rule in (broadcast, broadcast_bool):
        operands = [operand for operand in node.inputs if isinstance(operand, str)]
        if len({probed.graph.value(operand).ndim for operand in operands}) < 2:
            return
        given, result = [probed.shape(operand) for operand in operands], probed.shape(node.name)
        names = {extent for extent in result if isinstance(extent, str)}
        if any(result.count(name) > max(shape.count(name) for shape in given) for name in names):
            shown = " and ".join(str(shape) for shape in given)
            yield f"{op.name} of {shown} is broadcast to {result}, which pairs each row with every other"


STANDARD_BATCH = 32


@rare_collections()
def parse_and_report(document: Any, limits: GraphLimits = LIMITS) -> tuple[Definition, dict[str, Any]]:
    """Return the canonical form of a graph document and its report, for which it is traced once.

    Raises:
        DocumentError: as `parse_graph` does.
    """
    definition, inferred = parse_and_infer(document, limits)
    return definition, _report(definition, inferred)


@rare_collections()
def graph_report(definition: Definition) -> dict[str, Any]:
    """Report parameter and node counts, inferred shapes, an estimate of memory, and findings."""
    return _report(definition, infer_shapes(definition))


def _report(definition: Definition, probed: InferredShapes) -> dict[str, Any]:
    return {
        "parameter_count": sum(math.prod(spec.shape) for spec in definition.parameters.values()),
        "node_counts": dict(Counter(node.op for node in definition.nodes)),
        "shapes": _shapes(probed),
        "implicit_loss": definition.implicit_loss,
        "memory": _memory(probed),
        "findings": [
            {"pointer": finding.pointer, "severity": finding.severity, "code": finding.code, "detail": finding.detail}
            for finding in graph_findings(definition, probed)
        ],
    }


def _shapes(probed: InferredShapes) -> dict[str, dict[str, Any]]:
    """Return the shape and dtype of every result by its reference; equal ones are one object."""
    described: dict[Any, dict[str, Any]] = {}
    found = {}
    for name, outputs in probed.graph.values.items():
        for index, value in enumerate(outputs):
            reference = name if len(outputs) == 1 else f"{name}:{index}"
            shape = probed.shape(reference)
            key = (*shape, value.dtype)
            if key not in described:
                described[key] = {"shape": shape, "dtype": value.dtype.name}
            found[reference] = described[key]
    return found


def graph_findings(definition: Definition, probed: InferredShapes) -> list[Finding]:
    """Return what is allowed but probably not meant: unused leaves and values, parameters that nothing trains.

    Appends its backward graph to the trace.
    """
    used = {
        operand.partition(":")[0] for node in definition.nodes for operand in node.inputs if isinstance(operand, str)
    }
    wanted = {reference.partition(":")[0] for reference in (*definition.outputs, *definition.losses)}
    needed = used | wanted
    findings = [
        Finding(f"/{table}/{name}", f"unused_{table[:-1]}", f"nothing uses {name!r}", "info")
        for table in ("inputs", "parameters", "buffers", "constants")
        for name in getattr(definition, table)
        if name not in needed
    ]
    findings += [
        Finding("/nodes", "unused_node", f"nothing uses {name!r}, and it is no output", "info")
        for name in unused_values(definition)
        if name not in wanted
    ]
    findings += broadcast_findings(definition, probed)
    findings += fan_findings(definition, probed.fans)
    if not definition.losses:
        detail = "without a loss the graph can be computed but not fitted"
        findings.append(Finding("/losses", "no_loss", detail, "info"))
        return findings
    trained = frozenset(trained_in(probed.graph))
    findings += [
        Finding(f"/parameters/{name}", "untrained_parameter", f"no gradient of a loss reaches {name!r}", "warning")
        for name, spec in definition.parameters.items()
        if name in used and name not in trained and not spec.frozen
    ]
    if not trained:
        findings.append(Finding("/losses", "nothing_to_train", "no loss depends on a trainable parameter", "warning"))
    return findings


def plan_report(
    definition: Definition,
    batch: int = STANDARD_BATCH,
    optimizer: Mapping[str, Any] | None = None,
    executor: str = "numpy",
) -> tuple[Plan, dict[str, Any]]:
    """Plan a training step (with an optimizer) or an evaluation (without) at `batch` rows; return it and its JSON.

    For the executor "native", or "auto" where that is available, `numpy_steps` of the JSON lists the ops without a
    compiled kernel.

    Raises:
        DocumentError: the batch or the optimizer does not fit the graph.
        MissingExtra: the executor does not work here.
    """
    executor = chosen(executor)
    _, plan = plan_step(definition, batch, optimizer, most_shards(executor))
    report = {"batch": batch, "training": optimizer is not None, "executor": executor, **plan_json(plan)}
    if executor == "native":
        from engine.execution.native.coverage import numpy_steps  # imports numba

        report["numpy_steps"] = list(numpy_steps(plan))
    return plan, report


def plan_step(
    definition: Definition, batch: int, optimizer: Mapping[str, Any] | None, shards: int = 1
) -> tuple[StateLayout, Plan]:
    """Plan a training step (with an optimizer) or an evaluation (without); return also the arrays that it works on.

    Raises:
        DocumentError: the batch or the optimizer does not fit the graph.
    """
    dims = dims_at(definition, batch)
    if optimizer is None:
        form = StateLayout(definition, (), None)
        return form, cached_plan(plan_evaluation, form, dims, (), outputs=True, most_shards=shards)
    if not definition.losses:
        raise DocumentError([Finding("", "no_loss", "the graph has no loss, so there is no training step to plan")])
    groups = one_group(make_transform(optimizer))
    model = StateLayout(definition, trained_parameters(definition, dims), groups)
    if not model.flat_groups:
        raise DocumentError([Finding("", "nothing_to_train", "no loss depends on a trainable parameter")])
    recipe = Recipe(optimizer=groups, record=Record(gradient_norms=False))
    return model, cached_plan(plan_training, model, dims, recipe, most_shards=shards)


def _memory(probed: InferredShapes) -> dict[str, int]:
    """Estimate bytes: of parameters and buffers, and of all values of a forward pass at the trial extents."""
    return {
        "parameter_bytes": sum(value.nbytes for value in probed.graph.parameters.values()),
        "buffer_bytes": sum(value.nbytes for value in probed.graph.buffers.values()),
        "activation_bytes": sum(v.nbytes for outputs in probed.graph.values.values() for v in outputs),
    }
