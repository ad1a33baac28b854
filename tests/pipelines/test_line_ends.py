"""Words that line ends break."""

from collections import Counter
from pathlib import Path

import datasets
import pytest
from foreigners import Augment
from hypothesis import given
from hypothesis import strategies as st

from pipelines.sentences.line_ends import join_lines

WHOLE = ["budget", "capabilities", "handbook", "reviewed", "reopened", "quality", "committee", "understanding"]
HYPHENED = ["well-known", "long-term", "part-time", "self-service", "mother-in-law", "state-of-the-art"]


@pytest.mark.parametrize(
    ("language", "lines", "expected"),
    [
        ("en", ["the bud-", "get"], "the budget"),
        ("en", ["A well-", "known"], "A well-known"),
        ("en", ["Water qual\u00ad", "ity"], "Water quality"),
        ("en", ["THE BUD‐", "GET"], "THE BUDGET"),
        ("en", ["the bud¬", "get is a re\u2011", "view"], "the budget is a review"),
        ("en", ["in 2020-", "2021, non-", "European COVID-", "19"], "in 2020-2021, non-European COVID-19"),
        ("en", ["pre-", "and post-", "war", "a dash -", "here"], "pre- and postwar a dash - here"),
        (
            "de",
            ["die Wasser-", "versorgung, Vor-", "und Nachteile"],
            "die Wasserversorgung, Vor- und Nachteile",
        ),
        ("de", ["die E-Mail-", "Adresse"], "die E-Mail-Adresse"),
        ("fr", ["le gouverne-", "ment est peut-", "être"], "le gouvernement est peut-être"),
        ("is", ["lands-", "lagið"], "landslagið"),
    ],
)
def test_a_broken_word_is_joined(language: str, lines: list[str], expected: str) -> None:
    assert join_lines(lines, language, Counter()) == expected


@given(st.lists(st.tuples(st.sampled_from(WHOLE + HYPHENED), st.integers(0, 20)), min_size=1))
def test_a_text_cut_at_any_column_is_given_back(words: list[tuple[str, int]]) -> None:
    """Words are cut anywhere, with hyphens of their own only there; lines may also end between words."""
    cut = Counter[str]()
    pieces = []
    for word, place in words:
        ends = [end + 1 for end, mark in enumerate(word) if mark == "-"] if "-" in word else []
        end = ends[place % len(ends)] if ends else 3 + place % (len(word) - 5)
        pieces.append(word[:end] + ("" if ends else "-") + "\n" + word[end:])
        cut["rejoined"] += 1
    counts = Counter[str]()
    assert join_lines(" ".join(pieces).split("\n"), "en", counts) == " ".join(word for word, _ in words)
    assert counts == cut


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "The bud-\nget was\ngood.\n"),
        ("a.md", "The bud-\nget was\ngood.\n"),
        ("a.html", "<p>The bud-<br>get was\ngood.</p>"),
        ("a.csv", 'text\n"The bud-\nget was\ngood."\n'),
    ],
)
def test_documents_and_cells_are_joined_and_it_is_counted(
    augment: Augment, folder: Path, name: str, content: str
) -> None:
    Path(name).write_text(content)
    done = augment("ingest", name, "--split", "sentences", "--json")
    assert done.code == 0
    assert '"rejoined": 1' in done.out
    assert datasets.load_from_disk("data/sentences")["text"][:] == ["The budget was good."]
