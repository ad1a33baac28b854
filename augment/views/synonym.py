"""Replace a share of the content words by WordNet synonyms (BSL, section 4.4: 30% of the words)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from pydantic import Field, PrivateAttr

from augment import wordnet
from augment.edits import Token, apply_edits, matching_case, tokens
from augment.english import English
from augment.errors import InputError
from augment.inflect import inflection_revision
from augment.keep import WordView, touches, untouching
from augment.masked import FillModel
from augment.omw import Multilingual
from augment.published import nlpaug_version, published_synonyms
from augment.ranking import Ranking, Slot
from augment.synonyms import Tiers, Weighted, thesaurus
from augment.tagging import tagger
from augment.view import Edit, Runtime, Viewed, ViewSpec, seeded
from augment.weights import find_encoder
from augment.words import rounded

STARTER = "starter"


class Language(Protocol):
    """What a language's words may become, and what else must change with them."""

    def choices(self, found: Sequence[Token]) -> dict[int, Tiers]:
        """The eligible words by their place among the tokens, each with its synonyms."""
        ...

    def agreement(self, found: Sequence[Token], index: int, new: str) -> list[Edit]:
        """Edits beside a changed word that its new sound or form asks for."""
        ...


class _Replacement(NamedTuple):
    """A drawn word, by its place among the tokens: the new word, and all synonyms that it has, drawn from or not."""

    place: int
    new: str
    synonyms: Weighted


class _Row(NamedTuple):
    """A text whose words are drawn: its tokens, how many are eligible, and what becomes of the drawn ones."""

    found: list[Token]
    eligible: int
    replaced: list[_Replacement]


