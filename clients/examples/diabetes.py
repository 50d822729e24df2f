"""Diabetes: how far the disease goes within a year, by ten measurements; tested on 111 of the 442 patients.

A regression: inputs and target are standardised by the rows to learn from.
"""

from adjoint_client import Client
from rows import DATA, Table, part
from running import Result, main, validated

GRAPH = {
    "name": "diabetes",
    "inputs": {"x": ["batch", 10], "progression": ["batch", 1]},
    "layers": [
        {"layer": "linear", "units": 16, "activation": "tanh"},
        {"layer": "dropout", "p": 0.2},
        {"layer": "linear", "units": 1},
    ],
    "loss": {"kind": "mse_loss"},
}


def run(client: Client, epochs: int = 60) -> Result:
    """Train it, and return the share of the variance that it explains on the patients held out (R²)."""
    table = Table.read(DATA / "diabetes.csv")
    progression = table.numbers()[:, None]
    known, unseen = part(len(progression), held_out=111, seed=0)
    fit = client.fit(
        GRAPH,
        client.upload({"x": table.features[known], "progression": progression[known]}, name="diabetes"),
        validation=client.upload(
            {"x": table.features[unseen], "progression": progression[unseen]}, name="diabetes, held out"
        ),
        normalize={"x": "standard", "progression": "standard"},
        epochs=epochs,
        batch_size=32,
        optimizer={"kind": "adamw", "lr": 0.003, "weight_decay": 0.1},
        schedule={"kind": "cosine", "t_max": epochs},
        metrics=["r2", "rmse"],
    )
    fit.wait(progress=True)
    return Result("diabetes", "R² on held-out rows", validated(fit, "r2"), 0.4, fit)


if __name__ == "__main__":
    main(run, __doc__)
