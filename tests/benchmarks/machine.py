"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

import engine


def machine() -> dict[str, Any]:
    """Return processor, cores, system and the versions of Python, NumPy and its BLAS."""
    numerics = engine.fingerprint()
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": f"{numerics['blas']} ({numerics['blas_core']})",
    }


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text("utf-8").splitlines() if listing.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
