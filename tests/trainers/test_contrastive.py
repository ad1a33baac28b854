from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy_reference as reference
import pytest
import torch
from numpy.typing import NDArray
from pytorch_metric_learning.losses import SupConLoss
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
from small_trainings import batch_of, build

from pipelines.base.console import InputError
from trainers.data.examples import Examples
from trainers.encoders.location import locate
from trainers.networks.contrastive import Contrastive
from trainers.objectives.contrastive import PARAMS, PRESETS
from trainers.settings import resolve


def views_of(sentences: list[str]) -> Examples:
    return Examples(sentences[:8], sentences[8:16], sentences[16:24])


def test_both_presets_equal_their_equations_over_the_encoders_vectors(
    tiny_bert: Path, sentences: list[str]
) -> None:
    for preset, equation in (("bsl", reference.nt_xent), ("simcse", reference.one_sided)):
        objective = build("contrastive", tiny_bert, preset, twice=False).eval()
        outputs = objective(**batch_of(objective, views_of(sentences)))
        vectors = outputs["vectors"].double().numpy()
        if preset == "simcse":
            linear = objective.head[0]
            vectors = np.tanh(vectors @ linear.weight.detach().double().numpy().T)
        assert outputs["loss"].item() == pytest.approx(equation(vectors, 0.05), rel=1e-4)


NEGATIVES = ["a dog", "", "the dog", "a fish", "", "the cat"]
"""Of rows 0 to 5; "a dog" is row 0's own source, "the cat" is row 1's positive."""


def with_negatives() -> Examples:
    animals = ("dog", "cat", "dog", "bird", "horse", "child")
    texts = [f"a {animal}" for animal in animals]
    return Examples(texts, texts, [f"the {animal}" for animal in animals], 0, None, [NEGATIVES])


def left_out_by_hand(examples: Examples) -> set[tuple[int, int]]:
    """Pairs (i, j) where row j is not a negative of anchor i, found by comparing the strings."""
    n = len(examples)
    strings = [*examples.left, *examples.right]
    sources = [*examples.texts, *examples.texts]
    found = set()
    for i in range(2 * n):
        own = {strings[i], strings[(i + n) % (2 * n)]}
        found |= {(i, j) for j in range(2 * n) if strings[j] in own or sources[j] == sources[i]}
        found |= {
            (i, 2 * n + j) for j, text in enumerate(examples.negatives[0]) if text in {*own, sources[i], ""}
        }
    return found


@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize(("preset", "equation"), [("bsl", reference.nt_xent), ("simcse", reference.one_sided)])
def test_negatives(
    preset: str, equation: Callable[..., float], guided: bool, tiny_bert: Path, tmp_path: Path
) -> None:
    examples = with_negatives()
    given = {"guide": str(tiny_bert)} if guided else {}
    objective = build("contrastive", tiny_bert, preset, twice=False, head=False, **given).eval()
    batch = batch_of(objective, examples, folder=tmp_path)
    vectors = objective.embed(batch["input_ids"], batch["attention_mask"]).detach().double().numpy()
    assert len(vectors) == 18
    left_out = left_out_by_hand(examples)
    if guided:
        texts = [*examples.left, *examples.right, *(text or "-" for text in NEGATIVES)]
        guide = SentenceTransformer(str(tiny_bert), device="cpu").encode(texts, normalize_embeddings=True)
        more = {
            (i, j)
            for i in range(12)
            for j in range(18)
            if guide[i] @ guide[j] > guide[i] @ guide[(i + 6) % 12]
        }
        assert more - left_out
        left_out |= more
    expected = equation(vectors[:12], 0.05, left_out, vectors[12:])
    outputs = objective(**batch)
    assert outputs["loss"].item() == pytest.approx(expected, rel=1e-5)
    assert len(outputs["vectors"]) == 12
    assert expected != pytest.approx(equation(vectors[:12], 0.05, left_out), rel=1e-3)


