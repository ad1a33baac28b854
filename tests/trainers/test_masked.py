"""Objectives that mask: masked language modelling and Mirror-BERT."""

from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from small_trainings import batch_of, build, pairs, pooled_by_hand, rows_of, write_pairs
from torch import nn
from transformers import AutoModelForMaskedLM

from augment.models.masked_lm import masked_lm_logits
from pipelines.base.console import InputError
from trainers.data.examples import from_pairs
from trainers.encoders.model import load_model as load_for_scores
from trainers.networks.mirror import mask_span, mask_span_compat
from trainers.networks.mlm import IGNORED


def whole_loss(model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    return model(**{name: tensor for name, tensor in batch.items() if name != "masked"}).loss


@pytest.mark.parametrize("count", [6, 48])
def test_loss_equals_the_whole_model_s_own(tiny_bert: Path, sentences: list[str], count: int) -> None:
    objective = build("mlm", tiny_bert).eval()
    batch = batch_of(objective, pairs(sentences[:count]))
    torch.testing.assert_close(objective(**batch)["loss"], whole_loss(objective.masked_lm, batch))


SMALL = {
    "vocab_size": 50,
    "hidden_size": 8,
    "intermediate_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}


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
        batch = objective.collate(rows.batch(range(len(rows))))
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


@pytest.mark.parametrize(("name", "drawn"), [("mlm", "labels"), ("mirror", "input_ids")])
def test_masks_come_from_the_row_s_seed(name: str, drawn: str, tiny_bert: Path, sentences: list[str]) -> None:
    objective = build(name, tiny_bert)
    rows = rows_of(objective, pairs(sentences[:5]))
    together, alone = (objective.collate(rows.batch(chosen))[drawn] for chosen in (range(5), [3]))
    # The last row of a pair is its right side.
    width, last = alone.shape[1], 3 if name == "mlm" else 8
    assert together[last, :width].tolist() == alone[-1].tolist()
    rows.epoch = 1
    assert objective.collate(rows.batch(range(5)))[drawn].tolist() != together.tolist()


def test_texts_to_mask_stay_in_their_file(tiny_bert: Path, sentences: list[str], tmp_path: Path) -> None:
    rows = [(text, text, text) for text in sentences]
    examples = from_pairs([str(write_pairs(tmp_path / "pairs.arrow", rows))])
    objective = build("mirror", tiny_bert)
    assert objective.columns(examples).sides[1] is examples.right
    from_file, from_list = (batch_of(objective, each)["input_ids"] for each in (examples, pairs(sentences)))
    assert from_file.tolist() == from_list.tolist()


def test_saved_model_keeps_its_head(tiny_bert: Path, tmp_path: Path, sentences: list[str]) -> None:
    objective = build("mlm", tiny_bert)
    with torch.no_grad():
        objective.masked_lm.get_input_embeddings().weight.add_(0.1)
    objective.save(tmp_path, "# card")
    loaded, report = AutoModelForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"]
    batch = batch_of(objective, pairs(sentences[:3]))
    torch.testing.assert_close(whole_loss(loaded.eval(), batch), objective.eval()(**batch)["loss"])


def test_tokenizer_without_mask_token_is_refused(tiny_bert: Path) -> None:
    objective = build("mlm", tiny_bert)
    objective.encoder.tokenizer.mask_token = None
    with pytest.raises(InputError, match="no mask token"):
        objective.add_helpers()


@given(
    st.text(st.characters(max_codepoint=0x24F, min_codepoint=0x20), max_size=40),
    st.integers(1, 6),
    st.integers(0, 1000),
)
def test_span_mask_replaces_exactly_one_run(text: str, characters: int, seed: int) -> None:
    masked = mask_span(text, characters, Random(seed))
    if len(text) <= characters:
        assert masked == text
    else:
        starts = range(len(text) - characters + 1)
        assert masked in {f"{text[:i]}[MASK]{text[i + characters :]}" for i in starts}


def test_span_mask_cuts_no_grapheme_cluster() -> None:
    family, flag, accented = "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1ee\U0001f1f8", "e\u0301"
    text = family + flag + accented + "a"
    drawn = {mask_span(text, 2, Random(seed)) for seed in range(60)}
    assert drawn == {f"[MASK]{accented}a", f"{family}[MASK]a", f"{family}{flag}[MASK]"}
    assert mask_span(text, 4, Random(0)) == text


def test_compat_mask_does_what_the_authors_did() -> None:
    short, long = "x" * 29, "ab" * 15 + "z"
    drawn = {mask_span_compat(long, 5, Random(seed)) for seed in range(200)}
    assert mask_span_compat(short, 5, Random(0)) == short
    assert drawn == {" [MASK] " + long[5:], "a [MASK] " + long[6:]}, (
        "first occurrence, never the last character"
    )


def test_one_side_is_masked(tiny_bert: Path, sentences: list[str]) -> None:
    objective = build("mirror", tiny_bert)
    batch = batch_of(objective, pairs(sentences[:6]))
    mask = objective.encoder.tokenizer.mask_token_id
    assert (batch["input_ids"] == mask).sum(dim=1).tolist() == [0] * 6 + [1] * 6


def test_pairs_that_differ_are_left_as_they_are(tiny_bert: Path, sentences: list[str]) -> None:
    objective = build("mirror", tiny_bert)
    left, right = sentences[:4], [text.replace("a", "[MASK]", 1) for text in sentences[4:8]]
    ids = batch_of(objective, pairs(left, right))["input_ids"]
    expected = objective.pad([*objective.tokenize(left), *objective.tokenize(right)])
    assert ids.tolist() == expected["input_ids"].tolist()
    assert (ids == objective.encoder.tokenizer.mask_token_id).any()


def test_duplicates_count_as_negatives_only_in_compat(tiny_bert: Path, sentences: list[str]) -> None:
    examples = pairs([sentences[0], sentences[1], sentences[0]])
    losses = {}
    for compat in (False, True):
        objective = build("mirror", tiny_bert, span=0, compat=compat).eval()
        losses[compat] = objective(**batch_of(objective, examples))["loss"].item()
    assert losses[True] > losses[False] + 0.5


def test_dropout_and_drophead_reach_the_encoder(tiny_bert: Path, sentences: list[str]) -> None:
    def differs(**options: object) -> bool:
        objective = build("mirror", tiny_bert, span=0, **options).train()
        left, right = objective(**batch_of(objective, pairs(sentences)))["vectors"].chunk(2)
        return not torch.allclose(left, right, atol=1e-5)

    assert differs()
    assert not differs(dropout=0.0)
    assert differs(dropout=0.0, drophead=0.3)
    assert not differs(controlled=True)
    assert not differs(controlled=True, dropout=0.0, drophead=0.3)
    with pytest.raises(InputError, match=r"--controlled: .* add --span 0"):
        build("mirror", tiny_bert, span=5, controlled=True)
    objective = build("mirror", tiny_bert, dropout=0.3)
    assert {module.p for module in objective.modules() if isinstance(module, nn.Dropout)} == {0.3}


def test_preset_code_pads_as_the_authors_do(tiny_bert: Path, sentences: list[str], tmp_path: Path) -> None:
    longest = [" ".join(sentences[:6]), *sentences[:5]]
    pooled = [
        [pooled_by_hand(tiny_bert, text, width)["padded-mean"] for text in longest] for width in (12, 32)
    ]
    at_12, at_32 = torch.tensor(np.array(pooled))
    objective = build("mirror", tiny_bert, "code", dropout=0.0, max_tokens=12)
    trained = objective.embed(**objective.pad(list(objective.tokenize(longest))))
    torch.testing.assert_close(trained.detach(), at_12, atol=1e-5, rtol=0)
    # The model has 32 positions: as near to 64 as it goes.
    torch.testing.assert_close(objective.encode(longest), at_32, atol=1e-5, rtol=0)
    objective.save(tmp_path, "# card")
    saved = SentenceTransformer(str(tmp_path), device="cpu")
    assert saved.max_seq_length == 32
    np.testing.assert_allclose(saved.encode(longest), at_32, atol=1e-5)
    scored = load_for_scores(str(tmp_path))
    assert (scored.card()["pooling"], scored.card()["max_tokens"]) == ("padded-mean", 32)
    np.testing.assert_allclose(scored.encode(longest), at_32, atol=1e-5)
