"""Looking into datasets: what inspect prints, and a dataset as one HTML page."""

import json
import re
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest
from foreigners import Augment, is_refused, write_pairs, write_stream

from pipelines.base.console import escape_control
from pipelines.inspection.opened import open_path, statistics
from pipelines.inspection.report import report_path


@pytest.mark.parametrize(
    ("path", "kind", "count"),
    [
        ("data/sentences", "sentences", ("kept", 60)),
        ("data/views/span-mask", "view", ("rows", 60)),
        ("data/pairs.arrow", "pairs", ("pairs", 50)),
    ],
)
def test_inspect_tells_kind_counts_and_sample(
    made: Augment, path: str, kind: str, count: tuple[str, int]
) -> None:
    seen = json.loads(made("inspect", path, "--rows", 7, "--json").out)
    assert (seen["kind"], seen["rows"], len(seen["sample"])) == (kind, count[1], 7)
    assert seen["counts"][count[0]] == count[1]
    assert len({row["id"] for row in seen["sample"]}) == 7
    shown = made("inspect", path, "--rows", 7)
    assert shown.code == 0
    assert all(row["id"] in shown.out for row in seen["sample"])


def test_inspect_has_statistics(made: Augment) -> None:
    seen = json.loads(made("inspect", "data/views/span-mask", "--sample", 10, "--json").out)
    found = seen["statistics"]
    assert (found["rows"], found["sampled"], found["measures"]["chrF, view ~ text"]["n"]) == (60, 10, 10)
    pairs = json.loads(made("inspect", "data/pairs.arrow", "--json").out)["statistics"]
    assert pairs["measures"]["chrF, a ~ text"]["mean"] == 100
    shown = made("inspect", "data/pairs.arrow", "--sample", 10).out
    assert re.search(r"chrF, b ~ a  +\d", shown)
    assert "statistics over 10 of 50 rows, drawn with seed 0" in shown


def test_rows_are_spread_evenly_or_drawn_by_a_seed(made: Augment) -> None:
    def ids(*options: object) -> list[str]:
        return [
            row["id"]
            for row in json.loads(made("inspect", "data/pairs.arrow", "--json", *options).out)["sample"]
        ]

    everything = ids("--rows", 50)
    assert ids("--rows", 5) == everything[::10]
    drawn = ids("--rows", 6, "--seed", 1)
    assert drawn == ids("--rows", 6, "--seed", 1) != ids("--rows", 6, "--seed", 2)
    assert sorted(drawn, key=everything.index) == drawn


def test_rejects_and_further_columns_are_shown(augment: Augment) -> None:
    rows, reasons = [("a dog", "one dog"), ("a cat", None)], ["too alike", "other failed"]
    done = augment(
        "inspect", write_pairs(rows, reason=reasons, chrf=[51.234, None], view=[1, 2], edits=[1, 2])
    )
    assert done.code == 0
    assert "0000000000000000  reason too alike  chrf 51.2  edits 1\n" in done.out
    assert "0000000000000001  reason other failed  edits 2\n" in done.out
    assert "column chrf" in done.out


HOSTILE = [
    ("a dog runs", "a \x1b[31mred\x1b[0m dog\x07 \x9b2J runs"),
    ("evil \u202eoverride\u202c and \u2066isolate", "line\u2028separator\r\nand\ttab"),
    ("soft\u00adhyphen", "zero\u200bwidth\ufeff"),
    ("x" * 100_000, "x" * 50_000 + " " + "y" * 50_000),
]


