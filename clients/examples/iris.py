"""Iris: the network of ggmlR's tutorial on 120 flowers, tested on the other 30.

Two hidden layers with batch normalisation and dropout; Adam along a cosine, gradients clipped to norm 5.
"""

from adjoint_client import Client
from rows import DEMO, Table, accuracy, part
from running import Result, main

GRAPH = {
    "name": "iris",
    "inputs": {"x": ["batch", 4], "species": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [
        {"layer": "linear", "units": 64, "activation": "relu", "start": "glorot"},
        {"layer": "batch_norm"},
        {"layer": "dropout", "p": 0.3},
        {"layer": "linear", "units": 32, "activation": "relu", "start": "glorot"},
        {"layer": "linear", "units": 3, "start": "glorot"},
    ],
    "loss": {"kind": "cross_entropy"},
}


def run(client: Client, epochs: int = 150) -> Result:
    """Train it, and return its accuracy on the flowers held out."""
    table = Table.read(DEMO / "iris.csv")
    species = table.classes()
    known, unseen = part(len(species), held_out=30, seed=1)
    fit = client.fit(
        GRAPH,
        client.upload({"x": table.features[known], "species": species[known]}, name="iris"),
        validation=client.upload({"x": table.features[unseen], "species": species[unseen]}, name="iris, held out"),
        # By the flowers to learn from; predictions then take centimetres, too.
        normalize={"x": "standard"},
        epochs=epochs,
        batch_size=32,
        seed=1,
        optimizer={"kind": "adam", "lr": 0.001},
        schedule={"kind": "cosine", "t_max": epochs, "eta_min": 1e-5},
        clip={"norm": 5.0},
        metrics=["accuracy", "f1"],
    )
    fit.wait(progress=True)
    score = accuracy(fit.predict(table.features[unseen]), species[unseen])
    return Result("iris", "accuracy on held-out rows", score, 0.93, fit)


if __name__ == "__main__":
    main(run, __doc__)
