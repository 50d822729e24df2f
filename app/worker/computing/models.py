"""Models that are kept from one prediction to the next, the least recently used forgotten first."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import engine
from app.service.resources.definitions import read_definition
from app.service.resources.engine_faults import engine_faults
from app.worker.computing.allowance import Allowance, Ask

MODELS_MAX = 64
"""Models that are kept at most, however small."""

SIZES_BYTES = 16 * 1024**2
"""What may be kept beside a model for inputs of sizes that were met before."""


@dataclass(frozen=True, slots=True)
class Load:
    """How to load a model: the checkpoint's file, its graph, and the metadata that take the place of the file's."""

    path: str
    definition: Mapping[str, Any]
    meta: Mapping[str, Any]


class Models:
    """Predictors by the ids of their checkpoints."""

    def __init__(self, allowance: Allowance, most_bytes: int) -> None:
        """Keep at most `most_bytes` of them between orders."""
        self._allowance = allowance
        self._most_bytes = most_bytes
        self._loaded: OrderedDict[str, engine.Predictor] = OrderedDict()

    @property
    def names(self) -> list[str]:
        """Which are loaded, the least recently used first."""
        return [*self._loaded]

    def nbytes(self, *, but: str | None = None) -> int:
        """Return the bytes of all, or of all `but` one."""
        return sum(_nbytes(loaded) for name, loaded in self._loaded.items() if name != but)

    def forget_oldest(self, *, but: str | None = None) -> bool:
        """Forget the least recently used one, but for this; False if there is none."""
        oldest = next((name for name in self._loaded if name != but), None)
        if oldest is not None:
            del self._loaded[oldest]
        return oldest is not None

    def get(self, name: str, load: Mapping[str, Any] | None, ask: Ask) -> engine.Predictor:
        """Return a model, which is loaded if it is not; NotGranted if there is no memory for it."""
        if name in self._loaded:
            self._loaded.move_to_end(name)
            return self._loaded[name]
        assert load is not None  # the server knows which models there are
        predictor = self._load(Load(**load), ask)
        self._loaded[name] = predictor
        return predictor

    def settle(self) -> None:
        """Forget what may not be kept until the next order."""
        for loaded in self._loaded.values():
            if loaded.kept_bytes > SIZES_BYTES:
                loaded.forget_sizes()
        while self.nbytes() > self._most_bytes or len(self._loaded) > MODELS_MAX:
            self.forget_oldest()

    def _load(self, load: Load, ask: Ask) -> engine.Predictor:
        path = Path(load.path)
        with self._allowance.mapping(path.stat().st_size), engine_faults():
            checkpoint = replace(engine.Checkpoint.load(path), meta=dict(load.meta))
            wide = any(array.dtype.name == "float64" for array in checkpoint.parameters.values())
            size = sum(array.size for array in (*checkpoint.parameters.values(), *checkpoint.buffers.values()))
            self._allowance.have({"model_bytes": size * (8 if wide else 4)}, ask)
            precision: Literal["float32", "float64"] = "float64" if wide else "float32"
            return engine.Predictor(read_definition(load.definition), checkpoint, precision)


def _nbytes(predictor: engine.Predictor) -> int:
    return predictor.model_bytes + predictor.kept_bytes
