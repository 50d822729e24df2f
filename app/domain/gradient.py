"""A captured gradient as the service keeps it."""

from dataclasses import dataclass, field

from app.domain.computed import COMPUTED


@dataclass(frozen=True, slots=True)
class GradientRecord:
    """The gradient of a fit's loss by one parameter, at the parameters as they were after `step` steps: a .npy blob.

    `digest` is the file's SHA-256, `size_bytes` its length. One that was stored never changes. `corrupt` tells that the
    file was found to be missing or not what its digest says.
    """

    fit_id: str
    step: int
    parameter: str
    dtype: str
    shape: list[int]
    digest: str
    size_bytes: int
    corrupt: bool = field(default=False, metadata=COMPUTED)
