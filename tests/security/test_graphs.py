"""Graph bombs are refused by their code, within little memory and without a word of what they repeat."""

from collections.abc import Callable
from typing import Any

import pytest

import engine
from tests.security.corpus.graphs import BOMBS, GIANTS
from tests.security.memory import memory_bound

MORE_BYTES = 64 << 20
WITH_TABLES = {"masks that add up": 4}
"""What may take so many times as much: what is counted there are tables, which are made."""
LONGEST_DETAIL = 1000


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_within_little_memory(name: str) -> None:
    build, code = BOMBS[name]
    document = build()
    with memory_bound(MORE_BYTES * WITH_TABLES.get(name, 1)), pytest.raises(engine.DocumentError) as caught:
        engine.parse_graph(document)
    assert caught.value.findings[0].code == code, caught.value.findings[0]
    assert all(len(finding.pointer + finding.detail) <= LONGEST_DETAIL for finding in caught.value.findings)


@pytest.mark.parametrize("build", GIANTS.values(), ids=GIANTS)
def test_what_is_large_and_good_is_taken_within_little_memory(build: Callable[[], Any]) -> None:
    document = build()
    with memory_bound(MORE_BYTES):
        definition = engine.parse_graph(document)
        engine.graph_report(definition)
