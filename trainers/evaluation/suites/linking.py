"""NCBI-disease, BC5CDR, XL-BEL, COMETA, AskAPatient, names of your own: accuracy @1 and @5 by nearest name."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipelines.terminal.console import InputError
from trainers.encoders.vectors import Vectors, nearest
from trainers.evaluation import concepts
from trainers.evaluation.concepts import Entry, Mention, Names, read_names
from trainers.evaluation.reading import check_count, filled_lines, find_file, find_files, usual_places
from trainers.evaluation.task import HUB, Missing, Predictions, Result, Task
from trainers.files import file_sha256

RANKS = {"acc@1": 1, "acc@5": 5}
METRICS = tuple(RANKS)

BIOSYN = "https://github.com/dmis-lab/BioSyn#datasets"
SAPBERT = "https://github.com/cambridgeltl/sapbert/tree/main/evaluation"
OWN_RULES = "mentions made from the corpus by our rules (data_cards), not BioSyn's files: papers may differ by a point"
MEDIC = "medic_06Jul2012.txt"
SPELLING = "ncbi-spell-check.txt"


class Corpus(NamedTuple):
    """A corpus in PubTator's format: train, dev and test file with their annotations."""

    folders: tuple[str, ...]
    files: Mapping[str, int]
    kinds: frozenset[str]
    where: str


CORPORA = {
    "ncbi-disease": Corpus(
        ("ncbi-disease", "NCBI-disease", "NCBI_disease"),
        {"NCBItrainset_corpus.txt": 5145, "NCBIdevelopset_corpus.txt": 787, "NCBItestset_corpus.txt": 960},
        frozenset({"SpecificDisease", "Modifier", "DiseaseClass", "CompositeMention"}),
        "https://www.ncbi.nlm.nih.gov/CBBresearch/Dogan/DISEASE/",
    ),
    "bc5cdr-disease": Corpus(
        ("bc5cdr", "BC5CDR", "CDR_Data/CDR.Corpus.v010516", "CDR.Corpus.v010516"),
        {f"CDR_{part}Set.PubTator.txt": n for part, n in (("Training", 9385), ("Development", 9591), ("Test", 9809))},
        frozenset({"Disease"}), "https://biocreative.bioinformatics.udel.edu/tasks/biocreative-v/track-3-cdr/",
    ),
}  # fmt: skip


class MentionSet(NamedTuple):
    """A test as BioSyn or SapBERT distributes it: a dictionary, and beside it `files` files `pattern` of mentions.

    Of `mentions`, BioSyn drops those with an id that the dictionary lacks: at least `fewest` must be left.
    """

    name: str
    title: str
    folders: tuple[str, ...]
    dictionary: str
    pattern: str
    files: int
    read: Callable[[Path], Iterable[Mention]]
    mentions: int | None = None
    fewest: int | None = None
    note: str | None = None
    where: str = SAPBERT


MENTION_SETS = (
    *(
        MentionSet(
            title.lower(), title, (title.lower(),), "test_dictionary.txt", "processed_test/*.concept", files,
            concepts.read_concepts, mentions, fewest, where=BIOSYN,
        )
        for title, files, mentions, fewest in (
            ("NCBI-disease", 100, 960, 960), ("BC5CDR-disease", 500, 4424, 4300), ("BC5CDR-chemical", 500, 5385, 5300),
        )
    ),
    MentionSet(
        "xl-bel", "XL-BEL", ("xl-bel", "xl_bel", "xlbel_v0.0", "xl_bel/xlbel_v0.0", "xl-bel/xlbel_v0.0"),
        "umls_onto_all_lang_cased_wikimed_only_399931.txt", "??_1k_test_query.txt", 10, concepts.read_queries, 10000,
        note="the mean of ten languages; lower-cased",
    ),
    MentionSet(
        "askapatient", "AskAPatient", ("askapatient", "AskAPatient"), "AskAPatient.dict.txt",
        "AskAPatient.fold-[0-9].test.preprocessed_query.txt", 10, concepts.read_queries,
        note="the mentions of all ten test folds together; their number is not checked",
    ),
    MentionSet(
        "cometa", "COMETA", ("cometa", "COMETA"), "COMETA_id_sf_dictionary.txt",
        "splits/stratified_general/test.csv", 1, concepts.read_cometa, 4350, note="stratified general split",
        where=f"{SAPBERT} or, on request, https://github.com/cambridgeltl/cometa",
    ),
)  # fmt: skip


