"""Admission of sessions: everything about a session is validated before it is stored."""

import math
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import engine
from app.domain.documents import escape, nearest
from app.domain.errors import Finding
from app.domain.records import CheckpointRecord, Column, DatasetRecord, GraphRecord
from app.service.resources.engine_documents import engine_faults, invalid
from app.service.resources.memory import MemoryConfig, memory_terms
from app.service.resources.workers import check_resources, select_executor

CONTEXT_OPTIONS = ("size", "grads", "order", "mem_size", "no_alloc", "training")
"""What of a request says how the first graph and its context are made."""


def build_static_session(definition: engine.Definition, request: Mapping[str, Any]) -> engine.StaticSession:
    """Make a session of the engine as `request` says.

    Raises:
        EngineError, Invalid: it cannot be made so.
    """
    asked = request["static"]
    pool = asked.get("threadpool")
    options = engine.StaticOptions(
        **{name: asked[name] for name in CONTEXT_OPTIONS if name in asked},
        seed=request["seed"],
        precision=request["precision"],
        threadpool=None if pool is None else read_threadpool_params(pool, "/threadpool"),
    )
    return engine.StaticSession(definition, asked.get("dims"), options)


def read_threadpool_params(document: Mapping[str, Any], pointer: str) -> engine.ThreadpoolParams:
    """Read the parameters of a thread pool, which stand at `pointer`; Invalid with what is wrong."""
    given = dict(document)
    if isinstance(given.get("prio"), str):
        given["prio"] = engine.Priority[given["prio"].upper()]
    with engine_faults(pointer):
        return engine.ThreadpoolParams.read(given)


def check_static(definition: engine.Definition, request: Mapping[str, Any]) -> engine.StaticSession:
    """Make a session, to see whether it can be, without threads; Invalid if not."""
    with engine_faults():
        made = build_static_session(definition, request)
    made.close()
    return made


def count_input_bytes(definition: engine.Definition, dims: Mapping[str, int]) -> int:
    """Return what inputs of the extents take, which are the client's to choose; EngineError if they are none."""
    extents = engine.checked_extents(definition, dims)
    shapes = {
        name: [extents[extent] if isinstance(extent, str) else extent for extent in spec.shape]
        for name, spec in definition.inputs.items()
    }
    return sum(math.prod(shape) * definition.inputs[name].dtype.itemsize for name, shape in shapes.items())


Restore = Literal["all", "parameters"]

COPIES = 5
"""How many times a session holds as much as its parameters are: these, gradients, two slots of the optimizer, and what
a snapshot copies."""
NUMBER_BYTES: Mapping[str, int] = MappingProxyType({"float64": 8})
"""What a number takes at a precision; 4 at others, where the parameters themselves are kept exactly."""


@dataclass(frozen=True, slots=True)
class InitialCheckpoint:
    """A checkpoint that a session is to begin with, its file, and what is to be taken of it; None: as far as it fits.

    `before` is the request of the fit or session that it belongs to; empty for one that was uploaded.
    """

    checkpoint: CheckpointRecord
    file: Path
    restore: Restore | None
    before: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SessionCandidate:
    """A session that is being created: the request, complete with its defaults, and what it refers to.

    `runtime` is what it runs with if it takes everything of its checkpoint.
    """

    request: Mapping[str, Any]
    definition: engine.Definition
    graph: GraphRecord
    beginning: InitialCheckpoint | None
    dataset: DatasetRecord | None
    runtime: Mapping[str, Any] | None = None

    def made_inputs(self) -> dict[str, tuple[str, ...]]:
        """Return the raw columns of the inputs that the model makes of them, where no column is named for these."""
        if self.beginning is None or self.request["static"] is not None:
            return {}
        return made_inputs(self.beginning.file, self.definition.inputs, self.request["feeds"])


def made_inputs(file: Path, inputs: Iterable[str], feeds: Container[str]) -> dict[str, tuple[str, ...]]:
    """Return the raw columns of each input that the model in a checkpoint makes of them, unless it is among `feeds`."""
    with engine_faults("/checkpoint"):
        preprocessing = engine.preprocessing_of_checkpoint(engine.Checkpoint.load(file).meta)
    made = {} if preprocessing is None else preprocessing.inputs
    return {name: made[name].columns for name in inputs if name in made and name not in feeds}


@dataclass(frozen=True, slots=True)
class AdmittedSession:
    """Properties of a session that can be begun: its parameters, what it takes of its checkpoint, and the
    bytes that its process takes.
    """

    parameters: list[dict[str, Any]]
    restore: Restore | None
    memory_bytes: int


def admit_session(applicant: SessionCandidate, memory: MemoryConfig) -> AdmittedSession:
    """Check that graph, options, checkpoint and rows fit together and into memory.

    Invalid with the faults found, TooLarge if the machine cannot hold the session.
    """
    request = applicant.request
    check_resources(request["resources"])
    needed = _memory_needed(applicant, memory)
    faults = [*_feed_faults(applicant)]
    if faults:
        raise invalid(faults)
    if request["static"] is not None:
        return _admit_static(applicant, needed)
    with engine_faults():
        made = engine.Session(
            applicant.definition,
            request["optimizer"],
            seed=request["seed"],
            precision=request["precision"],
            clip=request["clip"],
            execution=engine.Execution("numpy", threads=1),
        )
    restore = None if applicant.beginning is None else _restore(made, applicant.beginning)
    return AdmittedSession(_parameters(made.definition), restore, needed)