def test_retained_vectors_are_held_where_they_were(
    tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    for given in ({"guide": "GUIDE"}, {"keep_head": True}):
        with pytest.raises(InputError, match="the encoder as it is now is the guide"):
            build("contrastive", tiny_bert, "adapt", **given)
    objective = build("contrastive", tiny_bert, "adapt", retain=2.0, dropout=0.0)
    batch = batch_of(objective, views_of(sentences), folder=tmp_path)
    plain = build(
        "contrastive", tiny_bert, "adapt", retain=0.0, guide=str(tiny_bert), pooling="cls", dropout=0.0
    )
    assert objective(**batch)["moved"].item() == pytest.approx(0, abs=1e-6)
    start = objective.embed(batch["input_ids"], batch["attention_mask"]).detach()
    for value in objective.encoder.parameters():
        value.data.mul_(1.1)
    outputs = objective(**batch)
    vectors = objective.embed(batch["input_ids"], batch["attention_mask"]).detach()
    moved = np.mean(1 - (reference.unit(vectors.numpy()) * reference.unit(start.numpy())).sum(axis=1))
    assert outputs["moved"].item() == pytest.approx(moved, rel=1e-4)
    assert outputs["loss"].item() == pytest.approx(outputs["contrast"].item() + 2 * moved, rel=1e-5)
    plain.load_state_dict(objective.state_dict())
    assert plain(**batch)["loss"].item() == pytest.approx(outputs["contrast"].item(), rel=1e-6)


def test_retained_vectors_are_those_of_the_start(
    tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    """With another pooling before the Dense layer, few tokens, and a folder here that has the encoder's name."""
    torch.manual_seed(3)
    modules = [Transformer(str(tiny_bert)), Pooling(16, "mean"), Dense(16, 6)]
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(tmp_path / "dense"))
    (tmp_path / "starter").mkdir()
    _, training, params = resolve(
        PRESETS, PARAMS, "adapt", {"pooling": "cls", "max_tokens": 5, "dropout": 0.0}
    )
    objective = Contrastive(params, training, replace(locate("dense"), name="starter"))
    batch = batch_of(objective, views_of(sentences), folder=tmp_path)
    assert objective(**batch)["moved"].item() == pytest.approx(0, abs=1e-6)


def test_related_views_keep_their_cosines_and_the_start_is_no_guide(tiny_bert: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give one of them"):
        build("contrastive", tiny_bert, "contradiction", retain=1.0)
    examples = with_negatives()
    objective = build("contrastive", tiny_bert, "contradiction", relate=3.0, dropout=0.0)
    batch = batch_of(objective, examples, folder=tmp_path)
    start = reference.unit(objective.embed(batch["input_ids"], batch["attention_mask"]).detach().numpy())[:12]
    assert objective(**batch)["moved"].item() == pytest.approx(0, abs=1e-6)
    for value in objective.encoder.parameters():
        value.data.mul_(1.1)
    outputs = objective(**batch)
    vectors = objective.embed(batch["input_ids"], batch["attention_mask"]).detach().double().numpy()
    unit = reference.unit(vectors[:12])
    moved = np.mean((unit @ unit.T - start @ start.T) ** 2)
    expected = reference.nt_xent(vectors[:12], 0.05, left_out_by_hand(examples), vectors[12:])
    assert outputs["moved"].item() == pytest.approx(moved, rel=1e-3)
    assert outputs["contrast"].item() == pytest.approx(expected, rel=1e-5)
    assert outputs["loss"].item() == pytest.approx(expected + 3 * moved, rel=1e-4)


LABELS = ["x", "y", "x", "z", "y", "x", "z", "x"]


@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize("cached", [None, 3])
def test_rows_of_one_label_are_positives_as_in_another_library(
    cached: int | None, guided: bool, tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    """A guide has no say where both labels are known."""
    given = {"guide": str(tiny_bert)} if guided else {}
    objective = build("contrastive", tiny_bert, "bsl", positives="labels", dropout=0.0, cached=cached, **given)
    objective.train()
    batch = batch_of(objective, replace(views_of(sentences), classes=LABELS), folder=tmp_path)
    vectors = objective.embed(batch["input_ids"], batch["attention_mask"])
    expected = SupConLoss(0.05)(vectors, torch.tensor([ord(label) for label in LABELS]).repeat(2))
    loss = objective(**batch)["loss"]
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    parameters = [
        value for name, value in objective.named_parameters() if "encoder" in name and "pooler" not in name
    ]
    gradients = [torch.autograd.grad(value, parameters) for value in (loss, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-6)


def test_labels_are_used_on_request_alone(
    tiny_bert: Path, sentences: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    examples, some = views_of(sentences), ["", *LABELS[1:]]

    def columns(classes: list[str] | None, **given: str) -> Mapping[str, NDArray[Any]]:
        objective = build("contrastive", tiny_bert, given.pop("preset", "bsl"), **given)
        return objective.columns(replace(examples, classes=classes)).values

    assert columns(LABELS, preset="labels")["labels"].tolist() == [0, 1, 0, 2, 1, 0, 2, 0]
    assert "3 labels: rows of one label are positives" in capsys.readouterr().err
    assert columns(some, positives="labels")["labels"][0] == -1
    assert not any("labels" in result for result in (columns(some), columns(None), columns(LABELS)))
    assert "labels, which are not used: --preset labels" in capsys.readouterr().err
    with pytest.raises(InputError, match="the pairs have no labels"):
        columns(None, positives="labels")


def test_embedding_in_parts_has_the_gradients_of_the_whole_batch(
    tiny_bert: Path, sentences: list[str]
) -> None:
    gradients = []
    for cached in (None, 1, 5):
        objective = build("contrastive", tiny_bert, "bsl", dropout=0.0, cached=cached).train()
        outputs = objective(**batch_of(objective, replace(views_of(sentences), negatives=[sentences[24:32]])))
        outputs["loss"].backward()
        gradients.append(
            {name: value.grad for name, value in objective.named_parameters() if value.grad is not None}
        )
    for found in gradients[1:]:
        torch.testing.assert_close(found, gradients[0], rtol=1e-4, atol=1e-6)


def test_embedding_in_parts_draws_the_same_dropout_twice(tiny_bert: Path, sentences: list[str]) -> None:
    """The gradient is that of the loss that is returned: a step against it lowers that loss as expected."""
    objective = build("contrastive", tiny_bert, "simcse", dropout=0.2, cached=4).train()
    batch = batch_of(objective, views_of(sentences))
    losses = []
    for move in (0.0, 1e-4):
        torch.manual_seed(7)
        loss = objective(**batch)["loss"]
        losses.append(loss.item())
        if not move:
            loss.backward()
            trained = [value for value in objective.parameters() if value.grad is not None]
            slope = sum(value.grad.square().sum().item() for value in trained)
            for value in trained:
                value.data -= 1e-4 * value.grad
    assert losses[1] - losses[0] == pytest.approx(-1e-4 * slope, rel=0.1)


def test_several_hard_negatives_a_row_are_all_columns_of_the_loss(
    tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    """As in sentence-transformers' loss, which takes every column after the first two."""
    second = ["", *sentences[24:29]]
    examples = replace(with_negatives(), negatives=[NEGATIVES, second])
    objective = build("contrastive", tiny_bert, "bsl").eval()
    batch = batch_of(objective, examples)
    vectors = objective.embed(batch["input_ids"], batch["attention_mask"]).detach().double().numpy()
    assert len(vectors) == 24
    left_out = left_out_by_hand(examples) | {(i, 18) for i in range(12)}
    expected = reference.nt_xent(vectors[:12], 0.05, left_out, vectors[12:])
    assert objective(**batch)["loss"].item() == pytest.approx(expected, rel=1e-5)


def test_the_loss_with_a_guide_is_that_of_gistembed(
    tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    """With and without hard negatives, as sentence-transformers computes it from the same vectors."""
    from sentence_transformers.sentence_transformer.losses import GISTEmbedLoss

    encoder = SentenceTransformer(
        modules=[Transformer(str(tiny_bert)), Pooling(16, "mean")], device="cpu"
    ).eval()
    for count in (0, 1):
        columns = [sentences[8 * place : 8 * place + 8] for place in range(2 + count)]
        examples = Examples(columns[0], *columns[:2], negatives=columns[2:])
        objective = build("contrastive", tiny_bert, "bsl", guide=str(tiny_bert), negatives="right").eval()
        ours = objective(**batch_of(objective, examples, folder=tmp_path / str(count)))["loss"].item()
        theirs = GISTEmbedLoss(
            encoder, encoder, temperature=0.05, contrast_anchors=False, contrast_positives=False
        )
        assert ours == pytest.approx(
            theirs([encoder.preprocess(column) for column in columns], None).item(), rel=1e-4
        )


@pytest.mark.parametrize("preset", ["contradiction", "supervised-simcse"])
def test_presets_for_hard_negatives_refuse_pairs_without_any(
    preset: str, tiny_bert: Path, sentences: list[str]
) -> None:
    objective = build("contrastive", tiny_bert, preset)
    for negatives in ((), [[""] * 8]):
        with pytest.raises(InputError, match="no pair has a hard negative"):
            objective.columns(replace(views_of(sentences), negatives=negatives))
