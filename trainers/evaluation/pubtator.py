"""Corpora of abstracts in PubTator's format, and their mentions as BioSyn would write them.

Abbreviations that a document defines itself are written out, by the algorithm of Schwartz and Hearst (PSB 2003).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from trainers.evaluation.concepts import Mention, bare, concepts
from trainers.evaluation.reading import bad_line, filled_lines

_BRACKET = re.compile(r"\(([^()\[\];]+?)(?:[,;][^()]*)?\)")
_LIST = re.compile(r"(?P<heads>.+?),? (?:and/or|and|or) (?P<last>(?:the )?[\w-]+) (?P<stem>.+)")


class Annotation(NamedTuple):
    """A mention as a corpus has it; `parts` is its own resolution of a composite one, if it gives any."""

    text: str
    kind: str
    ids: str
    parts: str | None = None


class Document(NamedTuple):
    """Title and abstract of an article, with its annotations."""

    text: str
    annotations: Sequence[Annotation]


def read_pubtator(path: Path) -> list[Document]:
    """Return the documents of a corpus: `id|t|title`, `id|a|abstract`, tab-separated annotations.

    Raises:
        InputError: A line is none of these.
    """
    texts: dict[str, list[str]] = {}
    annotations: dict[str, list[Annotation]] = {}
    for number, line in filled_lines(path):
        match = re.match(r"(\d+)\|[ta]\|(.*)", line)
        fields = line.split("\t")
        if match:
            texts.setdefault(match[1], []).append(match[2])
        elif len(fields) in (6, 7):
            found = Annotation(fields[3], fields[4], fields[5].strip(), *fields[6:])
            annotations.setdefault(fields[0], []).append(found)
        # Four columns are a relation of two concepts.
        elif len(fields) != 4:
            raise bad_line(path, number, "PubTator's format", line)
    return [Document(" ".join(text), annotations.get(key, [])) for key, text in texts.items()]


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


def abbreviations(text: str) -> dict[str, str]:
    """Return the short forms that stand in round brackets after their long form, with the first long form of each.

    The letters of the short form, from the last to the first, must occur in this order in the min(n + 5, 2n) words
    before the bracket, the first one at the start of a word.
    """
    found: dict[str, str] = {}
    for match in _BRACKET.finditer(text):
        short = match[1].strip()
        if short in found or not _is_short(short):
            continue
        letters = sum(character.isalnum() for character in short)
        sentence = re.split(r"[.!?]\s|[()]", text[: match.start()])[-1]
        long = _long_form(short, " ".join(sentence.split()[-min(letters + 5, 2 * letters) :]))
        if long is not None:
            found[short] = long
    return found


def written_out(mention: str, long_forms: Mapping[str, str]) -> str:
    """Return a mention with each word, or part of a word between slashes, that is a short form written out."""

    def word(match: re.Match[str]) -> str:
        return long_forms.get(match[0], match[0])

    # A long form may hold other short forms.
    for _ in range(5):
        mention = " ".join(re.sub(r"[^/]+?(?=/|,?$)", word, each) for each in mention.split())
    return mention


def _coordinated(text: str) -> list[str]:
    match = _LIST.fullmatch(text)
    if match is None:
        return []
    heads = [head.strip() for head in match["heads"].split(",")]
    return [f"{head} {match['stem']}" for head in [*heads, match["last"]] if head]


def _is_short(text: str) -> bool:
    """Whether a text may be a short form: 2 to 10 characters, two words at most, a capital letter."""
    return 2 <= len(text) <= 10 and len(text.split()) <= 2 and text[0].isalnum() and any(map(str.isupper, text))


def _long_form(short: str, before: str) -> str | None:
    position = len(before)
    for index in range(len(short) - 1, -1, -1):
        letter = short[index].lower()
        if not letter.isalnum():
            continue
        position -= 1
        while position >= 0 and (
            before[position].lower() != letter or (index == 0 and position > 0 and before[position - 1].isalnum())
        ):
            position -= 1
        if position < 0:
            return None
    long = before[before.rfind(" ", 0, position + 1) + 1 :]
    # A long form that holds its own short form would grow without end.
    return long if len(long) > len(short) and short not in re.split(r"[\s/,]+", long) else None
