"""Views as candidates for pairs: chosen by name, made if missing, laid beside their sentences row by row."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augment.errors import InputError
from augment.translate.stages import HOP
from augment.view import ViewSpec, view_attribute, view_names
from pipelines.console import note
from pipelines.files import locate
from pipelines.filter import About
from pipelines.folder import Dataset, finished_dataset
from pipelines.pairing.candidates import TASK_ROWS, Candidates, PairSource
from pipelines.pairs import PAIR_COLUMNS
from pipelines.plan import Input, Plan, read_plan
from pipelines.views.run import SHARD_ROWS, VIEWS, Execution, make_run, note_starter, plan_run
from pipelines.views.work import ViewRun, build_view

ORIGINAL = "original"
BSL_VIEWS = ("backtranslate-de", "backtranslate-fr")


@dataclass(frozen=True, slots=True)
class Choice:
    """A view that was asked for: its folder, the plan if there is one, and which view it is."""

    folder: Path
    plan: Plan | None
    spec: ViewSpec

    @property
    def name(self) -> str:
        """Its name in the pairs."""
        return self.folder.name


def choose_views(policy: str, views: Sequence[str]) -> list[Choice]:
    """The views that a policy pairs; raises InputError unless their number fits and each exists or can be made."""
    choices = [_choice(name) for name in views or (BSL_VIEWS if policy == "bsl" else ())]
    if len(choices) != 2 if policy == "bsl" else not choices:
        count = f"2 --view, not {len(choices)}" if policy == "bsl" else "1 --view, not 0 (or several)"
        example = "translate-de" if policy == "multilingual" else "backtranslate-de"
        raise InputError(f"--pairs {policy} takes {count}: e.g. --view {example}")
    names = [choice.name for choice in choices]
    for choice in choices:
        if choice.name == ORIGINAL:
            raise InputError(f"--view {ORIGINAL} is the name of the sentence itself: give the folder another name")
        if names.count(choice.name) > 1:
            raise InputError(f"--view {choice.name} is given twice: two different views make a pair (or --pairs self)")
        if policy == "multilingual" and view_attribute(choice.spec.name, "ends_in", "source") == "source":
            raise InputError(
                f"--view {choice.name} is not a translation: take translate-de or the like, or --pairs original"
            )
    return choices


def _choice(name: str) -> Choice:
    """A view by its path or the name of its folder in `data/views/`."""
    folder = locate(name) if read_plan(locate(name)) is not None else VIEWS / name
    plan = read_plan(folder)
    if plan is None:
        spec = _spec(name)
        build_view(spec)
        return Choice(folder, None, spec)
    if plan.kind != "view":
        raise InputError(f"--view {name}: {folder} holds {plan.kind}, not a view: see `augment inspect {folder}`")
    return Choice(folder, plan, ViewSpec(plan.name, plan.params))


def _spec(name: str) -> ViewSpec:
    """The view that a default folder's name stands for: `backtranslate-fr` is backtranslate with the pivot fr."""
    for view in sorted(view_names(), key=len, reverse=True):
        if name == view:
            return ViewSpec(view)
        key = view_attribute(view, "named_by")
        if key is not None and name.startswith(f"{view}-"):
            return ViewSpec(view, {key: name.removeprefix(f"{view}-")})
    raise InputError(f"no view dataset {name!r} in {VIEWS}/ and no view of that name: see `augment views`")


def plan_views(
    choices: Sequence[Choice], source: Dataset, seed: int | None, limit: int | None, execution: Execution
) -> dict[str, Dataset | ViewRun]:
    """Every view by its name: finished, or planned; a missing one is planned like an existing one of the same kind.

    Raises InputError for a view of other sentences.
    """
    twin = next((choice.plan for choice in choices if choice.plan is not None), None)
    return {choice.name: _plan_view(choice, source, seed, limit, execution, twin) for choice in choices}


def _plan_view(
    choice: Choice, source: Dataset, seed: int | None, limit: int | None, execution: Execution, twin: Plan | None
) -> Dataset | ViewRun:
    folder, spec, like = choice.folder, choice.spec, choice.plan
    if like is not None:
        if source.receipts and like.inputs[0].sha256 != source.digest:  # a dry run has counts alone
            raise InputError(
                f"{folder} was made from other sentences ({like.inputs[0].name}) than {source.path}: "
                "give those as SOURCE, or make the view again with --overwrite"
            )
        finished = finished_dataset(folder, like)
        if finished is not None:
            return finished
        seed, limit = like.seed, like.limit
    elif twin is not None and twin.name == spec.name:
        like = twin
        # The twin's revision is of its own weights.
        spec = ViewSpec(spec.name, {**{k: v for k, v in like.params.items() if k != "revision"}, **spec.params})
        seed, limit = like.seed if seed is None else seed, like.limit if limit is None else limit
    view, size = build_view(spec, execution.runtime), SHARD_ROWS if like is None else like.shard_size
    return plan_run(view, source, execution.runtime, seed=seed or 0, limit=limit, shard_size=size, out=folder)


