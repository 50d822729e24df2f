"""Labels of columns in messages."""

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
