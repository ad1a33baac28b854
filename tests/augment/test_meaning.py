"""Similarity of meaning: the bundled judge against its definition in NumPy, and any other encoder."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from samples import TEXTS
from transformers import AutoModel, AutoTokenizer
from wordfreq import zipf_frequency

from augment.meaning.judge import Judge, sentence_encoder
from augment.models.weights import STARTER_ENCODER, Weights, find_encoder

GUITAR = "A man is playing a guitar."
CLOSE, FAR, ODD = "A man plays the guitar.", "The stock market fell sharply in Tokyo.", "\u200b"
LONG = "The train was late again and nobody had told the people who were waiting for it on the platform. " * 40


@cache
def reference() -> tuple[Any, Any, Any]:
    tokenizer = AutoTokenizer.from_pretrained(STARTER_ENCODER)
    model = AutoModel.from_pretrained(STARTER_ENCODER, dtype=torch.float32).eval()
    return tokenizer, model, model.embeddings.word_embeddings.weight.detach().numpy()


def vectors(text: str) -> tuple[Any, Any]:
    """Both halves of a vector, each of length 1."""
    tokenizer, model, table = reference()
    batch = tokenizer(text, return_tensors="pt", truncation=True, max_length=512)
    with torch.inference_mode():
        mean = model(**batch).last_hidden_state[0].mean(dim=0).numpy()
    words = np.zeros(table.shape[1])
    for token in tokenizer.tokenize(text, truncation=True, max_length=512):
        word = token.removeprefix("##")
        letters = word != token or word[0].isalnum()
        weight = max(8 - zipf_frequency(word, "en"), 0.2) if letters else 0.5
        words += weight * (table[tokenizer.convert_tokens_to_ids(token)] - table.mean(axis=0))
    return mean / np.linalg.norm(mean), words / max(np.linalg.norm(words), 1e-9)


def judge(engine: str = "ctranslate2", precision: str = "fp32") -> Judge:
    return Judge(find_encoder("starter"), engine, precision, "cpu")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("engine", "precision", "tolerance"),
    [("ctranslate2", "fp32", 7e-4), ("ctranslate2", "int8", 2e-2), ("transformers", "fp64", 7e-4)],
)
def test_the_bundled_judge_is_the_mean_of_two_cosines(engine: str, precision: str, tolerance: float) -> None:
    (found,) = judge(engine, precision).scores([GUITAR], [[FAR, CLOSE, LONG, GUITAR]])
    own = vectors(GUITAR)
    for form in (FAR, CLOSE, LONG, GUITAR):
        expected = sum(float(one @ other) for one, other in zip(own, vectors(form), strict=True)) / 2
        assert found[form] == pytest.approx(expected, abs=tolerance)
        assert found[form] == round(found[form], 3)
    assert list(found) == sorted(found, key=found.__getitem__, reverse=True)
    assert list(found)[:2] == [GUITAR, CLOSE]


def hidden(engine: str, precision: str, texts: Sequence[str]) -> Any:  # noqa: ANN401
    return judge(engine, precision)._sentence_vectors(texts)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("precision", "tolerance"), [("int8", 0), ("fp32", 1e-6)])
def test_a_vector_depends_on_no_other_text(precision: str, tolerance: float) -> None:
    """In int8, which is the default, not even in its last bit: no rounding of a score can depend on the batch."""
    texts = [
        GUITAR,
        CLOSE,
        FAR,
        ODD,
        LONG,
        *TEXTS,
        *(" ".join(FAR.split()[:length]) for length in range(1, 7)),
    ]
    together = hidden("ctranslate2", precision, texts)
    for place, text in enumerate(texts):
        alone = hidden("ctranslate2", precision, [text])[0]
        other = hidden("ctranslate2", precision, [*texts[place:], *texts[:place] * 3])[0]
        assert abs(np.stack([alone, other]) - together[place]).max() <= tolerance


def test_only_the_closest_by_their_words_are_judged_whole() -> None:
    forms = [FAR, CLOSE, ODD, "Someone plays an instrument."]
    every, some = (judge().scores([GUITAR, FAR], [forms, []], most) for most in (None, 2))
    assert [len(row) for row in (*every, *some)] == [4, 0, 2, 0]
    assert some[0].items() <= every[0].items()
    assert next(iter(some[0])) == CLOSE


def test_any_encoder_judges_by_its_own_cosine(encoder_folder: Path) -> None:
    (found,) = Judge(Weights(encoder_folder, "r"), "ctranslate2", "int8", "cpu").scores(
        [GUITAR], [[FAR, CLOSE]], 1
    )
    one, *others = sentence_encoder(encoder_folder, "cpu").encode(
        [GUITAR, FAR, CLOSE], normalize_embeddings=True
    )
    assert found == {
        form: round(float(one @ other), 3) for form, other in zip((FAR, CLOSE), others, strict=True)
    }
