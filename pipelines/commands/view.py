"""The subcommand of a view, with an option for every field of the view's own `PARAMS`."""

import inspect
import types
import typing
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from augment.errors import InputError, TwinviewsError
from augment.view import Runtime, ViewSpec, check_params, view_attribute, view_module, view_options
from pipelines.console import ConfigOption, show_json, table
from pipelines.files import locate
from pipelines.offline import offline
from pipelines.recipe import parse_yaml
from pipelines.views.run import (
    SHARD_ROWS,
    EngineName,
    Execution,
    Result,
    make_run,
    note_starter,
    plan_run,
    preview_run,
    view_label,
)
from pipelines.views.sentences import sentences_for
from pipelines.views.work import build_view

SourcesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SOURCE]...",
        help="Files (ingested to data/sentences) or a folder of sentences; without, data/sentences or the sample.",
        show_default=False,
    ),
]
# Beyond it lie numbers that no library takes.
MOST = 10**18
SeedOption = Annotated[int, typer.Option(min=-MOST, max=MOST, help="Run seed; each row's own seed comes from it.")]
LimitOption = Annotated[
    int | None, typer.Option(min=1, max=MOST, help="Only the first N sentences.", show_default=False)
]
WorkersOption = Annotated[int, typer.Option(min=1, max=MOST, help="Processes; several GPUs are dealt out to them.")]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]
BatchTokensOption = Annotated[
    int | None, typer.Option(min=1, max=MOST, help="Tokens in a batch, padding included.", show_default=False)
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be made and write nothing.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace an output that we wrote before.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Results as JSON.")]
NOTHING = "all there already, nothing done"
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
    shard_size: Annotated[int, typer.Option(min=1, max=MOST, help="Rows in a shard, what is committed at once.")] = (
        SHARD_ROWS
    )
    workers: WorkersOption = 1
    device: DeviceOption = "auto"
    batch_tokens: BatchTokensOption = None
    engine: Annotated[EngineName, typer.Option(help="Where workers run: on this machine, or on a Ray cluster.")] = (
        "local"
    )
    address: Annotated[
        str | None,
        typer.Option(help="The Ray cluster; the one that runs here, or a new one, if not given.", show_default=False),
    ] = None
    profile: Annotated[bool, typer.Option("--profile", help="Print seconds by stage on stderr.")] = False
    dry_run: DryRunOption = False
    overwrite: OverwriteOption = False
    json: JsonOption = False
    config: ConfigOption = None


def view_summary(name: str) -> str:
    """The first line of a view module's docstring."""
    return (inspect.getdoc(view_module(name)) or "").split("\n")[0]


def view_example(name: str) -> str:
    """A command line for the view that can be pasted."""
    named_by = view_attribute(name, "named_by")
    shown = [f"augment {name}"]
    for key, field in view_options(name).items():
        if field.is_required() or key == named_by:
            value = field.examples[0] if field.examples else field.default if not field.is_required() else None
            shown.append(f"--{key} {value or 'de'}")
    return " ".join(shown)


def add_view_command(app: typer.Typer, name: str) -> None:
    """Add the subcommand of one view to `app`.

    Raises:
        TwinviewsError: A parameter of the view has the name of an option that every view command has.
    """
    fields = view_options(name)
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
        specs = [
            ViewSpec(
                name, check_params(name, {key: value for key, value in one.items() if value is not None}).model_dump()
            )
            for one in _each(given, view_attribute(name, "named_by"))
        ]
        run_view_command(specs, ViewOptions(**values))

    sources = shared.pop("sources")
    parameters = [sources, *params.values(), *shared.values()]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {item.name: item.annotation for item in parameters}
    app.command(name, help=view_summary(name), epilog=f"Example: {view_example(name)}")(command)


def _each(given: Mapping[str, Any], key: str | None) -> list[dict[str, Any]]:
    """The parameters of each view that is asked for: `--pivot de,fr` asks for two."""
    listed = given.get(key) if key is not None else None
    if key is None or not isinstance(listed, str) or "," not in listed:
        return [dict(given)]
    names = list(dict.fromkeys(part.strip() for part in listed.split(",") if part.strip()))
    if not names:
        raise InputError(f"--{key} {listed!r} names nothing: write one, or several as in de,fr")
    return [{**given, key: part} for part in names]


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
    try:
        return parse_yaml(value) if isinstance(value, str) else value
    except ValueError:
        raise InputError(
            f"--{key.replace('_', '-')} {value[:60]!r} is no YAML: write it like [1, 2] or {{a: 1}}"
        ) from None


def _is_simple(annotation: Any) -> bool:  # noqa: ANN401 - any type
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(annotation) if part is not types.NoneType]
        return len(parts) == 1 and _is_simple(parts[0])
    if typing.get_origin(annotation) is Literal:
        return all(isinstance(value, str) for value in typing.get_args(annotation))
    return annotation in SCALARS


