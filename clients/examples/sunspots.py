"""Sunspots: an LSTM forecasts the yearly number of sunspots from the years before; tested on the last 60 years.

The number to beat is the error of the simplest forecast, that next year will be like this one. Only the series is
uploaded: the server takes the stretches of years, and the year behind each, from it.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from adjoint_client import Client
from rows import DATA, Floats, Table
from running import Result, main

YEARS_SEEN = 33  # three cycles of the sun
YEARS_HELD_OUT = 60

GRAPH = {
    "name": "sunspots",
    "inputs": {"years": ["batch", YEARS_SEEN, 1], "next": ["batch", 1]},
    "layers": [
        {"layer": "lstm", "units": 24, "result": "last"},
        {"layer": "dropout", "p": 0.2},
        {"layer": "linear", "units": 1},
    ],
    "loss": {"kind": "mse_loss"},
}


def run(client: Client, epochs: int = 120) -> Result:
    """Train it on the years up to 1948, and return the error of its forecasts a year ahead from then on."""
    spots = Table.read(DATA / "sunspots.csv").numbers()[:, None]
    learnt, tested = spots[:-YEARS_HELD_OUT], spots[-YEARS_HELD_OUT - YEARS_SEEN :]
    fit = client.fit(
        GRAPH,
        client.upload({"spots": learnt}, name="sunspots"),
        validation=client.upload({"spots": tested}, name="sunspots, held out"),
        feeds={"years": "spots", "next": "spots"},
        windows={"spans": {"years": [0, YEARS_SEEN], "next": YEARS_SEEN}},
        normalize={"years": "standard", "next": "standard"},
        epochs=epochs,
        batch_size=32,
        optimizer={"kind": "adamw", "lr": 0.005, "weight_decay": 0.01},
        schedule={"kind": "cosine", "t_max": epochs},
        clip={"norm": 1.0},
        metrics=["rmse"],
    )
    fit.wait(progress=True)
    checkpoint = fit.checkpoint("latest")
    stretches = sliding_window_view(tested[:-1, 0], YEARS_SEEN)[:, :, None]
    # The target was normalised in training; predictions are in the units of the series all the same.
    forecast = checkpoint.predict(stretches)
    error, naive = _error(forecast, tested[YEARS_SEEN:]), _error(tested[YEARS_SEEN - 1 : -1], tested[YEARS_SEEN:])
    return Result("sunspots", "root mean square error of the forecasts", error, naive, fit, higher_is_better=False)


def _error(forecast: Floats, true: Floats) -> float:
    return float(np.sqrt(np.mean((forecast - true) ** 2)))


if __name__ == "__main__":
    main(run, __doc__)
