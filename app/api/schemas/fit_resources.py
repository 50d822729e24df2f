"""What a fit gets of the machine and of time, on the wire."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from app.api.schemas.shapes import RequestShape
from app.domain.clock import read_rfc3339

THREADS_MAX = 64
CPUS_MAX = 1024
TIMEOUT_MAX = 10**9


def _moment(text: str) -> str:
    try:
        read_rfc3339(text)
    except ValueError as error:
        raise PydanticCustomError("malformed", "{why}", {"why": str(error)}) from error
    return text


Deadline = Annotated[
    str, AfterValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"}), Field(max_length=64)
]
TimeoutSeconds = Annotated[float, Field(gt=0, le=TIMEOUT_MAX)]
TIMEOUT = "Seconds that it may run, over all attempts; then it fails with the code timeout, after a checkpoint."
DEADLINE = "When it fails with the code deadline_exceeded unless it has ended: RFC 3339, with the offset from UTC."


class ResourcesChoice(RequestShape):
    """What the fit gets of the machine."""

    priority: Literal["low", "normal", "high"] = Field(
        default="normal",
        description="Whose turn is earlier, and who gets more of the cores where they are scarce.",
    )
    executor: Literal["auto", "numpy", "native"] | None = Field(
        default=None,
        description=(
            'What computes; default "auto": native, compiled code, where the server has it, else numpy. A fit keeps '
            "the one that it was begun with."
        ),
    )
    threads: Annotated[int, Field(ge=1, le=THREADS_MAX)] | None = Field(
        default=None,
        description=(
            f"Threads that work inside a step, 1 to {THREADS_MAX}, cut to the cores that there are; by default the "
            "cores divided by the workers of the server and the replicas."
        ),
    )
    affinity: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=CPUS_MAX)] | None = Field(
        default=None, description="Numbers of the CPUs that its processes are bound to; by default those of the server."
    )
    replicas: Annotated[int, Field(ge=1, le=16)] | None = Field(
        default=None, description="Processes that share each batch, 1 to 16; default 1."
    )
    timeout_seconds: TimeoutSeconds | None = Field(default=None, description=f"{TIMEOUT} By default unlimited.")
    deadline: Deadline | None = Field(default=None, description=f"{DEADLINE} By default never.")
