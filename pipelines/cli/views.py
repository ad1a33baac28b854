"""The subcommand of a view, with an option for every field of the view."""

import inspect
import time
from copy import copy
from dataclasses import asdict
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from augment.errors import InputError, TwinviewsError
from augment.plugins import VIEWS
from augment.view import (
    View,
    ViewSpec,
    check_params,
    make_view,
    view_class,
    view_label,
    view_options,
)
from pipelines.base.console import SectionedCommand, flat, note, show_json, table
from pipelines.base.files import resolve_path
from pipelines.base.options import checked, own_first, parameters
from pipelines.base.recipe import parse_yaml
from pipelines.options import ViewOptions
from pipelines.storage.dataset import Dataset, check_folder
from pipelines.storage.shards import keep_pandas_away


def example_of(name: str) -> str:
    """A command line for a view that can be pasted."""
    example = f"augment {name}"
    for key, field in view_options(name).items():
        value = (field.examples or ["de"])[0] if field.is_required() else field.default
        if value is not None and (field.is_required() or key == view_class(name).folder_option):
            example += f" --{key} {value}"
    return example


def add_view_command(app: typer.Typer, name: str) -> None:
    """Add the subcommand of a view.

    Raises TwinviewsError if it names a parameter like an option of every view.
    """
    own = {key: _as_typed(field) for key, field in view_options(name).items()}
    sources, *shared = parameters(own_first(ViewOptions))
    clashes = sorted(own.keys() & {option.name for option in (sources, *shared)})
    if clashes:
        raise TwinviewsError(
            f"view {name!r}: parameter {clashes[0]!r} is an option of every view command: rename it"
        )

    def command(**values: Any) -> None:  # noqa: ANN401 - whatever the options hold
        params = {key: value for key in own if (value := values.pop(key)) is not None}
        spec = ViewSpec(name, check_params(name, params).params)
        _run_view_command(spec, checked(ViewOptions, values))

    signature = inspect.Signature([sources, *parameters(own), *shared])
    command.__signature__ = signature  # type: ignore[attr-defined]
    epilog = f"Example: {example_of(name)}"
    app.command(name, cls=SectionedCommand, help=VIEWS.summary(name), epilog=epilog)(command)


def _as_typed(field: FieldInfo) -> FieldInfo:
    """A field of a view as it is typed.

    Values of a type that the command line does not know are written as YAML.
    """
    is_optional = get_origin(field.annotation) in (Union, UnionType)
    kinds = get_args(field.annotation) if is_optional else [field.annotation]
    kind: Any
    kind, *others = [kind for kind in kinds if kind is not NoneType]
    is_choice = get_origin(kind) is Literal and {*map(type, get_args(kind))} == {str}
    typed = copy(field)
    if not others and (is_choice or kind in (str, int, float, bool)):
        typed.metadata = []
        typed.annotation = kind if field.is_required() else kind | None
        return typed
    typed.metadata = [typer.Option(parser=_parse_option, metavar="YAML")]
    typed.annotation = str | None
    if not field.is_required():
        typed.default, typed.default_factory = None, None
    return typed


def _parse_option(value: Any) -> Any:  # noqa: ANN401 - YAML, or what a recipe holds
    try:
        return parse_yaml(value) if isinstance(value, str) else value
    except ValueError:
        raise typer.BadParameter(f"{value[:60]!r} is not YAML: write it like [1, 2] or {{a: 1}}") from None


def _run_view_command(spec: ViewSpec, options: ViewOptions) -> None:
    """Make the dataset of a view and print what became of its rows."""
    from pipelines.sentences.ingest import sentences_for
    from pipelines.views.run import VIEWS_FOLDER, as_begun, make_run, note_starter, plan_run

    keep_pandas_away()
    if options.address is not None and options.engine != "ray":
        raise InputError(
            f"--address {options.address} belongs to --engine ray: add it, or leave out --address"
        )
    out = None if options.out is None else resolve_path(options.out)
    if out is not None:
        check_folder(out)
    folder = out or VIEWS_FOLDER / view_label(spec)
    # First, so that a wrong pivot or a missing model is reported before anything is ingested.
    view = make_view(spec if options.overwrite else as_begun(spec, folder), **asdict(options.runtime))
    _check_running(view, options)
    source = sentences_for(options.sources or (), out)
    note_starter(view.spec)
    start = time.monotonic()
    dataset, new_rows = make_run(plan_run(view, source, options, folder))
    _report(dataset, new_rows, time.monotonic() - start, as_json=options.as_json)
    for text in view.remarks():
        note(text)


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


def _report(dataset: Dataset, new_rows: int, seconds: float, *, as_json: bool) -> None:
    """Print what became of the rows of a view dataset."""
    counts, total = dataset.counts, dataset.rows
    if as_json:
        show_json({"out": str(dataset.path), **counts, "made_now": new_rows})
        return
    rows = flat({**counts["statuses"], "reason": counts["reasons"]})
    table(("status", "rows", "%"), [(status, n, round(100 * n / (total or 1), 1)) for status, n in rows])
    rate = new_rows / seconds
    digits = 0 if rate >= 10 else 1
    run = f"made {new_rows:,} at {rate:,.{digits}f} rows/s" if new_rows else "already complete, nothing done"
    table(("dataset", "rows", "this run"), [(f"{dataset.path}/", total, run)])
