"""Objectives that follow a teacher or themselves: SCT, distillation; against their equations in NumPy."""

import resource
from pathlib import Path

import numpy as np
import numpy_reference as reference
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense
from small_trainings import Capsys, batch_of, build, pairs, rows_of
from torch import nn

import trainers.encoders.model
import trainers.encoders.vectors
from pipelines.base.console import TwinviewsError
from trainers.encoders.linear import fit_linear
from trainers.encoders.loading import load_for_training, save_encoder
from trainers.encoders.location import locate
from trainers.encoders.model import load_model
from trainers.encoders.vectors import smooth
from trainers.networks.distil import Distil
from trainers.networks.sct import Sct


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
def test_losses_of_batches(
    preset: str, tiny_bert: Path, wide: Path, sentences: list[str], tmp_path: Path
) -> None:
    objective = objective_of(tiny_bert, wide, preset)
    rows = rows_of(objective, pairs(sentences[:12], sentences[24:36]), folder=tmp_path)
    teacher = SentenceTransformer(str(wide), device="cpu")
    queues = [list(queue.vectors.double().numpy()) for queue in objective.queues]
    assert len(queues) == (1 if preset == "congen" else 2)
    for start in (0, 4, 8):
        batch = objective.collate(rows.batch(range(start, start + 4)))
        first, second = sentences[start : start + 4], sentences[24 + start : 28 + start]
        student = objective.embed(batch["input_ids"], batch["attention_mask"]).detach().double().numpy()
        if preset == "congen":
            expected = reference.congen(student, teacher.encode(first).astype(float), queues[0], 0.07, 0.05)
        else:
            expected = reference.sct(student, teacher.encode(first + second).astype(float), queues, 0.05, 0.04)
        assert objective(**batch)["loss"].item() == pytest.approx(expected, rel=5e-6)
    for queue, expected_rows in zip(objective.queues, queues, strict=True):
        np.testing.assert_allclose(queue.vectors, np.array(expected_rows), atol=1e-5)


