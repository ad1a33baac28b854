from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from augment.edits import apply_edits
from augment.errors import InputError
from augment.view import View, ViewSpec, make_view

TEXTS = [
    "A man is playing the guitar on stage.",
    "Two dogs run through “green” grass, isn't it?",
    "The old woman bought a red car in the U.S. for $3.50",
    "NASA",
    "",
    "A man is not a river.",
    "the " * 80 + "dogs",
]


@pytest.fixture(scope="module")
def view(encoder_folder: Path) -> View:
    return make_view(ViewSpec("mlm-fill", {"encoder": str(encoder_folder), "fraction": 0.4}))


def test_a_share_of_the_words_is_replaced_by_other_whole_words(view: View, encoder_folder: Path) -> None:
    from transformers import AutoTokenizer

    vocabulary = AutoTokenizer.from_pretrained(encoder_folder).get_vocab()
    for text, viewed in zip(TEXTS[:3], view(TEXTS[:3], [1, 2, 3]), strict=True):
        assert viewed.status == "ok"
        assert apply_edits(text, viewed.edits) == viewed.text
        assert viewed.target_fraction == 0.4
        assert viewed.achieved_fraction == pytest.approx(0.4, abs=0.1)
        for edit in viewed.edits:
            assert edit.new.lower() != edit.old.lower()
            assert edit.new.lower() in vocabulary
            assert edit.new.isalpha()
            assert len(edit.new) > 1
            assert edit.new[0].isupper() == edit.old[0].isupper()


def test_names_digits_abbreviations_and_negations_are_left_alone(view: View) -> None:
    for seed in range(30):
        for text, viewed in zip(TEXTS, view(TEXTS, [seed] * len(TEXTS)), strict=True):
            for kept in ("U.S.", "$3.50", "isn't", "NASA", "not"):
                if kept in text.split():
                    assert kept in (viewed.text or "").split()
    short = view(["NASA", ""], [0, 0])
    assert [(viewed.status, viewed.reason) for viewed in short] == [("unchanged", "no-eligible-word")] * 2


def test_the_original_word_and_its_variants_never_come_back(encoder_folder: Path) -> None:
    everything = make_view(ViewSpec("mlm-fill", {"encoder": str(encoder_folder), "fraction": 1, "top_k": 1000}))
    for viewed in everything(["Dogs run. DÓGS green"] * 50, range(50)):
        assert all(edit.new.lower() not in ("dogs", edit.old.lower()) or edit.old == "run" for edit in viewed.edits[:1])
        assert all(edit.new.lower() != edit.old.lower() for edit in viewed.edits)


def test_a_seed_decides_whatever_the_batch(encoder_folder: Path, view: View) -> None:
    draw = random.Random(0)
    texts = [" ".join(draw.choices(TEXTS[0].split() + TEXTS[1].split(), k=draw.randint(1, 40))) for _ in range(40)]
    alone = [view([text], [seed])[0] for seed, text in enumerate(texts)]
    spec = ViewSpec("mlm-fill", {"encoder": str(encoder_folder), "fraction": 0.4})
    assert make_view(spec, batch_tokens=100_000)(texts, range(40)) == alone
    assert make_view(spec, batch_tokens=64)(texts[::-1], range(39, -1, -1)) == alone[::-1]
    assert view(texts[:1] * 20, range(20)) != [alone[0]] * 20


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60), st.integers(0, 2**63 - 1))
def test_the_recorded_edits_give_the_view(view: View, text: str, seed: int) -> None:
    (viewed,) = view([text], [seed])
    assert apply_edits(text, viewed.edits) == viewed.text
    assert (viewed.status == "unchanged") == (not viewed.edits)


def test_low_temperature_takes_the_likeliest(encoder_folder: Path) -> None:
    params = {"encoder": str(encoder_folder), "fraction": 1.0}
    cold = make_view(ViewSpec("mlm-fill", {**params, "temperature": 0.001}))
    first = make_view(ViewSpec("mlm-fill", {**params, "top_k": 1}))
    assert [v.text for v in cold(TEXTS[:3], [1, 2, 3])] == [v.text for v in first(TEXTS[:3], [1, 2, 3])]


def test_an_encoder_without_its_head_is_one_line(encoder_folder: Path, tmp_path: Path) -> None:
    from transformers import BertModel

    bare = tmp_path / "bare"
    shutil.copytree(encoder_folder, bare)
    BertModel.from_pretrained(encoder_folder).save_pretrained(bare)
    with pytest.raises(InputError, match="without its masked-language head"):
        make_view(ViewSpec("mlm-fill", {"encoder": str(bare)}))(["A man runs"], [0])


def test_a_missing_encoder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model there") as caught:
        make_view(ViewSpec("mlm-fill", {"encoder": str(tmp_path)}))
    assert "\n" not in str(caught.value)
