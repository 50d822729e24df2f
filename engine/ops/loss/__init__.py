"""Losses."""

from engine.ops.loss import classification, ctc, likelihood, loss, margins, ranking, softmax_cross_entropy

FAMILIES = (classification, ctc, likelihood, loss, margins, ranking, softmax_cross_entropy)