@pytest.mark.parametrize("sampled", [False, True])
def test_vectors_are_smoothed_by_their_neighbours(sampled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = reference.unit(np.random.default_rng(0).normal(size=(300, 8)))
    smoothed = smooth(vectors.astype(np.float32), 5)
    np.testing.assert_allclose(smoothed, reference.smoothed(vectors, 5), atol=1e-6)
    if sampled:  # every third text, and no text is its own neighbour
        monkeypatch.setattr(trainers.encoders.vectors, "MAX_SMOOTHED", 100)
        rows = np.linspace(0, 299, 100).astype(int)
        expected = reference.smoothed(vectors[rows], 5)
        np.testing.assert_allclose(smooth(vectors.astype(np.float32), 5)[rows], expected, atol=1e-6)


def test_a_layer_sharpens_neighbourhoods() -> None:
    vectors = np.random.default_rng(1).normal(size=(200, 6)) * [3, 2, 1, 1, 1, 1] + 1
    units = reference.unit(vectors)
    layer = Dense(6, 6, activation_function=nn.Identity())
    for scale in (1.0, 7.0):  # the map does not depend on the vectors' scale
        inputs = torch.from_numpy(units * scale).float()
        fit_linear(layer, inputs, 4)
        outputs = layer({"sentence_embedding": inputs})["sentence_embedding"].detach().numpy()
        np.testing.assert_allclose(outputs, reference.sharpened(units, 4), atol=2e-4)
    weight = layer.linear.weight.clone()
    fit_linear(layer, torch.ones(9, 6), 4)  # equal vectors have no neighbourhoods
    torch.testing.assert_close(layer.linear.weight, weight)
    with pytest.raises(TwinviewsError, match="NaN or infinity"):
        fit_linear(layer, torch.full((9, 6), torch.nan), 4)


def test_an_encoder_adapts_itself(tiny_bert: Path, sentences: list[str], tmp_path: Path) -> None:
    objective = build(
        "distil", tiny_bert, "adapt", pooling="mean", batch_size=4, smooth_neighbours=3, dropout=0.0
    ).train()
    assert [type(module).__name__ for module in objective.encoder] == ["Transformer", "Pooling", "Dense"]
    texts = sentences[:12]
    rows = rows_of(objective, pairs(texts), folder=tmp_path)
    untouched = SentenceTransformer(str(tiny_bert), device="cpu").encode(texts).astype(float)
    teacher = reference.smoothed(reference.unit(untouched), 3)
    batch = objective.collate(rows.batch(range(4)))
    student = objective.embed(batch["input_ids"], batch["attention_mask"]).detach().double().numpy()
    halves = [
        reference.relation_loss(reference.unit(half), teacher[:4], teacher, 0.05, 0.05, divergence=False)
        for half in (student[:4], student[4:])
    ]
    for _ in range(2):  # the queue stays as it is
        assert objective(**batch)["loss"].item() == pytest.approx(sum(halves) / 2, rel=5e-6)


def test_a_full_disk_leaves_no_vectors_that_are_cut(wide: Path, sentences: list[str], tmp_path: Path) -> None:
    teacher = load_model(str(wide))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # twenty vectors of 24 dimensions take more
    try:
        with pytest.raises(TwinviewsError, match="cannot be written"):
            teacher.unit_vectors(sentences[:20], tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert teacher.unit_vectors(sentences[:20], tmp_path).shape == (20, 24)


def test_rows_in_the_queue_are_not_trained_on(
    tiny_bert: Path, wide: Path, sentences: list[str], tmp_path: Path, capsys: Capsys
) -> None:
    objective = objective_of(tiny_bert, wide, "congen")
    examples = pairs(sentences[:20], sentences[24:44])
    columns = objective.columns(examples)
    assert "10 of 20 rows fill the queue and are not trained on" in capsys.readouterr().err
    trained = {objective.texts[number] for (number,) in columns.values["taught"]}
    objective.before_training(tmp_path)
    teacher = load_model(str(wide)).encode(examples.left)
    teacher /= np.linalg.norm(teacher, axis=1, keepdims=True)
    in_queue = {
        text
        for text, vector in zip(examples.left, teacher, strict=True)
        if np.abs(objective.queues[0].vectors.numpy() - vector).max(axis=1).min() < 1e-5
    }
    assert len(in_queue) == len(trained) == 10
    assert in_queue | trained == set(examples.left)
    assert all(len(column) == 10 for column in (*columns.sides, *columns.values.values()))


@pytest.mark.parametrize(
    ("preset", "teacher", "layers"),
    [("congen", "wide", 1), ("congen", "same", 1), ("sct", "wide", 1), ("sct", "same", 0)],
)
def test_dense_layer(
    preset: str, teacher: str, layers: int, tiny_bert: Path, wide: Path, tmp_path: Path
) -> None:
    objective = objective_of(tiny_bert, wide if teacher == "wide" else tiny_bert, preset)
    assert len(objective.encoder) == 2 + layers
    assert objective.dimension == (24 if teacher == "wide" else 16)
    objective.save(tmp_path / "saved", "card")
    saved = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert [type(module).__name__ for module in saved] == ["Transformer", "Pooling", *["Dense"] * layers]
    assert all(isinstance(module.activation_function, nn.Tanh) for module in list(saved)[2:])
    again = objective_of(tmp_path / "saved", wide, "congen")
    assert again.dimension == 24
    assert len(again.encoder) == 2 + (1 if layers and teacher == "wide" else layers + 1)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the texts that teachers encode from now on."""
    calls: list[int] = []
    encode = trainers.encoders.model.EmbeddingModel.encode

    def spied(self: object, texts: list[str], *rest: object) -> object:
        calls.append(len(texts))
        return encode(self, texts, *rest)

    monkeypatch.setattr(trainers.encoders.model.EmbeddingModel, "encode", spied)
    return calls


def test_vectors_are_kept(
    wide: Path, sentences: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counted(monkeypatch)
    made = [np.array(load_model(str(wide)).unit_vectors(sentences, tmp_path)) for _ in range(2)]
    assert calls == [len(sentences)]
    np.testing.assert_array_equal(made[0], made[1])
    expected = SentenceTransformer(str(wide), device="cpu").encode(sentences, normalize_embeddings=True)
    np.testing.assert_allclose(made[0], expected, atol=1e-5)


@pytest.mark.exhaustive
def test_killed_teacher(
    wide: Path, sentences: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainers.encoders.model, "CHUNK", 16)
    calls = counted(monkeypatch)
    check = trainers.encoders.model.check

    def cut(matrix: object, *rest: object) -> None:
        check(matrix, *rest)
        if len(calls) == 3:
            raise KeyboardInterrupt

    teacher = load_model(str(wide))
    with monkeypatch.context() as power:
        power.setattr(trainers.encoders.model, "check", cut)
        with pytest.raises(KeyboardInterrupt):
            teacher.unit_vectors(sentences, tmp_path)
    calls.clear()
    load_model(str(wide)).unit_vectors(sentences, tmp_path)
    assert calls == [16]
    assert [path.suffix for path in tmp_path.iterdir()] == [".npy"]


def sct_of(encoder: Path, **given: object) -> Sct:
    return build("sct", encoder, "paper", width=2, queue=10, **given).train()


@pytest.mark.parametrize("norm", ["batch", "none"])
def test_sct_s_losses_of_several_batches_equal_the_equation(
    norm: str, tiny_bert: Path, sentences: list[str]
) -> None:
    objective = sct_of(tiny_bert, norm=norm, dropout=0.0)
    queues = [list(queue.vectors.double().numpy()) for queue in (objective.d1, objective.d2)]
    for start in range(0, 24, 6):
        batch = batch_of(objective, pairs(sentences[start : start + 6], sentences[start + 6 : start + 12]))
        vectors = objective.embed(**batch)
        z = objective.projector(vectors).detach().double().numpy()
        r = vectors.detach().double().numpy()
        expected = reference.sct(z, r, queues, 0.05, 0.04)
        outputs = objective(**batch)
        assert outputs["loss"].item() == pytest.approx(expected, rel=2e-6)
        torch.testing.assert_close(outputs["vectors"], vectors)
    for queue, rows in zip((objective.d1, objective.d2), queues, strict=True):
        np.testing.assert_allclose(queue.vectors, np.array(rows), atol=1e-6)


def test_references_get_no_gradient(tiny_bert: Path, sentences: list[str]) -> None:
    """The gradient at the encoder is that of the online branch alone, the references being constants."""
    objective = sct_of(tiny_bert, dropout=0.0, norm="none")
    batch = batch_of(objective, pairs(sentences[:6], sentences[6:12]))
    start = [objective.d1.vectors.clone(), objective.d2.vectors.clone()]
    objective(**batch)["loss"].backward()
    found = {
        name: value.grad.clone() for name, value in objective.named_parameters() if value.grad is not None
    }
    assert any(name.startswith("projector.") for name in found)
    objective.zero_grad()
    vectors = objective.embed(**batch)
    r1, r2 = nn.functional.normalize(vectors.detach().clone(), dim=-1).chunk(2)
    z1, z2 = nn.functional.normalize(objective.projector(vectors), dim=-1).chunk(2)
    loss = 0.0
    for z, r, queue in ((z1, r2, start[1]), (z2, r1, start[0])):
        columns = torch.cat([queue, r])
        p, q = (r @ columns.T / 0.04).softmax(1), (z @ columns.T / 0.05).softmax(1)
        loss = loss + (p * (p / q).log()).sum(1).mean() / 2
    loss.backward()
    expected = {name: value.grad for name, value in objective.named_parameters() if value.grad is not None}
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
