"""English: parts of speech by NLTK's tagger, forms by LemmInflect, and "a" or "an" by inflect."""

import gzip
import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, reduce
from itertools import chain
from typing import TYPE_CHECKING, Any

from augment.files import STARTER
from augment.text.edits import Token
from augment.text.words import FUNCTION_WORDS, word_list

if TYPE_CHECKING:
    import numpy as np
    from inflect import engine
    from numpy.typing import NDArray

_PARTS = {"N": "NOUN", "V": "VERB", "J": "ADJ", "R": "ADV"}
INFLECTED = frozenset(["NNS", "VBZ", "VBG", "VBD", "VBN", "JJR", "JJS", "RBR", "RBS"])
"""Penn tags of forms that differ from the lemma."""
_FORMS = {
    (lemma, tag): None if form == "-" else form for lemma, tag, form in map(str.split, word_list("forms"))
}
"""Forms that LemmInflect gets wrong or lacks; None, "-" in the list, if there is none."""
FREQUENT_ZIPF = 4.5
_START = ("-START-", "-START2-")
"""The tags and words before a sentence."""
_WORDS_AFTER_AN = "(usher.*|ouija.*|oui)"
_WORDS_AFTER_A = "(unanim.*|uk|ubermensch.*)"
"""Regular expressions of words to which inflect gives the wrong article."""


