"""`train evaluate`: what it prints, what it writes, and its messages for mistakes."""

import json
import resource
import shutil
from pathlib import Path

import pytest
from known_vectors import WORDS, evaluate
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, WordEmbeddings
from small_trainings import Capsys

from trainers.scores.suites.sample import SAMPLE


def results() -> Path:
    """Return where the results of the model are, which is no run: below `runs/`, by the hash of its weights."""
    (folder,) = Path("runs/evaluation").glob("tiny-????????")
    return folder


def test_without_data_the_smoke_test_runs_and_says_so(model: Path, capsys: Capsys) -> None:
    assert evaluate(model, "--pooling", "mean") == 0
    out, err = capsys.readouterr()
    assert out.startswith("sample (smoke test, no benchmark): ")
    assert str(SAMPLE.sizes["sample"]) in out
    assert "average" not in out
    assert err.startswith("no benchmark data (--data DIR or TWINVIEWS_DATA)")
    written = {path.name for path in (results() / "mean").iterdir()}
    assert written == {"record.json", "sample.items.npz", "sample.json"}


def test_the_whole_suite_has_three_averages(model: Path, suite_data: Path, capsys: Capsys) -> None:
    assert evaluate(model, "--data", suite_data, "--pooling", "mean", "--json") == 0
    values = json.loads(capsys.readouterr().out)
    assert values == json.loads((results() / "mean" / "sts.json").read_text())
    assert values["complete"]
    assert values["missing"] == []
    counted = [item for item in values["sets"].values() if item["counted"]]
    assert len(counted) == values["average"]["sets"] == values["average"]["of"] == 7
    for figure in ("all", "mean", "weighted", "pearson"):
        mean = sum(item["figures"][figure] for item in counted) / 7
        assert values["average"]["figures"][figure] == pytest.approx(mean)
    assert sum(item["size"] for item in counted) == 18850
    assert values["sets"]["sts13"]["parts"]["FNWN"]["spearman"] is not None


