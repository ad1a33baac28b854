"""The programs accept every command that README and docs show, and those that can run here are run."""

import re
import shlex
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import NamedTuple

import pytest
from standin_llm import standin
from typed_commands import APPS, PROGRAMS, refusal

from augment.models.weights import MINILM, STARTER_ENCODER
from pipelines.base.console import call

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("data_cards/**/*.md")])
BLOCK = re.compile(r"^(?: {4}|\t)(?P<command>(?:augment|train|torchrun|python) .*)$", re.MULTILINE)
FENCED = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(?P<command>(?:augment|train) [^`\n]+(?:\n[^`\n]+)?)`")
OUTLINE = re.compile(r"^\w+ [A-Z]{4,}|[A-Z]{4,}\b.*--|\.\.\.|…|\[")
"""A form to fill in, as `train OBJECTIVE --seeds N`."""
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FOREIGN = re.compile(
    r"\bDIR\b|\bMODEL\b|torchrun|bert-base|MiniLM|opus-mt|hf:|s3://|snli_|nli\.arrow|bt\.arrow|labelled\.csv"
    r"|runs/(sct|mirror|auto|a)\b|http://|data/try"
)
"""What tests lack: benchmarks, models of the Hub or a server, several processors, and what another page makes."""
SMALL = "--limit 16 --batch-size 8 --epochs 1 --precision fp32"
MORE = {
    "augment ingest": "--overwrite",
    "augment build-pairs": "--overwrite",
    "augment rewrite": "--url URL",
    "train auto": SMALL,
    "train bsl": f"{SMALL} --predictor-warmup 1",
    "train contrastive": SMALL,
    "train mirror": SMALL,
    "train report": "--sample 40",
}
"""Options that make a command small, let it replace what an earlier command of the page made, or name a server."""


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
    with standin() as server:
        for command in (each.command for each in RUN if each.page == page):
            words = [
                found for word in shlex.split(command, comments=True) for found in sorted(glob(word)) or [word]
            ]
            more = MORE.get(" ".join(words[:2]), "").replace("URL", server.url).split()
            assert call(APPS[words[0]], [*words[1:], *more]) == 0, f"{command}: {capfd.readouterr().err}"
    for snippet in PYTHON.findall((ROOT / page).read_text(encoding="utf-8")):
        exec(compile(snippet.replace(MINILM, str(STARTER_ENCODER)), page, "exec"), {})


def test_from_a_list_to_a_verdict_takes_fifteen_lines() -> None:
    (snippet,) = PYTHON.findall((ROOT / "docs/python.md").read_text(encoding="utf-8"))
    assert len([line for line in snippet.splitlines() if line]) <= 15
