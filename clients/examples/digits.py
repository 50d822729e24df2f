"""Digits: a convolutional network reads handwritten digits of 8x8 pixels; tested on 360 of the 1,797 images.

Tested, and to be used, are not the last weights but their running average.
"""

from adjoint_client import Client
from rows import DEMO, Table, part
from running import Result, main, validated

BRIGHTEST = 16.0
BATCH = 64

GRAPH = {
    "name": "digits",
    "inputs": {"image": ["batch", 1, 8, 8], "digit": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [
        {"layer": "conv2d", "channels": 16, "kernel": 3, "padding": 1, "bias": False},
        {"layer": "batch_norm"},
        {"layer": "relu"},
        {"layer": "conv2d", "channels": 32, "kernel": 3, "padding": 1, "bias": False},
        {"layer": "batch_norm"},
        {"layer": "relu"},
        {"layer": "max_pool2d", "kernel": 2},
        {"layer": "flatten"},
        {"layer": "dropout", "p": 0.3},
        {"layer": "linear", "units": 64, "activation": "relu"},
        {"layer": "linear", "units": 10},
    ],
    "loss": {"kind": "cross_entropy", "target": "digit", "label_smoothing": 0.1},
}


def run(client: Client, epochs: int = 15) -> Result:
    """Train it, and return its accuracy on the images held out."""
    table = Table.read(DEMO / "digits.csv")
    digit = table.classes()
    image = table.features.reshape(-1, 1, 8, 8) / BRIGHTEST
    known, unseen = part(len(digit), held_out=360, seed=0)
    fit = client.fit(
        GRAPH,
        client.upload({"image": image[known], "digit": digit[known]}, name="digits"),
        validation=client.upload({"image": image[unseen], "digit": digit[unseen]}, name="digits, held out"),
        epochs=epochs,
        batch_size=BATCH,
        optimizer={"kind": "adamw", "lr": 0.004, "weight_decay": 0.05},
        # The rate rises over the first 30 % of the steps and falls to almost nothing over the rest.
        schedule={"kind": "one_cycle", "per": "step", "total_steps": epochs * -(-len(known) // BATCH)},
        average={"kind": "ema", "decay": 0.98},
        metrics=["accuracy"],
    )
    fit.wait(progress=True)
    return Result("digits", "accuracy on held-out images", validated(fit, "accuracy"), 0.985, fit)


if __name__ == "__main__":
    main(run, __doc__)
