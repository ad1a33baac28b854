"""How close texts are in meaning: cosines of sentence vectors, by the bundled encoder or any other."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, partial
from itertools import chain, starmap
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from augment.models.device import COMPUTE_TYPES, pack, quiet_transformers, resolve_device, usable_cores
from augment.models.encoder import load_encoder
from augment.models.loading import loading
from augment.models.weights import STARTER_ENCODER, Weights, cached_copy

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

BATCH_TOKENS = 2_048
MOST_TOKENS = 512
RAREST = 8.0
"""A token's weight is this minus its Zipf frequency (the logarithm of its occurrences in a billion words)."""
LEAST_WEIGHT, OTHER_WEIGHT = 0.2, 0.5
"""The least weight of a word's token, and that of punctuation."""
Encode: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to vectors of length 1, one a row."""


class Judge:
    """Scores candidates for texts by the cosine of their vectors, -1 to 1, to three decimals.

    A vector of the bundled encoder has two halves of one length: the mean of the last hidden states, and the
    mean of the word embeddings, centred and weighted by how rare each token is. Each half alone judges worse.
    The second is nearly free, so it chooses which candidates the first one sees.

    With `engine` "ctranslate2" the bundled encoder runs there in `precision`; in int8 no bit of a vector
    depends on its batch. Otherwise sentence-transformers runs it, as any other, on `device` in float32 or, for
    "fp64", in float64.
    """

    def __init__(self, weights: Weights, engine: str, precision: str, device: str) -> None:
        self._weights, self._engine, self._precision, self._device = weights, engine, precision, device
        self._is_bundled = weights.path == STARTER_ENCODER

    def scores(
        self, texts: Sequence[str], candidates: Sequence[Sequence[str]], most: int | None = None
    ) -> list[dict[str, float]]:
        """For each text its candidates with their scores, the best first, ties in the order given.

        Of more than `most` candidates the bundled encoder sees only those whose words are closest; if `most`
        is 0, it sees none, and the scores are the cosines of the words.
        """
        if not self._is_bundled:
            return [*map(_best_first, _cosines(self._sentence_vectors, texts, candidates))]
        words = _cosines(self._word_vectors, texts, candidates)
        if most == 0:
            return [*map(_best_first, words)]
        closest = [[*_best_first(row)][:most] for row in words]
        whole = _cosines(self._sentence_vectors, texts, closest)
        means = (
            {form: (score + closeness[form]) / 2 for form, score in row.items()}
            for row, closeness in zip(whole, words, strict=True)
        )
        return [*map(_best_first, means)]

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._weights.path / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MOST_TOKENS)
        return tokenizer

    @cached_property
    def _sentence_vectors(self) -> Encode:
        if self._is_bundled and self._engine == "ctranslate2":
            return _ctranslate2_encoder(self._weights, self._tokenizer, COMPUTE_TYPES[self._precision])
        model = sentence_encoder(self._weights.path, self._device, double=self._precision == "fp64")
        return lambda texts: model.encode(
            texts, batch_size=64, normalize_embeddings=True, show_progress_bar=False
        )

    @cached_property
    def _word_vectors(self) -> Encode:
        from safetensors import safe_open
        from wordfreq import zipf_frequency

        with safe_open(self._weights.path / "model.safetensors", "np") as tensors:
            table = tensors.get_tensor("bert.embeddings.word_embeddings.weight").astype(np.float32)
        table -= table.mean(axis=0)
        tokens = {number: token for token, number in self._tokenizer.get_vocab().items()}

        @cache
        def weight(number: int) -> float:
            token = tokens[number]
            word = token.removeprefix("##")
            if token in ("[CLS]", "[SEP]"):
                return 0
            if word == token and not word[0].isalnum():
                return OTHER_WEIGHT
            return max(RAREST - float(zipf_frequency(word, "en")), LEAST_WEIGHT)

        def encode(texts: Sequence[str]) -> NDArray[np.float32]:
            rows = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
            starts = np.cumsum([0, *map(len, rows[:-1])])
            numbers, places = np.unique(np.concatenate(rows), return_inverse=True)
            weights = np.array([[*map(weight, numbers.tolist())]], np.float32).T
            return _of_length_1(np.add.reduceat((table[numbers] * weights)[places], starts))

        return encode


def _cosines(
    encode: Encode, texts: Sequence[str], candidates: Sequence[Sequence[str]]
) -> list[dict[str, float]]:
    rows = [(text, *forms) for text, forms in zip(texts, candidates, strict=True)]
    unique = dict.fromkeys(chain.from_iterable(row for row in rows if row[1:]))
    places = {text: place for place, text in enumerate(unique)}
    vectors = encode([*unique]) if unique else np.empty((0, 0), np.float32)

    def scores(text: str, *forms: str) -> dict[str, float]:
        cosines = vectors[[places[form] for form in forms]] @ vectors[places[text]] if forms else np.empty(0)
        return dict(zip(forms, cosines.tolist(), strict=True))

    return [*starmap(scores, rows)]


def _best_first(scores: dict[str, float]) -> dict[str, float]:
    # Rounded, as the last digits may differ between batches.
    rounded = {form: round(score, 3) for form, score in scores.items()}
    return dict(sorted(rounded.items(), key=lambda item: -item[1]))


def _of_length_1(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, np.float32(1e-9))  # type: ignore[no-any-return]


@cache
def sentence_encoder(path: Path, device: str, *, double: bool = False) -> "SentenceTransformer":
    """The encoder in a folder, loaded once in a process, to read only; raises as `load_encoder` does."""
    encoder = load_encoder(path, str(resolve_device(device))).eval()
    return encoder.double() if double else encoder


def _ctranslate2_encoder(weights: Weights, tokenizer: "Tokenizer", compute_type: str) -> Encode:
    """The mean of the last hidden states of a BERT on CTranslate2."""
    import ctranslate2

    folder, cores = cached_copy(weights.revision, partial(_convert, weights.path)), usable_cores()
    with loading(f"CTranslate2's copy of the encoder, {folder}", folder):
        encoder = ctranslate2.Encoder(
            str(folder), compute_type=compute_type, inter_threads=cores, intra_threads=1
        )

    def hidden_means(rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        return np.array(encoder.forward_batch(rows).last_hidden_state).mean(axis=1)  # type: ignore[no-any-return]

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
        # Without padding, as the width of a batch would change the rounding.
        batches = [*pack([*map(len, rows)], BATCH_TOKENS)]
        with ThreadPoolExecutor(cores) as threads:
            means = np.concatenate(
                [*threads.map(lambda batch: hidden_means([rows[row] for row in batch]), batches)]
            )
        vectors = np.empty_like(means)
        vectors[np.concatenate(batches)] = means
        return _of_length_1(vectors)

    return encode


def _convert(path: Path, draft: Path) -> None:
    import torch
    from ctranslate2.converters import TransformersConverter

    with torch.random.fork_rng(devices=[]), quiet_transformers():  # the pooler, which nothing uses, is drawn
        TransformersConverter(str(path)).convert(str(draft), force=True)
