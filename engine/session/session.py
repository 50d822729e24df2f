"""Session: a training loop that the caller drives, over plans."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from engine.core.array_statistics import ArrayStatistics, array_statistics
from engine.core.dtypes import FLOAT64
from engine.core.errors import DataError, DocumentError, Finding, GradientError
from engine.core.value import Array
from engine.data.checkpoint import SCALES, Checkpoint
from engine.data.scaling import Scales
from engine.data.table.preprocessing import Preprocessing, meta_with_preprocessing, preprocessing_of_checkpoint
from engine.data.table.raw import RawColumn
from engine.diagnostics.profiling import Timing, plan_of_update, profile, profile_update
from engine.diagnostics.row_losses import losses_by_row
from engine.execution.interpreter.node_runner import NodeRunner
from engine.execution.interpreter.nonfinite import Nonfinite, first_nonfinite
from engine.execution.interpreter.point import EvaluationPoint
from engine.execution.native import most_shards
from engine.execution.plan import NumpyExecutor
from engine.graph.definition import Definition, InputSpec, needed_inputs, without_inputs
from engine.graph.shape_inference import infer_shapes
from engine.graph.tensors import as_numbers
from engine.session.batch import Batch, BatchReader, Wanted, check_arrays, check_request, unknown_name
from engine.session.passes import Passes
from engine.session.results import Forward, Gradients, PassResult, Tape, UpdateResult
from engine.session.state import Counters, SessionState, load_parameters, restore, snapshot
from engine.session.update import OptimizerSteps
from engine.training.execution import AUTO, Execution
from engine.training.predictor import Predictor
from engine.training.recipe.options import Precision
from engine.training.recipe.recipe import read_recipe
from engine.training.step.accumulation import reached_from
from engine.training.step.plans import plan_evaluation
from engine.training.step.reduction import Reduction
from engine.training.step.trial import batch_reduction
from engine.training.train_state import at_precision


class Session:
    """A model in training whose steps the caller takes, with PyTorch's semantics: gradients add up until `optim_step`.

    A session that goes on from a fit with `normalize` takes inputs in the units of the data, and `predict` gives them
    back; losses, outputs of `forward` and gradients are those of the graph, in normalised units.

    A call that raises has changed nothing. Random draws follow from the seed and the number of the pass, so that a
    snapshot and the same calls again give the same bits. One call at a time.

    Attributes:
        definition: the graph, at the precision of the session.
        step: number of optimizer steps.
        passes: forward passes that were counted: all but those of `predict` and of what only looks.
    """

    def __init__(
        self,
        definition: Definition,
        optimizer: str | Mapping[str, Any] = "adam",
        *,
        seed: int = 0,
        precision: Precision = "float32",
        clip: Mapping[str, Any] | None = None,
        execution: Execution = AUTO,
    ) -> None:
        """Initialise the model; plans are made by the first calls.

        Args:
            definition: the graph, with outputs or losses or both.
            optimizer: as in a recipe: its kind, or an object with options and groups.
            seed: what first values and random draws come from.
            precision: number formats, see `Recipe`.
            clip: limits on gradients, see `Clip`.
            execution: executor and threads; a session runs on one rank.

        Raises:
            DocumentError: with a pointer into these arguments.
        """
        given = {"optimizer": optimizer, "seed": seed, "precision": precision, "clip": clip or {}}
        self._recipe = read_recipe({**given, "steps": 1, "record": {"gradient_norms": False}})
        if self._recipe.closure:
            detail = "lbfgs evaluates the loss several times a step, which is the caller's to do here; take another"
            raise DocumentError([Finding("/optimizer", "conflict", detail)])
        self.execution = execution.resolve()
        self._given = definition
        self.definition = at_precision(definition, self._recipe.precision)
        self._counters = Counters(seed)
        self._scales = Scales()
        self._preprocessing: Preprocessing | None = None
        self._feeds = BatchReader(self.definition)
        self._needed: dict[tuple[str, bool], tuple[str, ...]] = {}
        self._owner = object()
        self._parameters_version = self._buffers_version = 0
        self._predictor: Predictor | None = None
        self._predictor_version = (-1, -1)
        groups, parameters = self._recipe.groups, self.definition.parameters
        frozen = {name for name, spec in parameters.items() if groups.frozen(name, spec.shape)}
        reached = reached_from(infer_shapes(self.definition, trials=1).graph)
        self._reached = {name: found - frozen for name, found in reached.items()}
        by_losses = frozenset[str]().union(*(self._reached[name] for name in self.definition.losses))
        apart = {name: 1 for name in parameters if by_losses and name not in by_losses}
        self._work_on(SessionState(self.definition, self._recipe, self.execution, apart))

    def _work_on(self, work: SessionState) -> None:
        self._work = work
        shards = most_shards(self.execution.executor)
        self._passes = Passes(work, self._recipe, self._feeds, self._reached, shards)
        self._updating = OptimizerSteps(work, self._recipe)

    @property
    def step(self) -> int:
        """Number of optimizer steps."""
        return self._counters.step

    @property
    def passes(self) -> int:
        """Forward passes that were counted."""
        return self._counters.passes

    @property
    def seed(self) -> int:
        """Seed of random draws; restoring a snapshot replaces it."""
        return self._counters.seed

    @property
    def parameters(self) -> dict[str, Array]:
        """The parameters by name: windows that cannot be written to, and that the next step changes."""
        return {name: _window(array) for name, array in self._work.model.parameters.items()}

    @property
    def buffers(self) -> dict[str, Array]:
        """The buffers by name, likewise."""
        return {name: _window(array) for name, array in self._work.model.buffers.items()}

    @property
    def gradients(self) -> dict[str, Array | None]:
        """The sums of gradients by parameter, likewise; None where no backward pass has reached."""
        found = {name: self._work.gradient(name) for name in self.definition.parameters}
        return {name: None if array is None else _window(array) for name, array in found.items()}

    def norms(self) -> Gradients:
        """Return the norms of the gradients that there are, before clipping."""
        return self._work.gradients()

    def forward(self, inputs: Mapping[str, Any], *, training: bool = True, keep: bool = False) -> Forward:
        """Run a forward pass: outputs and losses.

        Args:
            inputs: an array for each input that outputs, losses or, in training, running statistics depend on.
            training: whether dropout drops, and running statistics are used and updated as in training.
            keep: whether `backward` is to be called: then there is a tape.

        Raises:
            DocumentError: inputs that do not suit, with pointers.
        """
        keeping = (self._owner, self._parameters_version) if keep else None
        batch = self._batch(inputs, self.inputs_needed("forward", training=training))
        done, limited = self._passes.forward(batch, self._key, training=training, keep=keeping)
        self._count(1, limited=limited)
        if limited and done.tape is not None:
            done = replace(done, tape=replace(done.tape, version=self._parameters_version))
        return done

    def backward(self, tape: Tape, cotangents: Mapping[str, Any]) -> Gradients:
        """Add to the gradients the vector-Jacobian product of the outputs and losses that have cotangents.

        Args:
            tape: of a forward pass since which no parameter has changed; it can be used again.
            cotangents: by output or loss an array of its shape.

        Raises:
            GradientError: the tape is of another session, or of other parameters.
            DocumentError: cotangents that do not suit, with pointers.
        """
        if tape.owner is not self._owner:
            raise GradientError("the tape was kept by another session; call forward(keep=True) on this one")
        if tape.version != self._parameters_version:
            raise GradientError("the parameters have changed since the tape was kept; call forward(keep=True) again")
        self._passes.backward(tape, cotangents)
        return self._work.gradients()

    def forward_backward(
        self,
        inputs: Mapping[str, Any],
        *,
        reduction: Wanted | None = None,
        outputs: bool = False,
        micro_batch_size: int | None = None,
    ) -> PassResult:
        """Run forward and backward, and add the gradients of the sum of the losses.

        Args:
            inputs: an array for each input that the losses, the wanted outputs or running statistics depend on.
            reduction: "sum" or "mean" over rows; by default that of the loss of the graph. With
                "sum", calls for the parts of a batch come to the bits of one call with `micro_batch_size`.
            outputs: whether the declared outputs are wanted.
            micro_batch_size: rows that are computed at a time, each such part a pass of its own.

        Raises:
            DocumentError: inputs that do not suit, or a reduction that cannot be had, with pointers.
        """
        check_request(self.definition, reduction, micro_batch_size, outputs=outputs)
        batch = self._batch(inputs, self.inputs_needed("forward" if outputs else "losses"))
        natural = None if reduction is None and micro_batch_size is None else self._reduction
        done = self._passes.forward_backward(
            batch, self._key, natural, reduction, size=micro_batch_size, outputs=outputs
        )
        self._count(done.count, limited=done.limited)
        found = self._work.gradients()
        loss = done.losses.pop("")
        return PassResult(done.losses, loss, found.norm, found.norms, done.outputs if outputs else None)

    def optim_step(self, **hyperparameters: Any) -> UpdateResult:
        """Take an optimizer step for the parameters with gradients, clipped as `clip` says; then clear the gradients.

        Args:
            hyperparameters: options of the optimizer for this step alone (lr, weight_decay, betas, ...), in all of its
                groups; `groups`, a list of objects, gives options to single ones. A new rate costs nothing, another
                option that was not given so lately a plan of the update.

        Raises:
            DocumentError: an unknown option, or one that does not suit, with its pointer.
            NumericalError: gradients are not finite, and clip.nonfinite is "error".
        """
        self._set_apart()
        updated = self._updating.step((self._counters.seed, self._counters.step), hyperparameters)
        self._work.clear(forget=True)
        self._counters.step = updated.step
        self._parameters_version += updated.taken
        return updated

    def _set_apart(self) -> None:
        """See to it that parameters without a gradient are in no vector with others that have one."""
        work = self._work
        if len(work.reached) == work.trained:
            return
        lonely = [n for flat in work.flats_of(work.reached) for n in flat.shapes if n not in work.reached]
        if lonely:
            self._work_on(work.split(lonely))

    def zero_grad(self, *, set_to_none: bool = False) -> None:
        """Set the gradients that there are to 0; with `set_to_none` there are none then."""
        self._work.clear(forget=set_to_none)

    def reset(self, *, gradients: bool = True, momenta: bool = False) -> None:
        """Set the gradients to 0, as `zero_grad`; with `momenta` reset the optimizer state too."""
        if gradients:
            self._work.clear(forget=False)
        if momenta:
            self._work.clear_momenta()

    def set_parameters(self, arrays: Mapping[str, Any]) -> None:
        """Copy arrays into parameters; all of them, or none.

        Raises:
            DocumentError: an unknown name, or an array that does not suit, with its pointer.
        """
        checked = check_arrays(self.definition.parameters, arrays, "/parameters")
        for name, array in checked.items():
            self._work.model.parameters[name][...] = array
        self._parameters_version += 1

    def set_gradient(self, name: str, array: Any) -> None:
        """Replace the gradient of a parameter by an array, or remove it (None).

        Raises:
            DocumentError: an unknown or frozen parameter, or an array that does not suit, with its pointer.
        """
        trained = {n: spec for n, spec in self.definition.parameters.items() if self._work.trains(n)}
        if name not in trained:
            raise DocumentError([unknown_name("/gradients", name, trained)])
        checked = None if array is None else check_arrays(trained, {name: array}, "/gradients")[name]
        self._work.set_gradient(name, checked)

    def statistics(
        self, name: str, of: Literal["gradients", "parameters", "buffers"] = "gradients"
    ) -> ArrayStatistics | None:
        """Return an array in a few numbers, `ArrayStatistics`; None for a gradient that there is not.

        Raises:
            DocumentError: there is none of this name.
        """
        arrays: Mapping[str, Array | None] = getattr(self, of)
        if name not in arrays:
            raise DocumentError([unknown_name(f"/{of}", name, arrays)])
        array = arrays[name]
        return None if array is None else array_statistics(array)

    def predict(self, inputs: Mapping[str, Any], *, chunk: int = 256) -> dict[str, Array]:
        """Compute the outputs in evaluation mode, as `Predictor.predict` does, from the inputs that they need."""
        return self._current_predictor().predict(inputs, chunk)

    @property
    def preprocessing(self) -> Preprocessing | None:
        """What makes inputs of raw columns, as in the fit that the session goes on from; None if nothing does."""
        return self._preprocessing

    @property
    def predict_inputs(self) -> tuple[str, ...]:
        """The inputs that `predict` needs: those that the outputs depend on."""
        return self._current_predictor().inputs

    @property
    def fed_inputs(self) -> dict[str, InputSpec]:
        """The inputs as numbers for them are read: those that are normalised first in float64."""
        inputs = self.definition.inputs.items()
        return {name: replace(spec, dtype=FLOAT64) if name in self._scales else spec for name, spec in inputs}

    def encode(self, inputs: Mapping[str, Any], needed: Collection[str]) -> Mapping[str, Any]:
        """Return the inputs of a call with raw columns replaced by the inputs that are made of them.

        Raises:
            DocumentError: a raw column is missing, or holds a value that the model does not take.
        """
        if self._preprocessing is None:
            return inputs
        dtypes = {name: spec.dtype for name, spec in self.fed_inputs.items()}
        return self._preprocessing.encode(inputs, dtypes, tuple(needed))

    def preprocess(self, name: str, columns: Mapping[str, RawColumn], rows: Array | range) -> Array:
        """Return rows of an input that is made of raw columns, as `encode` does of values.

        Raises:
            DataError: a column holds a value that the model does not take; the message names column and row.
        """
        if self._preprocessing is None or name not in self._preprocessing.inputs:
            raise DataError(f"input {name!r} is not made of raw columns")
        return self._preprocessing.transform(name, columns, rows, self.fed_inputs[name].dtype)

    def inputs_needed(self, wanted: Literal["forward", "losses"], *, training: bool = True) -> tuple[str, ...]:
        """Return the inputs that a pass must be given.

        Args:
            wanted: "forward" for the declared outputs and the losses, "losses" for these alone.
            training: whether running statistics and other buffers are updated, which then are computed too.
        """
        key = (wanted, training)
        if key not in self._needed:
            outputs = self.definition.outputs if wanted == "forward" else ()
            references = (*outputs, *self.definition.losses)
            self._needed[key] = needed_inputs(self.definition, references, training=training)
        return self._needed[key]

    def _batch(self, inputs: Mapping[str, Any], needed: Collection[str]) -> Batch:
        """Return the inputs of a call, checked; those that the parameters were trained on normalised are too."""
        inputs = self.encode(inputs, needed)
        if not self._scales.of:
            return self._feeds.batch(inputs, needed)
        scaled = {}
        for name, value in inputs.items():
            array = as_numbers(value) if name in self._scales else None
            with np.errstate(all="ignore"):
                scaled[name] = value if array is None else self._scales.apply(name, array)
        return self._feeds.batch(scaled, needed)

    def _current_predictor(self) -> Predictor:
        version = (self._parameters_version, self._buffers_version)
        if self._predictor is None or self._predictor_version != version:
            learned = Checkpoint(
                self._work.model.parameters,
                self._work.model.buffers,
                state=self._scale_arrays(),
                meta=meta_with_preprocessing({}, self._preprocessing),
            )
            if self._predictor is None:
                self._predictor = Predictor(self._given, learned, self._recipe.precision)
            else:
                self._predictor.load(learned)
            self._predictor_version = version
        return self._predictor

    def snapshot(self) -> Checkpoint:
        """Copy parameters, buffers, optimizer state, gradients and counters; tapes are not in it."""
        checkpoint = snapshot(self._work, self._counters, self.execution.executor)
        checkpoint.state.update(self._scale_arrays())
        checkpoint.meta = meta_with_preprocessing(checkpoint.meta, self._preprocessing)
        return checkpoint

    def _scale_arrays(self) -> dict[str, Array]:
        return {SCALES + name: array.copy() for name, array in self._scales.to_arrays().items()}

    def restore(self, checkpoint: Checkpoint, *, optimizer: bool = True) -> None:
        """Go on from a checkpoint: with the same calls, to the same bits.

        Inputs that its parameters were trained on normalised are normalised by it from then on, as in predictions.

        Args:
            checkpoint: of a session, or of a fit by the same optimizer, whose gradients are none.
            optimizer: without, only parameters and buffers are taken, and optimizer and gradients are reset; the graph
                may be another one then.

        Raises:
            CheckpointError: it does not belong to this graph or optimizer, or is damaged.
        """
        scales = Scales.from_arrays(checkpoint.under(SCALES))
        preprocessing = preprocessing_of_checkpoint(checkpoint.meta)
        if optimizer:
            work, self._counters = restore(checkpoint, self._work, self._counters)
            self._work_on(work)
        else:
            load_parameters(checkpoint, self._work)
            self._counters.step = 0
        self._scales, self._preprocessing = scales, preprocessing
        self._parameters_version += 1
        self._buffers_version += 1

    def losses_by_row(self, inputs: Mapping[str, Any]) -> Array:
        """Return the loss of each row, in evaluation mode, float64 [rows]."""
        work = self._work
        batch = self._batch(inputs, self.inputs_needed("losses", training=False))

        def bind(dims: Mapping[str, int]) -> NumpyExecutor:
            return work.executors.of(("row", tuple(dims.items())), plan_evaluation, work.model, dims, ())

        return losses_by_row(self.definition, batch.arrays, bind)

    def first_nonfinite(self, inputs: Mapping[str, Any]) -> Nonfinite | None:
        """Find the first that is not finite: of the leaves, of the nodes in order, then of the backward pass's."""
        return first_nonfinite(self._runner(inputs))

    def profile(self, inputs: Mapping[str, Any], repeats: int = 1) -> list[Timing]:
        """Measure a step node by node, forward, backward and update, each by its NumPy kernel; nothing is changed.

        With several `repeats`, times are medians.
        """
        timings, model = profile(self._runner(inputs), repeats), self._work.model
        if not model.flat_groups:
            return timings
        return [*timings, *profile_update(plan_of_update(model, self._recipe), self._work.arrays, repeats)]

    def _runner(self, inputs: Mapping[str, Any]) -> NodeRunner:
        needed = self.inputs_needed("losses" if self.definition.losses else "forward", training=False)
        batch, model, (seed, passes) = self._batch(inputs, needed), self._work.model, self._key
        states = {**model.parameters, **model.buffers}
        definition = without_inputs(self.definition, self.definition.inputs.keys() - batch.arrays.keys())
        return NodeRunner(EvaluationPoint(definition, batch.arrays, states, seed, True, batch.dims, passes))

    @cached_property
    def _reduction(self) -> Reduction | None:
        return batch_reduction(self.definition)

    @property
    def _key(self) -> tuple[int, int]:
        return self._counters.seed, self._counters.passes

    def _count(self, passes: int, *, limited: bool) -> None:
        self._counters.passes += passes
        self._parameters_version += limited
        self._buffers_version += bool(self.definition.buffers)


def _window(array: Array) -> Array:
    window = array.view()
    window.flags.writeable = False
    return window
