"""Chains: optimizers put together from transforms, as optax does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from engine.core.documents import Reader
from engine.core.errors import DocumentError
from engine.core.options import Reads, describe_options, read_options
from engine.core.ranges import Rate
from engine.core.value import Spec, Value
from engine.optim.transform import Slots, Stepped, Transform
from engine.optim.transforms import GradientTransform, read_transforms, transform_catalogue


@dataclass(frozen=True, kw_only=True)
class Chain(Transform):
    """Transforms one after another, semantics of optax.chain.

    The first takes the gradient; what the last makes of it, times the learning rate, is subtracted from the parameter.
    Without transforms it is plain gradient descent; scale_by_adam, then add_decayed_weights is AdamW, and with
    scale_by_trust_ratio behind them LAMB.
    """

    kind: ClassVar[str] = "chain"
    lr: Rate = 1e-3
    transforms: Annotated[tuple[GradientTransform, ...], Reads(read_transforms, "a list of objects")] = ()

    @property
    def elementwise(self) -> bool:
        """Whether all of the transforms are."""
        return all(transform.elementwise for transform in self.transforms)

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The slots of every transform, under names that end in its place."""
        return {
            _slot(name, place): spec
            for place, transform in enumerate(self.transforms)
            for name, spec in transform.slots(parameter).items()
        }

    def step(self, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by what the transforms make of the gradient."""
        update, changed = gradient, {}
        for place, transform in enumerate(self.transforms):
            own = {name: slots[_slot(name, place)] for name in transform.slots(parameter.spec)}
            update, fresh = transform.apply(update, parameter, own)
            changed.update({_slot(name, place): value for name, value in fresh.items()})
        return parameter - update * lr, changed


def read_chain(options: Mapping[str, Any]) -> Chain:
    """Make a chain from its options.

    Raises:
        DocumentError: every fault, at its pointer: `/transforms/2/b1`.
    """
    reader = Reader()
    chain = read_options(reader, options, "", Chain)
    reader.finish()
    if chain is None:
        raise DocumentError(reader.findings)
    return chain


def describe_chain() -> list[dict[str, Any]]:
    """Describe the options for a client; those of `transforms` are what its list may hold."""
    return [
        {**entry, "kinds": transform_catalogue()} if entry["name"] == "transforms" else entry
        for entry in describe_options(Chain)
    ]


def _slot(name: str, place: int) -> str:
    return f"{name}.{place}"
