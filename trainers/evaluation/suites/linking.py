"""NCBI-disease, BC5CDR, XL-BEL, COMETA, AskAPatient, names of your own: accuracy @1 and @5 by nearest name."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipelines.console import InputError
from trainers.embedding.vectors import Vectors
from trainers.evaluation import concepts
from trainers.evaluation.concepts import Entry, Mention, Names, read_names
from trainers.evaluation.reading import check_count, filled_lines, find_file, find_files, usual_places
from trainers.evaluation.search import nearest
from trainers.evaluation.task import HUB, Missing, Predictions, Result, Task
from trainers.files import file_sha256

RANKS = {"acc@1": 1, "acc@5": 5}
METRICS = tuple(RANKS)
# Mirror-BERT's Table 2 has no average.
COUNTED = 0

BIOSYN = "https://github.com/dmis-lab/BioSyn#datasets"
SAPBERT = "https://github.com/cambridgeltl/sapbert/tree/main/evaluation"
OWN_RULES = "mentions made from the corpus by our rules (data_cards), not BioSyn's files: papers may differ by a point"

MEDIC = "medic_06Jul2012.txt"
SPELLING = "ncbi-spell-check.txt"


class Corpus(NamedTuple):
    """A corpus of abstracts in PubTator's format, and how BioSyn made a linking test of it.

    `files` maps train, dev and test file to their annotations; `mentions` and `documents` are those of the test, and
    `fewest` of these mentions are left where BioSyn has dropped those with an id that the dictionary lacks. Only
    diseases have a dictionary (MEDIC) that the abstracts can be linked to; of chemicals BioSyn's own files are read.
    """

    name: str
    title: str
    folders: tuple[str, ...]
    files: Mapping[str, int]
    kinds: frozenset[str]
    mentions: int
    fewest: int
    documents: int
    where: str
    diseases: bool = True


_CDR_FOLDERS = ("bc5cdr", "BC5CDR", "CDR_Data/CDR.Corpus.v010516", "CDR.Corpus.v010516")
_CDR_FILES = {
    "CDR_TrainingSet.PubTator.txt": 9385, "CDR_DevelopmentSet.PubTator.txt": 9591, "CDR_TestSet.PubTator.txt": 9809,
}  # fmt: skip
_CDR = "https://biocreative.bioinformatics.udel.edu/tasks/biocreative-v/track-3-cdr/"
CORPORA = (
    Corpus(
        "ncbi-disease", "NCBI-disease", ("ncbi-disease", "NCBI-disease", "NCBI_disease"),
        {"NCBItrainset_corpus.txt": 5145, "NCBIdevelopset_corpus.txt": 787, "NCBItestset_corpus.txt": 960},
        frozenset({"SpecificDisease", "Modifier", "DiseaseClass", "CompositeMention"}), 960, 960, 100,
        "https://www.ncbi.nlm.nih.gov/CBBresearch/Dogan/DISEASE/",
    ),
    Corpus(
        "bc5cdr-disease", "BC5CDR-disease", _CDR_FOLDERS, _CDR_FILES, frozenset({"Disease"}), 4424, 4300, 500, _CDR
    ),
    Corpus(
        "bc5cdr-chemical", "BC5CDR-chemical", _CDR_FOLDERS, _CDR_FILES, frozenset({"Chemical"}), 5385, 5300, 500, _CDR,
        diseases=False,
    ),
)  # fmt: skip


class NamedSet(NamedTuple):
    """Mentions and names in files of their own: those of the mentions by their group, each of `size` if that is known.

    The dictionary, of `names` entries if that is known, may lie beside them or in `dictionary/`.
    """

    name: str
    title: str
    folders: tuple[str, ...]
    mentions: Mapping[str, str]
    dictionary: str
    note: str
    size: int | None = None
    names: int | None = None
    read: Callable[[Path], Iterable[Entry]] = partial(read_names, synonyms=False)
    where: str = SAPBERT


XL_BEL = ("de", "en", "es", "fi", "ja", "ko", "ru", "th", "tr", "zh")
NAMED_SETS = (
    NamedSet(
        "xl-bel", "XL-BEL", ("xl-bel", "xl_bel", "xlbel_v0.0", "xl_bel/xlbel_v0.0", "xl-bel/xlbel_v0.0"),
        {f"{code}_1k_test_query.txt": code for code in XL_BEL}, "umls_onto_all_lang_cased_wikimed_only_399931.txt",
        "the mean of ten languages, which stand as parts; lower-cased", 1000, 399931,
    ),
    NamedSet(
        "askapatient", "AskAPatient", ("askapatient", "AskAPatient"),
        {f"AskAPatient.fold-{fold}.test.preprocessed_query.txt": f"fold {fold}" for fold in range(10)},
        "AskAPatient.dict.txt", "the mentions of all ten test folds together; their number is not checked",
    ),
    NamedSet(
        "cometa", "COMETA", ("cometa", "COMETA"), {"splits/stratified_general/test.csv": ""},
        "COMETA_id_sf_dictionary.txt", "stratified general split", 4350, read=concepts.read_cometa,
        where=f"{SAPBERT} or, on request, https://github.com/cambridgeltl/cometa",
    ),
)  # fmt: skip


def score_mentions(mentions: Sequence[Mention], names: Names, vectors: Vectors, seed: int = 0) -> Result:
    """Return accuracy @1 and @5 by the nearest names of a dictionary; nothing is drawn.

    A mention is linked right @k if one of the k nearest distinct names bears any of its ids; a composite mention, if
    that holds of each of its parts. That equal names are one, with the ids of all their concepts, is BioSyn's rule
    (Sung et al. 2020); SapBERT's script (Liu et al. 2021) keeps such names apart. The names are nearest by cosine;
    SapBERT's own script takes the dot product.

    Parts: the same by dot product; of the mentions that are not word for word in the dictionary; of each group.
    """
    distinct, listed = list(dict.fromkeys(part for mention in mentions for part in mention.parts)), list(names)
    queries, keys = vectors.dense(distinct), vectors.dense(listed)
    last = max(RANKS.values())

    def right(similarity: Literal["cosine", "dot"]) -> NDArray[np.bool_]:
        """Return whether each mention is linked right at each of `RANKS`, shape (mentions, ranks)."""
        found = dict(zip(distinct, nearest(queries, keys, last, similarity).tolist(), strict=True))

        def rank(part: str, ids: frozenset[str]) -> int:
            return next((rank for rank, row in enumerate(found[part], 1) if names[listed[row]] & ids), last + 1)

        worst = np.array([max(rank(part, mention.ids) for part in mention.parts) for mention in mentions])
        return worst[:, None] <= np.array(list(RANKS.values()))

    by_cosine = right("cosine")
    new = np.array([not names.keys() >= set(mention.parts) for mention in mentions], bool)
    groups = np.array([mention.group for mention in mentions])
    parts = {"dot product": _accuracy(right("dot")), "not in the dictionary": _accuracy(by_cosine[new])}
    parts |= {group: _accuracy(by_cosine[groups == group]) for group in dict.fromkeys(groups.tolist()) if group}
    outcomes = by_cosine[:, 0].astype(np.float64)
    return Result(_accuracy(by_cosine), Predictions("mean", np.ones_like(outcomes), outcomes), parts)


def _accuracy(right: NDArray[np.bool_]) -> dict[str, float | None]:
    means = (100 * right.mean(axis=0)).tolist() if len(right) else [None] * len(RANKS)
    return dict(zip(RANKS, means, strict=True))


def find(data: str) -> list[Task | Missing]:
    """Read every linking set that is in a folder, and say what is missing of those that papers report.

    Raises InputError: a file is malformed, or a count is not the published one.
    """
    if data.startswith(HUB):
        reason = "not on the Hub in the form that is read"
        return [Missing(known.name, known.title, reason, known.where) for known in (*CORPORA, *NAMED_SETS)]
    folder = Path(data).expanduser()
    corpora, named = (_corpus(each, folder) for each in CORPORA), (_named(each, folder) for each in NAMED_SETS)
    return [*corpora, *named, *_own(folder)]


def _corpus(corpus: Corpus, data: Path) -> Task | Missing:
    """BioSyn's own files where they are, otherwise the corpus and a dictionary."""
    prepared = find_file("test_dictionary.txt", usual_places((corpus.name,), data))
    if prepared is not None and (prepared.parent / "processed_test").is_dir():
        return _prepared(corpus, prepared)
    paths = find_files(list(corpus.files), corpus.folders, data)
    places = usual_places(("", "dictionary", *corpus.folders), data)
    medic = find_file(MEDIC, places) if corpus.diseases else None
    if isinstance(paths, str) or medic is None:
        absent = f"no {MEDIC}" if corpus.diseases else f"no {corpus.name}/ with processed_test/"
        reason = paths if isinstance(paths, str) else f"{absent} below {data}"
        return Missing(corpus.name, corpus.title, reason, f"{BIOSYN} or {corpus.where}")
    # The corrected words are those of NCBI-disease.
    spelling = find_file(SPELLING, places) if corpus.name == "ncbi-disease" else None
    return _from_abstracts(corpus, paths, medic, spelling)


