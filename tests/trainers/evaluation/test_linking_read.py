"""Names, ids, abbreviations and mentions as the distributions write them."""

import gzip
from pathlib import Path

import pytest

from pipelines.console import InputError
from trainers.evaluation.concepts import (
    Annotation,
    Mention,
    abbreviations,
    bare,
    concepts,
    joined,
    read_cometa,
    read_concepts,
    read_names,
    read_pubtator,
    read_queries,
    resolved,
)

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
def test_ids_are_parted_and_freed_of_their_prefixes(field: str, ids: set[str]) -> None:
    assert concepts(field) == ids


def test_a_dictionary_joins_the_ids_of_one_name_in_the_place_of_the_first() -> None:
    entries = [(name, frozenset(ids)) for name, ids in (("b", "1"), ("a", "2"), ("b", "3"), ("", "4"), ("c", ""))]
    assert list(joined(entries).items()) == [("b", frozenset("13")), ("a", frozenset("2"))]


def test_medic_lines_give_every_synonym_all_ids(tmp_path: Path) -> None:
    path = tmp_path / "medic.txt.gz"
    path.write_bytes(gzip.compress(b"C567755|613097||Tooth Agenesis, Selective, 6|STHAG6\n\n"))
    assert list(read_names(path, bare)) == [
        ("tooth agenesis selective 6", frozenset({"C567755", "613097"})),
        ("sthag6", frozenset({"C567755", "613097"})),
    ]


@pytest.mark.parametrize("line", ["D1|name", "||name", "D1||", "D1||a||b"])
def test_a_name_without_an_id_or_the_like_is_one_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "bad.txt").write_text(f"D0||good\n{line}\n")
    with pytest.raises(InputError, match=r"line 2: expected id\|\|name, got"):
        list(read_names(tmp_path / "bad.txt", bare))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Mutations cause Wilson disease (WD) in man.", {"WD": "Wilson disease"}),
        ("familial adenomatous polyposis (FAP) and ataxia-telangiectasia (A-T)",
         {"FAP": "familial adenomatous polyposis", "A-T": "ataxia-telangiectasia"}),
        ("the heat shock protein (HSP; 70 kDa)", {"HSP": "heat shock protein"}),
        ("It was seen. Adults (WD) and more (see below)", {}),
        ("doxorubicin was given (P < 0.05)", {}),
        ("the ALD adrenoleukodystrophy ALD (ALD)", {}),
    ],
)  # fmt: skip
def test_short_forms_in_brackets_are_found_with_their_long_forms(text: str, found: dict[str, str]) -> None:
    assert abbreviations(text) == found


def test_abbreviations_composites_spelling_and_case_are_resolved() -> None:
    annotations = [
        Annotation("WD", "SpecificDisease", "D006527"),
        Annotation("breast, colon and ovarian cancer", "CompositeMention", "D1|D2|D3"),
        Annotation("breast and ovarian cancer", "CompositeMention", "D1|D2|D3"),
        Annotation("visual or auditory toxicity", "SpecificDisease", "D1|D2", "Visual toxicity|auditory toxicity"),
        Annotation("Tumour-like leukaemia", "SpecificDisease", "D4"),
        Annotation("cough", "SpecificDisease", "-1"),
        Annotation("aspirin", "Chemical", "D5"),
        Annotation("X-linked disease", "SpecificDisease", "D6+D7"),
    ]
    read = resolved("Wilson disease (WD)", annotations, DISEASES, {"leukaemia": "leukemia"})
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


def test_concept_files_part_composite_mentions_and_leave_out_those_without_a_concept(tmp_path: Path) -> None:
    path = tmp_path / "1.concept"
    path.write_text("1||0|1||CompositeMention||breast cancer|Colon cancer||D1|D2\n\n2||0|1||Disease||cough||-1\n")
    assert list(read_concepts(path)) == [Mention(("breast cancer", "colon cancer"), frozenset({"D1", "D2"}))]
    path.write_text("a||b\n")
    with pytest.raises(InputError, match=r"1\.concept line 1: expected pmid"):
        list(read_concepts(path))


def test_query_lists_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    path.write_text("C1|C2||Magnezyum|(Mg2+)\n", encoding="utf-8")
    assert list(read_queries(path)) == [Mention(("magnezyum|(mg2+)",), frozenset({"C1", "C2"}))]
    path.write_text('ID\tTerm\tGeneral SNOMED ID\n0\t"Sore ""throat"\t123\n')
    assert list(read_cometa(path)) == [Mention(('sore "throat',), frozenset({"123"}))]