def run_view_command(specs: Sequence[ViewSpec], options: ViewOptions) -> None:
    """Make a dataset of each view and print what became of its rows; `out` holds several in folders of their own."""
    if options.address is not None and options.engine != "ray":
        raise InputError(f"--address {options.address} is a Ray cluster's: add --engine ray, or leave it out")
    runtime = Runtime(options.device, options.batch_tokens)
    execution = Execution(runtime, options.workers, options.engine, options.address, options.overwrite, options.profile)
    sources = options.sources or []
    cut: dict[str, Any] = {"seed": options.seed, "limit": options.limit, "shard_size": options.shard_size}
    out = None if options.out is None else locate(options.out)
    shown = []
    with offline() if options.dry_run else nullcontext():
        # Before anything is ingested: with a wrong pivot or missing models nothing shall be written.
        views = [build_view(spec, runtime) for spec in specs]
        source = sentences_for(sources, dry_run=options.dry_run)
    note_starter(views[0].spec)
    for view in views:
        folder = out / view_label(view.spec) if out is not None and len(views) > 1 else out
        run = plan_run(view, source, runtime, **cut, out=folder, names=sources)
        if options.dry_run:
            shown.append(preview_run(run, overwrite=options.overwrite))
            if not options.json:
                table(("", "would be"), shown[-1].items())
        else:
            result = make_run(run, execution)
            shown.append(result_facts(result))
            if not options.json:
                show_result(result)
    if options.json:
        show_json(shown[0] if len(shown) == 1 else shown)


def result_facts(result: Result) -> dict[str, Any]:
    """What became of the rows of a view dataset, as JSON."""
    through = {"through": result_facts(result.through)} if result.through else {}
    seconds = result.seconds + (through["through"]["seconds"] if through else 0)
    return {
        "out": str(result.dataset.path),
        **result.dataset.counts,
        "made_now": result.made,
        "seconds": round(seconds, 3),
        "rows_per_second": round(result.made / seconds, 1) if result.made else None,
        **through,
    }


def show_result(result: Result) -> None:
    """Print the rows of a view dataset by status and reason, and how fast they came."""
    counts = result.dataset.counts
    total = result.dataset.rows or 1
    lines = [*counts["statuses"].items(), *((f"reason: {reason}", rows) for reason, rows in counts["reasons"].items())]
    table(("status", "rows", "%"), [(name, rows, round(100 * rows / total, 1)) for name, rows in lines])
    if "spans" in counts:
        table(("spans", "number"), counts["spans"].items())
    runs = [each for each in (result.through, result) if each is not None]
    done = [f"made {each.made:,} at {each.made / each.seconds:,.0f} rows/s" if each.made else NOTHING for each in runs]
    sizes = [(f"{each.dataset.path}/", each.dataset.rows, what) for each, what in zip(runs, done, strict=True)]
    table(("dataset", "rows", "this run"), sizes)
