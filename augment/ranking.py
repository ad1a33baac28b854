"""Candidates for words in their sentences, ranked by a masked language model: fit to the context, similar meaning.

Lexical substitution as in Melamud et al. 2015 and Zhou et al. 2019, with one forward pass a word and piece count.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from augment.edits import matching_case
from augment.masked import FillModel, Masked, token_span
from augment.synonyms import Weighted

if TYPE_CHECKING:
    import torch

FIT = 0.5
SIMILARITY = 20.0
"""The weights of the log-probability of a candidate's pieces and of the cosine of its vector, beside the log of its
sense weight. Chosen on captions and STS-B training sentences, by two encoders' similarity of sentence and view."""

Scores = dict[str, float]
"""The score of each candidate of a word; empty where the model does not see the word whole."""


class Target(NamedTuple):
    """A word to replace: its characters in the text, and its candidates, each with its sense weight."""

    start: int
    end: int
    candidates: Weighted


class _Question(NamedTuple):
    """A row with masks for one word; its candidates of as many pieces, with these and the score but for the fit."""

    masked: Masked
    candidates: dict[str, tuple[Sequence[int], float]]
    scores: Scores


class Ranking:
    """Scores the candidates for words in their sentences, by a masked language model."""

    def __init__(self, model: FillModel) -> None:
        self._fill = model
        self._pieces = lru_cache(maxsize=100_000)(self._pieces_of)

    def best(self, texts: Sequence[str], targets: Sequence[Sequence[Target]]) -> list[list[str | None]]:
        """The best candidate for every word of every text; None where the model does not see the word whole."""
        # Rounded, as the last digits may differ between batches.
        return [
            [max(scores, key=lambda form: (round(scores[form], 3), form), default=None) for scores in row]
            for row in self.scores(texts, targets)
        ]

    def scores(self, texts: Sequence[str], targets: Sequence[Sequence[Target]]) -> list[list[Scores]]:
        """The score of each candidate for every word of every text.

        It is log w + f / 2 + 20 c: w the sense weight, f the log-probability of the candidate's pieces in as many
        masks, in the text as it is otherwise, and c the cosine of its and the word's input embeddings.
        """
        questions: list[_Question] = []
        found: list[list[Scores]] = [[{} for _ in row] for row in targets]
        for text, row, row_scores in zip(texts, targets, found, strict=True):
            encoded = self._fill.encoded(text) if row else ([], [])
            for target, scores in zip(row, row_scores, strict=True):
                questions += self._questions(text, *encoded, target, scores)
        for batch, logits in self._fill.batches([question.masked for question in questions]):
            rows = [questions[number] for number in batch]
            sizes = [len(question.masked.places) for question in rows]
            parts = logits.log_softmax(-1).cpu().split(sizes)  # type: ignore[no-untyped-call]
            for (_, candidates, scores), part in zip(rows, parts, strict=True):
                for form, (pieces, known) in candidates.items():
                    scores[form] = known + FIT * float(part[range(len(pieces)), pieces].sum())
        return found

    def _questions(
        self, text: str, ids: list[int], offsets: Sequence[tuple[int, int]], target: Target, scores: Scores
    ) -> list[_Question]:
        """A question for each number of pieces that candidates have; none where the word is not seen whole."""
        span = token_span(offsets, target.start, target.end)
        if span is None:
            return []
        first, last = span
        word, lead = text[target.start : target.end], ""
        if target.start > 0:  # tokenizers tell words after a space from others
            lead = "a " if text[target.start - 1].isspace() else "("
        by_size: dict[int, dict[str, tuple[Sequence[int], float]]] = defaultdict(dict)
        pieces = [self._pieces(matching_case(word, form), lead) for form, _ in target.candidates]
        similarities = self._similarities(ids[first : last + 1], pieces)
        for (form, weight), own, similarity in zip(target.candidates, pieces, similarities, strict=True):
            by_size[len(own)][form] = own, math.log(weight) + SIMILARITY * similarity
        questions = []
        for size, candidates in by_size.items():
            masked = [*ids[:first], *[self._fill.tokenizer.mask_token_id] * size, *ids[last + 1 :]]
            if size and len(masked) <= self._fill.limit:
                questions.append(_Question(Masked(masked, list(range(first, first + size))), candidates, scores))
        return questions

    def _similarities(self, word: Sequence[int], forms: Sequence[Sequence[int]]) -> list[float]:
        """Cosines of the mean input embeddings of a word's pieces and those of each form."""
        import torch

        vectors = torch.stack([self._embeddings[list(pieces)].mean(0) for pieces in (word, *forms)])
        return torch.cosine_similarity(vectors[:1], vectors[1:]).tolist()

    @cached_property
    def _embeddings(self) -> "torch.Tensor":
        return self._fill.model.get_input_embeddings().weight.detach().float().cpu()  # type: ignore[no-any-return]

    def _pieces_of(self, form: str, lead: str) -> tuple[int, ...]:
        """The tokens of a form where `lead` stands before it."""
        batch = self._fill.tokenizer(lead + form, add_special_tokens=False, return_offsets_mapping=True)
        pairs = zip(batch["input_ids"], batch["offset_mapping"], strict=True)
        return tuple(number for number, (_, end) in pairs if end > len(lead))
