"""The border modes of pad: what surrounds a value is taken from the value itself."""

from __future__ import annotations

from typing import Literal

import numpy as np

from engine.errors import ShapeError
from engine.ops.shape import BORDERS, Border, check_border, flip, pad, slice, slice_scatter
from engine.ops.reduce import sum
from engine.registry import composite
from engine.samples import sample
from engine.value import Value
