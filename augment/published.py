"""Synonyms as nlpaug's SynonymAug makes them, whose output the BSL paper shows (Tables 5 and 11)."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from augment import wordnet
from augment.tagging import require_tagger
from augment.view import Edit, Viewed

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

_PARTS = re.compile(r"\w+|\s+|[^\w\s]")


def nlpaug_version() -> str:
    """The revision of the code that decides the text: "nlpaug-1.1.11"."""
    return f"nlpaug-{version('nlpaug')}"


@dataclass(frozen=True)
class PublishedSynonym:
    """`SynonymAug(aug_src="wordnet", aug_p=fraction)` with one seed a row; no global generator is touched."""

    fraction: float

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """View every text as nlpaug would after `random.seed(seed)`."""
        return [self._view(text, seed) for text, seed in zip(texts, seeds, strict=True)]

    def _view(self, text: str, seed: int) -> Viewed:
        if not text.strip():
            return Viewed(text, "unchanged", "no-eligible-word", None, (), self.fraction, None)
        augmenter = self._augmenter
        draw = random.Random(seed)
        augmenter.sample = lambda population, number: draw.sample(population, number)
        made, changes = augmenter.augment(text)[0]
        share = len(changes) / len(augmenter.tokenizer(text.strip()))
        if made == text:
            return Viewed(text, "unchanged", "nothing-replaced", None, (), self.fraction, share)
        reason = None if changes else "spacing-only"
        return Viewed(made, "ok", reason, None, differences(text, made), self.fraction, share)

    @cached_property
    def _augmenter(self) -> Any:  # noqa: ANN401 - an nlpaug augmenter, which has no types
        import nlpaug.augmenter.word as naw

        class Ours(naw.SynonymAug):  # type: ignore[misc]
            """nlpaug's augmenter on our WordNet and tagger: its own would be looked for on the network."""

            @classmethod
            def get_model(cls, *_: object) -> _Dictionary:
                return _Dictionary(wordnet.reader())

        augmenter = Ours(aug_src="wordnet", aug_p=self.fraction)
        augmenter.include_detail = True
        return augmenter


class _Dictionary:
    """What nlpaug asks of its own WordNet class."""

    def __init__(self, reader: WordNetCorpusReader) -> None:
        self._reader = reader
        self._tagger = require_tagger("compat").source

    def predict(self, word: str, pos: str | None = None) -> list[str]:
        """The words of all senses, in WordNet's order."""
        return [lemma.name() for synset in self._reader.synsets(word, pos=pos) for lemma in synset.lemmas()]

    def pos_tag(self, tokens: Sequence[str]) -> list[tuple[str, str]]:
        """Penn tags by NLTK's tagger."""
        return list(self._tagger.tag(tokens))


def differences(text: str, other: str) -> tuple[Edit, ...]:
    """Edits of words, spaces and punctuation that turn `text` into `other`."""
    before, after = _PARTS.findall(text), _PARTS.findall(other)
    starts = [0]
    for part in before:
        starts.append(starts[-1] + len(part))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return tuple(
        Edit(starts[i], starts[j], text[starts[i] : starts[j]], "".join(after[k:m]))
        for what, i, j, k, m in matcher.get_opcodes()
        if what != "equal"
    )
