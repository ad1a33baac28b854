"""Documents split into sentences."""

import gzip
import json
from pathlib import Path

import datasets
import pytest
from foreigners import Augment, is_refused

from pipelines.sentences.documents import document_paragraphs, paragraphs
from pipelines.storage.dataset import open_dataset

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
    assert list(document_paragraphs(HTML, "html")) == [
        "bare",
        "One italic. Broken",
        "Two.",
        "x",
        "y é",
        "tail",
    ]
    for empty in ("", " \n", "<!-- c -->"):
        assert list(document_paragraphs(empty, "html")) == list(document_paragraphs(empty, "markdown")) == []
    assert list(paragraphs(["a", " b ", "", "", "c"])) == ["a b", "c"]


TERMS = """# Terms

(1) The seller delivers the goods. The buyer checks them.

(a) The goods stay in the shop until then. They are insured.
(b) The buyer may send them back

Nobody was at home. (It had rained.) The parcel came late.
"""
TERMS_ROWS = [
    "Terms",
    *("(1) The seller delivers the goods.", "The buyer checks them."),
    *("(a) The goods stay in the shop until then.", "They are insured.", "(b) The buyer may send them back"),
    *("Nobody was at home.", "(It had rained.)", "The parcel came late."),
]
EXTENSIONS = """- [ ] Open the lid first.
- [x] Close the lid then.

The claim holds.[^1] With $x^2$ it costs $5 and $10. `$HOME` and `$PATH` stay, and [ref] too.

:::note Take care
The lid is hot.
:::

$$
E = mc^2
$$

We have $$a+b$$ seen it.

[^1]: The source is old.
[^2]: Another note.
"""
EXTENSIONS_ROWS = [
    *("Open the lid first.", "Close the lid then.", "The claim holds.", "With it costs $5 and $10."),
    *("$HOME and $PATH stay, and [ref] too.", "The lid is hot.", "We have seen it."),
    *("The source is old.", "Another note."),
]
STEPS = "The steps of the test are:\n1. It stops the\n   engine\n2. It dims the light\n- It rings\n\nThen\nit ends.\n"
STEPS_ROWS = ["The steps of the test are:", "1. It stops the engine", "2. It dims the light", "- It rings"]
STEPS_ROWS.append("Then it ends.")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("terms.md", TERMS, TERMS_ROWS),
        ("extensions.md", EXTENSIONS, EXTENSIONS_ROWS),
        ("terms.txt", TERMS.removeprefix("# "), TERMS_ROWS),
        ("terms.html", TERMS.replace("# Terms", "<h1>Terms</h1>").replace("\n\n", "<p>"), TERMS_ROWS),
        ("steps.txt", STEPS, STEPS_ROWS),
        ("steps.csv", f'text\n"{STEPS}"\n', STEPS_ROWS),
        (
            "wrapped.txt",
            "It cost as much as\n12. A\nmuch\n- too much.\n",
            ["It cost as much as 12.", "A much - too much."],
        ),
    ],
)
def test_each_item_of_a_list_and_each_sentence_in_it_is_a_row(
    augment: Augment, name: str, content: str, expected: list[str]
) -> None:
    Path(name).write_text(content, encoding="utf-8")
    assert augment("ingest", name, "--split", "sentences").code == 0
    assert datasets.load_from_disk("data/sentences")["text"][:] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("> - [ ] A box in a quotation.\n\n- [x] A box.\n", ["A box in a quotation.", "A box."]),
        ("> [!NOTE]\n> A note.\n", ["A note."]),
        ("!!! note\n    One.\n\n    Two.\n\nEnd.\n", ["One.", "Two.", "End."]),
        (
            '??? tip inline "Title"\n\n    Body.\n\n=== "Tab"\n\n    In it.\n',
            ["Title", "Body.", "Tab", "In it."],
        ),
        ("+++\ntitle = 'x'\n+++\nText.\n", ["Text."]),
        ("---\ntitle: x\n...\nText.\n", ["Text."]),
        ("# Head {#id .class}\n\nSee [[page|a page]] and [[1]](a.html).\n", ["Head", "See a page and [1]."]),
        ("Term\n: What it is.\n\nThis is ~~old~~ new.\n", ["Term", "What it is.", "This is old new."]),
    ],
)
def test_what_dialects_of_markdown_add_is_no_text_and_hides_none(text: str, expected: list[str]) -> None:
    assert [*document_paragraphs(text, "markdown")] == expected


