"""The steps of a plain recurrent layer, given its input product: h' = act(x + h w_hh^T)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from engine.attributes import Attribute  # noqa: F401
from engine.ops.compare import gt, where
from engine.ops.elementwise import square
from engine.ops.linalg import matrix_product
from engine.ops.shape import reshape, stack, transpose
from engine.ops.steps import at, before, check_lengths, check_steps, kept, or_zeros, run, steps, still_on
from engine.registry import primitive
from engine.samples import integers, sample
from engine.value import Array, Spec, Value
