from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from objective_cases import batch_of, build, pairs, rows_of

from pipelines.console import InputError
from trainers.objectives.mlm import IGNORED, PARAMS, MaskedLm, masked_lm_logits


def whole_loss(model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    return model(**{name: tensor for name, tensor in batch.items() if name != "asked"}).loss


@pytest.mark.parametrize("count", [6, 48])
def test_loss_equals_the_whole_model_s_own(tiny_bert: Path, sentences: list[str], count: int) -> None:
    objective = build("mlm", tiny_bert).eval()
    batch = batch_of(objective, pairs(sentences[:count]))
    torch.testing.assert_close(objective(**batch)["loss"], whole_loss(objective.masked_lm, batch))


SMALL = {"vocab_size": 50, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.mark.parametrize(
    ("architecture", "settings"),
    [
        ("Bert", SMALL),
        ("Roberta", SMALL),
        ("ModernBert", {**SMALL, "pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2}),
        ("DistilBert", {"vocab_size": 50, "dim": 8, "hidden_dim": 8, "n_layers": 1, "n_heads": 2}),
    ],
)
def test_head_gives_the_logits_of_the_whole_model(architecture: str, settings: dict[str, int]) -> None:
    config = getattr(transformers, f"{architecture}Config")(**settings)
    model = getattr(transformers, f"{architecture}ForMaskedLM")(config).eval()
    ids = torch.tensor([[5, 6, 7, 8]])
    hidden = model.base_model(input_ids=ids).last_hidden_state
    torch.testing.assert_close(masked_lm_logits(model, hidden[0]), model(input_ids=ids).logits[0])


def test_shares_of_masked_kept_and_random_tokens(tiny_bert: Path, sentences: list[str]) -> None:
    objective = build("mlm", tiny_bert)
    plain, masked, labels = [], [], []
    rows = rows_of(objective, pairs(sentences))
    for rows.epoch in range(100):
        batch = objective.collate([rows[row] for row in range(len(rows))])
        asked = batch["labels"] != IGNORED
        plain += batch["labels"][asked].tolist()
        masked += batch["input_ids"][asked].tolist()
        labels.append(asked.sum().item() / (batch["attention_mask"].sum().item() - 2 * len(rows)))
    before, after = np.array(plain), np.array(masked)
    mask = objective.encoder.tokenizer.mask_token_id
    assert np.mean(labels) == pytest.approx(0.15, abs=0.02)
    assert np.mean(after == mask) == pytest.approx(0.8, abs=0.03)
    assert np.mean(after == before) == pytest.approx(0.1, abs=0.02)
    assert not set(plain) & set(objective.encoder.tokenizer.all_special_ids)


@pytest.mark.parametrize(("name", "drawn"), [("mlm", "labels"), ("mirror", "input_ids"), ("diffcse", "masked")])
def test_masks_are_drawn_from_the_row_s_seed_alone(
    name: str, drawn: str, tiny_bert: Path, sentences: list[str]
) -> None:
    objective = build(name, tiny_bert)
    rows = rows_of(objective, pairs(sentences[:5]))
    together, alone = (objective.collate([rows[row] for row in chosen])[drawn] for chosen in (range(5), [3]))
    # The last row of a pair is its right side.
    width, last = alone.shape[1], 3 if name == "mlm" else 8
    assert together[last, :width].tolist() == alone[-1].tolist()
    rows.epoch = 1
    assert objective.collate([rows[row] for row in range(5)])[drawn].tolist() != together.tolist()


def test_saved_model_keeps_its_head_and_is_an_encoder(tiny_bert: Path, tmp_path: Path, sentences: list[str]) -> None:
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModelForMaskedLM

    objective = build("mlm", tiny_bert)
    with torch.no_grad():
        objective.masked_lm.get_input_embeddings().weight.add_(0.1)
    objective.save(tmp_path, "# card")
    loaded, report = AutoModelForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"]
    batch = batch_of(objective, pairs(sentences[:3]))
    torch.testing.assert_close(whole_loss(loaded.eval(), batch), objective.eval()(**batch)["loss"])
    vectors = SentenceTransformer(str(tmp_path), device="cpu").encode(sentences[:5])
    np.testing.assert_allclose(vectors, objective.encode(sentences[:5]), atol=1e-5)


def test_tokenizer_without_mask_token_is_refused(tiny_bert: Path) -> None:
    objective = build("mlm", tiny_bert)
    objective.encoder.tokenizer.mask_token = None
    with pytest.raises(InputError, match="no mask token"):
        MaskedLm(objective.masked_lm, objective.encoder, 24, PARAMS())
