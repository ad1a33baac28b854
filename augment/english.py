"""English: parts of speech by NLTK's tagger, forms by LemmInflect, and "a" or "an" by inflect."""

import gzip
import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from augment.weights import STARTER
from augment.words import word_list

if TYPE_CHECKING:
    import numpy as np
    from inflect import engine
    from numpy.typing import NDArray

_PARTS = {"N": "NOUN", "V": "VERB", "J": "ADJ", "R": "ADV"}
INFLECTED = frozenset(["NNS", "VBZ", "VBG", "VBD", "VBN", "JJR", "JJS", "RBR", "RBS"])
"""Penn tags of forms that differ from the lemma."""

_LIKE = {entry.replace("-", ""): entry.partition("-") for entry in word_list("compounds")}
"""Compounds missing from LemmInflect; they inflect like the verb after the list's hyphen."""
_OWN = {(lemma, tag): form for lemma, tag, form in map(str.split, word_list("forms"))}
"""Forms that LemmInflect gets wrong; "-" if there is none."""
_AN = ("usher.*", "ouija.*", "oui")
_A = ("unanim.*", "uk", "ubermensch.*")
"""Regular expressions of words that inflect gives the wrong article."""


class Tagger:
    """NLTK's averaged perceptron (Honnibal 2013), with its weights and tags, several times as fast.

    What a word, its neighbours and the tags before it add to the scores of all tags is summed once and then remembered.
    """

    def __init__(self) -> None:
        import numpy as np
        from nltk.tag.perceptron import PerceptronTagger

        self._nltk = PerceptronTagger(load=False)
        weights, self._known = load_data("weights"), load_data("tagdict")
        # In a tie NLTK takes the last label of the alphabet, argmax the first of the list.
        self._labels = sorted(load_data("classes"), reverse=True)
        place = {label: number for number, label in enumerate(self._labels)}

        def scores(*features: str) -> "NDArray[np.int32]":
            found = np.zeros(len(place), dtype=np.int32)  # in thousandths, whose sums are exact in any order
            for label, weight in (item for feature in features for item in weights.get(feature, {}).items()):
                found[place[label]] += round(weight * 1000)
            return found

        def own(word: str, normal: str) -> "NDArray[np.int32]":
            return scores("bias", f"i suffix {word[-3:]}", f"i pref1 {word[:1]}", f"i word {normal}")

        def beside(step: int, normal: str) -> "NDArray[np.int32]":
            return scores(f"i{step:+} word {normal}", *[f"i{step:+} suffix {normal[-3:]}"] * (abs(step) == 1))

        def after(tag: str, earlier: str, normal: str) -> "NDArray[np.int32]":
            pair = f"i tag+i-2 tag {tag} {earlier}"
            return scores(f"i-1 tag {tag}", f"i-2 tag {earlier}", pair, f"i-1 tag+i word {tag} {normal}")

        self._own, self._beside, self._after = (lru_cache(maxsize=50_000)(each) for each in (own, beside, after))

    def tag(self, words: Sequence[str]) -> list[tuple[str, str]]:
        """The words of a sentence with their Penn tags."""
        first, last, normalize = self._nltk.START, self._nltk.END, self._nltk.normalize
        context, tags = [*first, *map(normalize, words), *last], [*reversed(first)]
        for place, word in enumerate(words, start=len(first)):
            tag = self._known.get(word)
            if not tag:
                scores = self._own(word, context[place]) + self._after(tags[-1], tags[-2], context[place])
                for step in (-2, -1, 1, 2):
                    scores += self._beside(step, context[place + step])
                tag = self._labels[int(scores.argmax())]
            tags.append(tag)
        return list(zip(words, tags[len(first) :], strict=True))


tagger = cache(Tagger)
"""The tagger, loaded once in a process."""


