"""Forms of ops as ggml has them."""

from engine.ops.ggml import forms
