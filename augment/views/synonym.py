"""Replace a share of the content words by WordNet synonyms (BSL, section 4.4: 30% of the words)."""

import random
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import islice
from typing import Literal, NamedTuple, Self

from pydantic import Field, PrivateAttr

from augment.errors import InputError, warn_once
from augment.lexicon import wordnet
from augment.lexicon.omw import Multilingual
from augment.lexicon.synonyms import TIERS, English, Tiers, Weighted, agreement, english
from augment.masked_lm.masking import FillModel
from augment.masked_lm.ranking import Ranking, Target
from augment.models.weights import check_revision, find_encoder
from augment.protected_terms import ProtectedTermsView, touches
from augment.text.edits import Token, apply_edits, matching_case, tokens
from augment.text.english import is_english
from augment.text.words import in_capitals, rounded
from augment.view import Edit, Runtime, ViewResult, ViewSpec
from augment.views.nlpaug import published_synonyms

FRACTION_HELP = (
    "share of the eligible words to replace in a draw; as a draw that changes something is taken, 0.86 of them are "
    "replaced on average, 0.04 of all words (sample corpus)"
)
BLOCK_TEXTS = 256
"""Texts whose tokens are held at once: fewer are slower to tag, more to collect as garbage."""


class _Row(NamedTuple):
    """How many words are eligible; for each drawn one its token after up to two before it, a new word, all synonyms."""

    eligible: int
    replacements: list[tuple[list[Token], str, Weighted]]


