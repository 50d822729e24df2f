"""A session of kind `training`: a training loop that the client drives, over the engine's session."""

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

import engine
from app.domain.documents import escape
from app.domain.errors import Finding, Gone, Invalid, NotFound
from app.domain.messages import SessionAssignment
from app.domain.runtime import Runtime
from app.service.resources.engine_documents import engine_faults
from app.worker.session.backend import (
    Call,
    Handler,
    Result,
    SessionBackend,
    StepDiagnostics,
    export_checkpoint,
    with_classes,
)
from app.worker.session.rows import Preprocess

MAX_TAPES = 16
MAX_TAPE_BYTES = 256 * 1024**2

_NAME = re.compile(r"tape_([1-9]\d{0,15})")


class Tapes:
    """The newest tapes, within limits; the newest one itself may be larger."""

    def __init__(self) -> None:
        self._tapes: OrderedDict[int, engine.Tape] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._tapes)

    def keep(self, seq: int, tape: engine.Tape) -> str:
        """Keep the tape of a step, and return its name."""
        self._tapes[seq] = tape
        self._bytes += tape.nbytes
        while len(self._tapes) > MAX_TAPES or (self._bytes > MAX_TAPE_BYTES and len(self._tapes) > 1):
            self._bytes -= self._tapes.popitem(last=False)[1].nbytes
        return f"tape_{seq}"

    def get(self, name: str) -> engine.Tape:
        """Return a tape; Gone if it was evicted, NotFound if the name is not one of a tape."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise NotFound(f"there is no tape {name[:64]!r}; tape ids are returned by :forward with keep")
        tape = self._tapes.get(int(match[1]))
        if tape is None:
            detail = (
                f"{name} is gone: {MAX_TAPES} tapes are kept, until the parameters change; call forward with keep again"
            )
            raise Gone(detail, code="tape_gone")
        return tape

    def clear(self) -> None:
        """Discard all tapes."""
        self._tapes.clear()
        self._bytes = 0


PREDICT_CHUNK = 256


class _HasDtype(Protocol):
    """What has elements of one type: an input, a parameter, an output."""

    @property
    def dtype(self) -> np.dtype[Any]: ...


class TrainingBackend(SessionBackend):
    """A model in training. Its transient state is the tapes.

    A snapshot holds parameters, buffers, optimizer state, gradients and counters.
    """

    _session: engine.Session

    def __init__(self, assignment: SessionAssignment, runtime: Runtime) -> None:
        super().__init__(assignment)
        request = assignment.request
        self._session = engine.Session(
            engine.read_checked_graph(assignment.definition),
            request["optimizer"],
            seed=request["seed"],
            precision=request["precision"],
            clip=request["clip"],
            execution=engine.Execution(runtime.executor, runtime.threads),
        )
        self._inputs = tuple(self._session.definition.inputs)
        self._tapes = Tapes()
        reading = StepDiagnostics(self._session)
        self.handlers: Mapping[str, Handler] = MappingProxyType(
            {
                "forward": Handler(self._forward, "log"),
                "backward": Handler(self._backward, "log"),
                "forward_backward": Handler(self._forward_backward, "log"),
                "optim_step": Handler(self._optim_step, "log"),
                "zero_grad": Handler(self._zero_grad, "log"),
                "reset": Handler(self._reset, "log"),
                "set": Handler(self._set, "log"),
                "set_parameter": Handler(self._set_parameter, "log"),
                "set_gradient": Handler(self._set_gradient, "log"),
                "save": Handler(self._save, "log"),
                "load": Handler(self._load, "snapshot"),
                "predict": Handler(self._predict),
                "row_losses": Handler(
                    lambda call: reading.row_losses(self._read_inputs(call), call.options.get("top"))
                ),
                "trace_nonfinite": Handler(lambda call: reading.trace(self._read_inputs(call))),
                "profile": Handler(lambda call: reading.profile(self._read_inputs(call))),
                "gradients": Handler(reading.gradients),
                "parameters": Handler(reading.parameters),
                "buffers": Handler(reading.buffers),
            }
        )

    @property
    def standing(self) -> dict[str, Any]:
        """Steps of the optimizer, forward passes, and tapes."""
        return {"step": self._session.step, "passes": self._session.passes, "tapes": len(self._tapes)}

    @property
    def has_transient_state(self) -> bool:
        """Whether there are tapes."""
        return len(self._tapes) > 0

    def discard_transient(self) -> None:
        """Discard the tapes."""
        self._tapes.clear()

    def start_from(self, path: Path, *, parameters_only: bool) -> None:
        """Initialise from a checkpoint of a fit or of a session."""
        self._session.restore(engine.Checkpoint.load(path), optimizer=not parameters_only)

    def _read_inputs(
        self, call: Call, names: tuple[str, ...] | None = None, needed: tuple[str, ...] | None = None
    ) -> Mapping[str, Any]:
        """Return the inputs of a call, as arrays or as the lists of numbers that the engine reads.

        `names` are those that are fed, by default all; `needed` those that must be, by default those for the losses.
        """
        rows = call.options.get("rows")
        if rows is not None:
            needed = self._session.inputs_needed("losses", training=False) if needed is None else needed
            optional = frozenset(self._inputs).difference(needed) if names is None else ()
            fed = self._inputs if names is None else names
            return self._rows.inputs(rows, call.options.get("feeds"), fed, optional, self._preprocess())
        if needed is None:
            needed = self._session.inputs_needed("losses", training=False) if names is None else names
        made = self._session.encode(call.options.get("inputs") or {}, needed)
        given = engine.encode_texts(self._rows.classes, made)
        call = replace(call, options={**call.options, "inputs": given})
        return _read_tensors(call, "inputs", self._inputs if names is None else names, self._session.fed_inputs)

    def _preprocess(self) -> Preprocess | None:
        preprocessing = self._session.preprocessing
        if preprocessing is None:
            return None
        return Preprocess({n: each.columns for n, each in preprocessing.inputs.items()}, self._session.preprocess)

    def _forward(self, call: Call) -> Result:
        keep = call.options.get("keep", False)
        training = call.options.get("training", True)
        needed = self._session.inputs_needed("forward", training=training)
        done = self._session.forward(self._read_inputs(call, needed=needed), training=training, keep=keep)
        tape_id = None
        if done.tape is not None:
            assert call.seq is not None  # it is logged
            tape_id = self._tapes.keep(call.seq, done.tape)
        return Result({"outputs": dict(done.outputs), "losses": dict(done.losses), "tape_id": tape_id})

    def _backward(self, call: Call) -> Result:
        tape = self._tapes.get(call.options["tape_id"])
        found = self._session.backward(tape, _read_tensors(call, "cotangents", tuple(tape.ends), tape.ends))
        return Result({"grad_norm": found.norm, "grad_norms": dict(found.norms)})

    def _forward_backward(self, call: Call) -> Result:
        options = call.options
        needed = self._session.inputs_needed("forward" if options.get("outputs") else "losses")
        done = self._session.forward_backward(
            self._read_inputs(call, needed=needed),
            reduction=options.get("reduction"),
            micro_batch_size=options.get("micro_batch_size"),
            outputs=options.get("outputs", False),
        )
        fields = {"loss": done.loss, "losses": done.losses, "grad_norm": done.norm, "grad_norms": done.norms}
        return Result(fields if done.outputs is None else {**fields, "outputs": dict(done.outputs)})

    def _optim_step(self, call: Call) -> Result:
        if "self" in call.options:
            detail = "no optimizer has an option called 'self'"
            raise Invalid(detail, code="attribute_invalid", findings=[Finding("/self", "attribute_invalid", detail)])
        done = self._session.optim_step(**call.options)
        if done.taken:
            self._tapes.clear()
        norms = {"grad_norm": done.norm, "grad_norms": done.norms}
        return Result({"step": done.step, **norms, "clipped": done.clipped, "taken": done.taken})

    def _zero_grad(self, call: Call) -> Result:
        self._session.zero_grad(set_to_none=call.options.get("set_to_none", False))
        return Result()

    def _reset(self, call: Call) -> Result:
        self._session.reset(gradients=call.options.get("gradients", True), momenta=call.options.get("momenta", False))
        return Result()

    def _set(self, call: Call) -> Result:
        self._session.set_parameters(_read_tensors(call, "parameters", (), self._session.definition.parameters))
        self._tapes.clear()
        return Result()

    def _set_parameter(self, call: Call) -> Result:
        self._session.set_parameters({call.options["name"]: self._value(call)})
        self._tapes.clear()
        return Result()

    def _set_gradient(self, call: Call) -> Result:
        self._session.set_gradient(call.options["name"], self._value(call))
        return Result()

    def _value(self, call: Call) -> Any:
        """Return the tensor that a body is for the parameter that the path names, None for null."""
        if call.arrays:
            if len(call.arrays) != 1:
                detail = f"the body holds {len(call.arrays)} arrays, and one is put in a place"
                raise Invalid(detail, code="tensor_invalid", findings=[Finding("", "tensor_invalid", detail)])
            return next(iter(call.arrays.values()))
        value, spec = call.options.get("value"), self._session.definition.parameters.get(call.options["name"])
        return None if value is None else _read_tensor(value, "", spec)

    def _predict(self, call: Call) -> Result:
        names = self._session.predict_inputs
        return Result(
            {
                "outputs": self._session.predict(
                    self._read_inputs(call, names), chunk=call.options.get("chunk") or PREDICT_CHUNK
                )
            }
        )

    def _save(self, call: Call) -> Result:
        fields = {"step": self._session.step}
        if call.seq in self._saved:
            return Result(fields)
        return export_checkpoint(call, self._checkpoint, fields)

    def _checkpoint(self) -> engine.Checkpoint:
        return with_classes(self._session.snapshot(), self._rows.classes)

    def _load(self, call: Call) -> Result:
        checkpoint = engine.Checkpoint.load(Path(call.files["checkpoint"]))
        self._session.restore(checkpoint, optimizer=call.options.get("optimizer", True))
        self._tapes.clear()
        return Result({"step": self._session.step})


def _read_tensors(call: Call, field: str, names: tuple[str, ...], specs: Mapping[str, _HasDtype]) -> Mapping[str, Any]:
    """Return tensors by name, those of a binary body or of a field; an array without a name is that of the only one.

    Numbers take the dtypes that `specs` have for their names; other names are reported by the engine.
    """
    if not call.arrays:
        tensors: Mapping[str, Any] = call.options.get(field) or {}
        return {
            name: _read_tensor(given, f"/{field}/{escape(name)}", specs.get(name)) for name, given in tensors.items()
        }
    if "" not in call.arrays:
        return call.arrays
    if len(names) != 1:
        detail = f"a .npy body holds one array, and {field} may be several; send safetensors or .npz, with names"
        raise Invalid(detail, code="unknown_name", findings=[Finding("", "unknown_name", detail)])
    return {names[0]: call.arrays[""]}


def _read_tensor(tensor: Any, pointer: str, spec: _HasDtype | None) -> Any:
    """Read a tensor of a JSON document as one of the dtype of `spec`; an array is one already."""
    if isinstance(tensor, np.ndarray):
        return tensor
    with engine_faults():
        return engine.read_tensor_document(tensor, pointer, None if spec is None else spec.dtype)
