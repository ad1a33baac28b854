"""What a training reports is of what it saves, and what it saves gives the vectors that it had in memory."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from small_trainings import Capsys, prepared, train

from augment.models.encoder import load_encoder
from pipelines.base.console import TwinviewsError
from trainers.encoders.loading import save_encoder
from trainers.encoders.model import load_model
from trainers.scores.dev_set import dev_score, graded_pairs
from trainers.scores.pairs import Pair, Pairs
from trainers.training.fit import fit


def plain(folder: Path | str) -> SentenceTransformer:
    return SentenceTransformer(str(folder), device="cpu")


def written(folder: Path, encoder: Path, *more: Any) -> Path:  # noqa: ANN401 - modules
    """Write an encoder with the mean and further modules as sentence-transformers does."""
    parts = [Transformer(str(encoder)), Pooling(16, "mean"), *more]
    SentenceTransformer(modules=parts, device="cpu").save_pretrained(str(folder), create_model_card=False)
    return folder


def edited(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}), encoding="utf-8")


@pytest.fixture(scope="module")
def graded(sentences: list[str]) -> Pairs:
    grades = [row % 7 / 6 for row in range(len(sentences))]
    rows = zip(sentences, sentences[3:] + sentences[:3], grades, strict=True)
    return graded_pairs("", [Pair(*row) for row in rows])


@pytest.mark.parametrize("keep", ["best", "last"])
def test_the_dev_score_of_blended_weights_is_that_of_what_is_saved(
    keep: str, tiny_bert: Path, sentences: list[str], graded: Pairs, tmp_path: Path
) -> None:
    given = {"dropout": 0.0, "epochs": 3, "lr": 3e-3, "blend": 0.5, "evaluations": 4, "keep": keep}
    objective, rows, _ = prepared("contrastive", tiny_bert, sentences, **given)
    fitted = fit(objective, rows, tmp_path / "run", 1, graded)
    assert len(set(fitted.dev.values())) > 2
    objective.save(tmp_path / "saved", "# card")
    saved = load_encoder(tmp_path / "saved", "cpu")
    assert fitted.dev[fitted.saved_step] == pytest.approx(dev_score(graded, saved), abs=1e-4)


@pytest.mark.parametrize(
    ("command", "layer"),
    [
        ("isbert --preset tuned --text T", "CNN"),
        ("contrastive --preset simcse --keep-head --text T", "Dense"),
        ("regression --cnn --graded G", "CNN"),
    ],
)
@pytest.mark.parametrize("blend", [0, 0.5])
def test_layers_that_begin_as_random_numbers_are_not_blended(
    blend: float, command: str, layer: str, tiny_bert: Path, text_file: Path, capsys: Capsys
) -> None:
    Path("g.csv").write_text("score,sentence1,sentence2\n" + "0.5,a dog,a cat\n1,a man,a child\n" * 4)
    words = [{"T": str(text_file), "G": "g.csv"}.get(word, word) for word in command.split()]
    options = ["--encoder", tiny_bert, "--max-tokens", "24", "--blend", blend, "--out", "run"]
    assert train(*words, *options) == 2
    assert (
        f"--blend {blend:g}: {words[0]} adds a {layer} to the encoder, whose weights"
        in capsys.readouterr().err
    )
    assert not Path("run").exists()


def test_lower_casing_by_the_settings_alone_is_saved(tiny_bert: Path, text_file: Path, tmp_path: Path) -> None:
    folder = written(tmp_path / "lower", tiny_bert)
    for name in ("tokenizer_config.json", "sentence_bert_config.json"):
        edited(folder / name, do_lower_case=name == "sentence_bert_config.json")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    edited(folder / "tokenizer.json", normalizer={**tokenizer["normalizer"], "lowercase": False})
    options = ["--encoder", folder, "--text", text_file, "--batch-size", 8, "--steps", 1, "--lr", 1e-9]
    for name in ("contrastive --preset simcse --pooling mean", "mlm"):
        out = tmp_path / name.partition(" ")[0]
        assert train(*name.split(), *options, "--max-tokens", 24, "--out", out) == 0
        assert plain(out).tokenizer.tokenize("Two DOGS") == plain(folder).tokenizer.tokenize("two dogs")


def test_an_encoder_whose_files_give_other_vectors_is_not_saved(tiny_bert: Path, tmp_path: Path) -> None:
    class Doubled(Dense):
        """A layer that does more than its configuration says, as a patched one does."""

        def forward(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            output: dict[str, torch.Tensor] = super().forward(features)
            return {**output, "sentence_embedding": 2 * output["sentence_embedding"]}

    layer = Doubled(16, 16, activation_function=torch.nn.Identity())
    Doubled.__module__, Doubled.__qualname__, Doubled.__name__ = Dense.__module__, "Dense", "Dense"
    encoder = SentenceTransformer(
        modules=[Transformer(str(tiny_bert)), Pooling(16, "mean"), layer], device="cpu"
    )
    with pytest.raises(TwinviewsError, match="its files give other vectors"):
        save_encoder(encoder, tmp_path / "out", "# card")
    assert [*(tmp_path / "out").iterdir()] == []


@pytest.mark.parametrize(
    "command",
    [
        "contrastive --preset tuned --epochs 0",
        "distil --preset adapt",
        "contrastive --preset simcse --keep-head",
    ],
)
def test_vectors_of_length_1_stay_so_behind_a_new_layer(
    command: str, tiny_bert: Path, text_file: Path, sentences: list[str], tmp_path: Path
) -> None:
    unit, bare = written(tmp_path / "unit", tiny_bert, Normalize()), written(tmp_path / "free", tiny_bert)
    options = ["--text", text_file, "--max-tokens", 24, "--pooling", "mean", "--batch-size", 8]
    for start in (unit, bare):
        assert (
            train(*command.split(), *options, "--encoder", start, "--out", tmp_path / start.name / "run") == 0
        )
    lengths, others = (
        np.linalg.norm(plain(start / "run").encode(sentences), axis=1) for start in (unit, bare)
    )
    np.testing.assert_allclose(lengths, 1, atol=1e-5)
    assert np.abs(others - 1).max() > 0.01


def old_layout(folder: Path, encoder: Path) -> Path:
    """A pickle in 0_Transformer and a Dense layer of safetensors, as sentence-transformers 0.3 to 1 saved them."""
    written(folder, encoder, Dense(16, 16))
    transformer = folder / "0_Transformer"
    transformer.mkdir()
    for path in [path for path in folder.iterdir() if path.is_file() and path.name != "modules.json"]:
        path.rename(transformer / path.name)
    weights = transformer / "model.safetensors"
    torch.save(plain(encoder)[0].model.state_dict(), transformer / "pytorch_model.bin")
    weights.unlink()
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


def test_every_file_that_decides_a_vector_is_in_the_revision(tiny_bert: Path, tmp_path: Path) -> None:
    folder = old_layout(tmp_path / "old", tiny_bert)
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {}}))

    def identity() -> str | None:
        return load_model(str(folder)).revision

    seen = {identity()}
    weights = folder / "0_Transformer" / "pytorch_model.bin"
    state = torch.load(weights, weights_only=True)
    torch.save({name: tensor * 1.5 for name, tensor in state.items()}, weights)
    seen.add(identity())
    edited(folder / "1_Pooling" / "config.json", pooling_mode="cls")
    seen.add(identity())
    edited(folder / "config_sentence_transformers.json", prompts={"query": "find: "})
    seen.add(identity())
    edited(folder / "0_Transformer" / "tokenizer_config.json", model_max_length=20)
    seen.add(identity())
    assert len(seen) == 5
    (folder / "README.md").write_text("# notes")
    (folder / "judge-table.json").write_text("{}")
    assert identity() in seen, "notes and results decide nothing"
