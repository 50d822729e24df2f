"""The verbs of a session of kind "training": those of a training loop."""

from fastapi import Request

from app.api import session_static
from app.api.openapi_parts import JSON
from app.api.routing import router
from app.api.schemas.checkpoints import Checkpoint
from app.api.schemas.session_answers import (
    BatchAnswer,
    ForwardAnswer,
    ForwardBackwardAnswer,
    GradientNorms,
    LoadAnswer,
    OptimStepAnswer,
    SessionNonfiniteTrace,
    SessionPrediction,
    SessionProfile,
    SessionRowLosses,
    StepAnswer,
)
from app.api.schemas.session_steps import (
    BackwardRequest,
    BatchRequest,
    ForwardBackwardRequest,
    ForwardRequest,
    LoadRequest,
    OptimStepRequest,
    ResetRequest,
    SaveRequest,
    SessionPredictRequest,
    SessionProfileRequest,
    SessionRowLossesRequest,
    SessionTraceRequest,
    SetRequest,
    ZeroGradRequest,
)
from app.api.session_batches import read_batch
from app.api.session_bodies import Said
from app.api.session_steps import add_verbs
from app.api.session_verbs import SAFETENSORS, TENSORS, Verb
from app.domain.documents import NPY

routes = router("sessions")

OUTPUTS = (JSON, SAFETENSORS, NPY)

# Routes are tried in this order: first those that a loop takes.
STEPS = (
    Verb(
        "forward_backward",
        "run_forward_backward",
        "Run a forward and a backward pass, whose gradients add to those that there are.",
        ForwardBackwardRequest,
        ForwardBackwardAnswer,
        TENSORS,
        OUTPUTS,
    ),
    Verb(
        "optim_step",
        "run_optim_step",
        "Let the optimizer step the parameters that have gradients; then there are none.",
        OptimStepRequest,
        OptimStepAnswer,
    ),
    Verb(
        "forward",
        "run_forward",
        "Run a forward pass, and keep a tape of it if that is asked for.",
        ForwardRequest,
        ForwardAnswer,
        TENSORS,
        OUTPUTS,
    ),
    Verb(
        "backward",
        "run_backward",
        "Add the vector-Jacobian product of a tape with given cotangents to the gradients.",
        BackwardRequest,
        GradientNorms,
        TENSORS,
    ),
    Verb(
        "zero_grad",
        "zero_gradients",
        "Set the gradients to 0.",
        ZeroGradRequest,
        StepAnswer,
    ),
    Verb(
        "predict",
        "predict_with_session",
        "Compute the outputs in evaluation mode; nothing is changed.",
        SessionPredictRequest,
        SessionPrediction,
        TENSORS,
        OUTPUTS,
    ),
    Verb(
        "set",
        "set_parameters",
        "Put tensors in the place of parameters: all of those named, or none.",
        SetRequest,
        StepAnswer,
        TENSORS,
    ),
    Verb(
        "reset",
        "reset_session",
        "Set the gradients to 0, or let the optimizer begin anew, or both.",
        ResetRequest,
        StepAnswer,
    ),
    Verb(
        "row_losses",
        "compute_session_row_losses",
        "Compute the loss of each row by itself, in evaluation mode: which rows spike.",
        SessionRowLossesRequest,
        SessionRowLosses,
        TENSORS,
    ),
    Verb(
        "trace_nonfinite",
        "trace_session_nonfinite",
        "Find the first number of a training step that is not finite; nothing is changed.",
        SessionTraceRequest,
        SessionNonfiniteTrace,
        TENSORS,
    ),
    Verb(
        "profile",
        "profile_session",
        "Measure a training step node by node; nothing is changed.",
        SessionProfileRequest,
        SessionProfile,
        TENSORS,
    ),
)

CHECKPOINTS = (
    Verb(
        "save",
        "save_session",
        "Save parameters, buffers, optimizer state and gradients as a checkpoint.",
        SaveRequest,
        Checkpoint,
        status=201,
    ),
    Verb(
        "load",
        "load_session",
        "Go on from a checkpoint, with or without its optimizer state.",
        LoadRequest,
        LoadAnswer,
    ),
)

BATCH = Verb(
    "batch",
    "run_batch",
    "Carry out several steps, one after the other.",
    BatchRequest,
    BatchAnswer,
    (SAFETENSORS,),
)

VERBS = (*STEPS, *CHECKPOINTS, BATCH)

# What needs a checkpoint of the server's goes by itself.
_BATCHED = {verb.name: verb for verb in (*STEPS, *session_static.STEPS)}


async def _read_batch(request: Request, verb: Verb) -> Said:
    return await read_batch(request, verb, _BATCHED)


add_verbs(routes, (*STEPS, *CHECKPOINTS))
add_verbs(routes, (BATCH,), _read_batch)
