"""Names and mentions with concept ids: BioSyn's and SapBERT's files, MEDIC, COMETA's table, corpora of abstracts.

The mentions of a corpus are written as BioSyn would write them. Abbreviations that a document defines are written out,
found by the algorithm of Schwartz and Hearst (PSB 2003).
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from trainers.evaluation.reading import bad_line, columns, csv_rows, filled_lines

UNLINKED = frozenset({"", "-", "-1", "cui-less"})  # what corpora write for a mention that has no concept

_BREAK = re.compile(rf"[\s{re.escape(string.punctuation)}]+")
_BRACKET = re.compile(r"\(([^()\[\];]+?)(?:[,;][^()]*)?\)")
_LIST = re.compile(r"(?P<heads>.+?),? (?:and/or|and|or) (?P<last>(?:the )?[\w-]+) (?P<stem>.+)")

Entry: TypeAlias = tuple[str, frozenset[str]]  # a name and the ids of its concepts
Names: TypeAlias = Mapping[str, frozenset[str]]  # distinct names, in file order, and the ids of their concepts


class Mention(NamedTuple):
    """What is to be linked: the texts of its parts (several if it names several concepts), and its concepts' ids."""

    parts: tuple[str, ...]
    ids: frozenset[str]


class Annotation(NamedTuple):
    """A mention as a corpus has it; `parts` is the corpus's own resolution of a composite one, if there is one."""

    text: str
    kind: str
    ids: str
    parts: str = ""


def joined(entries: Iterable[Entry]) -> Names:
    """Join entries of one name, as BioSyn does: their ids are united, the first one's place is kept."""
    names: dict[str, frozenset[str]] = {}
    for name, ids in entries:
        if name and ids:
            names[name] = names.get(name, frozenset()) | ids
    return names


def concepts(text: str) -> frozenset[str]:
    """Return the ids of a field such as `C567755|613097`, `D009794+D007592` or `MESH:D001943`, without prefixes."""
    ids = (part.strip().removeprefix("MESH:").removeprefix("OMIM:") for part in text.replace("+", "|").split("|"))
    return frozenset(part for part in ids if part.lower() not in UNLINKED)


def bare(text: str) -> str:
    """Return a name in lower case with a space for each run of ASCII punctuation: BioSyn's preprocessing."""
    return _BREAK.sub(" ", text.lower()).strip()


def read_names(path: Path, fold: Callable[[str], str] = str.lower, *, synonyms: bool = True) -> Iterator[Entry]:
    """Yield names and ids of lines `id||name` or (MEDIC) `id|id||name|synonym`; raises InputError for others.

    Names are in lower case, as SapBERT's evaluation reads them, or as `fold` makes them.
    """
    for number, line in filled_lines(path):
        ids, _, names = line.partition("||")
        if line.count("||") != 1 or not ids.strip() or not names.strip():
            raise bad_line(path, number, "id||name", line)
        yield from ((fold(name.strip()), concepts(ids)) for name in (names.split("|") if synonyms else [names]))


def read_queries(path: Path) -> Iterator[Mention]:
    """Yield the mentions of lines `id||mention`; raises as `read_names` does."""
    return (Mention((name,), ids) for name, ids in read_names(path, synonyms=False))


def read_cometa(path: Path) -> Iterator[Mention]:
    """Yield the mentions of COMETA's tab-separated table, `Term` and `General SNOMED ID`; raises as `columns` does."""
    cells = columns(path, csv_rows(path, delimiter="\t"), ("Term", "General SNOMED ID"))
    return (Mention((term.strip().lower(),), concepts(ids)) for _, (term, ids) in cells)


def read_concepts(path: Path) -> Iterator[Mention]:
    """Yield the linked mentions of a `.concept` file of BioSyn's; a composite one is `breast cancer|ovarian cancer`.

    Raises InputError unless every line is `pmid||span||type||mention||id`.
    """
    for number, line in filled_lines(path):
        fields = line.split("||")
        if len(fields) != 5:
            raise bad_line(path, number, "pmid||span||type||mention||id", line)
        text, ids = fields[3].lower(), concepts(fields[4])
        if ids:
            yield Mention(tuple(part.strip() for part in text.split("|") if part.strip()) or (text,), ids)


