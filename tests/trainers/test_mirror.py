from pathlib import Path
from random import Random

import numpy as np
import numpy_reference as reference
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from trainers.data.examples import Examples
from trainers.data.rows import Rows
from trainers.embedding.model import load_model as load_for_scores
from trainers.encoders.loading import load_for_training
from trainers.encoders.location import locate
from trainers.losses.contrast import multi_similarity, nt_xent
from trainers.objectives.mirror import PARAMS, Mirror, build, mask_span, mask_span_compat
from trainers.settings import Training


@pytest.mark.parametrize("temperature", [0.04, 0.2, 1.0])
def test_loss_equals_the_double_loop_in_numpy(temperature: float) -> None:
    vectors = torch.randn(10, 6, generator=torch.Generator().manual_seed(1))
    expected = reference.nt_xent(vectors.double().numpy(), temperature)
    assert nt_xent(vectors, temperature).item() == pytest.approx(expected, rel=1e-5)


def test_loss_ignores_sides_order_and_length() -> None:
    left, right = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(2))
    plain = nt_xent(torch.cat([left, right]), 0.1)
    order = torch.tensor([3, 6, 0, 1, 5, 2, 4])
    torch.testing.assert_close(nt_xent(torch.cat([right, left]), 0.1), plain)
    torch.testing.assert_close(nt_xent(torch.cat([left[order], right[order]]), 0.1), plain)
    torch.testing.assert_close(nt_xent(torch.cat([3 * left, 0.5 * right]), 0.1), plain)
    assert not torch.isclose(nt_xent(torch.cat([left[order], right]), 0.1), plain)


def test_loss_is_in_full_precision_under_autocast() -> None:
    vectors = torch.randn(64, 16, generator=torch.Generator().manual_seed(5))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = (nt_xent(vectors, 0.04), multi_similarity(vectors))
    assert half[0].item() == nt_xent(vectors, 0.04).item()
    assert half[1].item() == multi_similarity(vectors).item()


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


def test_span_mask_reaches_both_ends() -> None:
    drawn = {mask_span("abcdefg", 5, Random(seed)) for seed in range(60)}
    assert drawn == {"[MASK]fg", "a[MASK]g", "ab[MASK]"}


def test_span_mask_cuts_no_character_that_readers_see_as_one() -> None:
    family, flag, accented = "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1ee\U0001f1f8", "e\u0301"
    text = family + flag + accented + "a"
    drawn = {mask_span(text, 2, Random(seed)) for seed in range(60)}
    assert drawn == {f"[MASK]{accented}a", f"{family}[MASK]a", f"{family}{flag}[MASK]"}
    assert mask_span(text, 4, Random(0)) == text


def test_compat_mask_does_what_the_authors_did() -> None:
    short, long = "x" * 29, "ab" * 15 + "z"
    drawn = {mask_span_compat(long, 5, Random(seed)) for seed in range(200)}
    assert mask_span_compat(short, 5, Random(0)) == short
    assert drawn == {" [MASK] " + long[5:], "a [MASK] " + long[6:]}, "first occurrence, never the last character"


def mirror(path: Path, **options: object) -> Mirror:
    return Mirror(load_for_training(locate(str(path)), "mean", 24), 24, PARAMS(**options))


def rows_of(objective: Mirror, examples: Examples, seed: int = 1) -> list[dict[str, object]]:
    columns = objective.columns(examples)
    return [
        {**{name: column[row] for name, column in columns.items()}, "seed": seed + row} for row in range(len(examples))
    ]


def real_ids(batch: dict[str, torch.Tensor]) -> list[list[int]]:
    return [ids[mask == 1].tolist() for ids, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True)]


def test_one_side_is_masked_and_drawn_from_the_row_seed(tiny_bert: Path, sentences: list[str]) -> None:
    objective = mirror(tiny_bert)
    texts = sentences[:6]
    rows = rows_of(objective, Examples(texts, texts, texts, 0))
    batch = objective.collate(rows)
    mask = objective.encoder.tokenizer.mask_token_id
    assert (batch["input_ids"] == mask).sum(dim=1).tolist() == [0] * 6 + [1] * 6
    alone = objective.collate(rows[2:3])
    assert real_ids(batch)[8] == real_ids(alone)[1]
    other = objective.collate(rows_of(objective, Examples(texts, texts, texts, 0), seed=99))
    assert other["input_ids"].tolist() != batch["input_ids"].tolist()


