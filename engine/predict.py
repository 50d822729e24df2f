"""Predictions of a trained model in evaluation mode, in chunks of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from engine.checkpoint import Checkpoint
from engine.errors import DataError, DocumentError, Finding, nearest
from engine.graph.definition import Definition
from engine.graph.graph import bind_dims
from engine.graph.limits import LIMITS
from engine.graph.probe import probe
from engine.graph.simplify import reachable
from engine.model import Model, at_precision
from engine.plan import NumpyExecutor
from engine.training import plan_evaluation
from engine.value import Array


class Predictor:
    """Computes a graph's outputs (its losses left out) for any number of rows."""

    def __init__(self, definition: Definition, checkpoint: Checkpoint, precision: str = "float32") -> None:
        """Load the parameters and buffers of `checkpoint` into the graph."""
        self.definition = _without_losses(at_precision(definition, precision))
        self.model = Model(self.definition, (), None, 0)
        self.model.restore(checkpoint, optimizer=False)
        self.inputs = _needed_inputs(self.definition)
        self._executors: dict[tuple[tuple[str, tuple[int, ...]], ...], NumpyExecutor] = {}

    def predict(self, inputs: Mapping[str, Array], chunk: int = 256) -> dict[str, Array]:
        """Compute the outputs.

        Args:
            inputs: an array for each input that the outputs depend on, with one leading extent for the rows.
            chunk: rows that are computed at a time; the result does not depend on it beyond rounding.

        Returns:
            each output; those with the rows in front are joined over all chunks.

        Raises:
            DocumentError: a missing, unknown or ill-shaped input, with its pointer.
        """
        arrays = self._checked(inputs)
        rows = len(next(iter(arrays.values()))) if arrays else 0
        starts = range(0, rows, chunk) if rows > chunk else (0,)
        parts = [self._run({n: a[s : s + chunk] if arrays else a for n, a in arrays.items()}) for s in starts]
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _checked(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        findings = [
            Finding(
                f"/inputs/{name}", "unknown_name", f"the outputs need no input of this name{nearest(name, self.inputs)}"
            )
            for name in inputs
            if name not in self.inputs
        ]
        findings += [
            Finding("/inputs", "missing_field", f"the input {name!r} is required")
            for name in self.inputs
            if name not in inputs
        ]
        if findings:
            raise DocumentError(findings)
        arrays = {}
        for name in self.inputs:
            spec = self.definition.inputs[name]
            array = np.asarray(inputs[name])
            if array.dtype.kind == "f" and spec.dtype.kind in "iu" and not np.array_equal(array, np.trunc(array)):
                raise DocumentError(
                    [Finding(f"/inputs/{name}", "dtype_mismatch", f"fractions do not fit {spec.dtype.name}")]
                )
            arrays[name] = array.astype(spec.dtype)
        bind_dims(self.definition, {name: array.shape for name, array in arrays.items()})
        return arrays

    def _run(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        key = tuple((name, array.shape) for name, array in arrays.items())
        if key not in self._executors:
            dims = dict.fromkeys(self.definition.dimension_names, 1)
            dims.update(bind_dims(self.definition, {name: array.shape for name, array in arrays.items()}))
            self._executors[key] = NumpyExecutor(plan_evaluation(self.model, dims, (), outputs=True), self.model.arrays)
        executor = self._executors[key]
        for name, array in arrays.items():
            executor.inputs[name][...] = array
        executor.run()
        return {name: array.copy() for name, array in executor.outputs.items()}


def _without_losses(definition: Definition) -> Definition:
    """Keep the outputs that are no losses, unless there are no others."""
    outputs = tuple(output for output in definition.outputs if output not in definition.losses)
    if not outputs:
        outputs = _before_losses(definition) or definition.outputs
    return replace(definition, outputs=outputs)


def _before_losses(definition: Definition) -> tuple[str, ...]:
    """Return what the losses compare with their targets: the first input of each loss that is a node."""
    nodes = {node.name: node for node in definition.nodes}
    found = []
    for loss in definition.losses:
        node = nodes.get(loss.partition(":")[0])
        first = node.inputs[0] if node and node.inputs else None
        if isinstance(first, str) and first.partition(":")[0] in nodes:
            found.append(first)
    return tuple(dict.fromkeys(found))


def _needed_inputs(definition: Definition) -> tuple[str, ...]:
    graph = probe(definition, LIMITS).graph
    leaves = {id(value) for node in reachable(list(graph.outputs.values())) for value in node.inputs or ()}
    leaves |= {id(value) for value in graph.outputs.values()}
    needed = tuple(name for name, value in graph.inputs.items() if id(value) in leaves)
    if not definition.outputs:
        raise DataError("the graph has no outputs to predict")
    return needed
