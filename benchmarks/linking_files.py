"""NCBI-disease and BC5CDR (diseases) from their corpora, as files that `train evaluate --suite linking` reads.

    python benchmarks/linking_files.py --data DIR --out DIR

BioSyn's prepared files are the ones that papers score. Where they cannot be had, this makes files of the same layout
from the corpora in PubTator's format and the dictionary MEDIC, by rules of our own; a `note.txt` beside them goes into
every result. Abbreviations that a document defines are written out, found by the algorithm of Schwartz and Hearst
(PSB 2003). data_cards/ncbi-disease.md says where to get the corpora, and how far the rules go.
"""

from __future__ import annotations

import argparse
import re
import string
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pipelines.base.console import InputError
from trainers.files import bad_line, check_count, filled_lines, find_file, find_files, usual_places
from trainers.scores.suites.linking import Entry, Mention, concepts, read_names

MEDIC = "medic_06Jul2012.txt"
SPELLING = "ncbi-spell-check.txt"
OWN_RULES = (
    "mentions made from the corpus by our rules (data_cards), not BioSyn's files: papers may differ by a point"
)

BREAK = re.compile(rf"[\s{re.escape(string.punctuation)}]+")
BRACKET = re.compile(r"\(([^()\[\];]+?)(?:[,;][^()]*)?\)")
LIST = re.compile(r"(?P<heads>.+?),? (?:and/or|and|or) (?P<last>(?:the )?[\w-]+) (?P<stem>.+)")


class Corpus(NamedTuple):
    """A corpus in PubTator's format: train, dev and test file with their annotations, and the kinds that are scored."""

    folders: tuple[str, ...]
    files: Mapping[str, int]
    kinds: frozenset[str]


CORPORA = {
    "ncbi-disease": Corpus(
        ("ncbi-disease", "NCBI-disease", "NCBI_disease"),
        {"NCBItrainset_corpus.txt": 5145, "NCBIdevelopset_corpus.txt": 787, "NCBItestset_corpus.txt": 960},
        frozenset({"SpecificDisease", "Modifier", "DiseaseClass", "CompositeMention"}),
    ),
    "bc5cdr-disease": Corpus(
        ("bc5cdr", "BC5CDR", "CDR_Data/CDR.Corpus.v010516", "CDR.Corpus.v010516"),
        {
            f"CDR_{part}Set.PubTator.txt": n
            for part, n in (("Training", 9385), ("Development", 9591), ("Test", 9809))
        },
        frozenset({"Disease"}),
    ),
}


class Annotation(NamedTuple):
    """A mention as a corpus has it; `parts` is the corpus's own resolution of a composite one, if there is one."""

    text: str
    kind: str
    ids: str
    parts: str = ""


Document = tuple[str, list[Annotation]]


def read_pubtator(path: Path) -> list[Document]:
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
            annotation = Annotation(fields[3], fields[4], fields[5].strip(), *fields[6:7])
            annotations.setdefault(fields[0], []).append(annotation)
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
        name = written_out(annotation.text, long_forms)
        parts, count = [name], annotation.ids.count("|") + 1
        if count > 1:
            own = [written_out(part, long_forms) for part in annotation.parts.split("|")]
            match = LIST.fullmatch(name)
            heads = [head.strip() for head in f"{match['heads']},{match['last']}".split(",")] if match else []
            coordinated = [f"{head} {match['stem']}" for head in heads if head and match]
            parts = next((candidates for candidates in (own, coordinated) if len(candidates) == count), parts)
        spelled = [" ".join(spelling.get(word, word) for word in part.lower().split()) for part in parts]
        mentions.append(Mention(tuple(filter(None, map(bare, spelled))) or (name.lower(),), ids))
    return mentions


def bare(text: str) -> str:
    """Return a name in lower case with a space for each run of ASCII punctuation: BioSyn's preprocessing."""
    return BREAK.sub(" ", text.lower()).strip()


def abbreviations(text: str) -> dict[str, str]:
    """Return the short forms in round brackets after their long form, with the first long form of each.

    The letters of the short form, from the last to the first, must occur in this order in the min(n + 5, 2n) words
    before the bracket, the first one at the start of a word.
    """
    long_forms: dict[str, str] = {}
    for match in BRACKET.finditer(text):
        short = match[1].strip()
        # Two to ten characters, two words at most, a capital letter.
        alike = 2 <= len(short) <= 10 and len(short.split()) <= 2 and short[0].isalnum()
        if short in long_forms or not alike or not any(map(str.isupper, short)):
            continue
        letters = sum(map(str.isalnum, short))
        sentence = re.split(r"[.!?]\s|[()]", text[: match.start()])[-1]
        if long := long_form(short, " ".join(sentence.split()[-min(letters + 5, 2 * letters) :])):
            long_forms[short] = long
    return long_forms


