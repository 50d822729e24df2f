from app.cli.demo import DATASETS, dataset_path
from app.cli.demo.steps import split_csv


def test_every_row_is_in_one_of_the_two_files(tmp_path):
    for name in DATASETS:
        source = dataset_path(name)
        split = split_csv(source, 0.2, 1, tmp_path)
        header, *rows = source.read_text().splitlines()
        training, held_out = split.training.read_text().splitlines(), split.held_out.read_text().splitlines()
        assert training[0] == held_out[0] == header
        assert sorted(training[1:] + held_out[1:]) == sorted(rows)
        assert len(held_out) - 1 == round(0.2 * len(rows)) == len(split.labels) == len(split.features)


def test_the_tested_rows_are_those_of_the_file_in_order(tmp_path):
    split = split_csv(dataset_path("iris"), 0.3, 3, tmp_path)
    row = split.held_out.read_text().splitlines()[5].split(",")
    assert [f"{value:g}" for value in split.features[4]] == [f"{float(cell):g}" for cell in row[:-1]]
    assert split.labels[4] == row[-1]


def test_the_same_seed_picks_the_same_rows(tmp_path):
    folders = [tmp_path / "one", tmp_path / "two", tmp_path / "other"]
    texts = []
    for folder, seed in zip(folders, [1, 1, 2], strict=True):
        folder.mkdir()
        texts.append(split_csv(dataset_path("iris"), 0.3, seed, folder).held_out.read_text())
    assert texts[0] == texts[1] != texts[2]
