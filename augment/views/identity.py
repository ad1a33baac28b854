"""The sentence itself: dropout or drophead in the encoder then makes the view (Mirror-BERT, section 2.2)."""

from collections.abc import Sequence

from augment.view import View, ViewResult


class Identity(View):
    """The view; its status is "ok", as an unchanged text is what it is for."""

    name = "identity"
    uses_seed = False

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """Return every text as it is."""
        return [*map(ViewResult, texts)]
