"""The linking sets below a data folder: BioSyn's files where they are, the original corpora otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.folders import plain_or_gzipped
from trainers.evaluation.graded import file_sha256
from trainers.evaluation.lines import file_lines
from trainers.evaluation.linking.corpora import CORPORA, LINES, MEDIC, SPELLING, Corpus
from trainers.evaluation.linking.mentions import (
    Document,
    Mention,
    read_cometa,
    read_concepts,
    read_pubtator,
    read_queries,
    resolved,
)
from trainers.evaluation.linking.names import Dictionary, bare, concepts, lower, read_ctd, read_names
from trainers.evaluation.linking.task import LinkingSet, checked
from trainers.evaluation.task import Missing

PARENTS = ("", "bel", "linking", "data", "datasets", "evaluation/data", "evaluation/xl_bel")
BIOSYN = "https://github.com/dmis-lab/BioSyn#datasets"
SAPBERT = "https://github.com/cambridgeltl/sapbert/tree/main/evaluation"
CTD = "http://ctdbase.org/downloads/"
OWN_RULES = "mentions made from the corpus by our rules (data_cards), not BioSyn's files: papers may differ by a point"

CHEN = ("test_data.txt", 960, "entity_kb.txt", 68936)
XL_BEL = ("de", "en", "es", "fi", "ja", "ko", "ru", "th", "tr", "zh")
XL_BEL_QUERIES = 1000
ONTOLOGY = ("umls_onto_all_lang_cased_wikimed_only_399931.txt", 399931)
COMETA = ("COMETA_id_sf_dictionary.txt", "splits/stratified_general/test.csv", 4350)
FOLDS = 10


def read_sets(data: Path) -> tuple[list[LinkingSet], list[Missing]]:
    """Read every linking set that is below a folder, and say what is missing of those that papers report.

    Raises:
        InputError: A file is malformed, or a count is not the published one.
    """
    others = (_chen, _xl_bel, _askapatient, _cometa)
    read = [*(_corpus(corpus, data) for corpus in CORPORA), *(reader(data) for reader in others)]
    found = [*(item for item in read if isinstance(item, LinkingSet)), *_own(data)]
    return [checked(item) for item in found], [item for item in read if isinstance(item, Missing)]


def _corpus(corpus: Corpus, data: Path) -> LinkingSet | Missing:
    prepared = _file(data, (corpus.name,), "test_dictionary.txt")
    if prepared is not None and (prepared.parent / "processed_test").is_dir():
        return _prepared(corpus, prepared)
    paths = [_file(data, corpus.folders, name) for name in corpus.files]
    if None in paths:
        reason = f"neither {corpus.name}/ with processed_test/ nor {', '.join(corpus.files)} below {data}"
        return Missing(corpus.name, corpus.title, reason, f"{BIOSYN} or {corpus.where}")
    found = [path for path in paths if path is not None]
    vocabularies = [_file(data, ("", "dictionary", *corpus.folders), name) for name in corpus.vocabularies]
    vocabulary = next((path for path in vocabularies if path is not None), None)
    if vocabulary is None:
        where = f"{CTD} or {BIOSYN}" if MEDIC not in corpus.vocabularies else f"{BIOSYN} (preprocess/resources)"
        reason = f"no dictionary {' or '.join(corpus.vocabularies)} below {data}"
        return Missing(corpus.name, corpus.title, reason, where)
    spelling = _file(data, ("", "dictionary", *corpus.folders), SPELLING) if corpus.spelled else None
    for path in filter(None, (vocabulary, spelling)):
        name = path.name.removesuffix(".gz")
        if name in LINES:
            _check(path, sum(bool(line.strip()) for line in file_lines(path)), LINES[name], "lines")
    return _from_abstracts(corpus, found, vocabulary, spelling)


def _prepared(corpus: Corpus, dictionary: Path) -> LinkingSet:
    """BioSyn's own files."""
    mentions, paths = read_concepts(dictionary.parent / "processed_test")
    if len(paths) != corpus.documents:
        raise InputError(
            f"{dictionary.parent / 'processed_test'}: {len(paths)} .concept files, expected {corpus.documents}: "
            "get the original files again"
        )
    if not corpus.fewest <= len(mentions) <= corpus.mentions:
        span = f"{corpus.fewest} to {corpus.mentions}" if corpus.fewest < corpus.mentions else f"{corpus.mentions}"
        raise InputError(
            f"{dictionary.parent}: {len(mentions)} mentions, expected {span}: get the original files again"
        )
    return LinkingSet(
        corpus.name,
        corpus.title,
        tuple(mentions),
        Dictionary.of(read_names(dictionary, lower)),
        str(dictionary.parent),
        _checksums([dictionary, *paths]),
        note=f"{len(mentions)} of {corpus.mentions} mentions" if len(mentions) < corpus.mentions else None,
    )


