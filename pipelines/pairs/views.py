"""The views that pairs are made of: chosen by their names, planned, and made where they are missing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from augment.errors import InputError
from augment.translate.stages import HOP
from augment.view import ViewSpec, check_params, labelled_view, make_view, view_attribute, view_label
from pipelines.options import PairsOptions
from pipelines.pairs.candidates import ORIGINAL
from pipelines.pairs.filter import SideInfo
from pipelines.storage.dataset import Dataset, finished_dataset
from pipelines.storage.files import resolve_path
from pipelines.storage.plan import Plan, read_plan
from pipelines.terminal.console import counted, note
from pipelines.views import run as runs
from pipelines.views.windows import ViewRun

BSL_VIEWS = ("backtranslate-de", "backtranslate-fr")
NEGATIVE_POLICIES = ("original", "bsl", "columns")
MANY = range(1, 1_000)
VIEW_COUNTS = {"bsl": [2], "self": [0], "entailment": [0], "original": MANY, "multilingual": MANY}
"""How many views a policy pairs; the others pair any number."""


class Choice(NamedTuple):
    """A view to pair, its plan, and the plan that it is made by: its own, or that of a view of the same kind."""

    spec: ViewSpec
    plan: Plan | None
    template: Plan | None


def choose_views(policy: str, names: Sequence[str]) -> dict[Path, Choice]:
    """The views that a policy pairs, by their folders; raises InputError unless each is there or can be made."""
    views: dict[Path, tuple[ViewSpec, Plan | None]] = {}
    for name in names or (BSL_VIEWS if policy == "bsl" else ()):
        folder, spec, plan = _choose_view(name)
        if folder.name in (ORIGINAL, *(view.name for view in views)):
            raise InputError(f"--view {name}: another side is named {folder.name!r}: give another view, or rename one")
        if policy == "multilingual" and view_attribute(spec.name, "language_option", "source") == "source":
            raise InputError(f"--view {name} is not a translation: take translate-de or the like, or --pairs original")
        views[folder] = spec, plan
    if len(views) not in (counts := VIEW_COUNTS.get(policy, [len(views)])):
        number = "1 or more" if len(counts) > 1 else counts[0] or "no"
        raise InputError(f"--pairs {policy} takes {number} --view, not {len(views)}: see `augment build-pairs --help`")
    twin = next((plan for _, plan in views.values() if plan is not None), None)
    choices = {}
    for folder, (spec, plan) in views.items():
        template = plan or (twin if twin is not None and twin.name == spec.name else None)
        if plan is None:
            params = {} if template is None else {**template.params}
            params.pop("revision", None)  # it is of the twin's own weights
            spec = ViewSpec(spec.name, {**params, **spec.params})
            make_view(spec)
        choices[folder] = Choice(spec, plan, template)
    return choices


def negative_choice(choices: Mapping[Path, Choice], options: PairsOptions) -> dict[Path, Choice]:
    """The view of `--negative-view` by its folder, if any; raises InputError for one that the pairs cannot have."""
    if (name := options.negative_view) is None:
        return {}
    if options.pairs not in NEGATIVE_POLICIES or options.columns is not None:
        advice = f"it needs --pairs {', '.join(NEGATIVE_POLICIES)} of sentences"
        raise InputError(f"--negative-view {name}: {advice}, not {options.pairs}: leave it out")
    chosen = choose_views("original", [name])
    if chosen.keys() & choices.keys():
        raise InputError(f"--negative-view {name} is a --view too: a text cannot be both: give another one")
    for spec, *_ in chosen.values():
        if check_params(spec.name, spec.params).is_paraphrase:
            raise InputError(f"--negative-view {name} keeps the meaning: pair it as a --view instead")
    return chosen


def _choose_view(name: str) -> tuple[Path, ViewSpec, Plan | None]:
    """A view by its path, the name of its folder in `data/views/` (`backtranslate-fr`), or its own name."""
    folder = resolve_path(name) if read_plan(resolve_path(name)) is not None else runs.VIEWS / name
    plan = read_plan(folder)
    if plan is None:
        spec = labelled_view(name)
        folder = runs.VIEWS / view_label(spec)
        plan = read_plan(folder)
        if plan is None:
            return folder, spec, None
    if plan.kind != "view":
        raise InputError(f"--view {name}: {folder} holds {plan.kind}, not a view: see `augment inspect {folder}`")
    return folder, ViewSpec(plan.name, plan.params), plan


def plan_views(choices: Mapping[Path, Choice], source: Dataset, options: PairsOptions) -> dict[str, Dataset | ViewRun]:
    """Every view by its name, finished or planned; raises InputError for one that does not fit the sentences."""
    planned: dict[str, Dataset | ViewRun] = {}
    for folder, (spec, plan, template) in choices.items():
        # Of sentences that a dry run only counted there is no hash.
        if plan is not None and source.receipts and plan.inputs[0].sha256 != source.digest:
            problem = f"was made from other sentences ({plan.inputs[0].name}) than {source.path}"
            raise InputError(f"{folder} {problem}: give those as SOURCE, or make the view again with --overwrite")
        rows = min(options.limit or source.rows, source.rows)
        if plan is not None and plan.rows < rows:
            problem = f"was made for the first {plan.rows:,} of {rows:,} sentences"
            raise InputError(f"{folder} {problem}: give --limit {plan.rows}, or make it again with --overwrite")
        finished = finished_dataset(folder)
        if finished is not None:
            planned[folder.name] = finished
            continue
        settings = options.view_options
        if template is not None:
            size = template.shard_size
            settings = replace(settings, seed=template.seed or 0, limit=template.limit, shard_size=size)
        if plan is None:
            seed = settings.seed if options.seed is None else options.seed
            settings = replace(settings, seed=seed, limit=options.limit or settings.limit)
        view = make_view(spec, device=settings.device, batch_tokens=settings.batch_tokens)
        planned[folder.name] = runs.plan_run(view, source, settings, folder)
    seeds = {view.plan.seed for view in planned.values()}
    if options.pairs in VIEW_COUNTS and seeds and options.seed not in {None, *seeds}:
        made = " and ".join("no seed" if seed is None else f"seed {seed}" for seed in seeds)
        raise InputError(f"--seed {options.seed}: the views have {made}, and nothing else is drawn: leave it out")
    describe_sides(planned)  # raises before a view is made
    return planned


def make_views(planned: Mapping[str, Dataset | ViewRun]) -> dict[str, Dataset]:
    """The views, of which those that were only planned are made; raises TwinviewsError if one failed."""
    views: dict[str, Dataset] = {}
    for name, view in planned.items():
        if isinstance(view, ViewRun):
            note(f"making the missing view {name} ({counted(view.plan.rows, 'sentence')}) in {view.out}/")
            runs.note_starter(ViewSpec(view.plan.name, view.plan.params))
            view, _ = runs.make_run(view)
        views[name] = view
    return views


def describe_sides(views: Mapping[str, Dataset | ViewRun]) -> dict[str, SideInfo]:
    """The view that makes a side, and the language it is in, by name; raises InputError if sentences have two."""
    plans = {name: view.plan for name, view in views.items()}
    languages = {
        plan.params.get(view_attribute(plan.name, "sentence_language_option", "source")): name
        for name, plan in plans.items()
    }
    languages.pop(None, None)
    if len(languages) > 1:
        names = ", ".join(f"{name} of sentences in {language!r}" for language, name in languages.items())
        raise InputError(f"the views are of different languages ({names}): make them again with one --source")
    sentence = next(iter(languages), None)
    sides = {ORIGINAL: SideInfo(ORIGINAL, "identity", sentence)}
    for name, plan in plans.items():
        language = plan.params.get(view_attribute(plan.name, "language_option", "source"))
        language = sentence if language is None else language.rpartition(HOP)[2]
        sides[name] = SideInfo(name, plan.name, language, plan.params.get("models"))
    return sides