def load_data(name: str) -> Any:  # noqa: ANN401 - JSON
    """One of the files of NLTK's tagger: "weights", "tagdict" or "classes"."""
    with gzip.open(STARTER / "tagger" / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        return json.load(file)


@lru_cache(maxsize=200_000)
def inflect(lemma: str, tag: str) -> str | None:
    """The form of a lower-case lemma for a Penn tag; None if English has none (a comparative of "wooden").

    For tags that are not in `INFLECTED` the lemma itself is the form.
    """
    if tag not in INFLECTED:
        return lemma
    if (lemma, tag) in _OWN:
        form = _OWN[lemma, tag]
        return None if form == "-" else form
    if tag[0] == "V" and lemma in _LIKE:
        prefix, _, base = _LIKE[lemma]
        form_of_base = inflect(base, tag)
        return form_of_base and prefix + form_of_base
    known = _known(lemma, tag)
    if tag == "VBN":
        # LemmInflect lists only participles that differ from the regular past: "leant", not "leaned".
        pasts = _known(lemma, "VBD")
        if pasts and (not known or (known[0] in pasts and pasts[0].endswith("ed"))):
            return pasts[0]
    if known:
        return known[0]
    return _unknown_plural(lemma) if tag == "NNS" else None


@lru_cache(maxsize=50_000)
def is_plural_entry(lemma: str) -> bool:
    """Whether a dictionary's noun is itself a plural: scissors, clothes; not glass, bus, basis, gas."""
    return lemma.endswith("s") and inflect(lemma, "NNS") == lemma


@lru_cache(maxsize=50_000)
def wants_an(word: str) -> bool:
    """Whether "an" stands before `word`, by its sound: an hour, a university; capitals do not matter."""
    # inflect spells out words in capitals, like acronyms.
    return bool(_engine().a(word.lower()).startswith("an "))


def _known(lemma: str, tag: str) -> list[str]:
    """LemmInflect's spellings for a tag, the usual one first, without hyphenated ones ("over-ate")."""
    return [form for form in _forms(lemma, _PARTS[tag[0]]).get(tag, ()) if form.isalpha()]


@lru_cache(maxsize=50_000)
def _forms(lemma: str, part: str) -> Mapping[str, Sequence[str]]:
    import lemminflect

    forms: Mapping[str, Sequence[str]] = lemminflect.getAllInflections(lemma, part)
    # Its dictionary has "can" and "will" as modals only, "blog" and "dare" with one form; WordNet has regular verbs.
    if part == "VERB" and "VBG" not in forms:
        forms = lemminflect.getAllInflectionsOOV(lemma, part)
    return forms


def _unknown_plural(lemma: str) -> str | None:
    """The plural of a noun missing from LemmInflect's dictionary; None for one that is there without a plural."""
    import lemminflect

    if _forms(lemma, "NOUN"):
        return None
    lemmas = lemminflect.getAllLemmas(lemma)
    if any(lemma not in lemmas.get(part, (lemma,)) for part in ("NOUN", "VERB")):
        # It is a form of another word: "woods" and "men" are plurals, "drinking" has none.
        return lemma if "NOUN" in lemmas or lemma.endswith("s") else None
    if lemma.endswith(("o", "s")) and not lemma.endswith("is"):
        # inflect makes "condoes" and "senss"; for other words its rules are better: "coachmen", "angelfish".
        return str(lemminflect.getAllInflectionsOOV(lemma, "NOUN")["NNS"][0])
    return str(_engine().plural_noun(lemma))


@cache
def _engine() -> "engine":
    """The engine of inflect with `_AN` and `_A`."""
    import typeguard

    # Checks of its functions' arguments would take a second or two to set up.
    checked = typeguard.typechecked
    typeguard.typechecked = lambda function: function  # type: ignore[assignment]
    try:
        import inflect
    finally:
        typeguard.typechecked = checked
    made = inflect.engine()
    for pattern in _AN:
        made.defan(pattern)
    for pattern in _A:
        made.defa(pattern)
    return made
