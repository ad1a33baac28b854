from pathlib import Path

import numpy as np
import numpy_reference as reference
import pytest
import torch
from objective_cases import build, pairs, rows_of
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense
from torch import nn

import trainers.embedding.model
from pipelines.console import InputError
from trainers.embedding.model import load_teacher
from trainers.encoders.loading import load_for_training, save_encoder
from trainers.encoders.location import locate
from trainers.objectives.distil import PARAMS, Distil


@pytest.fixture(scope="module")
def wide(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers directory of 24 dimensions, by its first token: a teacher for the students of 16."""
    folder = tmp_path_factory.mktemp("wide")
    torch.manual_seed(5)
    encoder = load_for_training(locate(str(tiny_bert)), "cls", 24)
    encoder.append(Dense(16, 24, activation_function=nn.Tanh()))
    save_encoder(encoder, folder, "card")
    return folder


def objective_of(student: Path, teacher: Path, preset: str) -> Distil:
    return build("distil", student, preset, teacher=str(teacher), queue=10, batch_size=4, dropout=0.0).train()


@pytest.mark.parametrize("preset", ["congen", "sct"])
def test_losses_of_several_batches_equal_the_equation_in_numpy(
    preset: str, tiny_bert: Path, wide: Path, sentences: list[str], tmp_path: Path
) -> None:
    objective = objective_of(tiny_bert, wide, preset)
    rows = rows_of(objective, pairs(sentences[:12], sentences[24:36]), folder=tmp_path)
    teacher = SentenceTransformer(str(wide), device="cpu")
    queues = [list(queue.vectors.double().numpy()) for queue in objective.queues]
    assert len(queues) == (1 if preset == "congen" else 2)
    for start in (0, 4, 8):
        batch = objective.collate([rows[row] for row in range(start, start + 4)])
        first, second = sentences[start : start + 4], sentences[24 + start : 28 + start]
        student = objective.embed(batch["input_ids"], batch["attention_mask"]).detach().double().numpy()
        if preset == "congen":
            expected = reference.congen(student, teacher.encode(first).astype(float), queues[0], 0.07, 0.05)
        else:
            expected = reference.sct(student, teacher.encode(first + second).astype(float), queues, 0.05, 0.04)
        assert objective(**batch)["loss"].item() == pytest.approx(expected, rel=5e-6)
    for queue, expected_rows in zip(objective.queues, queues, strict=True):
        np.testing.assert_allclose(queue.vectors, np.array(expected_rows), atol=1e-5)


def test_rows_in_the_queue_are_not_trained_on(
    tiny_bert: Path, wide: Path, sentences: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objective = objective_of(tiny_bert, wide, "congen")
    examples = pairs(sentences[:20], sentences[24:44])
    columns = objective.columns(examples)
    assert "10 of 20 rows fill the queue and are not trained on" in capsys.readouterr().err
    trained = {objective.texts[number] for (number,) in columns["taught"]}
    objective.before_training(tmp_path)
    teacher = load_teacher(str(wide), None).encoder.encode(examples.left)
    teacher /= np.linalg.norm(teacher, axis=1, keepdims=True)
    in_queue = {
        text
        for text, vector in zip(examples.left, teacher, strict=True)
        if np.abs(objective.queues[0].vectors.numpy() - vector).max(axis=1).min() < 1e-5
    }
    assert len(in_queue) == len(trained) == 10
    assert in_queue | trained == set(examples.left)
    assert all(len(column) == 10 for column in columns.values())


@pytest.mark.parametrize(
    ("rows", "queue", "method", "held"),
    [(300, 100, "congen", 100), (200, 100, "congen", 100), (199, 100, "congen", 0), (99, 40, "congen", 0),
     (300, 100, "sct", 0), (300, 0, "congen", 0)],
)  # fmt: skip
def test_rows_are_held_out_while_as_many_and_a_batch_are_left(rows: int, queue: int, method: str, held: int) -> None:
    assert PARAMS(teacher="x", queue=queue, method=method).held_out(rows, 64) == held


@pytest.mark.parametrize(
    ("preset", "teacher", "layers"),
    [("congen", "wide", 1), ("congen", "same", 1), ("sct", "wide", 1), ("sct", "same", 0)],
)
def test_student_has_a_dense_layer_with_tanh_where_the_papers_give_it_one(
    preset: str, teacher: str, layers: int, tiny_bert: Path, wide: Path, sentences: list[str], tmp_path: Path
) -> None:
    objective = objective_of(tiny_bert, wide if teacher == "wide" else tiny_bert, preset)
    assert len(objective.encoder) == 2 + layers
    assert objective.dimension == (24 if teacher == "wide" else 16)
    objective.save(tmp_path / "saved", "card")
    saved = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert [type(module).__name__ for module in saved] == ["Transformer", "Pooling", *["Dense"] * layers]
    assert all(isinstance(module.activation_function, nn.Tanh) for module in list(saved)[2:])
    expected = objective.encode(sentences)
    torch.testing.assert_close(torch.as_tensor(saved.encode(sentences)), expected, atol=1e-5, rtol=0)
    again = objective_of(tmp_path / "saved", wide, "congen")
    assert again.dimension == 24
    assert len(again.encoder) == 2 + (1 if layers and teacher == "wide" else layers + 1)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the texts that teachers encode from now on."""
    calls: list[int] = []
    encode = trainers.embedding.model.EmbeddingModel.encode

    def spied(self: object, texts: list[str], *rest: object) -> object:
        calls.append(len(texts))
        return encode(self, texts, *rest)

    monkeypatch.setattr(trainers.embedding.model.EmbeddingModel, "encode", spied)
    return calls


def test_vectors_are_computed_once_and_kept_and_another_teacher_of_the_same_name_is_refused(
    wide: Path, sentences: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counted(monkeypatch)
    made = [np.array(load_teacher(str(wide), None).vectors(sentences, tmp_path)) for _ in range(2)]
    assert calls == [len(sentences)]
    np.testing.assert_array_equal(made[0], made[1])
    expected = SentenceTransformer(str(wide), device="cpu").encode(sentences, normalize_embeddings=True)
    np.testing.assert_allclose(made[0], expected, atol=1e-5)
    with pytest.raises(InputError, match="its weights or pooling are not what this run began with"):
        load_teacher(str(wide), "mean").vectors(sentences, tmp_path)


def test_killed_teacher_resumes_where_it_was(
    wide: Path, sentences: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import trainers.embedding.vectors

    monkeypatch.setattr(trainers.embedding.vectors, "CHUNK", 16)
    calls = counted(monkeypatch)
    check = trainers.embedding.vectors.check

    def cut(matrix: object, *rest: object) -> None:
        check(matrix, *rest)
        if len(calls) == 3:
            raise KeyboardInterrupt

    teacher = load_teacher(str(wide), None)
    with monkeypatch.context() as power:
        power.setattr(trainers.embedding.vectors, "check", cut)
        with pytest.raises(KeyboardInterrupt):
            teacher.vectors(sentences, tmp_path)
    calls.clear()
    load_teacher(str(wide), None).vectors(sentences, tmp_path)
    assert calls == [16]
    assert [path.suffix for path in tmp_path.iterdir()] == [".npy"]


def test_a_teacher_must_be_given_and_be_there(tiny_bert: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--teacher: field required"):
        build("distil", tiny_bert)
    with pytest.raises(InputError, match="no model directory"):
        objective_of(tiny_bert, tmp_path / "nowhere", "congen")
