"""TF-IDF, functions, whitening and the flow, each against an independent computation."""

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from pipelines.console import InputError, TwinviewsError
from trainers.baselines.encoders import function_encoder, load_function, tfidf
from trainers.baselines.fitting import FitText, fit_whitening, whitening
from trainers.baselines.flow import BATCH, Flow, train
from trainers.baselines.flow import fit as fit_flow
from trainers.embedding.vectors import Vectors

TEXTS = ["the cat sat on the mat", "the dog sat", "a dog ate the cat", "Dog dog"]


def tfidf_by_hand(texts: list[str], corpus: list[str]) -> np.ndarray:
    """Return count x (ln((1 + n) / (1 + df)) + 1), rows of length 1, words of two letters or more in order."""
    lines = [[word for word in text.lower().split() if len(word) > 1] for text in corpus]
    vocabulary = sorted({word for line in lines for word in line})
    idf = [math.log((1 + len(lines)) / (1 + sum(word in line for line in lines))) + 1 for word in vocabulary]
    rows = []
    for text in texts:
        counts = Counter(text.lower().split())
        row = np.array([counts[word] * weight for word, weight in zip(vocabulary, idf, strict=True)])
        rows.append(row / (np.linalg.norm(row) or 1))
    return np.stack(rows)


def test_tfidf_on_its_own_text_by_hand() -> None:
    encoder = tfidf()
    vectors = Vectors.encode(encoder, TEXTS)
    expected = tfidf_by_hand(TEXTS, TEXTS)
    np.testing.assert_allclose(vectors.of(TEXTS).toarray(), expected, atol=1e-6)  # type: ignore[union-attr]
    assert vectors.of(TEXTS).dtype == np.float32
    np.testing.assert_allclose(vectors.cosines(TEXTS[:2], TEXTS[2:]), (expected[:2] * expected[2:]).sum(1), atol=1e-6)
    assert "fitted on the evaluation text itself" in encoder.title
    assert encoder.card()["dimension"] == expected.shape[1]


def test_tfidf_fitted_on_another_text_knows_that_texts_words_only() -> None:
    encoder = tfidf(FitText("text.txt", TEXTS[:2]))
    vectors = encoder.encode(["cat dog", "zebra"])
    np.testing.assert_allclose(vectors.toarray(), tfidf_by_hand(["cat dog", "zebra"], TEXTS[:2]), atol=1e-6)  # type: ignore[union-attr]
    assert vectors[1].nnz == 0
    assert "fitted on text.txt (2 sentences)" in encoder.title
    assert encoder.card()["fit"]["sentences"] == 2


def test_tfidf_without_words_is_refused() -> None:
    with pytest.raises(InputError, match="no word of two letters or more in the evaluation text"):
        tfidf().encode(["a", "!"])


def lengths(texts: list[str]) -> list[list[float]]:
    return [[len(text), text.count("a"), 1] for text in texts]


