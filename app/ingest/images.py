"""Images as arrays: PNG and JPEG through Pillow (extra `images`), in the confined child process only.

Size and kind are checked in the header, before a pixel is decoded. Refused is what has no one meaning as an array of
8-bit samples: animations, CMYK, 16 bits a sample, and transparency unless it is asked for.
"""

import io
import struct
import zlib
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.limits import ImageMode, ImageOptions, IngestError, IngestLimits

CHANNELS: dict[ImageMode, int] = {"L": 1, "RGB": 3, "RGBA": 4}
PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
ENDINGS = {".png": PNG, ".jpg": JPEG, ".jpeg": JPEG}
"""How a file begins whose name ends so."""
_END_OF_PNG = b"\0\0\0\0IEND\xaeB`\x82"
_DEPTH_OFFSET, _LARGEST_DEPTH = 24, 8
_FAULTS = (
    OSError,
    SyntaxError,
    ValueError,
    LookupError,
    ArithmeticError,
    TypeError,
    EOFError,
    struct.error,
    zlib.error,
)
"""What Pillow raises for damaged files."""


@cache
def load_pillow() -> Any:
    """Load and return Pillow with its readers; None if the extra is not installed."""
    if find_spec("PIL") is None:
        return None
    for name in ("PIL.Image", "PIL.ImageOps", "PIL.JpegImagePlugin", "PIL.PngImagePlugin"):
        import_module(name)
    pillow: Any = import_module("PIL")
    pillow.Image.MAX_IMAGE_PIXELS = None  # checked here, with a limit of ours
    return pillow


@dataclass(frozen=True, slots=True)
class ImageFormat:
    """What images become: arrays of `mode`, of `size` (height, width) or of their own, of uint8 or float32."""

    mode: ImageMode
    size: tuple[int, int] | None
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class ImagePlace:
    """Where an image is: a JSON pointer, and the beginning of messages about it ("row 3 of column 'photo'")."""

    pointer: str
    name: str

    def error(self, code: str, what: str) -> IngestError:
        """Return an error of this image."""
        return IngestError(code, self.pointer, f"{self.name}: {what}")


def image_format(options: ImageOptions) -> ImageFormat:
    """Return what the options ask for.

    Raises:
        IngestError: `bad_image_size`: the size is no HEIGHTxWIDTH.
    """
    size = None if options.size is None else _size(options.size)
    return ImageFormat(options.mode, size, np.dtype(options.dtype))


def _size(text: str) -> tuple[int, int]:
    height, cross, width = text.partition("x")
    sides = (height, width if cross else height)
    if not all(side.isascii() and side.isdigit() and len(side) <= 5 and int(side) > 0 for side in sides):
        raise IngestError("bad_image_size", "/image_size", "a size is HEIGHTxWIDTH in pixels, as in 32x48, or one side")
    return int(sides[0]), int(sides[1])


class ImageDecoder:
    """Decodes images one after the other; without a size in `format`, all must have that of the first one."""

    def __init__(self, format: ImageFormat, limits: IngestLimits) -> None:
        pillow = load_pillow()
        if pillow is None:
            detail = "the server has no reader of images: install adjoint-server[images] there, or send arrays as npz"
            raise IngestError("extra_missing", "", detail)
        self._pillow = pillow
        self._format = format
        self._limits = limits
        self._size = format.size
        if self._size is not None:
            self._check_pixels(self._size, ImagePlace("/image_size", "image_size"))

    def decode(self, data: bytes, place: ImagePlace) -> NDArray[Any]:
        """Return [channels, height, width]; errors name the image by its `place`."""
        try:
            with self._opened(data, place) as image:
                self._check_header(image, data, place)
                return self._array(self._converted(image, place))
        except MemoryError:
            raise
        except _FAULTS:
            raise place.error("bad_image", "the image is damaged or cut off; save it again") from None

    def _opened(self, data: bytes, place: ImagePlace) -> Any:
        if data.startswith(PNG):
            return self._pillow.PngImagePlugin.PngImageFile(io.BytesIO(data))
        if data.startswith(JPEG):
            return self._pillow.JpegImagePlugin.JpegImageFile(io.BytesIO(data))
        raise place.error("bad_image", "this is neither PNG nor JPEG, by its first bytes; save it as one")

    def _check_header(self, image: Any, data: bytes, place: ImagePlace) -> None:
        self._check_pixels(image.size, place)
        if data.startswith(PNG):
            if data[_DEPTH_OFFSET] > _LARGEST_DEPTH:
                raise _unsupported(place, "it has 16 bits a sample; save it with 8, or send arrays as npz")
            if image.is_animated:
                raise _unsupported(place, "it is animated; save each frame as an image")
            if not data.endswith(_END_OF_PNG):
                raise place.error("bad_image", "the image does not end where its file ends; save it again")
        if image.mode in ("CMYK", "YCCK"):
            raise _unsupported(place, "its colours are those of print (CMYK); convert it to RGB")

    def _check_pixels(self, size: tuple[int, int], place: ImagePlace) -> None:
        most = self._limits.max_image_pixels
        if size[0] * size[1] > most:
            detail = f"more than {most} pixels in an image; this server takes no more"
            raise IngestError("too_many_pixels", place.pointer, f"{place.name}: {detail}", limit=most)

    def _converted(self, image: Any, place: ImagePlace) -> Any:
        """Return the image upright, in the mode and size that are asked for."""
        image.load()
        upright = self._pillow.ImageOps.exif_transpose(image)
        mode = self._format.mode
        if mode != "RGBA" and upright.has_transparency_data:
            upright = upright.convert("RGBA")
            if upright.getchannel("A").getextrema() != (255, 255):
                raise _unsupported(place, "it is transparent; say image_mode=RGBA, or save it over a background")
            upright = upright.convert("RGB")
        if upright.mode != mode:
            upright = upright.convert(mode)
        found = (upright.height, upright.width)
        if self._format.size is None and found != (self._size or found):
            detail = f"it has {found[0]}x{found[1]} pixels, and the first one {'{}x{}'.format(*self._size or found)}"
            raise place.error("unequal_images", f"{detail}; say image_size=HEIGHTxWIDTH to scale them")
        self._size = self._size or found
        if found != self._size:
            bilinear = self._pillow.Image.Resampling.BILINEAR
            upright = upright.resize((self._size[1], self._size[0]), bilinear)
        return upright

    def _array(self, image: Any) -> NDArray[Any]:
        pixels: NDArray[Any] = np.asarray(image)
        pixels = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
        if self._format.dtype.kind == "f":
            pixels = pixels.astype(self._format.dtype) / self._format.dtype.type(255)
        return pixels


def _unsupported(place: ImagePlace, why: str) -> IngestError:
    return place.error("unsupported_image", f"the image is not taken: {why}")
