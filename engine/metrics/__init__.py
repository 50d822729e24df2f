"""Metrics of predictions, streamed over batches: statistics written in ops, joined, and read as numbers."""

from engine.metrics.accuracies import Accuracy, TopKAccuracy
from engine.metrics.areas import Auc
from engine.metrics.class_counts import F1, ConfusionMatrix, Precision, Recall
from engine.metrics.comparisons import Comparison, find_comparison, find_operands
from engine.metrics.forms import FORMS, PredictionForm
from engine.metrics.metric import Metric
from engine.metrics.operands import Operands
from engine.metrics.perplexities import Perplexity
from engine.metrics.regression import R2, Mae, Rmse
from engine.metrics.table import METRICS, metric_catalogue, read_metrics
from engine.metrics.tally import Tally, metric_statistics

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
