"""The command: what it prints, what it writes, and what it says to a mistake."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from known_vectors import evaluate

from trainers.evaluation.suites.sample import SAMPLE

Capsys = pytest.CaptureFixture[str]


def test_without_data_the_smoke_test_runs_and_says_so(model: Path, capsys: Capsys) -> None:
    assert evaluate([str(model), "--pooling", "mean"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("sample (smoke test, no benchmark): ")
    assert str(SAMPLE.pairs) in out
    assert "average" not in out
    assert err.startswith("no benchmark data given (--data DIR, --data hf:mteb or TWINVIEWS_DATA)")
    assert sorted(path.name for path in (model / "evaluation" / "mean").iterdir()) == [
        "sample.items.npz", "sample.json", "sample.md",
    ]  # fmt: skip


def test_the_whole_suite_has_three_averages(model: Path, suite_data: Path, capsys: Capsys) -> None:
    assert evaluate([str(model), "--data", str(suite_data), "--pooling", "mean", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values == json.loads((model / "evaluation" / "mean" / "sts.json").read_text())
    assert values["complete"]
    assert values["distinct_texts"] <= 42
    assert values["missing"] == []
    counted = [item for item in values["sets"].values() if item["counted"]]
    assert len(counted) == values["average"]["sets"] == values["average"]["of"] == 7
    for figure in ("all", "mean", "weighted", "pearson"):
        mean = sum(item["figures"][figure] for item in counted) / 7
        assert values["average"]["figures"][figure] == pytest.approx(mean)
    parts = values["sets"]["sts13"]["parts"]
    weighted = (
        189 * parts["FNWN"]["spearman"] + 750 * parts["headlines"]["spearman"] + 561 * parts["OnWN"]["spearman"]
    ) / 1500
    assert values["sets"]["sts13"]["figures"]["weighted"] == pytest.approx(weighted)
    assert len(values["sets"]["sts13"]["files"]) == 6
    assert values["seconds"]["encoded_texts"] == values["distinct_texts"]
    page = (model / "evaluation" / "mean" / "sts.md").read_text()
    assert "| average of 7 | 18850 |" in page
    assert f"| STS13 | FNWN | {parts['FNWN']['spearman']:.2f} |" in page


def test_a_folder_with_some_sets_reports_them_and_marks_the_average(
    model: Path, suite_data: Path, tmp_path: Path, capsys: Capsys,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name in ("STS16-en-test", "stsbenchmark"):
        shutil.copytree(suite_data / name, tmp_path / "some" / name)
    monkeypatch.setenv("TWINVIEWS_DATA", str(tmp_path / "some"))
    assert evaluate([str(model), "--pooling", "cls", "--out", str(tmp_path / "out")]) == 0
    out, err = capsys.readouterr()
    assert "average (INCOMPLETE: 2 of 7 sets)" in out
    assert err.count("missing: ") == 5
    assert "missing: SICK-R: no folder SICK below" in err
    values = json.loads((tmp_path / "out" / "sts.json").read_text())
    assert not values["complete"]
    assert [item["set"] for item in values["missing"]] == ["sts12", "sts13", "sts14", "sts15", "sickr"]
    assert not (model / "evaluation").exists()


def test_a_collapsed_model_has_no_score_and_a_line_that_says_why(model: Path, capsys: Capsys) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(model / "model.safetensors")
    # With the last layer norm's scale at zero every token vector is its bias.
    name = "bert.encoder.layer.1.output.LayerNorm"
    weights[f"{name}.weight"].zero_()
    weights[f"{name}.bias"].fill_(1.0)
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    assert evaluate([str(model), "--pooling", "mean", "--json"]) == 0
    out, err = capsys.readouterr()
    assert {json.loads(out)["sets"]["sample"]["figures"][name] for name in ("all", "pearson")} == {None}
    assert "smoke test: `all` is undefined for this model's vectors" in err


def test_results_of_other_settings_are_kept(model: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "out"
    start = "model-tiny-pooling-mean"
    runs: list[tuple[list[str], str]] = [
        (["--whiten", "4"], "."),
        (["--whiten", "all"], f"{start}-precision-fp32-whiten-all-seed-1111"),
        (["--whiten", "all", "--seed", "5"], f"{start}-precision-fp32-whiten-all-seed-5"),
        (["--max-tokens", "5"], f"{start}-max-tokens-5-precision-fp32-seed-1111"),
        (["--precision", "bf16"], f"{start}-precision-bf16-seed-1111"),
        ([], f"{start}-precision-fp32-seed-1111"),
    ]
    for options, folder in runs:
        assert evaluate(["tiny", "--pooling", "mean", "--out", str(out), *options]) == 0
        assert (f"results of other settings in {out} are kept" in capsys.readouterr().err) == (folder != ".")
        assert (out / folder / "sample.json").exists()
    assert len(list(out.rglob("sample.json"))) == len(runs)
    made = (out / "sample.json").stat().st_mtime_ns
    assert evaluate(["tiny", "--pooling", "mean", "--out", str(out), "--whiten", "4"]) == 0
    assert (out / "sample.json").stat().st_mtime_ns != made
    assert len(list(out.rglob("sample.json"))) == len(runs)
    for seed in ("1", "2"):
        assert evaluate([str(model), "--pooling", "cls", "--seed", seed]) == 0
    assert len(list((model / "evaluation" / "cls").rglob("sample.json"))) == 2


@pytest.mark.parametrize("damage", ['{"settings"', "[]", '{"settings": 3, "seed": 1, "model": 2}'])
def test_a_damaged_result_is_written_anew(model: Path, tmp_path: Path, damage: str) -> None:
    (tmp_path / "sample.json").write_text(damage)
    assert evaluate(["tiny", "--pooling", "mean", "--out", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "sample.json").read_text())["suite"] == "sample"


@pytest.fixture
def glove(tmp_path: Path, words: list[str]) -> Path:
    """Word vectors for most of the suite's words."""
    path = tmp_path / "glove.txt"
    path.write_text("".join(f"{word} {i % 3} {i % 5} {i % 7}\n" for i, word in enumerate(words[2:])))
    return path


