"""Translate the sentence to a pivot language and back (BSL, section 3.2); the pivot text is kept."""

from pydantic import Field

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

    def ways(self) -> tuple[str, ...]:
        """How to decode there and back."""
        return self.decode, self.return_decode or self.decode
