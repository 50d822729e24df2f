"""How files of images became the arrays of a model's inputs, kept with the model to read further files the same way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from engine.core.errors import CheckpointError

IMAGES = "images"
MODES, DTYPES = ("L", "RGB", "RGBA"), ("uint8", "float32")
_SIZE = re.compile(r"[0-9]{1,5}x[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class ImageEncoding:
    """How images became arrays [channels, height, width].

    Attributes:
        size: HEIGHTxWIDTH to which they were scaled; None if they were of one size.
        mode: their channels: "L", "RGB" or "RGBA".
        dtype: "uint8" from 0 to 255, or "float32" from 0 to 1.
    """

    size: str | None
    mode: str
    dtype: str

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def meta_with_images(meta: Mapping[str, Any], images: Mapping[str, Any]) -> dict[str, Any]:
    """Return a checkpoint's meta with how images became the inputs of its model, if any did."""
    return {**meta, IMAGES: dict(images)} if images else dict(meta)


def images_of_checkpoint(meta: Mapping[str, Any]) -> dict[str, ImageEncoding]:
    """Return how images became inputs, by input, from a checkpoint's meta.

    Raises:
        CheckpointError: the entry is malformed.
    """
    document = meta.get(IMAGES, {})
    try:
        read = {str(name): ImageEncoding(**each) for name, each in document.items()}
    except (TypeError, AttributeError) as error:
        raise CheckpointError("the checkpoint's meta holds malformed images") from error
    for name, each in read.items():
        sized = each.size is None or (isinstance(each.size, str) and _SIZE.fullmatch(each.size))
        if not sized or each.mode not in MODES or each.dtype not in DTYPES:
            raise CheckpointError(f"the checkpoint's meta holds malformed images of input {name[:64]!r}")
    return read
