"""Changing bytes a little, in the ways that parsers are weak at."""

import struct
from collections.abc import Callable, Sequence
from random import Random

LARGEST = 1 << 16
BYTES = [0, 1, 0x7F, 0x80, 0xFE, 0xFF, *b"\"'\\{}[](),.:;-+eE_nN09#=@*\n\r\t "]
NUMBERS = [0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
WORDS = [
    b"-1",
    b"0",
    b"1e999",
    b"9" * 30,
    b"NaN",
    b"null",
    b"true",
    b'""',
    b"\\ud800",
    b"\xed\xa0\x80",
    b"[" * 70,
    b"]",
]

Mutator = Callable[[bytearray, Random, Sequence[bytes], Sequence[bytes]], None]


def flip(data: bytearray, random: Random, _words: Sequence[bytes], _corpus: Sequence[bytes]) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def put_byte(data: bytearray, random: Random, _words: Sequence[bytes], _corpus: Sequence[bytes]) -> None:
    if data:
        data[random.randrange(len(data))] = random.choice(BYTES)


def put_number(data: bytearray, random: Random, _words: Sequence[bytes], _corpus: Sequence[bytes]) -> None:
    """Write a number at the edge of its type over what is there, in either order of bytes."""
    encoded = struct.pack(random.choice("<>") + "Q", random.choice(NUMBERS))[-random.choice((2, 4, 8)) :]
    start = random.randrange(len(data) + 1)
    data[start : start + len(encoded)] = encoded


def put_word(data: bytearray, random: Random, words: Sequence[bytes], _corpus: Sequence[bytes]) -> None:
    """Insert a word of the format, or write it over what is there."""
    start = random.randrange(len(data) + 1)
    data[start : start + random.choice((0, 0, 1, 2, 4))] = random.choice([*words, *WORDS])


def cut(data: bytearray, random: Random, _words: Sequence[bytes], _corpus: Sequence[bytes]) -> None:
    start = random.randrange(len(data) + 1)
    del data[start : start + random.choice((1, 1, 2, 4, 16, 1000))]


def repeat(data: bytearray, random: Random, _words: Sequence[bytes], _corpus: Sequence[bytes]) -> None:
    start = random.randrange(len(data) + 1)
    part = data[start : start + random.choice((1, 2, 8, 32))]
    data[start:start] = part * random.choice((1, 2, 20))


def splice(data: bytearray, random: Random, _words: Sequence[bytes], corpus: Sequence[bytes]) -> None:
    """Put a piece of another input in the place of a piece of this one."""
    other = random.choice(corpus)
    start, from_ = random.randrange(len(data) + 1), random.randrange(len(other) + 1)
    length = random.choice((1, 4, 16, 64))
    data[start : start + random.choice((0, length))] = other[from_ : from_ + length]


MUTATORS: Sequence[Mutator] = (flip, put_byte, put_number, put_word, put_word, cut, repeat, splice)


def mutated(data: bytes, random: Random, words: Sequence[bytes], corpus: Sequence[bytes]) -> bytes:
    """Return `data` with one to eight changes; `words` are the format's own, `corpus` what else is known."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        random.choice(MUTATORS)(changed, random, words, corpus)
    return bytes(changed[:LARGEST])
