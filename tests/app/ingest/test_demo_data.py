"""The data sets that ship with the server, read as any upload is."""

import numpy as np
import pytest

from app.cli.demo import DATASETS, dataset_path


@pytest.mark.parametrize("name", DATASETS)
def test_every_demo_data_set_is_readable(name, read):
    assert read(dataset_path(name).read_bytes(), "csv").rows > 0


def test_iris_is_fishers(read):
    result = read(dataset_path("iris").read_bytes(), "csv")
    assert result.rows == 150
    *lengths, species = result.columns
    assert [column.name for column in lengths] == ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    assert [column.mean for column in lengths] == pytest.approx([5.8433, 3.0573, 3.7580, 1.1993], abs=1e-4)
    assert species.classes == ("setosa", "versicolor", "virginica")


def test_digits_are_images_and_labels(arrays):
    read = arrays(dataset_path("digits").read_bytes(), "csv", "x:float32[8,8]=pixel_0_0..pixel_7_7,y:int64=digit")
    assert read["x"].shape == (1797, 8, 8)
    assert (read["x"].min(), read["x"].max()) == (0, 16)
    assert np.bincount(read["y"]).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_another_name_is_refused():
    with pytest.raises(LookupError, match="digits, iris"):
        dataset_path("../../etc/passwd")