def test_no_control_character_of_the_data_reaches_the_terminal(augment: Augment) -> None:
    names = {"view_b_name": ["[/b]", "\x1b[2J", "other", "other"], "[/c]": ["c"] * 4}
    path = write_pairs(HOSTILE, label=["\x1b[2J", "b", "b", "b"], **names)
    assert json.loads(augment("inspect", path, "--json").out)["sample"][0]["view_b"] == HOSTILE[0][1]
    for options in ([], ["--json"]):
        done = augment("inspect", path, *options)
        assert done.code == 0
        assert {char for char in done.out if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")} == {"\n"}
    shown = augment("inspect", path).out
    assert all(text in shown for text in ("\\x1b[31mred\\x1b[0m", "  [/b]  ", "column [/c]"))


def test_scripts_and_emoji_are_shown_as_they_are() -> None:
    text = "हिन्दी नी\u200dला می\u200cخواهم \u200fא 👩‍👩‍👧 🇩🇪 👍🏽 ✔️ é 中文"
    assert escape_control(text) == text


VOID = {"meta", "link", "br", "hr", "img", "input"}


@pytest.mark.parametrize("is_plain", [False, True])
def test_a_terminal_has_colours_and_wrapped_lines(
    augment: Augment, monkeypatch: pytest.MonkeyPatch, is_plain: bool
) -> None:
    texts = ("one two three four five six seven eight nine ten eleven", "one two three 4 five")
    path = write_pairs([texts, ("狗" * 90, "猫")])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in {"COLUMNS": "60", "TERM": "xterm", **({"NO_COLOR": "1"} if is_plain else {})}.items():
        monkeypatch.setenv(name, value)
    said = augment("inspect", path).out
    assert ("\x1b[9;31mfour\x1b[0m\x1b[1;32m4\x1b[0m five" in said, "[-four-]{+4+}" in said) == (
        not is_plain,
        is_plain,
    )
    rows = re.sub(r"\x1b\[[0-9;]*m", "", said).split("0000000000000000")[1].splitlines()
    assert max(sum(1 + (unicodedata.east_asian_width(char) == "W") for char in line) for line in rows) <= 60
    assert any(line.startswith("            ") and line.strip() for line in rows)


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
def unreported(made: Augment) -> Augment:
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
def test_a_report_is_one_page_that_needs_nothing_else(unreported: Augment, path: str, out: str) -> None:
    done = unreported("report", path)
    assert (done.code, done.out) == (0, f"{out} written\n")
    html = Path(out).read_text(encoding="utf-8")
    page = Parsed(html)
    assert html.startswith("<!DOCTYPE html>\n")
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(tag for tag, _ in page.elements)
    named = {name for _, attributes in page.elements for name in attributes}
    assert {"src", "href", "style", "onclick", "onload"}.isdisjoint(named)
    assert not re.search(r"url\(|@import|https?:", html)
    assert len(page.all("article")) >= 20


def test_a_report_says_what_the_statistics_say(unreported: Augment) -> None:
    found = statistics(open_path(Path("data/views/span-mask")))
    unreported("report", "data/views/span-mask", "--rows", 6)
    page = Parsed(Path("data/views/span-mask.report.html").read_text(encoding="utf-8"))
    assert len([svg for svg in page.all("svg") if svg.get("class") == "histogram"]) == len(found.measures)
    judged = ["report", "data/views/span-mask", "--rows", 6, "--judge-encoder", "starter"]
    is_refused(unreported(*judged), "was made with other options")
    assert unreported(*judged, "--overwrite").code == 0
    html = Path("data/views/span-mask.report.html").read_text(encoding="utf-8")
    assert "rows worth keeping" in html
    changed, rows = found.shares["changed"]
    inputs = json.loads(unreported("inspect", "data/views/span-mask", "--json").out)["inputs"]
    share = f"{100 * changed / rows:.1f} %"
    for shown in ("view:span-mask|", share, "[MASK]", inputs[0]["sha256"]):
        assert shown in page.text


MARKUP = {
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
    path = write_stream(Path("<i>hostile.arrow"), pa.table(MARKUP))
    assert augment("report", path).code == 0
    html = Path("<i>hostile.report.html").read_text(encoding="utf-8")
    page = Parsed(html)
    tags = {tag for tag, _ in page.elements}
    assert tags.isdisjoint({"script", "img", "b", "i", "u"})
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
    for shown in (
        "</code><script>alert(1)</script>",
        "a & b \\x1b[31m",
        "\\u202eevil",
        "{{ 7 * 7 }}",
        "column <u>",
    ):
        assert shown in page.text
    assert len(html) < 60_000


def test_a_report_replaces_only_reports_of_ours(unreported: Augment) -> None:
    out = Path("data/pairs.report.html")
    unreported("report", "data/pairs.arrow")
    first = out.read_bytes()
    assert unreported("report", "data/pairs.arrow").code == 0
    other = unreported("report", "data/pairs.arrow", "--rows", 3)
    is_refused(other, f"{out} was made with other options (--rows 20, not 3)", "or --overwrite it")
    assert out.read_bytes() == first
    again = json.loads(unreported("report", "data/pairs.arrow", "--rows", 3, "--overwrite", "--json").out)
    assert again == {"out": str(out), "made_now": True}
    assert out.read_bytes() != first
    out.write_text("<html>precious</html>")
    is_refused(unreported("report", "data/pairs.arrow"), f"{out} is not as it was written")
    Path("data/pairs.report.html.record.json").unlink()
    for options in ([], ["--overwrite"]):
        refused = unreported("report", "data/pairs.arrow", *options)
        is_refused(refused, f"{out} was not written by this command")
    assert unreported("report", "data/pairs.arrow", "--out", "data").code == 2
    assert out.read_text() == "<html>precious</html>"
    assert unreported("report", "data/pairs.arrow", "--out", "new/page.html").code == 0


def test_a_report_of_pairs_without_a_record_is_written_once(unreported: Augment) -> None:
    Path("data/pairs.record.json").unlink()
    Path("data/pairs.report.html.record.json").unlink()
    report = ["report", "data/pairs.arrow"]
    ends = [unreported(*report, *more).out for more in ([], [], ["--rows", 3, "--overwrite"])]
    assert [end.split("html ")[1] for end in ends] == [
        "written\n",
        "exists already, nothing done\n",
        "written\n",
    ]
    is_refused(unreported(*report), "was made with other options", "or --overwrite it")


def test_pairs_get_their_report_which_replaces_no_file_of_somebody_else(unreported: Augment) -> None:
    pairs = Path("data/pairs.arrow")
    build = ["build-pairs", "--pairs", "original", "--view", "span-mask"]
    for path, more, place in (
        (pairs, [], "pairs.report.html"),
        (Path("data/pairs"), ["--shards", 2], "pairs/report.html"),
    ):
        assert unreported(*build, *more).code == 0
        assert report_path(path) == Path("data") / place
        first = report_path(path).read_bytes()
        report_path(path).unlink()
        assert unreported(*build, *more).code == 0
        assert report_path(path).read_bytes() == first
    report_path(pairs).write_text("mine")
    again = unreported(*build, "--limit", 10, "--overwrite")
    assert (again.code, "no report was written" in again.err) == (0, True)
    assert report_path(pairs).read_text() == "mine"
