"""Translate the sentence to a pivot language and back (BSL, section 3.2); the pivot text is kept."""

from augment.translate.stages import HOP, TranslationView


class Backtranslate(TranslationView):
    """The view; one engine serves both ways."""

    name = "backtranslate"
    folder_option = "pivot"

    pivot: str
    """language to go through, such as de; de+fr goes through German, then French"""

    def languages(self) -> list[str]:
        """From the source through every pivot and back."""
        return [self.source, *self.pivot.split(HOP), self.source]