def _from_abstracts(corpus: Corpus, paths: Sequence[Path], vocabulary: Path, spelling: Path | None) -> LinkingSet:
    documents: list[list[Document]] = []
    for path, (name, expected) in zip(paths, corpus.files.items(), strict=True):
        documents.append(read_pubtator(path))
        _check(path, sum(len(document.annotations) for document in documents[-1]), expected, f"annotations of {name}")
    annotated = [note for document in documents[2] for note in document.annotations if note.kind in corpus.kinds]
    _check(paths[2], len(annotated), corpus.mentions, "mentions")
    _check(paths[2], len(documents[2]), corpus.documents, "documents")
    words = dict(_pair(spelling, line) for line in file_lines(spelling) if line.strip()) if spelling else {}
    *seen, test = ([mention for item in part for mention in resolved(item, corpus.kinds, words)] for part in documents)
    names = (
        read_ctd(vocabulary, bare, alternatives="diseases" in vocabulary.name)
        if vocabulary.name.startswith("CTD_")
        else read_names(vocabulary, bare)
    )
    # BioSyn's test dictionaries hold the mentions of train and dev too.
    taught = ((" ".join(mention.parts), mention.ids) for mention in chain.from_iterable(seen))
    unlinked = len(annotated) - len(test)
    return LinkingSet(
        corpus.name,
        corpus.title,
        tuple(test),
        Dictionary.of(chain(names, taught)),
        str(paths[2].parent),
        _checksums([*paths, vocabulary, *([spelling] if spelling else [])]),
        note="; ".join([OWN_RULES, *([f"{unlinked} mentions have no concept: left out"] if unlinked else [])]),
    )


def _chen(data: Path) -> LinkingSet | Missing:
    """Chen et al. 2021: NCBI-disease with abbreviations written out, and its own knowledge base."""
    tests, queries, base, names = CHEN
    title = "NCBI-disease (Chen et al. 2021)"
    paths = [_file(data, ("ncbi-processed-chen", "output/ncbi"), name) for name in (tests, base)]
    if paths[0] is None or paths[1] is None:
        where = "https://github.com/tigerchen52/Biomedical-Entity-Linking (output/ncbi)"
        return Missing("ncbi-disease-chen", title, f"no ncbi-processed-chen/ with {tests}, {base} below {data}", where)
    rows = [_columns(paths[0], number, line, 4) for number, line in enumerate(file_lines(paths[0]), 1)]
    _check(paths[0], len(rows), queries, "mentions")
    entries = [_columns(paths[1], number, line, 2) for number, line in enumerate(file_lines(paths[1]), 1)]
    _check(paths[1], len(entries), names, "names")
    return LinkingSet(
        "ncbi-disease-chen",
        title,
        tuple(Mention((row[3].strip(),), concepts(row[2])) for row in rows),
        Dictionary.of((entry[1].strip(), concepts(entry[0])) for entry in entries),
        str(paths[0].parent),
        _checksums([paths[0], paths[1]]),
        note="numbers in words, composite mentions whole, no training mentions among the names: not BioSyn's test",
    )


def _xl_bel(data: Path) -> LinkingSet | Missing:
    folders = ("xl-bel", "xl_bel", "xlbel_v0.0", "xl_bel/xlbel_v0.0", "xl-bel/xlbel_v0.0")
    name, names = ONTOLOGY
    paths = [_file(data, folders, f"{code}_1k_test_query.txt") for code in XL_BEL]
    found = [path for path in paths if path is not None]
    if len(found) < len(paths):
        reason = f"no xl-bel/ with *_1k_test_query.txt of all of {', '.join(XL_BEL)} below {data}"
        return Missing("xl-bel", "XL-BEL", reason, SAPBERT)
    ontology = _file(data, (*folders, "dictionary"), name)
    if ontology is None:
        return Missing(
            "xl-bel", "XL-BEL", f"no {name} (names from the UMLS, a licence is needed) below {data}", SAPBERT
        )
    mentions: list[Mention] = []
    for code, path in zip(XL_BEL, found, strict=True):
        queries = read_queries(path, lower, code)
        _check(path, len(queries), XL_BEL_QUERIES, "mentions")
        mentions += queries
    entries = list(read_names(ontology, lower))
    _check(ontology, len(entries), names, "names")
    return LinkingSet(
        "xl-bel", "XL-BEL", tuple(mentions), Dictionary.of(entries), str(ontology.parent),
        _checksums([ontology, *found]), note="the mean of ten languages, which stand as parts; lower-cased",
    )  # fmt: skip


