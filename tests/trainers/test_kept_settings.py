"""What an encoder is besides its weights: prompts, truncation, similarity, which a training uses and keeps."""

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
from small_trainings import build, encoder_of, pairs, rows_of, train, trained

from trainers.encoders.model import load_model
from trainers.encoders.vectors import Vectors
from trainers.scores.dev_set import dev_score, read_dev
from trainers.scores.tables.judge import read_judge
from trainers.settings import objective_names

SETTINGS = {
    "prompts": {"task": "the old man reads ", "query": "a man ", "document": ""},
    "default_prompt_name": "task",
    "truncate_dim": 5,
    "similarity_fn_name": "dot",
}


def settings_of(encoder: SentenceTransformer) -> dict[str, object]:
    values = {name: getattr(encoder, name) for name in SETTINGS}
    return {**values, "include_prompt": encoder[1].include_prompt}


@pytest.fixture(scope="module")
def made(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder with everything that a plain one lacks, and text lengths of its own."""
    folder = tmp_path_factory.mktemp("made")
    parts = [Transformer(str(tiny_bert)), Pooling(16, "mean", include_prompt=False), Dense(16, 8)]
    SentenceTransformer(modules=parts, device="cpu", **SETTINGS).save_pretrained(
        str(folder), create_model_card=False
    )
    return folder


def plain(folder: Path) -> SentenceTransformer:
    return SentenceTransformer(str(folder), device="cpu")


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_what_is_trained_is_encoded_as_the_plain_loader_does(
    pooling: str, made: Path, sentences: list[str]
) -> None:
    expected = plain(made)
    expected[1].pooling_mode = pooling
    vectors = encoder_of(made, pooling).encode(sentences)
    np.testing.assert_allclose(vectors, expected.encode(sentences), atol=1e-5)
    assert vectors.shape[1] == 5


def test_every_training_text_gets_the_default_prompt(made: Path, sentences: list[str]) -> None:
    objective = build("contrastive", made)
    sides = rows_of(objective, pairs(sentences)).columns.sides
    expected = [
        objective.encoder.tokenizer(SETTINGS["prompts"]["task"] + text)["input_ids"] for text in sentences
    ]  # type: ignore[index]
    assert [[*map(list, ids)] for ids in sides] == [expected, expected]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.exhaustive] * (name != "bsl"))
        for name in sorted(set(objective_names()) - {"mlm", "isbert", "regression"})
    ],
)
def test_a_training_keeps_all_of_it(name: str, made: Path, sentences: list[str], tmp_path: Path) -> None:
    """The others put other layers behind the transformer, or are no training without labels."""
    objective, _ = trained(name, made, sentences, tmp_path / "run", pooling="mean", epochs=1)
    objective.save(tmp_path / "saved", "")
    saved = plain(tmp_path / "saved")
    assert settings_of(saved) == settings_of(plain(made))
    np.testing.assert_allclose(saved.encode(sentences), objective.encode(sentences), atol=1e-5)


@pytest.mark.parametrize("name", ["mlm", "isbert", "regression"])
def test_so_do_trainings_with_layers_of_their_own(name: str, tiny_bert: Path, tmp_path: Path) -> None:
    parts = [Transformer(str(tiny_bert)), Pooling(16, "mean", include_prompt=False)]
    source = SentenceTransformer(modules=parts, device="cpu", **SETTINGS)
    source.save_pretrained(str(tmp_path / "source"), create_model_card=False)
    build(name, tmp_path / "source", pooling="mean").save(tmp_path / "saved", "")
    saved = plain(tmp_path / "saved")
    assert {name: getattr(saved, name) for name in SETTINGS} == {
        name: getattr(source, name) for name in SETTINGS
    }
    assert not all(getattr(module, "include_prompt", True) for module in saved)


def test_no_step_changes_no_score(made: Path, text_file: Path, sentences: list[str], tmp_path: Path) -> None:
    lines = [
        f"{one}\t{other}\t{place % 4}"
        for place, (one, other) in enumerate(zip(sentences, sentences[3:], strict=False))
    ]
    Path("judge.tsv").write_text("\n".join(["text1\ttext2\tgrade", *lines]) + "\n", encoding="utf-8")
    options = [
        "--preset",
        "adapt",
        "--text",
        text_file,
        "--encoder",
        made,
        "--max-tokens",
        "32",
        "--epochs",
        "0",
        "--out",
        "zero",
    ]
    assert train("contrastive", *options) == 0
    (task,) = read_judge("judge.tsv").tasks
    texts = list(dict.fromkeys(task.texts))
    vectors = [load_model(str(folder)).encode(texts) for folder in (made, Path("zero"))]
    assert np.array_equal(*vectors)
    assert settings_of(plain(Path("zero"))) == settings_of(plain(made))
    expected = plain(made).encode(texts)
    np.testing.assert_allclose(vectors[0], expected, atol=1e-5)
    judged = task.score(Vectors({text: row for row, text in enumerate(texts)}, vectors[0]), 1).metrics["score"]
    by_training = dev_score(read_dev("judge.tsv", None), encoder_of(made).encoder)
    assert by_training == pytest.approx(judged, abs=0.5), "two cosines that round alike may change places"


def test_a_layer_behind_a_truncated_encoder_takes_all_of_its_numbers(
    made: Path, tiny_bert: Path, sentences: list[str]
) -> None:
    head = build("contrastive", made, keep_head=True, whiten=True, pooling="mean")
    assert head.encode(sentences).shape == (len(sentences), 5)
    plain_teacher = build("distil", made, teacher=str(made), pooling="mean", method="sct").encoder
    assert (len(plain_teacher), plain_teacher.truncate_dim) == (3, 5)
    student = build("distil", made, teacher=str(tiny_bert), pooling="mean")
    assert student.encode(sentences).shape == (len(sentences), 16), "as long as the teacher's"
