from pathlib import Path

import numpy as np
import numpy_reference as reference
import pytest
import torch
from objective_cases import batch_of, build, pairs
from transformers import BertForMaskedLM

from pipelines.console import InputError
from trainers.objectives.diffcse import DiffCse


def objective_of(encoder: Path, **given: object) -> DiffCse:
    return build("diffcse", encoder, dropout=0.0, **given).train()


def batch(objective: DiffCse, sentences: list[str]) -> dict[str, torch.Tensor]:
    return batch_of(objective, pairs(sentences[:20], sentences[20:40]))


def batch_norm(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5)


def array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().double().numpy()


def detection_by_hand(objective: DiffCse, encoder: Path, found: dict[str, torch.Tensor], vectors: np.ndarray) -> float:
    """Each sentence on its own, without padding: fill its masks, put its vector first, and look at every token."""
    generator = BertForMaskedLM.from_pretrained(encoder).eval()
    model, losses, changed = objective.discriminator, [], 0
    for ids, mask, hidden, vector in zip(
        *(found[key] for key in ("input_ids", "attention_mask", "masked")), vectors, strict=True
    ):
        length = int(mask.sum())
        ids, hidden = ids[None, :length], hidden[None, :length]
        asked = torch.where(hidden, objective.encoder.tokenizer.mask_token_id, ids)
        filled = torch.where(hidden, generator(asked).logits.argmax(-1), ids)
        tokens = model.embeddings(filled).detach().clone()
        tokens[0, 0] = torch.from_numpy(vector)
        for layer in model.encoder.layer:
            output = layer(tokens)
            tokens = output if isinstance(output, torch.Tensor) else output[0]
        logits = array(tokens[0]) @ array(objective.detector.weight).T + array(objective.detector.bias)
        replaced = (filled != ids)[0].tolist()
        losses += [-np.log(reference.softmax(row)[int(label)]) for row, label in zip(logits, replaced, strict=True)]
        changed += sum(replaced)
    assert 0 < changed < len(losses) / 2
    return float(np.mean(losses))


def test_loss_of_a_batch_equals_the_paper_computed_by_hand(tiny_bert: Path, sentences: list[str]) -> None:
    objective = objective_of(tiny_bert, detection=0.5)
    found = batch(objective, sentences)
    vectors = array(objective.embed(found["input_ids"], found["attention_mask"]))
    hidden = batch_norm(vectors @ array(objective.projector[0].weight).T)
    projected = batch_norm(np.maximum(hidden, 0) @ array(objective.projector[3].weight).T)
    outputs = objective(**found)
    contrast = reference.one_sided(projected, 0.05)
    detection = detection_by_hand(objective, tiny_bert, found, projected.astype(np.float32))
    assert outputs["contrast"].item() == pytest.approx(contrast, rel=1e-5)
    assert outputs["detection"].item() == pytest.approx(detection, rel=1e-5)
    assert outputs["loss"].item() == pytest.approx(contrast + 0.5 * detection, rel=1e-5)


def test_three_in_ten_tokens_are_masked_never_special_ones(tiny_bert: Path, sentences: list[str]) -> None:
    objective = objective_of(tiny_bert)
    found = batch_of(objective, pairs(sentences))
    ordinary = found["attention_mask"].sum(dim=1) - 2
    assert (found["masked"].sum(dim=1) - 0.3 * ordinary).abs().max() <= 0.5
    assert not found["masked"][:, 0].any()
    assert not (found["masked"] & (found["input_ids"] == objective.encoder.tokenizer.sep_token_id)).any()


def test_detection_reaches_the_encoder_through_the_vector(tiny_bert: Path, sentences: list[str]) -> None:
    gradients = []
    for detection in (0.0, 1.0):
        objective = objective_of(tiny_bert, detection=detection)
        objective(**batch(objective, sentences))["loss"].backward()
        gradients.append(objective.encoder[0].model.encoder.layer[0].attention.self.query.weight.grad)
    assert (gradients[0] - gradients[1]).abs().max() > 1e-4
    assert not any(value.requires_grad for value in objective.generator.parameters())
    assert not objective.generator.training


def test_generator_without_head_or_of_another_vocabulary_is_one_line(tiny_bert: Path, bare_bert: Path) -> None:
    with pytest.raises(InputError, match=r"has no masked-LM head .* with --generator$"):
        objective_of(bare_bert)
    assert objective_of(bare_bert, generator=str(tiny_bert)).dimension == 16
    with pytest.raises(InputError, match="its vocabulary is not the encoder's"):
        objective_of(tiny_bert, generator="starter")


def test_gradient_checkpointing_reaches_the_discriminator_and_changes_no_gradient(
    tiny_bert: Path, sentences: list[str]
) -> None:
    gradients = []
    for checkpointing in (False, True):
        objective = objective_of(tiny_bert, detection=1.0, gradient_checkpointing=checkpointing)
        modules = objective.discriminator.modules()
        assert any(getattr(module, "gradient_checkpointing", False) for module in modules) is checkpointing
        objective(**batch(objective, sentences))["loss"].backward()
        gradients.append({name: value.grad for name, value in objective.named_parameters() if value.grad is not None})
    torch.testing.assert_close(gradients[1], gradients[0])
