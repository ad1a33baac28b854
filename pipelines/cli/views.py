"""The subcommand of a view, with an option for every field of the view."""

import inspect
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer

from augment.errors import InputError, TwinviewsError
from augment.plugins import VIEWS
from augment.view import (
    View,
    ViewSpec,
    check_params,
    make_view,
    view_attribute,
    view_label,
    view_options,
)
from pipelines.base.console import SectionedCommand, flat, note, offline, show_json, table
from pipelines.base.files import resolve_path
from pipelines.base.options import option_parameters
from pipelines.base.recipe import parse_yaml
from pipelines.options import ViewOptions
from pipelines.storage.dataset import Dataset, check_folder
from pipelines.storage.shards import keep_pandas_away

KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY


def show_preview(preview: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what a dry run would do."""
    lists = {
        key: ", ".join(value) or "none" for key, value in preview.items() if isinstance(value, list | dict)
    }
    rows = [(key.replace("_", " "), value) for key, value in {**preview, **lists}.items()]
    show_json(preview) if as_json else table(("", "would be"), rows)


def example_of(name: str) -> str:
    """A command line for a view that can be pasted."""
    example = f"augment {name}"
    for key, field in view_options(name).items():
        value = (field.examples or ["de"])[0] if field.is_required() else field.default
        if value is not None and (field.is_required() or key == view_attribute(name, "folder_option")):
            example += f" --{key} {value}"
    return example


def add_view_command(app: typer.Typer, name: str) -> None:
    """Add the subcommand of a view; raises TwinviewsError if it names a parameter like an option of every view."""
    fields = {key: _option(key, field) for key, field in view_options(name).items()}
    sources, *shared = option_parameters(ViewOptions)
    clashes = sorted(fields.keys() & {option.name for option in (sources, *shared)})
    if clashes:
        raise TwinviewsError(
            f"view {name!r}: parameter {clashes[0]!r} is an option of every view command: rename it"
        )

    def command(**values: Any) -> None:  # noqa: ANN401 - whatever the options hold
        params = {key: value for key in fields if (value := values.pop(key)) is not None}
        option, variants = view_attribute(name, "folder_option", ""), [params]
        lists_folders = view_attribute(name, "lists_folders", True)
        if lists_folders and isinstance(value := params.get(option), str) and "," in value:
            parts = dict.fromkeys(part.strip() for part in value.split(",") if part.strip())
            if not parts:
                raise InputError(f"--{option} {value!r} names nothing: write one, or several as in de,fr")
            variants = [{**params, option: part} for part in parts]
        specs = [ViewSpec(name, check_params(name, variant).params) for variant in variants]
        _run_view_command(specs, ViewOptions(**values))

    parameters = [sources, *fields.values(), *(option.replace(kind=KEYWORD_ONLY) for option in shared)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    epilog = f"Example: {example_of(name)}"
    app.command(name, cls=SectionedCommand, help=VIEWS.summary(name), epilog=epilog)(command)


def _option(key: str, field: Any) -> inspect.Parameter:  # noqa: ANN401 - a pydantic FieldInfo
    """A field as an option; values of a type that the command line does not know are written as YAML."""
    annotation, settings = field.annotation, dict[str, Any]()
    default = inspect.Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
    is_union = get_origin(annotation) in (Union, UnionType)
    kinds = [kind for kind in (get_args(annotation) if is_union else (annotation,)) if kind is not NoneType]
    is_choice = get_origin(kinds[0]) is Literal and {*map(type, get_args(kinds[0]))} == {str}
    if len(kinds) > 1 or not (is_choice or kinds[0] in (str, int, float, bool)):
        annotation, default = str | None, default if field.is_required() else None
        settings = {"parser": _parse_option, "metavar": "YAML"}
    option = typer.Option(help=field.description, show_default=default is not None, **settings)
    return inspect.Parameter(key, KEYWORD_ONLY, default=default, annotation=Annotated[annotation, option])


def _parse_option(value: Any) -> Any:  # noqa: ANN401 - YAML, or what a recipe holds
    try:
        return parse_yaml(value) if isinstance(value, str) else value
    except ValueError:
        raise typer.BadParameter(f"{value[:60]!r} is not YAML: write it like [1, 2] or {{a: 1}}") from None


def _run_view_command(specs: Sequence[ViewSpec], options: ViewOptions) -> None:
    """Make a dataset of each view and print what became of its rows; several go to folders of their own in `out`."""
    from pipelines.sentences.ingest import sentences_for
    from pipelines.views.run import VIEWS_FOLDER, as_begun, make_run, note_starter, plan_run, preview_run

    keep_pandas_away()
    if options.address is not None and options.engine != "ray":
        raise InputError(
            f"--address {options.address} belongs to --engine ray: add it, or leave out --address"
        )
    out = None if options.out is None else resolve_path(options.out)
    if out is not None:
        check_folder(out)
    folders = [out if out and len(specs) == 1 else (out or VIEWS_FOLDER) / view_label(spec) for spec in specs]
    with offline() if options.dry_run else nullcontext():
        # First, so that a wrong pivot or a missing model is reported before anything is ingested.
        specs = specs if options.overwrite else [*map(as_begun, specs, folders)]
        views = [make_view(spec, device=options.device, batch_tokens=options.batch_tokens) for spec in specs]
        _check_running(views[0], options)
        source = sentences_for(options.sources or (), dry_run=options.dry_run)
    note_starter(views[0].spec)
    for text in views[0].notes():
        note(text)
    results = []
    for view, folder in zip(views, folders, strict=True):
        run = plan_run(view, source, options, folder)
        if options.dry_run:
            results.append(preview_run(run))
            if not options.json:
                show_preview(results[-1], as_json=False)
        else:
            start = time.monotonic()
            dataset, new_rows = make_run(run)
            results.append(_report(dataset, new_rows, time.monotonic() - start, quiet=options.json))
            if unused := view.unused(text for table in source.tables() for text in table["text"].to_pylist()):
                note(unused)
    if options.json:
        show_json(results[0] if len(results) == 1 else results)


def _check_running(view: View, options: ViewOptions) -> None:
    """Raise InputError for an option that would change nothing."""
    ignored = {
        f"--device {options.device}": options.device != "auto" and not view.runs_model,
        f"--batch-tokens {options.batch_tokens}": options.batch_tokens and not view.runs_model,
        f"--seed {options.seed}": options.seed and not view.uses_seed,
    }
    for option, is_ignored in ignored.items():
        if is_ignored:
            does = "draws nothing" if option.startswith("--seed") else "runs no model"
            raise InputError(f"{option}: {view.spec.name} {does} with these options: leave it out")


def _report(dataset: Dataset, new_rows: int, seconds: float, *, quiet: bool) -> dict[str, Any]:
    """What became of the rows of a view dataset, as JSON; printed as tables, unless `quiet`."""
    counts, total = dataset.counts, dataset.rows
    if not quiet:
        rows = flat({**counts["statuses"], "reason": counts["reasons"]})
        table(("status", "rows", "%"), [(status, n, round(100 * n / (total or 1), 1)) for status, n in rows])
        if "spans" in counts:
            table(("spans", "number"), counts["spans"].items())
        run = (
            f"made {new_rows:,} at {new_rows / seconds:,.0f} rows/s"
            if new_rows
            else "already complete, nothing done"
        )
        table(("dataset", "rows", "this run"), [(f"{dataset.path}/", total, run)])
    return {"out": str(dataset.path), **counts, "made_now": new_rows}
