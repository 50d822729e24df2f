"""What a process can be ordered to compute, each verb as a document in which tensors are still arrays."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from app.domain.errors import Finding, Invalid
from app.domain.frames import Step, from_json
from app.domain.media import NPY
from app.domain.pointers import escaped
from app.ingest.arrays import read_arrays
from app.ingest.encoding.looks import (
    computed_document,
    gradcheck_document,
    profile_document,
    row_losses_document,
    trace_document,
)
from app.ingest.limits import IngestLimits
from app.service.resources.definitions import read_definition
from app.service.resources.engine_faults import engine_faults

Array = NDArray[Any]
Document = dict[str, Any] | Array

LABORATORY: Mapping[str, tuple[Callable[..., Any], Callable[[Any], dict[str, Any]]]] = MappingProxyType(
    {
        "compute": (engine.compute, computed_document),
        "gradcheck": (engine.check_gradients, gradcheck_document),
        "profile": (engine.profile_step, profile_document),
        "row_losses": (engine.row_losses, row_losses_document),
        "trace_nonfinite": (engine.trace_nonfinite, trace_document),
    }
)
"""By its verb, what looks at a graph at one point, and what encodes what it has found."""

GRAPHS_KEPT = 16
SMALL_BODY = 1 << 16
"""Graphs of bodies up to this size are kept: reading them takes longer than most of what is done with them."""


class Graphs:
    """Graphs that were read before, by their ids."""

    def __init__(self) -> None:
        """Begin with none."""
        self._read: OrderedDict[str, engine.Definition] = OrderedDict()

    def get(self, graph_id: str, document: object, *, keep: bool) -> engine.Definition:
        """Return the graph of a document, which is read if it was not."""
        definition = self._read.pop(graph_id, None) or read_definition(document)
        if keep:
            self._read[graph_id] = definition
            if len(self._read) > GRAPHS_KEPT:
                self._read.popitem(last=False)
        return definition


def look(step: Step, body: bytes, graphs: Graphs, admit: engine.Admit) -> Document:
    """Look at a graph at one point; Invalid, with pointers into the request."""
    said = from_json(body)
    definition = graphs.get(step.options["graph"], said["definition"], keep=len(body) <= SMALL_BODY)
    ask, document = LABORATORY[step.verb]
    with engine_faults():
        return document(ask(definition, said["request"], admit=admit))


def predict(step: Step, body: bytes, predictor: engine.Predictor, admit: engine.Admit) -> Document:
    """Compute the outputs of a model; one of them alone where the answer is to be `.npy`."""
    output = _output(step, predictor) if step.accept == NPY else None
    inputs = _inputs(step, body, predictor)
    with engine_faults():
        inputs = engine.encode_texts(predictor.classes, inputs)
    dtypes = predictor.input_dtypes
    arrays = {name: _array(name, value, dtypes.get(name)) for name, value in inputs.items()}
    with engine_faults():
        outputs = predictor.predict(arrays, admit=admit)
    return {"outputs": outputs, "classes": predictor.output_classes} if output is None else outputs[output]


def _inputs(step: Step, body: bytes, predictor: engine.Predictor) -> Mapping[str, Any]:
    if step.media != NPY:
        inputs: dict[str, Any] = from_json(body)["inputs"]
        return inputs
    array = read_arrays(body, NPY, IngestLimits()).arrays[""]
    name = step.options["input"]
    return dict.fromkeys(predictor.inputs[:1] if name is None else [name], array)


def _output(step: Step, predictor: engine.Predictor) -> str:
    outputs, name = predictor.definition.outputs, step.options["output"]
    if name is not None and name not in outputs:
        known = ", ".join(outputs)
        finding = Finding("/output", "unknown_name", f"there is no output of this name; the outputs are {known}")
        raise Invalid(finding.detail, code=finding.code, findings=[finding])
    return outputs[0] if name is None else str(name)


def _array(name: str, value: object, dtype: np.dtype[Any] | None) -> Array:
    if isinstance(value, np.ndarray):
        return value
    with engine_faults():
        return engine.read_tensor_document(value, f"/inputs/{escaped(name)}", dtype)
