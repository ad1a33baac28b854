"""From a view's name and parameters to its dataset: which sentences, which folder, what is there already."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import xxhash

from augment.view import View, ViewSpec, make_view
from pipelines.claim import claim
from pipelines.console import note, progress
from pipelines.folder import Dataset, finished_dataset, open_dataset
from pipelines.ingest import Ingest, count_sentences, ingest
from pipelines.job import SHARD_ROWS, Job, plan_view
from pipelines.kept import folders_like
from pipelines.plan import Plan, read_plan
from pipelines.reading.sources import SAMPLE
from pipelines.recipe import recipe_text
from pipelines.run import Result, run_view
from pipelines.shards import Shards, valid_receipt

DATA = Path("data")
SENTENCES = DATA / "sentences"
VIEWS = DATA / "views"
# Views that others are made through: pivot translations. Each recipe has a folder of its own.
PIVOTS = DATA / "pivots"
# Parameters that a default folder's name carries, so that `--pivot de` and `--pivot fr` lie side by side.
NAMED_BY = ("pivot", "to", "augmenter")
STARTER = "starter"
REAL_WEIGHTS = {"models": "--models opus-mt", "encoder": "--encoder bert-base-uncased"}


@dataclass(frozen=True, slots=True)
class Running:
    """How a run goes, none of which decides its rows."""

    workers: int = 1
    device: str = "auto"
    batch_tokens: int | None = None
    overwrite: bool = False
    show_progress: bool = True


@dataclass(frozen=True, slots=True)
class Rows:
    """Which rows a run makes and how they are cut."""

    seed: int = 0
    limit: int | None = None
    shard_size: int = SHARD_ROWS


def view_label(spec: ViewSpec) -> str:
    """What a view's folder is called: `backtranslate-de`."""
    parts = [spec.name, *(str(spec.params[key]) for key in NAMED_BY if spec.params.get(key) is not None)]
    return "-".join(parts).replace("/", "-")


def default_folder(spec: ViewSpec) -> Path:
    """Where a view goes when nobody says: `data/views/backtranslate-de`."""
    return VIEWS / view_label(spec)


def pivot_folder(spec: ViewSpec, plan: Plan) -> Path:
    """Where the rows go that a staged view is made through: `data/pivots/translate-de-1f0c…`, one for each plan."""
    if not plan.inputs[0].sha256:  # of sentences that were only counted
        return PIVOTS / f"{view_label(spec)}-…"
    parts = [plan.signature, plan.seed, plan.limit, plan.shard_size, *(item.sha256 for item in plan.inputs)]
    return PIVOTS / f"{view_label(spec)}-{xxhash.xxh64_hexdigest(repr(parts).encode())[:8]}"


def sentences_for(names: Sequence[str], *, dry_run: bool = False) -> Dataset:
    """The sentences that SOURCE arguments name: a folder of ours, files, or with none `data/sentences` or the sample.

    Files are ingested to `data/sentences`; in a dry run they are counted.

    Raises:
        InputError: A bad source, or `data/sentences` holds others.
    """
    if len(names) == 1 and read_plan(Path(names[0])) is not None:
        return open_dataset(Path(names[0]), "sentences")
    if not names and read_plan(SENTENCES) is not None:
        return open_dataset(SENTENCES, "sentences")
    if not names:
        note(f"no SOURCE and no {SENTENCES}/: taking the bundled sample corpus")
    sources = list(names) or [SAMPLE]
    advice = f"run `augment ingest {' '.join(sources)} --out {DATA}/other` and give {DATA}/other as SOURCE"
    if dry_run:
        return count_sentences(Ingest(sources), SENTENCES, advice=advice)
    dataset, made = ingest(Ingest(sources), SENTENCES, advice=advice)
    if made:
        note(f"{dataset.rows:,} sentences ingested to {dataset.path}/")
    return dataset


