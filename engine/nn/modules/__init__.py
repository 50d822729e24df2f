"""Models as objects on the tape: modules with parameters, and functions of whole models."""

from engine.nn.modules.data_parallel import DataParallelResult, dp_train
from engine.nn.modules.functional import predict_in_chunks, probability_cross_entropy_loss, softmax_cross_entropy_loss
from engine.nn.modules.layer import Layer
from engine.nn.modules.module import Module
from engine.nn.modules.sequential import Sequential

__all__ = [
    "DataParallelResult",
    "Layer",
    "Module",
    "Sequential",
    "dp_train",
    "predict_in_chunks",
    "probability_cross_entropy_loss",
    "softmax_cross_entropy_loss",
]
