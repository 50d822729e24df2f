"""Recurrent layers: cells, fused steps, sequences."""

from engine.ops.recurrent import cells, gru_layer, lstm_layer, recurrent, rnn_layer, steps

FAMILIES = (cells, gru_layer, lstm_layer, recurrent, rnn_layer, steps)