class Synonym(WordView):
    """The view; `spec` names the tagger that is used and the revisions of WordNet and of what stands beside it."""

    name = "synonym"

    fraction: float = Field(default=0.3, gt=0, le=1, description="share of the eligible words to replace, on average")
    at_least: int = Field(default=0, ge=0, description="words to replace at least in a sentence that has so many")
    choose: Literal["sense", "mlm"] = Field(
        default="sense",
        description="among a word's synonyms choose by chance and sense counts, or the best one in its sentence by a "
        "masked language model",
    )
    encoder: str = Field(
        default=STARTER,
        description="masked language model, for choose mlm only: starter, a folder, or a name on the Hub",
    )
    tagger: Literal["auto", "perceptron"] = Field(
        default="auto", description="parts of speech of English by NLTK's perceptron tagger, which is bundled"
    )
    language: str = Field(
        default="en", description="other languages (fr, es, ...) by NLTK's Open Multilingual WordNet, not inflected"
    )
    compat: bool = Field(
        default=False, description="do what nlpaug's SynonymAug does, phrases and function words included"
    )
    revision: str | None = Field(
        default=None, description="hold WordNet, and what else is used beside it, to this revision"
    )

    _language: Language = PrivateAttr()
    _ranking: Ranking | None = PrivateAttr(default=None)

    def build(self, runtime: Runtime) -> Synonym:
        """The view with its word lists and models.

        Raises:
            InputError: WordNet or what else is asked for is missing or of another revision, or options contradict.
        """
        self._check()
        revisions = [wordnet.revision(wordnet.find())]
        view = self.keeping()
        if self.compat:
            view.tagger = "perceptron"
            revisions.append(nlpaug_version())
        elif self.language == "en":
            view._language, view.tagger = English(thesaurus(), tagger()), "perceptron"
            revisions.append(inflection_revision())
        else:
            view._language = language = Multilingual(self.language)
            revisions.append(language.revision)
        if self.choose == "mlm":
            held = (self.revision or "").split("+")
            weights = find_encoder(self.encoder, held[-1] if len(held) == len(revisions) + 1 else None)
            revisions.append(weights.revision)
            model = FillModel(weights.path, device=runtime.device, batch_tokens=runtime.batch_tokens)
            view._ranking = Ranking(model)
        view.revision = "+".join(revisions)
        if self.revision not in (None, view.revision):
            what = "WordNet here, and what is used beside it,"
            raise InputError(f"synonym: {what} has revision {view.revision}, not {self.revision}; install that one")
        return view

    @property
    def spec(self) -> ViewSpec:
        """All parameters; the encoder is one of them where it chooses."""
        params = self.model_dump(exclude={"encoder", "revision"})
        encoder = {"encoder": self.encoder} if self.choose == "mlm" else {}
        return ViewSpec(self.name, {**params, **encoder, "revision": self.revision})

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """View every text by its own seed; a masked language model sees the words of all rows in shared batches."""
        drawn = zip(texts, seeded(seeds), strict=True)
        if self.compat:
            return [published_synonyms(text, draw, self.fraction) for text, draw in drawn]
        rows = [self._draw(text, draw) for text, draw in drawn]
        if self._ranking is not None:
            rows = _preferred(texts, rows, self._ranking)
        return [self._replace(text, row) for text, row in zip(texts, rows, strict=True)]

    def _draw(self, text: str, draw: random.Random) -> _Row:
        """Draw the words and their synonyms: `fraction` of the eligible on average, `at_least` so many."""
        found = tokens(text)
        choices = self._language.choices(found)
        if kept := self.kept(text):
            choices = {place: tiers for place, tiers in choices.items() if not touches(kept, *found[place][:2])}
        if not choices:
            return _Row(found, 0, [])
        number = max(rounded(self.fraction * len(choices), draw), min(self.at_least, len(choices)))
        replaced = []
        for place, weighted in _picked(choices, number, draw).items():
            names, weights = zip(*weighted, strict=True)
            replaced.append(_Replacement(place, draw.choices(names, weights)[0], choices[place][-1]))
        return _Row(found, len(choices), replaced)

    def _replace(self, text: str, row: _Row) -> Viewed:
        if not row.eligible:
            return Viewed(text, "unchanged", "no-eligible-word", target_fraction=self.fraction)
        share = len(row.replaced) / row.eligible
        if not row.replaced:
            return Viewed(text, "unchanged", "none-drawn", None, (), self.fraction, share)
        edits: list[Edit] = []
        for place, form, _ in row.replaced:
            word = row.found[place]
            new = matching_case(word.text, form)
            beside = self._language.agreement(row.found, place, new)
            edits += [*untouching(beside, self.kept(text)), Edit(word.start, word.end, word.text, new)]
        return Viewed(apply_edits(text, edits), "ok", None, None, tuple(edits), self.fraction, share)

    def _check(self) -> None:
        """Refuse options that would be ignored."""
        if self.compat:
            for name in ("at_least", "choose", "language", "tagger", "keep", "keep_pattern"):
                value = getattr(self, name)
                if value != type(self).model_fields[name].default and (name, value) != ("tagger", "perceptron"):
                    raise InputError(
                        f"synonym: compat with {name}={value}: nlpaug has no such thing; leave one of them out"
                    )
        if self.choose != "mlm" and self.encoder != STARTER:
            raise InputError(f"synonym: encoder={self.encoder} is for choose=mlm; give that too, or leave it out")
        if self.language != "en":
            if self.tagger != "auto":
                raise InputError(f"synonym: tagger={self.tagger} is for language=en, not {self.language}; leave it out")
            if self.choose == "mlm" and self.encoder == STARTER:
                raise InputError(f"synonym: the starter encoder knows English only; name one for {self.language}")


def _picked(choices: Mapping[int, Tiers], number: int, draw: random.Random) -> dict[int, Weighted]:
    """The places of `number` words and the synonyms that each may become.

    Words with synonyms in their dominant senses come first; rarer senses are opened only when these are too few.
    """
    picked: dict[int, Weighted] = {}
    for tier in range(len(next(iter(choices.values())))):
        open_here = [index for index in choices if index not in picked and choices[index][tier]]
        for index in draw.sample(open_here, min(number - len(picked), len(open_here))):
            picked[index] = choices[index][tier]
    return {index: picked[index] for index in sorted(picked)}


def _preferred(texts: Sequence[str], rows: Sequence[_Row], ranking: Ranking) -> list[_Row]:
    """The rows with the model's words; the drawn ones where it saw no whole word to replace."""
    slots = [
        [Slot(row.found[place].start, row.found[place].end, synonyms) for place, _, synonyms in row.replaced]
        for row in rows
    ]
    return [
        row._replace(replaced=[one._replace(new=new or one.new) for one, new in zip(row.replaced, best, strict=True)])
        for row, best in zip(rows, ranking.best(texts, slots), strict=True)
    ]
