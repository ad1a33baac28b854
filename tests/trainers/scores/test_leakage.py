"""Which texts of an evaluation a model was trained on, from real runs' recipes and by hand."""

from pathlib import Path
from typing import Any

import pytest
from small_trainings import train, write_pairs

from trainers.data.tables import normalised
from trainers.scores.provenance import find_leaks, leaks_of
from trainers.scores.task import Result, Task


def texts_of(name: str, *texts: str) -> Task:
    """Return a set that is nothing but texts."""
    about = {"name": name, "title": name, "source": "", "size": len(texts), "lines": ()}
    return Task(**about, texts=texts, score=lambda vectors, seed: Result({}))


def leaks(run: Path, tasks: list[Any]) -> tuple[dict[str, tuple[int, int]], list[str]]:
    """Return the counts of one suite by set, and the notes."""
    counts, _, notes = find_leaks(run, {"": tasks})
    return {name: count for (_, name), count in counts.items()}, notes


FEW = ["--batch-size", 4, "--epochs", 0.5, "--max-tokens", 16]
TASK = texts_of("stsb", "The cat sleeps.", "the  cat sleeps", "A dog eats!", "A man sings.")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("A cat sleeps.", "a CAT  sleeps", True),
        ("«Straße» – naïve", "strasse naïve", True),
        ("cafe\u0301", "caf\u00e9", True),
        ("zero\u200bwidth", "zero width", True),
        ("A cat sleeps", "A cats leap", False),
        ("की", "का", False),
        ("!", "?", False),
    ],
)
def test_case_spaces_and_punctuation_make_no_difference(one: str, other: str, same: bool) -> None:
    assert (normalised(one) == normalised(other)) is same


def test_every_set_has_its_own_count() -> None:
    sets = [texts_of("a", "One", "two", "one!"), texts_of("b", "two"), texts_of("empty")]
    assert leaks_of(["one"], {"": sets}) == {("", "a"): (1, 2), ("", "b"): (0, 1), ("", "empty"): (0, 0)}


def test_a_run_on_pairs_has_seen_both_views_the_original_and_the_hard_negative(
    tiny_mlm: Path, tmp_path: Path
) -> None:
    rows = [
        ("the cat sleeps", "a cat sleeps", "the old cat sleeps"),
        ("a man runs", "a dog eats", "the man runs fast"),
        ("a woman plays here", "the woman plays", "A man sings"),
        ("a train stops", "the train stops", "the red train stops"),
    ]
    write_pairs(tmp_path / "pairs.arrow", rows * 3, negative=["a negative", *[None] * 11])
    assert train("contrastive", "--views", "pairs.arrow", "--encoder", tiny_mlm, "--out", "run", *FEW) == 0
    found = leaks(Path("run"), [TASK, texts_of("other", "the old cat sleeps", "a negative", "nothing")])
    assert found == ({"stsb": (3, 3), "other": (2, 3)}, [])


@pytest.fixture
def trained(tiny_mlm: Path, tmp_path: Path) -> Path:
    """A run on eight sentences, among them one of the set's."""
    lines = [f"the {word} cat sleeps here" for word in ("red", "old", "young", "fast", "a", "man", "dog")]
    (tmp_path / "sentences.txt").write_text("\n".join([*lines, "the cat, sleeps"]) + "\n", encoding="utf-8")
    assert (
        train("mirror", "--text", "sentences.txt", "--encoder", tiny_mlm, "--out", "project/runs/one", *FEW)
        == 0
    )
    return tmp_path / "project" / "runs" / "one"


def test_training_text_is_found_from_elsewhere(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    # A file of the same name with other text.
    (elsewhere / "sentences.txt").write_text("a dog eats\na man sings\n", encoding="utf-8")
    monkeypatch.chdir(elsewhere)
    assert leaks(trained, [TASK]) == ({"stsb": (1, 3)}, [])


def test_a_run_that_began_from_another_has_seen_the_texts_of_both(trained: Path, tmp_path: Path) -> None:
    texts = [f"the {word} dog eats" for word in ("red", "old", "young", "a")]
    write_pairs(tmp_path / "pairs.arrow", [(text, "A dog eats.", f"{text} here") for text in texts] * 2)
    assert train("contrastive", "--views", "pairs.arrow", "--encoder", trained, "--out", "second", *FEW) == 0
    assert leaks(Path("second"), [TASK]) == ({"stsb": (2, 3)}, [])
    (tmp_path / "sentences.txt").unlink()
    counts, notes = leaks(Path("second"), [TASK])
    assert counts == {"stsb": (1, 3)}
    assert len(notes) == 1


@pytest.mark.parametrize("contents", [None, "{", "[]", '{"model": "bert"}'])
def test_a_folder_without_a_recipe_of_a_training_has_no_counts(contents: str | None, tmp_path: Path) -> None:
    if contents is not None:
        (tmp_path / "recipe.json").write_text(contents)
    assert leaks(tmp_path, [TASK]) == ({}, [])
