"""Mentions with concept ids: BioSyn's `.concept` files, `id||mention` lists, COMETA's table, PubTator corpora."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.lines import csv_columns, file_lines
from trainers.evaluation.linking.abbreviations import abbreviations, written_out
from trainers.evaluation.linking.names import Fold, bare, concepts

_LIST = re.compile(r"(?P<heads>.+?),? (?:and/or|and|or) (?P<last>(?:the )?[\w-]+) (?P<stem>.+)")


@dataclass(frozen=True, slots=True)
class Mention:
    """What is to be linked: the texts of its parts (one, unless it names several concepts), and its concepts' ids.

    `group` is the language, the fold or the like, for a figure of its own.
    """

    parts: tuple[str, ...]
    ids: frozenset[str]
    group: str = ""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A mention as a PubTator corpus has it; `parts` is its own resolution of a composite one, if it gives any."""

    text: str
    kind: str
    ids: str
    parts: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """Title and abstract of an article, with its annotations."""

    text: str
    annotations: tuple[Annotation, ...]


def read_concepts(folder: Path) -> tuple[list[Mention], list[Path]]:
    """Return the mentions of BioSyn's `*.concept` files in a folder: `pmid||span||type||mention||id`.

    A composite mention is `part|part`, as in `breast cancer|ovarian cancer`. Mentions without a concept are left out.

    Raises:
        InputError: A line has other than five fields.
    """
    mentions = []
    paths = sorted(folder.glob("*.concept"))
    for path in paths:
        for number, line in enumerate(file_lines(path), 1):
            fields = line.split("||")
            if not line.strip():
                continue
            if len(fields) != 5:
                raise InputError(f"{path} line {number}: {len(fields)} fields, expected pmid||span||type||mention||id")
            mentions.append(_mention(fields[3].lower(), concepts(fields[4])))
    return [mention for mention in mentions if mention.ids], paths


def read_queries(path: Path, fold: Fold, group: str = "") -> list[Mention]:
    """Return the mentions of lines `id||mention`; raises InputError for another line."""
    mentions = []
    for number, line in enumerate(file_lines(path), 1):
        ids, bar, text = line.partition("||")
        if not line.strip():
            continue
        if not bar or not text.strip() or not concepts(ids):
            raise InputError(f"{path} line {number}: expected id||mention, got {line[:60]!r}")
        mentions.append(Mention((fold(text) or text.strip(),), concepts(ids), group))
    return mentions


def read_cometa(path: Path, fold: Fold) -> list[Mention]:
    """Return the mentions of COMETA's tab-separated table: columns `Term` and `General SNOMED ID`.

    Raises:
        InputError: A column or a value is missing, or a quote is not closed.
    """
    mentions = []
    for number, (term, ids) in csv_columns(path, ("Term", "General SNOMED ID"), delimiter="\t"):
        if not term.strip() or not concepts(ids):
            raise InputError(f"{path} line {number}: expected a term and its id, got {term[:40]!r} and {ids[:40]!r}")
        mentions.append(Mention((fold(term),), concepts(ids)))
    return mentions


def read_pubtator(path: Path) -> list[Document]:
    """Return the documents of a corpus in PubTator's format: `id|t|title`, `id|a|abstract`, tab-separated annotations.

    Raises:
        InputError: A line is none of these.
    """
    texts: dict[str, list[str]] = {}
    annotations: dict[str, list[Annotation]] = {}
    for number, line in enumerate(file_lines(path), 1):
        match = re.match(r"(\d+)\|[ta]\|(.*)", line)
        fields = line.rstrip("\n").split("\t")
        if match:
            texts.setdefault(match[1], []).append(match[2])
        elif len(fields) in (6, 7):
            extra = fields[6] if len(fields) == 7 else None
            annotations.setdefault(fields[0], []).append(Annotation(fields[3], fields[4], fields[5].strip(), extra))
        # Four columns are a relation of two concepts.
        elif line.strip() and len(fields) != 4:
            raise InputError(f"{path} line {number}: expected PubTator's format, got {line[:60]!r}")
    return [Document(" ".join(text), tuple(annotations.get(key, ()))) for key, text in texts.items()]


def resolved(document: Document, kinds: Collection[str], spelling: Mapping[str, str]) -> list[Mention]:
    """Return a document's mentions of some kinds as BioSyn would write them, by our rules; those with no id left out.

    Abbreviations are written out by the document's own definitions; a composite mention becomes its parts, the
    corpus's own or, for `a, b and c stem`, by the words, if there are as many as ids; then lower case, the
    spelling list word by word, and spaces for punctuation.
    """
    long_forms = abbreviations(document.text)
    mentions = []
    for annotation in document.annotations:
        ids = concepts(annotation.ids)
        if annotation.kind not in kinds or not ids:
            continue
        text = written_out(annotation.text, long_forms)
        parts, count = [text], annotation.ids.count("|") + 1
        if count > 1:
            own = [written_out(part, long_forms) for part in (annotation.parts or "").split("|")]
            parts = next((found for found in (own, _coordinated(text)) if len(found) == count), parts)
        spelled = [" ".join(spelling.get(word, word) for word in part.lower().split()) for part in parts]
        mentions.append(Mention(tuple(filter(None, map(bare, spelled))) or (text.lower(),), ids))
    return mentions


def _coordinated(text: str) -> list[str]:
    match = _LIST.fullmatch(text)
    if match is None:
        return []
    heads = [head.strip() for head in match["heads"].split(",")]
    return [f"{head} {match['stem']}" for head in [*heads, match["last"]] if head]


def _mention(text: str, ids: frozenset[str]) -> Mention:
    return Mention(tuple(part.strip() for part in text.split("|") if part.strip()) or (text,), ids)
