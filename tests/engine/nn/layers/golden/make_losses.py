"""Write losses.json: what PyTorch's losses give for the losses that a stack of layers may end in.

Run with a Python that has torch 2.13 and numpy:  python tests/engine/nn/layers/golden/make_losses.py
The tests read the file and need NumPy only.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as f

FILE = Path(__file__).parent / "losses.json"
GENERATOR = np.random.default_rng(0)
CASES: list[dict[str, Any]] = []

Tensors = dict[str, torch.Tensor]


def floats(*shape: int, low: float = -2.0, high: float = 2.0) -> torch.Tensor:
    """Draw numbers of few digits."""
    return torch.tensor(np.round(GENERATOR.uniform(low, high, shape) * 64) / 64 + 1 / 128)


def whole(high: int, *shape: int) -> torch.Tensor:
    return torch.tensor(GENERATOR.integers(0, high, shape))


def signs(*shape: int) -> torch.Tensor:
    return torch.tensor(GENERATOR.integers(0, 2, shape) * 2.0 - 1)


def case(
    kind: str, options: dict[str, Any], call: Callable[..., torch.Tensor], x: torch.Tensor, **others: torch.Tensor
) -> None:
    """Keep a case: `call(x, **others, reduction=...)` is what PyTorch gives."""
    reductions = {name: call(x, **others, reduction=name) for name in ("mean", "sum", "none")}
    CASES.append(
        {
            "kind": kind,
            "options": options,
            "inputs": {
                name: {"shape": list(t.shape), "dtype": str(t.dtype).removeprefix("torch."), "data": t.tolist()}
                for name, t in {"x": x, **others}.items()
            },
            "expected": {name: result.tolist() for name, result in reductions.items()},
        }
    )


def pairs() -> None:
    for kind, options, call in (
        ("mse_loss", {}, f.mse_loss),
        ("l1_loss", {}, f.l1_loss),
        ("huber_loss", {"delta": 0.7}, lambda x, t, **k: f.huber_loss(x, t, delta=0.7, **k)),
        ("smooth_l1_loss", {"beta": 0.5}, lambda x, t, **k: f.smooth_l1_loss(x, t, beta=0.5, **k)),
        ("soft_margin_loss", {}, f.soft_margin_loss),
    ):
        target = signs(4, 3) if kind == "soft_margin_loss" else floats(4, 3)
        case(kind, options, lambda x, t, reduction, call=call: call(x, t, reduction=reduction), floats(4, 3), t=target)
    case(
        "hinge_embedding_loss",
        {"margin": 0.8},
        lambda x, t, **k: f.hinge_embedding_loss(x, t, margin=0.8, **k),
        floats(4, 3),
        t=signs(4, 3),
    )
    case("poisson_nll_loss", {"full": True}, lambda x, t, **k: f.poisson_nll_loss(x, t, full=True, **k), floats(4, 2),
         t=whole(5, 4, 2).double())  # fmt: skip
    case("kl_div", {}, lambda x, t, **k: f.kl_div(x, t, **k), f.log_softmax(floats(4, 3), 1),
         t=f.softmax(floats(4, 3), 1))  # fmt: skip
    case("gaussian_nll_loss", {"var": "var"}, lambda x, t, var, **k: f.gaussian_nll_loss(x, t, var, **k), floats(4, 2),
         t=floats(4, 2), var=floats(4, 2, low=0.5))  # fmt: skip


def binary() -> None:
    weight, positive = [0.5, 2.0, 1.5], [1.0, 3.0, 0.25]
    w, p = torch.tensor(weight).double(), torch.tensor(positive).double()
    case("bce_with_logits_loss", {}, f.binary_cross_entropy_with_logits, floats(4, 3), target=whole(2, 4, 3).double())
    for options, more in (
        ({"pos_weight": positive}, {"pos_weight": p}),
        ({"weight": weight}, {"weight": w}),
        ({"pos_weight": positive, "weight": weight}, {"pos_weight": p, "weight": w}),
    ):
        case(
            "bce_with_logits_loss",
            options,
            lambda x, t, more=more, **k: f.binary_cross_entropy_with_logits(x, t, **more, **k),
            floats(4, 3),
            t=whole(2, 4, 3).double(),
        )
    case("bce_loss", {"weight": weight}, lambda x, t, **k: f.binary_cross_entropy(x, t, weight=w, **k),
         floats(4, 3, low=0.1, high=0.9), t=floats(4, 3, low=0.0, high=0.9))  # fmt: skip
    case("multilabel_soft_margin_loss", {"weight": weight},
         lambda x, t, **k: f.multilabel_soft_margin_loss(x, t, weight=w, **k), floats(4, 3), t=whole(2, 4, 3).double(),
         )  # fmt: skip


def classes() -> None:
    weight = [0.5, 2.0, 1.5]
    w = torch.tensor(weight).double()
    for options, more in (
        ({}, {}),
        ({"weight": weight}, {"weight": w}),
        ({"weight": weight, "ignore_index": 1}, {"weight": w, "ignore_index": 1}),
        ({"label_smoothing": 0.25, "weight": weight}, {"label_smoothing": 0.25, "weight": w}),
    ):
        for shape in ((4, 3), (4, 3, 2)):
            case(
                "cross_entropy",
                options,
                lambda x, t, more=more, **k: f.cross_entropy(x, t, **more, **k),
                floats(*shape),
                t=whole(3, 4, *shape[2:]),
            )
    case("cross_entropy", {"weight": weight}, lambda x, t, **k: f.cross_entropy(x, t, weight=w, **k), floats(4, 3),
         t=f.softmax(floats(4, 3), 1))  # fmt: skip
    case("nll_loss", {"weight": weight, "ignore_index": 0}, lambda x, t, **k: f.nll_loss(x, t, w, ignore_index=0, **k),
         f.log_softmax(floats(5, 3), 1), t=whole(3, 5))  # fmt: skip
    case("multi_margin_loss", {"weight": weight, "p": 2, "margin": 0.5},
         lambda x, t, **k: f.multi_margin_loss(x, t, p=2, margin=0.5, weight=w, **k), floats(4, 3), t=whole(3, 4),
         )  # fmt: skip
    case("multilabel_margin_loss", {}, f.multilabel_margin_loss, floats(2, 4),
         target=torch.tensor([[3, 0, -1, 1], [1, -1, 0, 2]]))  # fmt: skip


def several() -> None:
    case("margin_ranking_loss", {"other": "other", "margin": 0.3},
         lambda x, other, t, **k: f.margin_ranking_loss(x, other, t, margin=0.3, **k), floats(5), other=floats(5),
         t=signs(5))  # fmt: skip
    case("cosine_embedding_loss", {"other": "other", "margin": 0.2},
         lambda x, other, t, **k: f.cosine_embedding_loss(x, other, t, margin=0.2, **k), floats(4, 3),
         other=floats(4, 3), t=signs(4))  # fmt: skip
    case("triplet_margin_loss", {"positive": "p", "negative": "n", "swap": True},
         lambda x, p, n, **k: f.triplet_margin_loss(x, p, n, swap=True, **k), floats(4, 3), p=floats(4, 3),
         n=floats(4, 3))  # fmt: skip
    case(
        "ctc_loss",
        {"target": "t", "input_lengths": "i", "target_lengths": "n", "blank": 1},
        lambda x, t, i, n, **k: f.ctc_loss(x.transpose(0, 1), t, i, n, blank=1, **k),
        f.log_softmax(floats(2, 5, 4), 2),
        t=torch.tensor([[2, 3, 3], [0, 2, 2]]),
        i=torch.tensor([5, 4]),
        n=torch.tensor([2, 3]),
    )
    case(
        "ctc_loss",
        {"target": "t", "target_lengths": "n"},
        lambda x, t, n, **k: f.ctc_loss(x.transpose(0, 1), t, torch.full_like(n, 5), n, **k),
        f.log_softmax(floats(2, 5, 4), 2),
        t=torch.tensor([[2, 3, 1], [1, 2, 2]]),
        n=torch.tensor([1, 3]),
    )


def main() -> None:
    for family in (pairs, binary, classes, several):
        family()
    FILE.write_text("[\n" + ",\n".join(json.dumps(entry) for entry in CASES) + "\n]\n")


if __name__ == "__main__":
    main()
