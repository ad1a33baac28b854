"""Tasks of MTEB, run by `mteb` itself on an encoder of ours; needs the extra `eval`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import mteb
from datasets.exceptions import DatasetsError
from mteb.models import ModelMeta
from mteb.models.abs_encoder import AbsEncoder

from pipelines.base.console import InputError
from trainers.encoders.vectors import Matrix, Sided, TextEncoder, Vectors
from trainers.scores.task import Result, Suite, Task

MAIN = "main score"


class Encoder(AbsEncoder):
    """An encoder of ours as `mteb` calls it; its fingerprint keeps the results that `mteb` stores apart."""

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder, self.revision = encoder, getattr(encoder, "fingerprint", lambda: None)()
        name = f"twinviews/{Path(encoder.name).name}"
        self.mteb_model_meta = ModelMeta.create_empty({"name": name, "revision": self.revision})

    def encode(self, inputs: Any, *, prompt_type: Any = None, **_: Any) -> Matrix:  # noqa: ANN401 - mteb's batches and options
        """Return the vectors (texts, d) of batches of texts; instructions for a task are for other models."""
        texts = [text for batch in inputs for text in batch["text"]]
        return self.encoder.encode(
            [Sided(text, prompt_type.value) for text in texts] if prompt_type else texts
        )


def mteb_suite(names: Sequence[str], encoder: TextEncoder, folder: Path) -> Suite:
    """Return tasks of MTEB as a suite, its results kept in `folder`; raises InputError for one that cannot be had."""
    model = Encoder(encoder)
    # A user's function has no fingerprint: what is stored could be of another one.
    cache = mteb.ResultCache(folder) if model.revision else None

    def score(task: Any, vectors: Vectors, seed: int) -> Result:  # noqa: ANN401 - mteb has no types
        try:
            results = mteb.evaluate(model, task, cache=cache, show_progress_bar=False)
        except (DatasetsError, OSError, ValueError) as error:
            raise InputError(f"--mteb {task.metadata.name} cannot be scored ({str(error)[:200]})") from None
        return Result({MAIN: 100 * float(results[0].get_score())})

    try:
        tasks = [(task, task.metadata) for task in mteb.get_tasks(tasks=list(names))]
    except (KeyError, ValueError) as error:
        raise InputError(f"--mteb {' '.join(names)}: {error.args[0]}") from None
    sets = [
        Task(
            name=about.name,
            title=about.name,
            source=str(about.dataset["path"]),
            size=sum((about.n_samples or {}).values()),
            texts=(),
            lines=[f"{about.name} {about.revision}\n"],
            files={"revision": str(about.revision)},
            counted=False,
            score=partial(score, task),
            note=f"main score: {about.main_score}, by mteb {mteb.__version__}",
        )
        for task, about in tasks
    ]
    return Suite("mteb", "Tasks of MTEB (Muennighoff et al. 2023)", (MAIN,), 0, tuple(sets))
