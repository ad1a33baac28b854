"""Translate the sentence to a pivot language and back (BSL, section 3.2); the pivot text is kept."""

from pydantic import Field

from augment.translate.decoding import Decoding, parse_decoding
from augment.translate.stages import HOP, TranslationView


class Backtranslate(TranslationView):
    """The view; one engine serves both ways."""

    name = "backtranslate"
    named_by = "pivot"

    pivot: str = Field(description="language to go through, such as de; de+fr goes through German, then French")
    return_decode: str | None = Field(default=None, description="how to decode on the way back, if not as there")

    def languages(self) -> list[str]:
        """From the source through every pivot and back."""
        return [self.source, *self.pivot.split(HOP), self.source]

    def decodings(self) -> list[Decoding]:
        """How to decode there and back; where only one of both samples, the temperature is for that one."""
        ways = (self.decode, self.return_decode or self.decode)
        samples = [parse_decoding(way).sampled for way in ways]
        applies = [sampled or not any(samples) for sampled in samples]
        return [parse_decoding(way, self.temperature if own else None) for way, own in zip(ways, applies, strict=True)]
