from itertools import product
from pathlib import Path
from typing import Literal

import pytest

from pipelines.console import InputError
from trainers.results.axes import read_axes, settings
from trainers.settings import Flag

FLAGS = {
    "lr": Flag(float | None, "Rate."),
    "batch_size": Flag(int | None, "Rows."),
    "limit": Flag(int | None, "First rows.", least=1),
    "pooling": Flag(Literal["mean", "cls"] | None, "Pooling."),
    "text": Flag(Path | None, "Sentences."),
    "views": Flag(list[str] | None, "Pairs."),
    "target_dropout": Flag(bool | None, "Dropout."),
}


def test_cells_are_the_product_with_the_last_axis_running_fastest() -> None:
    made = settings(read_axes(["lr=1e-4,0.5", "batch-size=8,16,32"], FLAGS))
    assert [cell.values for cell in made] == [
        {"lr": rate, "batch_size": size} for rate, size in product([1e-4, 0.5], [8, 16, 32])
    ]
    assert made[0].title == "lr=0.0001, batch-size=8"
    assert made[0].folder == "lr=0.0001,batch-size=8"


@pytest.mark.parametrize(("written", "value", "label"), [
    ("lr=1e-4", 1e-4, "0.0001"),
    ("lr=0.00010", 1e-4, "0.0001"),
    ("lr=1", 1.0, "1"),
    ("lr=0.9999999", 0.9999999, "0.9999999"),
    ("--batch-size=16", 16, "16"),
    ("batch_size= 16 ", 16, "16"),
    ("pooling=cls", "cls", "cls"),
    ("target-dropout=false", False, "false"),
    ("text=a/b.txt", Path("a/b.txt"), "a/b.txt"),
    ("views=a.arrow=2+b.arrow=1", ["a.arrow=2", "b.arrow=1"], "a.arrow=2+b.arrow=1"),
])  # fmt: skip
def test_values_have_the_options_type_and_one_way_to_be_written(written: str, value: object, label: str) -> None:
    (values,) = read_axes([written], FLAGS).values()
    assert values == {label: value}


def test_file_with_a_plus_in_its_name_is_one_file(tmp_path: Path) -> None:
    path = tmp_path / "de+fr.arrow"
    path.touch()
    assert read_axes([f"views={path}"], FLAGS) == {"views": {str(path): [str(path)]}}


@pytest.mark.parametrize(("over", "message"), [
    (["momentum=1"], "no option of that name to sweep over; there are batch-size, limit, lr, pooling, "),
    (["lr"], "a value is empty: write it as KEY=V1,V2"),
    (["lr=1,,2"], "a value is empty"),
    (["lr=much"], "--over lr=much: input should be a valid number"),
    (["batch-size=1.5"], "--over batch-size=1.5: input should be a valid integer"),
    (["pooling=max"], "--over pooling=max: input should be 'mean' or 'cls'"),
    (["limit=0"], "--over limit=0: input should be at least 1"),
    (["lr=0.1,1e-1"], "two values have the same folder name"),
    (["lr=1", "lr=2"], "--over lr: the option is given twice"),
    (["text=a/b,a-b"], "two values have the same folder name"),
])  # fmt: skip
def test_what_cannot_be_swept_is_one_line(over: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        read_axes(over, FLAGS)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_folders_are_plain_names_of_bounded_length_and_told_apart() -> None:
    long = ["/data/" + letter * 300 + "/pairs.arrow" for letter in "xy"]
    made = settings(read_axes([f"views=../a.arrow,{long[0]},{long[1]}"], FLAGS))
    names = [cell.folder for cell in made]
    assert names[0] == "views=..-a.arrow"
    assert len(set(names)) == 3
    assert all(len(name) < 100 and not set(name) & set('/\\:*?"<>|') for name in names)
