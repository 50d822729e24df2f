"""Memory of plans: zeros at cache lines, and on huge pages where the system has them for memory that asks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.execution.plan.memory import ALIGNMENT
from engine.execution.plan.numpy_executor import MAPPED_BYTES, aligned

SMAPS, SETTING = Path("/proc/self/smaps"), Path("/sys/kernel/mm/transparent_hugepage/enabled")


def flags_at(address: int) -> set[str]:
    """Return the flags of the mapping that an address lies in."""
    inside = False
    for line in SMAPS.read_text("ascii", "replace").splitlines():
        if bounds := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(bounds[1], 16) <= address < int(bounds[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return set(line.split()[1:])
    raise AssertionError(f"nothing is mapped at {address:#x}")


@pytest.mark.skipif(not (SMAPS.exists() and SETTING.exists()), reason="this kernel has no transparent huge pages")
@pytest.mark.parametrize("nbytes", [MAPPED_BYTES, 2**24])
def test_the_kernel_is_asked_for_huge_pages_of_large_memory(nbytes: int) -> None:
    memory = aligned(nbytes)
    middle = memory.__array_interface__["data"][0] + nbytes // 2
    assert "hg" in flags_at(middle)


@pytest.mark.parametrize("nbytes", [1, 1000, MAPPED_BYTES - 1, MAPPED_BYTES + 1])
def test_memory_is_zeros_that_start_at_a_cache_line(nbytes: int) -> None:
    memory = aligned(nbytes)
    assert memory.shape == (nbytes,)
    assert not memory.any()
    assert memory.__array_interface__["data"][0] % ALIGNMENT == 0
    memory[:] = 1


def test_too_much_memory_is_refused() -> None:
    with pytest.raises(MemoryError):
        aligned(2**60)
