"""Characters: a small transformer learns to write Python, character by character, from the standard library's sources.

It sees 64 characters and predicts the one after each of them; attention is causal, so none of them sees what it is to
predict. The text is uploaded once, and the server takes both from it. Tested on the last tenth of each module, in nats
a character. In the end it writes a few lines of its own.
"""

import sysconfig
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adjoint_client import CheckpointHandle, Client
from running import Result, arguments, attempt

MODULES = (
    "argparse", "calendar", "configparser", "contextlib", "csv", "dataclasses", "difflib", "enum", "functools", "heapq",
)  # fmt: skip
ALPHABET = "\n" + "".join(map(chr, range(32, 127)))
SEEN = 64
WIDTH = 96
BATCH = 32

BLOCK = {
    "layer": "transformer_encoder_layer",
    "heads": 4,
    "width": 4 * WIDTH,
    "dropout": 0.0,
    "activation": "gelu",
    "norm_first": True,
    "causal": True,
}
GRAPH = {
    "name": "characters",
    "inputs": {
        "text": {"shape": ["batch", SEEN], "dtype": "int64"},
        "following": {"shape": ["batch", SEEN], "dtype": "int64"},
    },
    "layers": [
        {"layer": "embedding", "rows": len(ALPHABET), "units": WIDTH},
        {"layer": "learned_positions", "std": 0.02},
        BLOCK,
        BLOCK,
        {"layer": "layer_norm"},
        {"layer": "linear", "units": len(ALPHABET)},
        # As in PyTorch, classes are the axis behind the rows.
        {"layer": "permute", "axes": [0, 2, 1]},
    ],
    "loss": {"kind": "cross_entropy", "target": "following"},
}


def run(client: Client, steps: int = 900, modules: tuple[str, ...] = MODULES, length: int = 300) -> Result:
    """Train it, show a sample of `length` characters, and return its loss on the text held out."""
    known, unseen = texts(modules)
    print(f"{known['text'].size} characters to learn from, {unseen['text'].size} held out")
    fit = client.fit(
        GRAPH,
        client.upload(known, name="standard library"),
        validation={"dataset": client.upload(unseen, name="standard library, held out").id, "every_steps": 60},
        feeds={"text": "text", "following": "text"},
        windows={"spans": {"text": [0, SEEN], "following": [1, SEEN + 1]}, "stride": SEEN, "within": "module"},
        steps=steps,
        batch_size=BATCH,
        optimizer={
            "kind": "adamw",
            "lr": 0.003,
            "weight_decay": 0.01,
            "betas": [0.9, 0.98],
            # What shifts and scales is not to be drawn towards 0.
            "groups": [{"match": ["*bias*", "*norm*"], "weight_decay": 0.0}],
        },
        schedule={"kind": "one_cycle", "per": "step", "total_steps": steps, "pct_start": 0.1},
        clip={"norm": 1.0},
        record={"gradient_norms": False},
    )
    fit.wait(progress=True)
    print(write(fit.checkpoint("latest"), "def ", length))
    loss = float(fit.losses("validation")[-1])
    return Result("characters", "nats a held-out character", loss, 2.0, fit, higher_is_better=False)


def texts(modules: tuple[str, ...]) -> tuple[dict[str, NDArray[np.int64]], dict[str, NDArray[np.int64]]]:
    """The characters to learn from and those held out, the last tenth of each module; and which module each is of."""
    folder = Path(sysconfig.get_path("stdlib"))
    sources = [encode((folder / f"{module}.py").read_text("utf-8")) for module in modules]
    cuts = [len(source) * 9 // 10 for source in sources]
    return (
        _joined([source[:cut] for source, cut in zip(sources, cuts, strict=True)]),
        _joined([source[cut:] for source, cut in zip(sources, cuts, strict=True)]),
    )


def _joined(sources: list[NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
    module = np.repeat(np.arange(len(sources)), [len(source) for source in sources])
    return {"text": np.concatenate(sources), "module": module}


def encode(text: str) -> NDArray[np.int64]:
    """The place of each character in the alphabet; what is not in it becomes a question mark."""
    return np.array([ALPHABET.find(c) if c in ALPHABET else ALPHABET.index("?") for c in text], np.int64)


def write(checkpoint: CheckpointHandle, start: str, length: int, temperature: float = 0.7, seed: int = 0) -> str:
    """Go on from `start`, each character drawn from what the model predicts after the ones before it."""
    rng, text = np.random.default_rng(seed), start
    for _ in range(length):
        seen = text[-SEEN:]
        # What is behind the text does not matter: nothing looks ahead.
        rows = np.zeros((1, SEEN), np.int64)
        rows[0, : len(seen)] = encode(seen)
        logits = checkpoint.predict(rows)[0, :, len(seen) - 1].astype(np.float64) / temperature
        shares = np.exp(logits - logits.max())
        text += ALPHABET[rng.choice(len(ALPHABET), p=shares / shares.sum())]
    return text


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--steps", type=int, default=900, help="training steps, default 900")
    given = parser.parse_args()
    raise SystemExit(attempt([partial(run, steps=given.steps)], given.url, given.curves))
