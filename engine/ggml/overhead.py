"""What a context is charged beside the elements of its tensors: ggml's accounting of objects, tensors and graphs."""

from __future__ import annotations

import math

DEFAULT_GRAPH_SIZE = 2048
ALIGNMENT = 16
OBJECT_BYTES, TENSOR_BYTES, GRAPH_BYTES = 32, 336, 96
POINTER_BYTES, COUNT_BYTES, WORD_BITS = 8, 4, 32


def tensor_overhead() -> int:
    """Return the bytes charged for a tensor beside its elements."""
    return OBJECT_BYTES + TENSOR_BYTES


def graph_overhead(size: int = DEFAULT_GRAPH_SIZE, *, grads: bool = False) -> int:
    """Return the bytes charged for a graph (ggml_graph_overhead_custom), to be known before it is made.

    A graph holds `size` nodes and `size` leafs, a hash table with a prime number of at least 2 `size` keys, a use count
    for each key, a bit for each key, and with `grads` two more entries for each key.
    """
    keys = next_prime(2 * size)
    pointers = 2 * size + keys + (2 * keys if grads else 0)
    words = -(-keys // WORD_BITS)
    return aligned(OBJECT_BYTES + GRAPH_BYTES + POINTER_BYTES * pointers + COUNT_BYTES * (keys + words))


def next_prime(number: int) -> int:
    """Return the smallest prime that is at least `number`."""
    candidate = max(number, 2)
    while any(candidate % divisor == 0 for divisor in range(2, math.isqrt(candidate) + 1)):
        candidate += 1
    return candidate


def aligned(nbytes: int) -> int:
    """Round up to what a context gives out at a time."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
