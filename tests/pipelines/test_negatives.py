"""The column `negative`: contradictions of NLI, and hard negatives that an encoder finds."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from foreigners import rows_of, write_stream

from augment.weights import STARTER_ENCODER
from pipelines.filters.semantic import sentence_encoder
from pipelines.pairing.nli import contradictions_of, nli_sources
from pipelines.verify import verify

Augment = Callable[..., Any]
NLI = [
    ("A man plays.", "Nobody plays.", "contradiction"),
    ("A man plays.", "Someone plays.", "entailment"),
    ("A man plays.", "A person plays.", "entailment"),
    ("A man plays.", "A man sleeps.", "contradiction"),
    ("A man plays.", "A human plays.", "entailment"),
    ("A cat sits.", "A cat runs.", "neutral"),
    ("A cat sits.", "An animal sits.", "entailment"),
]


def write_nli(path: Path, rows: list[tuple[str, str, str]]) -> None:
    names = ("premise", "hypothesis", "label")
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))


def test_entailment_takes_contradictions_of_the_premise_in_turn(augment: Augment, folder: Path) -> None:
    write_nli(folder / "nli.jsonl", NLI)
    build = ["build-pairs", "nli.jsonl", "--pairs", "entailment", "--negatives"]
    counts = json.loads(augment(*build, "--json").out)
    assert (counts["pairs"], counts["kept"]) == (4, {"it has no negative": 1})
    assert [(row["view_b"], row["negative"]) for row in rows_of("data/pairs.arrow")] == [
        ("Someone plays.", "Nobody plays."),
        ("A person plays.", "A man sleeps."),
        ("A human plays.", "Nobody plays."),
        ("An animal sits.", None),
    ]
    assert "nothing done" in augment(*build).out
    refused = augment(*build[:-1])
    assert (refused.code, "negatives is True there" in refused.err) == (2, True)
    again = augment("build-pairs", "--config", "data/pairs.recipe.json", "--out", "again.arrow")
    assert again.code == 0
    assert Path("again.arrow").read_bytes() == Path("data/pairs.arrow").read_bytes()
    assert "--negatives needs --pairs entailment, not bsl" in augment("build-pairs", "--negatives").err


def test_only_contradictions_of_premises_that_entail_something_are_held(folder: Path) -> None:
    alone = [("A dog barks.", f"A dog is silent {number}.", "contradiction") for number in range(9)]
    write_nli(folder / "nli.jsonl", [*alone, *NLI, ("A cat sits.", "A cat stands.", "contradiction")])
    sources = nli_sources(["nli.jsonl"], folder)
    assert {premise: [*each] for premise, each in contradictions_of(sources).items()} == {
        "A man plays.": ["Nobody plays.", "A man sleeps."],
        "A cat sits.": ["A cat stands."],
    }
    assert contradictions_of(sources, limit=9) == {}


def test_a_look_and_an_export_know_negatives(augment: Augment, folder: Path) -> None:
    write_nli(folder / "nli.jsonl", NLI)
    augment("build-pairs", "nli.jsonl", "--pairs", "entailment", "--negatives")
    found = json.loads(augment("inspect", "data/pairs.arrow", "--json").out)["statistics"]
    assert found["shares"]["have a negative"] == [3, 4]
    assert (found["measures"]["chrF, negative ~ a"]["n"], found["values"]) == (3, {})
    assert "  negative    Nobody plays.\n" in augment("inspect", "data/pairs.arrow").out
    assert "have a negative" in Path("data/pairs.report.html").read_text()
    augment("export", "data/pairs.arrow", "--to", "jsonl")
    exported = [json.loads(line)["negative"] for line in Path("data/pairs.jsonl").read_text().splitlines()]
    assert exported == ["Nobody plays.", "A man sleeps.", "Nobody plays.", None]


SENTENCES = [
    "A man plays the guitar.",
    "A man plays the piano.",
    "A woman plays the guitar.",
    "A dog runs on the beach.",
    "A dog runs in the park.",
    "The stock market fell sharply.",
    "Stocks fell on Monday.",
    "Two children eat apples.",
]


@pytest.fixture
def pairs(augment: Augment, folder: Path) -> Augment:
    (folder / "lines.txt").write_text("\n".join(SENTENCES) + "\n")
    assert augment("build-pairs", "lines.txt", "--pairs", "self").code == 0
    return augment


def test_mined_negatives_are_the_closest_texts_of_others(pairs: Augment) -> None:
    vectors = sentence_encoder(STARTER_ENCODER, "cpu").encode(SENTENCES, normalize_embeddings=True)
    cosines = vectors @ vectors.T
    for skip, margin in ((0, 0.0), (2, 0.0), (0, 0.3)):
        out = Path(f"{skip}-{margin}.arrow")
        options = ["--skip", skip, "--within", skip + 1, "--margin", margin, "--out", out]
        assert pairs("mine-negatives", "data/pairs.arrow", *options).code == 0
        for number, row in enumerate(rows_of(str(out))):
            others = [n for n in cosines[number].argsort()[::-1] if n != number and cosines[number, n] <= 1 - margin]
            assert row["negative"] == (SENTENCES[others[skip]] if len(others) > skip else None)


def test_mined_pairs_follow_from_their_recipe_and_are_verified(pairs: Augment) -> None:
    out = Path("data/pairs.negatives.arrow")
    done = pairs("mine-negatives", "data/pairs.arrow", "--seed", 3, "--json")
    assert done.code == 0, done.err
    first = out.read_bytes()
    assert "nothing done" in pairs("mine-negatives", "data/pairs.arrow", "--seed", 3).out
    assert "the seed is 3 there and 4 here" in pairs("mine-negatives", "data/pairs.arrow", "--seed", 4).err
    assert pairs("mine-negatives", "data/pairs.arrow", "--seed", 4, "--overwrite").code == 0
    assert out.read_bytes() != first
    again = pairs("mine-negatives", "--config", "data/pairs.negatives.recipe.json", "--out", "again.arrow")
    assert again.code == 0, again.err
    assert Path("again.arrow").read_bytes() == out.read_bytes()
    assert set(verify([Path("data")]).values()) == {None}
    assert out in verify([Path("data")])
    out.unlink()
    assert verify([Path("data")])[out] == "missing"


def test_negatives_that_are_there_stay_and_others_are_found(augment: Augment, folder: Path) -> None:
    write_nli(folder / "nli.jsonl", NLI)
    augment("build-pairs", "nli.jsonl", "--pairs", "entailment", "--negatives")
    mine = ["mine-negatives", "data/pairs.arrow", "--margin", -2, "--within", 1]
    assert augment(*mine).code == 0
    *kept, found = [row["negative"] for row in rows_of("data/pairs.negatives.arrow")]
    assert kept == ["Nobody plays.", "A man sleeps.", "Nobody plays."]
    assert found in {"Someone plays.", "A person plays.", "A human plays."}
    assert augment(*mine, "--limit", 2, "--out", "two.arrow").code == 0
    assert len(rows_of("two.arrow")) == 2


@pytest.mark.parametrize("blank", [None, ""])
def test_pairs_without_their_sentence_are_told_apart_by_view_a(augment: Augment, blank: str | None) -> None:
    names = ("id", "text", "view_a", "view_b", "view_a_name", "view_b_name")
    rows = [
        (str(number), blank, *each, "a", "b")
        for number, each in enumerate([*pairwise(SENTENCES), (SENTENCES[0], "A man sings.")])
    ]
    columns = {name: pa.array(column, pa.string()) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    write_stream("others.arrow", pa.table(columns))
    done = augment("mine-negatives", "others.arrow", "--margin", -2, "--within", 1)
    assert done.code == 0, done.err
    made = rows_of("others.negatives.arrow")
    assert all(row["negative"] not in (None, row["view_a"], row["view_b"]) for row in made)
    # Both pairs of the first sentence may have neither's view.
    assert not {made[0]["negative"], made[-1]["negative"]} & {SENTENCES[1], "A man sings."}


def test_a_dry_run_and_mistakes_write_nothing(pairs: Augment) -> None:
    before = sorted(Path().rglob("*"))
    preview = json.loads(pairs("mine-negatives", "data/pairs.arrow", "--dry-run", "--json").out)
    assert (preview["pairs"], preview["out"]) == (len(SENTENCES), "data/pairs.negatives.arrow")
    for arguments, expected in (
        (["none.arrow"], "no pairs at 'none.arrow'"),
        (["data/pairs.arrow", "--encoder", "/nowhere"], "--encoder /nowhere: no such folder"),
        (["data/pairs.arrow", "--skip", 10], "--skip 10 leaves nothing --within 10"),
        (["data/pairs.arrow", "--out", "data/pairs.arrow"], "is what the pairs are made from"),
    ):
        refused = pairs("mine-negatives", *arguments)
        assert (refused.code, expected in refused.err.splitlines()[-1]) == (2, True), refused.err
    Path("n.arrow").write_text("mine")
    refused = pairs("mine-negatives", "data/pairs.arrow", "--out", "n.arrow")
    assert (refused.code, "n.arrow has no recipe of its own" in refused.err) == (2, True)
    Path("n.arrow").unlink()
    assert sorted(Path().rglob("*")) == before
