"""NCBI-disease, BC5CDR, XL-BEL, COMETA, AskAPatient, names of your own: accuracy @1 and @5 by nearest name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pipelines.console import InputError
from trainers.evaluation.names import (
    Dictionary,
    filled_lines,
    lower,
    read_cometa,
    read_concepts,
    read_ctd,
    read_names,
    read_queries,
)
from trainers.evaluation.pubtator import Mention, bare, concepts, read_pubtator, resolved
from trainers.evaluation.reading import check_count, plain_or_gzipped, tsv_rows
from trainers.evaluation.search import Similarity, nearest
from trainers.evaluation.task import HUB, Missing, Predictions, Result, Task
from trainers.files import file_sha256

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trainers.embedding.vectors import Vectors

RANKS = {"acc@1": 1, "acc@5": 5}
METRICS = tuple(RANKS)
# Mirror-BERT's Table 2 has no average.
COUNTED = 0

PARENTS = ("", "bel", "linking", "data", "datasets", "evaluation/data", "evaluation/xl_bel")
BIOSYN = "https://github.com/dmis-lab/BioSyn#datasets"
SAPBERT = "https://github.com/cambridgeltl/sapbert/tree/main/evaluation"
CTD = "http://ctdbase.org/downloads/"
OWN_RULES = "mentions made from the corpus by our rules (data_cards), not BioSyn's files: papers may differ by a point"

MEDIC = "medic_06Jul2012.txt"
SPELLING = "ncbi-spell-check.txt"
LINES = {MEDIC: 11915, SPELLING: 37}
"""Of the files beside the corpora that there is only one release of: MEDIC's concepts, corrected words."""
CHEN = ("test_data.txt", 960, "entity_kb.txt", 68936)
XL_BEL = ("de", "en", "es", "fi", "ja", "ko", "ru", "th", "tr", "zh")
XL_BEL_QUERIES = 1000
ONTOLOGY = ("umls_onto_all_lang_cased_wikimed_only_399931.txt", 399931)
COMETA = ("COMETA_id_sf_dictionary.txt", "splits/stratified_general/test.csv", 4350)
FOLDS = 10


class Corpus(NamedTuple):
    """A corpus of abstracts in PubTator's format, and how BioSyn made a linking test of it.

    `files` maps train, dev and test file to their annotations; `mentions` and `documents` are those of the test, and
    `fewest` of these mentions are left where BioSyn has dropped those with an id that the dictionary lacks.
    `vocabularies` are the dictionaries' usual file names.
    """

    name: str
    title: str
    folders: tuple[str, ...]
    files: dict[str, int]
    kinds: frozenset[str]
    mentions: int
    fewest: int
    documents: int
    vocabularies: tuple[str, ...]
    where: str
    spelled: bool = False


