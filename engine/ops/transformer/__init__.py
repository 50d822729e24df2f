"""Attention, masked softmax, positions."""

from engine.ops.transformer import attention, attention_kernel, general_attention, masked_softmax, rotary

FAMILIES = (attention, attention_kernel, general_attention, masked_softmax, rotary)