def pair_views(
    policy: str, choices: Sequence[Choice], sentences: Dataset, seed: int | None, limit: int | None, running: Execution
) -> PairSource:
    """Make the missing views, and pair them (or the sentence and each of them) for the first `limit` sentences.

    A label of the sentences comes along. Raises InputError for views of other sentences, TwinviewsError if one failed.
    """
    views: dict[str, Dataset] = {}
    for name, view in plan_views(choices, sentences, seed, limit, running).items():
        if isinstance(view, ViewRun):
            note(f"making the missing view {name} ({view.plan.rows:,} sentences) in {view.out}/")
            note_starter(ViewSpec(view.plan.name, view.plan.params))
            view = make_run(view, running).dataset
        views[name] = view
    couples = [tuple(views)] if policy == "bsl" else [(ORIGINAL, name) for name in views or [ORIGINAL]]
    columns = ["label"] if "label" in sentences.read(0, 1).schema.names else []
    paired = Couples(sentences, views, [(one, two) for one, two in couples], columns)
    datasets = {str(each.path): each for each in (sentences, *views.values())}
    rows = sentences.rows if limit is None else min(limit, sentences.rows)
    made_by = {name: each.plan.signature or name for name, each in views.items()} | {ORIGINAL: "the sentence itself"}
    return PairSource(
        policy=policy,
        unit="sentences",
        inputs=[Input(name=name, sha256=each.digest, rows=each.rows) for name, each in datasets.items()],
        tasks=((start, min(start + TASK_ROWS, rows)) for start in range(0, rows, TASK_ROWS)),
        candidates=paired.candidates,
        about=paired.about,
        params={"view": list(views)},
        made_by={name: made_by[name] for couple in couples for name in couple},
        columns=dict.fromkeys(columns, pa.string()),
        limit=limit,
        ways=len(couples),
    )


@dataclass(frozen=True)
class Couples:
    """Sentences, their views by name, and the names that are paired; each couple makes one pair per sentence."""

    sentences: Dataset
    views: dict[str, Dataset]
    couples: Sequence[tuple[str, str]]
    columns: Sequence[str]

    def about(self, name: str) -> About:
        """The view that made a side, and the language it is in."""
        spoken = next((each.plan.params.get("source") for each in self.views.values()), None)
        if name not in self.views:
            return About(name, "identity", spoken)
        plan = self.views[name].plan
        language = plan.params.get(view_attribute(plan.name, "ends_in", "source"))
        return About(name, plan.name, spoken if language is None else language.rpartition(HOP)[2])

    def candidates(self, task: tuple[int, int]) -> Candidates:
        """The candidates of a range of sentences, those of one sentence next to each other."""
        table = self.sentences.read(*task).select(["id", "text", *self.columns])
        sentences = pa.concat_batches(table.to_batches())
        none = pa.nulls(len(sentences), pa.string())
        sides = {name: _side(sentences, name, view, task[0]) for name, view in self.views.items()}
        sides[ORIGINAL] = sentences["text"], none, none
        found = []
        for one, two in self.couples:
            (a, a_missing, a_notes), (b, b_missing, b_notes) = sides[one], sides[two]
            names = (pa.repeat(name, len(sentences)) for name in (one, two))
            pairs = dict(zip(PAIR_COLUMNS, (sentences["id"], sentences["text"], a, b, *names), strict=True))
            rows = pa.RecordBatch.from_pydict(pairs | {name: sentences[name] for name in self.columns})
            part = pa.scalar(f"{one} x {two}" if len(self.couples) > 1 else None, pa.string())
            missing = pc.coalesce(a_missing, b_missing)
            found.append(Candidates(rows, missing, pa.repeat(part, len(sentences)), (a_notes, b_notes)))
        if len(found) == 1:
            return found[0]
        order = pa.array(np.arange(len(sentences) * len(found)).reshape(len(found), -1).T.ravel())
        arrays = zip(*((each.reasons, each.parts, *each.notes) for each in found), strict=True)
        reasons, parts, *notes = (pa.concat_arrays(each).take(order) for each in arrays)
        return Candidates(pa.concat_batches([each.pairs for each in found]).take(order), reasons, parts, notes)


def _side(sentences: pa.RecordBatch, name: str, view: Dataset, start: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The view of the sentences from row `start` on: its texts, why one is missing, a note if it is the sentence."""
    stop = min(start + len(sentences), view.rows)
    table = view.read(start, stop) if start < stop else view.read(0, 1).slice(0, 0)
    lacking = pa.nulls(len(sentences) - len(table), pa.string())
    columns = (table[column].combine_chunks() for column in ("view", "status", "reason"))
    texts, statuses, reasons = (pa.concat_arrays([column, lacking]) for column in columns)
    because = pc.if_else(pc.equal(reasons.fill_null(""), ""), "", pc.binary_join_element_wise(": ", reasons, ""))
    missing = pc.binary_join_element_wise(f"{name} ", statuses, because, "")
    missing = pc.coalesce(missing, pa.scalar(f"{name} was not made for it"))
    missing = pc.if_else(texts.is_valid(), None, missing)
    return texts, missing, pc.if_else(pc.equal(statuses, "unchanged"), f"{name} left it unchanged", None)
