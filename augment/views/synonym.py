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
from augment.masked import FillModel
from augment.omw import Multilingual
from augment.published import PublishedSynonym, nlpaug_version
from augment.ranking import Ranking, Slot
from augment.synonyms import Tiers, Weighted, thesaurus
from augment.tagging import tagger
from augment.view import Edit, Runtime, View, Viewed, ViewSpec
from augment.weights import find_encoder

STARTER = "starter"


class Language(Protocol):
    """What a language's words may become, and what else must change with them."""

    def choices(self, found: Sequence[Token]) -> dict[int, Tiers]:
        """The eligible words by their place among the tokens, each with its synonyms."""
        ...

    def agreement(self, found: Sequence[Token], index: int, new: str) -> list[Edit]:
        """Edits beside a changed word that its new sound or form asks for."""
        ...


class _Drawn(NamedTuple):
    """A row whose words are drawn: its tokens, how many are eligible, the drawn ones' places, and a new word for each.

    `synonyms` has all that each drawn word has, whichever of them the new word was drawn from.
    """

    found: list[Token]
    eligible: int
    picked: list[int]
    news: list[str]
    synonyms: list[Weighted]


class Synonym(View):
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
    _published: PublishedSynonym | None = PrivateAttr(default=None)

    def build(self, runtime: Runtime) -> Synonym:
        """The view with its word lists and models.

        Raises:
            InputError: WordNet or what else is asked for is missing or of another revision, or options contradict.
        """
        self._check()
        revisions = [wordnet.revision(wordnet.find())]
        view = self.model_copy()
        if self.compat:
            view._published, view.tagger = PublishedSynonym(self.fraction), "perceptron"
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
            view._ranking = Ranking(FillModel(weights.path, device=runtime.device), batch_tokens=runtime.batch_tokens)
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
        if self._published is not None:
            return self._published(texts, seeds)
        rows = [self._drawn(text, random.Random(seed)) for text, seed in zip(texts, seeds, strict=True)]
        if self._ranking is not None:
            slots = [
                [
                    Slot(row.found[index].start, row.found[index].end, synonyms)
                    for index, synonyms in zip(row.picked, row.synonyms, strict=True)
                ]
                for row in rows
            ]
            best = self._ranking.best(texts, slots)
            rows = [row._replace(news=_preferred(row.news, words)) for row, words in zip(rows, best, strict=True)]
        return [self._viewed(text, row) for text, row in zip(texts, rows, strict=True)]

    def _drawn(self, text: str, draw: random.Random) -> _Drawn:
        found = tokens(text)
        choices = self._language.choices(found)
        picked = _picked(choices, self._number(len(choices), draw), draw) if choices else {}
        news = []
        for weighted in picked.values():
            names, weights = zip(*weighted, strict=True)
            news.append(draw.choices(names, weights)[0])
        return _Drawn(found, len(choices), [*picked], news, [choices[index][-1] for index in picked])

    def _number(self, eligible: int, draw: random.Random) -> int:
        """How many words to replace: `fraction` of the eligible on average, rounded up or down by chance."""
        whole, rest = divmod(self.fraction * eligible, 1)
        return max(int(whole) + (draw.random() < rest), min(self.at_least, eligible))

    def _viewed(self, text: str, row: _Drawn) -> Viewed:
        if not row.eligible:
            return Viewed(text, "unchanged", "no-eligible-word", target_fraction=self.fraction)
        share = len(row.picked) / row.eligible
        if not row.picked:
            return Viewed(text, "unchanged", "none-drawn", None, (), self.fraction, share)
        edits: list[Edit] = []
        for index, form in zip(row.picked, row.news, strict=True):
            word = row.found[index]
            new = matching_case(word.text, form)
            edits += [*self._language.agreement(row.found, index, new), Edit(word.start, word.end, word.text, new)]
        return Viewed(apply_edits(text, edits), "ok", None, None, tuple(edits), self.fraction, share)

    def _check(self) -> None:
        """Refuse options that would be ignored."""
        if self.compat:
            for name in ("at_least", "choose", "language", "tagger"):
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


def _preferred(drawn: Sequence[str], best: Sequence[str | None]) -> list[str]:
    """The model's words; the drawn ones where it saw no whole word to replace."""
    return [new if form is None else form for new, form in zip(drawn, best, strict=True)]
