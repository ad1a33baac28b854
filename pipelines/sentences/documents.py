"""Running text: the paragraphs of plain text, Markdown and HTML, and the sentences of a paragraph."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby, pairwise
from pathlib import Path
from typing import TypeAlias

from augment.errors import InputError
from augment.text.sentences import ITEM, sentences
from pipelines.base.recipe import parse_yaml
from pipelines.base.tables.table import Row

JoinLines: TypeAlias = Callable[[Sequence[str]], str]
NAMES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
BLOCKS = frozenset(NAMES["blocks"])
NESTED_TOKENS = frozenset(["blockquote_open", "list_item_open"])
MAX_MARKDOWN_DEPTH = 100
"""Levels of lists and quotations: each takes three of Python's frames."""
FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)??(?:---|\.{3})[ \t]*(?:\n|\Z)", re.DOTALL)
"""What is between the first two "---" lines of Markdown that begins with one; such a line may also be a
rule."""
LINE_BREAK = "\udfff"
"""A line that ends inside a paragraph; two of them end the paragraph. Half a surrogate pair, which no text
that was read holds."""
BLOCK_END = re.compile(rf"\0|{LINE_BREAK}\s*{LINE_BREAK}")


FIRST_ITEM = re.compile(r"[-*+•‣▪]|[(\[]?[1aAiI][.)\]]")
"""Begins the first item of a list; a line that begins with a number else may continue a sentence."""


def paragraphs(lines: Iterable[str], join: JoinLines = " ".join) -> Iterator[str]:
    """Join the lines of plain text up to each blank line, or item of a list.

    A sentence may go on in the next line.
    """
    for is_text, group in groupby(map(str.strip, lines), bool):
        if is_text:
            yield from _items([*group], join)


def _items(lines: Sequence[str], join: JoinLines) -> Iterator[str]:
    """The lines before a list, if there is one, and each of its items."""
    starts = [place for place, line in enumerate(lines) if ITEM.match(line)]
    if starts and starts[0] > 0:
        first = starts[0]
        is_list = FIRST_ITEM.match(lines[first]) and (len(starts) > 1 or lines[first - 1].endswith(":"))
        starts = [0, *starts] if is_list else []
    for start, end in pairwise([*(starts or [0]), len(lines)]):
        yield join(lines[start:end])


def document_paragraphs(text: str, format: str, join: JoinLines = " ".join) -> Iterator[str]:
    """The headings, paragraphs, list items and table cells of Markdown or HTML.

    Raises ValueError if its parser would drop text.
    """
    from lxml import etree, html  # type: ignore[import-untyped, unused-ignore]

    text = _rendered(text) if format == "markdown" else text
    if not text.strip():
        return
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        root = html.document_fromstring(text.encode(), parser=parser)
    except etree.ParserError:  # there are only comments
        return
    if any(error.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for error in parser.error_log):
        raise ValueError("its elements are nested more than 2,000 deep")
    etree.strip_elements(
        root, *NAMES["non_prose"], etree.Comment, etree.ProcessingInstruction, with_tail=False
    )
    parts = []  # with a zero byte, which no HTML text holds, where a block begins or ends
    for event, node in etree.iterwalk(root, events=("start", "end")):
        if node.tag in BLOCKS:
            parts.append("\0")
        if node.tag == "br" and event == "end":
            parts.append(LINE_BREAK)
        parts.append((node.text if event == "start" else node.tail) or "")
    for block in BLOCK_END.split("".join(parts)):
        lines = block.replace(LINE_BREAK, "\n").split("\n")
        yield from filter(None, _items([" ".join(line.split()) for line in lines if line.strip()], join))


def _rendered(text: str) -> str:
    """Markdown as HTML, without its front matter: only a YAML mapping, or nothing, is one."""
    from markdown_it import MarkdownIt

    if match := FRONT_MATTER.match(text):
        with suppress(ValueError):
            if isinstance(parse_yaml(match[1] or "{}", is_unique=False), dict):
                text = text[match.end() :]
    for extension in NAMES["extensions"]:
        text = re.sub(extension["pattern"], extension["replacement"], text)
    markdown = MarkdownIt("commonmark", {"maxNesting": MAX_MARKDOWN_DEPTH}).enable(["table", "strikethrough"])
    tokens = markdown.parse(text)
    if any(token.level >= MAX_MARKDOWN_DEPTH - 1 for token in tokens if token.type in NESTED_TOKENS):
        raise ValueError(f"its lists and quotations are nested more than {MAX_MARKDOWN_DEPTH - 1} deep")
    return str(markdown.renderer.render(tokens, markdown.options, {}))


def split_sentences(rows: Iterable[Row], language: str, join: JoinLines = " ".join) -> Iterator[Row]:
    """Split every text into its sentences by sentencex, each with the label of its text.

    A blank one stays a row.

    A language (two letters) without rules of its own is split like a related one.
    """
    for row in rows:
        lines = (row["text"] or "").splitlines()
        parts = [part for paragraph in paragraphs(lines, join) for part in sentences(paragraph, language)]
        for sentence in parts or [""]:
            yield {**row, "text": sentence.strip()}


def language_code(language: str) -> str:
    """The code of a language that is given as `de`, `deu` or `de-DE`; raises InputError if there is none."""
    from langcodes import Language

    with suppress(ValueError):
        parsed = Language.get(language)
        if parsed.is_valid():
            return str(parsed.language)
    raise InputError(f"--language {language!r} is no code of a language: write it like en, de or pt-BR")