_DISEASES = (MEDIC, "CTD_diseases.tsv")
_CDR = partial(
    Corpus,
    folders=("bc5cdr", "BC5CDR", "CDR_Data/CDR.Corpus.v010516", "CDR.Corpus.v010516"),
    files={
        "CDR_TrainingSet.PubTator.txt": 9385,
        "CDR_DevelopmentSet.PubTator.txt": 9591,
        "CDR_TestSet.PubTator.txt": 9809,
    },
    documents=500,
    where="https://biocreative.bioinformatics.udel.edu/tasks/biocreative-v/track-3-cdr/",
)
CORPORA = (
    Corpus(
        "ncbi-disease", "NCBI-disease", ("ncbi-disease", "NCBI-disease", "NCBI_disease"),
        {"NCBItrainset_corpus.txt": 5145, "NCBIdevelopset_corpus.txt": 787, "NCBItestset_corpus.txt": 960},
        frozenset({"SpecificDisease", "Modifier", "DiseaseClass", "CompositeMention"}), 960, 960, 100,
        _DISEASES, "https://www.ncbi.nlm.nih.gov/CBBresearch/Dogan/DISEASE/", spelled=True,
    ),
    _CDR(
        "bc5cdr-disease", "BC5CDR-disease", kinds=frozenset({"Disease"}), mentions=4424, fewest=4300,
        vocabularies=_DISEASES,
    ),
    _CDR(
        "bc5cdr-chemical", "BC5CDR-chemical", kinds=frozenset({"Chemical"}), mentions=5385, fewest=5300,
        vocabularies=("CTD_chemicals.tsv",),
    ),
)  # fmt: skip
OTHERS = {
    "ncbi-disease-chen": "NCBI-disease (Chen et al. 2021)", "xl-bel": "XL-BEL", "askapatient": "AskAPatient",
    "cometa": "COMETA",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LinkingSet(Task):
    """Mentions and the dictionary whose names they are compared with.

    A mention is linked right @k if one of the k nearest distinct names bears any of its ids; a composite mention, if
    that holds of each of its parts. That equal names are one, with the ids of all their concepts, is BioSyn's rule
    (Sung et al. 2020); SapBERT's script (Liu et al. 2021) keeps such names apart.
    The names are nearest by cosine; SapBERT's own script takes the dot product, which stands among the parts.
    """

    mentions: tuple[Mention, ...]
    dictionary: Dictionary

    @property
    def size(self) -> int:
        """The number of mentions."""
        return len(self.mentions)

    def texts(self) -> Iterable[str]:
        """Yield the dictionary's names and every part of every mention."""
        yield from self.dictionary.names
        for mention in self.mentions:
            yield from mention.parts

    def lines(self) -> Iterable[str]:
        """Yield mentions and names, each with its ids."""
        for mention in self.mentions:
            yield f"{mention.group}\t{'|'.join(mention.parts)}\t{'|'.join(sorted(mention.ids))}\n"
        for name, ids in zip(*self.dictionary, strict=True):
            yield f"{name}\t{'|'.join(sorted(ids))}\n"

    def score(self, vectors: Vectors, seed: int) -> Result:
        """Return accuracy @1 and @5, undefined of sparse vectors; nothing is drawn.

        Parts: the same by dot product; of the mentions that are not word for word in the dictionary; of each group.
        """
        distinct = list(dict.fromkeys(part for mention in self.mentions for part in mention.parts))
        queries, names = vectors.of(distinct), vectors.of(self.dictionary.names)
        if not isinstance(queries, np.ndarray) or not isinstance(names, np.ndarray):
            return Result(dict.fromkeys(METRICS))

        def right(similarity: Similarity) -> NDArray[np.bool_]:
            found = nearest(queries, names, max(RANKS.values()), similarity).tolist()
            return self._right(dict(zip(distinct, found, strict=True)))

        by_cosine = right("cosine")
        known = set(self.dictionary.names)
        new = np.array([not known.issuperset(mention.parts) for mention in self.mentions], bool)
        groups = np.array([mention.group for mention in self.mentions])
        parts = {"dot product": _accuracy(right("dot")), "not in the dictionary": _accuracy(by_cosine[new])}
        for group in dict.fromkeys(groups.tolist()):
            parts |= {group: _accuracy(by_cosine[groups == group])} if group else {}
        outcomes = by_cosine[:, 0].astype(np.float64)
        return Result(_accuracy(by_cosine), Predictions("mean", np.ones_like(outcomes), outcomes), parts)

    def _right(self, rows: dict[str, list[int]]) -> NDArray[np.bool_]:
        """Return whether each mention is linked right at each of `RANKS`, shape (mentions, ranks).

        Args:
            rows: The nearest names of each part of a mention, best first.
        """
        ids, last = self.dictionary.ids, 1 + max(RANKS.values())
        right = np.zeros((len(self.mentions), len(RANKS)), bool)
        for index, mention in enumerate(self.mentions):
            ranks = [
                next((rank for rank, row in enumerate(rows[part], 1) if ids[row] & mention.ids), last)
                for part in mention.parts
            ]
            right[index] = [max(ranks) <= k for k in RANKS.values()]
        return right


def _accuracy(right: NDArray[np.bool_]) -> dict[str, float | None]:
    means = (100 * right.mean(axis=0)).tolist() if len(right) else [None] * len(RANKS)
    return dict(zip(RANKS, means, strict=True))


def find(data: str) -> tuple[list[LinkingSet], list[Missing]]:
    """Read every linking set that is in a folder, and say what is missing of those that papers report.

    Raises:
        InputError: A file is malformed, or a count is not the published one.
    """
    if data.startswith(HUB):
        names = {corpus.name: corpus.title for corpus in CORPORA} | {key: OTHERS[key] for key in ("xl-bel", "cometa")}
        reason = "not on the Hub in the form that is read"
        return [], [Missing(name, title, reason, SAPBERT) for name, title in names.items()]
    folder = Path(data).expanduser()
    read = [*(_corpus(corpus, folder) for corpus in CORPORA), *(reader(folder) for reader in _READERS)]
    found = [*(item for item in read if isinstance(item, LinkingSet)), *_own(folder)]
    return [checked(item) for item in found], [item for item in read if isinstance(item, Missing)]


def checked(found: LinkingSet) -> LinkingSet:
    """Return a set, its note with the number of mentions that can only be wrong: no name has any of their concepts.

    Raises:
        InputError: That is all of them, or the dictionary has no name.
    """
    if not found.dictionary.names:
        raise InputError(f"{found.source}: the dictionary of {found.title} has no name with an id: get another one")
    known = {key for ids in found.dictionary.ids for key in ids}
    lost = [mention.ids for mention in found.mentions if not mention.ids & known]
    if not lost:
        return found
    capitals = {key.lower(): key for key in known}
    twins = ((key, capitals[key.lower()]) for ids in lost for key in sorted(ids) if key.lower() in capitals)
    twin = next(twins, None)
    hint = f" (do only capitals differ? {twin[0]!r} in the mentions, {twin[1]!r} in the dictionary)" if twin else ""
    if len(lost) == len(found.mentions):
        raise InputError(
            f"{found.source}: none of the {len(lost)} mentions has a concept of the dictionary, the first is "
            f"{'|'.join(sorted(lost[0]))}{hint}: give both the same ids"
        )
    many = f"{len(lost)} mentions have" if len(lost) > 1 else "1 mention has"
    remark = f"{many} no concept in the dictionary{hint}: counted as wrong"
    return replace(found, note="; ".join(filter(None, (found.note, remark))))


def _corpus(corpus: Corpus, data: Path) -> LinkingSet | Missing:
    """BioSyn's own files where they are, otherwise the corpus and a dictionary."""
    prepared = _file(data, (corpus.name,), "test_dictionary.txt")
    if prepared is not None and (prepared.parent / "processed_test").is_dir():
        return _prepared(corpus, prepared)
    paths = _files(data, corpus.folders, list(corpus.files))
    if paths is None:
        reason = f"neither {corpus.name}/ with processed_test/ nor {', '.join(corpus.files)} below {data}"
        return Missing(corpus.name, corpus.title, reason, f"{BIOSYN} or {corpus.where}")
    beside = ("", "dictionary", *corpus.folders)
    vocabularies = (_file(data, beside, name) for name in corpus.vocabularies)
    vocabulary = next((path for path in vocabularies if path is not None), None)
    if vocabulary is None:
        where = f"{BIOSYN} (preprocess/resources)" if MEDIC in corpus.vocabularies else f"{CTD} or {BIOSYN}"
        reason = f"no dictionary {' or '.join(corpus.vocabularies)} below {data}"
        return Missing(corpus.name, corpus.title, reason, where)
    spelling = _file(data, beside, SPELLING) if corpus.spelled else None
    for path in filter(None, (vocabulary, spelling)):
        name = path.name.removesuffix(".gz")
        if name in LINES:
            check_count(path, len(list(filled_lines(path))), LINES[name], "lines")
    return _from_abstracts(corpus, paths, vocabulary, spelling)


def _prepared(corpus: Corpus, dictionary: Path) -> LinkingSet:
    folder = dictionary.parent
    mentions, paths = read_concepts(folder / "processed_test")
    check_count(folder / "processed_test", len(paths), corpus.documents, ".concept files", files="original files")
    if not corpus.fewest <= len(mentions) <= corpus.mentions:
        span = f"{corpus.fewest} to {corpus.mentions}" if corpus.fewest < corpus.mentions else f"{corpus.mentions}"
        raise InputError(f"{folder}: {len(mentions)} mentions, expected {span}: get the original files again")
    note = f"{len(mentions)} of {corpus.mentions} mentions" if len(mentions) < corpus.mentions else None
    return _set(corpus.name, corpus.title, mentions, read_names(dictionary, lower), [dictionary, *paths], note)


def _from_abstracts(corpus: Corpus, paths: Sequence[Path], vocabulary: Path, spelling: Path | None) -> LinkingSet:
    documents = [read_pubtator(path) for path in paths]
    for path, read, (name, expected) in zip(paths, documents, corpus.files.items(), strict=True):
        check_count(path, sum(len(document.annotations) for document in read), expected, f"annotations of {name}")
    annotated = [note for document in documents[2] for note in document.annotations if note.kind in corpus.kinds]
    check_count(paths[2], len(annotated), corpus.mentions, "mentions")
    check_count(paths[2], len(documents[2]), corpus.documents, "documents")
    words = _spelling(spelling) if spelling else {}
    *seen, test = ([mention for item in part for mention in resolved(item, corpus.kinds, words)] for part in documents)
    if vocabulary.name.startswith("CTD_"):
        names = read_ctd(vocabulary, bare, alternatives="diseases" in vocabulary.name)
    else:
        names = read_names(vocabulary, bare)
    # BioSyn's test dictionaries hold the mentions of train and dev too.
    known = ((" ".join(mention.parts), mention.ids) for mention in chain.from_iterable(seen))
    unlinked = len(annotated) - len(test)
    note = OWN_RULES + (f"; {unlinked} mentions have no concept: left out" if unlinked else "")
    read_files = [*paths, vocabulary, *([spelling] if spelling else [])]
    folder = str(paths[2].parent)
    return _set(corpus.name, corpus.title, test, chain(names, known), read_files, note, folder)


def _chen(data: Path) -> LinkingSet | Missing:
    """Chen et al. 2021: NCBI-disease with abbreviations written out, and its own knowledge base."""
    tests, queries, base, names = CHEN
    paths = _files(data, ("ncbi-processed-chen", "output/ncbi"), [tests, base])
    if paths is None:
        where = "https://github.com/tigerchen52/Biomedical-Entity-Linking (output/ncbi)"
        return _missing("ncbi-disease-chen", f"no ncbi-processed-chen/ with {tests}, {base} below {data}", where)
    rows, entries = (_cells(path, least) for path, least in zip(paths, (4, 2), strict=True))
    check_count(paths[0], len(rows), queries, "mentions")
    check_count(paths[1], len(entries), names, "names")
    mentions = [Mention((row[3].strip(),), concepts(row[2])) for row in rows]
    known = ((entry[1].strip(), concepts(entry[0])) for entry in entries)
    note = "numbers in words, composite mentions whole, no training mentions among the names: not BioSyn's test"
    return _set("ncbi-disease-chen", OTHERS["ncbi-disease-chen"], mentions, known, paths, note)


def _xl_bel(data: Path) -> LinkingSet | Missing:
    folders = ("xl-bel", "xl_bel", "xlbel_v0.0", "xl_bel/xlbel_v0.0", "xl-bel/xlbel_v0.0")
    name, names = ONTOLOGY
    paths = _files(data, folders, [f"{code}_1k_test_query.txt" for code in XL_BEL])
    if paths is None:
        return _missing("xl-bel", f"no xl-bel/ with *_1k_test_query.txt of all of {', '.join(XL_BEL)} below {data}")
    ontology = _file(data, (*folders, "dictionary"), name)
    if ontology is None:
        return _missing("xl-bel", f"no {name} (names from the UMLS, a licence is needed) below {data}")
    groups = [read_queries(path, lower, code) for code, path in zip(XL_BEL, paths, strict=True)]
    for path, queries in zip(paths, groups, strict=True):
        check_count(path, len(queries), XL_BEL_QUERIES, "mentions")
    entries = list(read_names(ontology, lower))
    check_count(ontology, len(entries), names, "names")
    note = "the mean of ten languages, which stand as parts; lower-cased"
    return _set("xl-bel", OTHERS["xl-bel"], list(chain.from_iterable(groups)), entries, [ontology, *paths], note)


def _cometa(data: Path) -> LinkingSet | Missing:
    names, table, expected = COMETA
    paths = _files(data, ("cometa", "COMETA"), [names, table])
    if paths is None:
        where = f"{SAPBERT} or, on request, https://github.com/cambridgeltl/cometa"
        return _missing("cometa", f"no cometa/ with {names} and {table} below {data}", where)
    mentions = read_cometa(paths[1], lower)
    check_count(paths[1], len(mentions), expected, "mentions")
    return _set("cometa", OTHERS["cometa"], mentions, read_names(paths[0], lower), paths, "stratified general split")


def _askapatient(data: Path) -> LinkingSet | Missing:
    folders, dictionary = ("askapatient", "AskAPatient"), "AskAPatient.dict.txt"
    names = [dictionary, *(f"AskAPatient.fold-{fold}.test.preprocessed_query.txt" for fold in range(FOLDS))]
    paths = _files(data, folders, names)
    if paths is None:
        reason = f"no askapatient/ with {dictionary} and {FOLDS} folds, as SapBERT has them, below {data}"
        return _missing("askapatient", reason)
    folds = [read_queries(path, lower, f"fold {fold}") for fold, path in enumerate(paths[1:])]
    empty = next((path for path, fold in zip(paths[1:], folds, strict=True) if not fold), None)
    if empty is not None:
        raise InputError(f"{empty} holds no mention: get the original file again")
    note = "the mentions of all ten test folds together; their number is not checked"
    mentions = list(chain.from_iterable(folds))
    return _set("askapatient", OTHERS["askapatient"], mentions, read_names(paths[0], lower), paths, note)


_READERS = (_chen, _xl_bel, _askapatient, _cometa)


def _own(data: Path) -> Iterator[LinkingSet]:
    """A user's sets: `linking/<name>/dictionary.txt` of id||name and `mentions.txt` of id||mention."""
    for folder in sorted(path for path in (data / "linking").glob("*") if path.is_dir()):
        names, mentions = (plain_or_gzipped(name, [folder]) for name in ("dictionary.txt", "mentions.txt"))
        if names is None and mentions is None:
            continue
        if folder.name in {*(corpus.name for corpus in CORPORA), *OTHERS}:
            raise InputError(f"{folder}: {folder.name} is the name of a known set: give the folder another one")
        if names is None or mentions is None:
            raise InputError(f"{folder}: dictionary.txt (id||name) and mentions.txt (id||mention) are both needed")
        queries = read_queries(mentions, lower)
        found = _set(folder.name, folder.name, queries, read_names(names, lower), [names, mentions])
        if not queries or not found.dictionary.names:
            counts = f"{len(queries)} mentions and {len(found.dictionary.names)} names"
            raise InputError(f"{folder}: {counts}: none may be empty")
        yield found


def _set(
    name: str, title: str, mentions: Sequence[Mention], names: Iterable[tuple[str, frozenset[str]]],
    files: Sequence[Path], note: str | None = None, folder: str | None = None,
) -> LinkingSet:  # fmt: skip
    return LinkingSet(
        name=name, title=title, source=folder or str(files[0].parent), note=note, counted=False,
        files={f"{path.parent.name}/{path.name}": file_sha256(path) for path in files},
        mentions=tuple(mentions), dictionary=Dictionary.of(names),
    )  # fmt: skip


def _missing(name: str, reason: str, where: str = SAPBERT) -> Missing:
    return Missing(name, OTHERS[name], reason, where)


def _file(data: Path, folders: Sequence[str], name: str) -> Path | None:
    """Return the first file of a name, gzipped or not, in folders below the usual parents."""
    return plain_or_gzipped(name, (data / parent / folder for parent in PARENTS for folder in folders))


def _files(data: Path, folders: Sequence[str], names: Sequence[str]) -> list[Path] | None:
    found = [path for name in names if (path := _file(data, folders, name)) is not None]
    return found if len(found) == len(names) else None


def _cells(path: Path, least: int) -> list[list[str]]:
    rows = tsv_rows(path)
    for number, fields in rows:
        if len(fields) < least:
            raise InputError(f"{path} line {number}: {len(fields)} columns, expected {least}")
    return [fields for _, fields in rows]


def _spelling(path: Path) -> dict[str, str]:
    """Return the words to correct, of lines wrong||right."""
    words = {}
    for _, line in filled_lines(path):
        wrong, bar, right = line.partition("||")
        if not bar:
            raise InputError(f"{path}: expected wrong||right, got {line[:60]!r}")
        words[wrong.strip()] = right.strip()
    return words