def _admit_static(applicant: SessionCandidate, needed: int) -> AdmittedSession:
    made = check_static(applicant.definition, applicant.request)
    if applicant.beginning is None:
        return AdmittedSession(_parameters(made.definition), None, needed)
    with engine_faults("/checkpoint"):
        made.load(engine.Checkpoint.load(applicant.beginning.file))
    return AdmittedSession(_parameters(made.definition), "parameters", needed)


def _parameters(definition: engine.Definition) -> list[dict[str, Any]]:
    specs = definition.parameters.items()
    return [{"name": name, "shape": list(spec.shape), "dtype": spec.dtype.name} for name, spec in specs]


def _restore(made: engine.Session, beginning: InitialCheckpoint) -> Restore:
    """Return what is taken of the checkpoint: by default everything, if that fits; Invalid if it does not."""
    checkpoint, wanted = engine.Checkpoint.load(beginning.file), beginning.restore
    if wanted is None:
        try:
            made.restore(checkpoint)
        except engine.EngineError:
            wanted = "parameters"
        else:
            return "all"
    try:
        made.restore(checkpoint, optimizer=wanted == "all")
    except engine.EngineError as error:
        pointer = "/checkpoint" if beginning.restore is None else "/restore"
        advice = '; or take its parameters only: "restore": "parameters"' if wanted == "all" else ""
        raise invalid([Finding(pointer, error.code, f"{error}{advice}")]) from error
    return wanted


def _feed_faults(applicant: SessionCandidate) -> Iterator[Finding]:
    """Yield what keeps rows of the dataset from being fed to the graph."""
    inputs, feeds = applicant.definition.inputs, applicant.request["feeds"]
    for name in feeds:
        if name not in inputs:
            detail = f"the graph has no input of this name; it has {', '.join(inputs)}"
            yield Finding(f"/feeds/{escape(name)}", "unknown_name", detail)
    if applicant.dataset is None:
        return
    columns = {column.name: column for column in applicant.dataset.columns}
    made = applicant.made_inputs()
    references = applicant.definition.losses or applicant.definition.outputs
    needed = engine.needed_inputs(applicant.definition, references, training=True)
    for name, spec in inputs.items():
        source = feeds.get(name, name)
        if name in made:
            missing = [column for column in made[name] if column not in columns] if name in needed else []
            if missing:
                near = nearest(missing[0], columns)
                detail = f"input {name!r} is made of column {missing[0][:64]!r}, which the dataset does not have{near}"
                yield Finding("/dataset", "unknown_column", detail)
            continue
        if name not in needed and name not in feeds and source not in columns:
            continue
        pointer = f"/feeds/{escape(name)}" if name in feeds else "/dataset"
        if source not in columns:
            yield Finding(
                pointer,
                "unknown_column",
                f"input {name!r} needs a column {source[:64]!r}; the dataset has {', '.join(columns)}",
            )
        elif (misfit := _column_mismatch(spec, columns[source])) is not None:
            code, detail = misfit
            yield Finding(pointer, code, f"input {name!r} {detail} of column {source[:64]!r}")


def _column_mismatch(spec: Any, column: Column) -> tuple[str, str] | None:
    """Say what keeps rows of a column from being the entries of an input."""
    if not spec.shape:
        return "shape_mismatch", 'has no axis for rows; give it a leading extent such as "batch" instead of those'
    wanted = spec.shape[1:]
    fixed = zip(wanted, column.shape, strict=False)
    if len(wanted) != len(column.shape) or any(isinstance(one, int) and one != other for one, other in fixed):
        return "shape_mismatch", f"takes rows of shape {list(wanted)}, not {list(column.shape)}"
    if column.dtype.startswith(("float", "bfloat")) and "float" not in spec.dtype.name:
        return "dtype_mismatch", f"takes {spec.dtype.name}, not {column.dtype}"
    return None


def _memory_needed(applicant: SessionCandidate, memory: MemoryConfig) -> int:
    """Return the bytes that the process takes before any step; TooLarge, with the sum, if they are too many."""
    count: int = applicant.graph.report["parameter_count"]
    executor = select_executor(applicant.request["resources"], applicant.runtime)
    number_bytes = NUMBER_BYTES.get(applicant.request["precision"], 4)
    held = {"parameter_bytes": COPIES * number_bytes * count}
    needed = memory.check(memory_terms(held, executor), "/graph", "the session", "use a smaller graph")
    static = applicant.request["static"]
    if static is None:
        return needed
    with engine_faults():
        held["input_bytes"] = count_input_bytes(applicant.definition, static.get("dims") or {})
    return memory.check(memory_terms(held, executor), "/dims", "the session", "use smaller extents")
