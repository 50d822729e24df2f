"""Writes what PyTorch makes of small fits, step by step: run it with a Python that has torch.

python tests/engine/training/fit/make_golden.py

The model is a matrix `v` and a vector `b`, perhaps batch norm, tanh, and a matrix `w`, in float64; the loss is the mean
squared error. Rows come in their order.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

PATH = Path(__file__).parent / "golden" / "fits.json"
ROWS, BATCH, HELD_OUT = 12, 4, 5
EPOCH = ROWS // BATCH
OPTIMIZERS = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "muon": torch.optim.Muon,
    "rmsprop": torch.optim.RMSprop,
}

torch.Tensor.bfloat16 = torch.Tensor.clone  # torch's Muon rounds to it, which would hide what the iteration gives


def waves(*shape: int, start: float = 0.0) -> torch.Tensor:
    """Numbers that every machine makes alike: sines of the counting numbers, to six places."""
    count = int(torch.tensor(shape).prod())
    return torch.round(torch.sin(torch.arange(count, dtype=torch.float64) * 1.7 + start), decimals=6).reshape(shape)


class Small(torch.nn.Module):
    """The model."""

    def __init__(self, norm: bool) -> None:
        """Start it at waves."""
        super().__init__()
        self.v = torch.nn.Parameter(waves(3, 4, start=1))
        self.b = torch.nn.Parameter(waves(4, start=2))
        self.w = torch.nn.Parameter(waves(4, 2, start=3))
        self.norm = torch.nn.BatchNorm1d(4, dtype=torch.float64) if norm else torch.nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Predict."""
        return torch.tanh(self.norm(x @ self.v + self.b)) @ self.w


X, Y = waves(ROWS + HELD_OUT, 3), waves(ROWS + HELD_OUT, 2, start=5)


def loss_of(model: torch.nn.Module, rows: slice) -> torch.Tensor:
    """The loss over some rows."""
    return torch.nn.functional.mse_loss(model(X[rows]), Y[rows])


def arrays(model: torch.nn.Module) -> dict[str, Any]:
    """Everything that floats, as lists."""
    found = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {name: value.tolist() for name, value in found.items() if value.is_floating_point()}


def create(document: dict[str, Any], parameters: list[Any]) -> torch.optim.Optimizer:
    """Make an optimizer of one of our documents."""
    options = {name: value for name, value in document.items() if name not in ("kind", "groups", "match", "ndim")}
    return OPTIMIZERS[document["kind"]](parameters, **options)


def fit(
    steps: int,
    model: Small,
    optimizers: list[torch.optim.Optimizer],
    after: Callable[[int], None] = lambda step: None,
    *,
    batch: int = BATCH,
    before: Callable[[int], None] = lambda step: None,
) -> list[dict[str, Any]]:
    """Take steps; the loss and all arrays after each."""
    found = []
    per_epoch = ROWS // batch
    for step in range(steps):
        before(step)
        place = step % per_epoch * batch
        rows = slice(place, place + batch)

        def closure(rows: slice = rows) -> torch.Tensor:
            for parameter in model.parameters():
                parameter.grad = None
            loss = loss_of(model, rows)
            loss.backward()
            return loss

        loss = loss_of(model, rows).item() if not hasattr(model.norm, "momentum") else None
        for place, optimizer in enumerate(optimizers):
            returned = optimizer.step(closure) if not place else optimizer.step()
            loss = returned.item() if loss is None else loss
        after(step + 1)
        found.append({"loss": loss, **arrays(model)})
    return found


def averages() -> list[dict[str, Any]]:
    """EMA and SWA: the averaged arrays after each step, and the loss over held-out rows after each epoch."""
    cases = []
    for document in (
        {"kind": "ema", "decay": 0.8},
        {"kind": "ema", "decay": 0.9, "every_steps": 2},
        {"kind": "swa", "first_epoch": 2},
        {"kind": "swa", "every_steps": 2, "first_epoch": 2},
    ):
        model = Small(norm=True)
        averaging = get_ema_multi_avg_fn(document["decay"]) if document["kind"] == "ema" else None
        average = AveragedModel(model, multi_avg_fn=averaging, use_buffers=True)
        rows: list[dict[str, Any]] = []

        def take(step: int, document=document, model=model, average=average, rows=rows) -> None:
            late = step > (document.get("first_epoch", 1) - 1) * EPOCH
            every = document.get("every_steps", 1 if document["kind"] == "ema" else EPOCH)
            if late and step % every == 0:
                average.update_parameters(model)
            used = average.module if average.n_averaged else model
            used.eval()
            with torch.no_grad():
                held_out = loss_of(used, slice(ROWS, None)).item()
            used.train()
            rows.append({"taken": int(average.n_averaged), "val_loss": held_out, **arrays(used)})

        optimizer = {"kind": "sgd", "lr": 0.2, "momentum": 0.5}
        fit(4 * EPOCH, model, [create(optimizer, list(model.parameters()))], take)
        cases.append({"average": document, "optimizer": optimizer, "epochs": 4, "rows": rows})
    return cases


SGD = {
    "kind": "sgd",
    "lr": 0.1,
    "momentum": 0.9,
    "groups": [{"match": "w", "lr": 0.02}, {"match": "b", "lr": 0.3, "weight_decay": 0.1, "momentum": 0.0}],
}
MUON = {"ndim": 2, "kind": "muon", "lr": 0.02, "weight_decay": 0.1}
MIXED = {"kind": "adamw", "lr": 0.01, "weight_decay": 0.2, "groups": [MUON]}
COSINE = {"kind": "cosine", "t_max": 9, "eta_min": 0.001, "per": "step"}
PLATEAU = {"kind": "reduce_on_plateau", "patience": 0, "factor": 0.5, "threshold": 0.5, "min_lr": 0.02}


