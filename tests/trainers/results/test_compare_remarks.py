"""What `train compare` says beside its tables: of tasks, sizes, copies, protocols, leakage, and the signature."""

from pathlib import Path
from typing import Any

import pytest
from made_items import NAMES, cells, compare, figures, lines, tables, write_run, write_study

from trainers.results.comparison import read_published

Capsys = pytest.CaptureFixture[str]


def said(capsys: Capsys) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_a_note_names_its_sets_once(capsys: Capsys) -> None:
    noted = {name: {"note": "tokenised text" if name == "stsb" else "raw; whole"} for name in NAMES[-2:]}
    runs = [write_run(name, figures(), sets=noted) for name in ("one", "two")]
    assert compare(*runs, "--with", "none") == 0
    assert said(capsys) == ["ours, STSB: tokenised text", "ours, SICKR: raw; whole"]


def test_figures_of_another_task_are_marked(capsys: Capsys) -> None:
    names = [f"bli-{pair}" for pair in ("en-fr", "en-it", "en-ru", "en-tr", "it-fr", "ru-fr")]
    noted = {name: {"note": "* few candidates", "size": read_published("sizes")[name]} for name in names}
    run = write_run("mine", {name: {"acc@1": 7.0} for name in names}, suite="bli", sets=noted)
    assert compare(run, "--with", "mirror") == 0
    shown = capsys.readouterr()
    (ours,) = lines(shown.out, "mine")
    assert cells(ours)[1:-1] == ["7.00*"] * 7
    assert shown.err.splitlines() == ["* ours, every set: few candidates"]


def test_other_copies_of_a_set_are_said(capsys: Capsys) -> None:
    runs = [
        write_run(name, figures(), sets={each: {"sha256": copy} for each in ("sts12", "sickr")})
        for name, copy in (("one", "a"), ("two", "b"), ("three", "a"))
    ]
    assert compare(*runs, "--with", "none") == 0
    assert said(capsys) == ["STS12, SICKR: figures of different copies, by their checksums"]


def test_a_set_of_another_size_than_published_is_marked_in_any_suite(capsys: Capsys) -> None:
    sizes = {"bc5cdr-disease": 4363, "ncbi-disease": 960, "xl-bel": 10000}
    each = {name: {"acc@1": 50.0, "acc@5": 60.0} for name in sizes}
    run = write_run("mine", each, suite="linking", sets={name: {"size": size} for name, size in sizes.items()})
    assert compare(run, "--with", "mirror") == 0
    shown = capsys.readouterr()
    (row, _) = lines(shown.out, "mine")
    assert cells(row) == ["mine", "50.00", "60.00", "50.00*", "60.00*", "ours, 2026-11-21"]
    assert [line for line in shown.err.splitlines() if "another test" in line] == [
        "* ours, BC5CDR-DISEASE: 4,363 items, the papers score 4,424: another test"
    ]


def test_texts_seen_in_training_are_said(capsys: Capsys) -> None:
    seen = {
        "stsb": {"seen_in_training": {"texts": 267, "of": 2550}},
        "sickr": {"seen_in_training": {"texts": 0, "of": 9}},
    }
    runs = [write_run(name, figures(), sets=seen) for name in ("one", "two")]
    assert compare(*runs, "--with", "none") == 0
    assert said(capsys) == ["one, two: trained on texts of these sets: STSB 267 of 2,550"]


def test_a_note_on_several_printed_rows_stands_once(capsys: Capsys) -> None:
    assert compare("--suite", "sts", "--with", "mirror,bsl,isbert") == 0
    notes = said(capsys)
    (padded,) = [line for line in notes if "with the padding" in line]
    assert padded.startswith("Mirror-BERT Table 3, BERT-mp, BERT + Mirror, BERT + Mirror (drophead), RoBERTa-mp: ")
    (misprint,) = [line for line in notes if "74.89" in line]
    assert misprint.startswith("BSL Table 1, SBERT; IS-BERT Table 1, SBERT-NLI: ")


def signatures(run: Path, capsys: Capsys) -> list[str]:
    assert compare(run, "--with", "mirror", "--json", "--signature") == 0
    return [line.partition(": ")[2] for line in tables(capsys.readouterr().out)[0]["notes"] if "|sets:" in line]


def test_it_is_printed_once_a_row_where_it_is_asked_for(capsys: Capsys) -> None:
    run = write_run("mine", {"stsb": {"all": 70.0}})
    assert compare(run, "--with", "mirror") == 0
    assert "weights:" not in capsys.readouterr().err
    assert compare(run, "--with", "mirror", "--signature") == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "weights:" in line]
    assert line == "mine: sts|sets:stsb|metric:all|pooling:mean|precision:fp32|items:stsb|weights:000000000000"


@pytest.mark.parametrize(
    "changed",
    [
        {"model": {"weights": {"model.safetensors": "1" * 64}}},
        {"model": {"pooling": "cls"}},
        {"model": {"max_tokens": 64}},
        {"precision": "bf16"},
        {"sets": {"sts13": {"sha256": "other"}}},
    ],
)
def test_whatever_decides_a_score_is_in_it(changed: dict[str, Any], capsys: Capsys) -> None:
    (before,) = signatures(write_run("mine", figures()), capsys)
    (after,) = signatures(write_run("mine", figures(), **changed), capsys)
    assert before != after


def test_seeds_share_one_with_what_differs_joined(tmp_path: Path, capsys: Capsys) -> None:
    for seed in (1, 2):
        write_run(
            f"study/seed-{seed}", {"stsb": {"all": 70.0}}, model={"weights": {"model.safetensors": f"{seed}" * 64}}
        )
    write_study(tmp_path / "study", ({}, {"seed-1": None, "seed-2": None}))
    (line,) = signatures(Path("study"), capsys)
    assert line.endswith("weights:111111111111+222222222222|runs:2")
