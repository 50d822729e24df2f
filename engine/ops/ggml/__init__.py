"""Ops in the forms of ggml."""

from engine.ops.ggml import forms
