"""OptContext: a graph in training, one physical batch at a time (ggml_opt_context)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.core.errors import AttributeValueError, DataError, ShapeError
from engine.core.value import Array, Shape, Value
from engine.execution.plan import NumpyExecutor
from engine.ggml.opt_data import Batch, OptResult
from engine.ggml.opt_params import (
    BuildType,
    GetOptPars,
    LossType,
    OptimizerParameters,
    OptimizerType,
    default_opt_pars,
    parse_kind,
)
from engine.ggml.opt_step import GRADIENT, INPUTS, LABELS, LEAF, NUMBERS, trace_step
from engine.ggml.storage import Storage


@dataclass(frozen=True)
class OptOptions:
    """How an `OptContext` trains; the defaults are those of ggml_opt_default_params.

    Attributes:
        optimizer: see `OptimizerType`.
        get_opt_pars: asked for the numbers of a step before each step.
        opt_period: physical batches whose gradients are added up for a step.
        build_type: the most that is computed; GRAD adds gradients up until `reset`.
        storage: where the leaves live, such as that of a `Context`; without it, parameters live in their own data.
        seed: of the shuffles.
    """

    optimizer: OptimizerType | str | int = OptimizerType.ADAMW
    get_opt_pars: GetOptPars = default_opt_pars
    opt_period: int = 1
    build_type: BuildType | str | int = BuildType.OPT
    storage: Storage | None = None
    seed: int = 0


class OptContext:
    """Outputs over inputs, a loss of them, and an optimizer that moves the parameters every `opt_period` batches.

    Parameters are the leaves below `outputs` that require a gradient (ggml_set_param); they are moved in place. Without
    any, nothing but losses is computed. What else has data is a constant: random keys too, so that a dropout drops the
    same elements in every batch. Leaves without data are read from the storage in every batch.

    Attributes:
        epoch: the argument of `get_opt_pars`, set by the caller; it starts at 1.
        iteration: the number of the coming step of the optimizer, from 1.
        generator: the source of every shuffle.
    """

    def __init__(
        self,
        inputs: Value,
        outputs: Value,
        loss_type: LossType | str | int,
        options: OptOptions = OptOptions(),
    ) -> None:
        """Append loss, gradients and steps to the graph (ggml_opt_init).

        Args:
            inputs: a leaf without data; its first axis counts the datapoints of a physical batch.
            outputs: operand of the loss; for CROSS_ENTROPY logits whose last axis has one entry for each class.
            loss_type: see `LossType`; the labels have shape and dtype of the outputs.
            options: optimizer, period, memory and shuffles.

        Raises:
            UnknownName: no such loss, optimizer or build type; the message lists those that exist.
            AttributeValueError: `opt_period` below 1.
            DataError: a leaf without data.
        """
        if options.opt_period < 1:
            raise AttributeValueError(f"opt_period {options.opt_period} must be at least 1")
        self.loss_type = parse_kind(LossType, loss_type)
        self.optimizer = parse_kind(OptimizerType, options.optimizer)
        self.get_opt_pars = options.get_opt_pars
        self.opt_period = options.opt_period
        build = parse_kind(BuildType, options.build_type)
        self._step = trace_step(
            inputs,
            outputs,
            self.loss_type,
            self.optimizer,
            opt_period=options.opt_period,
            build_type=build,
            storage=options.storage,
        )
        self.build_type = build if self._step.gradients else BuildType.FORWARD
        self.generator = np.random.Generator(np.random.Philox(options.seed))
        self.epoch = 1
        self.iteration = 1
        self._position = 0  # in the window of opt_period batches; evaluations without gradients do not count
        self._state = self._allocate(options.storage)
        self._executors: dict[BuildType, NumpyExecutor] = {}
        self._latest: NumpyExecutor | None = None

    @property
    def inputs(self) -> Value:
        """The leaf that receives batches (ggml_opt_inputs)."""
        return self._step.inputs

    @property
    def nbatch_physical(self) -> int:
        """Datapoints of a physical batch: the first axis of the inputs, which is the last one in ggml's order."""
        return self.inputs.shape[0]

    @property
    def ndata_batch(self) -> int:
        """Datapoints that a result counts for a batch: rows of the outputs, ne[1] in ggml's order.

        A row lies along the last axis, so outputs with a single axis are one row.
        """
        shape = self._step.outputs.shape
        return shape[-2] if len(shape) > 1 else 1

    @property
    def parameters(self) -> dict[str, Array]:
        """The parameters that are moved, by name, in their own memory."""
        return {name: self._state[LEAF + name] for name in self._step.gradients}

    def outputs(self) -> Array:
        """Return a copy of the outputs of the latest evaluation (ggml_opt_outputs)."""
        if self._latest is None:
            raise DataError("nothing has been evaluated yet; call evaluate first")
        return self._latest.outputs["outputs"].copy()

    def grad_acc(self, parameter: str | Value) -> Array | None:
        """Return the gradients added up for a parameter or its name, in their own memory (ggml_opt_grad_acc).

        None for what has none: no parameter that the loss depends on, or gradients that are used up at once since every
        batch is followed by a step.
        """
        if isinstance(parameter, Value):
            parameter = next((name for name, leaf in self._step.leaves.items() if leaf is parameter), "")
        return self._state.get(GRADIENT + parameter)

    def reset(self, *, optimizer: bool = False) -> None:
        """Forget the gradients added up; with `optimizer` also moments and the count of steps (ggml_opt_reset).

        The next batch starts a window.
        """
        for name, array in self._state.items():
            if name.startswith(GRADIENT) or (optimizer and not name.startswith(LEAF)):
                array.fill(0)
        self._position = 0
        if optimizer:
            self.iteration = 1

    def evaluate(
        self, data: Array, labels: Array | None = None, *, backward: bool, result: OptResult | None = None
    ) -> float:
        """Evaluate one physical batch, and return its loss (ggml_opt_alloc and ggml_opt_eval).

        Args:
            data: as many elements as the inputs have.
            labels: as many elements as the outputs have; None when the loss takes none.
            backward: add the gradients up, and take a step when a window is full.
            result: gets the loss and what the batch was predicted to be.

        Returns:
            What was differentiated: for an average per datapoint, one `opt_period`-th of the loss of the batch.
        """
        build = self._begin() if backward else BuildType.FORWARD
        executor = self._executors.get(build)
        if executor is None:
            executor = self._executors[build] = NumpyExecutor(self._step.plan(build), self._state)
        _feed("inputs", executor.inputs[INPUTS], data)
        if self._step.labels is not None:
            if labels is None:
                raise DataError(f"the loss {self.loss_type.name} needs labels; give the dataset some")
            _feed("labels", executor.inputs[LABELS], labels)
        if build is BuildType.OPT:
            executor.inputs[NUMBERS][...] = self._read_parameters()
        executor.run()
        self._latest = executor
        if backward:
            self._end(build)
        if result is not None:
            result.add(self._batch(executor))
        return float(executor.outputs["loss"])

    def _begin(self) -> BuildType:
        """Return what the coming batch needs; gradients start from 0 in each window."""
        if self.build_type is not BuildType.OPT:
            return self.build_type
        if self._position == 0 and self._step.accumulate:
            for name in self._step.gradients:
                self._state[GRADIENT + name].fill(0)
        return BuildType.OPT if self._position == self.opt_period - 1 else BuildType.GRAD

    def _end(self, build: BuildType) -> None:
        self._position = (self._position + 1) % self.opt_period
        if build is BuildType.OPT:
            self.iteration += 1
            for name, array in self.parameters.items():
                leaf = self._step.leaves[name]
                if leaf.data is array:  # a tape that saved it must see that it has changed
                    leaf.shared_counter().version += 1

    def _read_parameters(self) -> list[float]:
        """Ask for the numbers of a step, and return them as the op of the optimizer takes them."""
        pars = self.get_opt_pars(self.epoch)
        if not isinstance(pars, OptimizerParameters):
            raise AttributeValueError(f"get_opt_pars must return OptimizerParameters, not a {type(pars).__name__}")
        if self.optimizer is OptimizerType.SGD:
            return [pars.sgd.alpha, pars.sgd.wd]
        numbers = pars.adamw
        with np.errstate(divide="ignore"):
            corrections = [float(1 / np.float64(1 - beta**self.iteration)) for beta in (numbers.beta1, numbers.beta2)]
        return [numbers.alpha, numbers.beta1, numbers.beta2, numbers.eps, numbers.wd, *corrections]

    def _batch(self, executor: NumpyExecutor) -> Batch:
        outputs = executor.outputs
        loss = float(outputs["loss"])
        if "predictions" not in outputs:
            return Batch(self.ndata_batch, loss, self.opt_period, self.loss_type.per_datapoint)
        predictions, ncorrect = outputs["predictions"].reshape(-1), int(outputs["ncorrect"])
        return Batch(self.ndata_batch, loss, self.opt_period, self.loss_type.per_datapoint, predictions, ncorrect)

    def _allocate(self, storage: Storage | None) -> dict[str, Array]:
        state = {LEAF + name: _array_for(name, leaf, storage) for name, leaf in self._step.leaves.items()}
        for name, spec in self._step.states.items():
            if name not in state:
                state[name] = np.zeros(spec.shape, spec.dtype)
        return state


def _array_for(name: str, leaf: Value, storage: Storage | None) -> Array:
    """Return the array that a leaf lives in; a leaf's own is brought to row-major order first."""
    if storage is not None and storage.is_filled(leaf):
        return storage.writable(leaf)
    if leaf.data is None:
        raise DataError(f"leaf {name!r} has no data and is not the inputs; set it in a storage, and pass storage=")
    if not leaf.data.flags.c_contiguous or not leaf.data.flags.writeable:
        leaf.data = leaf.data.copy()
    return leaf.data


def _feed(what: str, target: Array, source: Array) -> None:
    """Copy a batch in; datapoints may have another shape of as many elements."""
    if source.size != target.size:
        raise ShapeError(
            f"the {what} are {_format(target.shape)}, a batch of {_format(source.shape)} does not fit them"
        )
    if source.dtype != target.dtype:
        raise DataError(f"the {what} are {target.dtype.name}, the batch is {source.dtype.name}; cast the dataset")
    np.copyto(target, source.reshape(target.shape))


def _format(shape: Shape) -> str:
    return str(list(shape))
