"""nlpaug's synonyms on our WordNet and tagger; its output is what the BSL paper shows (Tables 5 and 11)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from augment import wordnet
from augment.edits import find_edits
from augment.omw import open_tables
from augment.tagging import tagger
from augment.view import Viewed


def nlpaug_version() -> str:
    """The revision of the code that decides the text: "nlpaug-1.1.11"."""
    return f"nlpaug-{version('nlpaug')}"


def on_our_wordnet(kind: type) -> type:
    """Nlpaug's SynonymAug or AntonymAug on our WordNet and tagger: its own would be looked for on the network."""
    from nlpaug.model.word_dict import WordNet

    class Dictionary(WordNet):  # type: ignore[misc]
        def read(self) -> object:
            return wordnet.reader() if self.lang == "eng" else open_tables()

        @classmethod
        def pos_tag(cls, tokens: Sequence[str]) -> list[tuple[str, str]]:
            return list(zip(tokens, tagger().tag(tokens), strict=True))

    def get_model(_kind: type, _source: str, lang: str, *_: object) -> Dictionary:
        return Dictionary(lang=lang, is_synonym=kind.__name__ == "SynonymAug")

    return type(kind.__name__, (kind,), {"get_model": classmethod(get_model)})


@lru_cache(maxsize=8)
def _augmenter(fraction: float) -> Any:  # noqa: ANN401 - an nlpaug augmenter, which has no types
    from nlpaug.augmenter.word import SynonymAug

    augmenter = on_our_wordnet(SynonymAug)(aug_src="wordnet", aug_p=fraction)
    augmenter.include_detail = True
    return augmenter


def published_synonyms(text: str, draw: random.Random, fraction: float) -> Viewed:
    """What `SynonymAug(aug_src="wordnet", aug_p=fraction)` makes of a text, drawing from `draw` alone."""
    if not text.strip():
        return Viewed(text, "unchanged", "no-eligible-word", None, (), fraction, None)
    augmenter = _augmenter(fraction)
    augmenter.sample = draw.sample
    made, changes = augmenter.augment(text)[0]
    share = len(changes) / len(augmenter.tokenizer(text.strip()))
    if made == text:
        return Viewed(text, "unchanged", "nothing-replaced", None, (), fraction, share)
    reason = None if changes else "spacing-only"
    return Viewed(made, "ok", reason, None, find_edits(text, made), fraction, share)
