"""Loss scaling: steps that overflow are skipped, the scale follows, small float16 gradients survive."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, CheckpointError, GradientError
from engine.core.value import Value, tensor
from engine.optim.loss_scaler import LossScaler, ScaledStep
from engine.optim.tape_optimizer import TapeOptimizer
from tests.support.rows import each_row


def parameter(number: float = 1.0, dtype: str = "float32") -> Value:
    return tensor(np.array([number]), dtype=dtype, requires_grad=True, name="w")


def stepped(scaler: LossScaler, optimizer: TapeOptimizer, leaf: Value, slope: float) -> ScaledStep:
    """Take a step on a loss of this slope."""
    optimizer.zero_grad()
    scaler.scaled((leaf * slope).sum()).backward()
    return scaler.step(optimizer)


def test_an_infinite_gradient_skips_the_step_and_halves_the_scale() -> None:
    leaf, scaler = parameter(), LossScaler()
    optimizer = TapeOptimizer([leaf], "sgd", lr=1.0, momentum=0.9)
    assert stepped(scaler, optimizer, leaf, 1e38) == ScaledStep(found_inf=True, scale=2.0**15)
    assert leaf.numpy().tolist() == [1.0]
    assert optimizer.state_dict()["slots"] == {}
    assert stepped(scaler, optimizer, leaf, 0.25) == ScaledStep(found_inf=False, scale=2.0**15)
    assert leaf.numpy().tolist() == [0.75]


def test_the_scale_doubles_after_enough_good_steps_in_a_row() -> None:
    leaf, scaler = parameter(), LossScaler(8.0, growth_interval=3)
    optimizer = TapeOptimizer([leaf], "sgd", lr=0.1)
    slopes = [1, 1, math.inf, 1, 1, 1, 1, math.nan, 1]
    scales = [stepped(scaler, optimizer, leaf, slope).scale for slope in slopes]
    assert scales == [8, 8, 4, 4, 4, 8, 8, 4, 4]


def test_the_state_is_carried_over() -> None:
    leaf, scaler = parameter(), LossScaler(8.0, growth_interval=3)
    optimizer = TapeOptimizer([leaf], "sgd", lr=0.1)
    for _ in range(2):
        stepped(scaler, optimizer, leaf, 1.0)
    other = LossScaler(growth_interval=3)
    other.load_state_dict(scaler.state_dict())
    assert stepped(other, optimizer, leaf, 1.0).scale == 16
    with pytest.raises(CheckpointError, match="holds scale and good_steps"):
        other.load_state_dict({"scale": 1.0})


def test_a_gradient_too_small_for_float16_survives() -> None:
    plain, scaled = parameter(0.0, "float16"), parameter(0.0, "float16")
    optimizer = TapeOptimizer([plain], "sgd", lr=1e4)
    (plain * 1e-4 * 1e-4).sum().backward()
    optimizer.step()
    scaler, optimizer = LossScaler(1024.0), TapeOptimizer([scaled], "sgd", lr=1e4)
    scaler.scaled((scaled * 1e-4 * 1e-4).sum()).backward()
    assert not scaler.step(optimizer).found_inf
    assert plain.numpy().tolist() == [0.0]
    assert scaled.numpy()[0] == pytest.approx(-1e-4, rel=1e-2)


def test_gradients_are_unscaled_once_to_be_clipped() -> None:
    leaf, scaler = parameter(), LossScaler()
    optimizer = TapeOptimizer([leaf], "sgd", lr=1.0)
    scaler.scaled((leaf * 3.0).sum()).backward()
    assert not scaler.unscale_(optimizer)
    assert leaf.grad is not None
    assert leaf.grad.numpy().tolist() == [3.0]
    with pytest.raises(GradientError, match="unscale_ goes once"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert leaf.numpy().tolist() == [-2.0]


@each_row("options", [{"scale": 0.0}, {"growth_factor": 1.0}, {"backoff_factor": 1.0}, {"growth_interval": 0}])
def test_an_option_out_of_range_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(AttributeValueError, match="a loss scaler needs"):
        LossScaler(**options)
