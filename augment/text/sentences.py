"""The sentences of running text, by sentencex, with the lists, brackets and abbreviations that it does not know."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import regex

OPEN_ENDS = {
    language: re.compile(rf"(?:{pattern})\s+\S\Z")
    for language, pattern in {
        "en": r"(?<!\w)(?:Drs?|Mrs?|Ms|Profs?|Gen|Sen|Rep|Rev|Hon|Capt|Lt|Sgt|Col|Mt|approx|vs|resp|viz)\.|"
        r"pct\.(?=\s+[a-z\d])",
        "fr": r"(?<!\w)(?:MM?|Mmes?|Mlles?|Drs?|Prs?|Mgr|Me|Ste?s?|p\. ex|c\.-à-d|av|env|[Bb](?:oul)?d|fig|[Aa]rt|"
        r"chap|vol|éd|cf|réf)\.|(?<!\w)art\. [LRD]\.",
        "de": r"(?i:(?<!\w)(?:d(?:er|ie|as|en|em|es)|im|am|zum|zur|vom|beim|ins|ans|ab|seit|(?:m|s|d|k)?ein\w{0,2}|"
        r"jede\w?|diese\w?|ihr\w{0,2}|unser\w{0,2}|\d{1,2}\. (?:und|oder|bis))\s\d{1,3}|"
        r"(?<!\w)(?:Dr|Prof|Hrn?|Fr|St|ca|bzw|vgl|evtl|ggf|inkl|zzgl|Tel|Nr|Abb|Abs|Kap|Bd|Mio|Mrd|Fa|Fam))\.|"
        r"(?<!\w)(?:max|min)\.",
        "es": r"(?<!\w)(?:Sres|Sras?|Srtas?|Sr|Dra?s?|Dña|Dn?|Profa?|Lic|Ing|Arq|Gral|Mons|Sta?|Sto|aprox|p\. ej)\.",
        "it": r"(?<!\w)(?i:sigg?|sig\.(?:ra|na)|dott|dott\.ssa|dr|prof|prof\.ssa|on|avv|ing|arch|geom|rag|mons|sen|gen|"
        r"col|cap|cav|comm|spett|gent|egr|ca|es|cfr)\.",
        "nl": r"(?<!\w)(?i:dhr|mevr|mw|mej|prof|drs?|ir|ing|mr|ds|st|ca|bijv|bv|resp|evt|incl|excl|vgl)\.",
        "pt": r"(?<!\w)(?:Sr(?:as?|es)?|Dra?s?|Profa?|Eng|Arq|Exmo|Exma|Sto|Sta|D|aprox|p\. ex)\.",
        "ru": r"(?<!\w)(?i:им|ул|просп|пл|пер|наб|обл|проф|акад|доц|тов|гр|св|напр|ср|см|гл|рис|табл)\.",
    }.items()
}
"""What no sentence ends with, by language: titles, abbreviations of which more must follow, German
ordinals."""
NUMBERED = re.compile(
    r"(?<!\w)(?:pp?|págs?|pags?|pagg|n[ro]?|nos|núm|num|arts?|artt|caps?|capp|figs?|figg|tabs?|vols?|voll|sez|sect?|secc?"
    r"|par|paras?|chap|ch|blz|hfdst|afb|bijl|lid|стр|с|рис|табл|гл|пп?|ст|ч|кв|д|kap|abb|abs|bd|env|ca?|aprox|tel|tél"
    r"|civ|абз|janv?|febr?|févr|mrt|apr|avr|abr|ene|gen|giu|lug|juill|aug|sept?|ott|o[ck]t|nov|de[cz]|déc|dic"
    r"|янв|февр?|апр|авг|сент?|окт|нояб?|дек)\.\s*\Z",
    re.IGNORECASE,
)
"""Abbreviations before a number, those of months too."""
INITIALS = regex.compile(r"(?<!\w)(?![ap]\.\s?m\.)\p{Ll}{1,3}\.\s?(?:\p{Ll}{1,3}\.)+\s*\Z")
"""Abbreviations of several words, such as "o.a." and "т. е."."""
ITEM = regex.compile(
    r"\s*(?:[-*+•‣▪]|\d{1,3}(?:\.\d{1,3})+(?=\s+[\p{Lu}(\[])|"
    r"[(\[]?(?:\d{1,3}(?:\.\d{1,3})*|[^\W\d_]|[ivxl]{1,5}|[IVXL]{1,5})[.)\]])\s+(?=\S)"
)
"""The bullet, number or letter of an item of a list."""
BRACKETED = regex.compile(
    r"(?=[(\[])(?<=\A\s*|[.!?…][\"'”’»)\]]*\s+)[(\[][^\p{Ll}()\[\]][^()\[\]]*[.!?…][\"'”’»]*[)\]]\s+(?=\P{Ll})"
)
"""A sentence in brackets of its own before another one."""
NO_ABBREVIATIONS = {
    "en": "May",
    "de": "mich|mag|Art|usw|[Oo]k|OK|Max|Jan|Ken|Bart|May|Miss|La",
    "fr": "ex|sec|vol|art|al|sup",
    "es": "no|bien|nos|con|para|sobre|contra|entre|ante|tras|mar|auto|extra|super|mini|ex|vice|de|en|"
    "un|pro|poli|let|da",
    "it": "di|no|la|in|le|si|con|ma|al|ha|se|mi|lo|ci|su|ad|sia|ai|ne|fa|me|mai|vi|te|via|li|po|va|so|"
    "ore|sa|fra|fai|all|fin|in|bar|file|mica|sin|max|fine|set|spot|card|radar|laser|post|app|"
    "part|case|long|pass|cup|TV|tv|USA|UE|ONU|NATO|PC|pc|DVD|CD|cd|SMS|sms|RAI|BBC|FIFA|UEFA|GPS|"
    "FBI|UK|EU|gas|nodo|grano|dea|pan|rom|mar|Tim|Tom|Ted|Anton|Marc|Roma",
    "nl": "dat|pas|best|hand|top|app|ex|al|it|pers|pan|red|rom|mand|bel|me|kg|bull|Tom",
    "pt": "ex|vi|con",
    "ru": "муж|жен|ин",
    "sv": "det|med|kan|ut|min|hon|sen|del|ens|va|ord|ok|ont|maj|fy|jul|me|la|penna|ark",
    "da": "det|med|var|da|to|din|del|ned|par|tv|TV|form|vær|sort|nat|nord|jul|kat|sø|regn|fru|port|ti|mor|til",
    "cs": "co|tu|no|nám|pod|kol|el",
    "pl": "port|nord|mar|dniem|ang",
    "tr": "ne|sen|mi|al|kan|ver|ok|art|se|la|ma",
}
"""Words, by language, that sentencex takes for abbreviations though sentences end with them."""
SPEECH = re.compile(r"[\"“‘']?[^\"“”]*(?:[!?…]|\.{3})[\"”’']\s+")
"""What somebody says, and nothing before it."""
SPEECH_TAG = regex.compile(
    r"(?:\p{Lu}[\w'’-]*\.?\s+(?:(?:and|of|de|van|von)\s+)?){1,3}(?:[\p{Ll}-]+\s+){0,3}"
    r"(?:said|says|ask(?:s|ed)|repl(?:ies|ied)|answer(?:s|ed)|exclaim(?:s|ed)|cr(?:ies|ied)|shout(?:s|ed)|"
    r"whisper(?:s|ed)|yell(?:s|ed)|scream(?:s|ed)|call(?:s|ed)|mutter(?:s|ed)|murmur(?:s|ed)|mumbled|added|"
    r"wonder(?:s|ed)|demand(?:s|ed)|inquired|insisted|continued|repeated|interrupted|gasped|laughed|sighed|"
    r"agree[sd]|announce[sd]|barked|begged|bellowed|chuckled|commented|complained|declare[sd]|explain(?:s|ed)|"
    r"giggled|groaned|growled|grumbled|hissed|joked|moaned|nodded|objected|observed|pleaded|pleads|promised|"
    r"protest(?:s|ed)|queried|remark(?:s|ed)|respond(?:s|ed)|retorted|roared|shrieked|smiled|snapped|sobbed|"
    r"stammered|suggest(?:s|ed)|teased|thought|urged|wailed|warn(?:s|ed)|wept)\b"
)
"""Who says it in English, where that begins with a capital."""
DASHED_TAG = regex.compile(r"[—–-]\s*\p{Ll}")
"""Who says it behind a dash, as in Spanish and Russian."""
OPENING = "x "
"""Put before a text, as sentencex takes all behind a bracket at the very beginning for one sentence."""


def sentences(text: str, language: str) -> list[str]:
    """The sentences of a text, which joined give it; the number of an item belongs to its first sentence.

    None ends at a full stop without a space after it, at an abbreviation, or before a small letter in a text
    that begins its sentences with capitals.
    """
    if not text.strip():
        return []
    number = ITEM.match(text)
    start = number.end() if number else 0
    marker, rest = text[:start], text[start:]
    brackets = (place for match in BRACKETED.finditer(rest) for place in match.span())
    parts = (rest[begin:end] for begin, end in pairwise(sorted({0, *brackets, len(rest)})))
    first, *others = (sentence for part in parts for sentence in _sentences(part, language))
    return [marker + first, *others]


@cache
def _ends(language: str) -> regex.Pattern[str]:
    """Where a sentence ends that sentencex goes on with."""
    words = NO_ABBREVIATIONS.get(language, "etc")
    return regex.compile(rf"(?<=(?<!\w)(?:etc|ecc|enz|т\.\s?[дп]|{words})\.\s+)(?=[\"'“„«‘¿¡]?\p{{Lu}})")


def _sentences(text: str, language: str) -> Iterator[str]:
    from sentencex import segment  # type: ignore[import-untyped, unused-ignore]

    pieces = [part for piece in segment(language, OPENING + text) for part in _ends(language).split(piece)]
    pieces[0] = pieces[0].removeprefix(OPENING)
    capitals, small = (sum(test(piece[:1]) for piece in pieces) for test in (str.isupper, str.islower))
    start = end = 0
    for piece in pieces:
        before = text[max(start, end - 40) : end]
        is_speech = language == "en" and SPEECH.fullmatch(text[start:end])
        is_tagged = DASHED_TAG.match(piece) or (is_speech and SPEECH_TAG.match(piece))
        if before and not is_tagged and not _continues(before, piece, language, is_cased=capitals >= small):
            yield text[start:end]
            start = end
        end += len(piece)
    yield text[start:]


def _continues(before: str, piece: str, language: str, *, is_cased: bool) -> bool:
    """Whether a piece continues the sentence that ends with `before`."""
    first, open_end = piece[:1], OPEN_ENDS.get(language)
    number = ITEM.match(before + first)
    if number is not None and number.end() == len(before):
        return True
    if before.endswith(".") or (open_end is not None and open_end.search(before + first)):
        return True
    if first.isdigit() or first.islower():
        if NUMBERED.search(before) or INITIALS.search(before):
            return True
        # A word with a capital further on, such as iPhone, may begin a sentence.
        is_small = first.islower() and not any(map(str.isupper, piece.partition(" ")[0]))
        return is_cased and is_small and before.rstrip().endswith((".", "…"))
    return False
