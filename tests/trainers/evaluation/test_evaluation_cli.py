"""The command: what it prints, what it writes, and what it says to a mistake."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from pipelines.console import call
from trainers.evaluation.benchmarks import SAMPLE
from trainers.evaluation.cli import evaluate


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command()(evaluate)
    return app


@pytest.fixture
def model(tiny_mlm: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_mlm, tmp_path / "tiny")


def test_without_data_the_smoke_test_runs_and_says_so(
    app: typer.Typer, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(app, [str(model), "--pooling", "mean"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("sample (smoke test, no benchmark): ")
    assert str(SAMPLE.pairs) in out
    assert "average" not in out
    assert err.startswith("no benchmark data given (--data DIR, --data hf:mteb or TWINVIEWS_DATA)")
    assert sorted(path.name for path in (model / "evaluation").iterdir()) == ["sample.json", "sample.md"]


def test_the_whole_suite_with_an_average_under_each_aggregation(
    app: typer.Typer, model: Path, suite_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(app, [str(model), "--data", str(suite_data), "--pooling", "mean", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values == json.loads((model / "evaluation" / "sts.json").read_text())
    assert values["complete"]
    assert values["distinct_texts"] <= 42
    assert values["missing"] == []
    counted = [item for item in values["sets"].values() if item["in_average"]]
    assert len(counted) == values["average"]["sets"] == values["average"]["of"] == 7
    for how in ("all", "mean", "weighted"):
        for kind in ("spearman", "pearson"):
            mean = sum(item[how][kind] for item in counted) / 7
            assert values["average"][how][kind] == pytest.approx(mean)
    subsets = values["sets"]["sts13"]["subsets"]
    assert {name: item["pairs"] for name, item in subsets.items()} == {"FNWN": 189, "headlines": 750, "OnWN": 561}
    weighted = sum(item["pairs"] * item["spearman"] for item in subsets.values()) / 1500
    assert values["sets"]["sts13"]["weighted"]["spearman"] == pytest.approx(weighted)
    assert len(values["sets"]["sts13"]["data"]["files"]) == 6
    page = (model / "evaluation" / "sts.md").read_text()
    assert "| average of 7 | 18850 |" in page
    assert f"| STS13 | FNWN | 189 | {subsets['FNWN']['spearman']:.2f} |" in page


def test_a_folder_with_some_sets_reports_them_and_marks_the_average(
    app: typer.Typer, model: Path, suite_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name in ("STS16-en-test", "stsbenchmark"):
        shutil.copytree(suite_data / name, tmp_path / "some" / name)
    monkeypatch.setenv("TWINVIEWS_DATA", str(tmp_path / "some"))
    assert call(app, [str(model), "--pooling", "cls", "--out", str(tmp_path / "out")]) == 0
    out, err = capsys.readouterr()
    assert "average (INCOMPLETE: 2 of 7 sets)" in out
    assert err.count("missing: ") == 5
    assert "missing: SICK-R: no folder SICK below" in err
    values = json.loads((tmp_path / "out" / "sts.json").read_text())
    assert not values["complete"]
    assert [item["set"] for item in values["missing"]] == ["sts12", "sts13", "sts14", "sts15", "sickr"]
    assert not (model / "evaluation").exists()


def test_copies_without_subsets_leave_the_means_empty(
    app: typer.Typer, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    for name, count in (("sts16-sts", 1186), ("sickr-sts", 9927)):
        lines = [
            json.dumps({"sentence1": "a cat", "sentence2": f"the {'dog' if i % 3 else 'cat'}", "score": i % 5})
            for i in range(count)
        ]
        (tmp_path / "org" / name).mkdir(parents=True)
        (tmp_path / "org" / name / "test.jsonl").write_text("\n".join(lines))
    assert call(app, [str(model), "--data", f"hf:{tmp_path / 'org'}", "--pooling", "mean", "--json"]) == 0
    out, err = capsys.readouterr()
    values = json.loads(out)
    assert {"all", "mean", "weighted"} & set(values["sets"]["sts16"]) == {"all"}
    assert {"all", "mean", "weighted"} & set(values["average"]) == {"all"}
    assert values["average"]["sets"] == 1
    assert not values["sets"]["sickr"]["in_average"]
    assert "SICK-R: all 9927 pairs, train and trial too, not the 4927 of the test: not averaged" in err


def test_a_collapsed_model_has_no_score_and_a_line_that_says_why(
    app: typer.Typer, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(model / "model.safetensors")
    # With the last layer norm's scale at zero every token vector is its bias.
    name = "bert.encoder.layer.1.output.LayerNorm"
    weights[f"{name}.weight"].zero_()
    weights[f"{name}.bias"].fill_(1.0)
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    assert call(app, [str(model), "--pooling", "mean", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["sets"]["sample"]["all"] == {"spearman": None, "pearson": None}
    assert "the model gives every pair the same cosine" in err


def test_results_of_a_model_that_is_no_folder_go_below_runs(app: typer.Typer, model: Path, tmp_path: Path) -> None:
    from trainers.evaluation.cli import _beside

    assert _beside("org/name", None) == Path("runs/org--name/evaluation")
    assert _beside("starter", model) == Path("runs/starter/evaluation")
    assert _beside(str(model), model) == model / "evaluation"


def test_a_dry_run_lists_and_writes_nothing(
    app: typer.Typer, suite_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(app, ["no/model", "--data", str(suite_data), "--dry-run"]) == 0
    assert "4927" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_recipe_file_gives_the_options(
    app: typer.Typer, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "recipe.yaml").write_text("pooling: cls\nprecision: bf16\n")
    assert call(app, [str(model), "--config", "recipe.yaml", "--precision", "fp32", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["model"]["pooling"] == "cls"
    assert values["settings"]["precision"] == "fp32"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tiny", "--suite", "sts"], "the suite sts needs data: --data DIR"),
        (["tiny", "--data", "nowhere"], "no data folder 'nowhere'"),
        (["tiny", "--data", "."], "none of the suite's sets is in ."),
        (["tiny", "--pooling", "max"], "'max' is not one of 'mean', 'cls'"),
        (["./absent"], "no model directory './absent'"),
        (["tiny", "--out", "tiny/config.json"], "cannot make the folder 'tiny/config.json'"),
        (["tiny", "--device", "abacus"], "cannot load the model 'tiny'"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(
    app: typer.Typer, model: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert call(app, arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("error: ")
    assert message in lines[-1]


def test_the_command_is_importable_without_the_heavy_libraries() -> None:
    script = "import sys, trainers.evaluation.cli; print(sorted({'torch', 'transformers', 'numpy'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
