"""A fit that is about to be worked on."""

from dataclasses import dataclass
from functools import cached_property

import engine
from app.domain.fit import FitRecord


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes that the processes of an attempt take: each of them, and all together; None: nobody knows."""

    each: int | None = None
    total: int | None = None


@dataclass(frozen=True)
class Claim:
    """A fit that this server took, and the attempt it is about to make."""

    fit: FitRecord
    token: str
    need: MemoryNeed = MemoryNeed()

    @cached_property
    def policy(self) -> engine.CheckpointPolicy:
        """Which checkpoints the fit keeps, or each variant of the sweep."""
        # Not from the whole recipe: that of a sweep is complete in its variants only.
        fields = {name: value for name, value in self.fit.request.items() if name in ("checkpoint", "preset")}
        return engine.read_recipe({"epochs": 1, **fields}).checkpoint
