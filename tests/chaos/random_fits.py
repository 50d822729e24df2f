"""Random fits of every sort of graph, optimizer and batch: a seed and a number name one, whatever the machine."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

Document = dict[str, Any]
Shape = tuple[int, ...]

CLASSES = 10
ROWS_BYTES = 8 * 1024**2
"""The rows of a fit take no more: they are mapped from files, and are no part of what is estimated."""

OPTIMIZERS: tuple[Document, ...] = (
    {"kind": "sgd", "lr": 1e-3},
    {"kind": "sgd", "lr": 1e-3, "momentum": 0.9},
    {"kind": "adam", "lr": 1e-3},
    {"kind": "adamw", "lr": 1e-3},
    {"kind": "rmsprop", "lr": 1e-3},
    {"kind": "adagrad", "lr": 1e-3},
    {"kind": "adadelta", "lr": 1e-3},
    {"kind": "nadam", "lr": 1e-3},
    {"kind": "lion", "lr": 1e-4},
)
OPTIONS: tuple[Document, ...] = (
    {},
    {},
    {"validation": {"split": 0.25}},
    {"average": {"kind": "ema", "decay": 0.9}},
    {"micro_batch_size": 2},
    {"clip": {"norm": 1.0}},
)


@dataclass(frozen=True)
class RandomFit:
    """A fit: graph, recipe, and the shape of one row of the input `x`; the input `label` is a class."""

    sort: str
    graph: Document
    recipe: Document
    row: Shape
    rows: int

    def columns(self) -> dict[str, np.ndarray[Any, Any]]:
        """Draw the rows."""
        generator = np.random.default_rng(0)
        return {
            "x": generator.standard_normal((self.rows, *self.row), dtype=np.float32),
            "label": generator.integers(0, CLASSES, self.rows),
        }


def random_fit(seed: int, number: int) -> RandomFit:
    """Draw the fit of this number of a seed."""
    draw = random.Random(f"{seed}/{number}")
    sorts = [*SORTS]
    sort = sorts[number % len(sorts)]
    row, layers, rows_most = SORTS[sort](draw)
    batch = min(draw.choice((2, 8, 32, 128, 512, 2048)), rows_most)
    options = draw.choice(OPTIONS)
    rows = max(2, min(2 * batch + draw.choice((0, 4)), ROWS_BYTES // (4 * int(np.prod(row)))))
    graph = {
        "inputs": {"x": {"shape": ["batch", *row]}, "label": {"shape": ["batch"], "dtype": "int64"}},
        **layers,
    }
    recipe = {"steps": 4, "batch_size": min(batch, rows), "seed": number, "optimizer": draw.choice(OPTIMIZERS)}
    recipe["drop_last"] = True  # one row may be left over, and batch normalization takes no batch of one
    return RandomFit(sort, graph, {**recipe, **options}, row, rows)


def _layered(layers: list[Document | str]) -> Document:
    head = {"layer": "linear", "units": CLASSES}
    return {"layers": [*layers, head], "loss": {"kind": "cross_entropy", "target": "label"}}


def _dense(draw: random.Random) -> tuple[Shape, Document, int]:
    layers: list[Document | str] = []
    for _ in range(draw.randint(1, 5)):
        layers.append({"layer": "linear", "units": draw.choice((8, 64, 256, 1024)), "activation": draw.choice(ACTIVE)})
        layers += [{"layer": draw.choice(("batch_norm", "layer_norm"))}] if draw.random() < 0.3 else []
        layers += [{"layer": "dropout", "p": 0.2}] if draw.random() < 0.3 else []
    return (draw.choice((4, 64, 784)),), _layered(layers), 1024


def _images(draw: random.Random) -> tuple[Shape, Document, int]:
    layers: list[Document | str] = []
    for _ in range(draw.randint(1, 3)):
        layers.append({"layer": "conv2d", "channels": draw.choice((4, 8, 16)), "kernel": 3, "activation": "relu"})
        layers += [{"layer": "max_pool2d", "kernel": 2}] if draw.random() < 0.4 else []
    return (draw.choice((1, 3)), 24, 24), _layered([*layers, "flatten"]), 64


def _sequences(draw: random.Random) -> tuple[Shape, Document, int]:
    kind = draw.choice(("rnn", "gru", "lstm"))
    layers: list[Document | str] = [{"layer": kind, "units": draw.choice((8, 32, 64))}, "flatten"]
    return (draw.choice((4, 12)), draw.choice((4, 16))), _layered(layers), 128


def _attention(draw: random.Random) -> tuple[Shape, Document, int]:
    block = {"layer": "transformer_encoder_layer", "heads": 2, "width": draw.choice((32, 128))}
    return (draw.choice((8, 24)), 32), _layered([block] * draw.randint(1, 2) + ["flatten"]), 64


def _nodes(draw: random.Random) -> tuple[Shape, Document, int]:
    width, deep = draw.choice((16, 128, 512)), draw.randint(1, 12)
    steps = "".join(f"h{i + 1} = {draw.choice(ACTIVE)}(h{i} * w{i} + sin(h{i}))\n" for i in range(deep))
    program = f"h0 = x @ w\n{steps}loss = cross_entropy(h{deep} @ v, label)"
    parameters = {f"w{i}": {"shape": [width], "init": {"kind": "normal"}} for i in range(deep)}
    parameters |= {name: {"shape": shape, "init": {"kind": "normal"}} for name, shape in _ends(width).items()}
    return (64,), {"parameters": parameters, "program": program}, 2048


def _ends(width: int) -> dict[str, list[int]]:
    return {"w": [64, width], "v": [width, CLASSES]}


ACTIVE = ("relu", "tanh", "sigmoid")

SORTS: Mapping[str, Callable[[random.Random], tuple[Shape, Document, int]]] = MappingProxyType(
    {"dense": _dense, "images": _images, "sequences": _sequences, "attention": _attention, "nodes": _nodes}
)
"""For each sort of graph: the shape of a row, what the graph consists of, and the rows of the largest batch."""
