"""`train compare` on results written by hand: what stands beside what, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_items import NAMES, WriteRun, cells, compare, figures, figures_of, lines, similar, write_study

from pipelines.console import call
from trainers.cli import app


def test_our_row_stands_above_the_papers_rows_with_their_sources(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run("mine", figures())
    assert compare(run, "--with", "mirror") == 0
    shown = capsys.readouterr().out
    (ours,) = lines(shown, "mine")
    assert cells(ours) == [
        "mine", "60.00", "61.00", "62.00", "63.00", "64.00", "65.00", "66.00", "63.00", "ours, 2026-11-21",
    ]  # fmt: skip
    (theirs,) = lines(shown, "BERT + Mirror  ")
    assert cells(theirs)[1:] == ["67.0", "80.1", "71.3", "81.2", "74.3", "76.4", "69.9", "74.3", "Mirror-BERT Table 3"]
    assert shown.index("mine") < shown.index("SBERT*")


def test_our_row_stands_under_every_aggregation_of_the_papers(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run("mine", figures())
    assert compare(run, "--with", "bsl") == 0
    shown = capsys.readouterr()
    ours = [cells(line) for line in lines(shown.out, "mine")]
    assert [line[:3] for line in ours] == [["mine", "all", "60.00"], ["mine", "weighted", "80.00"]]
    (flow,) = lines(shown.out, "BERT-flow  ")
    assert cells(flow)[1] == "weighted"
    assert "subsets are joined in different ways (all, weighted)" in shown.err


def test_an_aggregation_that_a_copy_does_not_allow_is_an_empty_cell(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = {**figures(), "sts12": {"all": 60.0, "pearson": 1.0}}
    run = write_run("mine", whole)
    assert compare(run, "--with", "bsl", "--json") == 0
    _, weighted = (row for row in json.loads(capsys.readouterr().out)["suites"][0]["tables"][0]["rows"] if row["ours"])
    assert "sts12" not in weighted["figures"]
    assert weighted["figures"]["sts13"] == 81
    assert not [name for name in weighted["figures"] if name.startswith("average")]


def test_a_row_that_two_papers_print_comes_once_with_both_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("--suite", "sts") == 0
    shown = capsys.readouterr().out
    (row,) = [line for line in shown.splitlines() if " 56.77 " in line]
    assert "BSL Table 1, IS-BERT Table 1" in row
    assert "from" not in row
    (glove,) = [line for line in shown.splitlines() if " 70.66 " in line]
    assert glove.rstrip().endswith("BSL Table 1, IS-BERT Table 1 (from Reimers and Gurevych 2019)")
    assert len([line for line in shown.splitlines() if line.startswith("Unigram-TFIDF")]) == 1


def test_ablations_come_when_all_tables_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("--suite", "sts", "--with", "bsl") == 0
    assert "momentum" not in capsys.readouterr().out
    assert compare("--suite", "sts", "--with", "bsl", "--all-tables") == 0
    (row,) = lines(capsys.readouterr().out, "BSL, momentum 0.999")
    assert cells(row) == ["BSL, momentum 0.999", "all", "73.74", "BSL Table 6"]


def test_seeds_of_a_study_are_mean_and_deviation(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed, shift in ((1, 0.0), (2, 1.0), (3, 2.0)):
        write_run(f"study/lr-2e-05/seed-{seed}", figures(shift))
    write_run("study/untrained=starter-mean", figures(-30))
    runs = {f"elsewhere/study/lr-2e-05/seed-{seed}": "memory" if seed == 4 else None for seed in (1, 2, 3, 4)}
    write_study(tmp_path / "study", ({"lr": "2e-05"}, runs))
    assert compare("study", "--with", "mirror") == 0
    shown = capsys.readouterr().out
    (row,) = lines(shown, "study lr=2e-05")
    assert cells(row)[1] == "61.00 +- 1.00"
    assert cells(row)[-2:] == ["64.00 +- 1.00", "ours, 2026-11-21, 3 of 4 seeds"]
    (start,) = lines(shown, "study/untrained=starter-mean")
    assert cells(start)[1] == "30.00"


def test_what_all_seeds_have_to_say_is_said_once(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in (1, 2):
        write_run(f"study/seed-{seed}", {"stsb": {"all": 50.0 + seed}})
    write_study(tmp_path / "study", ({}, {"study/seed-1": None, "study/seed-2": None}))
    assert compare("study", "--with", "mirror") == 0
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("study: ")]
    assert said == ["study: no average without sts12, sts13, sts14, sts15, sts16, sickr"]


def test_missing_sets_are_empty_and_leave_no_average(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run("mine", {name: each for name, each in figures().items() if name != "sts13"})
    assert compare(run, "--with", "mirror", "--json") == 0
    (table,) = json.loads(capsys.readouterr().out)["suites"][0]["tables"]
    found = table["rows"][0]["figures"]
    assert "sts13" not in found
    assert [name for name in found if name.startswith("average")] == []
    assert table["notes"][-1] == "mine: no average without sts13"


def test_a_set_of_another_size_is_marked_and_not_averaged(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run("mine", figures(), sets={"sickr": {"size": 9927}})
    assert compare(run, "--with", "mirror") == 0
    shown = capsys.readouterr()
    (row,) = lines(shown.out, "mine")
    assert cells(row) == ["mine", "60.00", "61.00", "62.00", "63.00", "64.00", "65.00", "66.00*", "ours, 2026-11-21"]
    assert "* mine, SICKR: 9,927 items, the papers score 4,927: another test" in shown.err


def test_texts_seen_in_training_are_said(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run("mine", figures(), sets={"stsb": {"seen_in_training": {"texts": 267, "of": 2550}}})
    assert compare(run, "--with", "mirror") == 0
    assert "mine: texts of these sets stand in its training data: STSB 267 of 2,550" in capsys.readouterr().err


def test_other_figures_have_columns_of_their_own(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("afs-gun-control", "afs-gay-marriage", "afs-death-penalty")
    run = write_run("mine", {name: {"all": 50.0 + i, "pearson": 40.0 + i} for i, name in enumerate(names)}, suite="afs")
    assert compare(run, "--with", "bsl,isbert") == 0
    shown = capsys.readouterr().out
    ours, topics = lines(shown, "mine  ")
    assert cells(ours) == ["mine", "41.00", "51.00", "ours, 2026-11-21"]
    assert cells(topics) == ["mine", "50.00", "51.00", "52.00", "ours, 2026-11-21"]
    (theirs,) = lines(shown, "IS-BERT ")
    assert cells(theirs) == ["IS-BERT", "49.14", "45.25", "BSL Table 10, IS-BERT Table 2"]
    (glove,) = lines(shown, "GloVe avg. ")
    assert cells(glove)[-1] == "BSL Table 10, IS-BERT Table 2 (from Reimers and Gurevych 2019; Reimers et al. 2019)"


def test_a_row_of_a_paper_that_is_not_listed_is_said_to_be_from_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("--suite", "afs", "--with", "bsl") == 0
    (theirs,) = lines(capsys.readouterr().out, "GloVe avg. ")
    assert cells(theirs)[-1] == "BSL Table 10 (from Zhang et al. 2020)"


def test_what_is_no_rate_has_three_decimals(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run("mine", {"stsb-train": {"isotropy": 0.26549, "mean-norm": 5.57}}, suite="geometry")
    assert compare(run, "--with", "mirror") == 0
    (ours,) = lines(capsys.readouterr().out, "mine")
    assert cells(ours) == ["mine", "5.570", "0.265", "ours, 2026-11-21"]


def test_tables_without_a_column_in_common_stand_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("--suite", "sts", "--all-tables", "--json") == 0
    test, development = json.loads(capsys.readouterr().out)["suites"][0]["tables"]
    assert test["title"] == "sts, Unsupervised methods"
    assert list(development["columns"]) == ["stsb-dev"]
    assert {row["source"] for row in development["rows"]} == {"BSL Table 9"}
    assert "BSL Table 9" not in {row["source"] for row in test["rows"]}


def test_tables_with_columns_in_common_are_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("--suite", "sts-multilingual", "--json") == 0
    (table,) = json.loads(capsys.readouterr().out)["suites"][0]["tables"]
    assert len(table["columns"]) == 10
    assert compare("--suite", "geometry", "--all-tables", "--json") == 0
    (table,) = json.loads(capsys.readouterr().out)["suites"][0]["tables"]
    assert {row["source"] for row in table["rows"]} == {"Mirror-BERT Table 9", "Mirror-BERT Table 14"}


def test_sets_that_no_paper_prints_stand_in_a_table_of_their_own(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run("mine", {**figures(), "new": {"auc": 77.0}})
    assert compare(run, "--with", "mirror", "--json") == 0
    _, rest = json.loads(capsys.readouterr().out)["suites"][0]["tables"]
    assert rest["title"] == "sts, sets without a printed row"
    assert rest["rows"][0]["figures"] == {"new/auc": 77.0}


def test_runs_can_stand_beside_each_other_alone(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(write_run("one", figures()), write_run("two", figures(1)), "--with", "none") == 0
    shown = capsys.readouterr().out
    assert [cells(line)[-2] for line in lines(shown, "one") + lines(shown, "two")] == ["63.00", "64.00"]
    assert "Table" not in shown


@pytest.mark.parametrize("named", ["mine", "mine/evaluation", "mine/evaluation/sts.json"])
def test_a_run_is_named_by_its_directory_its_results_or_their_file(
    named: str, write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run("mine", figures())
    assert compare(named, "--with", "none") == 0
    assert "63.00" in capsys.readouterr().out


def test_a_model_that_was_only_pooled_otherwise_has_a_row_for_each_pooling(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    for way in ("cls", "mean"):
        write_run(way, figures())
        Path("model", "evaluation").mkdir(parents=True, exist_ok=True)
        Path(way, "evaluation").rename(Path("model", "evaluation", way))
    assert compare("model", "--with", "none") == 0
    assert [cells(line)[0] for line in lines(capsys.readouterr().out, "model/")] == [
        "model/evaluation/cls", "model/evaluation/mean",
    ]  # fmt: skip
    write_run("model", figures())
    assert compare("model", "--with", "none") == 0
    assert [cells(line)[0] for line in lines(capsys.readouterr().out, "model")] == ["model", "model"]


def test_the_page_holds_what_the_screen_shows(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    items = {name: similar(index, 2.0) for index, name in enumerate(NAMES[:2])}
    each = {name: {**found, "weighted": None} for name, found in figures_of(items).items()}
    run = write_run("mine", each, items=items)
    assert compare(run, run, "--with", "bsl", "--intervals", "--test", "--resamples", 100, "--out", "page.md") == 0
    shown, page = capsys.readouterr().out, Path("page.md").read_text()
    assert f"| mine | all | {each['sts12']['all']:.2f} |" in page
    assert page.count("\n## ") == 3
    assert "| --: |" not in page
    assert "|---|---|--:|" in page
    for line in shown.splitlines():
        for cell in line.split("  "):
            assert cell.strip() in page or set(cell.strip()) == {"─"}
    assert "BSL Table 1, SBERT: The printed average is 74.89" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone"], "no run at 'gone'"),
        (["empty"], "no results in 'empty': run `train evaluate empty` first"),
        (["old"], "is damaged, or of another version of Twinviews: run `train evaluate` again"),
        (["broken.json"], "cannot be read as JSON"),
        (["mine", "--with", "nobody"], "no paper 'nobody', there are bsl, mirror, isbert, "),
        (["mine", "--suite", "qnli"], "--suite qnli: these runs have sts"),
        (["--suite", "nothing"], "--suite nothing: these papers have sts, transfer"),
        (["--with", "none"], "nothing to compare"),
        (["mine", "--test"], "a test takes two runs with results of one suite: name two"),
        (["mine", "mine", "--test"], "nothing to test: no run here has <suite>.items.npz beside its results"),
        (["mine", "--test", "--resamples", "100001"], "Invalid value for '--resamples'"),
        (["mine", "--intervals"], "no single run here has <suite>.items.npz"),
        (["mine", "--out", "gone/page.md"], "cannot write 'gone/page.md'"),
        (["twice"], "twice/evaluation/a.json and twice/evaluation/sts.json are both results of sts: name one"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], said: str, write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run("mine", figures())
    write_run("twice", figures())
    copied = tmp_path / "twice" / "evaluation" / "sts.json"
    copied.with_name("a.json").write_text(copied.read_text())
    (tmp_path / "empty").mkdir()
    (tmp_path / "old" / "evaluation").mkdir(parents=True)
    (tmp_path / "old" / "evaluation" / "sts.json").write_text(
        json.dumps({"suite": "sts", "sets": {"sts12": {"title": "STS12", "pairs": 3108, "all": {"spearman": 50.0}}}})
    )
    (tmp_path / "broken.json").write_text("{")
    assert compare(*arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


def test_two_evaluations_of_the_program_itself_can_be_compared(
    tiny_models: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for number, model in enumerate(tiny_models):
        assert call(app, ["evaluate", str(model), "--suite", "sample", "--out", f"run{number}"]) == 0
    capsys.readouterr()
    assert compare("run0", "run1", "--intervals", "--test", "--resamples", 200, "--json") == 0
    (suite,) = json.loads(capsys.readouterr().out)["suites"]
    (table,) = suite["tables"]
    printed = json.loads(Path("run1/sample.json").read_text())["sets"]["sample"]["figures"]["all"]
    assert [row["model"] for row in table["rows"]] == ["run0", "run1"]
    assert table["rows"][1]["figures"]["sample"] == printed
    assert suite["intervals"][1]["interval"]["value"] == pytest.approx(printed)
    assert suite["tests"][0]["items"] == 300
