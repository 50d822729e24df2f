"""Hostile zip files of images, sent to a server of their own."""

import httpx
import pytest

from tests.security.corpus import image_tables, images
from tests.security.target_server import AttackFixture
from tests.security.test_http import EVERY_UPLOAD, check_refusal, every


@pytest.fixture(scope="module")
def attacked(attack: AttackFixture) -> httpx.Client:
    """Return the client of a server that only these tests use."""
    return attack.start().http


def test_hostile_images_leave_the_server_as_it_was(attacked: httpx.Client) -> None:
    pytest.importorskip("PIL", reason="the extra images is not installed")
    for _, (data, code) in every(max(1, EVERY_UPLOAD // 3), images.REFUSED):
        check_refusal(attacked.post("/v1/datasets", content=data, headers={"Content-Type": "application/zip"}), code)


def test_hostile_images_in_tables_leave_the_server_as_it_was(attacked: httpx.Client) -> None:
    if not image_tables.INSTALLED:
        pytest.skip("the extras images and parquet are not installed")
    for _, (format, data, code) in every(max(1, EVERY_UPLOAD // 3), image_tables.REFUSED):
        kind = {"arrow": "application/vnd.apache.arrow.file", "parquet": "application/vnd.apache.parquet"}[format]
        check_refusal(attacked.post("/v1/datasets", content=data, headers={"Content-Type": kind}), code)
