"""Candidates for words in their sentences, ranked by a masked language model: fit to the context, similar meaning.

Lexical substitution as in Melamud et al. 2015 and Zhou et al. 2019, with one forward pass a word and piece count.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from augment.lexicon.synonyms import Weighted
from augment.masked_lm.masking import COSINE_WEIGHT, FIT_WEIGHT, FillModel, Masked, token_span
from augment.text.edits import matching_case

if TYPE_CHECKING:
    import torch


class Target(NamedTuple):
    """A word to replace: its characters in the text, and its candidates, each with its sense weight."""

    start: int
    end: int
    candidates: Weighted


class _Question(NamedTuple):
    """A row with one word masked; candidates with their pieces and scores without the fit; where the scores go."""

    masked: Masked
    candidates: dict[str, tuple[Sequence[int], float]]
    scores: dict[str, float]


class Ranking:
    """A masked language model that scores candidates for words in their sentences."""

    def __init__(self, model: FillModel) -> None:
        self._fill = model
        self._pieces = lru_cache(maxsize=100_000)(self._pieces_of)

    def best(self, texts: Sequence[str], targets: Sequence[Sequence[Target]]) -> list[list[str | None]]:
        """The best candidate for every word of every text; None if the model does not see the word whole."""
        # Rounded, as the last digits may differ between batches.
        return [
            [max(scores, key=lambda form: (round(scores[form], 3), form), default=None) for scores in row]
            for row in self.scores(texts, targets)
        ]

    def scores(self, texts: Sequence[str], targets: Sequence[Sequence[Target]]) -> list[list[dict[str, float]]]:
        """The score of each candidate for every word of every text; none if the model does not see the word whole.

        It is log w + f / 2 + 20 c, where w is the sense weight, f the log-probability of the candidate's pieces in as
        many masks, in the otherwise unchanged text, and c the cosine of the input embeddings of candidate and word.
        """
        questions: list[_Question] = []
        results: list[list[dict[str, float]]] = [[{} for _ in row] for row in targets]
        for text, row, row_scores in zip(texts, targets, results, strict=True):
            encoded = self._fill.encoded(text) if row else ([], [])
            for target, scores in zip(row, row_scores, strict=True):
                questions += self._questions(text, *encoded, target, scores)
        for batch, logits in self._fill.batches([question.masked for question in questions]):
            rows = [questions[number] for number in batch]
            sizes = [len(question.masked.places) for question in rows]
            parts = logits.log_softmax(-1).cpu().split(sizes)  # type: ignore[no-untyped-call]
            for (_, candidates, scores), part in zip(rows, parts, strict=True):
                for form, (pieces, score) in candidates.items():
                    scores[form] = score + FIT_WEIGHT * float(part[range(len(pieces)), pieces].sum())
        return results

    def _questions(
        self, text: str, ids: list[int], offsets: Sequence[tuple[int, int]], target: Target, scores: dict[str, float]
    ) -> Iterator[_Question]:
        import torch

        span = token_span(offsets, target.start, target.end)
        if span is None:
            return
        word, head, tail = text[target.start : target.end], ids[: span[0]], ids[span[1] + 1 :]
        previous = text[: target.start][-1:]  # tokenizers distinguish words after a space
        lead = previous and ("a " if previous.isspace() else "(")
        rows = [self._pieces(matching_case(word, form), lead) for form, _ in target.candidates]
        word_ids = ids[span[0] : span[1] + 1]
        vectors = torch.stack([self._embeddings[list(pieces)].mean(0) for pieces in (word_ids, *rows)])
        cosines = torch.cosine_similarity(vectors[:1], vectors[1:]).tolist()
        by_size: dict[int, dict[str, tuple[Sequence[int], float]]] = defaultdict(dict)
        for (form, weight), pieces, cosine in zip(target.candidates, rows, cosines, strict=True):
            by_size[len(pieces)][form] = pieces, math.log(weight) + COSINE_WEIGHT * cosine
        for size, candidates in by_size.items():
            masked = [*head, *[self._fill.tokenizer.mask_token_id] * size, *tail]
            if size and len(masked) <= self._fill.limit:
                places = list(range(len(head), len(head) + size))
                yield _Question(Masked(masked, places), candidates, scores)

    @cached_property
    def _embeddings(self) -> "torch.Tensor":
        return self._fill.model.get_input_embeddings().weight.detach().float().cpu()  # type: ignore[no-any-return]

    def _pieces_of(self, form: str, lead: str) -> tuple[int, ...]:
        batch = self._fill.tokenizer(lead + form, add_special_tokens=False, return_offsets_mapping=True)
        pairs = zip(batch["input_ids"], batch["offset_mapping"], strict=True)
        return tuple(number for number, (_, end) in pairs if end > len(lead))
