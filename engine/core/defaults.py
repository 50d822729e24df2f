"""Defaults of new tensors: element type and device, for each thread."""

from __future__ import annotations

import threading

from engine.core.dtypes import DEFAULT_FLOAT, DType, computing_dtype, dtype_of, is_float
from engine.core.errors import DeviceError, DTypeError, accepted_names

DEVICES = ("cpu",)
"""Every device the engine computes on."""
SHORT_NAMES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}
"""ggmlR's names of the dtypes that can be the default."""


class Defaults(threading.local):
    """The defaults of one thread."""

    def __init__(self) -> None:
        """Start as a new thread does: float32 on the CPU."""
        self.dtype = DEFAULT_FLOAT
        self.device = "cpu"


DEFAULTS = Defaults()


def set_default_dtype(dtype: object) -> str:
    """Set the dtype of tensors made from Python floats, of parameters and of modules, for this thread.

    ggmlR's "f32", "f16" and "bf16" stand for the dtypes they name.

    Returns the name of the previous one. With float16 or bfloat16 parameters stay float32 (the master weights) and
    modules round what they compute.
    """
    chosen = dtype_of(SHORT_NAMES.get(dtype, dtype) if isinstance(dtype, str) else dtype)
    if not is_float(chosen):
        raise DTypeError(f"the default dtype must be a floating one, not {chosen.name}")
    previous, DEFAULTS.dtype = DEFAULTS.dtype, chosen
    return previous.name


def get_default_dtype() -> str:
    """Return the name of this thread's default dtype."""
    return DEFAULTS.dtype.name


def set_default_device(device: str) -> str:
    """Let later tensors of this thread live on `device`, and return the previous one; only "cpu" exists.

    Raises:
        DeviceError: any other device, so that a caller can fall back.
    """
    previous, DEFAULTS.device = DEFAULTS.device, check_device(device)
    return previous


def get_default_device() -> str:
    """Return the name of this thread's default device."""
    return DEFAULTS.device


def check_device(device: str | None) -> str:
    """Return the device, or this thread's default for None; refuse one that is not there."""
    if device is None:
        return DEFAULTS.device
    if device not in DEVICES:
        raise DeviceError(
            f"there is no device {str(device)[:64]!r} here: this engine computes on {', '.join(DEVICES)}"
            f"{accepted_names(device, DEVICES)}"
        )
    return device


def master_dtype(dtype: DType) -> DType:
    """Return the type that weights are kept in when `dtype` is computed in: float32 for the half-size types."""
    return computing_dtype(dtype)
