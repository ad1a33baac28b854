"""Linking: what the distributions write, accuracy on tables with known answers, the sets in a data folder."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from known_vectors import parted, write_files

from benchmarks import linking_files
from benchmarks.linking_files import Annotation, bare, convert, read_pubtator
from pipelines.base.console import InputError
from trainers.encoders.vectors import Vectors
from trainers.scores.suites import linking
from trainers.scores.suites.linking import Mention, joined, read_names, score_mentions
from trainers.scores.task import Result


def on_circle(degrees: dict[str, float]) -> Vectors:
    """Give each text a direction in the plane, so that the nearest name is the one at the smallest angle."""
    radians = np.radians(list(degrees.values()))
    matrix = np.stack([np.cos(radians), np.sin(radians)], axis=1)
    return Vectors({text: row for row, text in enumerate(degrees)}, matrix.astype(np.float32))


NAMES = {"n0": 0, "n1": 10, "n2": 20, "n3": 30, "n4": 40, "n5": 50, "n6": 60}
DICTIONARY = joined([(name, frozenset({name.upper()})) for name in NAMES] + [("n0", frozenset({"X"}))])


def linked(vectors: Vectors, *mentions: Mention) -> Result:
    return score_mentions(mentions, DICTIONARY, vectors)


@pytest.mark.parametrize(
    ("angle", "ids", "first", "fifth"),
    [
        (1, {"N0"}, 100, 100),
        (1, {"X"}, 100, 100),
        (1, {"N9", "N0"}, 100, 100),
        (1, {"N4"}, 0, 100),
        (1, {"N5"}, 0, 0),
        (59, {"N6"}, 100, 100),
    ],
)
def test_a_mention_is_right_by_any_of_its_ids(angle: float, ids: set[str], first: float, fifth: float) -> None:
    result = linked(on_circle({**NAMES, "m": angle}), Mention(("m",), frozenset(ids)))
    assert result.metrics == {"acc@1": first, "acc@5": fifth}
    assert result.predictions.predicted.tolist() == [first / 100]
    assert result.predictions.statistic == "mean"


def test_a_composite_mention_is_right_if_each_part_is() -> None:
    vectors = on_circle({**NAMES, "a": 1, "b": 31, "c": 58})
    ids = frozenset({"N0", "N3"})
    both = linked(vectors, Mention(("a", "b"), ids), Mention(("a", "c"), ids))
    assert both.metrics == {"acc@1": 50, "acc@5": 100}
    assert linked(vectors, Mention(("a", "c"), frozenset({"N0"}))).metrics["acc@5"] == 0


def test_the_mentions_that_are_not_in_the_dictionary_are_a_part() -> None:
    vectors = on_circle({**NAMES, "m": 14})
    mentions = [Mention((name,), frozenset({link})) for name, link in (("m", "N1"), ("n2", "N2"), ("m", "N4"))]
    result = linked(vectors, *mentions)
    assert result.metrics == {"acc@1": pytest.approx(200 / 3), "acc@5": 100}
    assert result.parts["not in the dictionary"] == {"acc@1": 50, "acc@5": 100}
    known = linked(vectors, Mention(("n2",), frozenset({"N2"})))
    assert known.parts["not in the dictionary"] == {"acc@1": None, "acc@5": None}


def write_biosyn(folder: Path, files: int = 100, mentions: int = 960) -> None:
    line = "1||0|1||Disease||cough||D1\n"
    found = {f"processed_test/{n}.concept": line * len(range(n, mentions, files)) for n in range(files)}
    write_files(folder, {**found, "test_dictionary.txt": "D1||cough\nD2|7||wheeze\n"})


def test_biosyns_files_are_read_where_they_are(tmp_path: Path) -> None:
    write_biosyn(tmp_path / "datasets" / "ncbi-disease")
    found, missing = parted(linking.find(str(tmp_path)))
    assert [item.name for item in found] == ["ncbi-disease"]
    assert found[0].size == 960
    assert found[0].note is None
    assert found[0].lines[-2:] == ["cough\tD1\n", "wheeze\t7|D2\n"]
    assert {item.name for item in missing} == {
        "bc5cdr-disease",
        "bc5cdr-chemical",
        "xl-bel",
        "askapatient",
        "cometa",
    }
    assert all(str(tmp_path) in item.reason and "https://" in item.where for item in missing)


@pytest.mark.parametrize(
    ("name", "files", "mentions", "message"),
    [
        ("ncbi-disease", 99, 960, r"99 files processed_test/\*.concept, expected 100"),
        ("ncbi-disease", 100, 959, "959 mentions, expected 960"),
        ("bc5cdr-disease", 500, 4299, "4299 mentions, expected 4424"),
        ("bc5cdr-chemical", 500, 5386, "5386 mentions, expected 5385"),
    ],
)
def test_a_wrong_count_names_both_numbers(
    tmp_path: Path, name: str, files: int, mentions: int, message: str
) -> None:
    write_biosyn(tmp_path / name, files, mentions)
    with pytest.raises(InputError, match=message):
        linking.find(str(tmp_path))


def write_own(folder: Path, mentions: str, dictionary: str = "P1||Oak\nP2||Lime\n") -> None:
    write_files(folder, {"dictionary.txt": dictionary, "mentions.txt": mentions})


MEDIC_LINES = "D1||Hearing Loss, Partial|Deafness\n" * 2


def write_corpus(folder: Path, test: int = 960) -> None:
    """Write NCBI-disease at its published size, with one mention repeated in each part."""
    parts = ("train", 5145, 1, "train word"), ("develop", 787, 1, "dev word"), ("test", test, 100, "HL")
    for name, size, documents, word in parts:
        texts = [f"{key}|t|Hearing loss (HL)\n{key}|a|x\n" for key in range(1, documents + 1)]
        notes = [f"{index % documents + 1}\t0\t2\t{word}\tSpecificDisease\tD1\n" for index in range(size)]
        write_files(folder, {f"NCBI{name}set_corpus.txt": "".join(texts + notes)})


def test_a_corpus_becomes_mentions_and_a_dictionary_with_the_mentions_of_train_and_dev(tmp_path: Path) -> None:
    write_corpus(tmp_path / "bel" / "ncbi-disease")
    write_files(tmp_path / "bel" / "dictionary", {"medic_06Jul2012.txt": MEDIC_LINES})
    convert("ncbi-disease", tmp_path, tmp_path / "converted")
    ((found,), missing) = parted(linking.find(str(tmp_path / "converted")))
    assert found.size == 960
    assert found.lines[0] == "\thearing loss\tD1\n"
    names = ["hearing loss partial", "deafness", "train word", "dev word", "hearing loss"]
    assert list(dict.fromkeys(found.texts)) == names
    assert "our rules" in found.note
    assert "ncbi-disease" not in {item.name for item in missing}


def test_a_corpus_without_a_dictionary_or_of_another_size_is_an_error(tmp_path: Path) -> None:
    write_corpus(tmp_path / "ncbi-disease", test=959)
    with pytest.raises(InputError, match=r"no medic_06Jul2012.txt below"):
        convert("ncbi-disease", tmp_path, tmp_path)
    (tmp_path / "medic_06Jul2012.txt").write_text(MEDIC_LINES)
    with pytest.raises(InputError, match=r"NCBItestset_corpus.txt: 959 annotations, expected 960"):
        convert("ncbi-disease", tmp_path, tmp_path)


def test_sapberts_files_are_read_where_they_are(tmp_path: Path) -> None:
    languages = ("all", "de", "en", "es", "fi", "ja", "ko", "ru", "th", "tr", "zh")
    fold = "linking/askapatient/AskAPatient.fold-{}.test.preprocessed_query.txt"
    write_files(
        tmp_path,
        {
            "cometa/splits/stratified_general/test.csv": "ID\tTerm\tGeneral SNOMED ID\n"
            + '0\t"Ach ""y"\t1\n' * 4350,
            "cometa/COMETA_id_sf_dictionary.txt": "1||Ache\n",
            "linking/askapatient/AskAPatient.dict.txt": "7||insomnia\n",
            **{fold.format(number): "7||no sleep\n" for number in range(10)},
            **{
                f"bel/xl-bel/{code}_1k_test_query.txt": "".join(f"C{i}|C0||{code}{i}\n" for i in range(1000))
                for code in languages
            },
        },
    )
    _, missing = parted(linking.find(str(tmp_path)))
    assert "umls_onto" in next(item for item in missing if item.name == "xl-bel").reason
    write_files(
        tmp_path / "bel/xl-bel", {"umls_onto_all_lang_cased_wikimed_only_399931.txt": "C0||zero\nC1||One\n"}
    )
    found, _ = parted(linking.find(str(tmp_path)))
    assert {item.name: item.size for item in found} == {"xl-bel": 10000, "askapatient": 10, "cometa": 4350}
    assert found[0].texts[:3] == ["zero", "one", "de0"]
    assert [item.lines[0] for item in found[1:]] == ["\tno sleep\t7\n", '\tach "y\t1\n']
    (tmp_path / "cometa" / "COMETA_id_sf_dictionary.txt").write_text("\n")
    with pytest.raises(InputError, match="4350 mentions and 0 names with ids of COMETA"):
        linking.find(str(tmp_path))


def test_names_and_mentions_of_the_user_are_a_set(tmp_path: Path) -> None:
    folder = tmp_path / "linking" / "plants"
    write_own(folder, "P3||Lime tree\n", "P1||Oak\nP2||Lime\nP3||lime\n")
    ((found,), _) = parted(linking.find(str(tmp_path)))
    assert (found.name, found.size, found.texts) == ("plants", 1, ["oak", "lime", "lime tree"])
    (folder / "mentions.txt").write_text("")
    with pytest.raises(InputError, match="0 mentions and 2 names"):
        linking.find(str(tmp_path))
    (folder / "mentions.txt").unlink()
    reason = f"no plants/ with dictionary.txt and mentions.txt below {tmp_path / 'linking'}"
    assert reason in [item.reason for item in parted(linking.find(str(tmp_path)))[1]]


@pytest.mark.exhaustive
def test_the_real_corpora_have_the_published_counts(research_data: Path, tmp_path: Path) -> None:
    for name in linking_files.CORPORA:
        convert(name, research_data, tmp_path)
    found, missing = parted(linking.find(str(tmp_path)))
    sizes = {item.name: (item.size, len(item.lines) - item.size) for item in found}
    assert sizes["ncbi-disease"] == (960, 73026)
    assert sizes["bc5cdr-disease"][0] == 4424 - 61
    assert {item.name for item in missing} == {"bc5cdr-chemical", "xl-bel", "askapatient", "cometa"}


DISEASES = {"SpecificDisease", "CompositeMention"}


@pytest.mark.parametrize(
    ("field", "ids"),
    [
        ("D001943", {"D001943"}),
        ("C567755|613097", {"C567755", "613097"}),
        ("D009794+D007592", {"D009794", "D007592"}),
        ("OMIM:215600|MESH:D001943", {"215600", "D001943"}),
        ("-1", set()),
        ("CUI-less", set()),
    ],
)
def test_ids_are_split_and_lose_their_prefixes(field: str, ids: set[str]) -> None:
    assert linking.concepts(field) == ids


def test_medic_lines_give_every_synonym_all_ids(tmp_path: Path) -> None:
    path = tmp_path / "medic.txt.gz"
    path.write_bytes(gzip.compress(b"C567755|613097||Tooth Agenesis, Selective, 6|STHAG6\n\n"))
    ids = frozenset({"C567755", "613097"})
    assert list(read_names(path)) == [("tooth agenesis, selective, 6", ids), ("sthag6", ids)]
    assert bare("Tooth Agenesis, Selective, 6") == "tooth agenesis selective 6"


@pytest.mark.parametrize("line", ["D1|name", "||name", "D1||", "D1||a||b"])
def test_a_malformed_line_of_names_is_one_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "bad.txt").write_text(f"D0||good\n{line}\n")
    with pytest.raises(InputError, match=r"line 2: expected id\|\|name, got"):
        list(read_names(tmp_path / "bad.txt"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Mutations cause Wilson disease (WD) in man.", {"WD": "Wilson disease"}),
        (
            "familial adenomatous polyposis (FAP) and ataxia-telangiectasia (A-T)",
            {"FAP": "familial adenomatous polyposis", "A-T": "ataxia-telangiectasia"},
        ),
        ("the heat shock protein (HSP; 70 kDa)", {"HSP": "heat shock protein"}),
        ("It was seen. Adults (WD) and more (see below)", {}),
        ("doxorubicin was given (P < 0.05)", {}),
        ("the ALD adrenoleukodystrophy ALD (ALD)", {}),
    ],
)
def test_short_forms_in_brackets_are_found_with_their_long_forms(text: str, found: dict[str, str]) -> None:
    assert linking_files.abbreviations(text) == found


def test_abbreviations_composites_spelling_and_case_are_resolved() -> None:
    annotations = [
        Annotation("WD", "SpecificDisease", "D006527"),
        Annotation("breast, colon and ovarian cancer", "CompositeMention", "D1|D2|D3"),
        Annotation("breast and ovarian cancer", "CompositeMention", "D1|D2|D3"),
        Annotation(
            "visual or auditory toxicity", "SpecificDisease", "D1|D2", "Visual toxicity|auditory toxicity"
        ),
        Annotation("Tumour-like leukaemia", "SpecificDisease", "D4"),
        Annotation("cough", "SpecificDisease", "-1"),
        Annotation("aspirin", "Chemical", "D5"),
        Annotation("X-linked disease", "SpecificDisease", "D6+D7"),
    ]
    read = linking_files.resolved("Wilson disease (WD)", annotations, DISEASES, {"leukaemia": "leukemia"})
    assert [mention.parts for mention in read] == [
        ("wilson disease",),
        ("breast cancer", "colon cancer", "ovarian cancer"),
        ("breast and ovarian cancer",),
        ("visual toxicity", "auditory toxicity"),
        ("tumour like leukemia",),
        ("x linked disease",),
    ]
    assert read[1].ids == {"D1", "D2", "D3"}
    assert read[-1].ids == {"D6", "D7"}


def test_pubtator_files_give_texts_annotations_and_no_relations(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_text(
        "1|t|Title |t| here\n1|a|Abstract.\n1\t0\t5\tTitle\tDisease\tD1\n1\t0\t5\tTi|tle\tDisease\tD1|D2\ta|b\n"
        "1\tCID\tD1\tD2\n\n2|t|Second\n2|a|\n"
    )
    first, second = read_pubtator(path)
    annotations = [Annotation("Title", "Disease", "D1"), Annotation("Ti|tle", "Disease", "D1|D2", "a|b")]
    assert first == ("Title |t| here Abstract.", annotations)
    assert second == ("Second ", [])
    path.write_text("1|t|x\nwhat is this\n")
    with pytest.raises(InputError, match="line 2: expected PubTator's format"):
        read_pubtator(path)


def test_concept_files_split_composite_mentions_and_leave_out_those_without_a_concept(tmp_path: Path) -> None:
    path = tmp_path / "1.concept"
    path.write_text(
        "1||0|1||CompositeMention||breast cancer|Colon cancer||D1|D2\n\n2||0|1||Disease||cough||-1\n"
    )
    assert list(linking.read_concepts(path)) == [
        Mention(("breast cancer", "colon cancer"), frozenset({"D1", "D2"}))
    ]
    path.write_text("a||b\n")
    with pytest.raises(InputError, match=r"1\.concept line 1: expected pmid"):
        list(linking.read_concepts(path))
