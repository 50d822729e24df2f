"""Merging changes into a JSON document (RFC 7396)."""

from collections.abc import Mapping
from typing import Any


def merged(target: Any, patch: Any) -> Any:
    """Return `target` with `patch` merged in: objects field by field, null removes one, anything else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    kept = dict(target) if isinstance(target, Mapping) else {}
    for name, change in patch.items():
        if change is None:
            kept.pop(name, None)
        else:
            kept[name] = merged(kept.get(name), change)
    return kept
