"""What the client says about its file beside the bytes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """`columns_spec` groups CSV columns (`x:float32[4],y:int64`); `column` names the array of a `.npy` file."""

    columns_spec: str | None = None
    column: str = "x"
