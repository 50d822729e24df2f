"""Hostile arrays in the body of a request, which are read in the server's own process: refused, in little memory."""

import pytest

from app.domain.documents import NPY, NPZ, SAFETENSORS
from app.domain.errors import Invalid, TooLarge
from app.ingest.arrays import read_arrays
from app.ingest.limits import IngestLimits
from tests.security.corpus import npy, npz, safetensors
from tests.security.memory import memory_bound

MORE_BYTES = 128 << 20
FORMATS = {"npy": (NPY, npy), "npz": (NPZ, npz), "safetensors": (SAFETENSORS, safetensors)}
OF_DATASETS = frozenset(
    {
        "empty", "no_rows", "bad_shape", "bad_name", "unequal_rows", "too_many_rows", "no_columns", "too_many_columns",
        "expanded_too_large",
    }
)  # fmt: skip
"""Rules of data sets: what breaks one is refused by another rule of arrays, or is no more than its own bytes."""

OF_TEXTS = frozenset({"bad_unicode", "bad_value", "missing_value"})
"""Rules of arrays of texts, which only data sets take."""


def codes(data: bytes, media: str) -> set[str]:
    """Return the codes with which a body is refused, none if it is read, into no more than it takes itself."""
    try:
        read = read_arrays(data, media, IngestLimits())
    except (Invalid, TooLarge) as error:
        return {error.code, *(finding.code for finding in error.findings)}
    assert sum(array.nbytes for array in read.arrays.values()) <= len(data)
    return set()


@pytest.mark.parametrize(
    ("format", "name"), [(format, name) for format, (_, corpus) in FORMATS.items() for name in corpus.REFUSED]
)
def test_a_hostile_body_is_refused_or_harmless(format: str, name: str) -> None:
    media, corpus = FORMATS[format]
    data, code = corpus.REFUSED[name]
    with memory_bound(MORE_BYTES):
        found = codes(data, media)
    assert code in found or code in OF_DATASETS or (code in OF_TEXTS and found == {"bad_dtype"})
