"""The sentence itself: dropout or drophead in the encoder then makes the view (Mirror-BERT, section 2.2)."""

from collections.abc import Sequence

from augment.view import View, Viewed


class Identity(View):
    """The view; its status is "ok", as an unchanged text is what it is for."""

    name = "identity"
    draws = False

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """Return every text as it is."""
        return [*map(Viewed, texts)]
