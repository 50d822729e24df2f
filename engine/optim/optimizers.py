"""The tables of optimizers and of transforms, and the chains that clients put together from them, as in optax."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from engine.core.attributes import Rate, attributes_of, bind
from engine.core.errors import AttributeValueError, DocumentError, UnknownName, accepted_names
from engine.core.options import Reader, Reads, describe_options, read_options, summary
from engine.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from engine.optim.adaptive import Adadelta, Adagrad, Lion, RMSprop, Rprop
from engine.optim.layerwise import LAMB, LARS, Adafactor, Muon
from engine.optim.lbfgs import LBFGS
from engine.optim.optimizer import Optimizer, PassResult, Transform
from engine.optim.sgd import ASGD, SGD
from engine.optim.transforms.adam import (
    ScaleByAdam,
    ScaleByAdamax,
    ScaleByAdan,
    ScaleByAmsgrad,
    ScaleByBelief,
    ScaleByRadam,
    ScaleByYogi,
)
from engine.optim.transforms.blocks import (
    Centralize,
    ClipByBlockRms,
    NormalizeByUpdateNorm,
    ScaleByNovograd,
    ScaleByParamBlockNorm,
    ScaleByParamBlockRms,
    ScaleByTrustRatio,
)
from engine.optim.transforms.link import Direction, GradientTransform, Link, Slots
from engine.optim.transforms.momentum import ApplyEvery, Ema, Trace
from engine.optim.transforms.scaling import (
    AdaptiveGradClip,
    AddDecayedWeights,
    Clip,
    Scale,
    ScaleByLion,
    ScaleByRms,
    ScaleByRss,
    ScaleBySign,
    ScaleByStddev,
)

MAX_TRANSFORMS = 32

TRANSFORMS: Mapping[str, type[GradientTransform]] = MappingProxyType(
    {
        transform.kind: transform
        for transform in (
            Trace, Ema, ApplyEvery, Scale, ScaleByAdam, ScaleByAmsgrad, ScaleByAdamax, ScaleByAdan, ScaleByRadam,
            ScaleByBelief, ScaleByYogi, ScaleByLion, ScaleBySign, ScaleByRms, ScaleByStddev, ScaleByRss,
            ScaleByNovograd, ScaleByTrustRatio, ScaleByParamBlockNorm, ScaleByParamBlockRms, NormalizeByUpdateNorm,
            AddDecayedWeights, Centralize, Clip, ClipByBlockRms, AdaptiveGradClip,
        )
    }
)  # fmt: skip
"""Every transform by its kind."""


def read_transforms(reader: Reader, document: Any, pointer: str) -> tuple[GradientTransform, ...]:
    """Read a list of {"kind": ..., options}; a text alone is a kind without options. Every fault is noted."""
    entries = reader.sequence(document, pointer)
    if len(entries) > MAX_TRANSFORMS:
        reader.fault(pointer, "too_many", f"at most {MAX_TRANSFORMS} transforms, not {len(entries)}")
        return ()
    read = [_transform(reader, entry, f"{pointer}/{place}") for place, entry in enumerate(entries)]
    return tuple(transform for transform in read if transform is not None)


def transform_catalogue() -> list[dict[str, Any]]:
    """Describe every transform for a client: kind, documentation, options with the ranges they must lie in."""
    return [
        {"kind": kind, "doc": summary(transform), "attrs": describe_options(transform)}
        for kind, transform in TRANSFORMS.items()
    ]


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

    def links(self, momentum: float) -> tuple[Link, ...]:
        return self.transforms

    def slot_name(self, slot: str, place: int) -> str:
        """Return the slot's name with the place of its transform."""
        return f"{slot}.{place}"

    def step(self, links: tuple[Link, ...], direction: Direction, slots: Slots) -> PassResult:
        """Step link by link: the fused ops round as PyTorch's optimizers do, a chain as optax's."""
        return self.compose(links, direction, slots)


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


def _transform(reader: Reader, entry: Any, pointer: str) -> GradientTransform | None:
    document = reader.mapping({"kind": entry} if isinstance(entry, str) else entry, pointer)
    kind = document.get("kind")
    if kind is None:
        if isinstance(entry, Mapping):
            reader.fault(pointer, "missing_field", "the field 'kind' is required")
        return None
    if not isinstance(kind, str) or kind not in TRANSFORMS:
        shown, place = str(kind)[:64], f"{pointer}/kind" if isinstance(entry, Mapping) else pointer
        hint = accepted_names(shown, TRANSFORMS, "GET /v1/optimizers")
        reader.fault(place, "unknown_name", f"there is no transform called {shown!r}{hint}")
        return None
    options = {name: value for name, value in document.items() if name != "kind"}
    return read_options(reader, options, pointer, TRANSFORMS[kind])


OPTIMIZERS: dict[str, type[Transform]] = {
    kind.kind: kind
    for kind in (
        SGD, Adam, AdamW, Adagrad, RMSprop, Adadelta, Adamax, NAdam, RAdam, Rprop, ASGD, Lion,
        LARS, LAMB, Adafactor, Muon, Chain,
    )
}  # fmt: skip
"""Every optimizer that steps by a given gradient, by its kind."""

CLOSURE_OPTIMIZERS: dict[str, type[LBFGS]] = {LBFGS.kind: LBFGS}
"""Every optimizer that evaluates the loss itself, by its kind."""


def make_optimizer(document: Mapping[str, Any]) -> Optimizer:
    """Return an optimizer from {"kind": ..., options}; errors of unknown kinds and options name the nearest."""
    kinds = _kinds()
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        shown = str(kind)[:64]
        raise UnknownName(f"there is no optimizer called {shown!r}{accepted_names(shown, kinds, 'GET /v1/optimizers')}")
    options = {key: value for key, value in document.items() if key != "kind"}
    chosen = kinds[kind]
    if chosen is Chain:
        return read_chain(options)
    return chosen(**bind(kind, {a.name: a for a in attributes_of(chosen)}, options))


def make_transform(document: Mapping[str, Any]) -> Transform:
    """Return an optimizer that steps by a given gradient; one that evaluates the loss itself is an error."""
    made = make_optimizer(document)
    if not isinstance(made, Transform):
        detail = f"{made.kind} evaluates the loss several times a step, so a gradient alone is no step of it"
        raise AttributeValueError(f"{detail}; on the tape, step it by a ClosureOptimizer")
    return made


def optimizer_catalogue() -> list[dict[str, Any]]:
    """Describe every optimizer for a client: kind, documentation, options with their ranges."""
    return [
        {"kind": kind, "doc": inspect.getdoc(chosen) or "", "attrs": _attributes(chosen)}
        for kind, chosen in _kinds().items()
    ]


def _kinds() -> dict[str, type[Optimizer]]:
    return {**OPTIMIZERS, **CLOSURE_OPTIMIZERS}


def _attributes(chosen: type[Optimizer]) -> list[dict[str, Any]]:
    if chosen is Chain:
        return describe_chain()
    return [option.to_json() for option in attributes_of(chosen)]
