"""English forms: a lemma's form for a Penn Treebank tag by LemmInflect, and "a" or "an" by inflect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inflect import engine

_PARTS = {"N": "NOUN", "V": "VERB", "J": "ADJ", "R": "ADV"}
INFLECTED = frozenset(["NNS", "VBZ", "VBG", "VBD", "VBN", "JJR", "JJS", "RBR", "RBS"])
"""Penn tags of forms that differ from the lemma."""

_LIKE_THEIR_ENDS = """
be-stride be-take be-think bottle-feed breast-feed bull-shit cheer-lead chicken-fight color-cast copy-read
counter-strike cross-cut dog-fight fine-draw fist-fight flood-light fore-know hand-build hand-write house-break
house-keep in-dwell in-weave joy-ride lip-read mis-give mis-hear mis-speak out-draw out-fight out-ride out-sell
over-bid over-cast over-eat over-feed over-fly over-shoot over-spend over-write pod-cast pre-pay prize-fight
proof-read re-bind re-do re-grow re-hear re-shoot rough-cast sharp-shoot sight-read sight-see sight-sing spell-bind
spoon-feed sports-cast sub-let tele-cast trouble-shoot type-write un-freeze un-make un-string un-teach un-weave
under-grow under-lay under-spend up-rise
"""
_FORMS = """
awe VBG awing, backslide VBN backslid, bear VBN borne, beware VBZ -, beware VBD -, beware VBG -, beware VBN -, bid VBD
bid, bide VBD bided, bide VBN bided, birdie VBG birdieing, blend VBN blended, broadcast VBD broadcast, broadcast VBN
broadcast, cast VBD cast, cast VBN cast, enrol VBD enrolled, enrol VBG enrolling, enrol VBN enrolled, fee VBD -, fee
VBN -, forecast VBD forecast, forecast VBN forecast, forgo VBD forwent, gown VBN gowned, lie VBN lain, light VBN lit,
mimic VBD mimicked, mimic VBG mimicking, mimic VBN mimicked, program VBD programmed, program VBG programming, program
VBN programmed, quit VBN quit, relay VBN relayed, shit VBN shit, shoe VBD shod, shoe VBN shod, tar VBD tarred, tar VBG
tarring, tar VBN tarred, wake VBN woken, weave VBD wove, wed VBD wed, wed VBN wed, wet VBD wet, wet VBN wet, aircraft
NNS aircraft, allis NNS allises, balladeer NNS balladeers, barf NNS barfs, beef NNS beefs, bison NNS bison, blintz NNS
blintzes, cod NNS cod, epithelium NNS epithelia, fish NNS fish, handcraft NNS handcrafts, kris NNS krises, money NNS
monies, nisus NNS nisus, offspring NNS offspring, os NNS ossa, ox NNS oxen, oxen NNS oxen, precis NNS precis, revers
NNS revers, salmon NNS salmon, shrimp NNS shrimp, sis NNS sises, swine NNS swine, vas NNS vasa, blue JJR bluer, blue
JJS bluest, free JJR freer, free JJS freest, true JJR truer, true JJS truest, wee JJR -, wee JJS -, wrong JJR -, wrong
JJS -
"""
"""Where LemmInflect errs or has no entry: compounds that inflect like the verb after the hyphen, and single forms.

"-" means that there is no such form.
"""
_LIKE = {entry.replace("-", ""): entry.partition("-") for entry in _LIKE_THEIR_ENDS.split()}
_OWN = {(lemma, tag): form for lemma, tag, form in (entry.split() for entry in _FORMS.split(","))}
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
