"""English forms: a lemma's form for a Penn Treebank tag by LemmInflect, and "a" or "an" by inflect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from augment.words import word_list

if TYPE_CHECKING:
    from inflect import engine

_PARTS = {"N": "NOUN", "V": "VERB", "J": "ADJ", "R": "ADV"}
INFLECTED = frozenset(["NNS", "VBZ", "VBG", "VBD", "VBN", "JJR", "JJS", "RBR", "RBS"])
"""Penn tags of forms that differ from the lemma."""

_LIKE = {entry.replace("-", ""): entry.partition("-") for entry in word_list("compounds")}
"""Compounds that LemmInflect lacks; they inflect like the verb after the hyphen."""
_OWN = {(lemma, tag): form for lemma, tag, form in map(str.split, word_list("forms"))}
"""Forms in which LemmInflect errs; "-" where there is none."""
_AN = ("usher.*", "ouija.*", "oui")
_A = ("unanim.*", "uk", "ubermensch.*")
"""Words, as regular expressions, that inflect gives the wrong article."""


def inflection_revision() -> str:
    """The revision of the dictionary that decides the forms: "lemminflect-0.2.3"."""
    return f"lemminflect-{version('lemminflect')}"


@lru_cache(maxsize=200_000)
def inflect(lemma: str, tag: str) -> str | None:
    """The form of a lower-case lemma for a Penn tag; None where English has none (a comparative of "wooden").

    Tags: NNS, VBZ, VBG, VBD, VBN, JJR, JJS, RBR, RBS; for any other the lemma itself is the form.
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
        return _participle(known, _known(lemma, "VBD"))
    if known:
        return known[0]
    return _unknown_plural(lemma) if tag == "NNS" else None


@lru_cache(maxsize=50_000)
def is_plural_entry(lemma: str) -> bool:
    """Whether a dictionary's noun is a plural as it stands: scissors, clothes; not glass, bus, basis, gas."""
    return lemma.endswith("s") and inflect(lemma, "NNS") == lemma


@lru_cache(maxsize=50_000)
def wants_an(word: str) -> bool:
    """Whether "an" stands before `word`, by its sound: an hour, a university; capitals do not count."""
    # inflect takes capitals for an acronym that is spelt out.
    return bool(_engine().a(word.lower()).startswith("an "))


def _known(lemma: str, tag: str) -> list[str]:
    """LemmInflect's spellings for a tag, the usual one first, without hyphenated ones ("over-ate")."""
    return [form for form in _forms(lemma, _PARTS[tag[0]]).get(tag, ()) if form.isalpha()]


@lru_cache(maxsize=50_000)
def _forms(lemma: str, part: str) -> Mapping[str, Sequence[str]]:
    import lemminflect

    forms: Mapping[str, Sequence[str]] = lemminflect.getAllInflections(lemma, part)
    # "can" and "will" are modals in its dictionary, of "blog" and "dare" it has one form; WordNet's are regular verbs.
    if part == "VERB" and "VBG" not in forms:
        forms = lemminflect.getAllInflectionsOOV(lemma, part)
    return forms


def _participle(participles: list[str], pasts: list[str]) -> str | None:
    """The participle; LemmInflect lists only those that differ from the regular past: "leant", not "leaned"."""
    if pasts and (not participles or (participles[0] in pasts and pasts[0].endswith("ed"))):
        return pasts[0]
    return participles[0] if participles else None


def _unknown_plural(lemma: str) -> str | None:
    """The plural of a noun that LemmInflect's dictionary lacks; None where it has the noun without a plural."""
    import lemminflect

    if _forms(lemma, "NOUN"):
        return None
    lemmas = lemminflect.getAllLemmas(lemma)
    if any(lemma not in lemmas.get(part, (lemma,)) for part in ("NOUN", "VERB")):
        # A form of another word: "woods" and "men" are plurals as they stand, "drinking" has none.
        return lemma if "NOUN" in lemmas or lemma.endswith("s") else None
    if lemma.endswith(("o", "s")) and not lemma.endswith("is"):
        # inflect makes "condoes" and "senss", but its rules are better for the rest: "coachmen", "angelfish".
        return str(lemminflect.getAllInflectionsOOV(lemma, "NOUN")["NNS"][0])
    return str(_engine().plural_noun(lemma))


@cache
def _engine() -> engine:
    """The engine of inflect with the corrections above; importing it takes a second or two."""
    import inflect

    made = inflect.engine()
    for pattern in _AN:
        made.defan(pattern)
    for pattern in _A:
        made.defa(pattern)
    return made