@pytest.fixture
def text(tmp_path: Path, sentences: list[str], words: list[str]) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(f"{sentence} {words[i % 20]}" for i, sentence in enumerate(sentences)))
    return path


@pytest.mark.parametrize(
    ("arguments", "title", "folder"),
    [
        (["tfidf"], "tfidf, fitted on the evaluation text itself (transductive), ", "runs/tfidf/evaluation"),
        (
            ["tfidf", "--fit", "text.txt"],
            "tfidf, fitted on text.txt (42 sentences)",
            "runs/tfidf/evaluation/fit-text.txt",
        ),
        (["glove:glove.txt"], "glove:glove.txt, mean of word vectors, ", "runs/glove--glove.txt/evaluation"),
        (["mine.encoders:letters"], "mine.encoders:letters", "runs/mine.encoders--letters/evaluation"),
        (["tiny", "--pooling", "first-last"], "tiny, pooling first-last, fp32", "tiny/evaluation/first-last"),
        (
            ["tiny", "--pooling", "mean", "--whiten", "4", "--fit", "text.txt"],
            "tiny, pooling mean, fp32, whitened to 4 dimensions, fitted on text.txt (42 sentences)",
            "tiny/evaluation/mean-whitened-4-fit-text.txt",
        ),
        (
            ["tiny", "--pooling", "cls", "--flow"],
            "tiny, pooling cls, fp32, through a flow (1 epoch, seed 1111), "
            "fitted on each set's own sentences (transductive)",
            "tiny/evaluation/cls-flow",
        ),
    ],
)
def test_baselines_are_evaluated_by_name_and_the_title_says_exactly_what_it_was(
    model: Path, suite_data: Path, glove: Path, text: Path, tmp_path: Path,
    capsys: Capsys, arguments: list[str], title: str, folder: str,
) -> None:  # fmt: skip
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "encoders.py").write_text(
        "def letters(texts):\n    return [[text.count(c) for c in 'aeiourst'] for text in texts]\n"
    )
    shutil.copytree(suite_data / "STS16-en-test", tmp_path / "some" / "STS16-en-test")
    assert evaluate([*arguments, "--data", "some"]) == 0
    out, _ = capsys.readouterr()
    assert out.startswith(f"sts: {title}")
    values = json.loads((tmp_path / folder / "sts.json").read_text())
    assert values["model"]["name"] == arguments[0]
    assert values["average"]["figures"]["all"] is not None
    assert title in (tmp_path / folder / "sts.md").read_text()
    adapted = "--whiten" in arguments or "--flow" in arguments
    assert (values["adaptation"] is not None) == adapted
    if "--fit" in arguments:
        fit = values["adaptation"]["fit"] if adapted else values["model"]["fit"]
        assert fit["sentences"] == 42


