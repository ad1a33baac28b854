"""Which sides of sentences a policy pairs, which views it takes, and its usual filters; on values, without files."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from augment.errors import InputError
from augment.meaning.judge import Judge
from augment.models.device import resolve_engine
from augment.models.weights import find_encoder
from augment.translate.model_names import STARTER
from augment.translate.stages import HOP
from augment.view import ViewSpec, check_params, view_attribute
from pipelines.pairs.filter import is_round_trip
from pipelines.pairs.pair import ORIGINAL, Candidate, Sentence, SideInfo, negative_of

BSL_VIEWS = ("backtranslate-de", "backtranslate-fr")
NEGATIVE_POLICIES = ("original", "best", "bsl", "columns")
MANY = range(1, 1_000)
VIEW_COUNTS = {
    "bsl": [2],
    "self": [0],
    "entailment": [0],
    "best": MANY,
    "original": MANY,
    "multilingual": MANY,
}
"""How many views a policy pairs; the others pair any number."""


Texts: TypeAlias = tuple[str | None, str | None]
"""Those of the two sides of a candidate."""


class ViewPairs(NamedTuple):
    """Which sides of a sentence are paired.

    Attributes:
        couples: The names of two sides each.
        alternatives: The views of which all texts are paired, not the first alone: the n-th of one side with
            the n-th of the other, and the side with fewer texts begins again.
        has_spares: Whether a sentence without a pair gets spare candidates: with an alternative on one side,
            and with the sentence itself on the left.
        negative: The view that is the negative, where it is "ok".
        has_self: Whether a sentence with a negative and without a pair is paired with itself: dropout makes
            the second view.
        is_best: Whether only the best one of a sentence's candidates becomes a pair.
    """

    couples: Sequence[tuple[str, str]]
    alternatives: Collection[str] = ()
    has_spares: bool = False
    negative: str | None = None
    has_self: bool = False
    is_best: bool = False

    def __call__(self, sentence: Sentence) -> Iterator[Candidate]:
        """The candidates of a sentence, couple by couple."""
        for names in self.couples:
            left, right = (sentence.texts(name) for name in names)
            lefts, rights = (
                len(texts) if name in self.alternatives else 1
                for name, texts in zip(names, (left, right), strict=True)
            )
            unused = len(left) + len(right) - lefts - rights
            for turn in range(max(lefts, rights)):
                texts = left[turn % lefts], right[turn % rights]
                yield self._candidate(sentence, names, texts, unused=0 if turn else unused)
            for spare_names, texts, number in self._spares(sentence, names) if self.has_spares else ():
                spare = self._candidate(sentence, spare_names, texts, unused=number)
                spare.is_spare = True
                yield spare
        own = self._candidate(sentence, (ORIGINAL, ORIGINAL), (sentence.text, sentence.text), unused=0)
        if self.has_self and own.negative is not None:
            own.is_spare = True
            yield own

    def _spares(
        self, sentence: Sentence, names: tuple[str, str]
    ) -> Iterator[tuple[tuple[str, str], Texts, int]]:
        """The names, the texts, and the number of unused alternatives of each spare candidate."""
        left, right = (sentence.texts(name) for name in names)
        further = len(left) + len(right) - 2
        if not self.alternatives:
            replaced = [(left[0], text) for text in right[1:2]] + [(text, right[0]) for text in left[1:2]]
            yield from ((names, texts, further - 1) for texts in replaced)
        for name, texts in zip(names, (left, right), strict=True):
            yield (ORIGINAL, name), (sentence.text, texts[0]), further

    def _candidate(
        self, sentence: Sentence, names: tuple[str, str], texts: Texts, *, unused: int
    ) -> Candidate:
        reason = sentence.problem(names[0]) or sentence.problem(names[1])
        # a side that equals the sentence is to be named so
        if reason is None and (self.has_spares or self.is_best):
            sides = zip(names, texts, strict=True)
            same = (name for name, text in sides if name != ORIGINAL and text == sentence.text)
            reason = next((f"{name} left it unchanged" for name in same), None)
        return Candidate(
            *(sentence.id, sentence.text, *texts, *names),
            label=sentence.label,
            negative=negative_of(sentence, self.negative),
            reason=reason,
            unused=unused,
        )


def usual_policy(views: Iterable[ViewSpec]) -> Literal["best", "bsl"]:
    """The policy for views, built or planned, unless one is given: of round trips by the bundled models the better.

    Two of theirs are seldom both right.
    """
    are_bundled = all(is_round_trip(view.name) and view.params.get("models") == STARTER for view in views)
    return "best" if are_bundled else "bsl"


def check_views(policy: str, views: Mapping[str, ViewSpec], negative: Mapping[str, ViewSpec]) -> None:
    """Raise InputError unless a policy can pair views of these names, and have this negative one, if any."""
    counts = VIEW_COUNTS.get(policy, [len(views)])
    if len(views) not in counts:
        number = "1 or more" if len(counts) > 1 else counts[0] or "no"
        raise InputError(
            f"pairs {policy} take {number} views, not {len(views)}: see `augment build-pairs --help`"
        )
    for name, view in views.items():
        if policy == "multilingual" and view_attribute(view.name, "language_option", "source") == "source":
            raise InputError(
                f"the view {name} is no translation: take translate-de or the like, or pairs original"
            )
        if check_params(view.name, view.params).contradicts:
            raise InputError(
                f"the view {name} contradicts its sentences, so no pair of them means the same"
                f": give it as --negative-view {name}"
            )
    for name, view in negative.items():
        if policy not in NEGATIVE_POLICIES:
            raise InputError(
                f"negative view {name}: it needs pairs {', '.join(NEGATIVE_POLICIES)} of sentences"
                f", not {policy}: leave it out"
            )
        if name in views:
            raise InputError(
                f"negative view {name} is a view to pair too: a text cannot be both: give another one"
            )
        if check_params(view.name, view.params).is_paraphrase:
            raise InputError(f"negative view {name} keeps the meaning: pair it as a view instead")


def usual_filters(policy: str, views: Iterable[str], given: Sequence[str]) -> list[str]:
    """Filters for pairs of views with these names, if they are not among those given: no echoes, and paraphrases."""
    names = {text.partition(":")[0] for text in given}
    # The sentence itself is what these are for: dropout makes the view.
    usual = {
        "identical": policy != "self" and "identity" not in views,
        "paraphrase": any(map(is_round_trip, views)),
    }
    return [name for name, is_used in usual.items() if is_used and name not in names]


def view_pairs(
    policy: str,
    views: Mapping[str, ViewSpec],
    negative: str | None,
    *,
    alternatives: bool | None = None,
    strict: bool = False,
) -> ViewPairs:
    """What a policy of sentences and their own views pairs; by default with alternatives that are as good as texts."""
    paired = [name for name, view in views.items() if view_attribute(view.name, "equal_alternatives", False)]
    if alternatives is not None:
        paired = [*views] if alternatives else []
    names = [*views] or [ORIGINAL]
    couples = [(names[0], names[1])] if policy == "bsl" else [(ORIGINAL, name) for name in names]
    are_round_trips = all(is_round_trip(view.name) for view in views.values())
    has_spares = policy == "bsl" and not strict and are_round_trips
    has_self = negative is not None and not strict
    return ViewPairs(couples, paired, has_spares, negative, has_self, is_best=policy == "best")


def sentence_judge() -> Judge:
    """The bundled encoder, on the CPU, where no bit of a vector depends on its batch."""
    return Judge(find_encoder(STARTER), *resolve_engine("auto", "auto", "cpu", sampled=False), "cpu")


def block_candidates(pairs: ViewPairs, sentences: Sequence[Sentence], judge: Judge | None) -> list[Candidate]:
    """The candidates of sentences; with a judge, a sentence's best comes first, and the others are spares."""
    rows = [[*pairs(sentence)] for sentence in sentences]
    if judge is not None:
        texts = [[candidate.view_b for candidate in row if candidate.view_b is not None] for row in rows]
        cosines = judge.scores([sentence.text for sentence in sentences], texts)
        for row, scores in zip(rows, cosines, strict=True):
            row.sort(key=lambda candidate: (candidate.is_spare, -scores.get(candidate.view_b or "", -2.0)))
            for candidate in row[1:]:
                candidate.is_spare = True
    return [candidate for row in rows for candidate in row]


def describe_sides(views: Mapping[str, ViewSpec]) -> dict[str, SideInfo]:
    """The view that makes a side, and the language it is in, by name; raises InputError if sentences have two."""
    languages: dict[Any, str] = {
        view.params.get(view_attribute(view.name, "sentence_language_option", "source")): name
        for name, view in views.items()
    }
    languages.pop(None, None)
    if len(languages) > 1:
        names = ", ".join(f"{name} of sentences in {language!r}" for language, name in languages.items())
        raise InputError(f"the views are of different languages ({names}): make them again with one --source")
    sentence = next(iter(languages), None)
    sides = {ORIGINAL: SideInfo(ORIGINAL, "identity", sentence)}
    for name, view in views.items():
        params: Mapping[str, Any] = view.params
        language = params.get(view_attribute(view.name, "language_option", "source"))
        language = sentence if language is None else language.rpartition(HOP)[2]
        sides[name] = SideInfo(name, view.name, language, params.get("models"))
    return sides
