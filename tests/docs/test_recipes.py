"""Every recipe is complete, the programs accept it, and its page shows it as it is in its file."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.base.console import call
from pipelines.cli.app import build_app
from recipes.page import ORDER, PAGE, load, page, recipes
from recipes.run import rehearse

KEYS = {"title", "for", "needs", "steps", "measured"}
COLUMNS = {"step", "time", "memory", "result"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with every kind of input that the recipes for the bundled models read."""
    folder = tmp_path_factory.mktemp("recipes")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("DATA", str(folder / "nowhere"))
        notes = folder / "notes"
        notes.mkdir()
        for source in PAGE.parent.glob("[pt]*.md"):
            shutil.copy(source, notes)
        for made in (["ingest", "notes/pairs.md", "--split", "sentences"], ["build-pairs", "--pairs", "self"]):
            assert call(build_app(), made) == 0
        for name in ("sentences.txt", "names.txt", "terms.txt", "nli.txt"):
            shutil.copy("notes/pairs.md", name)
        Path("paraphrases.jsonl").write_text(
            '{"text": "A dog runs.", "view": "A dog is running."}\n', encoding="utf-8"
        )
        yield folder


def test_the_page_orders_every_recipe() -> None:
    assert [path.stem for path in recipes()] == list(ORDER)


@pytest.mark.parametrize("path", recipes(), ids=lambda path: path.stem)
def test_a_recipe_is_complete_and_says_what_was_measured(path: Path) -> None:
    recipe = load(path)
    assert set(recipe) - {"papers"} == KEYS
    assert all(set(step) <= {"run", "reads"} for step in recipe["steps"])
    if isinstance(recipe["measured"], str):
        assert recipe["measured"].startswith("not run here")
    else:
        assert set(recipe["measured"]) == {"machine", "date", "rows"}
        assert all(set(row) == COLUMNS for row in recipe["measured"]["rows"])
        named = {row["step"] for row in recipe["measured"]["rows"]}
        assert all(any(name in step["run"] for step in recipe["steps"]) for name in named)


@pytest.mark.parametrize("path", recipes(), ids=lambda path: path.stem)
def test_the_programs_take_every_step(path: Path, inputs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = []
    for step in load(path)["steps"]:
        if " ingest " in step["run"]:  # data/sentences is there already
            step["run"] += " --out elsewhere"
        try:
            said.append(rehearse(step))
        except SystemExit:
            pytest.fail(f"{step['run']}: {capfd.readouterr().err}")
    print(f"{path.stem}: {sum(line.startswith('dry run') for line in said)} of {len(said)} steps in a dry run")


@pytest.mark.parametrize("step", ["train bsl --momentun 1", "augment translate --to", "augment nothing"])
def test_a_step_that_no_program_takes_is_refused(step: str) -> None:
    with pytest.raises(SystemExit):
        rehearse({"run": step, "reads": ["nowhere"]})


@pytest.mark.exhaustive
def test_trainings_of_real_models_pass_a_dry_run_with_the_bundled_one(inputs: Path) -> None:
    """Programs check presets and values after the options, once they have a model."""
    done = 0
    for path in recipes():
        for step in load(path)["steps"]:
            hub = [
                source.removeprefix("hub:") for source in step.get("reads", []) if source.startswith("hub:")
            ]
            line = (
                step["run"].replace(" --dev stsb-dev --dev-data $DATA", "").replace("--views data/pairs ", " ")
            )
            line = line.replace(" --evaluations 125", "")
            for name in hub:
                line = line.replace(name, "starter")
            if hub and "--encoder" in line:
                rehearse({"run": line.replace("wiki1m_for_simcse.txt", "sentences.txt")})
                done += 1
    assert done >= 10


def test_the_page_is_made_from_the_recipes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python recipes/page.py"
