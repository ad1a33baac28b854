"""Replace a share of the content words by WordNet synonyms (BSL, section 4.4: 30% of the words)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from augment import wordnet
from augment.edits import Token, apply_edits, matching_case, tokens
from augment.errors import InputError
from augment.inflect import wants_an
from augment.synonyms import PARTS, Thesaurus, Weighted, require_tagger, tagger, thesaurus
from augment.view import Edit, Runtime, Viewed, ViewSpec
from augment.words import FUNCTION_WORDS, replaceable, starts_sentence

PARTICIPLE_MARKERS = frozenset(
    ["am", "are", "be", "been", "being", "got", "had", "has", "have", "having", "is", "was", "were"]
)


class PARAMS(BaseModel):
    """Parameters of the synonym view."""

    model_config = ConfigDict(extra="forbid")

    fraction: float = Field(default=0.3, gt=0, le=1, description="share of the eligible words to replace")
    tagger: Literal["auto", "perceptron", "senses"] = Field(
        default="auto",
        description="parts of speech from NLTK's tagger or from sense counts; auto: the tagger where it is installed",
    )
    revision: str | None = Field(default=None, description="hold WordNet to this revision")


@dataclass(frozen=True)
class Synonym:
    """The view; `spec` names the tagger that is used and WordNet's revision."""

    spec: ViewSpec
    fraction: float
    use_tagger: bool

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """View every text by its own seed."""
        return [self._view(text, random.Random(seed)) for text, seed in zip(texts, seeds, strict=True)]

    def _view(self, text: str, draw: random.Random) -> Viewed:
        found = tokens(text)
        source = thesaurus()
        tags = _tags(found, source, use_tagger=self.use_tagger)
        choices = _choices(found, tags, source)
        if not choices:
            return Viewed(text, "unchanged", "no-eligible-word", None, (), self.fraction, 0.0)
        wanted = max(1, round(self.fraction * len(choices)))
        edits: list[Edit] = []
        for index in sorted(draw.sample(sorted(choices), wanted)):
            names, weights = zip(*choices[index], strict=True)
            new = matching_case(found[index].text, draw.choices(names, weights)[0])
            edits.extend(_article(found, index, new))
            edits.append(Edit(found[index].start, found[index].end, found[index].text, new))
        return Viewed(apply_edits(text, edits), "ok", None, None, tuple(edits), self.fraction, wanted / len(choices))


def build(params: PARAMS, runtime: Runtime) -> Synonym:
    """The view for `params`; needs WordNet, and raises InputError where it or a named tagger is missing."""
    revision = wordnet.revision(wordnet.find())
    if params.revision not in (None, revision):
        raise InputError(f"synonym: WordNet here has revision {revision}, not {params.revision}; install that one")
    if params.tagger == "perceptron":
        require_tagger()
    use_tagger = params.tagger == "perceptron" or (params.tagger == "auto" and tagger() is not None)
    resolved = {"fraction": params.fraction, "tagger": "perceptron" if use_tagger else "senses", "revision": revision}
    return Synonym(ViewSpec("synonym", resolved), params.fraction, use_tagger)


def _tags(found: Sequence[Token], source: Thesaurus, *, use_tagger: bool) -> list[str | None]:
    """A Penn tag for every token, None where there is none to give."""
    if use_tagger:
        return [tag for _, tag in require_tagger().tag([token.text for token in found])]
    tags: list[str | None] = []
    for index, token in enumerate(found):
        tag = source.tag_by_senses(token.text.lower()) if token.kind == "word" else None
        if tag == "VBD" and index and found[index - 1].text.lower() in PARTICIPLE_MARKERS:
            tag = "VBN"
        tags.append(tag)
    return tags


def _choices(found: Sequence[Token], tags: Sequence[str | None], source: Thesaurus) -> dict[int, Weighted]:
    """The eligible words by their place among the tokens, each with its synonyms."""
    fixed = _in_set_phrases(found, tags, source)
    choices: dict[int, Weighted] = {}
    for index in replaceable(found):
        word, tag = found[index].text.lower(), tags[index]
        if tag is None or tag[:1] not in PARTS or tag.startswith("NNP") or word in FUNCTION_WORDS or index in fixed:
            continue
        if found[index].text != word and not starts_sentence(found, index):
            continue
        candidates = source.candidates(word, tag)
        if candidates:
            choices[index] = candidates
    return choices


def _in_set_phrases(found: Sequence[Token], tags: Sequence[str | None], source: Thesaurus) -> set[int]:
    """Places of words that WordNet knows only together: "ice cream", "of course", "picked up"."""
    words = [token.text.lower() for token in found]
    lemmas = [source.lemma(word, tag) or word if tag else word for word, tag in zip(words, tags, strict=True)]
    fixed: set[int] = set()
    for size in (2, 3):
        for first in range(len(found) - size + 1):
            run = range(first, first + size)
            if all(found[index].kind == "word" for index in run) and any(
                source.is_entry("_".join(part[index] for index in run)) for part in (words, lemmas)
            ):
                fixed.update(run)
    return fixed


def _article(found: Sequence[Token], index: int, new: str) -> list[Edit]:
    """The edit that turns "a" before the word into "an" or back, where the new word's sound asks for it."""
    if index == 0 or found[index - 1].text not in ("a", "an", "A", "An"):
        return []
    article = found[index - 1]
    right = "an" if wants_an(new) else "a"
    if article.text[0] == "A":
        right = right.capitalize()
    return [] if right == article.text else [Edit(article.start, article.end, article.text, right)]
