"""Names of a plan's inputs and outputs beside those of the graph, whose names never hold a colon."""

KEY = ":key"
"""The random key of a run, int64[2]."""
RATE = ":lr:"
"""The learning rate of a parameter group, float64; its place follows."""
MOMENTUM = ":momentum"
"""The momentum that a schedule feeds, float64."""
SHARE = ":share"
"""What the loss of a part of a batch is multiplied by, float64."""
WEIGHT = ":weight"
"""What the summed gradients of a batch's parts are divided by, float64."""
BATCH_LOSS = ":loss"
"""The loss over a batch whose parts are added up, float64."""
STEP = ":step"
"""The number of the step, from 0, int64: noise dies away by it."""
AVERAGING = ":averaging"
"""How far an average moves to the new weights, float64."""

LOSS, LOSS_WEIGHT, FINITE = "loss", "loss_weight", "finite"
SQUARED_NORM = "squared_norm:"
GRADIENT = "gradient:"
"""The sum of the gradients of a batch's parts; the name of the vector follows. Captured: that of the parameter."""


def rate_input(group: int) -> str:
    """Name the input that takes the learning rate of a parameter group."""
    return f"{RATE}{group}"
