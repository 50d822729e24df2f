"""Reading strict documents: every fault is noted, with a pointer that a client can follow."""

import pytest

import engine
from engine.core.options import FAULTS, Reader, escape, type_name
from tests.support.rows import each_row


def test_faults_are_collected_and_raised_together():
    reader = Reader()
    reader.finish()
    reader.fields({"lr": 1, "momentun": 2, 3: 4}, "/optimizer", ("lr", "momentum"), required=("kind",))
    assert reader.mapping([], "/a") == {}
    assert reader.sequence("ab", "/b") == ()
    assert reader.typed("1", int, "/c", "c", 7) == 7
    assert reader.typed(2, int, "/d", "d", 7) == 2
    with pytest.raises(engine.DocumentError) as caught:
        reader.finish()
    assert [(f.pointer, f.code) for f in caught.value.findings] == [
        ("/optimizer/momentun", "unknown_field"),
        ("/optimizer/3", "unknown_field"),
        ("/optimizer", "missing_field"),
        ("/a", "type_mismatch"),
        ("/b", "type_mismatch"),
        ("/c", "attribute_invalid"),
    ]
    assert "did you mean 'momentum'" in str(caught.value)


def test_errors_of_a_part_keep_their_pointers_below_it():
    reader = Reader()
    reader.error("/graph", engine.DocumentError([engine.Finding("/nodes/0", "shape_mismatch", "no")]))
    reader.error("/graph", engine.ShapeError("neither"))
    assert [(f.pointer, f.code) for f in reader.findings] == [
        ("/graph/nodes/0", "shape_mismatch"),
        ("/graph", "shape_mismatch"),
    ]


def test_too_many_faults_end_the_reading():
    reader = Reader()
    for index in range(FAULTS - 1):
        reader.fault(f"/{index}", "x", "no")
    with pytest.raises(engine.DocumentError) as caught:
        reader.fault("/last", "x", "no")
    assert len(caught.value.findings) == FAULTS


@each_row(("name", "token"), [("a/b", "a~1b"), ("~", "~0"), ("~1", "~01"), ("n" * 100, "n" * 64), (3, "3")])
def test_names_are_written_as_tokens_of_a_pointer(name, token):
    assert escape(name) == token


@each_row(
    ("value", "name"),
    [
        (None, "null"),
        ({}, "an object"),
        ([], "a list"),
        ("", "a string"),
        (True, "a boolean"),
        (1, "a number"),
        (0.5, "a number"),
    ],
)
def test_types_are_named_as_in_json(value, name):
    assert type_name(value) == name
