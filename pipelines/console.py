"""What both command lines share: errors to exit codes, notes and bars on stderr, results on stdout, `--config`."""

import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeAlias

import typer

from augment.errors import InputError, MissingExtraError, TwinviewsError
from pipelines.recipe import parse_yaml

__all__ = [
    "Color",
    "ConfigOption",
    "InputError",
    "MissingExtraError",
    "TwinviewsError",
    "call",
    "harmless",
    "in_color",
    "note",
    "progress",
    "run",
    "show",
    "show_json",
    "show_styled",
    "table",
]

Color: TypeAlias = Literal["auto", "always", "never"]

# Keys that a saved recipe carries for its reader and that no option answers to.
RECIPE_METADATA = frozenset({"command", "made", "twinviews"})
# Control characters, line separators, what turns the direction of a line around, and invisible characters; those that
# scripts and emoji are written with (joiners, direction marks, tags) are none of them.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u00ad\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
# Root of the usage errors of typer's own click (vendored since 0.2x, the click package before that).
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def run(app: typer.Typer) -> NoReturn:
    """Run a command line on `sys.argv` and leave with its exit code: 0 done, 1 failed, 2 bad input, 130 interrupted."""
    sys.exit(call(app, sys.argv[1:]))


def call(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run a command line on the given arguments and return its exit code; no arguments means `--help`.

    Whatever a user can cause ends as one line on stderr. With `TWINVIEWS_DEBUG=1` the traceback is kept.
    """
    _quiet_libraries()
    try:
        code = typer.main.get_command(app).main(
            args=list(arguments) or ["--help"], prog_name=app.info.name or None, standalone_mode=False
        )
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _fail("interrupted; run the same command again to go on", 130)
    except typer.Abort:
        return _fail("aborted", 130)
    except UsageError as error:
        return _fail(_one_line(_usage_message(error)), 2)
    except BrokenPipeError:
        _drop_stdout()
        return 1
    except InputError as error:
        return _fail(_one_line(str(error)), 2)
    except (TwinviewsError, OSError) as error:
        if os.environ.get("TWINVIEWS_DEBUG"):
            raise
        if isinstance(error, OSError):
            _drop_stdout()
        return _fail(_one_line(str(error)), 1)
    if code == 130:  # typer turns Ctrl-C inside a command into this code
        return _fail("interrupted; run the same command again to go on", 130)
    return code if isinstance(code, int) else 0


def _drop_stdout() -> None:
    """Give up on a stdout that takes no more; Python flushes it again at exit, which would be a second error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _quiet_libraries() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    # The Hub's client reports every retry; that it failed is said once, in our own line.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    warnings.filterwarnings("ignore", message="Cannot enable progress bars")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")


def _usage_message(error: Exception) -> str:
    message = str(error.format_message()) if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    return f"{message.rstrip('.')}; see `{context.command_path} --help`" if context is not None else message


def _one_line(message: str) -> str:
    return " ".join(message.split())


def _fail(message: str, code: int) -> int:
    sys.stderr.write(f"error: {message}\n" if code != 130 else f"{message}\n")
    sys.stderr.flush()
    return code


def note(text: str) -> None:
    """Write one line to stderr: something the user should know that is no result."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def show(text: str) -> None:
    """Write a result as it is, without markup, to stdout."""
    sys.stdout.write(f"{text}\n")


def show_json(value: Any) -> None:  # noqa: ANN401 - whatever json can write
    """Write a result to stdout as indented JSON, keys in their given order."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    # JSON escapes some control characters only; as escapes the others are the same text, and do nothing to a terminal.
    sys.stdout.write(CONTROL.sub(lambda hit: hit[0] if hit[0] == "\n" else f"\\u{ord(hit[0]):04x}", text) + "\n")


def harmless(text: str) -> str:
    """A text from outside as it may be shown: control and invisible characters as Python's escapes."""
    return CONTROL.sub(lambda hit: hit[0].encode("unicode_escape").decode(), text)


def in_color(color: Color) -> bool:
    """Whether to write in colour; "auto": on a terminal, unless NO_COLOR is set (see no-color.org)."""
    if color == "auto":
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return color == "always"


def show_styled(label: str, parts: Iterable[tuple[str, str]], *, color: bool) -> None:
    """Print one labelled line to stdout, made harmless: texts in a style of rich each, or plain without `color`.

    On a terminal a long line is wrapped between words, and goes on below its own beginning.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    label = harmless(label)
    line = Text()
    for text, style in parts:
        line.append(harmless(text), style)
    if not color and not sys.stdout.isatty():
        show(label + line.plain)
        return
    system: Literal["standard"] | None = "standard" if color else None
    console = Console(file=sys.stdout, highlight=False, force_terminal=color, no_color=not color, color_system=system)
    room = max(20, console.width - cell_len(label)) if sys.stdout.isatty() else max(1, cell_len(line.plain))
    for number, part in enumerate(line.wrap(console, room) or [Text()]):
        before = label if number == 0 else " " * cell_len(label)
        console.print(Text(before).append(part), soft_wrap=True)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str | None = None,
    right: Collection[str] = (),
) -> None:
    """Print a table to stdout; numbers and the columns in `right` are set to the right, and no cell is read as markup.

    Where stdout is no terminal nothing is cut or wrapped, so the lines can be searched.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [list(row) for row in rows]
    grid = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", show_edge=False, pad_edge=False)
    for index, name in enumerate(columns):
        numeric = bool(cells) and all(isinstance(row[index], int | float) or row[index] is None for row in cells)
        grid.add_column(name, justify="right" if numeric or name in right else "left", overflow="fold")
    for row in cells:
        grid.add_row(*(Text("" if cell is None else harmless(str(cell))) for cell in row))
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 10_000, highlight=False).print(grid)


