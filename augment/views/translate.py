"""Translate the sentence, for multilingual pairs (BSL, section 4.3); `de+fr` goes to French through German."""

from augment.translate.stages import HOP, TranslationView


class Translate(TranslationView):
    """The view; of several hops, the text before the last one is the pivot."""

    name = "translate"
    folder_option = language_option = "to"

    to: str
    """language to translate to, such as fr; de+fr goes there through German"""

    def languages(self) -> list[str]:
        """From the source through every hop."""
        return [self.source, *self.to.split(HOP)]
