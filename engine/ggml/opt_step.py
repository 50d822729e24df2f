"""The three programs of a training run of ggml's kind: loss; loss and gradients; loss, gradients and step.

Each holds the one before it (ggml's gf, gb_grad and gb_opt), and all work on the same states.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from engine.autograd.backward import pull_back, reachable
from engine.core.dtypes import FLOAT32, FLOAT64, is_float
from engine.core.errors import DTypeError, GradientError, ShapeError
from engine.core.modes import MODES, tracing
from engine.core.value import Spec, Value
from engine.execution.plan import Plan, make_plan
from engine.ggml.opt_params import BuildType, LossType, OptimizerType
from engine.ggml.storage import Storage
from engine.ops.elementwise.elementwise import square
from engine.ops.loss.likelihood import ggml_cross_entropy
from engine.ops.optimizer.opt_step import opt_step_adamw, opt_step_sgd
from engine.ops.reduce.counting import count_equal
from engine.ops.reduce.reduce import argmax, sum

INPUTS, LABELS, NUMBERS = "inputs", "labels", "numbers"
LEAF, GRADIENT, MOMENT1, MOMENT2 = "leaf:", "gradient:", "moment1:", "moment2:"


@dataclass(frozen=True, eq=False)
class Step:
    """A loss over the leaves of a graph, and its gradients.

    Attributes:
        leaves: by name, the values that keep their memory: parameters, and what else has no data.
        gradients: by name of the parameter; those that the loss does not depend on are left out.
        predictions: the class that each row of the outputs puts first, and how many are right; None without classes.
        accumulate: whether the gradients of several runs are added up.
    """

    inputs: Value
    outputs: Value
    labels: Value | None
    leaves: Mapping[str, Value]
    loss: Value
    gradients: Mapping[str, Value]
    predictions: tuple[Value, Value] | None
    optimizer: OptimizerType
    accumulate: bool

    @property
    def states(self) -> dict[str, Spec]:
        """Shape and dtype of every array that keeps its memory from run to run; all but the leaves start at 0."""
        specs = {LEAF + name: leaf.spec for name, leaf in self.leaves.items()}
        kinds = (GRADIENT,) * self.accumulate + (MOMENT1, MOMENT2) * (self.optimizer is OptimizerType.ADAMW)
        specs.update({kind + name: self.leaves[name].spec for kind in kinds for name in self.gradients})
        return specs

    def plan(self, build: BuildType) -> Plan:
        """Plan one of the programs.

        Inputs of the plan are `INPUTS`, `LABELS` if the loss takes them and `NUMBERS` (those that the op of the
        optimizer takes) if a step is taken. Outputs are `loss`, `outputs` and, with classes, `predictions` and
        `ncorrect`.
        """
        inputs = {INPUTS: self.inputs}
        if self.labels is not None:
            inputs[LABELS] = self.labels
        outputs = {"loss": self.loss, "outputs": self.outputs}
        if self.predictions is not None:
            outputs["predictions"], outputs["ncorrect"] = self.predictions
        state = {name: Value(spec.shape, spec.dtype, None, name=name) for name, spec in self.states.items()}
        state.update({LEAF + name: leaf for name, leaf in self.leaves.items()})
        updates: dict[str, Value] = {}
        with trace_only():
            if self.accumulate and build > BuildType.FORWARD:
                updates.update({GRADIENT + n: state[GRADIENT + n] + g for n, g in self.gradients.items()})
            if build is BuildType.OPT:
                count = 7 if self.optimizer is OptimizerType.ADAMW else 2
                inputs[NUMBERS] = Value((count,), FLOAT64, None, name=NUMBERS)
                for name, gradient in self.gradients.items():
                    total = updates.get(GRADIENT + name, gradient)
                    updates.update(self._step_parameter(name, total, state, inputs[NUMBERS]))
        return make_plan(inputs, state, outputs, updates)

    def _step_parameter(
        self, name: str, gradient: Value, state: Mapping[str, Value], numbers: Value
    ) -> dict[str, Value]:
        parameter = self.leaves[name]
        if self.optimizer is OptimizerType.SGD:
            return {LEAF + name: opt_step_sgd(parameter, gradient, numbers)}
        names = (LEAF + name, MOMENT1 + name, MOMENT2 + name)
        moved = opt_step_adamw(parameter, gradient, state[MOMENT1 + name], state[MOMENT2 + name], numbers)
        return dict(zip(names, moved, strict=True))


def trace_step(
    inputs: Value,
    outputs: Value,
    loss_type: LossType,
    optimizer: OptimizerType,
    *,
    opt_period: int,
    build_type: BuildType,
    storage: Storage | None,
) -> Step:
    """Append loss and gradients to the graph of `outputs` over `inputs`.

    Parameters are the floating leaves that require a gradient. What was not written to in the storage keeps its data,
    as a constant.

    Raises:
        GradientError: the inputs have data or are no leaf, or two leaves have one name.
        DTypeError: outputs or parameters of a type that cannot be trained.
        ShapeError: a classification without an axis of classes.
    """
    _check_ends(inputs, outputs, loss_type)
    leaves = _leaves(inputs, outputs, storage)
    parameters = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
    with trace_only():
        labels = Value(outputs.shape, outputs.dtype, None, name=LABELS) if loss_type.takes_labels else None
        loss = _loss(loss_type, outputs, labels, opt_period)
        gradients = {} if build_type is BuildType.FORWARD else _gradients(loss, parameters)
        predictions = None
        if loss_type is LossType.CROSS_ENTROPY and labels is not None:
            first = argmax(outputs, axis=-1)
            predictions = (first, count_equal(first, argmax(labels, axis=-1)))
    accumulate = bool(gradients) and (build_type is BuildType.GRAD or opt_period > 1)
    return Step(inputs, outputs, labels, leaves, loss, gradients, predictions, optimizer, accumulate)


def trace_only() -> AbstractContextManager[None]:
    """Return a context in which operations are only traced, even if parameters have data."""
    return tracing(MODES.keys.next_key)


def _check_ends(inputs: Value, outputs: Value, loss_type: LossType) -> None:
    if inputs.node is not None or inputs.data is not None:
        raise GradientError("the inputs must be a leaf without data, which the batches are fed into; declare one")
    if not inputs.shape or not inputs.shape[0]:
        raise ShapeError(
            f"the inputs have shape {list(inputs.shape)}; their first axis counts the datapoints of a batch"
        )
    if not is_float(outputs.dtype):
        raise DTypeError(f"a loss needs floating outputs, these are {outputs.dtype.name}; cast them")
    if loss_type is LossType.CROSS_ENTROPY and not outputs.shape:
        raise ShapeError("CROSS_ENTROPY needs outputs [..., classes], these are a number without axes")


def _leaves(inputs: Value, outputs: Value, storage: Storage | None) -> dict[str, Value]:
    ends = [value for node in reachable([outputs]) for value in node.inputs if value.node is None]
    ends += [outputs] if outputs.node is None else []
    found = {leaf.key: leaf for leaf in ends if leaf.key != inputs.key and not _is_constant(leaf, storage)}
    leaves: dict[str, Value] = {}
    for index, leaf in enumerate(found.values()):
        name = leaf.name or f"leaf_{index}"
        if name in leaves:
            raise GradientError(f"two leaves are called {name!r}; give each a name of its own")
        if leaf.requires_grad and leaf.dtype not in (FLOAT32, FLOAT64):
            raise DTypeError(f"parameter {name!r} is {leaf.dtype.name}; only float32 and float64 ones can be trained")
        leaves[name] = leaf
    return leaves


def _is_constant(leaf: Value, storage: Storage | None) -> bool:
    if leaf.data is None or leaf.requires_grad:
        return False
    return storage is None or storage.leaf(leaf) is leaf.data


def _loss(loss_type: LossType, outputs: Value, labels: Value | None, opt_period: int) -> Value:
    if labels is None:
        loss = sum(outputs)
    elif loss_type is LossType.CROSS_ENTROPY:
        loss = ggml_cross_entropy(outputs, labels)
    else:
        loss = sum(square(outputs - labels))
    parts = opt_period if loss_type.per_datapoint else 1
    if loss_type in (LossType.MEAN, LossType.MEAN_SQUARED_ERROR):
        parts *= outputs.size
    return loss / float(parts) if parts != 1 else loss


def _gradients(loss: Value, parameters: Mapping[str, Value]) -> dict[str, Value]:
    seed = Value(loss.shape, loss.dtype, np.ones(loss.shape, loss.dtype))
    found = pull_back([loss], [seed], list(parameters.values()))
    return {name: gradient for name, gradient in zip(parameters, found, strict=True) if gradient is not None}
