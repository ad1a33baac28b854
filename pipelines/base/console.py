"""What both command lines share: exit codes, notes and bars on stderr, results on stdout or as a page, `--config`."""

import io
import json
import logging
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from augment.errors import InputError, MissingExtraError, TwinviewsError, is_out_of_memory
from augment.plugins import Plugins
from augment.version import __version__
from pipelines.base import interrupt
from pipelines.base.files import WRONG_PATH
from pipelines.base.recipe import ConfigOption
from pipelines.base.templates import templates

__all__ = ["ConfigOption", "InputError", "MissingExtraError", "Plugins", "TwinviewsError"]

# Control characters, line separators, overrides of the writing direction and invisible characters, except
# those that scripts and emoji need (joiners, direction marks, tags).
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u00ad\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
MOST_ECHOED = 1_200  # characters of an error; the longest of ours that holds nobody's value has about 700
# The root of usage errors in typer's click: its own copy since 0.2x, the click package before that.
UsageError: Any = typer.BadParameter.__mro__[1]
NOTED = set[str]()
"""What `note_once` has written since the command, or else the process, began."""


class SectionedCommand(TyperCommand):
    """A command whose `--help` lists its options by panel, each with its default in brackets."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - click's own types, vendored by typer
        """Write the options by panel in order of appearance; `--help` is in the last one."""
        sections: dict[str, list[tuple[str, str]]] = {}
        params: Any = self.get_params(ctx)
        for param in params:
            if (record := param.get_help_record(ctx)) is not None:
                panel = [*sections][-1] if param.name == "help" and sections else param.rich_help_panel
                panel = panel or ("Arguments" if param.param_type_name == "argument" else "Options")
                text = re.sub(r"  \[(default: )?", " [", record[1])
                sections.setdefault(panel, []).append((record[0], text))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


class LazyGroup(TyperGroup):
    """A group of commands that are known by name and summary, and built when they run."""

    def add_command_to(self, app: typer.Typer, name: str) -> None:
        """Add the command of that name."""
        raise NotImplementedError

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
        """Replace the entry that `--help` lists with the command itself."""
        name = args[0] if args else ""
        if name in self.commands:
            single = typer.Typer(add_completion=False, rich_markup_mode=None)
            self.add_command_to(single, name)
            self.commands[name] = typer.main.get_command(single)
        return super().resolve_command(ctx, args)


def lazy_app(
    group: type[LazyGroup],
    callback: Callable[..., None],
    summaries: Mapping[str, str],
    **settings: Any,  # noqa: ANN401 - typer's
) -> typer.Typer:
    """A command line whose commands `group` builds by name.

    `callback` has the options that come before one.
    """
    context = {"max_content_width": 120, "help_option_names": ["-h", "--help"]}
    app = typer.Typer(
        cls=group,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=context,
        **settings,
    )
    app.callback()(callback)
    for name, summary in summaries.items():
        # Click would cut a help text at 45 characters.
        app.command(name, short_help=summary)(lambda: None)
    return app


def _show_version(value: bool) -> None:
    if value:
        show(f"twinviews {__version__}")
        raise typer.Exit


VersionOption = Annotated[
    bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
]


def call(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run a command line on the given arguments (none: `--help`) and return its exit code.

    0: done, 1: failed, 2: bad usage or input, 130: interrupted. A mistake is one line on stderr, a bug a
    traceback.
    """
    _quiet_libraries()
    NOTED.clear()
    message = ""
    try:
        with interrupt.raised():
            code = _run(app, arguments)
    except BaseException as error:
        code, message = _explain(error)
    if interrupt.is_interrupted() or code == interrupt.EXIT_CODE:
        interrupt.report()
        return interrupt.EXIT_CODE
    if message:
        note(f"error: {_shortened(message)}")
    return code


def _shortened(message: str) -> str:
    """An error on one line; of a long one only its two ends."""
    line = escape_control(" ".join(message.split()))
    return (
        line if len(line) <= MOST_ECHOED else f"{line[: MOST_ECHOED * 2 // 3]}… …{line[-MOST_ECHOED // 3 :]}"
    )


def _run(app: typer.Typer, arguments: Sequence[str]) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for terminals that cannot show a character
    for argument in arguments:
        printable = argument.encode(errors="surrogateescape").decode(errors="backslashreplace")
        if printable != argument:
            raise InputError(
                f"the argument '{printable}' is not UTF-8: rename the file, or write the text in UTF-8"
            )
    command = typer.main.get_command(app)
    code = command.main([*arguments] or ["--help"], prog_name=app.info.name or None, standalone_mode=False)
    sys.stdout.flush()
    return code if isinstance(code, int) else 0  # typer returns a code after Ctrl-C in a command