def note_starter(view: View) -> None:
    """Say in one line when a view uses a bundled starter model, and which flag takes a real one."""
    params = view.spec.params
    for key, flag in REAL_WEIGHTS.items():
        if params.get(key) == STARTER and params.get("revision") is not None:
            note(f"{view.spec.name}: the bundled starter models (small, for trying out); `{flag}` takes real ones")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A view that is ready to be made: its job, its view, the sources as given, and what it is made through."""

    job: Job
    view: View
    sources: Sequence[str]
    through: "Prepared | None" = None

    @property
    def recipe(self) -> str:
        """The resolved recipe, for `--config`."""
        spec = self.view.spec
        options: Mapping[str, Any] = {"sources": list(self.sources) or None, **spec.params}
        plan = self.job.plan
        return recipe_text(spec.name, options, seed=plan.seed, limit=plan.limit, shard_size=plan.shard_size)

    def make(self, running: Running) -> Result:
        """Make what is not there yet, what it is made through first."""
        job, before = self.job, None
        if self.through is not None and (running.overwrite or not self._is_there()):
            before = self.through.make(replace(running, overwrite=False))
            job = replace(job, through=Shards(before.dataset.path, before.dataset.receipts))
        show = progress if running.show_progress else _no_progress
        with show(job.out.name, job.plan.rows) as advance:
            made = run_view(
                job,
                self.view,
                self.recipe,
                workers=running.workers,
                overwrite=running.overwrite,
                advance=advance,
            )
        return replace(made, through=before)

    def _is_there(self) -> bool:
        """Whether it is finished under this plan: then what it was made through may be gone."""
        standing = claim(self.job.out, self.job.plan, overwrite=False)
        return standing is not None and finished_dataset(self.job.out, standing) is not None

    def preview(self, running: Running) -> dict[str, Any]:
        """What `make` would do; nothing is written.

        Raises:
            InputError: The folder belongs to another recipe.
        """
        job = self.job
        # Of sentences that are only counted the hash is not known, and by that a view's plan is known.
        is_comparable = bool(job.source.receipts) and not running.overwrite
        if is_comparable:
            claim(job.out, job.plan, overwrite=False)
        ranges = enumerate(job.plan.shards) if is_comparable else ()
        there = sum(bool(valid_receipt(job.out, i, b - a)) for i, (a, b) in ranges)
        weights = {key: job.plan.params.get(key) for key in (*REAL_WEIGHTS, "revision")}
        through = {"through": str(self.through.job.out)} if self.through is not None else {}
        return {
            "out": str(job.out),
            **through,
            "signature": job.plan.signature,
            "sentences": job.plan.inputs[0].rows,
            "rows": job.plan.rows,
            "shards": len(job.plan.shards),
            "shards_there": there,
            **{key: value for key, value in weights.items() if value is not None},
        }


@contextmanager
def _no_progress(_description: str, _total: int | None) -> Iterator[Callable[[int], None]]:
    yield lambda count: None


def build_view(spec: ViewSpec, running: Running) -> View:
    """The view on the run's device; cheap, weights are loaded on first use.

    Raises:
        InputError: An unknown view, a wrong parameter, or models that are not there.
    """
    return make_view(spec, device=running.device, batch_tokens=running.batch_tokens)


def prepare(
    view: View,
    source: Dataset,
    rows: Rows,
    running: Running,
    *,
    out: Path | None = None,
    sources: Sequence[str] = (),
) -> Prepared:
    """Plan a view of sentences, into `out` or its default folder, and what it is made through."""
    before = getattr(view, "through", None)
    through = None if before is None else _prepare_through(before, source, rows, running, sources)
    plan = plan_view(view, source, seed=rows.seed, limit=rows.limit, shard_size=rows.shard_size)
    where = out if out is not None else default_folder(view.spec)
    job = Job(plan, Shards(source.path, source.receipts), where, running.device, running.batch_tokens)
    return Prepared(job, view, sources, through)


def _prepare_through(view: View, source: Dataset, rows: Rows, running: Running, sources: Sequence[str]) -> Prepared:
    """The same, into a folder of its recipe's own; rows that another run made are found there and among the views."""
    plan = plan_view(view, source, seed=rows.seed, limit=rows.limit, shard_size=rows.shard_size)
    out = pivot_folder(view.spec, plan)
    prepared = prepare(view, source, rows, running, out=out, sources=sources)
    kept = tuple(folder for folder in folders_like(plan, (PIVOTS, VIEWS)) if folder != out)
    return replace(prepared, job=replace(prepared.job, kept=kept))
