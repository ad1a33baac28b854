"""English inflection: the form of a lemma for a Penn Treebank tag, irregulars from WordNet's exception lists."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

VOWELS = frozenset("aeiou")

_SPECIAL = {
    "be": {"VBZ": "is", "VBD": "was", "VBN": "been", "VBG": "being"},
    "have": {"VBZ": "has", "VBD": "had", "VBN": "had", "VBG": "having"},
    "do": {"VBZ": "does", "VBD": "did", "VBN": "done", "VBG": "doing"},
    "go": {"VBZ": "goes", "VBD": "went", "VBN": "gone", "VBG": "going"},
    "bear": {"VBZ": "bears", "VBD": "bore", "VBN": "borne", "VBG": "bearing"},
    "behold": {"VBZ": "beholds", "VBD": "beheld", "VBN": "beheld", "VBG": "beholding"},
    "forbid": {"VBZ": "forbids", "VBD": "forbade", "VBN": "forbidden", "VBG": "forbidding"},
    "slide": {"VBZ": "slides", "VBD": "slid", "VBN": "slid", "VBG": "sliding"},
    "spin": {"VBZ": "spins", "VBD": "spun", "VBN": "spun", "VBG": "spinning"},
    "win": {"VBZ": "wins", "VBD": "won", "VBN": "won", "VBG": "winning"},
}
_UNCHANGED_PAST = """
bet bid broadcast burst bust cast cost cut forecast hit hurt knit let offset overbid put quit read recast reset
rid set shed shut slit split spread sublet thrust undercut upset wed wet
"""
_ED_IS_USUAL = """
abide burn chide clothe cleave crow dream heave kneel lean learn melt pen plead prove rive saw shear shoe smell sneak
spell spill spoil stave thrive wax work
"""
_T_FOR_ED = re.compile(r".*[pskx]e?$")
"""Verbs whose exceptions "gript" and "addrest" are spellings of -ed; not those that change their vowel, as "kept"."""
_SAME_PLURAL = frozenset(["aircraft", "deer", "fish", "offspring", "salmon", "series", "sheep", "species", "trout"])
_S_SINGULARS = frozenset(["alias", "atlas", "bias", "canvas", "christmas", "gas", "iris", "lens", "rhinoceros", "yes"])
_PARTICIPLE_LIKE_LEMMA = re.compile(r".*(?:come|run)$")
_STRESSED_END = """
abet abhor admit allot befit begin commit compel concur confer control defer deter dispel emit equip excel expel
extol forbid forget impel incur infer instil occur omit outfit patrol permit prefer propel rebel rebut recur refer
regret remit repel submit transfer transmit unplug upset beget handicap input kidnap offset outbid outfit outrun outwit
overlap overrun program rerun reset undercut underpin unpin unwrap unzip worship zigzag
"""
_E_STAYS = frozenset(["singe", "swinge"])
_SAME_IN_THE_PAST = frozenset(_UNCHANGED_PAST.split())
_OFTEN_IRREGULAR = frozenset(_ED_IS_USUAL.split())
_DOUBLED_TWO_SYLLABLES = frozenset(_STRESSED_END.split())
_SINGLE_SYLLABLE = re.compile(r"^[^aeiouy]*(?:qu)?[aeiouy][^aeiouwxy]$")


@dataclass(frozen=True)
class Inflector:
    """Puts a lemma into the form that a Penn tag names.

    Attributes:
        irregular: For each part of speech ("n", "v", "a"), lemma -> its irregular forms, as in WordNet's *.exc files.
    """

    irregular: Mapping[str, Mapping[str, Sequence[str]]]

    def inflect(self, lemma: str, tag: str) -> str | None:
        """Return the form of `lemma` for `tag`; None where English has none (a comparative of "wooden").

        Tags: NNS, VBZ, VBG, VBD, VBN, JJR, JJS, RBR, RBS; for any other the lemma itself is the form.
        """
        if tag == "NNS":
            return self._plural(lemma)
        if tag in ("VBZ", "VBG", "VBD", "VBN"):
            return _SPECIAL[lemma][tag] if lemma in _SPECIAL else self._verb(lemma, tag)
        if tag in ("JJR", "RBR", "JJS", "RBS"):
            return self._compared(lemma, tag.endswith("R"))
        return lemma

    def _plural(self, lemma: str) -> str:
        if lemma in _SAME_PLURAL or is_plural_entry(lemma):
            return lemma
        forms = [form for form in self.irregular["n"].get(lemma, ()) if not form.endswith(("'s", "sses"))]
        if forms:
            return forms[0]
        if lemma.endswith("man") and self.irregular["n"].get("man") and lemma not in ("human", "german", "roman"):
            return lemma[:-2] + "en"
        return with_s(lemma)

    def _verb(self, lemma: str, tag: str) -> str:
        if tag == "VBZ":
            return with_s(lemma)
        if tag == "VBG":
            return with_ing(lemma)
        if lemma in _SAME_IN_THE_PAST:
            return lemma
        irregular = () if lemma in _OFTEN_IRREGULAR else self.irregular["v"].get(lemma, ())
        forms = [form for form in irregular if form.isalpha() and not form.endswith(("ing", "ed", "s"))]
        if _T_FOR_ED.match(lemma):
            stem = lemma.removesuffix("e")
            forms = [form for form in forms if form not in (stem + "t", stem[:-1] + "t")]
        participles = [form for form in forms if _is_participle(form, forms)]
        pasts = [form for form in forms if form not in participles]
        if tag == "VBN":
            if participles:
                return participles[0]
            if pasts and _PARTICIPLE_LIKE_LEMMA.match(lemma):
                return lemma
            return pasts[0] if pasts else with_ed(lemma)
        if pasts:
            return pasts[0]
        return lemma if lemma == "beat" else with_ed(lemma)

    def _compared(self, lemma: str, comparative: bool) -> str | None:
        for form in self.irregular["a"].get(lemma, ()):
            if form.endswith(("er", "rse") if comparative else "st"):
                return form
        ending = "er" if comparative else "est"
        if not _takes_er(lemma):
            return None
        if lemma.endswith("e"):
            return lemma + ending[1:]
        if lemma.endswith("y") and lemma[-2:-1] not in VOWELS:
            return lemma[:-1] + "i" + ending
        return (_doubled(lemma)) + ending


def is_plural_entry(lemma: str) -> bool:
    """Whether a dictionary's noun looks like a plural as it stands: scissors, clothes; not glass, bus, basis, gas."""
    return lemma.endswith("s") and not lemma.endswith(("ss", "us", "is")) and lemma not in _S_SINGULARS