@contextmanager
def progress(
    description: str, total: int | None, *, unit: str = "rows", done: int = 0
) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, off when it is no terminal; yields the function that advances it by `n` units."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task(description, total=total, completed=done)
        yield lambda count: bar.advance(task, count)


def load_config(context: typer.Context, parameter: typer.CallbackParam, value: Path | None) -> Path | None:
    """Make a recipe file's values the defaults of the command that it was given to; flags still beat them.

    Keys are the options' names (`batch-size` or `batch_size`). A saved recipe's `command` must be this command.

    Raises:
        InputError: No such file, not a mapping, or a key that the command has no option for.
    """
    if value is None or context.resilient_parsing:
        return value
    recipe = _read_recipe(value)
    command = recipe.get("command", context.info_name)
    if command != context.info_name:
        raise InputError(
            f"{value} is a recipe of `{command}`, this is `{context.info_name}`: give it to the command it belongs to"
        )
    options = {key.replace("-", "_"): item for key, item in recipe.items() if key not in RECIPE_METADATA}
    known = {item.name: item for item in context.command.params if item.name not in (None, parameter.name, "help")}
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise InputError(
            f"{value}: no option {', '.join(map(repr, unknown))} in `{context.info_name}`; "
            f"it knows {', '.join(sorted(known))}"
        )
    present = {
        # An option that may be repeated takes a single value as a list of one.
        key: [item] if getattr(known[key], "multiple", False) and not isinstance(item, list) else item
        for key, item in options.items()
        if item is not None
    }
    context.default_map = {**(context.default_map or {}), **present}
    return value


def _read_recipe(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"no recipe file {str(path)!r}: give the path of a YAML or JSON file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the recipe {str(path)!r} ({error}): give a YAML or JSON file") from None
    try:
        recipe = parse_yaml(text)
    except ValueError as error:
        raise InputError(f"{path} is no YAML of a recipe ({error}): one `option: value` a line") from None
    if recipe is None:
        return {}
    if not isinstance(recipe, dict) or not all(isinstance(key, str) for key in recipe):
        raise InputError(f"{path} holds {type(recipe).__name__}, not a mapping: one `option: value` a line")
    return recipe


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", help="A YAML or JSON recipe with any of these options; flags beat it.", is_eager=True,
        callback=load_config, show_default=False,
    ),
]  # fmt: skip
