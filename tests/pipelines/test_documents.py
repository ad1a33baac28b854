"""Running text: paragraphs of text, Markdown and HTML, split into sentences and chosen by their length."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.folder import open_dataset
from pipelines.reading.documents import document_paragraphs, paragraphs

MARKDOWN = """---
title: left out
---
# A *title*

Some text that
goes on, with `code` and a [link](http://x.y). Another one, by Dr. Smith.

- item one
- item **two**

| a | b |
|---|---|
| cell 1 | cell 2 |

```python
left = "out"
```
> quote &amp; more
"""
HTML = """<!-- c --><html><head><title>t</title><script>x()</script></head><body>bare
<p>One <i>it</i>alic.<br>Broken<p>Two.<ul><li>x<li>y &eacute;</ul><pre>left out</pre>tail</body></html>"""


def texts(folder: str) -> list[str]:
    import pyarrow as pa

    found = open_dataset(Path(folder))
    return [
        text
        for receipt in found.receipts
        for text in pa.ipc.open_stream(found.path / receipt.file).read_all()["text"].to_pylist()
    ]


def test_a_document_is_its_paragraphs() -> None:
    assert list(document_paragraphs(MARKDOWN, "markdown")) == [
        "A title",
        "Some text that goes on, with code and a link. Another one, by Dr. Smith.",
        "item one",
        "item two",
        *("a", "b", "cell 1", "cell 2"),
        "quote & more",
    ]
    assert list(document_paragraphs("---\n---\nkept\n\n---\nalso\n", "markdown")) == ["kept", "also"]
    assert list(document_paragraphs(HTML, "html")) == ["bare", "One italic.", "Broken", "Two.", "x", "y é", "tail"]
    for empty in ("", " \n", "<!-- c -->"):
        assert list(document_paragraphs(empty, "html")) == list(document_paragraphs(empty, "markdown")) == []
    assert list(paragraphs(["a", " b ", "", "", "c"])) == ["a b", "c"]


def test_ingest_splits_documents_and_text(augment: Callable[..., Any]) -> None:
    Path("page.md").write_text(MARKDOWN, encoding="utf-8")
    Path("page.html.gz").write_bytes(gzip.compress(HTML.encode()))
    Path("wrapped.txt").write_text("A wrapped\nsentence goes on. And here is\none more!\n\nEnd.\n", encoding="utf-8")
    assert (
        augment("ingest", "page.md", "page.html.gz", "wrapped.txt", "--split", "sentences", "--min-words", 2).code == 0
    )
    assert texts("data/sentences") == [
        "A title",
        "Some text that goes on, with code and a link.",
        "Another one, by Dr. Smith.",
        *("item one", "item two", "cell 1", "cell 2", "quote & more"),
        *("One italic.", "y é"),
        *("A wrapped sentence goes on.", "And here is one more!"),
    ]
    counts = open_dataset(Path("data/sentences")).counts
    assert (counts["read"], counts["kept"], counts["length"], counts["duplicate"]) == (20, 12, 8, 0)


def test_without_split_lines_and_paragraphs_are_rows_and_nothing_else_is_counted(augment: Callable[..., Any]) -> None:
    Path("wrapped.txt").write_text("A wrapped\nsentence. Two\n", encoding="utf-8")
    Path("page.md").write_text("One.\nTwo.\n\nThree.", encoding="utf-8")
    assert augment("ingest", "wrapped.txt", "page.md").code == 0
    assert texts("data/sentences") == ["A wrapped", "sentence. Two", "One. Two.", "Three."]
    assert "length" not in open_dataset(Path("data/sentences")).counts
    refused = augment("ingest", "page.md", "--language", "de", "--out", "other")
    assert (refused.code, "--language de is for --split" in refused.err) == (2, True)


def test_labels_go_with_the_sentences_and_second_texts_cannot(augment: Callable[..., Any]) -> None:
    Path("rows.csv").write_text('text,label\n"One here. Two there.",x\nThree.,y\n', encoding="utf-8")
    assert augment("ingest", "rows.csv", "--split", "sentences").code == 0
    assert texts("data/sentences") == ["One here.", "Two there.", "Three."]
    Path("pairs.csv").write_text('text,pair\n"One here. Two there.",x\n', encoding="utf-8")
    refused = augment("ingest", "pairs.csv", "--split", "sentences", "--out", "other")
    assert (refused.code, "cannot be split" in refused.err) == (2, True)
    assert not Path("other").exists()


@pytest.mark.parametrize(("limit", "read", "length"), [(1, 2, 1), (2, 4, 2), (9, 5, 3)])
def test_nothing_is_counted_behind_the_limit(augment: Callable[..., Any], limit: int, read: int, length: int) -> None:
    Path("lines.txt").write_text("no\ntwo words\nno\ntwo more\nno\n", encoding="utf-8")
    assert augment("ingest", "lines.txt", "--min-words", 2, "--max-words", 2, "--limit", limit).code == 0
    counts = open_dataset(Path("data/sentences")).counts
    assert (counts["read"], counts["length"]) == (read, length)


@pytest.mark.parametrize(
    ("bounds", "line"),
    [((9, 2), "--max-words 2 is less than --min-words 9"), ((9, 9), "see --min-words and --max-words")],
)
def test_bounds_that_nothing_fits_are_one_line(augment: Callable[..., Any], bounds: tuple[int, int], line: str) -> None:
    Path("lines.txt").write_text("two words\n", encoding="utf-8")
    refused = augment("ingest", "lines.txt", "--min-words", bounds[0], "--max-words", bounds[1])
    assert (refused.code, line in refused.err) == (2, True)
    assert refused.err.count("\n") == 1
    assert not Path("data/sentences").exists()
