"""Losses."""

from engine.ops.loss import classification, ctc, likelihood, loss, margins, softmax_cross_entropy
