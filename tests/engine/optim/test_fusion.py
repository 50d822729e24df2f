"""The rewrite of chains into fused ops: the same steps as link by link."""

import numpy as np
import pytest

from engine.core.value import tensor
from engine.optim.optimizers import OPTIMIZERS, make_optimizer
from engine.optim.transforms.link import Direction

DECAYS = ({}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled": True})
FUSED = [
    *({"kind": "sgd", **decay} for decay in DECAYS),
    *({"kind": "sgd", "momentum": 0.9, "dampening": 0.3, **decay} for decay in DECAYS),
    {"kind": "sgd", "momentum": 0.9, "nesterov": True},
    {"kind": "adam", "weight_decay": 0.1},
    {"kind": "adamw", "betas": [0.8, 0.99]},
]


def stepped(optimizer, step, slots):
    """Step a drawn vector by a drawn gradient; return the parameter and the slots, and the ops that were applied."""
    gradient, parameter = (tensor(x) for x in np.random.default_rng(0).standard_normal((2, 5)))
    lr = tensor(np.array(0.1))
    return step(optimizer.links(optimizer.own_momentum or 0.0), Direction(gradient, parameter, lr, lr), slots)


def slots_of(optimizer, steps):
    spec = tensor(np.zeros(5)).spec
    drawn = np.random.default_rng(1)
    return {
        name: tensor(np.array(steps) if s.dtype.kind == "i" else np.square(drawn.standard_normal(s.shape)))
        for name, s in optimizer.slots(spec).items()
    }


@pytest.mark.parametrize("document", FUSED, ids=str)
@pytest.mark.parametrize("steps", [0, 3])
def test_a_fused_step_is_that_of_the_links(document, steps):
    optimizer = make_optimizer({**document, "lr": 0.1})
    slots = slots_of(optimizer, steps)
    fused, kept = stepped(optimizer, optimizer.step, slots)
    composed, wanted = stepped(optimizer, optimizer.compose, slots)
    np.testing.assert_allclose(fused.numpy(), composed.numpy(), rtol=1e-13, atol=1e-15)
    assert kept.keys() == wanted.keys() == slots.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(kept[name].numpy(), value.numpy(), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_the_links_of_an_optimizer_have_slots_of_different_names(kind):
    optimizer = make_optimizer({"kind": kind})
    spec = tensor(np.zeros((2, 3))).spec
    links = optimizer.links(0.5)
    names = [optimizer.slot_name(slot, place) for place, link in enumerate(links) for slot in link.slots(spec)]
    assert len(names) == len(set(names))
