"""Who takes part: each contender's program, and whose Python runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A contender.

    Attributes:
        name: what the tables call it.
        module: its program, in `tests.benchmarks.contenders`.
        options: what it is started with.
        ours: whether it is this project, and so runs in its environment; the others have one of their own.
    """

    name: str
    module: str
    options: tuple[str, ...] = ()
    ours: bool = False

    def command(self, ours: str, peers: str) -> list[str]:
        """Return the command line, up to the workload."""
        return [ours if self.ours else peers, "-m", f"tests.benchmarks.contenders.{self.module}", *self.options]


ROSTER: Mapping[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("Adjoint native", "engine_fit", ("--executor", "native"), ours=True),
        Entry("Adjoint NumPy", "engine_fit", ("--executor", "numpy"), ours=True),
        Entry("Adjoint server", "server_fit", ours=True),
        Entry("torch eager", "torch_step", ("--mode", "eager")),
        Entry("torch.compile", "torch_step", ("--mode", "compile")),
        Entry("jax.jit", "jax_step", ("--mode", "jit")),
        Entry("jax scan", "jax_step", ("--mode", "scan")),
        Entry("autograd", "autograd_step"),
        Entry("mygrad", "mygrad_step"),
        Entry("scikit-learn", "sklearn_step"),
        Entry("tinygrad", "tinygrad_step"),
    )
}