@pytest.mark.parametrize(
    ("form", "opening", "closing", "read", "refused"),
    [
        ("html", "<div>", "</div>", 2_000, 5_000),
        ("markdown", "> ", "", 98, 50_000),
        ("markdown", "> ", "", 21, 100),
        ("markdown", "- ", "", 48, 60),
    ],
)
def test_deep_nesting_is_read_or_refused_but_never_dropped(
    augment: Augment, form: str, opening: str, closing: str, read: int, refused: int
) -> None:
    for depth in (read, refused):
        text = f"{opening * depth}Hello there my friend.{closing * depth}"
        Path(f"{depth}.{form}").write_text(text, encoding="utf-8")
    augment("ingest", f"{read}.{form}", "--split", "sentences", "--out", "deep")
    assert open_dataset(Path("deep")).read(0, 1)["text"].to_pylist() == ["Hello there my friend."]
    Path("plain.txt").write_text("This one is fine.\n")
    done = augment("ingest", "plain.txt", f"{refused}.{form}", "--split", "sentences", "--out", "both")
    is_refused(done, f"{refused}.{form} cannot be read", "nested more than")


def test_ingest_splits_documents_and_text(augment: Augment) -> None:
    Path("page.md").write_text(MARKDOWN, encoding="utf-8")
    Path("page.html.gz").write_bytes(gzip.compress(HTML.encode()))
    Path("wrapped.txt").write_text("A wrapped\nsentence names os.Path. And here is\none more!\n\nEnd.\n")
    done = augment(
        "ingest", "page.md", "page.html.gz", "wrapped.txt", "--split", "sentences", "--min-words", 2
    )
    assert done.code == 0, done.err
    assert datasets.load_from_disk("data/sentences")["text"][:] == [
        "A title",
        "Some text that goes on, with code and a link.",
        "Another one, by Dr. Smith.",
        *("item one", "item two", "cell 1", "cell 2", "quote & more"),
        *("One italic.", "y é"),
        *("A wrapped sentence names os.Path.", "And here is one more!"),
    ]
    counts = open_dataset(Path("data/sentences")).counts
    assert (counts["read"], counts["kept"], counts["length"], counts["duplicate"]) == (20, 12, 8, 0)


def test_without_split_lines_and_paragraphs_are_rows_and_nothing_else_is_counted(augment: Augment) -> None:
    Path("wrapped.txt").write_text("A wrapped\nsentence. Two\n", encoding="utf-8")
    Path("page.md").write_text("One.\nTwo.\n\nThree.", encoding="utf-8")
    assert augment("ingest", "wrapped.txt", "page.md").code == 0
    assert datasets.load_from_disk("data/sentences")["text"][:] == [
        "A wrapped",
        "sentence. Two",
        "One. Two.",
        "Three.",
    ]
    assert "length" not in open_dataset(Path("data/sentences")).counts
    refused = augment("ingest", "page.md", "--language", "de", "--out", "other")
    assert (refused.code, "--language de is for --split" in refused.err) == (2, True)


def test_labels_go_with_the_sentences(augment: Augment) -> None:
    Path("rows.csv").write_text('text,label\n"One here. Two there.",x\nThree.,y\n', encoding="utf-8")
    assert augment("ingest", "rows.csv", "--split", "sentences").code == 0
    assert datasets.load_from_disk("data/sentences")["text"][:] == ["One here.", "Two there.", "Three."]


@pytest.mark.parametrize(("limit", "read", "length"), [(1, 2, 1), (2, 4, 2), (9, 5, 3)])
def test_nothing_is_counted_behind_the_limit(augment: Augment, limit: int, read: int, length: int) -> None:
    Path("lines.txt").write_text("no\ntwo words\nno\ntwo more\nno\n", encoding="utf-8")
    assert augment("ingest", "lines.txt", "--min-words", 2, "--max-words", 2, "--limit", limit).code == 0
    counts = open_dataset(Path("data/sentences")).counts
    assert (counts["read"], counts["length"]) == (read, length)


def test_a_letter_of_a_script_without_spaces_counts_as_a_word(augment: Augment) -> None:
    lines = ["两只狗在海滩上跑。", "狗。", "走る", "Two dogs run.", "Dogs run."]
    Path("lines.txt").write_text("\n".join(lines), encoding="utf-8")
    done = augment("ingest", "lines.txt", "--min-words", 3, "--json")
    assert json.loads(done.out)["kept"] == 2


def test_bounds_that_nothing_fits_are_one_line(augment: Augment) -> None:
    Path("lines.txt").write_text("two words\n", encoding="utf-8")
    bounds = ["ingest", "lines.txt", "--min-words", 9, "--max-words"]
    is_refused(augment(*bounds, 2), "see --min-words and --max-words")
    is_refused(augment(*bounds, 9), "see --min-words and --max-words")
    assert not Path("data/sentences").exists()
