from pathlib import Path
from random import Random

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from objective_cases import batch_of, build, pairs
from torch import nn

from trainers.embedding.model import load_model as load_for_scores
from trainers.objectives.mirror import mask_span, mask_span_compat


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
    objective = build("mirror", tiny_bert, dropout=0.3)
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

    objective = build("mirror", tiny_bert, "code", dropout=0.0, max_tokens=12)
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
