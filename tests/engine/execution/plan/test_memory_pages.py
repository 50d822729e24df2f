"""Large arenas are on huge pages where the system has them for memory that asks: NumPy asks for its arrays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.execution.plan.numpy_executor import aligned

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
def test_the_kernel_is_asked_for_huge_pages_of_an_arena() -> None:
    arena = aligned(2**24)
    middle = arena.__array_interface__["data"][0] + 2**23
    assert "hg" in flags_at(middle)