def _cometa(data: Path) -> LinkingSet | Missing:
    dictionary, table, expected = COMETA
    names, tests = _file(data, ("cometa", "COMETA"), dictionary), _file(data, ("cometa", "COMETA"), table)
    if names is None or tests is None:
        reason = f"no cometa/ with {dictionary} and {table} below {data}"
        return Missing("cometa", "COMETA", reason, f"{SAPBERT} or, on request, https://github.com/cambridgeltl/cometa")
    mentions = read_cometa(tests, lower)
    _check(tests, len(mentions), expected, "mentions")
    return LinkingSet(
        "cometa", "COMETA", tuple(mentions), Dictionary.of(read_names(names, lower)), str(names.parent),
        _checksums([names, tests]), note="stratified general split",
    )  # fmt: skip


def _askapatient(data: Path) -> LinkingSet | Missing:
    folders = ("askapatient", "AskAPatient")
    names = _file(data, folders, "AskAPatient.dict.txt")
    paths = [_file(data, folders, f"AskAPatient.fold-{fold}.test.preprocessed_query.txt") for fold in range(FOLDS)]
    found = [path for path in paths if path is not None]
    if names is None or len(found) < FOLDS:
        reason = f"no askapatient/ with AskAPatient.dict.txt and {FOLDS} folds, as SapBERT has them, below {data}"
        return Missing("askapatient", "AskAPatient", reason, SAPBERT)
    folds = [read_queries(path, lower, f"fold {fold}") for fold, path in enumerate(found)]
    empty = next((path for path, fold in zip(found, folds, strict=True) if not fold), None)
    if empty is not None:
        raise InputError(f"{empty} holds no mention: get the original file again")
    return LinkingSet(
        "askapatient", "AskAPatient", tuple(chain.from_iterable(folds)), Dictionary.of(read_names(names, lower)),
        str(names.parent), _checksums([names, *found]),
        note="the mentions of all ten test folds together; their number is not checked",
    )  # fmt: skip


def _own(data: Path) -> Iterator[LinkingSet]:
    """A user's sets: `linking/<name>/dictionary.txt` of id||name and `mentions.txt` of id||mention."""
    taken = {*(corpus.name for corpus in CORPORA), "ncbi-disease-chen", "xl-bel", "cometa", "askapatient"}
    for folder in sorted(path for path in (data / "linking").glob("*") if path.is_dir()):
        names, mentions = (_file(folder, ("",), name) for name in ("dictionary.txt", "mentions.txt"))
        if names is None and mentions is None:
            continue
        if folder.name in taken:
            raise InputError(f"{folder}: {folder.name} is the name of a known set: give the folder another one")
        if names is None or mentions is None:
            raise InputError(f"{folder}: dictionary.txt (id||name) and mentions.txt (id||mention) are both needed")
        queries, dictionary = read_queries(mentions, lower), Dictionary.of(read_names(names, lower))
        if not queries or not dictionary.names:
            raise InputError(f"{folder}: {len(queries)} mentions and {len(dictionary.names)} names: none may be empty")
        yield LinkingSet(
            folder.name, folder.name, tuple(queries), dictionary, str(folder), _checksums([names, mentions])
        )


def _file(data: Path, folders: Sequence[str], name: str) -> Path | None:
    """Return the first file of a name, gzipped or not, in folders below the usual parents."""
    return plain_or_gzipped(name, (data / parent / folder for parent in PARENTS for folder in folders))


def _check(path: Path, found: int, expected: int, what: str) -> None:
    if found != expected:
        raise InputError(f"{path}: {found} {what}, expected {expected}: get the original file again")


def _columns(path: Path, number: int, line: str, least: int) -> list[str]:
    fields = line.split("\t")
    if len(fields) < least:
        raise InputError(f"{path} line {number}: {len(fields)} columns, expected {least}")
    return fields


def _pair(path: Path | None, line: str) -> tuple[str, str]:
    wrong, bar, right = line.partition("||")
    if not bar:
        raise InputError(f"{path}: expected wrong||right, got {line[:60]!r}")
    return wrong.strip(), right.strip()


def _checksums(paths: Sequence[Path]) -> dict[str, str]:
    return {f"{path.parent.name}/{path.name}": file_sha256(path) for path in paths}
