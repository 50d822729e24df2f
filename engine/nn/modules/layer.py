"""Layer: an entry of the table of layers as a module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.core.attributes import attributes_of, bind
from engine.core.dtypes import DEFAULTS, INT64, DType, master_dtype
from engine.core.modes import MODES, tracing, training_mode
from engine.core.value import Operand, Spec, Value, as_value
from engine.nn.layers import find_layer
from engine.nn.modules.module import Module
from engine.nn.modules.scopes import DeclarationScope, ExecutionScope

TRIAL_ROWS = 2
"""Rows of the input without data with which the state of a layer is determined: batch norm needs more than one."""


class Layer(Module):
    """A layer of the table, as `Layer("linear", Spec((2, 4), dtype), units=3)`.

    `output` is the Spec of its result for the input it was created for.
    """

    def __init__(
        self,
        kind: str,
        inputs: Spec,
        *,
        others: Mapping[str, Spec] | None = None,
        name: str | None = None,
        seed: int | None = None,
        dtype: DType | None = None,
        precision: DType | None = None,
        **options: Any,
    ) -> None:
        """Create its parameters and buffers.

        Args:
            kind: the layer's kind in the catalogue of layers.
            inputs: shape (with any number of rows) and dtype of the input.
            others: shapes and dtypes of other inputs, by the names given in options such as `memory`.
            name: key of the initial values beside the seed; equal name, seed and shape give equal values.
            seed: seed of the initial values; by default drawn from this thread's random keys (see `engine.seed`).
            dtype: dtype of parameters and buffers; by default this thread's default (float32 for half types).
            precision: dtype to which parameters and results are rounded in the forward pass, or None.
            options: the layer's attributes.
        """
        super().__init__()
        self.kind = kind
        self.precision = precision
        self._build = find_layer(kind)
        self._attrs = bind(kind, {a.name: a for a in attributes_of(self._build)}, options)
        scope = DeclarationScope(
            name or kind,
            draw_seed() if seed is None else seed,
            dtype or master_dtype(DEFAULTS.dtype),
            {key: Value(spec.shape, spec.dtype, None) for key, spec in (others or {}).items()},
        )
        with tracing(no_key), training_mode(True):
            made = self._build(scope, Value(inputs.shape, inputs.dtype, None), **self._attrs)
        self.output = made.spec
        for key, leaf in scope.parameters.items():
            self.register_parameter(key, leaf)
        for key, leaf in scope.buffers.items():
            self.register_buffer(key, leaf)

    def forward(self, x: Operand, **others: Operand) -> Value:
        """Apply the layer to x and its other inputs, in this module's mode; training updates running statistics."""
        scope = ExecutionScope(
            self._table("_parameters"),
            self._table("_buffers"),
            inputs={name: as_value(value) for name, value in others.items()},
            training=self.training,
            precision=self.precision,
        )
        return self._build(scope, as_value(x), **self._attrs)


def draw_seed() -> int:
    """Draw a seed from this thread's random keys."""
    high, low = (int(half) for half in MODES.keys.next_key().numpy())
    return high ^ low


def no_key() -> Value:
    """Return a constant in place of a random key, for a pass without random draws."""
    return Value((2,), INT64, None)
