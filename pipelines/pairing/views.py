"""The views that a policy pairs, made where they are missing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augment.errors import InputError
from augment.view import ViewSpec, view_attribute, view_names
from pipelines.console import note
from pipelines.files import locate
from pipelines.folder import Dataset, finished_dataset
from pipelines.pairing.sides import Side, pairing
from pipelines.pairing.source import PairSource
from pipelines.plan import Plan, read_plan
from pipelines.views.run import SHARD_ROWS, VIEWS, Execution, make_run, note_starter, plan_run, preview_run
from pipelines.views.work import ViewRun, build_view

ORIGINAL = "original"
BSL_VIEWS = ("backtranslate-de", "backtranslate-fr")


@dataclass(frozen=True, slots=True)
class Choice:
    """A view that was asked for: its folder, the plan if there is one, which view it is, which hypothesis (from 1)."""

    folder: Path
    plan: Plan | None
    spec: ViewSpec
    hypothesis: int

    @property
    def name(self) -> str:
        """Its name in the pairs: `backtranslate-de:2`."""
        return self.folder.name + (f":{self.hypothesis}" if self.hypothesis > 1 else "")


def check_views(policy: str, views: Sequence[str]) -> list[Choice]:
    """The views that a policy pairs; each is there or can be made.

    Raises:
        InputError: Too many or too few views for the policy, or one that is not there and cannot be made.
    """
    choices = [_choice(name) for name in views or (BSL_VIEWS if policy == "bsl" else ())]
    wanted = {"bsl": 2, "self": 0}.get(policy)
    if len(choices) != wanted and not (wanted is None and choices):
        count = "1 --view, not 0 (or several)" if wanted is None else f"{wanted} --view, not {len(choices)}"
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
                f"--view {choice.name} is no translation: take translate-de or the like, or --pairs original"
            )
    return choices


def _choice(name: str) -> Choice:
    """A folder in `data/views/`, or a path; `backtranslate-de:2` is the second hypothesis of `backtranslate-de`."""
    numbered = re.fullmatch(r"(.+):([1-9]\d{0,3})", name)
    written, hypothesis = (numbered[1], int(numbered[2])) if numbered else (name, 1)
    folder = locate(written) if read_plan(locate(written)) is not None else VIEWS / written
    plan = read_plan(folder)
    if plan is None:
        spec = spec_of(written)
        build_view(spec)
        if hypothesis > 1:
            raise InputError(f"--view {name}: {folder} is not there: make it with several hypotheses first")
        return Choice(folder, None, spec, hypothesis)
    if plan.kind != "view":
        raise InputError(f"--view {name}: {folder} holds {plan.kind}, not a view: see `augment inspect {folder}`")
    return Choice(folder, plan, ViewSpec(plan.name, plan.params), hypothesis)


def spec_of(name: str) -> ViewSpec:
    """The view that a default folder's name stands for: `backtranslate-fr` is backtranslate with the pivot fr.

    Raises:
        InputError: It stands for none.
    """
    for view in sorted(view_names(), key=len, reverse=True):
        if name == view:
            return ViewSpec(view)
        key = view_attribute(view, "named_by")
        if key is not None and name.startswith(f"{view}-"):
            return ViewSpec(view, {key: name.removeprefix(f"{view}-")})
    raise InputError(f"no view dataset {name!r} in {VIEWS}/ and no view of that name: see `augment views`")


def pair_views(
    policy: str, choices: Sequence[Choice], source: Dataset, seed: int | None, limit: int | None, execution: Execution
) -> PairSource:
    """Make the missing views, and say what is paired with what.

    Raises:
        InputError: Views that do not fit the sentences.
        TwinviewsError: A view failed.
    """
    datasets: dict[Path, Dataset] = {}
    for folder, view in _plan_views(choices, source, seed, limit, execution).items():
        if isinstance(view, ViewRun):
            note(f"making the missing view {folder.name} ({view.plan.rows:,} sentences) in {folder}/")
            note_starter(ViewSpec(view.plan.name, view.plan.params))
            view = make_run(view, execution).dataset
        datasets[folder] = view
    sides = [Side(choice.name, datasets[choice.folder], choice.hypothesis) for choice in choices]
    sentence = Side(ORIGINAL)
    couples = [(sides[0], sides[1])] if policy == "bsl" else [(sentence, side) for side in sides or [sentence]]
    return pairing(policy, source, couples, limit)


def preview_views(
    choices: Sequence[Choice], source: Dataset, seed: int | None, limit: int | None, execution: Execution
) -> dict[str, Any]:
    """What `pair_views` would pair and make; nothing is written."""
    planned = _plan_views(choices, source, seed, limit, execution)
    missing = {folder.name: preview_run(view) for folder, view in planned.items() if isinstance(view, ViewRun)}
    rows = source.rows if limit is None else min(limit, source.rows)
    return {"sentences": rows, "views": [choice.name for choice in choices], "views_to_make": missing}


def _plan_views(
    choices: Sequence[Choice], source: Dataset, seed: int | None, limit: int | None, execution: Execution
) -> dict[Path, Dataset | ViewRun]:
    """Every view dataset by its folder: finished, or ready to be made, like a twin if there is one."""
    twin = next((choice.plan for choice in choices if choice.plan is not None), None)
    return {choice.folder: _plan_view(choice, source, seed, limit, execution, twin) for choice in choices}


def _plan_view(
    choice: Choice, source: Dataset, seed: int | None, limit: int | None, execution: Execution, twin: Plan | None
) -> Dataset | ViewRun:
    """A finished view of these sentences; or one to be made: as its unfinished plan says, like its twin, by default."""
    folder, spec, like = choice.folder, choice.spec, choice.plan
    if like is not None:
        if source.receipts and like.inputs[0].sha256 != source.digest:  # without, they are only counted
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
