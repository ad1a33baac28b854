"""A dataset as one HTML page."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from foreigners import write_stream

from pipelines.look.opened import open_path, statistics
from pipelines.look.report import report_path

Augment = Callable[..., Any]
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Parsed(HTMLParser):
    """A page's elements and text; it fails on elements that are not closed or closed in the wrong order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def made(made: Augment) -> Augment:
    Path("data/pairs.report.html").unlink()
    return made


@pytest.mark.parametrize(
    ("path", "out"),
    [
        ("data/sentences", "data/sentences.report.html"),
        ("data/views/span-mask", "data/views/span-mask.report.html"),
        ("data/pairs.arrow", "data/pairs.report.html"),
    ],
)
def test_a_report_is_one_page_that_needs_nothing_else(made: Augment, path: str, out: str) -> None:
    done = made("report", path)
    assert (done.code, done.out) == (0, f"{out} written\n")
    html = Path(out).read_text(encoding="utf-8")
    page = Parsed(html)
    assert html.startswith("<!DOCTYPE html>\n")
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(tag for tag, _ in page.elements)
    named = {name for _, attributes in page.elements for name in attributes}
    assert {"src", "href", "style", "onclick", "onload"}.isdisjoint(named)
    assert not re.search(r"url\(|@import|https?:", html)
    assert len(page.all("h1")) == 1
    assert page.all("title") == [{}]
    assert all(svg.get("aria-label") or svg.get("aria-hidden") for svg in page.all("svg"))
    assert all("scope" in cell for cell in page.all("th"))
    assert len(page.all("article")) >= 20


def test_a_report_says_what_the_statistics_say(made: Augment) -> None:
    found = statistics(open_path(Path("data/views/span-mask")))
    made("report", "data/views/span-mask", "--rows", 6)
    page = Parsed(Path("data/views/span-mask.report.html").read_text(encoding="utf-8"))
    bars = [attributes for attributes in page.all("svg") if attributes.get("class") == "histogram"]
    assert len(bars) == len(found.measures)
    drawn = sum(sum(count > 0 for count in shown.counts) for shown in found.measures.values())
    grounds = [each for each in page.all("rect") if each.get("class") == "ground"]
    assert len(page.all("rect")) == drawn + 2 * len(grounds)
    assert "view:span-mask|" in page.text
    unchanged, rows = found.shares["view equals the sentence"]
    assert f"{100 * unchanged / rows:.1f} %" in page.text
    assert "Rows with the reason too-short" in page.text
    assert "[MASK]" in page.text
    inputs = json.loads(made("inspect", "data/views/span-mask", "--json").out)["inputs"]
    assert inputs[0]["sha256"] in page.text


HOSTILE = {
    "id": ["</code><script>alert(1)</script>"] * 2,
    "text": ["<img src=x onerror=alert(1)> a & b \x1b[31m", "\u202eevil"],
    "view_a": ["<img src=y> a &amp; b", "\"quoted\" 'too'"],
    "view_b": ["</dd></dl>", "x" * 100_000],
    "view_a_name": ["<b>one</b>", "<b>two</b>"],
    "view_b_name": ['" onclick="alert(1)', "{{ 7 * 7 }}"],
    "label": ["<script>", "</style>"],
    "<u>": [0.5, 0.25],
}


def test_nothing_in_the_data_becomes_markup(augment: Augment) -> None:
    path = Path("<i>hostile.arrow")
    write_stream(path, pa.table(HOSTILE))
    assert augment("report", path).code == 0
    html = Path("<i>hostile.report.html").read_text(encoding="utf-8")
    page = Parsed(html)
    tags = {tag for tag, _ in page.elements}
    assert tags.isdisjoint({"script", "img", "b", "i", "u"})
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
    for shown in ("</code><script>alert(1)</script>", "a & b \\x1b[31m", "\\u202eevil", "{{ 7 * 7 }}", "column <u>"):
        assert shown in page.text
    assert len(html) < 60_000


def test_a_report_replaces_only_reports_of_ours(made: Augment) -> None:
    assert made("report", "data/pairs.arrow", "--dry-run").code == 0
    out = Path("data/pairs.report.html")
    assert not out.exists()
    made("report", "data/pairs.arrow")
    first = out.read_bytes()
    refused = made("report", "data/pairs.arrow", "--rows", 3)
    assert (refused.code, "data/pairs.report.html exists: choose another --out, or --overwrite it" in refused.err) == (
        2,
        True,
    )
    assert out.read_bytes() == first
    assert json.loads(made("report", "data/pairs.arrow", "--rows", 3, "--overwrite", "--json").out) == {
        "out": str(out),
        "made_now": True,
    }
    assert out.read_bytes() != first
    out.write_text("<html>precious</html>")
    for options in ([], ["--overwrite"], ["--dry-run"]):
        refused = made("report", "data/pairs.arrow", *options)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert made("report", "data/pairs.arrow", "--out", "data").code == 2
    assert out.read_text() == "<html>precious</html>"
    assert made("report", "data/pairs.arrow", "--out", "new/page.html").code == 0


def test_pairs_get_their_report_which_replaces_no_file_of_somebody_else(made: Augment) -> None:
    pairs = Path("data/pairs.arrow")
    build = ["build-pairs", "--pairs", "original", "--view", "span-mask"]
    for path, more, place in (
        (pairs, [], "pairs.report.html"),
        (Path("data/pairs"), ["--shards", 2], "pairs/report.html"),
    ):
        assert made(*build, *more).code == 0
        assert report_path(path) == Path("data") / place
        first = report_path(path).read_bytes()
        for damaged in (first.replace(b"Twinviews", b"Twinviewz", 1), first[:-1], b""):
            report_path(path).write_bytes(damaged)
            if not damaged:
                report_path(path).unlink()
            assert made(*build, *more).code == 0
            assert report_path(path).read_bytes() == first
    report_path(pairs).write_text("mine")
    again = made(*build, "--limit", 10, "--overwrite")
    assert (again.code, "no report was written" in again.err) == (0, True)
    assert report_path(pairs).read_text() == "mine"
