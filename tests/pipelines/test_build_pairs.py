"""Pairs: which rows make one, what is dropped and counted, and how they read."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import datasets
import pytest
from foreigners import Augment, Start, content, done, is_refused, rows_of

from pipelines.storage.pair_files import PAIR_COLUMNS, read_pairs


def test_original_pairs_a_sentence_with_its_view(augment: Augment, lines: Path) -> None:
    augment("span-mask", lines)
    every = ["build-pairs", "--pairs", "original", "--view", "span-mask", "--no-default-filters"]
    assert augment(*every).code == 0
    pairs = datasets.Dataset.from_file("data/pairs.arrow")
    view = {row["id"]: row["view"] for row in datasets.load_from_disk("data/views/span-mask")}
    assert tuple(pairs.column_names) == PAIR_COLUMNS
    assert len(pairs) == 60
    for row in pairs:
        assert (row["view_a"], row["view_b"]) == (row["text"], view[row["id"]])
        assert (row["view_a_name"], row["view_b_name"]) == ("original", "span-mask")


@pytest.mark.exhaustive
def test_dropped_rows_are_counted_by_reason(start: Start, lines: Path, folder: Path) -> None:
    done(start("slow", lines, "--nap", 0))
    every = ["build-pairs", "--pairs", "original", "--view", "slow", "--no-default-filters", "--json"]
    counts = json.loads(done(start(*every)))
    assert (counts["sentences"], counts["pairs"]) == (60, 58)
    assert counts["dropped"] == {"slow failed: asked-to": 2}
    assert counts["kept"] == {"slow left it unchanged": 10, "the two views are identical": 10}
    strict = [
        "build-pairs",
        "--pairs",
        "original",
        "--view",
        "slow",
        "--filter",
        "identical:exact=true",
        "--json",
    ]
    counts = json.loads(done(start(*strict, "--out", "strict.arrow")))
    assert counts["pairs"] == 48
    assert counts["dropped"] == {"identical pair": 10, "slow failed: asked-to": 2}
    card = (folder / "strict.card.md").read_text()
    assert "| identical pair | 10 |" in card


def test_bsl_pairs_two_views_row_by_row(augment: Augment, lines: Path) -> None:
    augment("span-mask", lines, "--out", "data/views/a")
    augment("span-mask", lines, "--seed", 1, "--limit", 20, "--out", "data/views/b")
    pairs = ["build-pairs", "--view", "a", "--view", "b", "--json", "--no-default-filters"]
    is_refused(
        augment(*pairs), "data/views/b was made for the first 20 of 60 sentences: give --limit 20, or make"
    )
    is_refused(augment(*pairs, "--limit", 30), "the first 20 of 30 sentences")
    is_refused(
        augment(*pairs, "--limit", 20, "--seed", 7), "--seed 7: the views have seed 0 and seed 1, and nothing"
    )
    counts = json.loads(augment(*pairs, "--limit", 20, "--seed", 1).out)
    assert counts["dropped"] == {}
    sides = [
        {row["id"]: row["view"] for row in datasets.load_from_disk(f"data/views/{name}")} for name in "ab"
    ]
    pairs = read_pairs("data/pairs.arrow")
    assert len(pairs) == 20
    assert all((row["view_a"], row["view_b"]) == tuple(side[row["id"]] for side in sides) for row in pairs)


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 2])
def test_a_sentence_pairs_with_what_passed_unless_its_pairs_stay_as_they_are(
    augment: Augment, folder: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """Against pairs of the sentence with each view, filtered in the same way."""
    monkeypatch.setattr("pipelines.pairs.views.BLOCK_ROWS", 7)
    sample = (
        (Path(__file__).parents[2] / "pipelines" / "sample" / "sentences.txt").read_text().splitlines()[:40]
    )
    Path("in.txt").write_text("\n".join(sample))
    floor = "paraphrase:meaning=0.9"
    for pivot in ("de", "fr"):
        assert augment("backtranslate", "in.txt", "--pivot", pivot, "--models", "starter").code == 0
    views = ["--view=backtranslate-de", "--view=backtranslate-fr"]
    augment("build-pairs", "--pairs", "original", *views, "--filter", floor, "--out", "original.arrow")
    passed = {(row["id"], row["view_b_name"]): row["view_b"] for row in rows_of("original.arrow")}
    run = ["build-pairs", "--pairs", "bsl", "--filter", floor, "--workers", workers]
    counts = json.loads(augment(*run, "--json").out)
    every = ["build-pairs", "--pairs", "bsl", "--no-default-filters", "--out", "every.arrow"]
    assert augment(*every).code == 0
    pairs = rows_of("data/pairs.arrow")
    assert [row["id"] for row in pairs] == list(dict.fromkeys(id for id, _ in passed))
    assert (counts["sentences"], counts["pairs"], sum(counts["dropped"].values())) == (
        40,
        len(pairs),
        40 - len(pairs),
    )
    names = ["backtranslate-de", "backtranslate-fr"]
    for row in pairs:
        there = [name for name in names if (row["id"], name) in passed]
        sides = [(row["view_a_name"], row["view_a"]), (row["view_b_name"], row["view_b"])]
        assert row["view_a"] != row["view_b"]
        assert row["text"] not in [text for name, text in sides if name != "original"]
        if row["view_a_name"] == "original":
            assert sides == [("original", row["text"]), (there[0], passed[row["id"], there[0]])]
        else:
            assert [name for name, _ in sides] == names
            assert any(passed.get((row["id"], name)) == text for name, text in sides)
    both = [row for row in pairs if row["view_a_name"] != "original"]
    assert 0 < len(both) < len(pairs)
    trips = [datasets.load_from_disk(f"data/views/{name}")["view"] for name in names]
    assert sides_of("every.arrow") == [sides for sides in zip(*trips, strict=True) if None not in sides]


SENTENCES = ("A dog runs.", "A cat sleeps.", "A bird sings.")
WRITTEN = {SENTENCES[0]: ["a1", "a2", "a3", "a4", "a5"], SENTENCES[1]: ["b1"]}
"""Five views of the first sentence, one of the second, none of the third."""


def import_written(
    augment: Augment, by: str, written: Mapping[str, Sequence[str]], sentences: Sequence[str] = SENTENCES
) -> None:
    """Ingest the sentences, and import the views that were written for some of them."""
    Path("three.txt").write_text("\n".join(sentences) + "\n")
    rows = [json.dumps({"text": text, "view": view}) for text, views in written.items() for view in views]
    Path(f"{by}.jsonl").write_text("\n".join(rows) + "\n")
    assert augment("import-views", "three.txt", "--file", f"{by}.jsonl", "--by", by).code == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_imported_lines_that_match_no_sentence_are_said(augment: Augment, folder: Path, workers: int) -> None:
    texts = [
        "A dog runs.",
        "He said “hello” to her.",
        "A row with  two spaces.",
        "Line one.\nLine two.",
        "Nobody.",
    ]
    lines = [
        ("A dog runs.", "It runs."),
        ('He said "hello" to her.', "He greeted her."),
        ("Not there.", "Unknown."),
    ]
    lines += [("A row with two spaces.", None), ("Line one.\nLine two.", "First line.\nSecond line.")]
    Path("in.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    Path("llm.jsonl").write_text("\n".join(json.dumps({"text": text, "view": view}) for text, view in lines))
    run = [
        "import-views",
        "in.jsonl",
        "--file",
        "llm.jsonl",
        "--by",
        "x",
        "--shard-size",
        2,
        "--workers",
        workers,
    ]
    done = augment(*run, "--json")
    assert json.loads(done.out)["reasons"] == {"empty": 1, "missing": 1}
    views = datasets.load_from_disk("data/views/import-views-x")["view"][:]
    assert views == ["It runs.", "He greeted her.", None, "First line.\nSecond line.", None]


def test_an_imported_view_of_another_gender_is_no_pair(augment: Augment, folder: Path) -> None:
    views = {SENTENCES[0]: ["The dog runs to his house."], SENTENCES[1]: ["A cat is asleep."]}
    views |= {"She runs to her house.": ["He runs to his house."]}
    import_written(augment, "x", views, sentences=[*views])
    build = ["build-pairs", "--pairs", "original", "--view", "import-views-x"]
    assert augment(*build).code == 0
    assert [row["text"] for row in rows_of("data/pairs.arrow")] == [*views][:2]
    assert augment(*build, "--no-default-filters", "--overwrite").code == 0
    assert len(rows_of("data/pairs.arrow")) == 3


def sides_of(path: str) -> list[tuple[str, str]]:
    return [(row["view_a"], row["view_b"]) for row in rows_of(path)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 2])
def test_every_imported_view_of_a_sentence_becomes_a_pair(
    augment: Augment, folder: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr("pipelines.pairs.views.BLOCK_ROWS", 2)
    import_written(augment, "people", WRITTEN)
    run = [
        "build-pairs",
        "--pairs",
        "original",
        "--view",
        "import-views-people",
        "--json",
        "--workers",
        workers,
    ]
    counts = json.loads(augment(*run, "--rejects").out)
    dropped = {"import-views-people failed: missing": 1}
    assert counts == {
        "out": "data/pairs.arrow",
        "sentences": 3,
        "pairs": 6,
        "dropped": dropped,
        "kept": {},
        "made_now": True,
    }
    assert sides_of("data/pairs.arrow") == [(text, view) for text, views in WRITTEN.items() for view in views]
    assert sides_of("data/pairs.rejects.arrow") == [(SENTENCES[2], None)]
    augment("build-pairs", "--config", "data/pairs.recipe.json", "--out", "again.arrow")
    again, recipe = (
        json.loads(Path(name).read_text()) for name in ("again.recipe.json", "data/pairs.recipe.json")
    )
    assert again == recipe


def test_two_views_pair_their_alternatives_in_order_and_every_text_at_least_once(
    augment: Augment, folder: Path
) -> None:
    import_written(augment, "many", WRITTEN)
    import_written(augment, "few", {SENTENCES[0]: ["c1", "c2"], SENTENCES[1]: ["d1", "d2"]})
    views = ["--view", "import-views-many", "--view", "import-views-few", "--json"]
    counts = json.loads(augment("build-pairs", *views).out)
    assert (counts["sentences"], counts["pairs"]) == (3, 7)
    rounds = [("a1", "c1"), ("a2", "c2"), ("a3", "c1"), ("a4", "c2"), ("a5", "c1"), ("b1", "d1"), ("b1", "d2")]
    assert sides_of("data/pairs.arrow") == rounds
    augment("build-pairs", "--pairs", "original", *views, "--out", "both.arrow")
    assert [view for _, view in sides_of("both.arrow")] == [
        "a1",
        "a2",
        "a3",
        "a4",
        "a5",
        "c1",
        "c2",
        "b1",
        "d1",
        "d2",
    ]


def test_a_missing_view_is_made_and_an_unfinished_one_finished(augment: Augment, lines: Path) -> None:
    augment("ingest", lines)
    done = augment("build-pairs", "--pairs", "original", "--view", "span-mask", "--seed", 7)
    assert "making the missing view span-mask" in done.err
    plan = json.loads(Path("data/views/span-mask/record.json").read_text())["plan"]
    assert plan["seed"] == json.loads(Path("data/pairs.recipe.json").read_text())["seed"] == 7
    pairs = Path("data/pairs.arrow").read_bytes()
    Path("data/pairs.arrow").unlink()
    Path("data/views/span-mask/data-00000.record.json").unlink()
    Path("data/views/span-mask/data-00000.arrow").unlink()
    assert augment("build-pairs", "--pairs", "original", "--view", "span-mask").code == 0
    assert Path("data/pairs.arrow").read_bytes() == pairs


@pytest.mark.exhaustive
def test_a_missing_view_is_made_like_its_twin(start: Start, lines: Path, folder: Path) -> None:
    done(start("slow", lines, "--pivot", "aa", "--nap", 0, "--seed", 3, "--limit", 20))
    done(start("build-pairs", "--view", "slow-aa", "--view", "slow-bb", "--limit", 20))
    plans = [
        json.loads((folder / f"data/views/slow-{pivot}/record.json").read_text())["plan"]
        for pivot in ("aa", "bb")
    ]
    assert [plan["params"].pop("pivot") for plan in plans] == ["aa", "bb"]
    assert plans[0].pop("signature") != plans[1].pop("signature")
    assert plans[0] == plans[1]
    row = read_pairs("data/pairs.arrow")[5]
    assert (row["view_a"].split()[-1], row["view_b"].split()[-1]) == ("aa", "bb")


def test_labels_come_along(augment: Augment, folder: Path) -> None:
    (folder / "a.csv").write_text("text,label\nOne small step.,x\nTwo big steps.,\n")
    augment("ingest", "a.csv")
    assert augment("build-pairs", "--pairs", "self").code == 0
    assert [row["label"] for row in read_pairs("data/pairs.arrow")] == ["x", None]


def test_pairs_are_written_once_and_belong_to_their_recipe(augment: Augment, lines: Path) -> None:
    augment("ingest", lines)
    out = Path("data/pairs.arrow")
    assert augment("build-pairs", "--pairs", "self").code == 0
    first, stamp = out.read_bytes(), out.stat().st_mtime_ns
    again = augment("build-pairs", "--pairs", "self")
    assert "nothing done" in again.out
    assert out.stat().st_mtime_ns == stamp
    refused = augment("build-pairs", "--pairs", "original", "--view", "span-mask")
    is_refused(
        refused, "data/pairs.arrow was made with other options (--pairs 'self', not 'original'): choose"
    )
    assert out.read_bytes() == first
    out.write_bytes(first[:-50])
    assert augment("build-pairs", "--pairs", "self").code == 0
    assert out.read_bytes() == first
    assert augment("build-pairs", "--pairs", "original", "--view", "span-mask", "--overwrite").code == 0
    assert out.read_bytes() != first
    files = {path.name.removeprefix("pairs.") for path in Path("data").iterdir() if path.is_file()}
    made = {"arrow", "card.md", "recipe.json", "record.json"}
    assert files == made | {"report.html", "report.html.record.json"}


def test_a_view_of_other_sentences_is_refused(augment: Augment, lines: Path, folder: Path) -> None:
    augment("identity", lines)
    (folder / "other.txt").write_text("Something else.\n")
    augment("ingest", "other.txt", "--out", "other")
    refused = augment("build-pairs", "other", "--pairs", "original", "--view", "identity")
    is_refused(refused, "was made from other sentences")
    assert not Path("data/pairs.arrow").exists()


def test_no_pair_left_fails_and_writes_nothing(augment: Augment, lines: Path) -> None:
    augment("ingest", lines)
    done = augment("build-pairs", "--pairs", "self", "--filter", "identical:exact=true")
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "identical pair: 60" in done.err
    assert [path.name for path in Path("data").iterdir()] == ["sentences"]


def test_multilingual_pairs_a_sentence_with_each_translation(start: Start, lines: Path) -> None:
    done(start("ingest", lines))
    counts = json.loads(
        done(
            start(
                "build-pairs", "--pairs", "multilingual", "--view", "speak-de", "--view", "speak-fr", "--json"
            )
        )
    )
    assert (counts["sentences"], counts["pairs"]) == (60, 116)
    assert counts["dropped"] == {"speak-de failed: asked-to": 2, "speak-fr failed: asked-to": 2}
    first, second = rows_of("data/pairs.arrow")[:2]
    assert first["id"] == second["id"]
    assert (first["view_a"], first["view_b"], first["view_b_name"]) == ("0", "0 de", "speak-de")
    assert (second["view_a"], second["view_b"], second["view_b_name"]) == ("0", "0 fr", "speak-fr")


def test_multilingual_takes_translations_only(augment: Augment, lines: Path) -> None:
    augment("ingest", lines)
    for views, expected in {
        (): "take 1 or more views, not 0",
        ("span-mask",): "the view span-mask is no translation",
        ("translate-de", "translate-de"): "another side is named 'translate-de'",
    }.items():
        is_refused(
            augment("build-pairs", "--pairs", "multilingual", *(f"--view={view}" for view in views)), expected
        )


@pytest.mark.exhaustive
def test_the_language_of_several_hops_is_the_last_one(start: Start, lines: Path) -> None:
    pytest.importorskip("py3langid")
    done(start("ingest", lines))
    hops = ["build-pairs", "--pairs", "multilingual", "--view", "speak-de+fr", "--json"]
    assert json.loads(done(start(*hops, "--filter", "language:a=en,certain=1")))["pairs"] == 58


@pytest.mark.exhaustive
@pytest.mark.parametrize("options", [[], ["--shift", 3]])
def test_a_view_has_one_folder_whichever_command_makes_it(
    start: Start, lines: Path, options: list[object]
) -> None:
    """Also a view with a default for the option that names its folder, such as nlpaug."""
    done(start("rotate", lines, *options))
    views = content(Path("data/views"))
    name = f"rotate-{options[1]}" if options else "rotate-13"
    done(start("build-pairs", "--pairs", "original", "--view", name if options else "rotate"))
    assert content(Path("data/views")) == views
    assert {row["view_b_name"] for row in rows_of("data/pairs.arrow")} == {name}
    done(start("build-pairs", "--pairs", "original", "--view", "rotate-5", "--out", "five.arrow"))
    assert {path.name for path in Path("data/views").iterdir()} == {name, "rotate-5"}


@pytest.mark.exhaustive
def test_the_language_of_a_sentence_does_not_depend_on_the_order_of_the_views(
    augment: Augment, folder: Path
) -> None:
    pytest.importorskip("py3langid")
    Path("german.txt").write_text(
        "Der Hund läuft heute durch den kleinen Garten.\nIch habe gestern keine Zeit gehabt.\n"
    )
    assert augment("identity", "german.txt").code == 0
    assert augment("backtranslate", "--source", "de", "--pivot", "en").code == 0
    run = ["build-pairs", "--pairs", "original", "--no-default-filters", "--filter", "language", "--json"]
    for views in (["identity", "backtranslate-en"], ["backtranslate-en", "identity"]):
        counts = json.loads(
            augment(*run, *(f"--view={view}" for view in views), "--out", f"{views[0]}.arrow").out
        )
        assert (counts["pairs"], counts["dropped"]) == (4, {})
    assert augment("backtranslate", "--source", "fr", "--pivot", "en", "--out", "data/views/french").code == 0
    views = ["--view=backtranslate-en", "--view=identity", "--view=french"]
    is_refused(augment(*run, *views), "(backtranslate-en of sentences in 'de', french of sentences in 'fr')")


def test_a_view_of_another_meaning_is_the_negative_of_its_sentence(augment: Augment, lines: Path) -> None:
    augment("span-mask", lines)
    augment("span-mask", "--seed", 1, "--length", 9, "--out", "data/views/other")
    build = ["build-pairs", "--pairs", "original", "--view", "span-mask", "--negative-view", "other"]
    counts = json.loads(augment(*build, "--json").out)
    other = {
        row["id"]: row["view"] if row["status"] == "ok" else None
        for row in datasets.load_from_disk("data/views/other")
    }
    pairs = read_pairs("data/pairs.arrow")
    assert [row["negative"] for row in pairs] == [other.get(row["id"]) for row in pairs]
    missing = sum(row["negative"] is None for row in pairs)
    assert counts["kept"]["it has no negative"] == missing
    assert 0 < missing < 60
    assert {row["view_b_name"] for row in pairs} == {"span-mask"}
    assert augment(*build).out.endswith("already complete, nothing done\n")
    is_refused(augment(*build[:-2]), "--negative-view")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            ["--pairs", "self", "--negative-view", "span-mask"],
            "it needs pairs original, best, bsl of",
        ),
        (
            ["--pairs", "original", "--view", "span-mask", "--negative-view", "span-mask"],
            "is a view to pair too",
        ),
        (
            ["--pairs", "original", "--view", "span-mask", "--negative-view", "nonsense"],
            "no view of that name",
        ),
        (
            ["--pairs", "original", "--view", "span-mask", "--negative-view", "synonym"],
            "negative view synonym keeps the meaning: pair it as a view instead",
        ),
    ],
)
def test_what_cannot_be_a_negative_is_refused(
    augment: Augment, lines: Path, options: list[str], problem: str
) -> None:
    augment("span-mask", lines)
    done = augment("build-pairs", *options)
    if "WordNet was not found" in done.err:
        pytest.skip(done.err)
    is_refused(done, problem)
