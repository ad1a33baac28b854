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
from pipelines.filter import is_round_trip
from pipelines.folder import Dataset, finished_dataset
from pipelines.pairing.sides import ORIGINAL, Pairing, Side, pairing
from pipelines.pairing.source import ViewPolicy
from pipelines.plan import Plan, read_plan
from pipelines.views.run import SHARD_ROWS, VIEWS, Execution, make_run, note_starter, plan_run, preview_run
from pipelines.views.work import ViewRun, build_view

BSL_VIEWS = ("backtranslate-de", "backtranslate-fr")


@dataclass(frozen=True, slots=True)
class Choice:
    """A view that was asked for: the name or path of its dataset, which view it is, which hypothesis (from 1)."""

    folder: str
    view: str
    hypothesis: int = 1

    @property
    def name(self) -> str:
        """Its name in the pairs: `backtranslate-de:2`."""
        return Path(self.folder).name + (f":{self.hypothesis}" if self.hypothesis > 1 else "")


def check_views(policy: ViewPolicy, views: Sequence[str]) -> list[Choice]:
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
    names = [ORIGINAL, *(choice.name for choice in choices)]
    double = next((name for name in names if names.count(name) > 1), None)
    if double == ORIGINAL:
        raise InputError(f"--view {ORIGINAL} is the name of the sentence itself: give the folder another name")
    if double is not None:
        raise InputError(f"--view {double} is given twice: two different views make a pair (or --pairs self)")
    for choice in choices:
        if policy == "multilingual" and view_attribute(choice.view, "ends_in", "source") == "source":
            raise InputError(
                f"--view {choice.name} is no translation: take translate-de or the like, or --pairs original"
            )
    return choices


def _choice(name: str) -> Choice:
    """`backtranslate-de:2` is the second hypothesis of `backtranslate-de`."""
    numbered = re.fullmatch(r"(.+):([1-9]\d{0,3})", name)
    folder, hypothesis = (numbered[1], int(numbered[2])) if numbered else (name, 1)
    plan = read_plan(view_folder(folder))
    if plan is not None:
        return Choice(folder, plan.name, hypothesis)
    spec = spec_of(folder)
    build_view(spec)
    if hypothesis > 1:
        raise InputError(
            f"--view {name}: {view_folder(folder)} is not there, and its defaults give one hypothesis: "
            f"make it with several first, see `augment {spec.name} --help`"
        )
    return Choice(folder, spec.name)


def default_filters(policy: ViewPolicy, views: Sequence[str], filters: Sequence[str]) -> list[str]:
    """The filters that need not be asked for: back-translations must be paraphrases; not where they are given."""
    given = any(written.partition(":")[0] == "paraphrase" for written in filters)
    has_round_trips = any(is_round_trip(choice.view) for choice in check_views(policy, views))
    return ["paraphrase"] if has_round_trips and not given else []


def view_folder(name: str) -> Path:
    """The folder of a view that is named by its folder in `data/views/` or by a path."""
    return locate(name) if read_plan(locate(name)) is not None else VIEWS / name


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


def find_view(name: str, source: Dataset) -> Dataset | None:
    """A finished view dataset of these sentences; None if it is still to be made.

    Raises:
        InputError: It is one of other sentences, or no view dataset.
    """
    folder = view_folder(name)
    plan = read_plan(folder)
    if plan is None:
        return None
    if plan.kind != "view":
        raise InputError(f"--view {name}: {folder} holds {plan.kind}, not a view: see `augment inspect {folder}`")
    if source.receipts and plan.inputs[0].sha256 != source.digest:  # without, they are only counted
        raise InputError(
            f"{folder} was made from other sentences ({plan.inputs[0].name}) than {source.path}: "
            "give those as SOURCE, or make the view again with --overwrite"
        )
    return finished_dataset(folder, plan)


def prepare_view(
    name: str, source: Dataset, seed: int | None, limit: int | None, execution: Execution, twin: Plan | None
) -> ViewRun:
    """A view that is to be made: as its unfinished plan says, else like its twin, else with its defaults."""
    folder = view_folder(name)
    like = read_plan(folder)
    if like is not None:
        spec, seed, limit = ViewSpec(like.name, like.params), like.seed, like.limit
    else:
        spec = spec_of(name)
        if twin is not None and twin.name == spec.name:
            like = twin
            # The twin's revision is of its own weights.
            spec = ViewSpec(spec.name, {**{k: v for k, v in like.params.items() if k != "revision"}, **spec.params})
            seed, limit = like.seed if seed is None else seed, like.limit if limit is None else limit
    view, size = build_view(spec, execution.runtime), SHARD_ROWS if like is None else like.shard_size
    return plan_run(view, source, execution.runtime, seed=seed or 0, limit=limit, shard_size=size, out=folder)


def plan_views(
    choices: Sequence[Choice], source: Dataset, seed: int | None, limit: int | None, execution: Execution
) -> dict[str, Dataset | ViewRun]:
    """Every view dataset by the name or path that was given: finished, or ready to be made."""
    names = list(dict.fromkeys(choice.folder for choice in choices))
    found = {name: find_view(name, source) for name in names}
    plans = [dataset.plan for dataset in found.values() if dataset is not None]
    plans += [plan for name in names if (plan := read_plan(view_folder(name))) is not None]
    twin = plans[0] if plans else None
    return {
        name: dataset if dataset is not None else prepare_view(name, source, seed, limit, execution, twin)
        for name, dataset in found.items()
    }


def pair_views(
    policy: ViewPolicy, views: Sequence[str], source: Dataset, seed: int | None, limit: int | None, execution: Execution
) -> Pairing:
    """Make the missing views, and say what is paired with what.

    Raises:
        InputError: Views that do not fit the policy or the sentences.
        TwinviewsError: A view failed.
    """
    choices = check_views(policy, views)
    datasets: dict[str, Dataset] = {}
    for name, view in plan_views(choices, source, seed, limit, execution).items():
        if isinstance(view, ViewRun):
            note(f"making the missing view {name} ({view.plan.rows:,} sentences) in {view.out}/")
            note_starter(ViewSpec(view.plan.name, view.plan.params))
            datasets[name] = make_run(view, execution).dataset
        else:
            datasets[name] = view
    sides = [Side(choice.name, datasets[choice.folder], choice.hypothesis) for choice in choices]
    sentence = Side(ORIGINAL)
    couples = ((sides[0], sides[1]),) if policy == "bsl" else tuple((sentence, side) for side in sides or [sentence])
    return pairing(policy, source, couples, limit)


def preview_views(
    policy: ViewPolicy, views: Sequence[str], source: Dataset, seed: int | None, limit: int | None, execution: Execution
) -> dict[str, Any]:
    """What `pair_views` would pair and make; nothing is written."""
    choices = check_views(policy, views)
    planned = plan_views(choices, source, seed, limit, execution)
    missing = {name: preview_run(view) for name, view in planned.items() if isinstance(view, ViewRun)}
    rows = source.rows if limit is None else min(limit, source.rows)
    return {"sentences": rows, "views": [choice.name for choice in choices], "views_to_make": missing}
