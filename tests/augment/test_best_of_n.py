"""Best of N: which of a view's texts is taken, in which order, and what its signature says."""

from collections.abc import Sequence
from random import Random

import pytest
from samples import refused

from augment.meaning.best import BestOf
from augment.meaning.judge import Judge
from augment.models.weights import find_encoder
from augment.view import Runtime, View, ViewResult, ViewSpec, check_params, make_view, row_seed, view_options

TEXTS = ["A man is playing a guitar on the stage.", "The cats used to love the papers.", "Yes."]
OPTIONS = ["candidates", "min_meaning", "diverse", "judge_encoder"]


@pytest.mark.parametrize(("floor", "diverse"), [(0.0, False), (0.85, False), (0.85, True), (1.0, False)])
def test_the_first_text_above_the_floor_is_taken_and_others_are_alternatives(
    floor: float, diverse: bool
) -> None:
    """Against one view without a choice, called with each seed by itself."""
    single = make_view(ViewSpec("repeat"))
    judge = Judge(find_encoder("starter"), "ctranslate2", "int8", "cpu")
    params = {"candidates": 6, "min_meaning": floor, "diverse": diverse}
    results = make_view(ViewSpec("repeat", params))(TEXTS, [3, 4, 5])
    for text, seed, result in zip(TEXTS, [3, 4, 5], results, strict=True):
        seeds = [seed, *(row_seed(seed, str(draw), "") for draw in range(1, 6))]
        draws = [single([text], [each])[0] for each in seeds]
        distinct = list(dict.fromkeys(draw.text or "" for draw in draws if draw.text != text))
        (scores,) = judge.scores([text], [distinct])
        passing = [draw for draw in distinct if scores[draw] >= floor]
        taken = [result.text, *result.alternatives] if result.status == "ok" else []
        if diverse:
            assert sorted(map(str, taken)) == sorted(passing)
        else:
            assert taken == passing
        if not passing:
            assert result.reason == ("meaning" if distinct else draws[0].reason)


def test_a_row_does_not_depend_on_its_batch_and_its_first_draw_has_its_own_seed() -> None:
    view, single = (make_view(ViewSpec("repeat", {"candidates": n, "min_meaning": 0.0})) for n in (4, 1))
    order = Random(0).sample(range(len(TEXTS)), len(TEXTS))
    together = view(TEXTS, range(3))
    assert [together[row] for row in order] == view([TEXTS[row] for row in order], order)
    assert together[1:2] == view(TEXTS[1:2], [1])
    first = single(TEXTS[:1], [0])[0]
    assert first.status != "ok" or first.text == together[0].text


def test_every_view_that_draws_has_the_options_and_none_of_them_by_default() -> None:
    for name in ("span-mask", "repeat", "nlpaug", "synonym", "mlm-fill", "backtranslate", "translate"):
        assert [key for key in view_options(name) if key in OPTIONS] == OPTIONS
    for name in ("identity", "import-views"):
        assert not {*view_options(name)} & {*OPTIONS}
    with refused("candidates=4: unknown parameter"):
        check_params("identity", {"candidates": 4})
    assert make_view(ViewSpec("repeat")).spec.signature() == (
        "view:repeat|candidates:1|diverse:false|min_meaning:0.0|rate:0.32|v:0.1.0"
    )


def test_the_signature_has_the_judge_with_its_engine_and_builds_the_same_view_again() -> None:
    spec = make_view(ViewSpec("repeat", {"candidates": 3})).spec
    revision = find_encoder("starter").revision
    assert f"|judge_encoder:{revision}+ctranslate2-int8|" in spec.signature()
    assert make_view(spec).spec == spec
    with refused("repeat: diverse and judge_encoder choose between candidates"):
        make_view(ViewSpec("repeat", {"diverse": True}))


class Drawing(View):
    """The next of some texts for each seed."""

    name = "drawing"
    keeps_meaning = True

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View every text."""
        forms = ["Two dogs do not bark.", "Ten dogs bark.", "Both dogs bark.", "2 dogs bark."]
        return [ViewResult(forms[seed % 4]) for seed in seeds]


def test_a_draw_with_another_figure_or_a_negation_fails_whatever_its_cosine() -> None:
    best = BestOf.of(Drawing(), {"candidates": 32, "min_meaning": 0.0}).build(Runtime())
    (result,) = best(["Two dogs bark."], [0])
    assert (result.text, result.alternatives) == ("2 dogs bark.", ())
