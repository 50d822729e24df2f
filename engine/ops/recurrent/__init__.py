"""Recurrent layers: cells, fused steps, sequences."""

from engine.ops.recurrent import gru_layer, lstm_layer, recurrent, rnn_layer, steps
