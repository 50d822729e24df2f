"""Writes the trajectories of optax that the tests compare with: run it with a Python that has optax.

python tests/engine/optim/make_chain_golden.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

jax.config.update("jax_enable_x64", True)

GOLDEN = Path(__file__).parent / "golden"
STEPS = 50
RECORDED = [1, 2, 3, 5, 6, 7, 10, 20, 35, 50]
CHAINS = [
    (0.1, {"kind": "trace", "decay": 0.9}),
    (0.05, {"kind": "trace", "decay": 0.8, "nesterov": True}),
    (0.1, {"kind": "ema", "decay": 0.7}),
    (0.1, {"kind": "ema", "decay": 0.9, "debias": False}),
    (0.1, {"kind": "apply_every", "k": 4}),
    (0.1, {"kind": "scale", "step_size": -0.5}),
    (0.1, {"kind": "scale_by_adam"}),
    (0.05, {"kind": "scale_by_adam", "b1": 0.8, "b2": 0.95, "eps": 1e-4, "eps_root": 1e-3}),
    (0.05, {"kind": "scale_by_adam", "b1": 0.7, "b2": 0.9, "nesterov": True}),
    (0.1, {"kind": "scale_by_amsgrad", "b2": 0.7}),
    (0.1, {"kind": "scale_by_amsgrad", "b2": 0.8, "bias_correction_mu": False, "bias_correction_nu": False}),
    (0.1, {"kind": "scale_by_adamax", "b1": 0.8, "b2": 0.9, "eps": 1e-4}),
    (0.1, {"kind": "scale_by_adan"}),
    (0.05, {"kind": "scale_by_adan", "b1": 0.9, "b2": 0.8, "b3": 0.95, "eps": 1e-4, "eps_root": 1e-4}),
    (0.1, {"kind": "scale_by_radam"}),
    (0.1, {"kind": "scale_by_radam", "b1": 0.8, "b2": 0.9, "threshold": 4.5, "nesterov": True}),
    (0.1, {"kind": "scale_by_radam", "b2": 0.6}),
    (0.02, {"kind": "scale_by_belief", "eps": 1e-3}),
    (0.05, {"kind": "scale_by_belief", "b1": 0.7, "b2": 0.9, "eps": 1e-4, "eps_root": 1e-3, "nesterov": True}),
    (0.05, {"kind": "scale_by_yogi"}),
    (0.05, {"kind": "scale_by_yogi", "b1": 0.8, "b2": 0.9, "eps_root": 1e-3, "initial_accumulator_value": 0.1}),
    (0.01, {"kind": "scale_by_lion", "b1": 0.7, "b2": 0.9}),
    (0.01, {"kind": "scale_by_sign"}),
    (0.02, {"kind": "scale_by_rms", "eps": 1e-6}),
    (0.02, {"kind": "scale_by_rms", "decay": 0.8, "initial_scale": 0.5, "eps_in_sqrt": False, "eps": 1e-3}),
    (0.05, {"kind": "scale_by_rms", "decay": 0.95, "bias_correction": True}),
    (0.02, {"kind": "scale_by_stddev", "eps": 1e-3}),
    (0.02, {"kind": "scale_by_stddev", "decay": 0.8, "initial_scale": 0.5, "eps_in_sqrt": False, "eps": 1e-2}),
    (0.02, {"kind": "scale_by_stddev", "decay": 0.8, "eps": 1e-2, "bias_correction": True}),
    (0.2, {"kind": "scale_by_rss"}),
    (0.2, {"kind": "scale_by_rss", "initial_accumulator_value": 0.0, "eps": 1e-3}),
    (0.02, {"kind": "scale_by_novograd"}),
    (0.02, {"kind": "scale_by_novograd", "b1": 0.8, "b2": 0.9, "eps": 1e-3, "eps_root": 1e-2, "weight_decay": 0.1}),
    (0.1, {"kind": "scale_by_trust_ratio"}),
    (0.1, {"kind": "scale_by_trust_ratio", "min_norm": 0.5, "trust_coefficient": 0.3, "eps": 0.1}),
    (0.1, {"kind": "scale_by_param_block_norm", "min_scale": 1.5}),
    (0.1, {"kind": "scale_by_param_block_rms"}),
    (0.1, {"kind": "normalize_by_update_norm", "scale_factor": 0.5, "eps": 1e-3}),
    (0.1, {"kind": "centralize"}),
    (0.1, {"kind": "clip", "max_delta": 0.3}),
    (0.1, {"kind": "clip_by_block_rms", "threshold": 0.4}),
    (0.1, {"kind": "adaptive_grad_clip", "clipping": 0.1}),
    (0.1, {"kind": "add_decayed_weights", "weight_decay": 0.3}),
    (0.1, {"kind": "add_decayed_weights", "weight_decay": 0.3, "min_ndim": 2}),
    (
        0.02,
        {"kind": "centralize"},
        {"kind": "adaptive_grad_clip", "clipping": 0.5},
        {"kind": "scale_by_adam", "b1": 0.8},
        {"kind": "add_decayed_weights", "weight_decay": 0.2, "min_ndim": 2},
        {"kind": "scale_by_trust_ratio"},
        {"kind": "trace", "decay": 0.5},
    ),
]
"""Learning rates, and the transforms before them."""

NAMED: list[tuple[dict[str, Any], optax.GradientTransformation]] = [
    ({"kind": "sgd", "lr": 0.1, "momentum": 0.9, "nesterov": True}, optax.sgd(0.1, momentum=0.9, nesterov=True)),
    ({"kind": "adam", "lr": 0.1, "betas": [0.8, 0.95], "eps": 1e-6}, optax.adam(0.1, b1=0.8, b2=0.95, eps=1e-6)),
    ({"kind": "adamw", "lr": 0.1, "weight_decay": 0.3}, optax.adamw(0.1, weight_decay=0.3)),
    ({"kind": "adamax", "lr": 0.1, "betas": [0.8, 0.9]}, optax.adamax(0.1, b1=0.8, b2=0.9)),
    ({"kind": "radam", "lr": 0.05, "betas": [0.9, 0.6]}, optax.radam(0.05, b2=0.6)),
    ({"kind": "adadelta", "lr": 0.5, "rho": 0.7}, optax.adadelta(0.5, rho=0.7)),
    (
        {"kind": "rmsprop", "lr": 0.02, "alpha": 0.9, "eps": 1e-4, "momentum": 0.5},
        optax.rmsprop(0.02, decay=0.9, eps=1e-4, eps_in_sqrt=False, momentum=0.5),
    ),
    (
        {"kind": "lion", "lr": 0.01, "betas": [0.7, 0.9], "weight_decay": 0.5},
        optax.lion(0.01, b1=0.7, b2=0.9, weight_decay=0.5),
    ),
    (
        {"kind": "lars", "lr": 0.1, "trust_coefficient": 0.5, "momentum": 0.5, "weight_decay": 0.0},
        optax.lars(0.1, trust_coefficient=0.5, momentum=0.5),
    ),
    (
        {"kind": "lamb", "lr": 0.05, "betas": [0.7, 0.9], "eps": 1e-4, "weight_decay": 0.3},
        optax.lamb(0.05, b1=0.7, b2=0.9, eps=1e-4, weight_decay=0.3),
    ),
    (
        {"kind": "adafactor", "lr": 0.05, "eps": [1e-15, 1e-3]},
        optax.adafactor(0.05, min_dim_size_to_factor=2, eps=1e-30),
    ),
]
"""Other optimizers of the table, in the options in which optax means the same."""

ALIASES: list[tuple[list[dict[str, Any]], Callable[[float], optax.GradientTransformation]]] = [
    ([{"kind": "scale_by_belief"}], optax.adabelief),
    ([{"kind": "scale_by_yogi"}], optax.yogi),
    (
        [{"kind": "scale_by_novograd", "eps": 1e-6, "weight_decay": 0.1}],
        lambda lr: optax.novograd(lr, weight_decay=0.1),
    ),
    (
        [{"kind": "scale_by_adan", "eps_root": 1e-8}, {"kind": "add_decayed_weights", "weight_decay": 0.1}],
        lambda lr: optax.adan(lr, weight_decay=0.1),
    ),
    ([{"kind": "scale_by_sign"}], optax.sign_sgd),
    ([{"kind": "scale_by_amsgrad", "b2": 0.9}], lambda lr: optax.amsgrad(lr, b2=0.9)),
    (
        [
            {"kind": "add_decayed_weights", "weight_decay": 0.1},
            {"kind": "scale_by_trust_ratio", "trust_coefficient": 0.5},
            {"kind": "trace", "decay": 0.9},
        ],
        lambda lr: optax.lars(lr, weight_decay=0.1, trust_coefficient=0.5),
    ),
]
"""Chains that are optimizers of optax."""

SHAPES = [(), (5,), (1, 4), (3, 1), (4, 3), (2, 3, 4), (2, 3, 2, 4), (2, 2, 2, 2, 3)]


def _transform(kind: str, **options: Any) -> optax.GradientTransformation:
    if "min_ndim" in options:
        least = options.pop("min_ndim")
        options["mask"] = lambda tree: jax.tree.map(lambda leaf: leaf.ndim >= least, tree)
    return getattr(optax, kind)(**options)


def _problems() -> dict[str, dict[str, np.ndarray]]:
    """Return the problems of make_golden.py, as it has written them down."""
    (written,) = json.loads((GOLDEN / "optimizers.json").read_text())
    return {n: {key: np.array(array) for key, array in data.items()} for n, data in written["problems"].items()}


def _slope(data: dict[str, np.ndarray], known: np.ndarray, step: int) -> np.ndarray:
    if "gradients" in data:
        return data["gradients"][step]
    if "steepness" in data:
        return data["steepness"] * (known - data["centre"])
    return data["x"].T @ (1 / (1 + np.exp(-data["x"] @ known)) - data["y"]) / data["y"].size


def _path(optimizer: optax.GradientTransformation, data: dict[str, np.ndarray]) -> list:
    parameter, path = jnp.array(data["start"]), []
    state = optimizer.init(parameter)
    update = jax.jit(optimizer.update)
    for step in range(STEPS):
        updates, state = update(jnp.array(_slope(data, np.asarray(parameter), step)), state, parameter)
        parameter = optax.apply_updates(parameter, updates)
        assert parameter.dtype == jnp.float64
        if step + 1 in RECORDED:
            path.append(np.asarray(parameter).tolist())
    return path


def chains() -> dict[str, Any]:
    """Run every chain and every optimizer on the three problems."""
    runs = [
        (
            {"kind": "chain", "lr": lr, "transforms": links},
            optax.chain(*(_transform(**link) for link in links), optax.scale_by_learning_rate(lr)),
        )
        for lr, *links in CHAINS
    ]
    runs += NAMED
    runs += [({"kind": "chain", "lr": 0.02, "transforms": links}, make(0.02)) for links, make in ALIASES]
    problems = _problems()
    return {
        "recorded": RECORDED,
        "runs": [
            {"document": document, "problem": problem, "path": _path(optimizer, data)}
            for document, optimizer in runs
            for problem, data in problems.items()
        ],
    }


def unitwise() -> list[dict[str, Any]]:
    """Clip gradients of every number of axes adaptively."""
    numbers, runs = np.random.default_rng(3), []
    for shape in SHAPES:
        gradient, parameter = numbers.standard_normal(shape), numbers.standard_normal(shape)
        clip = optax.adaptive_grad_clip(0.7, eps=0.5)
        clipped, _ = clip.update(jnp.array(gradient), clip.init(parameter), jnp.array(parameter))
        arrays = {"gradient": gradient, "parameter": parameter, "clipped": np.asarray(clipped)}
        runs.append({"clipping": 0.7, "eps": 0.5, **{name: array.tolist() for name, array in arrays.items()}})
    return runs


def main() -> None:
    """Write both files."""
    for make in (chains, unitwise):
        path = GOLDEN / f"{make.__name__}.json"
        path.write_text(json.dumps(make(), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
