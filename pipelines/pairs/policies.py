"""Policies: one function each, from a sentence with its views to candidates; on values, without files.

Beside them what each needs: its number of views, its usual filters, and what is known of the sides.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, cycle, islice
from typing import Any, Literal, TypeAlias

from augment.errors import InputError
from augment.meaning.judge import Judge
from augment.models.device import resolve_engine
from augment.models.weights import find_encoder
from augment.translate.model_names import STARTER
from augment.translate.stages import HOP
from augment.view import ViewSpec, check_params, view_class
from pipelines.pairs.filter import is_round_trip
from pipelines.pairs.pair import ORIGINAL, Candidate, Sentence, SideInfo
from pipelines.storage.pair_files import NEGATIVE

BSL_VIEWS = ("backtranslate-de", "backtranslate-fr")
VIEW_COUNTS = {"best": "1 or more", "bsl": "2", "original": "1 or more", "multilingual": "1 or more"}
"""How many views a policy pairs; the others pair none."""
NEGATIVE_POLICIES = ("original", "best", "bsl")

Names: TypeAlias = tuple[str, str]
Texts: TypeAlias = tuple[str | None, str | None]
"""Those of the two sides of a candidate."""


@dataclass(frozen=True)
class ViewPairs:
    """What a policy pairs of sentences.

    Attributes:
        policy: Its name, a key of `POLICIES`.
        views: The names of the views.
        alternatives: The views of which all texts are paired, not the first alone: the n-th of one side with
            the n-th of the other, and the side with fewer texts begins again.
        negative: The view that is the negative, where it is "ok".
        has_spares: Whether a sentence without a pair gets spare candidates: with an alternative on one side,
            and with the sentence itself on the left.
        judge: By which only the best of a sentence's candidates becomes a pair.
    """

    policy: str
    views: Sequence[str] = ()
    alternatives: Collection[str] = ()
    negative: str | None = None
    has_spares: bool = False
    judge: Judge | None = None

    @property
    def columns(self) -> list[str]:
        """The columns of text that only some pairs have."""
        return [] if self.negative is None else [NEGATIVE]

    def candidates(self, sentences: Sequence[Sentence]) -> list[Candidate]:
        """The candidates of sentences, one sentence after another."""
        rows = [POLICIES[self.policy](sentence, self) for sentence in sentences]
        if self.judge is not None:
            _rank(rows, sentences, self.judge)
        return [*chain.from_iterable(rows)]


def pair_original(sentence: Sentence, pairs: ViewPairs) -> list[Candidate]:
    """A sentence with each of its views."""
    couples = (_couple(sentence, (ORIGINAL, name), pairs) for name in pairs.views)
    return [*chain.from_iterable(couples), *_for_negative(sentence, pairs)]


def pair_bsl(sentence: Sentence, pairs: ViewPairs) -> list[Candidate]:
    """Two views of a sentence."""
    left, right = pairs.views
    candidates = _couple(sentence, (left, right), pairs)
    if pairs.has_spares:
        candidates += _spares(sentence, (left, right), pairs)
    return [*candidates, *_for_negative(sentence, pairs)]


def pair_self(sentence: Sentence, pairs: ViewPairs) -> list[Candidate]:
    """A sentence with itself."""
    return _couple(sentence, (ORIGINAL, ORIGINAL), pairs)


POLICIES: dict[str, Callable[[Sentence, ViewPairs], list[Candidate]]] = {
    "original": pair_original,
    "multilingual": pair_original,
    "best": pair_original,
    "bsl": pair_bsl,
    "self": pair_self,
}
"""Policies of a sentence and what belongs to it; for `best`, a judge ranks the candidates."""

UNGUARDED = frozenset(["import-views", "mlm-fill", "nlpaug"])
"""Views that can say another gender than their sentence; the others look for it themselves, or cannot."""


def _rank(rows: Sequence[list[Candidate]], sentences: Sequence[Sentence], judge: Judge) -> None:
    """Put the candidate that is closest to its sentence in meaning first; the others are spares."""
    texts = [[one.view_b for one in row if one.view_b is not None] for row in rows]
    cosines = judge.scores([sentence.text for sentence in sentences], texts)
    for row, scores in zip(rows, cosines, strict=True):
        row.sort(key=lambda candidate: (candidate.is_spare, -scores.get(candidate.view_b or "", -2.0)))
        for spare in row[1:]:
            spare.is_spare = True


def _couple(sentence: Sentence, names: Names, pairs: ViewPairs) -> list[Candidate]:
    """The candidates of two sides: of their first texts, and of the alternatives that are paired."""
    paired = [sentence.texts(name)[: None if name in pairs.alternatives else 1] for name in names]
    left, right = map(cycle, paired)
    rows = islice(zip(left, right, strict=True), max(map(len, paired)))
    return [_candidate(sentence, names, texts, pairs) for texts in rows]


def _spares(sentence: Sentence, names: Names, pairs: ViewPairs) -> list[Candidate]:
    """Candidates for a sentence without a pair of two views."""
    left, right = (sentence.texts(name) for name in names)
    replaced = [(left[0], text) for text in right[1:2]] + [(text, right[0]) for text in left[1:2]]
    if pairs.alternatives:  # which are paired already
        replaced = []
    spares = [_candidate(sentence, names, texts, pairs) for texts in replaced]
    spares += [
        _candidate(sentence, (ORIGINAL, name), (sentence.text, texts[0]), pairs)
        for name, texts in zip(names, (left, right), strict=True)
    ]
    for spare in spares:
        spare.is_spare = True
    return spares


def _for_negative(sentence: Sentence, pairs: ViewPairs) -> list[Candidate]:
    """A spare of a sentence that has a negative: itself twice, as dropout makes the second view."""
    candidate = _candidate(sentence, (ORIGINAL, ORIGINAL), (sentence.text, sentence.text), pairs)
    candidate.is_spare = True
    return [] if candidate.negative is None else [candidate]


def _candidate(sentence: Sentence, names: Names, texts: Texts, pairs: ViewPairs) -> Candidate:
    negative = None if pairs.negative is None else sentence.views[pairs.negative]
    reason = sentence.problem(names[0]) or sentence.problem(names[1])
    for name, text in zip(names, texts, strict=True):
        is_replaced = pairs.has_spares or pairs.policy == "best"
        if reason is None and is_replaced and name != ORIGINAL and text == sentence.text:
            reason = f"{name} left it unchanged"
    return Candidate(
        *(sentence.id, sentence.text, *texts, *names),
        label=sentence.label,
        negative=negative.text if negative and negative.status == "ok" else None,
        reason=reason,
    )


def view_pairs(
    policy: str,
    views: Mapping[str, ViewSpec],
    negative: str | None,
    *,
    default_filters: bool = True,
) -> ViewPairs:
    """What a policy pairs, with alternatives that are as good as texts.

    With default filters, a sentence of which a round trip does not pass has spares in `bsl`.
    """
    paired = [name for name, view in views.items() if view_class(view.name).equal_alternatives]
    has_spares = (
        default_filters and policy == "bsl" and all(is_round_trip(view.name) for view in views.values())
    )
    languages = {side.language for side in describe_sides(views).values()}
    judge = sentence_judge() if policy == "best" and languages <= {None, "en"} else None
    return ViewPairs(policy, [*views], paired, negative, has_spares, judge)


def sentence_judge() -> Judge:
    """The bundled encoder, on the CPU, where no bit of a vector depends on its batch."""
    return Judge(find_encoder(STARTER), *resolve_engine("auto", "auto", "cpu", sampled=False), "cpu")


def usual_policy(views: Iterable[ViewSpec]) -> Literal["best", "bsl"]:
    """The policy for views, built or planned, unless one is given: of round trips by the bundled models the better.

    Two of theirs are seldom both right.
    """
    are_bundled = all(is_round_trip(view.name) and view.params.get("models") == STARTER for view in views)
    return "best" if are_bundled else "bsl"


def check_views(policy: str, views: Mapping[str, ViewSpec], negative: Mapping[str, ViewSpec]) -> None:
    """Raise InputError unless a policy can pair views of these names, and have this negative one, if any."""
    number = VIEW_COUNTS.get(policy, "no")
    fits = {"1 or more": len(views) > 0, "2": len(views) == 2, "no": not views}
    if not fits[number]:
        raise InputError(
            f"pairs {policy} take {number} views, not {len(views)}: see `augment build-pairs --help`"
        )
    for name, view in views.items():
        if policy == "multilingual" and view_class(view.name).language_option == "source":
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
        if check_params(view.name, view.params).keeps_meaning:
            raise InputError(f"negative view {name} keeps the meaning: pair it as a view instead")


def usual_filters(policy: str, views: Iterable[str], given: Sequence[str]) -> list[str]:
    """Filters for pairs of views with these names, if they are not among those given.

    They drop echoes, another gender where no view looks for it, and what is no paraphrase.
    """
    names = {text.partition(":")[0] for text in given}
    # The sentence itself is what these are for: dropout makes the view.
    usual = {
        "identical": policy != "self" and "identity" not in views,
        "gender": policy in ("best", "bsl", "original") and not UNGUARDED.isdisjoint(views),
        "paraphrase": any(map(is_round_trip, views)),
    }
    return [name for name, is_used in usual.items() if is_used and name not in names]


def describe_sides(views: Mapping[str, ViewSpec]) -> dict[str, SideInfo]:
    """The view that makes a side, and the language it is in, by name.

    Raises InputError if sentences have two.
    """
    languages: dict[Any, str] = {
        view.params.get(view_class(view.name).sentence_language_option): name for name, view in views.items()
    }
    languages.pop(None, None)
    if len(languages) > 1:
        names = ", ".join(f"{name} of sentences in {language!r}" for language, name in languages.items())
        raise InputError(f"the views are of different languages ({names}): make them again with one --source")
    sentence = next(iter(languages), None)
    sides = {ORIGINAL: SideInfo(ORIGINAL, "identity", sentence)}
    for name, view in views.items():
        params: Mapping[str, Any] = view.params
        language = params.get(view_class(view.name).language_option)
        language = sentence if language is None else language.rpartition(HOP)[2]
        sides[name] = SideInfo(name, view.name, language, params.get("models"))
    return sides
