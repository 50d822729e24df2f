"""Predictions of a trained model in evaluation mode, in chunks of rows."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from engine.autograd.backward import reachable
from engine.core.dtypes import FLOAT64, DType
from engine.core.errors import DocumentError, Finding
from engine.core.modes import STEP_OPERATIONS, Admit, Cost, admit_any
from engine.core.registry import lookup
from engine.core.value import Array
from engine.data.checkpoint import SCALES, Checkpoint
from engine.data.class_encoding import ClassEncoding, classes_of_checkpoint, encode_texts
from engine.data.scaling import Scales
from engine.data.table.preprocessing import preprocessing_of_checkpoint
from engine.execution.interpreter.point import as_refusals
from engine.execution.plan import NumpyExecutor, Plan
from engine.graph.definition import Definition, needed_inputs
from engine.graph.shape_inference import InferredShapes, infer_shapes
from engine.graph.tensors import check_feeds
from engine.graph.trace import Trace, bind_dims
from engine.training.class_output import ClassOutput
from engine.training.metrics.comparisons import find_comparison
from engine.training.metrics.operands import BY_CLASS, NUMBERS
from engine.training.metrics.target_units import predicted_targets
from engine.training.recipe.options import Precision
from engine.training.step.plan_cache import cached_plan
from engine.training.step.plans import plan_evaluation
from engine.training.train_state import TrainState, at_precision

EXECUTORS = 4
"""Cached plans for repeated sizes: the usual chunk, the last one, and a few more."""

Sizes = tuple[tuple[str, tuple[int, ...]], ...]


class Predictor:
    """Computes a graph's outputs, without its losses, for any number of rows."""

    def __init__(self, definition: Definition, checkpoint: Checkpoint, precision: Precision = "float32") -> None:
        """Load the parameters and buffers of `checkpoint` into the graph, or their averages if there are any.

        Inputs that were normalised in training are normalised alike, and texts become the class numbers of the
        training. Predictions of a normalised target are returned in the units of the data, in float64.
        """
        self._given = definition
        self._comparison = find_comparison(definition)
        self.definition = _without_losses(at_precision(definition, precision))
        self.model = TrainState(self.definition, (), None, None)
        self.load(checkpoint)
        probed = infer_shapes(self.definition)
        self.inputs = _needed_inputs(probed.graph)
        self._by_row = _inputs_by_row(probed, self.inputs)
        self._executors: dict[Sizes, NumpyExecutor] = {}

    def load(self, checkpoint: Checkpoint) -> None:
        """Use the parameters and buffers of another checkpoint from now on, or their averages."""
        self.model.restore(checkpoint.averaged(), optimizer=False)
        self._scales = Scales.from_arrays(checkpoint.under(SCALES))
        self._classes = classes_of_checkpoint(checkpoint.meta) or {}
        self.preprocessing = preprocessing_of_checkpoint(checkpoint.meta)
        predicted = predicted_targets(self._given, self._scales.of)
        self._predicted = {name: (target, power) for name, target, power in predicted}

    @property
    def classes(self) -> Mapping[str, ClassEncoding]:
        """The class names of each input that was text in training."""
        return self._classes

    @property
    def output_classes(self) -> dict[str, list[str]]:
        """The class names along the class axis of each output that predicts a text target."""
        compared = self._comparison
        if compared is None or compared.form not in BY_CLASS:
            return {}
        made = {} if self.preprocessing is None else self.preprocessing.classes
        if compared.targets in self._classes:
            names = list(self._classes[compared.targets].names)
        elif compared.targets in made:
            names = list(made[compared.targets])
        else:
            return {}
        return {name: names for name in self.definition.outputs if name == compared.predictions}

    @property
    def class_outputs(self) -> dict[str, ClassOutput]:
        """How each output that predicts classes is read."""
        compared = self._comparison
        if compared is None or compared.form in NUMBERS or compared.predictions not in self.definition.outputs:
            return {}
        encoding = self._classes.get(compared.targets)
        names = None if encoding is None else encoding.names
        return {compared.predictions: ClassOutput(compared.form, compared.axis, names)}

    @property
    def by_row(self) -> tuple[str, ...]:
        """The inputs that have rows, if each output is computed row by row; else none."""
        return self._by_row

    @property
    def input_dtypes(self) -> dict[str, DType]:
        """The dtype in which numbers for each input are read: its own, or float64 if they are normalised."""
        specs = self.definition.inputs
        return {name: FLOAT64 if name in self._scales else spec.dtype for name, spec in specs.items()}

    @property
    def model_bytes(self) -> int:
        """Bytes of the parameters and buffers."""
        return sum(array.nbytes for array in self.model.arrays.values())

    @property
    def kept_bytes(self) -> int:
        """Bytes of cached plans for input sizes that occurred before."""
        return sum(_apart(executor.plan) for executor in self._executors.values())

    def forget_sizes(self) -> None:
        """Drop the cached plans."""
        self._executors.clear()

    def encode(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs of a call as the graph takes them: raw columns preprocessed, texts as class numbers.

        Raises:
            DocumentError: a raw column is missing or holds what the model does not take, or a text is no class.
        """
        made: Mapping[str, Any] = inputs
        if self.preprocessing is not None:
            made = self.preprocessing.encode(inputs, self.input_dtypes, self.inputs)
        return encode_texts(self._classes, made)

    def predict(
        self, inputs: Mapping[str, Any], chunk: int = 256, *, admit: Admit = admit_any, encoded: bool = False
    ) -> dict[str, Array]:
        """Compute the outputs.

        Args:
            inputs: an array for each input that the outputs depend on, with one leading extent for the rows; others are
                checked and ignored. Raw columns (lists of numbers, texts and None) are preprocessed as in training, and
                texts become their class numbers.
            chunk: rows computed at a time; the result depends on it only by rounding. If an output has no leading axis
                of rows, or a second one, all rows are computed at once.
            encoded: whether `encode` has been called on the inputs.
            admit: called with the bytes needed beside the model and cached plans, before they are allocated.

        Returns:
            each output, concatenated over all chunks.

        Raises:
            DocumentError: a missing, unknown or ill-shaped input, with its pointer.
        """
        arrays = self._checked(inputs if encoded else self.encode(inputs))
        rows = max((len(arrays[name]) for name in self._by_row), default=0)
        starts = range(0, rows, chunk) if rows > chunk else range(1)
        admit(self._cost(arrays, rows, chunk))
        parts = [self._run(self._part(arrays, start, chunk) if len(starts) > 1 else arrays) for start in starts]
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _part(self, arrays: Mapping[str, Array], start: int, chunk: int) -> dict[str, Array]:
        """Return `rows` rows of the inputs that have rows, and the other inputs unchanged."""
        return {name: a[start : start + chunk] if name in self._by_row else a for name, a in arrays.items()}

    def _cost(self, arrays: Mapping[str, Array], rows: int, chunk: int) -> Cost:
        """Return the bytes that this many rows take, from the plans of whole chunks and of the last chunk."""
        whole, rest = divmod(rows, chunk) if rows > chunk else (1, 0)
        sizes = [(_sizes(self._part(arrays, 0, chunk) if rows > chunk else arrays), whole)]
        sizes += [(_sizes(self._part(arrays, rows - rest, chunk)), 1)] * bool(rest)
        plans = [(self._plan(size), size in self._executors, runs) for size, runs in sizes]
        outputs = sum(runs * self._answer_bytes(plan) for plan, _, runs in plans)
        taken = {
            "plan_bytes": sum(_apart(plan) for plan, kept, _ in plans if not kept),
            "output_bytes": outputs * (1 if len(plans) == whole == 1 else 2),  # parts, and then the whole
            "part_bytes": max(self._answer_bytes(plan) for plan, _, _ in plans) if self._predicted else 0,
        }
        return Cost(
            taken, sum(runs * (plan.flops + STEP_OPERATIONS * (len(plan.steps) + 1)) for plan, _, runs in plans)
        )

    def _answer_bytes(self, plan: Plan) -> int:
        specs = {name: plan.buffers[number].spec for name, number in plan.outputs.items()}
        wide = {
            name: FLOAT64.itemsize if name in self._predicted else spec.dtype.itemsize for name, spec in specs.items()
        }
        return sum(math.prod(spec.shape) * wide[name] for name, spec in specs.items())

    def _plan(self, sizes: Sizes) -> Plan:
        """Return the plan for arrays of these shapes."""
        if sizes in self._executors:
            return self._executors[sizes].plan
        dims = dict.fromkeys(self.definition.dimension_names, 1)
        dims.update(bind_dims(self.definition, dict(sizes)))
        return cached_plan(plan_evaluation, self.model, dims, (), outputs=True)

    def _checked(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        arrays = check_feeds(self.definition, self.inputs, inputs)
        with np.errstate(all="ignore"):
            for name, array in arrays.items():
                arrays[name] = self._scales.apply(name, array).astype(self.definition.inputs[name].dtype)
        bind_dims(self.definition, {name: array.shape for name, array in arrays.items()})
        return {name: arrays[name] for name in self.inputs}

    def _run(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        sizes = _sizes(arrays)
        if sizes not in self._executors:
            plan = self._plan(sizes)
            while len(self._executors) >= EXECUTORS:
                self._executors.pop(next(iter(self._executors)))
            self._executors[sizes] = NumpyExecutor(plan, self.model.arrays)
        executor = self._executors[sizes]
        for name, array in arrays.items():
            executor.inputs[name][...] = array
        with as_refusals():
            executor.run()
        return {name: self._in_units(name, array) for name, array in executor.outputs.items()}

    def _in_units(self, name: str, array: Array) -> Array:
        """Return a copy of an output; predictions of a normalised target in the units of the data (float64)."""
        if name not in self._predicted:
            return array.copy()
        target, power = self._predicted[name]
        unit = self._scales.of[target]
        rows = array.astype(np.float64).reshape(-1, *unit.scale.shape)
        return (unit.invert(rows) if power == 1 else rows * unit.scale**power).reshape(array.shape)


def prediction_inputs(definition: Definition) -> tuple[str, ...]:
    """Return the inputs that predictions of a graph depend on.

    Raises:
        DocumentError: the graph has nothing to predict.
    """
    return needed_inputs(definition, _without_losses(definition).outputs)


def _sizes(arrays: Mapping[str, Array]) -> Sizes:
    return tuple((name, array.shape) for name, array in arrays.items())


def _apart(plan: Plan) -> int:
    """Return the bytes of a plan beside the model."""
    return plan.peak_bytes - sum(allocation.nbytes for allocation in plan.allocations if allocation.kind == "state")


def _without_losses(definition: Definition) -> Definition:
    """Return the outputs that are neither losses nor part of one; if there is none, the predictions of the loss."""
    losses = definition.losses
    outputs = tuple(o for o in definition.outputs if o not in losses and not any(o.startswith(f"{x}.") for x in losses))
    outputs = outputs or _before_losses(definition)
    if not outputs:
        detail = "the graph has no outputs but its losses; name its predictions in 'outputs' when posting the graph"
        raise DocumentError([Finding("", "no_outputs", detail)])
    return replace(definition, outputs=outputs)


def _before_losses(definition: Definition) -> tuple[str, ...]:
    """Return the first input of each loss that is a loss op of a computed value."""
    nodes = {node.name: node for node in definition.nodes}
    losses = [nodes[loss.partition(":")[0]] for loss in definition.losses if loss.partition(":")[0] in nodes]
    firsts = [node.inputs[0] for node in losses if lookup(node.op).loss is not None]
    return tuple(dict.fromkeys(f for f in firsts if isinstance(f, str) and f.partition(":")[0] in nodes))


def _needed_inputs(graph: Trace) -> tuple[str, ...]:
    leaves = {id(value) for node in reachable(list(graph.outputs.values())) for value in node.inputs}
    leaves |= {id(value) for value in graph.outputs.values()}
    return tuple(name for name, value in graph.inputs.items() if id(value) in leaves)


def _inputs_by_row(probed: InferredShapes, needed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the inputs that can be divided into chunks of rows: none, unless every output is computed row by row."""
    definition = probed.graph.definition
    shapes = [definition.inputs[name].shape for name in needed]
    rows = next((shape[0] for shape in shapes if shape and isinstance(shape[0], str)), None)
    for shape in (*shapes, *(probed.shape(output) for output in definition.outputs)):
        if any(isinstance(extent, str) and rows in re.split(r"[*+-]", extent) for extent in shape[1:]):
            return ()
    if any(shape[:1] != [rows] for shape in map(probed.shape, definition.outputs)):
        return ()
    return tuple(name for name in needed if definition.inputs[name].shape[:1] == (rows,))
