"""The sentences of running text, by sentencex."""

import re

OPEN_ENDS = {
    language: re.compile(rf"(?:{pattern})\s+\S\Z")
    for language, pattern in {
        "en": r"(?<!\w)(?:Drs?|Mrs?|Ms|Profs?|Gen|Sen|Rep|Rev|Hon|Capt|Lt|Sgt|Col|Mt|approx|vs|resp|viz)\.|"
        r"pct\.(?=\s+[a-z\d])",
        "fr": r"(?<!\w)(?:MM?|Mmes?|Mlles?|Drs?|Prs?|Mgr|Me|Ste?s?|p\. ex|c\.-à-d|av|env|fig|art|chap|vol|éd|cf|réf)\.",
        "de": r"(?i:(?<!\w)(?:d(?:er|ie|as|en|em|es)|im|am|zum|zur|vom|beim|ins|ans|ab|seit|(?:m|s|d|k)?ein\w{0,2}|"
        r"jede\w?|diese\w?|ihr\w{0,2}|unser\w{0,2}|\d{1,2}\. (?:und|oder|bis))\s\d{1,3}|"
        r"(?<!\w)(?:Dr|Prof|Hrn?|Fr|St|ca|bzw|vgl|evtl|ggf|inkl|zzgl|Tel|Nr|Abb|Abs|Kap|Bd|Mio|Mrd))\.",
    }.items()
}
"""What no sentence ends with, by language: titles, abbreviations of which more must follow, German ordinals."""


def sentences(text: str, language: str) -> list[str]:
    """The sentences of a text; none ends at a full stop without a space after it, nor at abbreviations."""
    from sentencex import segment  # type: ignore[import-untyped, unused-ignore]

    pieces, open_end = [""], OPEN_ENDS.get(language)
    for piece in segment(language, text) if text.strip() else ():
        if pieces[-1].endswith(".") or (open_end is not None and open_end.search(pieces[-1] + piece[:1])):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces[1:]
