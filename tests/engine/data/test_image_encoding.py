"""How images became inputs, in the meta of a checkpoint."""

import pytest

import engine
from engine.data.image_encoding import ImageEncoding, images_of_checkpoint, meta_with_images

GOOD = {"size": "32x48", "mode": "RGB", "dtype": "uint8"}


def test_what_is_written_is_read():
    meta = meta_with_images({"graph": "g"}, {"image": GOOD, "other": {**GOOD, "size": None}})
    assert meta["graph"] == "g"
    found = images_of_checkpoint(meta)
    assert found == {"image": ImageEncoding("32x48", "RGB", "uint8"), "other": ImageEncoding(None, "RGB", "uint8")}
    assert found["image"].to_json() == GOOD


def test_a_model_without_images_has_no_entry():
    assert meta_with_images({"graph": "g"}, {}) == {"graph": "g"}
    assert images_of_checkpoint({"graph": "g"}) == {}


@pytest.mark.parametrize(
    "entry",
    [
        1,
        ["image"],
        {"image": None},
        {"image": {"size": "1x1"}},
        {"image": {**GOOD, "more": 1}},
        {"image": {**GOOD, "size": "0x"}},
        {"image": {**GOOD, "size": 3}},
        {"image": {**GOOD, "mode": "CMYK"}},
        {"image": {**GOOD, "mode": ["RGB"]}},
        {"image": {**GOOD, "dtype": "float64"}},
    ],
)
def test_a_malformed_entry_is_refused(entry):
    with pytest.raises(engine.CheckpointError, match="malformed images"):
        images_of_checkpoint({"images": entry})
