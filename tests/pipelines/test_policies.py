"""Policies and n-best hypotheses, from the command line to the files."""

import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from foreigners import done, rows_of, start_with_foreigners

Augment = Callable[..., Any]
Twins = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def twins(folder: Path, tmp_path: Path) -> Twins:
    """`augment` as a process that knows a view and a filter of another package."""
    return partial(start_with_foreigners, folder, tmp_path / "site")


def test_multilingual_pairs_a_sentence_with_each_translation(twins: Twins, lines: Path) -> None:
    done(twins("ingest", lines))
    counts = json.loads(
        done(twins("build-pairs", "--pairs", "multilingual", "--view", "speak-de", "--view", "speak-fr", "--json"))
    )
    assert (counts["sentences"], counts["pairs"]) == (60, 116)
    assert counts["parts"] == {"original x speak-de": 58, "original x speak-fr": 58}
    assert counts["dropped"] == {"speak-de failed: asked-to": 2, "speak-fr failed: asked-to": 2}
    first, second = rows_of("data/pairs.arrow")[:2]
    assert first["id"] == second["id"]
    assert (first["view_a"], first["view_b"], first["view_b_name"]) == ("0", "0 de0", "speak-de")
    assert (second["view_a"], second["view_b"], second["view_b_name"]) == ("0", "0 fr0", "speak-fr")


def test_multilingual_takes_translations_only(augment: Augment, lines: Path) -> None:
    augment("ingest", lines)
    for views, expected in {
        (): "takes 1 --view, not 0 (or several)",
        ("span-mask",): "--view span-mask is no translation",
        ("translate-de", "translate-de"): "--view translate-de is given twice",
    }.items():
        refused = augment("build-pairs", "--pairs", "multilingual", *(f"--view={view}" for view in views))
        assert refused.code == 2
        assert expected in refused.err


def test_several_views_of_a_sentence_are_no_near_duplicates(augment: Augment, folder: Path) -> None:
    texts = [" ".join(f"{letter}{number}" for number in range(100, 120)) for letter in "abcd"]
    (folder / "long.txt").write_text("\n".join(texts) + "\n")
    augment("ingest", "long.txt")
    for seed in (1, 2):
        augment("span-mask", "--seed", seed, "--out", f"data/views/mask-{seed}")
    views = ["--view", "mask-1", "--view", "mask-2"]
    run = ["build-pairs", "--pairs", "original", *views, "--filter", "near-duplicates:threshold=0.6", "--json"]
    counts = json.loads(augment(*run).out)
    assert (counts["pairs"], counts["dropped"]) == (8, {})


def test_the_language_of_several_hops_is_the_last_one(twins: Twins, lines: Path) -> None:
    pytest.importorskip("py3langid")
    done(twins("ingest", lines))
    hops = ["build-pairs", "--pairs", "multilingual", "--view", "speak-de+fr", "--json"]
    assert json.loads(done(twins(*hops, "--filter", "language:a=en,certain=1")))["pairs"] == 58


def test_hypotheses_are_views_of_their_own(twins: Twins, lines: Path) -> None:
    done(twins("speak", lines, "--to", "de", "--best", 3))
    couple = ["--view", "speak-de", "--view", "speak-de:2", "--json"]
    counts = json.loads(done(twins("build-pairs", *couple)))
    one_word = 10
    assert counts["dropped"] == {"speak-de failed: asked-to": 2, "speak-de:2: no such hypothesis": one_word}
    for row in rows_of("data/pairs.arrow"):
        assert (row["view_a"], row["view_b"]) == (f"{row['text'][::-1]} de0", f"{row['text'][::-1]} de1")
        assert (row["view_a_name"], row["view_b_name"]) == ("speak-de", "speak-de:2")
    third = ["build-pairs", "--pairs", "original", "--view", "speak-de:3"]
    assert "the name is 'bsl' there" in done(twins(*third), code=2)
    refused = done(twins("build-pairs", "--view", "speak-de", "--view", "speak-de:3"), code=2)
    assert "view is " in refused
    done(twins(*third, "--out", "third.arrow"))
    assert rows_of("third.arrow")[0]["view_b"].endswith(" de2")
    none = done(twins("build-pairs", "--pairs", "original", "--view", "speak-de:9", "--out", "none.arrow"), code=1)
    assert "speak-de:9: no such hypothesis: 58" in none
    missing = done(twins("build-pairs", "--pairs", "original", "--view", "speak-fr:2"), code=2)
    assert "make it with several hypotheses first" in missing