def with_s(lemma: str) -> str:
    """The regular plural of a noun or third person of a verb: box -> boxes, city -> cities."""
    if lemma.endswith("iz"):
        return lemma + "zes"
    if lemma.endswith(("s", "x", "z", "ch", "sh")):
        return lemma + "es"
    if lemma.endswith("y") and lemma[-2:-1] not in VOWELS:
        return lemma[:-1] + "ies"
    if lemma.endswith("o") and lemma[-2:-1] not in VOWELS and lemma not in ("photo", "piano", "kilo", "memo", "logo"):
        return lemma + "es"
    return lemma + "s"


def with_ing(lemma: str) -> str:
    """The present participle: make -> making, lie -> lying, run -> running, see -> seeing."""
    if lemma.endswith("ie"):
        return lemma[:-2] + "ying"
    if lemma.endswith("e") and not lemma.endswith(("ee", "oe", "ye")) and len(lemma) > 2 and lemma not in _E_STAYS:
        return lemma[:-1] + "ing"
    return _doubled(lemma) + "ing"


def with_ed(lemma: str) -> str:
    """The regular past: stop -> stopped, carry -> carried, bake -> baked."""
    if lemma.endswith("e"):
        return lemma + "d"
    if lemma.endswith("y") and lemma[-2:-1] not in VOWELS:
        return lemma[:-1] + "ied"
    return _doubled(lemma) + "ed"


def wants_an(word: str) -> bool:
    """Whether "an" stands before `word`: by sound as far as spelling tells (an hour, a university)."""
    low = word.lower()
    if re.match(r"(?:hour|honest|hono|heir)", low):
        return True
    if re.match(
        r"(?:uni(?!n|m|d)|use|usu|usa|uti|uten|uto|ura|uri|uro|uter|uk|eu|ewe|one\b|once|oui|ubiq|unanim)", low
    ):
        return False
    return low[:1] in VOWELS


def _doubled(lemma: str) -> str:
    if lemma.endswith("c") and lemma[-2:-1] in VOWELS:
        return lemma + "k"
    if _SINGLE_SYLLABLE.match(lemma) or lemma in _DOUBLED_TWO_SYLLABLES:
        return lemma + lemma[-1]
    return lemma


def _is_participle(form: str, forms: Sequence[str]) -> bool:
    """Of irregular forms, the participle ends in n or, beside a past in a, has a u: taken, shown; begun, sung."""
    if form.endswith(("n", "ne")) and not form.endswith("an"):
        return True
    return "u" in form and any("a" in other and other != form for other in forms)


def _takes_er(lemma: str) -> bool:
    """Short adjectives compare by ending; longer ones by "more", which would change the words around them."""
    groups = re.findall(r"[aeiouy]+", lemma[:-1] if lemma.endswith("e") and not lemma.endswith("le") else lemma)
    return len(groups) <= 1 or (len(groups) == 2 and lemma.endswith(("y", "le", "ow")) and lemma[-2:] != "ly")
