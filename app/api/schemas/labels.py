"""Labels that a client puts on what it makes."""

from typing import Annotated

from pydantic import Field

LabelKey = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.\-/]{1,64}$")]
LabelValue = Annotated[str, Field(max_length=256)]
LABELS_MAX = 64

Labels = Annotated[dict[LabelKey, LabelValue], Field(max_length=LABELS_MAX)]
