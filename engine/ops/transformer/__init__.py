"""Attention, masked softmax, positions."""

from engine.ops.transformer import attention, attention_kernel, masked_softmax, rotary
