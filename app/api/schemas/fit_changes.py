"""Changes to fits on the wire."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, create_model, field_validator, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.bounds import bounded
from app.api.schemas.fit_request import BOUNDED_ELSEWHERE, FitRequest
from app.api.schemas.fit_resources import DEADLINE, THREADS_MAX, TIMEOUT, Deadline, TimeoutSeconds
from app.api.schemas.labels import LabelKey, LabelValue
from app.api.schemas.shapes import RequestShape
from app.service.fits.extension import Extension

NOT_OF_RECIPE = frozenset({"graph", "dataset", "resources", "sweep", "labels", "start_paused", "from_checkpoint"})
MORE_MAX = 10**9

More = Annotated[int, Field(ge=1, le=MORE_MAX)]


class ResourceChanges(RequestShape):
    """What of its resources a fit can be given otherwise; null stands for the default."""

    priority: Literal["low", "normal", "high"] | None = Field(default=None, description="Whose turn is earlier.")
    threads: Annotated[int, Field(ge=1, le=THREADS_MAX)] | None = Field(
        default=None, description="Threads that work inside a step, from its next process on; only while it is paused."
    )
    timeout_seconds: TimeoutSeconds | None = Field(default=None, description=TIMEOUT)
    deadline: Deadline | None = Field(default=None, description=DEADLINE)


# The engine reads these, merged into the rest of the recipe: a part of one need not make sense alone.
_FIELDS: Any = {
    name: (Any, Field(default=None, description=field.description))
    for name, field in FitRequest.model_fields.items()
    if name not in NOT_OF_RECIPE
}
_RecipeChanges = create_model("_RecipeChanges", __base__=RequestShape, **_FIELDS)


class FitChanges(_RecipeChanges):  # type: ignore[valid-type, misc]  # its fields follow from those of requests
    """Changes to a fit, merged into its request field by field, as RFC 7396 has it: null takes back to the default.

    Labels, priority, timeout_seconds and deadline may change whenever; the other fields before the first process, and
    those that training can go on with (the optimizer's options, schedule, clip, noise, epochs, steps and the like)
    also while the fit is paused.
    """

    labels: dict[LabelKey, LabelValue | None] | None = Field(
        default=None, description="Labels to set, and null for those to remove."
    )
    resources: ResourceChanges | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _bounded(cls, value: Any, info: ValidationInfo) -> Any:
        return value if info.field_name in BOUNDED_ELSEWHERE else bounded(value)

    def document(self) -> dict[str, Any]:
        """Return the fields that were given."""
        given: dict[str, Any] = self.model_dump(exclude_unset=True)
        return given


class FitExtension(RequestShape):
    """How much more of a fit is wanted: one of epochs and steps."""

    epochs: More | None = Field(default=None, description="Epochs beyond those that were made, or begun.")
    steps: More | None = Field(default=None, description="Steps beyond those that were made.")

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.epochs is None) == (self.steps is None):
            raise PydanticCustomError("malformed", "give one of epochs and steps")
        return self

    def wanted(self) -> Extension:
        """Return it in the words of the service."""
        return Extension("steps", self.steps) if self.steps is not None else Extension("epochs", self.epochs or 0)
