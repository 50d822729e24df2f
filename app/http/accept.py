"""Which type of answer a client would rather have (RFC 9110, section 12.5.1)."""

from collections.abc import Mapping
from functools import lru_cache

HEADERS_KEPT = 256


@lru_cache(HEADERS_KEPT)
def preferred(accept: str, offers: tuple[str, ...]) -> str:
    """Return the one of `offers` that an Accept header likes best: of equals the one that it names, then the first.

    The first, too, where it likes none: a client can do more with an answer of another type than with none.
    """
    weights = dict(_range(entry) for entry in accept.lower().split(","))
    return max(offers, key=lambda offer: _liking(offer, weights))


def _range(entry: str) -> tuple[str, float]:
    kind, *parameters = (part.strip() for part in entry.split(";"))
    weights = [part[2:] for part in parameters if part.startswith("q=")]
    try:
        return kind, float(weights[0]) if weights else 1.0
    except ValueError:
        return kind, 0.0


def _liking(offer: str, weights: Mapping[str, float]) -> tuple[float, int]:
    """Return the weight of the most precise range that `offer` is in, and how precise that is."""
    family = f"{offer.partition('/')[0]}/*"
    for precision, kind in ((2, offer), (1, family), (0, "*/*")):
        if kind in weights:
            return weights[kind], precision
    return 0.0, 0
