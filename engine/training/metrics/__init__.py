"""Metrics of predictions: statistics of batches, written in ops, accumulated and converted to values."""

from engine.core.losses import PredictionForm
from engine.training.metrics.class_counts import F1, ConfusionMatrix, Precision, Recall
from engine.training.metrics.comparisons import Comparison, find_comparison, find_operands
from engine.training.metrics.metric import Metric
from engine.training.metrics.operands import FORMS, Operands
from engine.training.metrics.regression import R2, Mae, Rmse
from engine.training.metrics.scores import Accuracy, Auc, Perplexity, TopKAccuracy
from engine.training.metrics.table import METRICS, metric_catalogue, read_metrics
from engine.training.metrics.tally import Tally, metric_statistics

__all__ = [
    "F1",
    "FORMS",
    "METRICS",
    "R2",
    "Accuracy",
    "Auc",
    "Comparison",
    "ConfusionMatrix",
    "Mae",
    "Metric",
    "Operands",
    "Perplexity",
    "Precision",
    "PredictionForm",
    "Recall",
    "Rmse",
    "Tally",
    "TopKAccuracy",
    "find_comparison",
    "find_operands",
    "metric_catalogue",
    "metric_statistics",
    "read_metrics",
]