def read_pubtator(path: Path) -> list[tuple[str, list[Annotation]]]:
    """Return the documents of a corpus, title and abstract as one text, with their annotations.

    Lines are `id|t|title`, `id|a|abstract` or tab-separated annotations. Raises InputError: a line is none of these.
    """
    texts: dict[str, list[str]] = {}
    annotations: dict[str, list[Annotation]] = {}
    for number, line in filled_lines(path):
        fields = line.split("\t")
        if match := re.match(r"(\d+)\|[ta]\|(.*)", line):
            texts.setdefault(match[1], []).append(match[2])
        elif len(fields) in (6, 7):
            found = Annotation(fields[3], fields[4], fields[5].strip(), *fields[6:7])
            annotations.setdefault(fields[0], []).append(found)
        # Four columns are a relation of two concepts.
        elif len(fields) != 4:
            raise bad_line(path, number, "PubTator's format", line)
    return [(" ".join(text), annotations.get(key, [])) for key, text in texts.items()]


def resolved(
    text: str, annotations: Iterable[Annotation], kinds: Collection[str], spelling: Mapping[str, str]
) -> list[Mention]:
    """Return a document's linked mentions of some kinds as BioSyn would write them, by our rules.

    Abbreviations that the text defines are written out. A composite mention becomes its parts, the corpus's own or
    those of `a, b and c stem`, if there are as many as ids. Then lower case, `spelling` by word, no punctuation.
    """
    long_forms = abbreviations(text)
    mentions = []
    for annotation in annotations:
        ids = concepts(annotation.ids)
        if annotation.kind not in kinds or not ids:
            continue
        whole = _written_out(annotation.text, long_forms)
        parts, count = [whole], annotation.ids.count("|") + 1
        if count > 1:
            own = [_written_out(part, long_forms) for part in annotation.parts.split("|")]
            listed = _LIST.fullmatch(whole)
            heads = [head.strip() for head in f"{listed['heads']},{listed['last']}".split(",")] if listed else []
            coordinated = [f"{head} {listed['stem']}" for head in heads if head and listed]
            parts = next((found for found in (own, coordinated) if len(found) == count), parts)
        spelled = [" ".join(spelling.get(word, word) for word in part.lower().split()) for part in parts]
        mentions.append(Mention(tuple(filter(None, map(bare, spelled))) or (whole.lower(),), ids))
    return mentions


def abbreviations(text: str) -> dict[str, str]:
    """Return the short forms in round brackets after their long form, with the first long form of each.

    The letters of the short form, from the last to the first, must occur in this order in the min(n + 5, 2n) words
    before the bracket, the first one at the start of a word.
    """
    found: dict[str, str] = {}
    for match in _BRACKET.finditer(text):
        short = match[1].strip()
        # Two to ten characters, two words at most, a capital letter.
        alike = 2 <= len(short) <= 10 and len(short.split()) <= 2 and short[0].isalnum()
        if short in found or not alike or not any(map(str.isupper, short)):
            continue
        letters = sum(map(str.isalnum, short))
        sentence = re.split(r"[.!?]\s|[()]", text[: match.start()])[-1]
        if long := _long_form(short, " ".join(sentence.split()[-min(letters + 5, 2 * letters) :])):
            found[short] = long
    return found


def _written_out(mention: str, long_forms: Mapping[str, str]) -> str:
    """Return a mention with each word, or part of a word between slashes, that is a short form written out."""
    for _ in range(5):  # a long form may contain other short forms
        mention = re.sub(r"[^/\s]+?(?=/|,?(?:\s|$))", lambda m: long_forms.get(m[0], m[0]), " ".join(mention.split()))
    return mention


def _long_form(short: str, before: str) -> str | None:
    position = len(before)
    for index in range(len(short) - 1, -1, -1):
        letter = short[index].lower()
        if not letter.isalnum():
            continue
        ends = (at for at in range(position - 1, -1, -1) if before[at].lower() == letter)
        position = next((at for at in ends if index or not at or not before[at - 1].isalnum()), -1)
        if position < 0:
            return None
    long = before[before.rfind(" ", 0, position + 1) + 1 :]
    # A long form that contains its own short form would grow without end.
    return long if len(long) > len(short) and short not in re.split(r"[\s/,]+", long) else None
