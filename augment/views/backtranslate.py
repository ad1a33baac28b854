"""Translate the sentence to a pivot language and back (BSL, section 3.2); the pivot text is kept."""

from augment.translate.decoding import Decoding, parse_decoding
from augment.translate.stages import HOP, TranslationView


class Backtranslate(TranslationView):
    """The view; one engine serves both ways."""

    name = "backtranslate"
    folder_option = "pivot"

    pivot: str
    """language to go through, such as de; de+fr goes through German, then French"""
    return_decode: str | None = None
    """how to decode on the way back, if differently"""

    def languages(self) -> list[str]:
        """From the source through every pivot and back."""
        return [self.source, *self.pivot.split(HOP), self.source]

    def decodings(self) -> list[Decoding]:
        """How to decode there and back; if only one of them samples, the temperature is for that one."""
        ways = [self.decode, self.return_decode or self.decode]
        random_ways = [way for way in ways if parse_decoding(way).sampled] or ways
        return [parse_decoding(way, self.temperature if way in random_ways else None) for way in ways]
