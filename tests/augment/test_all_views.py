"""What holds for every view that changes words or characters."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from realtext import built

from augment.edits import apply_edits
from augment.view import View, ViewSpec, make_view

TEXTS = [
    "A man is playing the guitar on stage.",
    "Two dogs run through “green” grass, isn't it?",
    "The  U.S. bought 3.5% unbelievable things for their children because of the happy weather.",
    "Children like ice cream (boys mostly), of course.",
    "NASA",
    "Cars were quickly repaired near the enormous house while the people were talking about their large boat. " * 2,
]
ODD = ["👩‍👩‍👧 cars", "שלום big", "“a” car’s", "e\u0301te\u0301", "NASA", "\r\n", " ", "the old woman", "[MASK]", "1️⃣"]
VIEWS: dict[str, tuple[str, dict[str, Any]]] = {
    "repeat": ("repeat", {}),
    "span-mask": ("span-mask", {}),
    "span-mask by rate": ("span-mask", {"rate": 0.3, "unit": "word"}),
    "span-mask as published": ("span-mask", {"compat": True}),
    "synonym": ("synonym", {"fraction": 0.6}),
    "synonym as published": ("synonym", {"compat": True}),
    "synonym by a model": ("synonym", {"choose": "mlm"}),
    "mlm-fill": ("mlm-fill", {"fraction": 0.4}),
    "KeyboardAug": ("nlpaug", {"augmenter": "KeyboardAug"}),
    "SpellingAug": ("nlpaug", {"augmenter": "SpellingAug"}),
}


def make(name: str, encoder: Path, batch_tokens: int | None = None) -> View:
    kind, params = VIEWS[name]
    if "mlm" in (kind[:3], params.get("choose")):
        params = {**params, "encoder": str(encoder)}
    if batch_tokens is None:
        return built(kind, **params)
    return make_view(ViewSpec(kind, params), device="cpu", batch_tokens=batch_tokens)


@pytest.mark.parametrize("name", VIEWS)
def test_a_row_depends_on_its_text_and_seed_alone(name: str, encoder_folder: Path) -> None:
    view, narrow = make(name, encoder_folder), make(name, encoder_folder, batch_tokens=32)
    texts = TEXTS * 5
    together = view(texts, range(30))
    assert len({viewed.text for viewed in together}) > len(TEXTS)
    assert [view([text], [seed])[0] for seed, text in enumerate(texts)] == together
    order = random.Random(1).sample(range(30), 30)
    assert narrow([texts[row] for row in order], order) == [together[row] for row in order]


@pytest.mark.parametrize("name", VIEWS)
def test_a_resolved_recipe_builds_the_same_view(name: str, encoder_folder: Path) -> None:
    view = make(name, encoder_folder)
    assert make_view(view.spec).spec == view.spec


@pytest.mark.parametrize("name", VIEWS)
def test_the_recorded_edits_turn_any_text_into_its_view(name: str, encoder_folder: Path) -> None:
    view = make(name, encoder_folder)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(ODD)).map(" ".join)), st.integers(0, 2**63 - 1))
    def check(text: str, seed: int) -> None:
        (viewed,) = view([text], [seed])
        if viewed.text is None:
            assert (viewed.status, viewed.reason) in {("failed", "no-text"), ("failed", "IndexError")}
        else:
            assert apply_edits(text, viewed.edits) == viewed.text
            assert (viewed.status == "unchanged") == (viewed.text == text)

    check()