def by_groups(document: dict[str, Any], model: Small) -> list[torch.optim.Optimizer]:
    """Make what steps a model by SGD or MIXED."""
    if document is MIXED:
        return [create(MUON, [model.v, model.w]), create(MIXED, [model.b])]
    entries: list[Any] = [{"params": [model.v]}]
    for group in document["groups"]:
        options = {name: value for name, value in group.items() if name != "match"}
        entries.append({"params": [getattr(model, group["match"])], **options})
    return [create(document, entries)]


def grouped() -> list[dict[str, Any]]:
    """Parameter groups, with and without schedules."""
    cases = []
    for optimizer, schedule in ((SGD, None), (SGD, COSINE), (SGD, PLATEAU), (MIXED, None), (MIXED, COSINE)):
        model = Small(norm=False)
        optimizers = by_groups(optimizer, model)
        losses: list[float] = []
        cosines = [lr_scheduler.CosineAnnealingLR(o, 9, eta_min=0.001) for o in optimizers if schedule is COSINE]
        options = {name: value for name, value in PLATEAU.items() if name != "kind"}
        plateaus = [lr_scheduler.ReduceLROnPlateau(o, **options) for o in optimizers if schedule is PLATEAU]

        def before(step: int, model=model, losses=losses) -> None:
            place = step % EPOCH * BATCH
            losses.append(loss_of(model, slice(place, place + BATCH)).item())

        def after(step: int, cosines=cosines, plateaus=plateaus, losses=losses) -> None:
            for scheduler in cosines:
                scheduler.step()
            for scheduler in plateaus if step % EPOCH == 0 else ():
                scheduler.step(sum(losses[-EPOCH:]) / EPOCH)

        rows = fit(9, model, optimizers, after, before=before)
        cases.append({"optimizer": optimizer, "schedule": schedule, "epochs": 3, "rows": rows})
    return cases


def frozen() -> list[dict[str, Any]]:
    """Parameters frozen for some epochs: they have no gradient there, and their count of steps stands still."""
    cases = []
    for optimizer, rules in (
        ({"kind": "adam", "lr": 0.05}, [{"match": "w", "last_epoch": 1}, {"match": ["b", "x*"], "first_epoch": 2}]),
        ({"kind": "adamw", "lr": 0.05}, [{"match": "[vw]", "first_epoch": 2, "last_epoch": 2}]),
    ):
        model = Small(norm=False)
        chosen = create(optimizer, list(model.parameters()))
        hidden = {0: {0: "w", 1: "b", 2: "b"}, 1: {1: "vw"}}[len(cases)]

        def before(step: int, model=model, hidden=hidden) -> None:
            for name, parameter in model.named_parameters():
                parameter.requires_grad_(name not in hidden.get(step // EPOCH, ""))
                parameter.grad = None

        rows = fit(9, model, [chosen], before=before)
        counts = {name: int(chosen.state[parameter]["step"]) for name, parameter in model.named_parameters()}
        cases.append({"optimizer": optimizer, "freeze": rules, "epochs": 3, "rows": rows, "counts": counts})
    return cases


def cycled() -> list[dict[str, Any]]:
    """Momentum that a schedule cycles."""
    cases = []
    for optimizer, schedule in (
        ({"kind": "sgd", "lr": 0.1}, {"kind": "one_cycle", "total_steps": 9, "max_lr": 0.2, "base_momentum": 0.5}),
        ({"kind": "adam", "lr": 0.1}, {"kind": "one_cycle", "total_steps": 9, "max_lr": 0.05}),
        (
            {"kind": "sgd", "lr": 0.1, "momentum": 0.9},
            {"kind": "cyclic", "base_lr": 0.01, "max_lr": 0.2, "step_size_up": 2, "cycle_momentum": True},
        ),
    ):
        model = Small(norm=False)
        chosen = create(optimizer, list(model.parameters()))
        options = {name: value for name, value in schedule.items() if name != "kind"}
        kinds = {"one_cycle": lr_scheduler.OneCycleLR, "cyclic": lr_scheduler.CyclicLR}
        scheduler = kinds[schedule["kind"]](chosen, **options)

        def after(step: int, scheduler=scheduler) -> None:
            if step < 9:
                scheduler.step()

        rows = fit(9, model, [chosen], after)
        cases.append({"optimizer": optimizer, "schedule": {**schedule, "per": "step"}, "epochs": 3, "rows": rows})
    return cases


def minimized() -> list[dict[str, Any]]:
    """L-BFGS on whole batches."""
    cases = []
    for options in (
        {"lr": 0.5, "max_iter": 3},
        {"lr": 1.0, "max_iter": 4, "history_size": 3, "line_search": "strong_wolfe"},
    ):
        model = Small(norm=False)
        theirs = {("line_search_fn" if name == "line_search" else name): value for name, value in options.items()}
        rows = fit(4, model, [torch.optim.LBFGS(model.parameters(), **theirs)], batch=ROWS)
        cases.append({"optimizer": {"kind": "lbfgs", **options}, "epochs": 4, "batch_size": ROWS, "rows": rows})
    return cases


if __name__ == "__main__":
    found = {create.__name__: create() for create in (averages, grouped, frozen, cycled, minimized)}
    PATH.write_text(json.dumps(found, separators=(",", ":")) + "\n")
