from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augment.edits import apply_edits, words
from augment.view import ViewSpec, make_view

SENTENCE = "A man is playing a guitar on a stage, and nobody listens to him."


def published(text: str, length: int, draw: random.Random) -> str:
    """The arithmetic of Mirror-BERT's code (data_loader.erase_and_mask), its draw taken from `draw`."""
    if len(text) <= length or len(text) < 30:
        return text
    first = draw.randrange(len(text) - length)
    left, right = text.split(text[first : first + length], 1)
    return f"{left} [MASK] {right}"


@given(st.text(max_size=80), st.integers(0, 2**63 - 1), st.integers(1, 8), st.sampled_from(["character", "word"]))
def test_the_recorded_edit_gives_the_view(text: str, seed: int, length: int, unit: str) -> None:
    (viewed,) = make_view(ViewSpec("span-mask", {"length": length, "unit": unit}))([text], [seed])
    assert apply_edits(text, viewed.edits) == viewed.text
    if viewed.status == "unchanged":
        assert (viewed.text, viewed.reason, viewed.edits) == (text, "too-short", ())
    else:
        (edit,) = viewed.edits
        assert edit.new == "[MASK]"
        assert len(edit.old) == length if unit == "character" else len(words(edit.old)) == length


@given(st.text(alphabet="ab cdé", max_size=80), st.integers(0, 2**63 - 1), st.integers(1, 8))
def test_compat_does_what_the_published_code_did(text: str, seed: int, length: int) -> None:
    (viewed,) = make_view(ViewSpec("span-mask", {"length": length, "compat": True}))([text], [seed])
    assert viewed.text == published(text, length, random.Random(seed))
    assert apply_edits(text, viewed.edits) == viewed.text


def test_every_position_is_drawn_and_only_compat_spares_the_last_character() -> None:
    text = "ab" * 16
    seeds = range(600)
    ours = make_view(ViewSpec("span-mask", {"length": 5}))([text] * len(seeds), seeds)
    assert {viewed.edits[0].start for viewed in ours} == set(range(len(text) - 4))
    compat = make_view(ViewSpec("span-mask", {"length": 5, "compat": True}))([text] * len(seeds), seeds)
    # The first occurrence of "ababa" or "babab", wherever the span was drawn.
    assert {viewed.edits[0].start for viewed in compat} == {0, 1}


def test_a_seed_decides_whatever_the_batch() -> None:
    view = make_view(ViewSpec("span-mask"))
    alone = [view([SENTENCE], [seed])[0] for seed in range(20)]
    assert view([SENTENCE] * 20, range(20)) == alone
    assert len({viewed.text for viewed in alone}) > 5


def test_tokens_of_an_encoder_can_be_masked(encoder_folder: Path) -> None:
    view = make_view(ViewSpec("span-mask", {"unit": "token", "length": 2, "encoder": str(encoder_folder)}))
    (viewed,) = view(["Playing  the guitar?"], [5])
    (edit,) = viewed.edits
    assert viewed.text == apply_edits("Playing  the guitar?", [edit])
    # play ##ing is no entry of the vocabulary, "playing" is: tokens are playing, the, guitar, ?
    assert edit.old in ("Playing  the", "the guitar", "guitar?")
    assert "|rev:" in view.spec.signature()


@pytest.mark.parametrize("name", ["identity"])
def test_identity_is_the_text_itself(name: str) -> None:
    (viewed,) = make_view(ViewSpec(name))(["  two  spaces "], [1])
    assert (viewed.text, viewed.status, viewed.edits) == ("  two  spaces ", "ok", ())