def _prepared(corpus: Corpus, dictionary: Path) -> Task:
    folder = dictionary.parent
    paths = sorted((folder / "processed_test").glob("*.concept"))
    mentions = [mention for path in paths for mention in concepts.read_concepts(path)]
    check_count(folder / "processed_test", len(paths), corpus.documents, ".concept files")
    if not corpus.fewest <= len(mentions) <= corpus.mentions:
        check_count(folder, len(mentions), corpus.mentions, "mentions")
    note = f"{len(mentions)} of {corpus.mentions} mentions" if len(mentions) < corpus.mentions else None
    return _set(corpus.name, corpus.title, mentions, read_names(dictionary), [dictionary, *paths], note)


def _from_abstracts(corpus: Corpus, paths: Sequence[Path], medic: Path, spelling: Path | None) -> Task:
    pairs = [line.partition("||") for _, line in filled_lines(spelling)] if spelling else []
    words = {wrong.strip(): right.strip() for wrong, _, right in pairs}
    parts: list[list[Mention]] = []
    for path, expected in zip(paths, corpus.files.values(), strict=True):
        documents = concepts.read_pubtator(path)
        check_count(path, sum(len(document.annotations) for document in documents), expected, "annotations")
        parts.append([mention for each in documents for mention in concepts.resolved(each, corpus.kinds, words)])
    *seen, test = parts
    # BioSyn's test dictionaries hold the mentions of train and dev too.
    known = ((" ".join(mention.parts), mention.ids) for mention in chain.from_iterable(seen))
    unlinked = corpus.mentions - len(test)
    note = OWN_RULES + (f"; {unlinked} mentions have no concept: left out" if unlinked else "")
    files = [*paths, medic, *([spelling] if spelling else [])]
    return _set(corpus.name, corpus.title, test, chain(read_names(medic, concepts.bare), known), files, note)