@pytest.mark.parametrize("wrap", [list, np.array, lambda rows: torch.tensor(rows, requires_grad=True)])
def test_any_function_is_an_encoder_whatever_kind_of_rows_it_gives(wrap: Callable[..., object]) -> None:
    batches: list[list[str]] = []

    def function(texts: list[str]) -> object:
        batches.append(texts)
        return wrap([[float(number) for number in row] for row in lengths(texts)])

    encoder = function_encoder(function, "mine", size=3)
    vectors = Vectors.encode(encoder, [*TEXTS, *TEXTS])
    assert vectors.of(TEXTS).tolist() == lengths(TEXTS)
    assert vectors.of(TEXTS).dtype == np.float32
    assert [len(batch) for batch in batches] == [3, 1]
    assert [len(text) for batch in batches for text in batch] == sorted(map(len, TEXTS), reverse=True)
    assert encoder.card()["dimension"] == 3


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def f(texts): return [[1.0]]", r"bad_module_\d+:f gave an array of shape \(1, 1\) for 4 texts"),
        ("def f(texts): return None", r"gave an array of shape \(\) for 4 texts"),
        ("def f(texts): return [[1.0], [1.0, 2.0]] * 2", "failed on 4 texts: ValueError"),
        ("def f(texts):\n    return texts[99]", r"failed on 4 texts .*line 2.: IndexError: "),
        ("def f(texts): return [[float('nan')] for _ in texts]", "gives NaN or infinity, for one: 'the cat sat"),
        ("import no_such_package\nf = len", r"cannot import .*: No module named 'no_such_package'"),
        ("f = 1 / 0", r"cannot import .*: ZeroDivisionError: "),
        ("import sys\nsys.exit(3)", "cannot import .*: SystemExit: 3"),
        ("f = 1", "has no 'f' to call"),
    ],
)
def test_an_unusable_function_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"bad_module_{abs(hash(code))}"
    (tmp_path / f"{name}.py").write_text(code)
    with pytest.raises(TwinviewsError, match=message):
        load_function(f"{name}:f").encode(TEXTS)


def test_vectors_of_changing_length_are_refused() -> None:
    encoder = function_encoder(lambda texts: [[1.0] * len(texts) for _ in texts], "mine", size=3)
    with pytest.raises(InputError, match="gave vectors of 1 and 3 numbers"):
        encoder.encode(TEXTS)


def cloud(count: int, size: int, seed: int = 0) -> np.ndarray:
    """Return correlated vectors, far from the origin."""
    draw = np.random.default_rng(seed)
    return (draw.normal(size=(count, size)) @ draw.normal(size=(size, size)) + 5).astype(np.float32)


@pytest.mark.parametrize("dimension", [None, 6, 2])
def test_whitened_vectors_have_mean_zero_and_unit_covariance(dimension: int | None) -> None:
    vectors = cloud(400, 6)
    white = fit_whitening(vectors, dimension)(vectors)
    assert white.shape == (400, dimension or 6)
    assert white.dtype == np.float32
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(np.cov(white, rowvar=False), np.eye(dimension or 6), atol=1e-3)


def test_reduced_whitening_keeps_the_directions_of_largest_variance() -> None:
    vectors = cloud(400, 6)
    # Independent of how the whitening found them: the singular vectors of the centred data.
    centred = vectors - vectors.mean(axis=0)
    u = np.linalg.svd(centred, full_matrices=False)[0][:, :2]
    np.testing.assert_allclose(np.abs(fit_whitening(vectors, 2)(vectors)), np.abs(u) * np.sqrt(399), atol=1e-3)


def test_whitening_ignores_directions_without_variance_and_refuses_more_than_there_are() -> None:
    vectors = np.concatenate([cloud(50, 3), np.ones((50, 1), np.float32)], axis=1)
    assert fit_whitening(vectors)(vectors).shape == (50, 3)
    with pytest.raises(InputError, match=r"cannot whiten to 4 dimensions: the 50 vectors of 4 numbers vary in 3"):
        fit_whitening(vectors, 4)
    with pytest.raises(InputError, match="vary in 0 directions"):
        fit_whitening(np.ones((9, 4), np.float32))
    with pytest.raises(InputError, match="two texts or more"):
        fit_whitening(vectors[:1])


@pytest.fixture(params=[2, 5, 16])
def flow(request: pytest.FixtureRequest) -> Flow:
    """A flow whose couplings and scales are far from doing nothing."""
    torch.manual_seed(0)
    made = Flow(request.param).double()
    made(torch.from_numpy(cloud(64, request.param)).double())
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.03 * torch.randn_like(parameter)
    return made


