"""The views that a policy pairs, made where they are missing, and their pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augment.errors import InputError
from augment.view import ViewSpec, view_module, view_names
from pipelines.console import note, show, show_json, table
from pipelines.folder import Dataset, finished_dataset
from pipelines.pairing import ORIGINAL, Pairing, Pairs, Policy, Side, write_pairs
from pipelines.plan import Plan, read_plan
from pipelines.views import NAMED_BY, VIEWS, Prepared, Rows, Running, build_view, note_starter, prepare

BSL_VIEWS = ("backtranslate-de", "backtranslate-fr")


@dataclass(frozen=True, slots=True)
class PairsOptions:
    """What `build-pairs` was asked for."""

    policy: Policy
    views: Sequence[str]
    seed: int | None = None
    limit: int | None = None
    shards: int | None = None
    drop_identical: bool = False


def check_views(policy: Policy, views: Sequence[str]) -> list[str]:
    """The names of the views that a policy pairs; each is there or can be made.

    Raises:
        InputError: Too many or too few views for the policy, or one that is not there and cannot be made.
    """
    wanted = {"bsl": 2, ORIGINAL: 1, "self": 0}
    names = list(views) or (list(BSL_VIEWS) if policy == "bsl" else [])
    if len(names) != wanted[policy]:
        raise InputError(
            f"--pairs {policy} takes {wanted[policy]} --view, not {len(names)}: e.g. --view backtranslate-de"
        )
    if len(set(names)) < len(names):
        raise InputError(f"--view {names[0]} is given twice: two different views make a pair (or --pairs self)")
    for name in names:
        if read_plan(view_folder(name)) is None:
            build_view(spec_of(name), Running())
    return names


def view_folder(name: str) -> Path:
    """The folder of a view that is named by its folder in `data/views/` or by a path."""
    return Path(name) if read_plan(Path(name)) is not None else VIEWS / name


def spec_of(name: str) -> ViewSpec:
    """The view that a default folder's name stands for: `backtranslate-fr` is backtranslate with the pivot fr.

    Raises:
        InputError: It stands for none.
    """
    for view in sorted(view_names(), key=len, reverse=True):
        if name == view:
            return ViewSpec(view)
        keys = [key for key in NAMED_BY if key in view_module(view).PARAMS.model_fields]
        if keys and name.startswith(f"{view}-"):
            return ViewSpec(view, {keys[0]: name.removeprefix(f"{view}-")})
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
    if plan.inputs[0].sha256 != source.digest:
        raise InputError(
            f"{folder} was made from other sentences ({plan.inputs[0].name}) than {source.path}: "
            "give those as SOURCE, or make the view again with --overwrite"
        )
    return finished_dataset(folder, plan)


def prepare_view(name: str, source: Dataset, options: PairsOptions, running: Running, twin: Plan | None) -> Prepared:
    """A view that is to be made: as its unfinished plan says, else like its twin, else with its defaults."""
    folder = view_folder(name)
    standing = read_plan(folder)
    if standing is not None:
        rows = Rows(standing.seed or 0, standing.limit, standing.shard_size)
        return prepare(build_view(ViewSpec(standing.name, standing.params), running), source, rows, running, out=folder)
    spec = spec_of(name)
    rows = Rows(options.seed or 0, options.limit)
    if twin is not None and twin.name == spec.name:
        # The twin's revision is of its own weights.
        spec = ViewSpec(spec.name, {**{k: v for k, v in twin.params.items() if k != "revision"}, **spec.params})
        seed = twin.seed or 0 if options.seed is None else options.seed
        rows = Rows(seed, twin.limit if options.limit is None else options.limit, twin.shard_size)
    return prepare(build_view(spec, running), source, rows, running, out=folder)


def plan_sides(
    names: Sequence[str], source: Dataset, options: PairsOptions, running: Running
) -> dict[str, Dataset | Prepared]:
    """Every view by name: finished, or ready to be made."""
    found = {name: find_view(name, source) for name in names}
    plans = [dataset.plan for dataset in found.values() if dataset is not None]
    plans += [plan for name in names if (plan := read_plan(view_folder(name))) is not None]
    twin = plans[0] if plans else None
    return {
        name: dataset if dataset is not None else prepare_view(name, source, options, running, twin)
        for name, dataset in found.items()
    }


def build_pairs(
    source: Dataset, sources: Sequence[str], options: PairsOptions, running: Running, out: Path, *, overwrite: bool
) -> Pairs:
    """Make the missing views, and the pairs.

    Raises:
        InputError: Views or output that do not fit.
        TwinviewsError: A view failed, or no pair is left.
    """
    names = check_views(options.policy, options.views)
    sides = []
    for name, view in plan_sides(names, source, options, running).items():
        if isinstance(view, Prepared):
            note(f"making the missing view {name} ({view.job.plan.rows:,} sentences) in {view.job.out}/")
            note_starter(view.view)
            sides.append(Side(Path(name).name, view.make(running).dataset))
        else:
            sides.append(Side(Path(name).name, view))
    while len(sides) < 2:
        sides.insert(0, Side(ORIGINAL))
    pairing = Pairing(
        policy=options.policy,
        sentences=source,
        sides=(sides[0], sides[1]),
        options={"sources": list(sources) or None, "pairs": options.policy, "view": list(names) or None},
        limit=options.limit,
        drop_identical=options.drop_identical,
        shards=options.shards,
    )
    return write_pairs(pairing, out, overwrite=overwrite)


def preview_pairs(source: Dataset, options: PairsOptions, running: Running, out: Path) -> dict[str, Any]:
    """What `build_pairs` would do; nothing is written."""
    names = check_views(options.policy, options.views)
    sides = plan_sides(names, source, options, running)
    missing = {name: view.preview(running) for name, view in sides.items() if isinstance(view, Prepared)}
    rows = source.rows if options.limit is None else min(options.limit, source.rows)
    return {"out": str(out), "sentences": rows, "views": list(names), "views_to_make": missing}


def show_pairs(pairs: Pairs, *, as_json: bool) -> None:
    """Print how many pairs there are and what was dropped."""
    counts: Mapping[str, Any] = pairs.counts
    if as_json:
        show_json({"out": str(pairs.path), **counts, "made_now": pairs.made})
        return
    rows = [("sentences", counts["sentences"]), ("pairs", counts["pairs"])]
    rows += [(f"  dropped: {reason}", number) for reason, number in counts["dropped"].items()]
    rows += [(f"  kept: {reason}", number) for reason, number in counts["kept"].items()]
    table((str(pairs.path), "rows"), rows)
    if not pairs.made:
        show("all there already, nothing done")
