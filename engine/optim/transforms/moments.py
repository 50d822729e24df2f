"""Running means of gradients, the correction of their bias towards 0, and Nesterov's look ahead."""

from __future__ import annotations

from engine.core.value import Value
from engine.ops.elementwise import power


def towards(kept: Value, fresh: Value, decay: float) -> Value:
    """Return a running mean with another number in it."""
    return kept * decay + fresh * (1.0 - decay)


def unbiased(moment: Value, decay: float, count: Value) -> Value:
    """Return a running mean that started at 0, as if it had not (Kingma and Ba 2015, section 3)."""
    return moment / (1.0 - power(decay, count))


def direction(moment: Value, update: Value, decay: float, count: Value, *, nesterov: bool) -> Value:
    """Return the first moment without bias; with `nesterov` as the next step will weight it (Dozat 2016)."""
    if not nesterov:
        return unbiased(moment, decay, count)
    return unbiased(moment, decay, count + 1.0) * decay + unbiased(update, decay, count) * (1.0 - decay)
