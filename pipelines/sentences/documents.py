"""Running text: the paragraphs of plain text, Markdown and HTML, and the sentences of a paragraph."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Literal

from augment.errors import InputError
from pipelines.sentences.rows import Row, Rows

BLOCK_NAMES = """
address article aside blockquote body br caption dd details dialog div dl dt fieldset figcaption figure footer form
h1 h2 h3 h4 h5 h6 header hgroup hr li main nav ol option p section summary table tbody td tfoot th thead tr ul
"""
BLOCKS = frozenset(BLOCK_NAMES.split())
"""Elements of HTML that begin and end a paragraph."""
NON_PROSE = frozenset(["head", "math", "noscript", "pre", "script", "select", "style", "svg", "template", "textarea"])
"""Elements of HTML that hold no prose."""
NESTED_TOKENS = frozenset(["blockquote_open", "list_item_open"])
MAX_MARKDOWN_DEPTH = 100
"""Levels of lists and quotations: each takes three of Python's frames."""
FRONT_MATTER = re.compile(r"\A---\n(.*?\n)??---\n", re.DOTALL)
"""YAML between "---" lines that Markdown may begin with."""


def paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Join the lines of plain text up to each blank line: a sentence may continue in the next line."""
    for is_text, group in groupby(map(str.strip, lines), bool):
        if is_text:
            yield " ".join(group)


def document_paragraphs(text: str, format: Literal["markdown", "html"]) -> Iterator[str]:
    """The headings, paragraphs, list items and table cells of a document, white space collapsed, without code.

    Raises ValueError for one that is nested too deep for its parser, which would leave text out.
    """
    from lxml import etree, html  # type: ignore[import-untyped, unused-ignore]

    if format == "markdown":
        from markdown_it import MarkdownIt

        markdown = MarkdownIt("commonmark", {"maxNesting": MAX_MARKDOWN_DEPTH}).enable("table")
        tokens = markdown.parse(FRONT_MATTER.sub("", text))
        if any(token.level >= MAX_MARKDOWN_DEPTH - 1 for token in tokens if token.type in NESTED_TOKENS):
            raise ValueError(f"its lists and quotations are nested more than {MAX_MARKDOWN_DEPTH - 1} deep")
        text = markdown.renderer.render(tokens, markdown.options, {})
    if not text.strip():
        return
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        root = html.document_fromstring(text.encode(), parser=parser)
    except etree.ParserError:  # there are only comments
        return
    if any(error.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for error in parser.error_log):
        raise ValueError("its elements are nested more than 2,000 deep")
    etree.strip_elements(root, *NON_PROSE, etree.Comment, etree.ProcessingInstruction, with_tail=False)
    parts = []  # with a zero byte, which no HTML text holds, where a block begins or ends
    for event, node in etree.iterwalk(root, events=("start", "end")):
        parts += ["\0" if node.tag in BLOCKS else "", (node.text if event == "start" else node.tail) or ""]
    yield from filter(None, (" ".join(block.split()) for block in "".join(parts).split("\0")))


def split_sentences(batches: Iterable[Rows], language: str) -> Iterator[Row]:
    """Split every text into its sentences by sentencex, each with the label of its text.

    A language (two letters) without rules of its own is split like a related one. Raises InputError for a row with a
    second text.
    """
    for rows in batches:
        if any(pair is not None for pair in rows.pairs):
            raise InputError("rows with a second text cannot be split: leave --split or the pair column out")
        for text, label in zip(rows.texts, rows.labels, strict=True):
            for sentence in _sentences(text, language) or [""]:
                yield sentence.strip(), label, None


def _sentences(text: str, language: str) -> list[str]:
    """The sentences of a text; none ends at a full stop without a space after it, as in "www.Example.com"."""
    from sentencex import segment  # type: ignore[import-untyped, unused-ignore]

    sentences = [""]
    for piece in segment(language, text) if text.strip() else ():
        if sentences[-1].endswith("."):
            sentences[-1] += piece
        else:
            sentences.append(piece)
    return sentences[1:]