def _explain(error: BaseException) -> tuple[int, str]:
    """The exit code and message of an error; raises it again if it is a bug."""
    # Ctrl-C inside a library may surface as any other error.
    if interrupt.is_interrupted() or isinstance(error, KeyboardInterrupt | typer.Abort):
        return interrupt.EXIT_CODE, ""
    if isinstance(error, UsageError):
        message, context = str(error.format_message()).replace("Value error, ", ""), error.ctx
        return 2, message if context is None else f"{message.rstrip('.')}; see `{context.command_path} --help`"
    if isinstance(error, TwinviewsError):
        return 2 if isinstance(error, InputError) else 1, str(error)
    if is_out_of_memory(error):
        return 1, "out of memory: use smaller batches or a machine with more memory"
    if type(error).__module__.startswith("botocore."):  # the store no longer answers
        return 1, f"{error}: run the same command again"
    if not isinstance(error, OSError):
        raise error
    try:
        sys.stdout.flush()
    except OSError:  # Python's own flush, at exit, would be a second error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1, "" if isinstance(
            error, BrokenPipeError
        ) else f"cannot write to stdout ({error.strerror or error})"
    if isinstance(error, BrokenPipeError):
        return 1, ""
    paths = " and ".join(str(path) for path in (error.filename, error.filename2) if path is not None)
    message = f"{paths}: {error.strerror or error}" if paths else str(error)
    return 2 if paths and error.errno in WRONG_PATH else 1, message


def _quiet_libraries() -> None:
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed: the next file to be opened would get its messages
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115 - held as long as the process
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    # The Hub's client reports every retry; our own line reports the failure once.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", message="Cannot enable progress bars")
    quiet = {"HF_HUB_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false"}
    if not sys.stderr.isatty():
        quiet |= dict.fromkeys(("HF_DATASETS_DISABLE_PROGRESS_BARS", "HF_HUB_DISABLE_PROGRESS_BARS"), "1")
    for name, value in quiet.items():
        os.environ.setdefault(name, value)


def note(text: str) -> None:
    """Write one line to stderr: what the user should know but is not a result."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def note_once(text: str) -> None:
    """Write such a line unless this command, or else this process, has."""
    if text not in NOTED:
        note(text)
    NOTED.add(text)


def show(text: str) -> None:
    """Write a result to stdout, without markup."""
    sys.stdout.write(f"{text}\n")


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 file`, `2,000 files`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def show_json(value: Any) -> None:  # noqa: ANN401 - whatever json can write
    """Write a result to stdout as indented JSON, keys in their given order."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    # JSON escapes only some control characters; escaping the others keeps the text and protects the terminal.
    show(CONTROL.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text))


def escape_control(text: str) -> str:
    """A text from outside made safe to show: control and invisible characters as Python's escapes."""
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def stdout_console() -> Any:  # noqa: ANN401 - rich's Console, imported when it is used
    """Stdout for rich; unless it is a terminal, nothing is cut or wrapped, so that lines can be searched."""
    from rich.console import Console

    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else 10_000, highlight=False)


def flat(counts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Nested counts as lines: `reasons: too-long`."""
    rows: list[tuple[str, Any]] = []
    for key, value in counts.items():
        if isinstance(value, Mapping):
            rows += [(f"{key}: {name}", number) for name, number in value.items()]
        else:
            rows.append((key, value))
    return rows


def print_on(console: Any, *parts: object) -> None:  # noqa: ANN401 - rich's Console
    """Print the parts to stdout as rich renders them, without the blanks that it pads lines with."""
    with console.capture() as capture:
        console.print(*parts, sep="\n")
    sys.stdout.write(re.sub(" +$", "", capture.get(), flags=re.MULTILINE))


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Collection[str] = (),
) -> None:
    """Print a table to stdout, numbers and the columns in `right` aligned right.

    All text is plain, not markup.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cells = [list(row) for row in rows]
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for index, name in enumerate(columns):
        numeric = bool(cells) and all(isinstance(row[index], int | float | None) for row in cells)
        justify: Any = "right" if numeric or name in right else "left"
        grid.add_column(Text(escape_control(name)), justify=justify, overflow="fold")
    for row in cells:
        grid.add_row(*(Text("" if cell is None else escape_control(str(cell))) for cell in row))
    print_on(stdout_console(), grid)


def render_page(package: str, *filters: Callable[..., Any], **values: Any) -> str:  # noqa: ANN401 - anything
    """A package's template `report.html` with these values and filters; values are escaped."""

    def escaped(value: object) -> object:
        # the template's own markup is left alone
        return escape_control(value) if type(value) is str else value

    environment = templates(package, autoescape=True, finalize=escaped)
    environment.filters |= {function.__name__: function for function in filters}
    return str(environment.get_template("report.html").render(values)) + "\n"


@contextmanager
def progress(
    description: str, total: int, *, unit: str = "rows", done: int = 0, pause: float = 30
) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, or without a terminal a line every `pause` seconds.

    Yields what advances it by n.
    """
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=sys.stderr), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(description, total=total, completed=done)
        due = time.monotonic() + pause

        def advance(count: int) -> None:
            nonlocal due
            bar.advance(task, count)
            if bar.disable and time.monotonic() >= due:
                note(f"{description}: {bar.tasks[0].completed:,} of {total:,} {unit}")
                due = time.monotonic() + pause
            # A finaliser, a callback, or a library that calls `hasattr` from C may have swallowed it.
            if interrupt.is_interrupted():
                raise KeyboardInterrupt

        yield advance
