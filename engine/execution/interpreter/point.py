"""Evaluation points: the inputs, parameters and mode at which a request evaluates a graph, read strictly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.core.errors import REFUSALS, DocumentError, EngineError, Finding, escape, nearest
from engine.core.options import Reader
from engine.core.value import Array
from engine.execution.plan import NumpyExecutor
from engine.graph.definition import Definition, needed_inputs, without_inputs
from engine.graph.tensors import read_tensor
from engine.graph.trace import KEY, bind_dims
from engine.nn.initializers import initial_cost, initialize

WITHOUT_MODE = ("inputs", "parameters", "buffers", "seed")
FIELDS = (*WITHOUT_MODE, "training")
STATES = ("parameters", "buffers")


@dataclass(frozen=True, slots=True)
class EvaluationPoint:
    """What one evaluation of a graph needs: inputs, some parameters and buffers, the seed of the others, and the mode.

    Inputs that the request leaves out are no inputs of `definition`. `passes` is the number of earlier passes that drew
    random numbers from the seed.
    """

    definition: Definition
    inputs: Mapping[str, Array]
    given: Mapping[str, Array]
    seed: int
    training: bool
    dims: Mapping[str, int]
    passes: int = 0

    @property
    def key(self) -> Array:
        """The random key that feeds every random op."""
        return np.array([self.seed, self.passes])

    @property
    def initial_bytes(self) -> int:
        """The most that drawing the parameters and buffers that are not given takes at a time beside them."""
        return max((taken for taken, _ in self._initial_costs()), default=0)

    @property
    def draw_operations(self) -> int:
        """Estimated arithmetic operations of drawing them."""
        return sum(operations for _, operations in self._initial_costs())

    def _initial_costs(self) -> Iterator[tuple[int, int]]:
        for table in STATES:
            for name, spec in getattr(self.definition, table).items():
                if name not in self.given:
                    yield initial_cost(spec.init, spec.shape)

    def state(self) -> dict[str, Array]:
        """Return every parameter and buffer, row-major; those not given are initialised from the seed."""
        arrays = {}
        for table in STATES:
            for name, spec in getattr(self.definition, table).items():
                array = self.given.get(name)
                if array is None:
                    array = initialize(spec.init, name, spec.shape, spec.dtype, self.seed)
                arrays[name] = np.ascontiguousarray(array).reshape(spec.shape)
        return arrays


def read_point(
    definition: Definition, request: Mapping[str, Any], reader: Reader, *, training: bool = False, wanted: Any = None
) -> EvaluationPoint:
    """Read the fields `FIELDS` of a request.

    Args:
        definition: the graph. The point has it without the inputs that are left out and what depends on them.
        request: what is read; an input that nothing wanted depends on need not be in it.
        reader: where faults go.
        training: the mode where the request gives none.
        wanted: what is asked for beside the losses: "outputs" for those that are declared, and any document in which
            values and inputs are named; left out, the outputs if there is no loss.

    Raises:
        DocumentError: every fault up to here, with pointers into the request.
    """
    seed = reader.typed(request.get("seed", 0), int, "/seed", "seed", 0)
    training = reader.typed(request.get("training", training), bool, "/training", "training", training)
    inputs = _tensors(definition, request, "inputs", reader)
    present = request.get("inputs") or {}
    for name in needed_inputs(definition, (*definition.losses, *_wanted(definition, wanted))):
        if isinstance(present, Mapping) and name not in present:
            reader.fault("/inputs", "missing_field", f"the input {name!r} is required")
    given = {}
    for table in STATES:
        for name, array in _tensors(definition, request, table, reader).items():
            given[name] = array
            declared = getattr(definition, table)[name].shape
            if array.shape != declared and not _faulty(reader, f"/{table}/{escape(name)}"):
                detail = f"{name!r} has shape {list(array.shape)}, the graph declares {list(declared)}"
                reader.fault(f"/{table}/{escape(name)}", "shape_mismatch", detail)
    reader.finish()
    dims = bind_dims(definition, {name: array.shape for name, array in inputs.items()})
    dims = {**dict.fromkeys(definition.dimension_names, 1), **dims}
    remaining = without_inputs(definition, definition.inputs.keys() - inputs.keys())
    return EvaluationPoint(remaining, inputs, given, seed, training, dims)


def _wanted(definition: Definition, wanted: Any) -> list[str]:
    """Return the references in a document of what is wanted."""
    if wanted is None:
        return [] if definition.losses else list(definition.outputs)
    found: list[str] = []
    waiting = [wanted]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found += definition.outputs if item == "outputs" else [item]
        elif isinstance(item, Mapping):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            waiting += item
    return found


def run(executor: NumpyExecutor) -> None:
    """Run a plan on a client's numbers.

    Raises:
        DocumentError: numbers that an op does not take, such as an index out of range, which only a run shows.
    """
    with as_refusals():
        executor.run()


@contextmanager
def as_refusals() -> Iterator[None]:
    """Turn what kernels raise inside for numbers that do not suit them into faults of the inputs."""
    try:
        yield
    except EngineError as error:
        raise DocumentError([Finding("/inputs", error.code, str(error))]) from error
    except REFUSALS as error:
        detail = f"an op does not accept these numbers ({type(error).__name__}: {str(error)[:200]})"
        raise DocumentError([Finding("/inputs", EngineError.code, detail)]) from error


def feed(executor: NumpyExecutor, point: EvaluationPoint) -> None:
    """Write the inputs and the random key of a point."""
    for name, array in {**point.inputs, KEY: point.key}.items():
        executor.inputs[name][...] = array


def _tensors(definition: Definition, request: Mapping[str, Any], table: str, reader: Reader) -> dict[str, Array]:
    specs = getattr(definition, table)
    arrays = {}
    for name, value in reader.mapping(request.get(table, {}), f"/{table}").items():
        pointer = f"/{table}/{escape(name)}"
        if name not in specs:
            known = f"the graph's {table} are {', '.join(specs) or 'none'}"
            reader.fault(pointer, "unknown_name", known + nearest(str(name), specs))
            continue
        arrays[name] = read_tensor(value, pointer, reader, specs[name].dtype, nonfinite=True)
    return arrays


def _faulty(reader: Reader, pointer: str) -> bool:
    return any(finding.pointer.startswith(pointer) for finding in reader.findings)