def _named(known: NamedSet, data: Path) -> Task | Missing:
    paths = find_files(list(known.mentions), known.folders, data)
    dictionary = find_file(known.dictionary, usual_places((*known.folders, "dictionary"), data))
    if isinstance(paths, str) or dictionary is None:
        reason = paths if isinstance(paths, str) else f"no dictionary {known.dictionary} below {data}"
        return Missing(known.name, known.title, reason, known.where)
    mentions = []
    for path, group in zip(paths, known.mentions.values(), strict=True):
        read = list(known.read(path))
        check_count(path, len(read), known.size or len(read), "mentions")
        mentions += [Mention((name,), ids, group) for name, ids in read]
    names = list(read_names(dictionary))
    check_count(dictionary, len(names), known.names or len(names), "names")
    return _set(known.name, known.title, mentions, names, [*paths, dictionary], known.note)


def _own(data: Path) -> Iterator[Task]:
    """A user's sets: `linking/<name>/dictionary.txt` of id||name and `mentions.txt` of id||mention."""
    for folder in sorted(path for path in (data / "linking").glob("*") if path.is_dir()):
        names, mentions = (find_file(name, [folder]) for name in ("dictionary.txt", "mentions.txt"))
        if folder.name in {known.name for known in (*CORPORA, *NAMED_SETS)}:
            raise InputError(f"{folder}: {folder.name} is the name of a known set: give the folder another one")
        if names is None or mentions is None:
            raise InputError(f"{folder}: dictionary.txt (id||name) and mentions.txt (id||mention) are both needed")
        queries = [Mention((name,), ids) for name, ids in read_names(mentions, synonyms=False)]
        yield _set(folder.name, folder.name, queries, read_names(names), [names, mentions])


def _set(
    name: str, title: str, mentions: Sequence[Mention], entries: Iterable[Entry], files: Sequence[Path],
    note: str | None = None,
) -> Task:  # fmt: skip
    """Return a set, its note with the number of mentions that can only be wrong: no name has any of their concepts."""
    names = concepts.joined(entries)
    if not mentions or not names:
        counts = f"{len(mentions)} mentions and {len(names)} names with ids"
        raise InputError(f"{files[0].parent}: {counts} of {title}: there must be some of both")
    known = frozenset().union(*names.values())
    lost = sum(not mention.ids & known for mention in mentions)
    remark = f"{lost} mentions have no concept in the dictionary: counted as wrong" if lost else None
    lines = [f"{each.group}\t{'|'.join(each.parts)}\t{'|'.join(sorted(each.ids))}\n" for each in mentions]
    lines += [f"{each}\t{'|'.join(sorted(ids))}\n" for each, ids in names.items()]
    return Task(
        name=name, title=title, source=str(files[0].parent), note="; ".join(filter(None, (note, remark))) or None,
        files={f"{path.parent.name}/{path.name}": file_sha256(path) for path in files}, counted=False, dense=True,
        size=len(mentions), texts=[*names, *(part for mention in mentions for part in mention.parts)],
        lines=lines, score=partial(score_mentions, mentions, names),
    )  # fmt: skip
