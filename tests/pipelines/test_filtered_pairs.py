"""Filters at work: any number of workers makes the same pairs and rejects, and an interrupted run harms neither."""

import json
from pathlib import Path

import datasets
import pytest
from foreigners import Augment, Start, add_package, done, is_refused, rows_of, start_beside

from augment.models.weights import find_encoder
from pipelines.pairs import policies
from pipelines.pairs.filters import paraphrase
from pipelines.storage.dataset import clear_dataset
from pipelines.storage.pair_files import PAIR_COLUMNS, read_pairs


def test_any_number_of_workers_makes_the_same_bytes(
    augment: Augment, lines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.pairs.views.BLOCK_ROWS", 16)
    augment("span-mask", lines)
    filters = [
        "--filter",
        "length-ratio:unit=character,max=2",
        "--filter",
        "near-duplicates:n=2,threshold=0.5",
    ]
    run = ["build-pairs", "--pairs", "original", "--view", "span-mask", *filters, "--filter", "chrf:max=95"]
    for workers in (1, 2):
        more = ["--workers", workers, "--out", f"{workers}.arrow", "--rejects"]
        assert augment(*run, *more).code == 0
    assert Path("1.arrow").read_bytes() == Path("2.arrow").read_bytes()
    assert Path("1.rejects.arrow").read_bytes() == Path("2.rejects.arrow").read_bytes()
    assert "near-duplicates:n=2,rensa=" in Path("1.card.md").read_text()


def test_filters_that_differ_from_those_of_the_output_are_named_in_full(augment: Augment, lines: Path) -> None:
    augment("ingest", lines)
    run = ["build-pairs", "--pairs", "self", "--filter", "repetition:n=3,times=2", "--filter"]
    assert augment(*run, "length-ratio:unit=character,max=2").code == 0
    refused = augment(*run, "length-ratio:unit=character,max=4")
    is_refused(refused, "length-ratio:max=2.0,unit=character", "length-ratio:max=4.0,unit=character")


FILTERED = ["build-pairs", "--pairs", "self", "--filter", "picky", "--filter", "chrf"]


def test_rejects_hold_what_was_dropped_with_scores_and_reasons(
    start: Start, lines: Path, folder: Path
) -> None:
    done(start("ingest", lines))
    counts = json.loads(done(start(*FILTERED, "--rejects", "--json")))
    assert counts["dropped"] == {"in the forties": 11}
    assert counts["pairs"] == 49
    pairs, rejects = rows_of("data/pairs.arrow"), rows_of("data/pairs.rejects.arrow")
    assert list(pairs[0]) == [*PAIR_COLUMNS, "luck", "chrf"]
    assert list(rejects[0]) == [*PAIR_COLUMNS, "luck", "chrf", "reason"]
    assert all((row["luck"], row["chrf"]) == (len(row["text"]) / 4, 100) for row in pairs)
    assert all((row["luck"], row["chrf"]) == (len(row["text"]) / 4, None) for row in rejects)
    assert {row["reason"] for row in rejects} == {"in the forties"}
    assert sorted(row["text"] for row in [*pairs, *rejects]) == sorted(lines.read_text().splitlines())
    card = (folder / "data/pairs.card.md").read_text()
    assert "| `picky:column=luck,nap=0.0` | 1 |" in card
    assert "| in the forties | 11 |" in card
    assert datasets.Dataset.from_file("data/pairs.arrow").features["luck"].dtype == "float64"


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_filter_drops_the_next_does_not_see(start: Start, folder: Path, workers: int) -> None:
    texts = [f"{number} the quick brown fox jumps over the lazy dog" for number in (41, 51, 52)]
    (folder / "foxes.txt").write_text("\n".join([*texts, "42 something else", "43 once more"]) + "\n")
    filters = ["--filter", "picky", "--filter", "near-duplicates:threshold=0.5", "--filter", "chrf"]
    run = [
        "build-pairs",
        "foxes.txt",
        "--pairs",
        "self",
        *filters,
        "--workers",
        workers,
        "--rejects",
    ]
    done(start(*run))
    assert [row["text"] for row in rows_of("data/pairs.arrow")] == [texts[1]]
    rejects = {row["text"]: (row["reason"], row["chrf"]) for row in rows_of("data/pairs.rejects.arrow")}
    assert rejects.pop(texts[2]) == ("near-duplicate of an earlier pair", None)
    assert {*rejects.values()} == {("in the forties", None)}


SHORT = '''"""Drop pairs of long sentences."""

from pipelines.pairs.filter import Filter, Verdicts


class Short(Filter):
    most: int = 9

    def __call__(self, pairs):
        return Verdicts(["long" if len(text) > self.most else None for text in pairs.strings("text")])
'''


@pytest.mark.exhaustive
def test_a_row_filter_of_another_package_goes_by_its_entry_point(
    lines: Path, folder: Path, tmp_path: Path
) -> None:
    site = add_package(tmp_path / "site", {"long_module": SHORT}, filters="short = long_module")
    run = ["build-pairs", lines, "--pairs", "self", "--filter", "short:most=7", "--json"]
    lines.write_text("\n".join(map(str, range(9_999_990, 10_020_000))) + "\n")  # several tasks
    counts = [
        json.loads(done(start_beside(site, folder, *run, "--workers", n, "--out", f"{n}.arrow")))
        for n in (1, 2)
    ]
    assert counts[0]["dropped"] == counts[1]["dropped"] == {"long": 20_000}
    assert json.loads(Path("2.recipe.json").read_text())["filter"] == ["short:most=7"]


def test_filters_belong_to_the_plan_and_the_recipe(augment: Augment, lines: Path) -> None:
    augment("span-mask", lines)
    pairs = ["build-pairs", "--pairs", "original", "--view", "span-mask"]
    filters = ["--filter", "chrf:min=50,max=99", "--filter", "length_ratio"]
    assert augment(*pairs, *filters).code == 0
    is_refused(augment(*pairs, "--filter", "chrf:min=51,max=99"), "(--filter [")
    recipe = json.loads(Path("data/pairs.recipe.json").read_text())
    assert recipe["filter"] == [
        "identical:exact=false",
        "chrf:max=99.0,min=50.0",
        "length-ratio:max=3.0,unit=word",
    ]
    again = augment("build-pairs", "--config", "data/pairs.recipe.json", "--out", "again.arrow")
    assert again.code == 0
    assert Path("again.arrow").read_bytes() == Path("data/pairs.arrow").read_bytes()
    assert Path("again.recipe.json").read_bytes() == Path("data/pairs.recipe.json").read_bytes()
    Path("mine.yaml").write_text("pairs: original\nview: [span-mask]\nfilter:\n- chrf:min=50,max=99\n")
    assert augment("build-pairs", "--config", "mine.yaml", "--out", "mine.arrow").code == 0
    assert all(50 <= row["chrf"] <= 99 for row in rows_of("mine.arrow"))


def test_shards_are_filtered_once_and_hold_the_same_pairs(augment: Augment, lines: Path) -> None:
    augment("ingest", lines)
    near = ["build-pairs", "--pairs", "self", "--filter", "near-duplicates:n=2", "--rejects"]
    one = json.loads(augment(*near, "--json").out)
    many = json.loads(augment(*near, "--shards", 3, "--json").out)
    assert one["dropped"] == many["dropped"]
    assert one["dropped"]["near-duplicate of an earlier pair"] > 0
    assert read_pairs("data/pairs").to_list() == read_pairs("data/pairs.arrow").to_list()
    file, folder = Path("data/pairs.rejects.arrow"), Path("data/pairs/rejects.arrow")
    assert file.read_bytes() == folder.read_bytes()
    assert "nothing done" in augment(*near, "--shards", 3).out
    folder.unlink()
    assert "nothing done" not in augment(*near, "--shards", 3).out
    assert file.read_bytes() == folder.read_bytes()
    clear_dataset(Path("data/pairs"))  # a run that was to make them again was killed here
    assert augment(*near, "--shards", 3).code == 0
    assert augment("verify", "data").code == 0


def test_rejects_are_made_when_they_are_asked_for_and_replace_nothing(augment: Augment, lines: Path) -> None:
    augment("ingest", lines)
    ratio = ["build-pairs", "--pairs", "self", "--filter", "length-ratio:unit=character"]
    rejects = Path("data/pairs.rejects.arrow")
    rejects.write_text("mine")
    is_refused(augment(*ratio, "--rejects"), f"{rejects} was not written by this command")
    assert rejects.read_text() == "mine"
    rejects.unlink()
    assert augment(*ratio).code == 0
    assert not rejects.exists()
    assert "nothing done" not in augment(*ratio, "--rejects").out
    assert rejects.is_file()
    assert "nothing done" in augment(*ratio).out


@pytest.mark.exhaustive
def test_a_column_that_is_taken_is_refused_and_nothing_written(start: Start, lines: Path) -> None:
    done(start("ingest", lines))
    for column in ("text", "reason", "chrf"):
        filters = ["--filter", "chrf", "--filter", f"picky:column={column}"]
        said = done(start("build-pairs", "--pairs", "self", *filters), code=2)
        assert f"filter picky writes the column {column!r}, which is taken" in said
    assert [path.name for path in Path("data").iterdir()] == ["sentences"]


def test_what_is_read_is_not_overwritten(augment: Augment, lines: Path) -> None:
    augment("span-mask", lines)
    for out in ("data/sentences", "./data/views/../views/span-mask"):
        run = [
            "build-pairs",
            "--pairs",
            "original",
            "--view",
            "span-mask",
            "--shards",
            2,
            "--out",
            out,
            "--overwrite",
        ]
        is_refused(augment(*run), "is what the pairs are made from")
    foreign = Path("data/foreign.arrow")
    foreign.write_text("mine")
    run = ["build-pairs", "--pairs", "original", "--view", "span-mask", "--out", foreign, "--overwrite"]
    is_refused(augment(*run), "data/foreign.arrow was not written by this command")
    assert foreign.read_text() == "mine"
    Path("data/views/span-mask").rename("data/views/original")
    refused = augment("build-pairs", "--pairs", "original", "--view", "original")
    assert "view original: another side is named 'original'" in refused.err


def test_back_translations_must_be_paraphrases_by_default(
    augment: Augment, lines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (policies, paraphrase):
        monkeypatch.setattr(module, "is_round_trip", lambda view: view == "span-mask")
    augment("span-mask", lines, "--length", 12)
    run = ["build-pairs", "--pairs", "original", "--view", "span-mask"]
    counts = json.loads(augment(*run, "--json").out)
    dropped = counts["dropped"]["span-mask is not a paraphrase (chrF to its sentence too low)"]
    assert (counts["pairs"], 0 < dropped < 60) == (60 - sum(counts["dropped"].values()), True)
    revision = f"{find_encoder('starter').revision}+ctranslate2-int8"
    assert f"| `paraphrase:min=25.0,revision={revision}` | 2 |" in Path("data/pairs.card.md").read_text()
    every = json.loads(augment(*run, "--no-default-filters", "--out", "every.arrow", "--json").out)
    assert (every["pairs"], every["dropped"]) == (60, {})
    assert augment(*run, "--filter", "paraphrase:min=45", "--out", "few.arrow").code == 0
    assert len(rows_of("few.arrow")) < counts["pairs"]
    assert augment("build-pairs", "--config", "every.recipe.json", "--out", "again.arrow").code == 0
    assert Path("again.arrow").read_bytes() == Path("every.arrow").read_bytes()
