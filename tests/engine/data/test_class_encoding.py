"""Class encodings: texts become the numbers that they have in a model."""

import numpy as np
import pytest

import engine
from tests.support.rows import each_row

SPECIES = engine.ClassEncoding(("setosa", "versicolor", "virginica"))
OPEN = engine.ClassEncoding(("cat", "other", "dog"), unknown="other")


@each_row(
    ("encoding", "names", "expected"),
    [
        (SPECIES, ["setosa", "versicolor", "virginica"], None),
        (SPECIES, ["setosa"], None),
        (SPECIES, ["virginica", "setosa"], [2, 0]),
        (SPECIES, ["versicolor", "virginica"], [1, 2]),
        (OPEN, ["bird", "cat", "dog"], [1, 0, 2]),
    ],
)
def test_data_are_mapped_by_name(encoding, names, expected):
    table = encoding.table(names)
    assert (None if table is None else table.tolist()) == expected


def test_an_unknown_text_is_named():
    with pytest.raises(engine.DataError, match=r"unknown class 'setos'; did you mean 'setosa'\?"):
        SPECIES.table(["setos"])
    with pytest.raises(engine.DataError, match=r"unknown classes 'a', 'b', 'c' and 1 more; the model knows 'setosa'"):
        SPECIES.indices(["a", "b", "setosa", "c", "d"])


def test_texts_are_encoded_where_they_stand():
    given = {"species": [["setosa", "virginica"]], "x": [1.0, 2.0], "kind": {"shape": [1], "data": ["dog"]}}
    found = engine.encode_texts({"species": SPECIES, "kind": OPEN}, given)
    assert found["species"] == [[0, 2]]
    assert found["x"] is given["x"]
    assert found["kind"] == {"shape": [1], "data": [2], "dtype": "int64"}
    with pytest.raises(engine.DocumentError) as caught:
        engine.encode_texts({"species": SPECIES}, {"species": "rose", "x": ["a"], "y": np.array(["b"])})
    assert [(each.pointer, each.code) for each in caught.value.findings] == [
        ("/inputs/species", "unknown_class"),
        ("/inputs/x", "dtype_mismatch"),
        ("/inputs/y", "dtype_mismatch"),
    ]


MALFORMED = {
    "/species/names": [],
    "/species/nams": {"names": ["a"], "nams": ["a"]},
    "/species/unknown": {"names": ["a"], "unknown": "b"},
}


@pytest.mark.parametrize(("pointer", "document"), MALFORMED.items(), ids=MALFORMED.keys())
def test_malformed_encodings_are_refused(pointer, document):
    with pytest.raises(engine.DocumentError) as caught:
        engine.read_class_encodings({"species": document})
    assert [each.pointer for each in caught.value.findings] == [pointer]
    with pytest.raises(engine.CheckpointError, match="malformed classes"):
        engine.classes_of_checkpoint({"classes": {"species": document}})


def test_a_checkpoint_says_what_its_classes_are():
    assert engine.classes_of_checkpoint({}) is None
    meta = engine.meta_with_classes({"graph": "g"}, {"species": SPECIES, "kind": OPEN})
    assert engine.classes_of_checkpoint(meta) == {"species": SPECIES, "kind": OPEN}
