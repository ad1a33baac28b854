"""The programs accept every command that README and docs show, and those that can run here are run."""

import re
import shlex
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from augment.models.weights import MINILM, STARTER_ENCODER
from augment.view import Runtime
from pipelines.base.console import InputError, call
from pipelines.cli.app import build_app
from pipelines.pairs.filter import make_filter
from trainers.cli.app import app as train_app
from trainers.encoders.location import locate
from trainers.settings import Request, objective_names

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("data_cards/**/*.md")])
APPS = {"augment": build_app(), "train": train_app}
PROGRAMS = {name: typer.main.get_command(app) for name, app in APPS.items()}
BLOCK = re.compile(r"^(?: {4}|\t)(?P<command>(?:augment|train|torchrun|python) .*)$", re.MULTILINE)
FENCED = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(?P<command>(?:augment|train) [^`\n]+(?:\n[^`\n]+)?)`")
OUTLINE = re.compile(r"^\w+ [A-Z]{4,}|[A-Z]{4,}\b.*--|\.\.\.|…|\[")
"""A form to fill in, as `train OBJECTIVE --seeds N`."""
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FOREIGN = re.compile(
    r"\bDIR\b|\bMODEL\b|torchrun|bert-base|MiniLM|opus-mt|hf:|s3://|snli_|nli\.arrow|bt\.arrow|labelled\.csv"
    r"|runs/(sct|mirror|auto)"
)
"""What tests lack: benchmarks, models of the Hub, several processors, and what another page makes."""
SMALL = "--limit 16 --batch-size 8 --epochs 1 --precision fp32"
MORE = {
    "augment ingest": "--overwrite",
    "augment build-pairs": "--overwrite",
    "train auto": SMALL,
    "train bsl": f"{SMALL} --predictor-warmup 1",
    "train contrastive": SMALL,
    "train mirror": SMALL,
    "train evaluate": "--no-cache",
    "train report": "--sample 40",
}
"""Options that make a command small, or let it replace what an earlier command of the page made."""


class Shown(NamedTuple):
    """A command on a page; whole if it is in a block, to be pasted."""

    page: str
    command: str
    whole: bool


def shown_commands() -> Iterator[Shown]:
    for page in PAGES:
        if page.name in ("CHANGELOG.md", "plugins.md"):  # the commands of the latter need its package
            continue
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        name = str(page.relative_to(ROOT))
        for block in FENCED.findall(text):
            yield from (
                Shown(name, line, True) for line in block.splitlines() if re.match("augment |train ", line)
            )
        yield from (Shown(name, match["command"], True) for match in BLOCK.finditer(text))
        for match in INLINE.finditer(text):
            command = " ".join(match["command"].split())
            if not OUTLINE.search(command):
                yield Shown(name, command, False)


COMMANDS = list(dict.fromkeys(shown_commands()))
BLOCKS = [each for each in COMMANDS if each.whole and each.page not in ("docs/index.md", "docs/recipes.md")]
"""The front page of the site repeats README's, and the recipes have a test of their own."""
RUN = [each for each in BLOCKS if not FOREIGN.search(each.command)]


def test_the_pages_show_commands() -> None:
    blocks = sum(each.whole for each in COMMANDS)
    snippets = sum(
        len(PYTHON.findall((ROOT / page).read_text(encoding="utf-8"))) for page in {r.page for r in RUN}
    )
    print(f"{len(COMMANDS)} commands on {len(PAGES)} pages, {blocks} of them in blocks")
    print(
        f"{len(RUN)} of these are run, and {snippets} blocks of Python; {blocks - len(RUN)} are compared only"
    )
    assert blocks > 25
    assert len(RUN) > 15


@pytest.mark.parametrize("shown", COMMANDS, ids=lambda shown: f"{shown.page}: {shown.command[:60]}")
def test_a_command_is_one_that_the_program_takes(shown: Shown) -> None:
    for part in shlex.split(shown.command, comments=True, posix=True) and re.split("&&|[|;>]", shown.command):
        words = shlex.split(part, comments=True)
        if words[:1] == ["torchrun"] and "-m" in words:
            words = ["train", *words[words.index("trainers") + 1 :]]
        if words[:1] == ["python"] and words[1].endswith(".py"):
            assert (ROOT / words[1]).is_file(), f"{words[1]} does not exist"
        if words and words[0] in PROGRAMS:
            said = refusal(PROGRAMS[words[0]], words)
            assert said is None or (not shown.whole and re.match("Missing|Usage", said)), said


def refusal(command: Any, words: list[str]) -> str | None:  # noqa: ANN401 - click's types, vendored by typer
    """Return what is wrong with a command line; None if nothing is. Nothing is run."""
    name, arguments, parent, names = words[0], words[1:], None, []
    while True:
        try:
            parent = command.make_context(name, [*arguments], parent=parent)
            if not hasattr(command, "resolve_command") or not parent._protected_args + parent.args:
                check_values(names, parent.params)
                return None
            name, command, arguments = command.resolve_command(parent, parent._protected_args + parent.args)
            names.append(name)
        except InputError as error:
            return str(error)
        except Exception as error:
            if hasattr(error, "format_message"):
                return str(error.format_message())
            if type(error).__name__ == "Exit":
                return None
            raise


def check_values(names: list[str], values: dict[str, Any]) -> None:
    """Check what a command itself checks only when it runs; raises InputError.

    These are an objective's preset, its options, and the parameters of filters.
    """
    if names and names[-1] in objective_names() and "preset" in values:
        Request.of(names[-1], values).resolved(locate(None).pooling())
    for filter in values.get("filter") or []:
        make_filter(filter, Runtime())


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("train contrastive --preset tunde", "no preset 'tunde'"),
        ("train contrastive --temperature 0", "--temperature 0.0: input should be greater than 0"),
        ("augment build-pairs --filter chrf:most=3", "unknown parameter"),
    ],
)
def test_a_command_with_a_value_that_the_program_refuses_is_noticed(command: str, problem: str) -> None:
    words = command.split()
    assert problem in str(refusal(PROGRAMS[words[0]], words))


CHOOSING = [
    shown.command for shown in COMMANDS if shown.page == "docs/choosing.md" and shown.command[:6] == "train "
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", CHOOSING)
def test_the_commands_of_the_choice_of_trainers_run_as_typed(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a folder with sentences, and with pairs only where the page says so; a word in capitals is to be filled in."""
    monkeypatch.chdir(tmp_path)
    Path("graded.csv").write_text("text1,text2,grade\na dog,a hound,0.9\na dog,a car,0.1\n", encoding="utf-8")
    sample = (ROOT / "pipelines/sample/sentences.txt").read_text(encoding="utf-8").splitlines()
    Path("sentences.txt").write_text("\n".join(sample[:24]), encoding="utf-8")
    assert call(APPS["augment"], ["ingest", "sentences.txt"]) == 0
    Path("labelled.csv").write_text(
        "text,label\n" + "".join(f"{text.replace(',', '')},{len(text) % 2}\n" for text in sample[24:44])
    )
    Path("held-back.csv").write_text(Path("labelled.csv").read_text(encoding="utf-8"), encoding="utf-8")
    if "--preset labels" in command:
        assert call(APPS["augment"], ["ingest", "labelled.csv", "--label-column", "label", "--overwrite"]) == 0
        assert call(APPS["augment"], ["build-pairs", "--pairs", "labels"]) == 0
    if re.search("bsl|supervised|--views", command):
        assert call(APPS["augment"], ["build-pairs", "--pairs", "self"]) == 0
    files = {
        "MODEL": "starter",
        "FILE": "graded.csv",
        "runs/simcse": "starter",
        "DIR/labelled.csv": "labelled.csv",
    }
    words = [files.get(word, word) for word in shlex.split(command, comments=True)]
    assert call(APPS["train"], [*words[1:], "--dry-run"]) == 0, capfd.readouterr().err


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", sorted({"docs/python.md", *(each.page for each in RUN)}))
def test_the_blocks_of_a_page_run_one_after_the_other(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sample = (ROOT / "pipelines/sample/sentences.txt").read_text(encoding="utf-8").splitlines()
    for name in ("sentences.txt", "texts.txt"):
        Path(name).write_text("\n".join(sample[:24]), encoding="utf-8")
    Path("notes").mkdir()
    Path("notes/page.md").write_text((ROOT / "docs/pairs.md").read_text(encoding="utf-8"), encoding="utf-8")
    Path("pairs.csv").write_text(
        "en,de\nA dog runs.,Ein Hund läuft.\nIt rains.,Es regnet.\n", encoding="utf-8"
    )
    Path("faq.csv").write_text("question,answer\nWhere is it?,At the corner.\nWhen is it open?,At noon.\n")
    intents = [f"{text},{row % 4}" for row, text in enumerate(sample[:24]) if "," not in text]
    Path("intents.csv").write_text("text,intent\n" + "\n".join(intents) + "\n", encoding="utf-8")
    assert call(APPS["augment"], ["ingest", "sentences.txt"]) == 0
    assert call(APPS["augment"], ["build-pairs", "--pairs", "self"]) == 0
    for command in (each.command for each in RUN if each.page == page):
        words = [
            found for word in shlex.split(command, comments=True) for found in sorted(glob(word)) or [word]
        ]
        more = MORE.get(" ".join(words[:2]), "").split()
        assert call(APPS[words[0]], [*words[1:], *more]) == 0, f"{command}: {capfd.readouterr().err}"
    for snippet in PYTHON.findall((ROOT / page).read_text(encoding="utf-8")):
        exec(compile(snippet.replace(MINILM, str(STARTER_ENCODER)), page, "exec"), {})


def test_from_a_list_to_a_verdict_takes_fifteen_lines() -> None:
    (snippet,) = PYTHON.findall((ROOT / "docs/python.md").read_text(encoding="utf-8"))
    assert len([line for line in snippet.splitlines() if line]) <= 15
