from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pytest
import torch
from fillmodels import KINDS, POSITIONS
from realtext import built
from refusals import refused
from transformers import AutoModelForMaskedLM, AutoTokenizer

from augment import wordnet
from augment.masked import FillModel
from augment.ranking import FIT, SIMILARITY, Ranking, Target
from augment.view import ViewSpec, make_view
from augment.weights import STARTER_ENCODER, find_encoder

TEXTS = [
    "A big dog is running through the wet grass.",
    "The old woman bought a car.",
    "Kids play outside (boys mostly).",
    "Of course.",
    "Cars were quickly repaired near the enormous house while the people were talking about their large boat.",
]


def slot(text: str, word: str, *candidates: str, weights: Sequence[float] = ()) -> Target:
    start = text.index(word)
    return Target(start, start + len(word), tuple(zip(candidates, weights or [1.0] * len(candidates), strict=True)))


@pytest.fixture(scope="module")
def starter() -> Ranking:
    return Ranking(FillModel(STARTER_ENCODER, device="cpu"))


@pytest.fixture(scope="module", params=sorted(KINDS))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    kind: str = request.param
    return KINDS[kind](tmp_path_factory.mktemp(kind))


@pytest.mark.parametrize(
    ("text", "word", "candidates", "best"),
    [
        ("A man is riding a bike down the street.", "bike", ("wheel", "bicycle", "cycle"), "bicycle"),
        ("Two kids are playing in the snow.", "kids", ("goats", "children"), "children"),
        ("The child is sitting on a bench in the park.", "child", ("minor", "kid", "fry"), "kid"),
        ("He parked his car in front of the house.", "car", ("gondola", "automobile"), "automobile"),
    ],
)
def test_of_equal_synonyms_the_one_that_suits_the_sentence_is_best(
    starter: Ranking, text: str, word: str, candidates: tuple[str, ...], best: str
) -> None:
    assert starter.best([text], [[slot(text, word, *candidates)]]) == [[best]]


def test_sense_counts_weigh_in(starter: Ranking) -> None:
    text = "A man is riding a bike down the street."
    even, uneven = (slot(text, "bike", "bicycle", "wheel", weights=weights) for weights in ((1, 1), (1e-30, 1e30)))
    assert starter.best([text, text], [[even], [uneven]]) == [["bicycle"], ["wheel"]]


def test_scores_are_those_of_the_model_run_plainly(folder: Path) -> None:
    """Each candidate by itself, no padding: log weight, its pieces' log-probabilities, cosine of input embeddings."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    vectors = model.get_input_embeddings().weight
    text, (before, word, after) = "The dog runs near the river.", ("The", "dog", " runs near the river.")
    candidates = {"cat": 1.0, "hound": 2.0, "animal": 0.5, "river": 3.0, "unbelievably": 1.0}

    def encoded(words: str) -> list[int]:
        ids: list[int] = tokenizer(words)["input_ids"]
        return ids

    head, whole = len(encoded(before)) - 1, encoded(text)
    tail = len(whole) - len(encoded(f"{before} {word}")) + 1
    own = whole[head : len(whole) - tail]
    scores = {}
    for form, weight in candidates.items():
        ids = encoded(f"{before} {form}{after}")
        pieces = ids[head : len(ids) - tail]
        masked = [*ids[:head], *[tokenizer.mask_token_id] * len(pieces), *ids[len(ids) - tail :]]
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([masked])).logits[0, head : head + len(pieces)].log_softmax(-1)
            cosine = torch.cosine_similarity(vectors[own].mean(0), vectors[pieces].mean(0), dim=0)
        fit = sum(float(row[piece]) for row, piece in zip(logits, pieces, strict=True))
        scores[form] = math.log(weight) + FIT * fit + SIMILARITY * float(cosine)
    slots = Target(4, 7, tuple(sorted(candidates.items())))
    ranking = Ranking(FillModel(folder, device="cpu"))
    found = ranking.scores([text], [[slots]])[0][0]
    assert found == pytest.approx(scores, abs=1e-3)
    assert ranking.best([text], [[slots]]) == [[max(scores, key=lambda form: scores[form])]]


def test_a_word_that_the_model_does_not_see_has_no_best(folder: Path) -> None:
    text = "dog " * (2 * POSITIONS) + "house"
    ranking = Ranking(FillModel(folder, device="cpu"))
    last = Target(len(text) - 5, len(text), (("home", 1.0),))
    assert ranking.best([text, "dog"], [[slot(text, "dog", "cat"), last], []]) == [["cat", None], []]


def test_the_signature_holds_every_revision_and_not_the_place() -> None:
    view = built("synonym", choose="mlm")
    revisions = [
        wordnet.revision(wordnet.find()),
        f"lemminflect-{version('lemminflect')}",
        find_encoder("starter").revision,
    ]
    joined = "+".join(revisions)
    assert view.spec.params["revision"] == joined
    assert f"|rev:{joined}|" in view.spec.signature()
    assert "encoder" not in view.spec.signature()
    assert make_view(view.spec).spec == view.spec
    with refused(f"has revision {joined}"):
        make_view(ViewSpec("synonym", {"choose": "mlm", "revision": "0123456789ab"}))
