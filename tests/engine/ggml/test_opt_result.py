"""What batches add up to: losses, predictions and their uncertainty."""

import math

import numpy as np
import pytest

from engine.core.errors import DataError
from engine.ggml.opt_result import Batch, OptResult


def test_accuracy_has_a_binomial_uncertainty():
    result = OptResult()
    result.add(Batch(4, 1.0, 1, True, np.array([0, 1, 2, 0]), 3))
    result.add(Batch(4, 2.0, 1, True, np.array([1, 1, 1, 1]), 2))
    assert result.accuracy() == pytest.approx((5 / 8, math.sqrt(5 / 8 * 3 / 8 / 7)))
    assert result.loss() == (1.5, 0.5)
    assert result.predictions.tolist() == [0, 1, 2, 0, 1, 1, 1, 1]
    result.add(Batch(4, 2.0, 1, True))
    assert result.ncorrect == -1
    assert all(math.isnan(number) for number in result.accuracy())
    result.reset()
    assert (result.ndata, result.ncorrect, result.predictions.size) == (0, 0, 0)


def test_what_is_too_little_to_tell_is_nan():
    result = OptResult()
    assert result.loss().value == 0
    assert math.isnan(result.loss().uncertainty)
    assert math.isnan(result.accuracy().value)
    result.add(Batch(1, 2.0, 3, True, np.array([0]), 1))
    assert result.loss().value == 6
    assert math.isnan(result.loss().uncertainty)
    assert result.accuracy().value == 1
    assert math.isnan(result.accuracy().uncertainty)


@pytest.mark.parametrize("other", [Batch(3, 1.0, 1, True), Batch(2, 1.0, 2, True), Batch(2, 1.0, 1, False)])
def test_a_result_takes_batches_of_one_kind(other):
    result = OptResult()
    result.add(Batch(2, 1.0, 1, True))
    with pytest.raises(DataError, match="reset it first"):
        result.add(other)
