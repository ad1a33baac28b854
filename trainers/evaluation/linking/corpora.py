"""The corpora of abstracts that BioSyn made linking tests of, as far as they are known before they are read."""

from __future__ import annotations

from dataclasses import dataclass

MEDIC = "medic_06Jul2012.txt"
SPELLING = "ncbi-spell-check.txt"
LINES = {MEDIC: 11915, SPELLING: 37}
"""Of the files beside the corpora that there is only one release of: MEDIC's concepts, corrected words."""


@dataclass(frozen=True, slots=True)
class Corpus:
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
    spelled: bool
    where: str


_DISEASES = (MEDIC, "CTD_diseases.tsv")
_CDR_FILES = {
    "CDR_TrainingSet.PubTator.txt": 9385,
    "CDR_DevelopmentSet.PubTator.txt": 9591,
    "CDR_TestSet.PubTator.txt": 9809,
}
_CDR_FOLDERS = ("bc5cdr", "BC5CDR", "CDR_Data/CDR.Corpus.v010516", "CDR.Corpus.v010516")
_CDR_WHERE = "https://biocreative.bioinformatics.udel.edu/tasks/biocreative-v/track-3-cdr/"

CORPORA = (
    Corpus(
        "ncbi-disease", "NCBI-disease", ("ncbi-disease", "NCBI-disease", "NCBI_disease"),
        {"NCBItrainset_corpus.txt": 5145, "NCBIdevelopset_corpus.txt": 787, "NCBItestset_corpus.txt": 960},
        frozenset({"SpecificDisease", "Modifier", "DiseaseClass", "CompositeMention"}), 960, 960, 100,
        _DISEASES, True, "https://www.ncbi.nlm.nih.gov/CBBresearch/Dogan/DISEASE/",
    ),
    Corpus(
        "bc5cdr-disease", "BC5CDR-disease", _CDR_FOLDERS, _CDR_FILES, frozenset({"Disease"}), 4424, 4300, 500,
        _DISEASES, False, _CDR_WHERE,
    ),
    Corpus(
        "bc5cdr-chemical", "BC5CDR-chemical", _CDR_FOLDERS, _CDR_FILES, frozenset({"Chemical"}), 5385, 5300, 500,
        ("CTD_chemicals.tsv",), False, _CDR_WHERE,
    ),
)  # fmt: skip
