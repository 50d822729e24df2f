"""The demo of the cluster: two servers, PostgreSQL, S3, Ray, and one of everything killed."""

import io

import pytest
from rich.console import Console

from tests.cluster import demo


@pytest.mark.skipif(bool(demo.MISSING), reason=demo.MISSING)
def test_a_fit_has_the_same_bits_though_one_of_everything_is_killed() -> None:
    output = io.StringIO()
    status = demo.run(Console(file=output, width=200))
    assert status == 0, output.getvalue()
    assert [fault.name for fault in demo.FAULTS if fault.name not in output.getvalue()] == []
