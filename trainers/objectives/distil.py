"""Distillation of another encoder: its relations to a queue (ConGen, SCT), or its vectors, for another language.

The teacher's vectors of the training texts are computed once and kept in the run's directory until the run is
done. A student of another dimension gets a Dense layer with tanh, which is saved with it.

With `smooth_neighbours` an encoder adapts itself to a domain: the teacher is the encoder as it was, and each
of its vectors is averaged with those of the nearest texts. What many neighbours share remains; what only one
has goes.

With `method` mse the second views are translations of the first, which the teacher reads. The student learns
to give a translation the teacher's vector of its source: an encoder for another language, in the teacher's own
space.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from pipelines.base.console import note
from pipelines.storage.pair_files import has_bundled_translations
from trainers.settings import DropoutOptions, Pooling, later, read_presets

READS = ("views", "text")
PRESETS = read_presets(__file__)
build = later("trainers.networks.distil:build")


class PARAMS(DropoutOptions):
    """The options of distillation."""

    smooth_neighbours: int | None = Field(None, ge=1)
    """Average the teacher's vectors with so many neighbours'; none: as they are."""
    teacher: str | None = Field(None, min_length=1, validate_default=True)
    """Encoder to learn from: a directory or a Hub name; none: the encoder itself, smoothed."""
    teacher_pooling: Pooling | None = None
    """Pooling of the teacher; none: its own."""
    method: Literal["congen", "sct", "mse"] = "congen"
    """The first view teaches both, or each the other, or its vector itself is to be met (mse)."""
    languages: Literal["new", "both"] = "new"
    """mse: read the language of the second views alone, or that of the first ones too."""
    vocabulary: int | None = Field(None, ge=100)
    """Pieces of a new vocabulary, of these languages and of more text of theirs, --text; none: its own."""
    queue: int = Field(65_536, ge=0)
    """Teacher's vectors in the queue, or in each of SCT's two (k)."""
    teacher_temperature: float = Field(0.05, gt=0)
    """Temperature of the teacher's relations."""
    student_temperature: float = Field(0.07, gt=0)
    """Temperature of the student's relations."""

    @field_validator("teacher")
    @classmethod
    def is_known(cls, teacher: str | None, others: ValidationInfo) -> str | None:
        """Let an encoder be its own teacher only if that smooths."""
        if teacher is None and not others.data.get("smooth_neighbours"):
            raise ValueError(
                "give an encoder to learn from, or --smooth-neighbours to adapt the encoder by itself"
            )
        return teacher

    def start(self) -> str | None:
        """Return the teacher for a student that is to stay in its space."""
        return self.teacher if self.method == "mse" else None

    def other_encoders(self) -> dict[str, str]:
        """Return the teacher, if one is named."""
        return {"teacher": self.teacher} if self.teacher else {}

    def reads_corpus(self) -> bool:
        """Whether a vocabulary is learnt."""
        return self.method == "mse" and self.vocabulary is not None

    def check_views(self, views: Sequence[str]) -> None:
        """Warn of translations that are too poor to learn a language from."""
        if self.method == "mse" and any(has_bundled_translations(Path(path)) for path in views):
            note(
                "warning: the bundled models made these translations, which are too poor to learn a language from: "
                "give real ones, or take larger models (--models)"
            )

    def held_out(self, rows: int, batch_size: int) -> int:
        """Return how many of `rows` fill the queue and are not trained on."""
        remaining = rows - self.queue
        sets_aside = self.method == "congen" and not self.smooth_neighbours
        return self.queue if sets_aside and remaining >= max(self.queue, batch_size) else 0
