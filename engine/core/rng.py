"""Random keys: 128 bits that stand for one stream of random numbers, and how new keys are made from old ones."""

from __future__ import annotations

import secrets

import numpy as np

from engine.core.value import Value

MASK = 2**64 - 1
GAMMA = 0x9E3779B97F4A7C15


def mix(number: int) -> int:
    """Scramble 64 bits, one to one, by the step and the finalizer of SplitMix64 (Steele, Lea & Flood 2014)."""
    number = (number + GAMMA) & MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & MASK
    return number ^ (number >> 31)


def fold(high: int, low: int, number: int) -> tuple[int, int]:
    """Make a new 128-bit key from a key and a number, all taken modulo 2**64.

    For one number it maps keys one to one, and for one key different numbers give different keys.
    """
    high = mix((high & MASK) ^ mix(number & MASK))
    return high, mix(((low & MASK) + high) & MASK)


def key_value(high: int, low: int) -> Value:
    """Hold a key as the int64[2] value that ops take."""
    data = np.array([high, low], dtype=np.uint64).view(np.int64)
    return Value(data.shape, data.dtype, data)


class KeySource:
    """An endless supply of keys for operations that run at once; equal seeds give equal keys in equal order."""

    def __init__(self) -> None:
        """Start from entropy of the operating system."""
        self._root: tuple[int, int] | None = None
        self._drawn = 0

    def restart(self, seed: int) -> None:
        """Start again from `seed`."""
        self._root = fold(0, 0, seed)
        self._drawn = 0

    def next_key(self) -> Value:
        """Return the next key."""
        if self._root is None:
            self._root = (secrets.randbits(64), secrets.randbits(64))
        self._drawn += 1
        return key_value(*fold(*self._root, self._drawn))

    def state(self) -> tuple[tuple[int, int], int]:
        """Return where the supply stands, for `restore`."""
        if self._root is None:
            self._root = (secrets.randbits(64), secrets.randbits(64))
        return self._root, self._drawn

    def restore(self, state: tuple[tuple[int, int], int]) -> None:
        """Go back to where the supply stood."""
        self._root, self._drawn = state
