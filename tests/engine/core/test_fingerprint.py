"""Fingerprints: processors whose compiled kernels give other bits have others."""

import pytest

from engine.core import fingerprint

PROCESSORS = {
    "no vectors known": (frozenset(), False, ""),
    "short vectors": (frozenset({"avx2"}), False, " with AVX2"),
    "long vectors": (frozenset({"avx2", "avx512f"}), False, " with AVX2, AVX-512"),
    "pairs": (frozenset({"avx2", "avx512f", "avx512_bf16"}), False, " with AVX2, AVX-512, AVX-512 BF16"),
    "tiles": (frozenset({"avx2", "avx512f"}), True, " with AVX2, AVX-512, AMX"),
}


@pytest.mark.parametrize(("features", "tiles", "extensions"), PROCESSORS.values(), ids=PROCESSORS)
def test_the_native_executor_names_the_extensions_that_kernels_use(monkeypatch, features, tiles, extensions):
    monkeypatch.setattr(fingerprint, "cpu_features", lambda: features)
    monkeypatch.setattr(fingerprint, "may_use_tiles", lambda: tiles)
    fingerprint._native_machine.cache_clear()
    try:
        numpy, native = (fingerprint.fingerprint(executor)["machine"] for executor in ("numpy", "native"))
    finally:
        fingerprint._native_machine.cache_clear()
    assert native == numpy + extensions