def written_out(mention: str, long_forms: Mapping[str, str]) -> str:
    """Return a mention with each word, or part of a word between slashes, that is a short form written out."""
    for _ in range(5):  # a long form may contain other short forms
        mention = re.sub(
            r"[^/\s]+?(?=/|,?(?:\s|$))", lambda m: long_forms.get(m[0], m[0]), " ".join(mention.split())
        )
    return mention


def long_form(short: str, before: str) -> str | None:
    """Return the end of `before` that spells a short form; None if there is none."""
    position = len(before)
    for index in range(len(short) - 1, -1, -1):
        letter = short[index].lower()
        if not letter.isalnum():
            continue
        places = (place for place in range(position - 1, -1, -1) if before[place].lower() == letter)
        position = next(
            (place for place in places if index or not place or not before[place - 1].isalnum()), -1
        )
        if position < 0:
            return None
    long = before[before.rfind(" ", 0, position + 1) + 1 :]
    # A long form that contains its own short form would grow without end.
    return long if len(long) > len(short) and short not in re.split(r"[\s/,]+", long) else None


def convert(name: str, data: Path, out: Path) -> Path:
    """Write a corpus below `data` into a folder of its name in `out`, as BioSyn's files; return the folder.

    The dictionary is MEDIC, and the mentions of train and dev, as in BioSyn's. A file for each document of the test
    keeps their order. Raises InputError: the corpus or the dictionary is missing, or has another size than published.
    """
    corpus = CORPORA[name]
    paths = find_files(list(corpus.files), corpus.folders, data)
    places = usual_places(("", "dictionary", *corpus.folders), data)
    medic = find_file(MEDIC, places)
    if isinstance(paths, str) or medic is None:
        raise InputError(paths if isinstance(paths, str) else f"no {MEDIC} below {data}")
    # The list corrects the words of NCBI-disease.
    spelling = find_file(SPELLING, places) if name == "ncbi-disease" else None
    pairs = [line.partition("||") for _, line in filled_lines(spelling)] if spelling else []
    words = {wrong.strip(): right.strip() for wrong, _, right in pairs}
    parts: list[list[list[Mention]]] = []
    test: list[Document] = []
    for path, expected in zip(paths, corpus.files.values(), strict=True):
        test = read_pubtator(path)
        check_count(path, sum(len(annotations) for _, annotations in test), expected, "annotations")
        parts.append([resolved(text, annotations, corpus.kinds, words) for text, annotations in test])
    learned = [
        (" ".join(mention.parts), mention.ids)
        for part in parts[:-1]
        for document in part
        for mention in document
    ]
    folder = out / name
    (folder / "processed_test").mkdir(parents=True, exist_ok=True)
    (folder / "test_dictionary.txt").write_text("".join(dictionary_lines(medic, learned)), "utf-8")
    for number, document in enumerate(parts[-1], 1):
        lines = [
            f"{number}||||Disease||{'|'.join(parts)}||{'|'.join(sorted(ids))}\n" for parts, ids in document
        ]
        (folder / "processed_test" / f"{number:04}.concept").write_text("".join(lines), "utf-8")
    scored = [
        annotation for _, annotations in test for annotation in annotations if annotation.kind in corpus.kinds
    ]
    unlinked = len(scored) - sum(map(len, parts[-1]))
    note = OWN_RULES + (f"; mentions without a concept, left out: {unlinked}" if unlinked else "")
    (folder / "note.txt").write_text(f"{note}\n", "utf-8")
    return folder


def dictionary_lines(medic: Path, learned: Iterable[Entry]) -> Iterator[str]:
    """Yield a line `id|id||name` for each name of MEDIC, without case and punctuation, and of `learned`."""
    for name, ids in (*((bare(name), ids) for name, ids in read_names(medic)), *learned):
        if name and ids:
            yield f"{'|'.join(sorted(ids))}||{name}\n"


def main() -> None:
    """Convert both corpora, and print the folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora and of MEDIC")
    parser.add_argument("--out", type=Path, required=True, help="folder of benchmarks that gets the files")
    options = parser.parse_args()
    for name in CORPORA:
        print(convert(name, options.data, options.out))


if __name__ == "__main__":
    main()