class Tagger:
    """NLTK's averaged perceptron (Honnibal 2013), several times as fast: sums of scores for all tags are cached."""

    def __init__(self) -> None:
        import numpy as np

        weights, self._word_tags = load_data("weights"), load_data("tagdict")
        # In a tie NLTK takes the last label of the alphabet, argmax the first of the list.
        self._labels = sorted(load_data("classes"), reverse=True)
        place = {label: number for number, label in enumerate(self._labels)}

        @lru_cache(maxsize=50_000)
        def vector(feature: str) -> "NDArray[np.int32]":
            scores = np.zeros(len(place), dtype=np.int32)  # in thousandths, whose sums are exact in any order
            for label, weight in weights.get(feature, {}).items():
                scores[place[label]] = round(weight * 1000)
            return scores

        def scores(*features: str) -> "NDArray[np.int32]":
            return reduce(np.add, map(vector, features))

        def word_scores(word: str, normal: str) -> "NDArray[np.int32]":
            middle = scores("bias", f"i suffix {word[-3:]}", f"i pref1 {word[:1]}", f"i word {normal}")
            left, right = (
                scores(f"i{step} word {normal}", f"i{step} suffix {normal[-3:]}") for step in ("-1", "+1")
            )
            return np.array([scores(f"i-2 word {normal}"), left, middle, right, scores(f"i+2 word {normal}")])

        def tag_scores(tag: str, earlier: str, word: str) -> "NDArray[np.int32]":
            pair, link = f"i tag+i-2 tag {tag} {earlier}", f"i-1 tag+i word {tag} {_normal(word)}"
            return scores(f"i-1 tag {tag}", f"i-2 tag {earlier}", pair, link)

        self._edge_scores = [word_scores(edge, edge) for edge in (*_START, "-END-", "-END2-")]
        self._word_scores = lru_cache(maxsize=30_000)(lambda word: word_scores(word, _normal(word)))
        self._tag_scores = lru_cache(maxsize=50_000)(tag_scores)

    def tags(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """The Penn tags of the words of each sentence; for many sentences at once twice as fast."""
        import numpy as np

        # What each edge of a sentence and each word adds to the scores of five places: from two after it to
        # two before.
        numbers = {
            word: number for number, word in enumerate(dict.fromkeys(chain.from_iterable(sentences)), start=4)
        }
        table = np.array([*self._edge_scores, *map(self._word_scores, numbers)])
        ids = np.array(
            [number for words in sentences for number in (0, 1, *map(numbers.get, words), 2, 3)], int
        )
        is_ambiguous = np.array([False] * 4 + [word not in self._word_tags for word in numbers])
        (places,) = is_ambiguous[ids].nonzero()
        scores = iter(sum(table[ids[places + step - 2], step] for step in range(5)))
        rows = []
        for words in sentences:
            previous, earlier = _START
            tags: list[str] = []
            for word in words:
                tag = self._word_tags.get(word)
                if tag is None:
                    tag = self._labels[
                        int((next(scores) + self._tag_scores(previous, earlier, word)).argmax())
                    ]
                tags.append(tag)
                previous, earlier = tag, previous
            rows.append(tags)
        return rows


def _normal(word: str) -> str:
    """A word as the tagger's training data has it."""
    if "-" in word[1:] and word[0] != "-":
        return "!HYPHEN"
    if word[:1].isdigit():
        return "!YEAR" if len(word) == 4 and word.isdigit() else "!DIGITS"
    return word.lower()


tagger = cache(Tagger)
"""The tagger, loaded once in a process."""


def load_data(name: str) -> Any:  # noqa: ANN401 - JSON
    """One of the files of NLTK's tagger: "weights", "tagdict" or "classes"."""
    return json.loads(gzip.decompress((STARTER / "tagger" / f"{name}.json.gz").read_bytes()))


@lru_cache(maxsize=200_000)
def inflect(lemma: str, tag: str) -> str | None:
    """The form of a lower-case lemma for a Penn tag; None if English has none (a comparative of "wooden")."""
    if (lemma, tag) in _FORMS:
        return _FORMS[lemma, tag]
    if tag not in INFLECTED:
        return lemma
    spellings = _spellings(lemma, tag)
    if tag == "VBN":
        # LemmInflect lists only participles that differ from the regular past: "leant", not "leaned".
        pasts = _spellings(lemma, "VBD")
        if pasts and (not spellings or (spellings[0] in pasts and pasts[0].endswith("ed"))):
            return pasts[0]
    if spellings:
        return spellings[0]
    return _unknown_plural(lemma) if tag == "NNS" else None


@lru_cache(maxsize=50_000)
def wants_an(word: str) -> bool:
    """Whether "an" stands before `word`, by its sound: an hour, a university; capitals do not matter."""
    # inflect spells out words in capitals, like acronyms.
    return bool(_engine().a(word.lower()).startswith("an "))


def _spellings(lemma: str, tag: str) -> list[str]:
    """LemmInflect's spellings for a tag, the usual one first, without hyphenated ones ("over-ate")."""
    return [form.lower() for form in _forms(lemma, _PARTS[tag[0]]).get(tag, ()) if form.isalpha()]


@lru_cache(maxsize=50_000)
def _forms(lemma: str, part: str) -> Mapping[str, Sequence[str]]:
    """LemmInflect's spellings of a lower-case lemma's forms, by Penn tag."""
    from lemminflect import getAllInflections, getAllInflectionsOOV

    forms: Mapping[str, Sequence[str]] = getAllInflections(lemma, part)
    # Its dictionary has "can" and "will" as modals only, "blog" and "dare" with one form; WordNet has regular
    # verbs.
    if part == "VERB" and "VBG" not in forms:
        forms = getAllInflectionsOOV(lemma, part)
    return forms


@lru_cache(maxsize=50_000)
def verb_lemma(word: str, tag: str) -> str | None:
    """The verb of which a lower-case word is the form of a Penn tag; None if it is not known for sure."""
    return next((lemma for lemma in _lemmas(word).get("VERB", ()) if inflect(lemma, tag) == word), None)


@lru_cache(maxsize=50_000)
def lemmas(word: str) -> frozenset[str]:
    """The lemmas of which a lower-case word may be a form."""
    return frozenset(chain.from_iterable(_lemmas(word).values()))


def _lemmas(word: str) -> Mapping[str, Sequence[str]]:
    """LemmInflect's lemmas of a lower-case word, by part of speech."""
    from lemminflect import getAllLemmas

    return {part: [lemma.lower() for lemma in lemmas] for part, lemmas in getAllLemmas(word).items()}


def _unknown_plural(lemma: str) -> str | None:
    """The plural of a noun missing from LemmInflect's dictionary.

    None for one that is there without a plural.
    """
    if _forms(lemma, "NOUN"):
        return None
    entry = _lemmas(lemma)
    if any(lemma not in entry.get(part, (lemma,)) for part in ("NOUN", "VERB")):
        # It is a form of another word: "woods" and "men" are plurals, "drinking" has none.
        return lemma if "NOUN" in entry or lemma.endswith("s") else None
    if lemma.endswith(("o", "s")) and not lemma.endswith("is"):
        # inflect makes "condoes" and "senss"; for other words its rules are better: "coachmen", "angelfish".
        from lemminflect import getAllInflectionsOOV

        return str(getAllInflectionsOOV(lemma, "NOUN")["NNS"][0])
    return str(_engine().plural_noun(lemma))


@cache
def written_words(least_zipf: float = 0.0) -> frozenset[str]:
    """The words of wordfreq's English list from a Zipf frequency on."""
    from wordfreq import get_frequency_list

    # The list's n-th part has the words that make up 10^(-n/100) of all text: those of Zipf frequency 9 -
    # n/100.
    return frozenset(chain.from_iterable(get_frequency_list("en")[: round(100 * (9 - least_zipf)) + 1]))


def is_english(sentences: Sequence[Sequence[Token]]) -> bool:
    """Whether two thirds of the words are frequent in English, or a seventh of them are function words."""
    words = [token.text.lower() for row in sentences for token in row if token.kind == "word"]
    frequent = written_words(FREQUENT_ZIPF)
    functions = sum(word in FUNCTION_WORDS for word in words)
    return 3 * sum(map(frequent.__contains__, words)) >= 2 * len(words) or 7 * functions >= len(words)


@cache
def _engine() -> "engine":
    """The engine of inflect, with its wrong articles corrected."""
    import typeguard

    # Checks of its functions' arguments would take a second or two to set up.
    typechecked = typeguard.typechecked
    typeguard.typechecked = lambda function: function  # type: ignore[assignment]
    try:
        import inflect
    finally:
        typeguard.typechecked = typechecked
    engine = inflect.engine()
    engine.defan(_WORDS_AFTER_AN)
    engine.defa(_WORDS_AFTER_A)
    return engine
