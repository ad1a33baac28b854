"""What is asked of a training: options that are unset, models that it is held to, layers that nothing would train."""

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
from small_trainings import Capsys, error_line, train, write_pairs

from trainers.settings import load_objective, resolve


@pytest.fixture
def wide(tiny_bert: Path, tmp_path: Path) -> Path:
    """An encoder of 24 dimensions."""
    modules = [Transformer(str(tiny_bert)), Pooling(16, "mean"), Dense(16, 24)]
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(tmp_path / "wide"))
    return tmp_path / "wide"


@pytest.mark.parametrize(("objective", "role"), [("distil", "teacher"), ("contrastive", "guide")])
def test_a_run_is_held_to_its_teacher_and_guide(
    objective: str, role: str, tiny_bert: Path, wide: Path, sentences: list[str], capsys: Capsys
) -> None:
    write_pairs(
        Path("pairs.arrow"),
        [(text, text, other) for text, other in zip(sentences, sentences[1:] + sentences[:1], strict=True)],
    )
    options = [
        "--views",
        "pairs.arrow",
        "--encoder",
        tiny_bert,
        "--batch-size",
        "16",
        "--max-tokens",
        "24",
        "--epochs",
        "1",
    ]
    command = [objective, *options, f"--{role}", wide, "--out", "run"]
    assert train(*command) == 0
    assert train(*command) == 0
    assert "already finished" in capsys.readouterr().out
    tensors = load_file(wide / "2_Dense" / "model.safetensors")
    save_file({name: tensor + 0.1 for name, tensor in tensors.items()}, wide / "2_Dense" / "model.safetensors")
    assert train(*command) == 2
    assert f"({role}_revision '" in error_line(capsys)


@pytest.mark.parametrize(
    ("command", "values"),
    [
        ("distil --preset adapt --sharpen none", {"sharpen": "none", "smooth_neighbours": 20}),
        ("distil --preset adapt --sharpen 0", {"sharpen": 0}),
        (
            "distil --preset adapt --smooth-neighbours none --method sct --teacher TEACHER",
            {"smooth_neighbours": "none"},
        ),
        ("contrastive --preset labels --positives none", {"positives": "none"}),
    ],
)
def test_what_a_preset_sets_can_be_unset_and_the_recipe_repeats_it(
    command: str, values: dict[str, object], tiny_bert: Path, text_file: Path, capsys: Capsys
) -> None:
    options = [
        "--text",
        text_file,
        "--encoder",
        tiny_bert,
        "--max-tokens",
        "24",
        "--epochs",
        "0",
        "--out",
        "run",
    ]
    assert train(*command.replace("TEACHER", str(tiny_bert)).split(), *options) == 0
    recipe = json.loads(Path("run/recipe.json").read_text(encoding="utf-8"))
    assert {key: recipe[key] for key in values} == values
    assert Path("run/2_Dense").exists() == ("sharpen" not in values and "positives" not in values)
    assert train(command.split()[0], "--config", "run/recipe.json", "--out", "again") == 0
    assert json.loads(Path("again/recipe.json").read_text(encoding="utf-8")) == recipe
    capsys.readouterr()
    assert train("distil", "--preset", "adapt", *options[:-1], "other", "--sharpen", "few") == 2
    assert "--sharpen 'few': input should be a valid integer" in error_line(capsys)


def test_none_is_a_value_of_optional_settings_alone() -> None:
    module = load_objective("contrastive")
    chosen = {"guide": "none", "positives": "none"}
    _, _, params = resolve(module.PRESETS, module.PARAMS, "labels", chosen)
    assert (params.guide, params.positives) == (None, None)


@pytest.mark.parametrize(
    ("command", "layer"),
    [
        ("distil --preset adapt --teacher WIDE", "Dense"),
        ("distil --teacher WIDE", "Dense"),
        ("contrastive --preset simcse --keep-head", "Dense"),
        ("isbert", "CNN"),
    ],
)
def test_layers_that_nothing_would_train_are_not_saved(
    command: str, layer: str, tiny_bert: Path, wide: Path, text_file: Path, capsys: Capsys
) -> None:
    options = [
        "--text",
        text_file,
        "--encoder",
        tiny_bert,
        "--max-tokens",
        "24",
        "--epochs",
        "0",
        "--out",
        "run",
    ]
    assert train(*command.replace("WIDE", str(wide)).split(), *options) == 2
    assert f"adds a {layer} to the encoder, whose weights would stay random" in capsys.readouterr().err
    assert not Path("run").exists()
    assert train("contrastive", "--preset", "tuned", *options) == 0, "whitening is fitted to the text"


def test_the_next_command_can_be_pasted(tiny_bert: Path, text_file: Path, capsys: Capsys) -> None:
    options = ["--text", text_file, "--encoder", tiny_bert, "--max-tokens", "24", "--epochs", "0"]
    assert train("contrastive", "--preset", "tuned", *options, "--out", "wörk dir") == 0
    assert capsys.readouterr().out.endswith("; next: train evaluate 'wörk dir'\n")


def test_a_column_of_pairs_takes_its_own_prompt(tiny_bert: Path, sentences: list[str], capsys: Capsys) -> None:
    """As `prompts={"anchor": ..., "positive": ...}` of sentence-transformers."""
    parts = [Transformer(str(tiny_bert)), Pooling(16, "mean")]
    prompts = {"query": "the man ", "document": "a red house "}
    SentenceTransformer(modules=parts, prompts=prompts, device="cpu").save_pretrained(
        "made", create_model_card=False
    )
    views = write_pairs(Path("pairs.arrow"), [(text, text, text[::-1]) for text in sentences])
    typed = [(text, f"the man {text}", f"a red house {text[::-1]}") for text in sentences]
    typed_views = write_pairs(Path("typed.arrow"), typed)
    options = ["--encoder", "made", "--batch-size", 8, "--steps", 2, "--preset", "bsl", "--max-tokens", 32]
    assert train("contrastive", "--views", views, *options, "--out", "plain") == 0
    assert "--prompts view_a=query --prompts view_b=document" in capsys.readouterr().err
    columns = ["--prompts", "view_a=query", "--prompts", "view_b=document"]
    assert train("contrastive", "--views", views, *options, *columns, "--out", "prompted") == 0
    assert train("contrastive", "--views", typed_views, *options, "--out", "typed") == 0
    plain, prompted, by_hand = (
        Path(name, "model.safetensors").read_bytes() for name in ("plain", "prompted", "typed")
    )
    assert plain != prompted == by_hand
    for wrong in ("view_c=query", "view_a=passage"):
        assert train("contrastive", "--views", views, *options, "--prompts", wrong, "--out", "wrong") == 2
        assert f"--prompts {wrong}: columns are view_a, view_b, negative" in capsys.readouterr().err
    assert train("contrastive", "--views", views, *options, *columns, "--retain", 1, "--out", "wrong") == 2


@pytest.mark.parametrize(
    "option", ["--epochs 1e300", "--epochs 1e18", f"--steps {10**300}", f"--evaluations {10**15}"]
)
def test_trainings_without_an_end_are_refused(option: str, text_file: Path, capsys: Capsys) -> None:
    assert train("mirror", "--text", text_file, *option.split()) == 2
    assert option.split()[0] in capsys.readouterr().err
