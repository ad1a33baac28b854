"""Two encoders of one space: one for queries, or first sides, the other for documents, or second sides."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipelines.base.console import InputError
from trainers.encoders.vectors import Advance, Matrix, TextEncoder, Vectors, still


@dataclass(frozen=True, slots=True)
class TwoEncoders:
    """An encoder whose documents another one encodes, such as a large one of which an index was made."""

    queries: TextEncoder
    documents: TextEncoder

    @property
    def name(self) -> str:
        """The name of the encoder of queries, which is the one that is judged."""
        return self.queries.name

    @property
    def title(self) -> str:
        """Both encoders, each as it calls itself."""
        return f"{self.queries.title}; documents by {self.documents.title}"

    @property
    def directory(self) -> Path | None:
        """The folder of the encoder of queries, whose training text is counted."""
        return getattr(self.queries, "directory", None)

    @property
    def device(self) -> str | None:
        """Where the vectors are compared."""
        return getattr(self.queries, "device", None)

    def encode(self, texts: Sequence[str], advance: Advance = still) -> Matrix:
        """Return the vectors (texts, d) of queries."""
        return self.queries.encode(texts, advance)

    def vectors(self, queries: Sequence[str], documents: Sequence[str], advance: Advance = still) -> Vectors:
        """Encode each side by its own encoder; raises InputError if their vectors differ in length."""
        first = Vectors.encode(self.queries, queries, advance)
        second = Vectors.encode(self.documents, documents, advance)
        widths = first.matrix.shape[1], second.matrix.shape[1]
        if widths[0] != widths[1]:
            raise InputError(
                f"{self.queries.name} has vectors of {widths[0]} numbers, {self.documents.name} of {widths[1]}: "
                "give two encoders of one space, such as a student and its teacher"
            )
        return replace(first, documents=second, similarity=second.similarity)

    def card(self) -> dict[str, Any]:
        """Return the card of the encoder of queries, with that of the other one under `documents`."""
        return {**self.queries.card(), "documents": self.documents.card()}

    @property
    def revision(self) -> str | None:
        """The revisions of both; None if one is not known."""
        revisions = [self.queries.revision, self.documents.revision]
        return "+".join(filter(None, revisions)) if all(revisions) else None
