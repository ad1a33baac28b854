"""Drop pairs with a view that says another gender than its sentence, such as "he" for "she"."""

from augment.meaning.gender import changes_gender
from pipelines.pairs.filter import PairColumns, SideFilter


class Gender(SideFilter):
    """It reads English, German and French views of sentences of their language."""

    def reasons(self, pairs: PairColumns, side: str) -> list[str | None]:
        """Drop texts whose pronouns or persons have lost one gender and gained the other."""
        rows = zip(pairs.sentences(side), pairs.strings(side), pairs.about(side), strict=True)
        return [
            f"{info.name} changes a gender"
            if text != sentence and changes_gender(sentence, text, info.language or "en")
            else None
            for sentence, text, info in rows
        ]
