"""Back-translation in stages: kept pivots, several hops, draws by seed, n-best, long sentences, second tries."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any, cast

import pytest
from learnt import COPIED, DOGS, ENGLISH, FRENCH, GERMAN, GUITAR, LOOPING, PARAPHRASE
from refusals import refused

from augment.translate.stages import TranslationView
from augment.view import Viewed, ViewSpec, make_view, row_seed

SENTENCES = [
    "A man is riding a bicycle down the street.",
    "Two children are playing with a dog in the garden.",
    "Where did you buy this book?",
    "The weather is very nice today.",
]


def staged(models: Path | str, batch_tokens: int | None = None, **params: Any) -> TranslationView:  # noqa: ANN401
    given = {"pivot": "de", "models": str(models), "precision": "fp32", **params}
    return cast(TranslationView, make_view(ViewSpec("backtranslate", given), batch_tokens=batch_tokens))


def through(view: TranslationView) -> TranslationView:
    """The view that comes first."""
    assert view.through is not None
    return view.through


def translation(models: Path | str, **params: Any) -> TranslationView:  # noqa: ANN401
    given = {"models": str(models), "precision": "fp32", **params}
    return cast(TranslationView, make_view(ViewSpec("translate", given)))


def test_the_pivot_is_a_translate_view_with_its_whole_recipe(translation_models: Path) -> None:
    view = staged(translation_models, decode="beam:2", hypotheses=2)
    alone = translation(translation_models, to="de", decode="beam:2")
    assert through(view).spec == alone.spec
    assert through(view).through is None
    assert through(view).spec.params["revision"] == str(view.spec.params["revision"]).partition("+")[0]


def test_another_return_takes_the_same_pivots(translation_models: Path) -> None:
    greedy = staged(translation_models)
    for other in ({"return_decode": "beam:4"}, {"return_decode": "beam:4", "hypotheses": 3}):
        assert through(staged(translation_models, **other)).spec.signature() == through(greedy).spec.signature()
        assert staged(translation_models, **other).spec.signature() != greedy.spec.signature()
    assert through(staged(translation_models, decode="beam:4")).spec.signature() != through(greedy).spec.signature()


def test_a_view_is_made_from_the_pivots_that_are_given(translation_models: Path) -> None:
    view = staged(translation_models)
    texts, seeds = [GUITAR, DOGS, COPIED], [0, 1, 2]
    assert view(texts, seeds) == view.complete(texts, seeds, through(view)(texts, seeds))
    given = [Viewed(GERMAN[DOGS]), Viewed(GERMAN[DOGS], "ok", "retried"), Viewed(None, "failed", "too-long")]
    made = view.complete(texts, seeds, given)
    assert [(row.text, row.status, row.reason, row.pivot) for row in made] == [
        (DOGS, "ok", None, GERMAN[DOGS]),
        (DOGS, "unchanged", "pivot-retried", GERMAN[DOGS]),
        (None, "failed", "pivot-too-long", None),
    ]


def test_several_hops_go_one_after_another(translation_models: Path) -> None:
    view = staged(translation_models, pivot="de+en+fr")
    (row,) = view([DOGS, GUITAR], [0, 1])[:1]
    assert (row.text, row.pivot) == (ENGLISH[FRENCH[DOGS]], FRENCH[DOGS])
    second = through(view)
    assert second.spec.params["to"] == "de+en+fr"
    assert [viewed.pivot for viewed in second([DOGS], [0])] == [DOGS]
    third = through(second)
    assert through(third).spec.signature() == translation(translation_models, to="de").spec.signature()
    revisions = str(view.spec.params["revision"]).split("+")
    there, back = revisions[0], revisions[1]
    assert revisions == [there, back, there, back]


def test_a_failure_in_any_hop_has_one_name(translation_models: Path) -> None:
    view = staged(translation_models, pivot="de+en+fr", retry=False)
    (row,) = view([LOOPING], [0])
    assert (row.status, row.reason, row.text, row.pivot) == ("failed", "pivot-repetition", None, None)


def test_single_directions_need_no_code(translation_models: Path, tmp_path: Path) -> None:
    for name in ("de-en", "opus-mt-en-de"):
        shutil.copytree(translation_models / "xx-en", tmp_path / name)
    view = staged(tmp_path)
    (row,) = view([GERMAN[DOGS]], [0])
    assert row.pivot == DOGS


def test_draws_depend_on_the_seed_and_not_on_the_batch() -> None:
    texts = SENTENCES[:2] * 2
    seeds = [row_seed(7, str(number), "") for number in range(len(texts))]
    together = staged("starter", decode="top-p:0.9", temperature=1.2)
    expected = together(texts, seeds)
    assert expected[:2] != expected[2:], "equal texts, other seeds"
    places = list(range(len(texts)))
    random.Random(0).shuffle(places)
    alone = staged("starter", decode="top-p:0.9", temperature=1.2, batch_tokens=1)
    shuffled = alone([texts[place] for place in places], [seeds[place] for place in places])
    assert shuffled == [expected[place] for place in places]
    assert together(texts, [seed + 1 for seed in seeds]) != expected
    assert together.draws
    assert through(together).draws


@pytest.mark.parametrize("decode", ["beam:4", "top-k:20"])
def test_strict_texts_depend_on_neither_batch_nor_threads(decode: str) -> None:
    import torch

    texts, seeds = SENTENCES[:3], [0, 1, 2]
    threads = torch.get_num_threads()
    made = []
    try:
        for count, batch_tokens in ((1, 1), (1, 100_000), (2, 1), (2, 100_000)):
            torch.set_num_threads(count)
            view = staged("starter", batch_tokens, decode=decode, precision="fp64", hypotheses=2)
            made.append(view(texts, seeds))
    finally:
        torch.set_num_threads(threads)
    assert made[1:] == made[:1] * 3


def test_only_draws_are_said_to_draw(translation_models: Path) -> None:
    assert not staged(translation_models, decode="beam:2").draws
    back = staged(translation_models, return_decode="sample")
    assert (back.draws, through(back).draws) == (True, False)
    assert staged(translation_models, decode="sample", return_decode="greedy").draws


@pytest.mark.parametrize("params", [{"return_decode": "beam:4"}, {"return_decode": "sample", "temperature": 1.3}])
def test_further_hypotheses_are_alternatives(params: dict[str, Any]) -> None:
    one = staged("starter", **params)
    four = staged("starter", hypotheses=4, **params)
    seeds = list(range(len(SENTENCES)))
    made = four(SENTENCES, seeds)
    assert [row.text for row in made] == [row.text for row in one(SENTENCES, seeds)], "the best one stays the best"
    assert any(len(row.alternatives) == 3 for row in made)
    for row in made:
        assert len({row.text, *row.alternatives}) == 1 + len(row.alternatives) <= 4


def test_a_second_try_is_marked_and_never_the_source() -> None:
    texts = [
        "Top Asian News at 4:00 p.m. GMT",
        "The Cleveland Cavaliers won the right to draft James by winning the NBA's annual lottery Thursday night.",
        "California wildfire: 1,900 on the lines as firefighters labor to limit damage (+video)",
        "Two Kenyan ministers among 6 killed in plane crash",
        "Syria Loads Chemical Weapons into Bombs, Awaiting Assad Order",
        *SENTENCES,
    ]
    seeds = list(range(len(texts)))
    once, twice = staged("starter", retry=False)(texts, seeds), staged("starter")(texts, seeds)
    rescued = 0
    for text, first, second in zip(texts, once, twice, strict=True):
        if first.text is not None:
            assert second == first
        elif second.text is not None:
            rescued += 1
            assert (second.status, second.text != text) == ("ok", True)
            assert second.reason in ("retried", "pivot-retried")
        else:
            assert (second.status, first.reason is not None) == ("failed", True)
    assert rescued


def test_what_stays_bad_fails_with_its_first_reason(translation_models: Path) -> None:
    (row,) = translation(translation_models, to="de")([COPIED], [0])
    assert (row.text, row.status, row.reason) == (None, "failed", "copied")


def test_long_texts_are_translated_sentence_by_sentence(translation_models: Path) -> None:
    view = staged(translation_models)
    (row,) = view([" ".join([GUITAR, DOGS] * 10)], [0])
    assert row.pivot == " ".join([GERMAN[GUITAR], GERMAN[DOGS]] * 10)
    assert row.text == " ".join([PARAPHRASE, DOGS] * 10)
    short = staged(translation_models, long="fail")
    (failed,) = short([" ".join([GUITAR, DOGS] * 10)], [0])
    assert (failed.text, failed.status, failed.reason) == (None, "failed", "pivot-too-long")


def test_a_line_of_100_000_characters_is_no_crash() -> None:
    view = translation("starter", to="de", retry=False)
    spaced, solid = view([" ".join(SENTENCES * 600)[:100_000], "y" * 100_000], [0, 1])
    assert spaced.status == "ok"
    assert len(spaced.text or "") > 50_000
    assert solid.status in ("ok", "failed")


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"decode": "beams:4"}, "decode 'beams:4': not a way to decode"),
        ({"return_decode": "top-p:7"}, "decode 'top-p:7': not a way to decode"),
        ({"temperature": 0.5}, "temperature 0.5: greedy draws nothing"),
        ({"decode": "sample", "temperature": -1.0}, "temperature=-1.0: input should be greater than 0"),
        ({"decode": "sample", "temperature": float("nan")}, "temperature=nan"),
        ({"hypotheses": 3}, "hypotheses 3: greedy gives 1; use beam:3 or more, or sample"),
        ({"hypotheses": 0}, "hypotheses=0: input should be greater than or equal to 1"),
        ({"pivot": "de+"}, "language '': not a language code"),
        ({"pivot": "de+fr"}, "nothing from de to fr there"),
        ({"pivot": "de+de"}, "language 'de': source and target are the same"),
        ({"revision": "abc"}, "revision 'abc': en -> de -> en takes 2 models; join so many revisions by +"),
        ({"long": "cut"}, "long='cut'"),
    ],
)
def test_wrong_parameters_are_one_line(translation_models: Path, params: dict[str, Any], expected: str) -> None:
    with refused(expected):
        staged(translation_models, **params)
