"""The subcommand of a view, with an option for every field of the view's own `PARAMS`."""

import inspect
import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from augment.errors import InputError, TwinviewsError
from augment.view import ViewSpec, check_params, view_module
from pipelines.console import ConfigOption, show_json, table
from pipelines.job import SHARD_ROWS
from pipelines.run import Result
from pipelines.views import NAMED_BY, Rows, Running, build_view, note_starter, prepare, sentences_for

SourcesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SOURCE]...",
        help="Files (ingested to data/sentences) or a folder of sentences; without, data/sentences or the sample.",
        show_default=False,
    ),
]
SeedOption = Annotated[int, typer.Option(help="Run seed; each row's own seed comes from it.")]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Only the first N sentences.", show_default=False)]
WorkersOption = Annotated[int, typer.Option(min=1, help="Processes; several GPUs are dealt out to them.")]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]
BatchTokensOption = Annotated[
    int | None, typer.Option(min=1, help="Tokens in a batch, padding included.", show_default=False)
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be made and write nothing.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace an output that we wrote before.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Results as JSON.")]
SCALARS = (str, int, float, bool)


@dataclass(frozen=True)
class ViewOptions:
    """The options that every view command has."""

    sources: SourcesArgument = None
    out: Annotated[
        Path | None, typer.Option(help="Folder of the view dataset; data/views/NAME if not given.", show_default=False)
    ] = None
    seed: SeedOption = 0
    limit: LimitOption = None
    shard_size: Annotated[int, typer.Option(min=1, help="Rows in a shard, the most that a kill loses.")] = SHARD_ROWS
    workers: WorkersOption = 1
    device: DeviceOption = "auto"
    batch_tokens: BatchTokensOption = None
    dry_run: DryRunOption = False
    overwrite: OverwriteOption = False
    json: JsonOption = False
    config: ConfigOption = None


def view_summary(name: str) -> str:
    """The first line of a view module's docstring."""
    return (inspect.getdoc(view_module(name)) or "").split("\n")[0]


def view_example(name: str) -> str:
    """A command line for the view that can be pasted."""
    fields = view_module(name).PARAMS.model_fields
    named = [(key, field) for key, field in fields.items() if key in NAMED_BY]
    return f"augment {name}" + "".join(
        f" --{key} {'de' if field.is_required() else field.default or 'de'}" for key, field in named
    )


def add_view_command(app: typer.Typer, name: str) -> None:
    """Add the subcommand of one view to `app`.

    Raises:
        TwinviewsError: A parameter of the view has the name of an option that every view command has.
    """
    fields = view_module(name).PARAMS.model_fields
    params = {key: _option(key, field) for key, field in fields.items()}
    complex_keys = [key for key, field in fields.items() if not _is_simple(field.annotation)]
    shared = {
        key: item.replace(kind=item.KEYWORD_ONLY) for key, item in inspect.signature(ViewOptions).parameters.items()
    }
    clash = sorted(params.keys() & shared.keys())
    if clash:
        raise TwinviewsError(f"view {name!r}: parameter {clash[0]!r} is an option of every view command: rename it")

    def command(**values: Any) -> None:  # noqa: ANN401 - whatever the options hold
        given = {key: values.pop(key) for key in params}
        for key in complex_keys:
            given[key] = _yaml_value(key, given[key])
        model = check_params(name, {key: value for key, value in given.items() if value is not None})
        run_view_command(ViewSpec(name, model.model_dump()), ViewOptions(**values))

    sources = shared.pop("sources")
    parameters = [sources, *params.values(), *shared.values()]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {item.name: item.annotation for item in parameters}
    app.command(name, help=view_summary(name), epilog=f"Example: {view_example(name)}")(command)


def _option(key: str, field: Any) -> inspect.Parameter:  # noqa: ANN401 - a pydantic FieldInfo
    """A field as an option; what the command line has no type for is given as YAML."""
    simple = _is_simple(field.annotation)
    annotation = field.annotation if simple else str | None
    default = inspect.Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
    if not simple and default is not inspect.Parameter.empty:
        default = None
    option = typer.Option(help=field.description, show_default=default is not None)
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(key, kind, default=default, annotation=Annotated[annotation, option])


def _yaml_value(key: str, value: Any) -> Any:  # noqa: ANN401 - whatever YAML can say
    import yaml

    try:
        return yaml.safe_load(value) if isinstance(value, str) else value
    except yaml.YAMLError:
        raise InputError(f"--{key.replace('_', '-')} {value!r} is no YAML: write it like [1, 2] or {{a: 1}}") from None


def _is_simple(annotation: Any) -> bool:  # noqa: ANN401 - any type
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(annotation) if part is not types.NoneType]
        return len(parts) == 1 and _is_simple(parts[0])
    if typing.get_origin(annotation) is Literal:
        return all(isinstance(value, str) for value in typing.get_args(annotation))
    return annotation in SCALARS


def run_view_command(spec: ViewSpec, options: ViewOptions) -> None:
    """Make one view dataset and print what became of its rows."""
    running = Running(options.workers, options.device, options.batch_tokens, options.overwrite)
    rows = Rows(options.seed, options.limit, options.shard_size)
    sources = options.sources or []
    # Before anything is ingested: with a wrong pivot or missing models nothing shall be written.
    view = build_view(spec, running)
    with sentences_for(sources, dry_run=options.dry_run) as source:
        prepared = prepare(view, source, rows, running, out=options.out, sources=sources)
        note_starter(view)
        if options.dry_run:
            preview = prepared.preview(running)
            show_json(preview) if options.json else table(("", "would be"), preview.items())
            return
        result = prepared.make(running)
    show_result(result, as_json=options.json)


def show_result(result: Result, *, as_json: bool) -> None:
    """Print the rows of a view dataset by status and reason, and how fast they came."""
    counts = result.dataset.counts
    if as_json:
        rate = result.rows_per_second
        show_json(
            {
                "out": str(result.dataset.path),
                **counts,
                "made_now": result.made,
                "seconds": round(result.seconds, 3),
                "rows_per_second": None if rate is None else round(rate, 1),
            }
        )
        return
    total = result.dataset.rows or 1
    lines = [*counts["statuses"].items(), *((f"  {reason}", rows) for reason, rows in counts["reasons"].items())]
    table(("status", "rows", "%"), [(name, rows, round(100 * rows / total, 1)) for name, rows in lines])
    rate = result.rows_per_second
    speed = f"made {result.made:,} at {rate:,.0f} rows/s" if rate is not None else "all there already, nothing done"
    table(("dataset", "rows", "this run"), [(f"{result.dataset.path}/", result.dataset.rows, speed)])