class Synonym(ProtectedTermsView):
    """The view; its `revision` joins those of WordNet, of the language's data, and of the encoder if it chooses."""

    name = "synonym"
    sentence_language_option = "language"
    draws, floor, judged = 4, 0.88, 0
    libraries = ("inflect", "wordfreq")

    fraction: float = Field(default=0.5, gt=0, le=1, description=FRACTION_HELP)
    at_least: int = Field(default=0, ge=0, description="least number of words to replace, if as many are eligible")
    choose: Literal["sense", "mlm"] = Field(
        default="sense", description="draw synonyms by sense counts, or take a masked language model's favourite"
    )
    encoder: str = Field(default="starter", description="model for choose mlm: starter, a folder, or a name on the Hub")
    language: str = Field(default="en", description="others (fr, ...) by NLTK's Open Multilingual WordNet, uninflected")
    compat: bool = Field(default=False, description="do what nlpaug's SynonymAug does, function words included")
    revision: str | None = Field(default=None, description="hold WordNet and its companions to this revision")

    _language: English | Multilingual = PrivateAttr()
    _ranking: Ranking | None = PrivateAttr(default=None)

    @property
    def runs_model(self) -> bool:  # type: ignore[override]
        """Whether a masked language model chooses the synonyms."""
        return self.choose == "mlm"

    @property
    def keeps_meaning(self) -> bool:  # type: ignore[override]
        """Unless it does what nlpaug does."""
        return not self.compat

    def build(self, runtime: Runtime) -> Self:
        """The view with its word lists and models; raises InputError if one is missing or options contradict."""
        for name in ("at_least", "choose", "language", "keep", "keep_pattern") if self.compat else ():
            if getattr(self, name) != type(self).model_fields[name].default:
                raise InputError(f"synonym: compat with {name}={getattr(self, name)}: nlpaug has no such option")
        if self.choose != "mlm" and self.encoder != "starter":
            raise InputError(f"synonym: encoder={self.encoder} is for choose=mlm; give that too, or leave it out")
        if self.language != "en" and self.choose == "mlm" and self.encoder == "starter":
            raise InputError(f"synonym: the starter encoder knows English only; name one for {self.language}")
        view = super().build(runtime)
        place = wordnet.find()
        revisions = [wordnet.revision(place)]
        if self.compat:
            revisions.append(f"nlpaug-{version('nlpaug')}")
        elif self.language == "en":
            view._language = english(place)
            revisions.append(f"lemminflect-{version('lemminflect')}")
        else:
            view._language = Multilingual(self.language)
            revisions.append(view._language.revision)
        if self.choose == "mlm":
            parts = (self.revision or "").split("+")
            weights = find_encoder(self.encoder, parts[-1] if len(parts) == len(revisions) + 1 else None)
            revisions.append(weights.revision)
            view._ranking = Ranking(FillModel(weights.path, runtime))
        view.revision = "+".join(revisions)
        owner = "synonym: WordNet with its companions here has revision"
        check_revision(owner, view.revision, self.revision, "install that one")
        return view

    @property
    def spec(self) -> ViewSpec:
        """All parameters; the encoder is one of them if it chooses."""
        params = self.model_dump(exclude=set() if self.choose == "mlm" else {"encoder"})
        return ViewSpec(
            self.name, params, {"tagger": "perceptron" if self.language == "en" else "auto", **self.versions}
        )

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View every text by its own seed; the masked words of all rows share the model's batches."""
        pairs = ((text, random.Random(seed)) for text, seed in zip(texts, seeds, strict=True))
        if self.compat:
            return [published_synonyms(text, rng, self.fraction) for text, rng in pairs]
        rows: list[_Row] = []
        while block := list(islice(pairs, BLOCK_TEXTS)):
            sentences = [tokens(text) for text, _ in block]
            if self.language == "en" and not is_english(sentences):
                warn_once("synonym: most words are not English; name their language with --language")
            choices = self._language.choices(sentences)
            rows += map(self._draw, *zip(*block, strict=True), sentences, choices)
        if self._ranking is not None:
            rows = _preferred(texts, rows, self._ranking)
        return [self._replace(text, row) for text, row in zip(texts, rows, strict=True)]

    def _draw(self, text: str, rng: random.Random, words: list[Token], choices: dict[int, Tiers]) -> _Row:
        """Draw the words and their synonyms: `fraction` of the eligible ones on average, and at least `at_least`."""
        if spans := self.protected_spans(text):
            choices = {place: tiers for place, tiers in choices.items() if not touches(spans, *words[place][:2])}
        if not choices:
            return _Row(0, [])
        number = max(rounded(self.fraction * len(choices), rng), min(self.at_least, len(choices)))
        replacements = []
        for place, synonyms in sorted(_draw_words(choices, number, rng).items()):
            names, weights = zip(*synonyms, strict=True)
            new = rng.choices(names, weights)[0]
            replacements.append((words[max(place - 2, 0) : place + 1], new, choices[place][-1]))
        return _Row(len(choices), replacements)

    def _replace(self, text: str, row: _Row) -> ViewResult:
        if not row.eligible:
            reason = "capitals" if in_capitals(text) else "no-eligible-word"
            return ViewResult(text, "unchanged", reason, target_fraction=self.fraction)
        share = len(row.replacements) / row.eligible
        if not row.replacements:
            return ViewResult(text, "unchanged", "none-drawn", None, (), self.fraction, share)
        edits: list[Edit] = []
        for words, form, _ in row.replacements:
            word = words[-1]
            new = matching_case(word.text, form)
            article = agreement(words, new) if self.language == "en" else None
            if article and not touches(self.protected_spans(text), article.start, article.end):
                edits.append(article)
            edits.append(Edit(word.start, word.end, word.text, new))
        return ViewResult(apply_edits(text, edits), "ok", None, None, tuple(edits), self.fraction, share)


def _draw_words(choices: Mapping[int, Tiers], number: int, rng: random.Random) -> dict[int, Weighted]:
    """The places of `number` words, and the synonyms that each may become: rarer senses only if need be."""
    synonyms: dict[int, Weighted] = {}
    for tier in range(len(TIERS)):
        places = [place for place in choices if place not in synonyms and choices[place][tier]]
        for place in rng.sample(places, min(number - len(synonyms), len(places))):
            synonyms[place] = choices[place][tier]
    return synonyms


def _preferred(texts: Sequence[str], rows: Sequence[_Row], ranking: Ranking) -> list[_Row]:
    """The rows with the model's choices, or the drawn words if the model does not see the original whole."""
    targets = [[Target(*words[-1][:2], synonyms) for words, _, synonyms in row.replacements] for row in rows]
    best = (iter(forms) for forms in ranking.best(texts, targets))
    return [
        row._replace(replacements=[(words, next(forms) or new, synonyms) for words, new, synonyms in row.replacements])
        for row, forms in zip(rows, best, strict=True)
    ]
