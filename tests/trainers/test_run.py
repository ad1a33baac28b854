import json
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer

from pipelines.console import InputError
from trainers.catalogue import load_objective
from trainers.data.kinds import DataOptions
from trainers.encoders.location import Source, locate
from trainers.settings import Training
from trainers.training.directory import FREE
from trainers.training.run import Request, model_card, run_training

GIVEN = {"batch_size": 8, "max_tokens": 24, "lr": 1e-2, "precision": "fp32"}


@pytest.fixture
def dev_file(sentences: list[str], tmp_path: Path) -> Path:
    pairs = zip(sentences, sentences[5:], strict=False)
    lines = [f"{row % 6}\t{one}\t{other}" for row, (one, other) in enumerate(pairs)]
    path = tmp_path / "dev.tsv"
    path.write_text("score\tsentence1\tsentence2\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def train(text: Path, encoder: Path, out: Path, **given: object) -> None:
    request = Request(objective="mirror", data=DataOptions(text=text), out=out, encoder=str(encoder))
    run_training(request, load_objective("mirror"), {**GIVEN, **given})


def test_run_with_a_development_set_saves_its_best_and_other_places_of_its_data_are_the_same_run(
    text_file: Path, tiny_bert: Path, dev_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, moved, other = tmp_path / "run", tmp_path / "moved.tsv", tmp_path / "other.tsv"
    train(text_file, tiny_bert, out, dev=str(dev_file), evaluations=3)
    said = capsys.readouterr().out
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    scores = {line["step"]: line["dev"] for line in lines if "dev" in line}
    start = scores.pop(0)
    best = max(scores, key=lambda step: scores[step])
    assert set(scores) == {2, 4, 6}
    assert f"dev {scores[best]:.2f} at step {best} (untrained {start:.2f})" in said
    assert f"dev.tsv: {scores[best]:.2f}; untrained it was {start:.2f}." in (out / "README.md").read_text()
    assert SentenceTransformer(str(out), device="cpu").encode(["a dog"]).shape == (1, 16)
    assert not (out / "checkpoints").exists()
    recipe = json.loads((out / "recipe.json").read_text())
    assert (recipe["dev"], recipe["evaluations"], recipe["keep"]) == (str(dev_file), 3, "best")
    moved.write_text(dev_file.read_text())
    other.write_text(dev_file.read_text().replace("\n5\t", "\n4\t"))
    train(text_file, tiny_bert, out, dev=str(moved), evaluations=3, save_every=7, gradient_checkpointing=True)
    assert "is already finished with this recipe" in capsys.readouterr().out
    with pytest.raises(InputError, match="dev_xxh64 of this run was"):
        train(text_file, tiny_bert, out, dev=str(other), evaluations=3)
    with pytest.raises(InputError, match="patience was None, is now 2"):
        train(text_file, tiny_bert, out, dev=str(dev_file), evaluations=3, patience=2)


def test_what_may_differ_between_resumptions_is_an_option() -> None:
    assert {*Training.model_fields, *DataOptions.model_fields} >= FREE


def test_card_shows_lists_and_bars_readably_and_the_licence_of_the_encoder(tmp_path: Path) -> None:
    recipe = {
        "command": "bsl", "twinviews": {"rows": 1234, "version": "9"}, "encoder": None, "pooling": "mean",
        "views": ["a.arrow", "b|c.arrow"], "limit": None,
    }  # fmt: skip
    card = model_card(recipe, 7, {}, locate(None))
    assert "the Twinviews starter encoder, trained for 7 steps on 1,234 rows without labels by\nTwinviews 9 (" in card
    assert "|---|---|\n| encoder |" not in card
    assert "\n| pooling | mean |\n| views | a.arrow, b\\|c.arrow |\n\n`recipe.json` holds" in card
    assert card.startswith("---\nlicense: apache-2.0\nlibrary_name: ")
    (tmp_path / "README.md").write_text("---\nlicense: [\n---\n")
    assert model_card(recipe, 7, {}, Source("x", str(tmp_path))).startswith("---\nlibrary_name: ")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_recipe_names_the_precision_that_auto_took_and_another_machine_s_is_refused(
    text_file: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: {"amx_bf16": True})
    train(text_file, tiny_bert, out, precision="auto")
    assert json.loads((out / "recipe.json").read_text())["precision"] == "bf16"
    monkeypatch.setattr("torch.cpu.get_capabilities", dict)
    said = r"\(precision was 'bf16', is now 'fp32'\): use --overwrite, change it back"
    with pytest.raises(InputError, match=said):
        train(text_file, tiny_bert, out, precision="auto")
    train(text_file, tiny_bert, out, precision="bf16")
