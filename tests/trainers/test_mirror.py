from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import numpy_reference as reference
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trainers.examples import Examples
from trainers.objectives.mirror import PARAMS, Mirror, equal_strings, mask_span, mask_span_compat, nt_xent
from trainers.pretrained import load_encoder, locate


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


def test_every_anchor_has_all_but_itself_and_its_positive_as_negatives() -> None:
    vectors = torch.ones(8, 3)
    assert nt_xent(vectors, 0.04).item() == pytest.approx(np.log(7), rel=1e-5)


def test_equal_strings_are_no_negatives_of_each_other() -> None:
    # Rows 0 and 2 are the same sentence; row 3's right string is row 1's left.
    keys = torch.tensor([[0, 0, 0], [1, 1, 2], [0, 0, 0], [3, 4, 1]])
    excluded = equal_strings(keys)
    assert excluded[0, 2]
    assert excluded[4, 2]
    assert excluded[1, 7]
    assert excluded[5, 7], "the same string as the anchor's positive"
    assert not excluded[0, 1]
    assert not excluded[1, 3]
    vectors = torch.ones(8, 3)
    negatives = (~excluded).sum(dim=1)
    expected = torch.log(1.0 + negatives).mean()
    assert nt_xent(vectors, 0.04, excluded).item() == pytest.approx(expected.item(), rel=1e-5)


@given(st.text(max_size=40), st.integers(1, 6), st.integers(0, 1000))
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


def test_compat_mask_does_what_the_authors_did() -> None:
    short, long = "x" * 29, "ab" * 15 + "z"
    drawn = {mask_span_compat(long, 5, Random(seed)) for seed in range(200)}
    assert mask_span_compat(short, 5, Random(0)) == short
    assert drawn == {" [MASK] " + long[5:], "a [MASK] " + long[6:]}, "first occurrence, never the last character"


def mirror(path: Path, **options: object) -> Mirror:
    return Mirror(load_encoder(locate(str(path)), pooling="mean", max_tokens=24), PARAMS(**options))


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
    expected = objective.encoder.pad([*objective.encoder.tokenize(left), *objective.encoder.tokenize(right)])
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