def score_mentions(mentions: Sequence[Mention], names: Names, vectors: Vectors, seed: int = 0) -> Result:
    """Return accuracy @1 and @5 by the nearest names of a dictionary, by cosine; nothing is drawn.

    A mention is right @k if one of the k nearest distinct names has any of its ids; a composite mention, if that holds
    for each of its parts. Equal names are one, with the ids of all their concepts: BioSyn's rule (Sung et al. 2020).
    SapBERT's script (Liu et al. 2021) keeps such names apart and ranks by dot product. Parts: the same by dot product,
    and of the mentions that are not word for word in the dictionary.
    """
    distinct, listed = list(dict.fromkeys(part for mention in mentions for part in mention.parts)), list(names)
    queries, keys = vectors.of(distinct), vectors.of(listed)
    last = max(RANKS.values())

    def right(similarity: Literal["cosine", "dot"]) -> NDArray[np.bool_]:
        """Return whether each mention is right at each of `RANKS`, shape (mentions, ranks)."""
        found = dict(zip(distinct, nearest(queries, keys, last, similarity, vectors.device).tolist(), strict=True))

        def rank(part: str, ids: frozenset[str]) -> int:
            return next((rank for rank, row in enumerate(found[part], 1) if names[listed[row]] & ids), last + 1)

        worst = np.array([max(rank(part, mention.ids) for part in mention.parts) for mention in mentions])
        return worst[:, None] <= np.array(list(RANKS.values()))

    by_cosine = right("cosine")
    new = np.array([not names.keys() >= set(mention.parts) for mention in mentions], bool)
    parts = {"dot product": _accuracy(right("dot")), "not in the dictionary": _accuracy(by_cosine[new])}
    outcomes = by_cosine[:, 0].astype(np.float64)
    return Result(_accuracy(by_cosine), Predictions("mean", np.ones_like(outcomes), outcomes), parts)


def _accuracy(right: NDArray[np.bool_]) -> dict[str, float | None]:
    means = (100 * right.mean(axis=0)).tolist() if len(right) else [None] * len(RANKS)
    return dict(zip(RANKS, means, strict=True))


def find(data: str) -> list[Task | Missing]:
    """Read the linking sets in a folder, and say which are missing; raises InputError for a bad file."""
    if data.startswith(HUB):
        reason = "not on the Hub in a form that is read"
        return [Missing(known.name, known.title, reason, known.where) for known in MENTION_SETS]
    folder = Path(data).expanduser()
    return [*(_prepared(known, folder) for known in MENTION_SETS), *_own(folder)]


def _prepared(known: MentionSet, data: Path) -> Task | Missing:
    dictionary = find_file(known.dictionary, usual_places(known.folders, data))
    patterns = (known.pattern, f"{known.pattern}.gz")
    paths = sorted(path for each in patterns for path in dictionary.parent.glob(each)) if dictionary else []
    if dictionary is None or not paths:
        if known.name in CORPORA:
            return _corpus(known, CORPORA[known.name], data)
        reason = f"no {known.folders[0]}/ with {known.dictionary} and {known.pattern} below {data}"
        return Missing(known.name, known.title, reason, known.where)
    check_count(dictionary.parent, len(paths), known.files, f"files {known.pattern}")
    mentions = [mention for path in paths for mention in known.read(path)]
    most = known.mentions or len(mentions)
    if not (known.fewest or most) <= len(mentions) <= most:
        check_count(dictionary.parent, len(mentions), most, "mentions")
    note = f"{len(mentions)} of {most} mentions" if len(mentions) < most else known.note
    return _set(known.name, known.title, mentions, read_names(dictionary), [dictionary, *paths], note)


