"""What objectives with a teacher share: its vectors of their texts, computed once in a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from trainers.data.examples import Columns
from trainers.encoders.vectors import Matrix
from trainers.objective import Objective

if TYPE_CHECKING:  # it takes seconds to import
    from trainers.encoders.model import EmbeddingModel


class Taught(Objective):
    """An objective that may have a `teacher`: `columns` sets `texts`, and the rows' `taught` are numbers of these."""

    teacher: "EmbeddingModel | None" = None
    role = "teacher"
    """What messages call the teacher."""
    texts: Sequence[str] = ()
    taught: Matrix
    """The teacher's vectors of the texts, mapped from the disk."""

    def takes_prompts(self) -> bool:
        """Whether columns may have prompts of their own: a teacher would read the texts without them."""
        return self.teacher is None

    def before_training(self, folder: Path) -> None:
        """Compute the teacher's vectors, or find them in `folder`."""
        if self.teacher is not None:
            self.taught = self.teacher.unit_vectors(self.texts, folder / "teacher", self.role)
        self.teacher, self.texts = None, ()

    def collate(self, batch: Columns) -> dict[str, Tensor]:
        """Return the batch, with the teacher's vectors `taught` (n, ..., d) of the rows' texts."""
        arguments = super().collate(batch)
        if "taught" in arguments:
            arguments["taught"] = torch.from_numpy(self.taught[batch.values["taught"]])
        return arguments