def test_pairs_that_differ_are_left_as_they_are(tiny_bert: Path, sentences: list[str]) -> None:
    objective = mirror(tiny_bert)
    left, right = sentences[:4], [text.replace("a", "[MASK]", 1) for text in sentences[4:8]]
    ids = objective.collate(rows_of(objective, Examples(left, left, right, 0)))["input_ids"]
    expected = objective.pad([*objective.tokenize(left), *objective.tokenize(right)])
    assert ids.tolist() == expected["input_ids"].tolist()
    assert (ids == objective.encoder.tokenizer.mask_token_id).any()


def test_duplicates_count_as_negatives_only_in_compat(tiny_bert: Path, sentences: list[str]) -> None:
    texts = [sentences[0], sentences[1], sentences[0]]
    examples = Examples(texts, texts, texts, 0)
    losses = {}
    for compat in (False, True):
        objective = mirror(tiny_bert, span=0, compat=compat).eval()
        losses[compat] = objective(**objective.collate(rows_of(objective, examples)))["loss"].item()
    assert losses[True] > losses[False] + 0.5


def test_masks_are_drawn_anew_in_every_epoch(tiny_bert: Path, sentences: list[str]) -> None:
    objective = mirror(tiny_bert)
    rows = Rows(objective.columns(Examples(sentences, sentences, sentences, 0)), 11)
    drawn = []
    for rows.epoch in (0, 1):
        drawn.append(objective.collate([rows[row] for row in range(8)])["input_ids"])
        assert (drawn[-1] == objective.encoder.tokenizer.mask_token_id).sum() == 8
    assert not torch.equal(*drawn)


def test_dropout_and_drophead_reach_the_encoder(tiny_bert: Path, sentences: list[str]) -> None:
    examples = Examples(sentences, sentences, sentences, 0)

    def differs(**options: object) -> bool:
        objective = mirror(tiny_bert, span=0, **options).train()
        left, right = objective(**objective.collate(rows_of(objective, examples)))["vectors"].chunk(2)
        return not torch.allclose(left, right, atol=1e-5)

    assert differs()
    assert not differs(dropout=0.0)
    assert differs(dropout=0.0, drophead=0.3)
    assert not differs(controlled=True)
    assert not differs(controlled=True, dropout=0.0, drophead=0.3)
    objective = mirror(tiny_bert, dropout=0.3)
    assert {module.p for module in objective.modules() if isinstance(module, nn.Dropout)} == {0.3}


def test_preset_code_is_trained_at_its_own_length_and_saved_to_pad_as_the_authors_evaluation_does(
    tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel, AutoTokenizer

    tokenizer, bert = AutoTokenizer.from_pretrained(tiny_bert), AutoModel.from_pretrained(tiny_bert).eval()
    longest = [" ".join(sentences[:6]), *sentences[:5]]

    def padded_mean(width: int) -> torch.Tensor:
        given = {"padding": "max_length", "truncation": True, "max_length": width, "return_tensors": "pt"}
        with torch.no_grad():
            return bert(**tokenizer(longest, **given)).last_hidden_state.mean(dim=1)

    training = {"max_tokens": 12, "pooling": "padded-mean", "lr": 1e-3}
    objective = build(PARAMS(compat=True, dropout=0.0), Training(**training), locate(str(tiny_bert)))
    trained = objective.embed(**objective.pad(list(objective.tokenize(longest))))
    torch.testing.assert_close(trained.detach(), padded_mean(12), atol=1e-5, rtol=0)
    # The model has 32 positions: as near to 64 as it goes.
    torch.testing.assert_close(objective.encode(longest), padded_mean(32), atol=1e-5, rtol=0)
    objective.save(tmp_path, "# card")
    saved = SentenceTransformer(str(tmp_path), device="cpu")
    assert saved.max_seq_length == 32
    np.testing.assert_allclose(saved.encode(longest), padded_mean(32), atol=1e-5)
    scored = load_for_scores(str(tmp_path))
    assert (scored.pooling, scored.card()["max_tokens"]) == ("padded-mean", 32)
    np.testing.assert_allclose(scored.encode(longest), padded_mean(32), atol=1e-5)
