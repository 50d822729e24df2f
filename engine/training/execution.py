"""Execution: which executor runs the plans of a fit or session, on how many threads and ranks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from engine.core.cpu import usable_cores
from engine.execution.native import chosen
from engine.training.distributed.collective import Alone, Collective


@dataclass(frozen=True, slots=True)
class Execution:
    """How plans run.

    Attributes:
        executor: runs the plans, see `engine.executors`; "auto" selects the fastest available.
        threads: threads inside a step; None for one per core.
        collective: communicates with the other ranks of a data-parallel fit, all of which get the same rows.
    """

    executor: str = "auto"
    threads: int | None = None
    collective: Collective = field(default_factory=Alone)

    def resolve(self) -> Execution:
        """Return the same with "auto" and None replaced by what they mean here.

        Raises:
            UnknownName: there is no such executor.
            MissingExtra: it does not work here.
        """
        return replace(self, executor=chosen(self.executor), threads=self.threads or usable_cores())


AUTO = Execution()
"""The fastest executor, one thread per core, one rank."""