def _corpus(known: MentionSet, corpus: Corpus, data: Path) -> Task | Missing:
    paths = find_files(list(corpus.files), corpus.folders, data)
    places = usual_places(("", "dictionary", *corpus.folders), data)
    medic = find_file(MEDIC, places)
    if isinstance(paths, str) or medic is None:
        reason = paths if isinstance(paths, str) else f"no {MEDIC} below {data}"
        return Missing(known.name, known.title, reason, f"{BIOSYN} or {corpus.where}")
    # The list corrects the words of NCBI-disease.
    spelling = find_file(SPELLING, places) if known.name == "ncbi-disease" else None
    pairs = [line.partition("||") for _, line in filled_lines(spelling)] if spelling else []
    words = {wrong.strip(): right.strip() for wrong, _, right in pairs}
    parts: list[list[Mention]] = []
    for path, expected in zip(paths, corpus.files.values(), strict=True):
        documents = concepts.read_pubtator(path)
        check_count(path, sum(len(annotations) for _, annotations in documents), expected, "annotations")
        parts.append([mention for each in documents for mention in concepts.resolved(*each, corpus.kinds, words)])
    *seen, test = parts
    # BioSyn's test dictionaries contain the mentions of train and dev.
    names = ((" ".join(mention.parts), mention.ids) for mention in chain.from_iterable(seen))
    unlinked = (known.mentions or len(test)) - len(test)
    note = OWN_RULES + (f"; mentions without a concept, left out: {unlinked}" if unlinked else "")
    files = [*paths, medic, *([spelling] if spelling else [])]
    return _set(known.name, known.title, test, chain(read_names(medic, concepts.bare), names), files, note)


def _own(data: Path) -> Iterator[Task]:
    """Read a user's sets: `linking/<name>/dictionary.txt` of id||name and `mentions.txt` of id||mention."""
    known = {name for corpus in CORPORA.values() for name in corpus.folders}
    known |= {name for prepared in MENTION_SETS for name in prepared.folders}
    for folder in sorted(path for path in (data / "linking").glob("*") if path.is_dir() and path.name not in known):
        names, mentions = (find_file(name, [folder]) for name in ("dictionary.txt", "mentions.txt"))
        if names is None or mentions is None:
            raise InputError(f"{folder}: dictionary.txt (id||name) and mentions.txt (id||mention) are both needed")
        queries = list(concepts.read_queries(mentions))
        yield _set(folder.name, folder.name, queries, read_names(names), [names, mentions])


def _set(
    name: str, title: str, mentions: Sequence[Mention], entries: Iterable[Entry], files: Sequence[Path],
    note: str | None = None,
) -> Task:  # fmt: skip
    """Return a set, its note with the number of mentions that can only be wrong: no name has any of their concepts.

    None is counted, as Mirror-BERT's Table 2 has no average.
    """
    names = concepts.joined(entries)
    if not mentions or not names:
        counts = f"{len(mentions)} mentions and {len(names)} names with ids"
        raise InputError(f"{files[0].parent}: {counts} of {title}: both are needed")
    known = frozenset().union(*names.values())
    lost = sum(not mention.ids & known for mention in mentions)
    remark = f"mentions without a concept in the dictionary, counted as wrong: {lost}" if lost else None
    lines = [f"\t{'|'.join(each.parts)}\t{'|'.join(sorted(each.ids))}\n" for each in mentions]
    lines += [f"{each}\t{'|'.join(sorted(ids))}\n" for each, ids in names.items()]
    return Task(
        name=name, title=title, source=str(files[0].parent), note="; ".join(filter(None, (note, remark))) or None,
        files={f"{path.parent.name}/{path.name}": file_sha256(path) for path in files}, counted=False,
        size=len(mentions), texts=[*names, *(part for mention in mentions for part in mention.parts)],
        lines=lines, score=partial(score_mentions, mentions, names),
    )  # fmt: skip
