"""Wine: which of three growers a wine is from, by thirteen chemical measurements; tested on 45 of the 178 wines.

A fifth of the others, drawn from each grower alike, says when to stop; kept are the parameters that did best on it.
"""

from adjoint_client import Client
from rows import DATA, Table, accuracy, part
from running import Result, main

GRAPH = {
    "name": "wine",
    "inputs": {"x": ["batch", 13], "cultivar": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [
        {"layer": "linear", "units": 32, "activation": "gelu"},
        {"layer": "dropout", "p": 0.2},
        {"layer": "linear", "units": 3},
    ],
    "loss": {"kind": "cross_entropy", "label_smoothing": 0.05},
}


def run(client: Client, epochs: int = 200) -> Result:
    """Train it until it no longer improves, and return its accuracy on the wines that it was never shown."""
    table = Table.read(DATA / "wine.csv")
    cultivar = table.classes()
    known, unseen = part(len(cultivar), held_out=45, seed=0)
    fit = client.fit(
        GRAPH,
        client.upload({"x": table.features[known], "cultivar": cultivar[known]}, name="wine"),
        validation={"split": 0.2, "stratify": "cultivar"},
        early_stopping={"monitor": "val_loss", "patience": 10, "restore_best": True},
        normalize={"x": "standard"},
        epochs=epochs,
        batch_size=16,
        optimizer={"kind": "adamw", "lr": 0.005, "weight_decay": 0.01},
        metrics=["accuracy", "f1"],
    )
    fit.wait(progress=True)
    score = accuracy(fit.predict(table.features[unseen]), cultivar[unseen])
    return Result("wine", "accuracy on wines never seen", score, 0.94, fit)


if __name__ == "__main__":
    main(run, __doc__)
