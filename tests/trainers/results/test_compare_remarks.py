"""What `train compare` says beside its tables: of copies, protocols, seeds without a figure, and encoders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_items import NAMES, WriteRun, cells, compare, figures, lines, write_study

from trainers.results.papers import published_sizes

OWN = "mentions by our rules"


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_a_note_on_every_set_of_all_runs_is_said_once(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    noted = {name: {"note": "tokenised text"} for name in NAMES}
    runs = [write_run(name, figures(), sets=noted) for name in ("one", "two")]
    assert compare(*runs, "--with", "mirror") == 0
    assert [line for line in said(capsys) if "tokenised" in line] == ["ours, every set: tokenised text"]


def test_a_note_names_the_sets_and_the_runs_that_it_is_of(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    one = write_run("one", figures(), sets={"sts12": {"note": f"{OWN}; raw"}, "stsb": {"note": OWN}})
    two = write_run("two", figures(), sets={"sts12": {"note": "raw"}})
    assert compare(one, two, "--with", "none") == 0
    assert said(capsys) == [f"one, STS12, STSB: {OWN}", "ours, STS12: raw"]


def test_figures_of_another_task_than_the_papers_are_marked_and_so_is_their_average(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"bli-{pair}" for pair in ("en-fr", "en-it", "en-ru", "en-tr", "it-fr", "ru-fr")]
    noted = {name: {"note": "* few candidates", "size": published_sizes()[name]} for name in names}
    run = write_run("mine", {name: {"acc@1": 7.0} for name in names}, suite="bli", sets=noted)
    assert compare(run, "--with", "mirror") == 0
    shown = capsys.readouterr()
    (ours,) = lines(shown.out, "mine")
    assert cells(ours)[1:-1] == ["7.00*"] * 7
    assert shown.err.splitlines() == ["* ours, every set: few candidates"]


def test_the_start_that_names_of_sets_share_stands_once(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = {
        name: {"title": f"STS-B {name}", "note": "translated" if name != "en" else None} for name in ("en", "de", "fr")
    }
    run = write_run("mine", {name: {"all": 1.0} for name in sets}, suite="sts-multilingual", sets=sets)
    assert compare(run, "--with", "none") == 0
    assert said(capsys) == ["ours, STS-B de, fr: translated"]


def test_notes_on_sets_that_no_paper_prints_stand_below_their_table(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run("mine", {**figures(), "new": {"all": 77.0}}, sets={"new": {"note": "graded twice"}})
    assert compare(run, "--with", "mirror", "--json") == 0
    printed, rest = json.loads(capsys.readouterr().out)["suites"][0]["tables"]
    assert "graded twice" not in " ".join(printed["notes"])
    assert rest["notes"] == ["ours, NEW: graded twice"]


def test_other_copies_of_a_set_are_said(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [
        write_run(name, figures(), sets={each: {"sha256": copy} for each in ("sts12", "sickr")})
        for name, copy in (("one", "a"), ("two", "b"), ("three", "a"))
    ]
    assert compare(*runs, "--with", "none") == 0
    assert said(capsys) == ["STS12, SICKR: not the same items in one, three and in two: figures of different copies"]


def test_a_set_of_another_size_than_published_is_marked_in_any_suite(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"bc5cdr-disease": 4363, "ncbi-disease": 960, "xl-bel": 10000}
    run = write_run(
        "mine",
        {name: {"acc@1": 50.0, "acc@5": 60.0} for name in names},
        suite="linking",
        sets={name: {"size": size} for name, size in names.items()},
    )
    assert compare(run, "--with", "mirror") == 0
    shown = capsys.readouterr()
    (row, _) = lines(shown.out, "mine")
    assert cells(row) == ["mine", "50.00", "60.00", "50.00*", "60.00*", "ours, 2026-11-21"]
    assert [line for line in shown.err.splitlines() if "another test" in line] == [
        "* mine, BC5CDR-DISEASE: 4,363 items, the papers score 4,424: another test"
    ]


def test_a_short_topic_leaves_no_average(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    topics = ("afs-gun-control", "afs-gay-marriage", "afs-death-penalty")
    run = write_run("mine", {name: {"all": 50.0, "pearson": 40.0} for name in topics}, suite="afs",
                    sets={topics[0]: {"size": 30}})  # fmt: skip
    assert compare(run, "--with", "bsl", "--json") == 0
    tables = json.loads(capsys.readouterr().out)["suites"][0]["tables"]
    assert not any(key.startswith("average") for row in tables[0]["rows"] if row["ours"] for key in row["figures"])
    assert "* mine, AFS-GUN-CONTROL: 30 items, the papers score 2,000: another test" in tables[0]["notes"]


def test_seeds_without_a_figure_or_without_results_are_said(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed, value in ((1, 70.0), (2, 72.0), (3, None)):
        write_run(f"study/seed-{seed}", {"stsb": {"all": value}, "sickr": {"all": 50.0}})
    write_study(tmp_path / "study", ({}, {f"seed-{n}": "memory" if n == 4 else None for n in range(1, 6)}))
    assert compare("study", "--with", "mirror") == 0
    shown = capsys.readouterr()
    (row,) = lines(shown.out, "study")
    assert cells(row)[1:] == ["71.00 +- 1.41*", "50.00 +- 0.00", "ours, 2026-11-21, 3 of 5 seeds"]
    assert "study: seed 4 failed, seed 5 not evaluated" in shown.err.splitlines()
    assert "* study, STS-B: 2 of 5 seeds have this figure" in shown.err.splitlines()


def test_one_seed_that_is_left_is_no_single_run(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed, value in ((1, 70.0), (2, None)):
        write_run(f"study/seed-{seed}", {"stsb": {"all": value}})
    write_study(tmp_path / "study", ({}, {"seed-1": None, "seed-2": None}))
    assert compare("study", "--with", "mirror", "--json") == 0
    (table,) = json.loads(capsys.readouterr().out)["suites"][0]["tables"]
    assert table["rows"][0]["source"] == "ours, 2026-11-21, 1 of 2 seeds"
    assert table["rows"][0]["fewer_seeds"] == {"stsb": 1}
    assert "* study, STS-B: 1 of 2 seeds have this figure" in table["notes"]


def test_a_setting_without_any_result_is_said_beside_the_others(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run("study/lr-1/seed-1", figures())
    errors = {"1": None, "9": "loss is not finite"}
    write_study(tmp_path / "study", *(({"lr": lr}, {f"study/lr-{lr}/seed-1": error}) for lr, error in errors.items()))
    assert compare("study", "--with", "none") == 0
    shown = capsys.readouterr()
    assert len(lines(shown.out, "study")) == 1
    assert shown.err.splitlines() == ["study lr=9: seed 1 failed"]


def test_suites_of_other_encoders_in_one_folder_are_said_once(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run("mine", figures(), model={"name": "elsewhere/mine"})
    write_run("mine", {"stsb-train": {"isotropy": 0.5}}, suite="geometry")
    assert compare(run, "--with", "none") == 0
    # The same weights by another name are the same encoder.
    assert said(capsys) == []
    changed = {"weights": {"model.safetensors": "1" * 64}, "pooling": "cls"}
    write_run("mine", {"qnli": {"auc": 60.0}}, suite="qnli", model=changed, precision="bf16")
    assert compare(run, "--with", "none", "--out", "page.md") == 0
    expected = (
        "mine: its suites are not of one encoder: weights 00000000 (sts, geometry), 11111111 (qnli); "
        "pooling mean (sts, geometry), cls (qnli); precision fp32 (sts, geometry), bf16 (qnli)"
    )
    assert [line for line in said(capsys) if "encoder" in line] == [expected]
    assert Path("page.md").read_text().count(f"- {expected}\n") == 1
    assert compare(run, "--with", "none", "--suite", "sts", "--suite", "geometry", "--json") == 0
    assert json.loads(capsys.readouterr().out)["notes"] == []


def test_a_note_on_several_printed_rows_stands_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("--suite", "sts", "--with", "mirror,bsl,isbert") == 0
    notes = said(capsys)
    (padded,) = [line for line in notes if "with the padding" in line]
    assert padded.startswith("Mirror-BERT Table 3, BERT-mp, BERT + Mirror, BERT + Mirror (drophead), RoBERTa-mp: ")
    (misprint,) = [line for line in notes if "74.89" in line]
    assert misprint.startswith("BSL Table 1, SBERT; IS-BERT Table 1, SBERT-NLI: ")
