"""The table of transforms, from which reading and the catalogue come."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from engine.core.documents import Reader
from engine.core.errors import accepted_names
from engine.core.options import describe_options, read_options, summary
from engine.optim.transforms.adam import ScaleByAdam, ScaleByAdamax, ScaleByAdan, ScaleByAmsgrad, ScaleByRadam
from engine.optim.transforms.blocks import (
    Centralize,
    ClipByBlockRms,
    NormalizeByUpdateNorm,
    ScaleByNovograd,
    ScaleByParamBlockNorm,
    ScaleByParamBlockRms,
    ScaleByTrustRatio,
)
from engine.optim.transforms.gradient_transform import GradientTransform
from engine.optim.transforms.momentum import ApplyEvery, Ema, Trace
from engine.optim.transforms.scaling import AdaptiveGradClip, AddDecayedWeights, Clip, Scale
from engine.optim.transforms.second_moments import ScaleByBelief, ScaleByYogi
from engine.optim.transforms.signs import ScaleByLion, ScaleBySign
from engine.optim.transforms.sizes import ScaleByRms, ScaleByRss, ScaleByStddev

MOST = 32
"""So many transforms may a chain have."""

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
    if len(entries) > MOST:
        reader.fault(pointer, "too_many", f"at most {MOST} transforms, not {len(entries)}")
        return ()
    read = [_transform(reader, entry, f"{pointer}/{place}") for place, entry in enumerate(entries)]
    return tuple(transform for transform in read if transform is not None)


def transform_catalogue() -> list[dict[str, Any]]:
    """Describe every transform for a client: kind, documentation, options with the ranges they must lie in."""
    return [
        {"kind": kind, "doc": summary(transform), "attrs": describe_options(transform)}
        for kind, transform in TRANSFORMS.items()
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
