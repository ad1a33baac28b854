"""How `train compare` names runs and columns, and which folder to name where one holds no results itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_items import WriteRun, cells, compare, figures, lines, similar, write_study

from trainers.results.records import Run, shortened


def titles(*named: str) -> list[str]:
    runs = [Run(str(Path(name)), Path(name), ()) for name in named]
    return [run.title for run in shortened(runs, [Path(name) for name in named])]


@pytest.mark.parametrize(
    ("named", "short"),
    [
        (["build/final/starter", "build/final/minilm"], ["starter", "minilm"]),
        (["/data/runs/a", "/data/runs/b/"], ["a", "b"]),
        (["runs/a/evaluation", "runs/b/evaluation"], ["a/evaluation", "b/evaluation"]),
        (["runs/bsl", "runs/bsl/seed-1"], ["bsl", "bsl/seed-1"]),
        (["runs/a", "runs/a"], ["a", "a"]),
        (["run", "runs/a"], ["run", "runs/a"]),
        (["one/a", "two/a"], ["one/a", "two/a"]),
        (["/one/a", "/two/a"], ["/one/a", "/two/a"]),
        (["runs/a", "/data/runs/b"], ["runs/a", "/data/runs/b"]),
        (["../a", "../b"], ["a", "b"]),
        (["../..", "../b"], ["../..", "../b"]),
        ([".", "a"], [".", "a"]),
        (["build/final/starter"], ["build/final/starter"]),
        ([], []),
    ],
)
def test_folders_that_all_runs_lie_in_are_not_printed(named: list[str], short: list[str]) -> None:
    assert titles(*named) == short


def test_the_settings_of_one_study_are_printed_without_the_folders_above_it(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rate in ("1", "2"):
        write_run(f"runs/study/lr-{rate}", figures())
    write_run("runs/study/untrained=starter", figures())
    write_study(tmp_path / "runs/study", *(({"lr": rate}, {f"study/lr-{rate}": None}) for rate in ("1", "2")))
    assert compare(tmp_path / "runs/study", "--with", "none") == 0
    assert [cells(line)[0] for line in lines(capsys.readouterr().out, "study")] == [
        "study lr=1", "study lr=2", "study/untrained=starter",
    ]  # fmt: skip


def test_the_whole_path_stays_in_json_and_in_the_pages_command(
    write_run: WriteRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    items = similar(1, 2.0)
    runs = [str(tmp_path / write_run(f"deep/{name}", items={"stsb": items})) for name in ("one", "two")]
    monkeypatch.setattr("sys.argv", ["train", "compare", *runs])
    options = ("--with", "none", "--test", "--intervals", "--resamples", 100, "--out", "page.md", "--json")
    assert compare(*runs, *options) == 0
    (suite,) = json.loads(capsys.readouterr().out)["suites"]
    assert [(row["model"], row["path"]) for row in suite["tables"][0]["rows"]] == [("one", runs[0]), ("two", runs[1])]
    assert [(each["run"], each["path"]) for each in suite["intervals"]] == [("one", runs[0]), ("two", runs[1])]
    (test,) = suite["tests"]
    assert (test["first"], test["second"], test["paths"], test["measure"]) == ("one", "two", runs, "all")
    page = Path("page.md").read_text()
    assert f"`train compare {runs[0]} {runs[1]}`" in page
    assert "| one | two | STSB |" in page


def test_the_folder_of_runs_is_told_which_of_its_folders_hold_results(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run("runs/mirror", figures())
    write_run("runs/bsl", figures())
    (tmp_path / "runs" / "empty").mkdir()
    (tmp_path / "runs" / "log.txt").write_text("")
    assert compare("runs") == 2
    assert capsys.readouterr().err == (
        "error: no results in 'runs' itself: name folders in it, runs/bsl, runs/mirror\n"
    )
    for number in range(8):
        write_run(f"runs/more-{number}", figures())
    assert compare("runs") == 2
    assert capsys.readouterr().err.endswith("runs/more-4, runs/more-5 or 2 more\n")


def test_columns_that_no_paper_prints_say_their_measure_unless_it_is_spearman(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run("mine", {"new": {"all": 50.0}, "other": {"isotropy": 0.5}, "third": {"acc@1": 5.0}})
    assert compare(run, "--with", "mirror", "--json") == 0
    heads = json.loads(capsys.readouterr().out)["suites"][0]["tables"][-1]["columns"]
    assert list(heads.values()) == ["NEW", "OTHER isotropy", "THIRD acc@1"]


def test_runs_without_any_figure_of_a_printed_table_are_said(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run("mine", {"ukp-aspect": {"all": 40.0}}, suite="afs")
    assert compare(run, "--with", "isbert", "--json") == 0
    printed, rest = json.loads(capsys.readouterr().out)["suites"][0]["tables"]
    assert printed["notes"][-1] == "mine: no figure of this table"
    assert rest["rows"][0]["figures"] == {"ukp-aspect": 40.0}
