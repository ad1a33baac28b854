"""The site has every page, links and files that pages name exist, and the release publishes what is built."""

import csv
import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]


def test_the_site_shows_every_page() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert sorted(re.findall(r": (\S+)$", nav, re.MULTILINE)) == sorted(
        path.name for path in ROOT.glob("docs/*.md")
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_exist(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_a_release_is_checked_and_published_without_a_token() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    used = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"(actions|pypa)/[\w-]+@\S+", each) for each in used)
    assert "secrets." not in text
    assert jobs["pypi"]["permissions"] == {"id-token": "write"}
    assert {job["needs"] for name, job in jobs.items() if name != "build"} == {"build"}
    for script in re.findall(r"(?:\./|python )(\.ci/\w+(?:\.py)?)", text):
        assert (ROOT / script).is_file()


def test_the_averages_on_the_page_are_those_of_the_file_of_scores() -> None:
    with (ROOT / "docs/comparison.csv").open(encoding="utf-8") as file:
        rows = {(row["suite"], row["set"], row["joined"]): row for row in csv.DictReader(file)}
    page = (ROOT / "docs/evaluation.md").read_text(encoding="utf-8")
    columns = {"STS, average of 7": ("sts", "average", "all"), "BLI, 6 pairs @1 *": ("bli", "average", "")}
    columns |= {"STS-B": ("sts", "STS-B", "all"), "QNLI (AUC)": ("qnli", "QNLI", "")}
    names = {"bundled encoder": "untrained", "with Mirror": "mirror", "with BSL": "bsl"}
    names["all-MiniLM-L6-v2"] = "all-MiniLM-L6-v2"
    compared = 0
    for table in re.findall(r"^\| model \|.*?\n\n", page, re.MULTILINE | re.DOTALL):
        head, _, *lines = [
            [cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()
        ]
        for model, *cells in (line for line in lines if line[0] in names):
            for heading, cell in zip(head[1:], cells, strict=True):
                if heading in columns:
                    assert cell == rows[columns[heading]][names[model]]
                    compared += 1
    assert compared == 16


REFERENCE = re.findall(
    r"^::: (\S+)\n +options:\n +members: \[(.*)\]$", (ROOT / "docs/reference.md").read_text(), re.MULTILINE
)


@pytest.mark.parametrize(("name", "members"), REFERENCE, ids=[name for name, _ in REFERENCE])
def test_the_reference_names_documented_parts_whose_examples_hold(name: str, members: str) -> None:
    module = import_module(name)
    for member in members.split(", "):
        assert inspect.getdoc(getattr(module, member)), f"{name}.{member} has no docstring"
    assert doctest.testmod(module).failed == 0


def test_the_reference_has_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for name, _ in REFERENCE for test in finder.find(import_module(name)) if test.examples]
    assert len(examples) >= 6


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_folder_of_code_is_named() -> None:
    named = set(re.findall(r"^\| `([a-z_/]+)/` \|", PAGE, re.MULTILINE))
    packages = ("augment", "pipelines", "trainers")
    there = {str(path.parent.relative_to(ROOT)) for each in packages for path in (ROOT / each).rglob("*.py")}
    assert named == there


def test_every_file_that_is_named_exists() -> None:
    files = re.findall(r"\b((?:augment|pipelines|trainers)/[\w/]+\.py)\b", PAGE)
    assert len(files) > 10
    for file in files:
        assert list(ROOT.glob(file.replace("NAME", "*"))), f"{file} does not exist"
