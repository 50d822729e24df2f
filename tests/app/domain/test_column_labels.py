"""Labels of columns in messages."""

import pytest

from app.domain.column_labels import column_identifier, labelled, labels_of, with_identifiers

SIZE, SHARE = column_identifier("Größe (cm)"), column_identifier("50 %")


def test_a_message_names_columns_by_the_labels_of_the_request() -> None:
    section = {"x": ["Größe (cm)", {"column": "age"}], "y": {"columns": ["id", "50 %"]}}
    labels = labels_of(with_identifiers({"columns": section})["columns"])
    assert labels == {SIZE: "Größe (cm)", "id": "id", SHARE: "50 %"}
    assert labelled(f"column {SIZE!r} is unique", labels) == f"column 'Größe (cm)' ({SIZE}) is unique"
    assert labelled("column 'age' is unique", labels) == "column 'age' is unique"


def test_sections_without_labels_have_none() -> None:
    assert labels_of(None) == labels_of({"x": "age", "y": ["a", {"column": "b"}, 3]}) == {}


@pytest.mark.parametrize("labels", [0, True, "ab", {"a": 1}, [0, {}]])
def test_malformed_labels_are_left_for_those_who_refuse_them(labels: object) -> None:
    item = {"column": "a", "columns": ["a", "b"], "label": labels, "labels": labels}
    found = with_identifiers({"columns": {"x": item, "y": [item]}})["columns"]
    assert found["x"] == found["y"][0]
    assert found["x"].get("labels", labels) == labels
