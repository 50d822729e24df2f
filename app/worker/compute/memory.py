"""The memory of a compute process: the limit in force, grants for single requests, and cached models."""

import resource
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import engine
from app.domain.errors import TooLarge
from app.service.resources.engine_documents import engine_faults, read_definition
from app.service.resources.memory import MARGIN

UNASKED_BYTES = 16 * 1024**2
"""Memory of a request that every process has."""

RequestMemory = Callable[[Mapping[str, int]], int]
"""Requests the bytes of some terms; returns the new limit of the process, 0 if denied."""


class MemoryNotGranted(Exception):  # noqa: N818 (named as what has happened)
    """The memory request was denied; the server reports the reason to the client."""


class MemoryGrant:
    """The memory limit of this process: its initial address space, and what is granted on top."""

    def __init__(self, memory_bytes: int, operations: int, answer_bytes: int) -> None:
        """Start with `memory_bytes`, for which the limit in force was set; refuse requests beyond the other two
        limits.
        """
        self._initial_bytes = memory_bytes
        self._initial_limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        self._mapped = 0
        self._operations = operations
        self._answer_bytes = answer_bytes
        self.granted = memory_bytes
        """Bytes that the process may use now."""

    def admit(self, cost: engine.Cost, request: RequestMemory, held: Mapping[str, int]) -> None:
        """Request the memory of a computation, with what it needs `held` besides; MemoryNotGranted or TooLarge.

        Small amounts need no request.
        """
        if cost.operations > self._operations:
            detail = f"the computation is about {cost.operations} operations, this server takes {self._operations}"
            raise TooLarge(f"{detail}; send fewer rows", limit=self._operations, code="limit_exceeded")
        if MARGIN * cost.nbytes > UNASKED_BYTES:
            self.require({**held, **cost.terms}, request)
        # An element of a copy has 8 bytes at most and 2 digits at least, or there are two copies of half of that.
        if cost.terms.get("output_bytes", 0) // 8 > self._answer_bytes:
            raise response_too_large(self._answer_bytes)

    def require(self, terms: Mapping[str, int], request: RequestMemory) -> None:
        """Request the bytes of `terms`; MemoryNotGranted if denied."""
        granted = request(terms)
        if not granted:
            raise MemoryNotGranted
        self.set_limit(granted)

    def set_limit(self, granted: int) -> None:
        """Limit the process to `granted` bytes."""
        self.granted = granted
        if self._initial_limit != resource.RLIM_INFINITY:
            limit = self._initial_limit + max(0, granted - self._initial_bytes) + self._mapped
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))

    @contextmanager
    def allow_mapping(self, file_bytes: int) -> Iterator[None]:
        """Allow the address space of a file that is mapped within the block; it takes no memory."""
        self._mapped = file_bytes
        self.set_limit(self.granted)
        try:
            yield
        finally:
            self._mapped = 0
            self.set_limit(self.granted)

    def exhausted_error(self) -> TooLarge:
        """Return the error for an allocation that failed within the grant."""
        detail = f"the computation found no more memory within the {self.granted} bytes that were estimated for it"
        return TooLarge(f"{detail}; send fewer rows, or ask for less", limit=self.granted, code="memory_exceeded")


def response_too_large(max_bytes: int) -> TooLarge:
    """Return the error for a response of more than `max_bytes`."""
    detail = f"the answer would have more than {max_bytes} bytes, which is the most here"
    return TooLarge(f"{detail}; send fewer rows, or ask for less", limit=max_bytes, code="answer_too_large")


MAX_MODELS = 64
"""Models that are cached at most, however small."""

MAX_PLAN_BYTES = 16 * 1024**2
"""Memory of a model's plans for earlier input sizes that may be kept."""


@dataclass(frozen=True, slots=True)
class ModelSource:
    """How to load a model: the checkpoint file, its graph, and metadata that replace those in the file."""

    path: str
    definition: Mapping[str, Any]
    meta: Mapping[str, Any]

    def read(self) -> engine.Checkpoint:
        """Return the checkpoint, its arrays mapped from the file."""
        return replace(engine.Checkpoint.load(Path(self.path)), meta=dict(self.meta))


class ModelCache:
    """Predictors by the ids of their checkpoints, evicted least recently used first."""

    def __init__(self, allowance: MemoryGrant, max_bytes: int) -> None:
        """Keep at most `max_bytes` of them between orders."""
        self._allowance = allowance
        self._max_bytes = max_bytes
        self._loaded: OrderedDict[str, engine.Predictor] = OrderedDict()

    @property
    def names(self) -> list[str]:
        """The cached models, the least recently used first."""
        return [*self._loaded]

    def nbytes(self, *, keep: str | None = None) -> int:
        """Return the bytes of all, or of all `keep` one."""
        return sum(_nbytes(loaded) for name, loaded in self._loaded.items() if name != keep)

    def evict_oldest(self, *, keep: str | None = None) -> bool:
        """Evict the least recently used model except `keep`; False if there is none."""
        oldest = next((name for name in self._loaded if name != keep), None)
        if oldest is not None:
            del self._loaded[oldest]
        return oldest is not None

    def get(self, name: str, load: Mapping[str, Any] | None, request: RequestMemory) -> engine.Predictor:
        """Return a model, loading it if needed; MemoryNotGranted if there is no memory for it."""
        if name in self._loaded:
            self._loaded.move_to_end(name)
            return self._loaded[name]
        assert load is not None  # the server has checked that the model exists
        predictor = self._load_model(ModelSource(**load), request)
        self._loaded[name] = predictor
        return predictor

    def evict(self) -> None:
        """Evict entries that must not be kept until the next request."""
        for loaded in self._loaded.values():
            if loaded.kept_bytes > MAX_PLAN_BYTES:
                loaded.forget_sizes()
        while self.nbytes() > self._max_bytes or len(self._loaded) > MAX_MODELS:
            self.evict_oldest()

    def _load_model(self, load: ModelSource, request: RequestMemory) -> engine.Predictor:
        with self._allowance.allow_mapping(Path(load.path).stat().st_size), engine_faults():
            checkpoint = load.read()
            self._allowance.require({"model_bytes": model_bytes(checkpoint)}, request)
            return engine.Predictor(read_definition(load.definition), checkpoint, precision_of(checkpoint))


def precision_of(checkpoint: engine.Checkpoint) -> Literal["float32", "float64"]:
    """Return the precision in which a model is computed: float64 if a parameter is."""
    is_double = any(array.dtype.name == "float64" for array in checkpoint.parameters.values())
    return "float64" if is_double else "float32"


def model_bytes(checkpoint: engine.Checkpoint) -> int:
    """Return the bytes of the parameters and buffers of a model in its precision."""
    size = sum(array.size for array in (*checkpoint.parameters.values(), *checkpoint.buffers.values()))
    return size * (8 if precision_of(checkpoint) == "float64" else 4)


def _nbytes(predictor: engine.Predictor) -> int:
    return predictor.model_bytes + predictor.kept_bytes