def test_a_folder_with_some_sets_reports_them_and_marks_the_average(
    model: Path, suite_data: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STS16-en-test", "stsbenchmark"):
        shutil.copytree(suite_data / name, Path("some", name))
    monkeypatch.setenv("TWINVIEWS_DATA", "some")
    assert evaluate(model, "--pooling", "cls", "--out", "out") == 0
    out, err = capsys.readouterr()
    assert "average (INCOMPLETE: 2 of 7 sets)" in out
    assert err.count("missing: ") == 5
    assert "missing: SICK-R: no folder SICK below" in err
    values = json.loads(Path("out/sts.json").read_text())
    assert not values["complete"]
    assert [item["set"] for item in values["missing"]] == ["sts12", "sts13", "sts14", "sts15", "sickr"]
    assert not (model / "evaluation").exists()


def test_a_collapsed_model_has_no_score_and_a_line_that_says_why(model: Path, capsys: Capsys) -> None:
    weights = load_file(model / "model.safetensors")
    # With the last layer norm's scale at zero every token vector is its bias.
    name = "bert.encoder.layer.1.output.LayerNorm"
    weights[f"{name}.weight"].zero_()
    weights[f"{name}.bias"].fill_(1.0)
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    assert evaluate(model, "--pooling", "mean", "--json") == 0
    out, err = capsys.readouterr()
    assert {json.loads(out)["sets"]["sample"]["figures"][name] for name in ("all", "pearson")} == {None}
    assert "smoke test: `all` is undefined: all vectors, cosines or grades are equal" in err


@pytest.mark.parametrize("most", [500, 3000])
def test_results_stay_together_if_the_disk_is_full(model: Path, most: int, capsys: Capsys) -> None:
    assert evaluate(model, "--pooling", "mean") == 0
    folder = results() / "mean"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    least, highest = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, highest))  # the results are larger, or the items alone
    try:
        assert evaluate(model, "--pooling", "mean") == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, highest))
    assert "cannot be written (File too large)" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_other_settings_have_folders_of_their_own(model: Path) -> None:
    runs = {"": [], "cls": ["--pooling", "cls"], "tokens-5": ["--max-tokens", 5]}
    runs["seed-5-bf16"] = ["--seed", 5, "--precision", "bf16"]
    for options in runs.values():
        assert evaluate(model, *options) == 0
    folders = {path.parent.relative_to(results()) for path in results().rglob("sample.json")}
    assert folders == {Path(folder) for folder in runs}
    assert not (model / "evaluation").exists()


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("arguments", "title", "folder"),
    [
        (["glove"], "glove, pooling mean, with WordEmbeddings, fp32", "glove-*"),
        (["mine.encoders:letters"], "mine.encoders:letters", "mine.encoders--letters"),
        (["tiny", "--pooling", "first-last"], "tiny, pooling first-last, fp32", "tiny-*/first-last"),
    ],
)
def test_baselines_are_evaluated_by_name_and_named_in_the_title(
    arguments: list[str], title: str, folder: str, suite_data: Path, capsys: Capsys
) -> None:
    Path("glove.txt").write_text(
        "".join(f"{word} {i % 3} {i % 5} {i % 7}\n" for i, word in enumerate(WORDS[2:]))
    )
    words = WordEmbeddings.from_text_file("glove.txt")
    SentenceTransformer(modules=[words, Pooling(3)], device="cpu").save("glove")
    Path("mine").mkdir()
    Path("mine/encoders.py").write_text(
        "def letters(texts): return [[text.count(c) for c in 'aeo'] for text in texts]"
    )
    shutil.copytree(suite_data / "STS16-en-test", "some/STS16-en-test")
    assert evaluate(*arguments, "--data", "some") == 0
    assert capsys.readouterr().out.startswith(f"sts: {title}")
    (file,) = Path("runs/evaluation").glob(f"{folder}/sts.json")
    values = json.loads(file.read_text())
    assert values["model"]["name"] == arguments[0]
    assert values["average"]["figures"]["all"] is not None
    assert title == values["encoder"]


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tiny", "--suite", "sts"], "sts needs data: give --data DIR"),
        (["tiny", "--suite", "stss"], "no suite 'stss': there are "),
        (["tiny", "--suite", "all", "--data", "."], "no set of afs, bli, "),
        (["tiny", "--data", ""], "--data is empty"),
        (["tiny", "--data", "nowhere"], "no data folder 'nowhere'"),
        (["tiny", "--data", "."], "no set of sts is in .; the first is STS12: "),
        (["tiny", "--seed", "-1"], "--seed -1: input should be greater than or equal to 0"),
        (
            ["tiny", "--pooling", "best"],
            "'best' is not one of 'mean', 'cls', 'first-last', 'padded-mean', 'max',",
        ),
        (["./absent"], "no model directory './absent'"),
        (["tiny", "--out", "tiny/config.json"], "cannot write into the folder 'tiny/config.json'"),
        (["tiny", "--device", "abacus"], "--device abacus cannot be used here (Expected one of cpu"),
        (["json:dumps", "--pooling", "cls"], "--pooling cls is for trained models, not for json:dumps"),
        (["json:dumps"], "json:dumps failed on 256 texts: ValueError: could not convert"),
    ],
)
def test_a_mistake_ends_in_one_line(arguments: list[str], message: str, capsys: Capsys) -> None:
    assert evaluate(*arguments) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert (last[:7], message in last) == ("error: ", True), last


def test_results_of_another_model_are_not_overwritten(model: Path, capsys: Capsys) -> None:
    shutil.copytree(model, "other")
    assert evaluate(model, "--out", "out") == evaluate("tiny", "--out", "out") == 0
    before = Path("out/sample.json").read_bytes()
    assert evaluate("other", "--out", "out") == 2
    assert "out/sample.json holds the results of 'tiny': give another --out" in capsys.readouterr().err
    assert Path("out/sample.json").read_bytes() == before


def test_a_file_that_cannot_be_written_is_one_line_with_its_name(model: Path, capsys: Capsys) -> None:
    Path("out/sample.json").mkdir(parents=True)
    assert evaluate(model, "--pooling", "mean", "--out", "out") == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "out/sample.json cannot be written (Is a directory)" in last
    assert not list(Path("out").glob(".*"))
