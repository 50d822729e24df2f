from typing import Any

import pytest

from app.domain.replay import numerics_apart

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "nothing": ({"blas": "a", "machine": "m"}, {"machine": "m", "blas": "a"}, []),
    "values": ({"blas": "a", "machine": "m"}, {"blas": "b", "machine": "n"}, ["blas", "machine"]),
    "an entry that only one has": ({"blas": "a"}, {"blas": "a", "simd": "avx2"}, ["simd"]),
    "everything, where nothing is known": ({}, {"b": "1", "a": "1"}, ["a", "b"]),
}


@pytest.mark.parametrize("what", CASES)
def test_entries_of_fingerprints_differ_by(what: str) -> None:
    before, now, apart = CASES[what]
    assert numerics_apart(before, now) == numerics_apart(now, before) == apart