def test_evaluation_text_in_fit_text(suite_data: Path, sentences: list[str], capsys: Capsys) -> None:
    Path("text.txt").write_text("\n".join([*sentences[:10], "something else"]))
    assert evaluate(["tfidf", "--fit", "text.txt", "--data", str(suite_data), "--json"]) == 0
    out, err = capsys.readouterr()
    values = json.loads(out)
    assert values["texts_in_fit"] == len(set(sentences[:10]))
    assert f"{len(set(sentences[:10]))} evaluation texts stand in the text that was fitted on" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tiny", "--suite", "sts"], "sts needs data: give --data DIR"),
        (["tiny", "--suite", "stss"], "no suite 'stss': there are "),
        (["tiny", "--suite", "all", "--data", "."], "no set of afs, bli, "),
        (["tiny", "--cache", "tiny/config.json"], "--cache tiny/config.json: give a folder"),
        (["tiny", "--data", ""], "--data is empty"),
        (["tiny", "--data", "nowhere"], "no data folder 'nowhere'"),
        (["tiny", "--data", "."], "no set of sts is in .; the first is STS12: "),
        (["tiny", "--pooling", "max"], "'max' is not one of 'mean', 'cls', 'first-last', 'padded-mean'"),
        (["./absent"], "no model directory './absent'"),
        (["tiny", "--out", "tiny/config.json"], "cannot write into the folder 'tiny/config.json'"),
        (["tiny", "--device", "abacus"], "--device abacus cannot be used here (Expected one of cpu"),
        (["tiny", "--fit", "text.txt"], "--fit text.txt: nothing of tiny is fitted"),
        (["tiny", "--whiten", "4", "--fit", "absent.txt"], "no text to fit on at 'absent.txt'"),
        (["tiny", "--whiten", "0"], "--whiten 0: give the number of dimensions to keep, or all"),
        (["tiny", "--whiten", "99", "--pooling", "mean"], "cannot whiten to 99 dimensions"),
        (["tiny", "--whiten", "4", "--flow"], "--whiten and --flow both: give one of them"),
        (["tfidf", "--pooling", "cls"], "tfidf is no model: --pooling cls is not for it"),
        (["tfidf", "--whiten", "4"], "tfidf has sparse vectors"),
        (["glove:", "--precision", "bf16"], "glove: is no model: --precision bf16 is not for it"),
        (["glove:"], "no file of word vectors"),
        (["fasttext:tiny/config.json"], "tiny/config.json line 1: no numbers after '{'"),
        (["json:dumps"], "json:dumps failed on 256 texts: ValueError: could not convert"),
    ],
)
def test_mistakes_are_told(model: Path, capsys: Capsys, arguments: list[str], message: str) -> None:
    assert evaluate(arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("error: ")
    assert message in lines[-1]


def test_a_full_disk_is_one_line_with_the_file(model: Path, tmp_path: Path, capsys: Capsys) -> None:
    (tmp_path / "out" / "sample.json").mkdir(parents=True)
    assert evaluate([str(model), "--pooling", "mean", "--out", "out"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert "out/sample.json cannot be written (Is a directory)" in last
    assert not list((tmp_path / "out").glob(".*"))


def test_the_command_is_importable_without_the_heavy_libraries() -> None:
    heavy = "{'torch', 'transformers', 'numpy', 'scipy', 'sklearn'}"
    script = f"import sys, trainers.evaluation.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
