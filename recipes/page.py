"""Write docs/recipes.md from the recipes: `python recipes/page.py`."""

from pathlib import Path
from typing import Any

import yaml

RECIPES = Path(__file__).parent
PAGE = RECIPES.parent / "docs" / "recipes.md"
ORDER = (
    "first-run",
    "documents",
    "few-labels",
    "retrieval",
    "contradiction",
    "terms",
    "llm-views",
    "words",
    "phrases",
    "entity-linking",
    "language",
    "multilingual",
    "paper-bsl",
    "paper-mirror",
    "paper-isbert",
    "paper-simcse",
    "paper-sct",
    "distil-tiny",
    "one-gpu",
    "cluster",
)
"""From the first hour to the cluster; a recipe that is not named here comes last."""

ABOUT = """# Recipes

Each is a file in `recipes/`. `python recipes/run.py recipes/NAME.yaml` runs its steps in the current folder.
`$DATA` is the folder with the benchmarks; `data_cards/` says where to get them.
"""


def load(path: Path) -> dict[str, Any]:
    """Return a recipe: title, for, needs, steps, measured, and the figure that the papers print, if they print one."""
    recipe: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return recipe


def recipes() -> list[Path]:
    """Return the recipes' files in the order of the page."""
    place = {name: number for number, name in enumerate(ORDER)}
    return sorted(RECIPES.glob("*.yaml"), key=lambda path: (place.get(path.stem, len(ORDER)), path.stem))


def section(path: Path) -> str:
    """Return a recipe's part of the page."""
    recipe = load(path)
    commands = "\n".join(f"    {step['run']}" for step in recipe["steps"])
    parts = [
        f"## {recipe['title']}",
        recipe["for"],
        f"*Needs:* {recipe['needs']}",
        f"`recipes/{path.name}`:",
        commands,
    ]
    if "papers" in recipe:
        parts.append(f"*Printed:* {recipe['papers']}")
    measured = recipe["measured"]
    if isinstance(measured, str):
        parts.append(f"*Measured:* {measured}")
    else:
        rows = "\n".join(
            f"| `{row['step']}` | {row['time']} | {row['memory']} | {row['result']} |"
            for row in measured["rows"]
        )
        table = f"| step | time | peak memory | result |\n|---|--:|--:|---|\n{rows}"
        parts += [f"*Measured* on {measured['machine']}, {measured['date']}:", table]
    return "\n\n".join(parts) + "\n"


def page() -> str:
    """Return the whole page."""
    return "\n".join([ABOUT, *map(section, recipes())])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