def test_the_volume_is_the_log_determinant_of_the_jacobian(flow: Flow) -> None:
    x = torch.from_numpy(cloud(1, flow.couplings[0][0].logs.numel() + flow.couplings[0][0].still, 1)).double()
    jacobian = torch.autograd.functional.jacobian(lambda row: flow(row[None])[0][0], x[0])
    z, volume = flow(x)
    assert z.shape == x.shape
    assert not torch.allclose(z, x, atol=0.1)
    torch.testing.assert_close(volume, torch.linalg.slogdet(jacobian).logabsdet, atol=1e-6, rtol=1e-6)
    normal = torch.distributions.Normal(0.0, 1.0).log_prob(z).sum(dim=1)
    torch.testing.assert_close(flow.log_likelihood(x), normal + volume, atol=1e-6, rtol=1e-6)


def test_the_first_batch_sets_the_scales() -> None:
    flow = Flow(8, levels=1, depth=1)
    x = torch.from_numpy(cloud(64, 8))
    z, _ = flow(x)
    torch.testing.assert_close(z.mean(dim=0), torch.zeros(8), atol=1e-4, rtol=0)
    torch.testing.assert_close(z.var(dim=0, correction=0), torch.ones(8), atol=1e-3, rtol=0)


def test_training_raises_the_likelihood_of_text_it_has_not_seen() -> None:
    torch.manual_seed(0)
    draw = np.random.default_rng(0)
    # A curve with noise: no scaling of single dimensions fits it.
    first = draw.normal(size=(4000, 4))
    data = np.concatenate([first, first**2 + 0.1 * draw.normal(size=(4000, 4))], axis=1).astype(np.float32)
    seen, unseen = torch.from_numpy(data[:3000]), torch.from_numpy(data[3000:])
    flow = Flow(8)
    flow(seen[:BATCH])
    before = flow.log_likelihood(unseen).mean().item()
    losses = train(flow, seen, 2)
    after = flow.log_likelihood(unseen).mean().item()
    assert len(losses) == 2 * math.ceil(3000 / BATCH)
    assert after > before + 0.5
    assert np.mean(losses[-20:]) < np.mean(losses[:20])


def test_a_flow_is_the_same_for_the_same_seed_and_leaves_the_random_numbers_alone() -> None:
    vectors = cloud(200, 6)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one, two, other = (fit_flow(vectors, 1, seed)(vectors) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert np.array_equal(one, two)
    assert not np.allclose(one, other, atol=1e-3)
    with pytest.raises(InputError, match="a flow needs two vectors"):
        fit_flow(vectors[:1])


def test_without_a_text_of_its_own_a_map_is_fitted_on_each_sets_sentences() -> None:
    vectors = Vectors({text: row for row, text in enumerate("abcdefghij")}, cloud(10, 3))
    adaptation = whitening(None)
    encoder = function_encoder(lengths, "mine")
    assert adaptation.prepare(encoder) is adaptation
    assert "each set's own sentences (transductive)" in adaptation.title
    # A sentence that stands in several pairs weighs as often.
    texts = list("abcdeaaa")
    mapped = adaptation.apply(vectors, texts, "mine")
    assert set(mapped.rows) == set("abcde")
    np.testing.assert_allclose(np.cov(mapped.of(texts), rowvar=False), np.eye(3), atol=1e-3)


def test_with_a_text_of_its_own_a_map_sees_nothing_of_the_sets() -> None:
    vectors = Vectors({text: row for row, text in enumerate("abcdefghij")}, cloud(10, 3))
    own = cloud(50, 3, seed=3)
    text = FitText("text.txt", [f"{row}" for row in range(50)])
    encoder = function_encoder(lambda texts: own[[int(text) for text in texts]], "mine")
    adaptation = whitening(2, text).prepare(encoder)
    assert "whitened to 2 dimensions, fitted on text.txt (50 sentences)" in adaptation.title
    mapped = adaptation.apply(vectors, list("abc"), "mine")
    np.testing.assert_allclose(mapped.of(list("abc")), fit_whitening(own, 2)(vectors.of(list("abc"))), atol=1e-6)  # type: ignore[arg-type]
    assert adaptation.card()["fit"]["sentences"] == 50
