"""`train compare` on results written by hand: its tables, its remarks, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import pytest
from made_items import compare, figures, lines, tables, write_run, write_study
from small_trainings import Capsys, error_line, train

from trainers.scores.pages.comparison import read_published
from trainers.scores.result_files import signature


def test_our_row_is_above_the_papers_rows_and_their_sources(capsys: Capsys) -> None:
    run = write_run("mine", figures())
    assert compare(run, "--with", "mirror") == 0
    shown = capsys.readouterr().out
    (ours,) = lines(shown, "mine")
    assert ours == ["mine", *(f"{score}.00" for score in (*range(60, 67), 63)), "ours, 2026-11-21"]
    (theirs,) = lines(shown, "BERT + Mirror  ")
    assert theirs[1:] == [
        "67.0",
        "80.1",
        "71.3",
        "81.2",
        "74.3",
        "76.4",
        "69.9",
        "74.3",
        "Mirror-BERT Table 3",
    ]
    assert shown.index("mine") < shown.index("SBERT*")


def test_our_run_has_a_row_for_every_aggregation_of_the_papers(capsys: Capsys) -> None:
    run = write_run("mine", {**figures(), "sts13": {"all": 61.0, "pearson": 1.0}})
    assert compare(run, "--with", "bsl") == 0
    shown = capsys.readouterr()
    plain, weighted = lines(shown.out, "mine")
    assert plain[:4] == ["mine", "all", "60.00", "61.00"]
    # Without a weighted mean of STS13 there is no average.
    assert weighted == [
        "mine",
        "weighted",
        "80.00",
        "82.00",
        "83.00",
        "84.00",
        "85.00",
        "86.00",
        "ours, 2026-11-21",
    ]
    (flow,) = lines(shown.out, "BERT-flow  ")
    assert flow[1] == "weighted"
    assert "subsets are joined in different ways (all, weighted)" in shown.err


def test_a_row_that_two_papers_print_comes_once_with_both_sources(capsys: Capsys) -> None:
    assert compare("--suite", "sts") == 0
    shown = capsys.readouterr().out
    (row,) = [line for line in shown.splitlines() if " 56.77 " in line]
    assert "BSL Table 1, IS-BERT Table 1" in row
    assert "from" not in row
    (glove,) = [line for line in shown.splitlines() if " 70.66 " in line]
    assert glove.rstrip().endswith("BSL Table 1, IS-BERT Table 1 (from Reimers and Gurevych 2019)")
    assert len([line for line in shown.splitlines() if line.startswith("Unigram-TFIDF")]) == 1


def test_ablations_are_shown_with_all_tables(capsys: Capsys) -> None:
    assert compare("--suite", "sts", "--with", "bsl") == 0
    assert "momentum" not in capsys.readouterr().out
    assert compare("--suite", "sts", "--with", "bsl", "--all-tables") == 0
    (row,) = lines(capsys.readouterr().out, "BSL, momentum 0.999")
    assert row == ["BSL, momentum 0.999", "all", "73.74", "BSL Table 6"]


def test_seeds_are_mean_and_deviation(tmp_path: Path, capsys: Capsys) -> None:
    for seed, shift in ((1, 0.0), (2, 1.0), (3, 2.0)):
        write_run(f"runs/study/seed-{seed}", figures(shift))
    write_study(tmp_path / "runs/study", 1, 2, 3, 4)
    assert compare("runs/study", "--with", "mirror") == 0
    (row,) = lines(capsys.readouterr().out, "study ")
    assert row[1] == "61.00 +- 1.00"
    assert row[-2:] == ["64.00 +- 1.00", "ours, 2026-11-21, 3 of 4 seeds"]
    write_study(tmp_path / "runs/failed", 1, 2)
    assert compare("runs/failed") == 2
    assert "no results in 'runs/failed'" in error_line(capsys)


def test_a_figure_that_not_every_seed_has_is_empty(tmp_path: Path, capsys: Capsys) -> None:
    for seed, value in ((1, 70.0), (2, None)):
        write_run(f"study/seed-{seed}", {"stsb": {"all": value}, "sickr": {"all": 50.0}})
    write_study(tmp_path / "study", 1, 2)
    assert compare("study", "--with", "mirror") == 0
    (row,) = lines(capsys.readouterr().out, "study")
    assert row == ["study", "50.00 +- 0.00", "ours, 2026-11-21, 2 seeds"]


def test_other_metrics_have_columns_of_their_own(capsys: Capsys) -> None:
    names = ("afs-gun-control", "afs-gay-marriage", "afs-death-penalty")
    run = write_run(
        "mine", {name: {"all": 50.0 + i, "pearson": 40.0 + i} for i, name in enumerate(names)}, suite="afs"
    )
    assert compare(run, "--with", "bsl,isbert") == 0
    shown = capsys.readouterr().out
    ours, topics = lines(shown, "mine  ")
    assert ours == ["mine", "41.00", "51.00", "ours, 2026-11-21"]
    assert topics == ["mine", "50.00", "51.00", "52.00", "ours, 2026-11-21"]
    (theirs,) = lines(shown, "IS-BERT ")
    assert theirs == ["IS-BERT", "49.14", "45.25", "BSL Table 10, IS-BERT Table 2"]


def test_sets_that_no_paper_prints_have_a_table_of_their_own(capsys: Capsys) -> None:
    run = write_run("mine", {**figures(), "new": {"auc": 77.0}, "other": {"all": 50.0}})
    assert compare(run, "--with", "mirror", "--json") == 0
    _, rest = tables(capsys.readouterr().out)
    assert rest["title"] == "sts, sets without a printed row"
    # The heading names every measure but Spearman.
    assert rest["rows"] == [
        {"model": "mine", "NEW auc": "77.00", "OTHER": "50.00", "source": "ours, 2026-11-21"}
    ]


@pytest.mark.parametrize("named", ["mine", "mine/evaluation", "mine/evaluation/sts.json"])
def test_a_run_is_named_by_directory_or_file(named: str, capsys: Capsys) -> None:
    write_run("mine", figures())
    assert compare(named, "--with", "none") == 0
    assert "63.00" in capsys.readouterr().out


def test_a_model_that_was_scored_with_other_poolings_alone_has_a_row_for_each(capsys: Capsys) -> None:
    for way in ("cls", "mean"):
        write_run(way, figures(), model={"name": "model"})
        Path("model", "evaluation").mkdir(parents=True, exist_ok=True)
        Path(way, "evaluation").rename(Path("model", "evaluation", way))
    assert compare("model", "--with", "none") == 0
    named = [line[0] for line in lines(capsys.readouterr().out, "model/")]
    assert named == ["model/evaluation/cls", "model/evaluation/mean"]
    write_run("model", figures())
    assert compare("model", "--with", "none") == 0
    assert len(lines(capsys.readouterr().out, "model  ")) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone"], "no run at 'gone'"),
        (["empty"], "no results in 'empty': run `train evaluate` first, or name folders in it"),
        (["broken.json"], "broken.json has no results that can be read"),
        (["deep.json"], "deep.json has no results that can be read"),
        (["mine", "--with", "nobody"], "no paper 'nobody', there are bsl, mirror, isbert, "),
        (["mine", "--suite", "qnli"], "--suite qnli: these runs have sts"),
        (["--suite", "nothing"], "--suite nothing: these papers have sts, transfer"),
        (["--with", "none"], "nothing to compare"),
        (["mine", "--test"], "nothing for --test: no two runs of one seed"),
        (["mine", "--intervals"], "nothing for --intervals: no run of one seed with <suite>.items.npz"),
    ],
)
def test_mistakes_say_why(arguments: list[str], said: str, tmp_path: Path, capsys: Capsys) -> None:
    write_run("mine", figures())
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "deep.json").write_text('{"a":' * 100_000)
    assert compare(*arguments) == 2
    assert said in error_line(capsys)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("figures", {"all": float("nan")}),
        ("figures", {"all": "74.0"}),
        ("size", None),
        ("model", "mine"),
        ("suite", "../sts"),
        ("", None),
    ],
)
def test_damage_is_refused(key: str, value: object, capsys: Capsys) -> None:
    path = write_run("mine", figures()) / "evaluation" / "sts.json"
    values = json.loads(path.read_text())
    (values["sets"]["stsb"] if key in values["sets"]["stsb"] else values)[key] = value
    path.write_text(json.dumps(values if key else {}))
    assert compare("mine") == 2
    said = f"error: {path} has no results that can be read: make them again, or leave it out\n"
    assert error_line(capsys) == said


def test_two_evaluations_of_the_program_itself_can_be_compared(tiny_bert: Path, capsys: Capsys) -> None:
    for number, pooling in enumerate(("mean", "cls")):
        options = ["--suite", "sample", "--pooling", pooling, "--out", f"run{number}"]
        assert train("evaluate", tiny_bert, *options) == 0
    signatures = [line for line in capsys.readouterr().err.splitlines() if line.startswith("signature: ")]
    assert all("|tokens:32|" in line and "|seed:1111|" in line for line in signatures)
    assert compare("run0", "run1", "--intervals", "--test", "--json") == 0
    verdict, intervals, tests = tables(capsys.readouterr().out)
    printed = json.loads(Path("run1/sample.json").read_text())["sets"]["sample"]["figures"]["all"]
    assert [row["candidate"] for row in verdict["rows"]] == ["run0", "run1"]
    assert verdict["rows"][1]["smoke test"] == intervals["rows"][1]["score"] == f"{printed:.2f}"
    assert tests["rows"][0]["items"] == "300"


NOTED = {"stsb": {"note": "tokenised text"}, "sickr": {"note": "raw; whole"}}
SEEN = {
    "stsb": {"seen_in_training": {"texts": 267, "of": 2550}},
    "sickr": {"seen_in_training": {"texts": 0, "of": 9}},
}
COPIES = [{name: {"sha256": copy} for name in ("sts12", "sickr")} for copy in "aba"]


@pytest.mark.parametrize(
    ("sets", "remarks"),
    [
        ([NOTED, NOTED], ["ours, STSB: tokenised text", "ours, SICKR: raw; whole"]),
        (COPIES, ["STS12, SICKR: figures of different copies, by their checksums"]),
        ([SEEN, SEEN], ["1, 2: trained on texts of these sets: STSB 267 of 2,550"]),
    ],
)
def test_remarks_name_their_sets_once(sets: list[dict[str, Any]], remarks: list[str], capsys: Capsys) -> None:
    runs = [write_run(str(number), figures(), sets=each) for number, each in enumerate(sets, 1)]
    assert compare(*runs, "--with", "none") == 0
    assert capsys.readouterr().err.splitlines() == remarks


def test_figures_of_another_task_are_marked(capsys: Capsys) -> None:
    names = [f"bli-{pair}" for pair in ("en-fr", "en-it", "en-ru", "en-tr", "it-fr", "ru-fr")]
    noted = {name: {"note": "* few candidates", "size": read_published("sizes")[name]} for name in names}
    run = write_run("mine", {name: {"acc@1": 7.0} for name in names}, suite="bli", sets=noted)
    assert compare(run, "--with", "mirror") == 0
    shown = capsys.readouterr()
    (ours,) = lines(shown.out, "mine")
    assert ours[1:-1] == ["7.00*"] * 7
    assert shown.err.splitlines() == ["* ours, every set: few candidates"]


def test_a_set_of_another_size_than_published_is_marked_in_any_suite(capsys: Capsys) -> None:
    sizes = {"bc5cdr-disease": 4363, "ncbi-disease": 960, "xl-bel": 10000}
    each = {name: {"acc@1": 50.0, "acc@5": 60.0} for name in sizes}
    run = write_run("mine", each, suite="linking", sets={name: {"size": size} for name, size in sizes.items()})
    assert compare(run, "--with", "mirror") == 0
    shown = capsys.readouterr()
    (row, _) = lines(shown.out, "mine")
    assert row == ["mine", "50.00", "60.00", "50.00*", "60.00*", "ours, 2026-11-21"]
    (said,) = [line for line in shown.err.splitlines() if "another test" in line]
    assert said == "* ours, BC5CDR-DISEASE: 4,363 items, the papers score 4,424: another test"


def signed(run: Path) -> str:
    return signature(json.loads((run / "evaluation" / "sts.json").read_text()))


def test_a_signature_names_sets_settings_items_and_weights() -> None:
    line = signed(write_run("mine", {"stsb": {"all": 70.0}}))
    assert line == "sts|sets:stsb|metric:all|pooling:mean|precision:fp32|items:stsb|weights:000000000000"


@pytest.mark.parametrize(
    "changed",
    [
        {"model": {"revision": "1" * 12}},
        {"model": {"pooling": "cls"}},
        {"model": {"max_tokens": 64}},
        {"precision": "bf16"},
        {"sets": {"sts13": {"sha256": "other"}}},
    ],
)
def test_the_signature_has_whatever_decides_a_score(changed: dict[str, Any]) -> None:
    assert signed(write_run("mine", figures())) != signed(write_run("mine", figures(), **changed))


def test_functions_have_the_checksum_of_their_file_in_the_signature() -> None:
    for digit in "12":
        run = write_run("mine", figures(), model={"revision": None, "sha256": digit * 64})
        assert signed(run).endswith("|weights:" + digit * 12)
