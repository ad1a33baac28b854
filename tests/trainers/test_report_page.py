"""`train report`: the page of a training, and what it draws."""

import re
import shutil
import subprocess
from functools import partial
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from small_trainings import Capsys, error_line, prepared, read_log, train

from trainers.data.examples import from_text
from trainers.encoders.loading import load_for_training, save_encoder
from trainers.encoders.location import locate
from trainers.scores.pages.training import TITLES, change_of, charts
from trainers.settings import objective_names

HOSTILE = "<img src=x onerror=alert(1)> a & b \x1b[31m \u202eevil {{ 7 * 7 }} text.txt"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


report = partial(train, "report")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path, sentences: list[str]) -> Path:
    """Two runs on a file with a hostile name, and graded pairs of its sentences."""
    folder = tmp_path_factory.mktemp("pages")
    text, graded = folder / HOSTILE, folder / "graded.tsv"
    text.write_text("\n".join([*sentences, "one more"]) + "\n", encoding="utf-8")
    pairs = zip(sentences[:7], sentences[7:14], strict=True)
    graded.write_text(
        "".join(f"{one}\t{two}\t{row % 5 / 4}\n" for row, (one, two) in enumerate(pairs)), "utf-8"
    )
    for seed in (1, 2):
        training: list[object] = [
            "--text",
            text,
            "--encoder",
            tiny_bert,
            "--max-tokens",
            16,
            "--batch-size",
            8,
        ]
        training += ["--seed", seed, "--dev", graded, "--evaluations", 2, "--out", folder / f"run-{seed}"]
        assert train("mirror", *training) == 0
    return folder


@pytest.fixture(scope="module")
def page(trained: Path) -> str:
    assert report(trained / "run-1") == 0
    return (trained / "run-1" / "report.html").read_text(encoding="utf-8")


def test_a_page_is_one_file_and_what_is_not_ours_is_escaped(page: str) -> None:
    tags: list[str] = []
    named: set[str] = set()
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: (tags.append(tag), named.update(dict(attributes)))  # type: ignore
    parser.feed(page)
    assert {"script", "link", "img", "iframe"}.isdisjoint(tags)
    assert {"src", "href", "style", "onerror"}.isdisjoint(named)
    assert not re.search(r"url\(|@import|https?:|[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)
    assert page.count("<svg") == page.count("aria-label") > 0
    assert escape(r"<img src=x onerror=alert(1)> a & b \x1b[31m \u202eevil {{ 7 * 7 }} text.txt") in page


def test_all_that_is_logged_is_drawn_with_a_line_for_each_run(trained: Path, page: str) -> None:
    keys = {key for line in read_log(trained / "run-1") for key in line} - {"step", "epoch"}
    assert {"loss", "dev", "learning_rate", "alignment", "uniformity"} <= keys
    assert page.count("<polyline") == len(keys)
    both = trained / "new" / "both.html"
    assert report(trained / "run-1", trained / "run-2", "--sample", 0, "--out", both) == 0
    assert both.read_text(encoding="utf-8").count("<polyline") == 2 * len(keys)
    assert "Cosines before and after" not in both.read_text(encoding="utf-8")


def test_a_page_opens_with_what_was_trained_and_a_verdict(page: str, tiny_bert: Path) -> None:
    opening = page[page.index("<h1>") : page.index("</header>")]
    assert re.search(r"<strong>development set: -?[\d.]+ at step 0, -?[\d.]+ at step \d+</strong>", opening)
    facts = dict(re.findall(r"<dt>(.+?)</dt><dd>(.+?)</dd>", opening))
    assert facts["encoder"] == f"{tiny_bert.name}, mean pooling"
    assert facts["data"].endswith("text.txt: 49 rows")
    assert (facts["objective"], facts["seed"]) == ("mirror", "1")
    assert re.fullmatch(r"[\d.]+ s, until \d{4}-\d\d-\d\d \d\d:\d\d UTC", facts["time"])
    assert facts["command"].startswith("<code>train")


@pytest.mark.parametrize("name", objective_names())
def test_parts_of_the_loss_have_words_for_titles(
    name: str, tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    retained = {"retain": 1.0, "guide": None} if name == "contrastive" else {}
    objective, rows, _ = prepared(name, tiny_bert, sentences, **retained)
    objective.before_training(tmp_path)
    outputs = objective(**objective.collate(rows.batch(range(8))))
    assert outputs.keys() - TITLES.keys() == {"vectors"}


@pytest.mark.exhaustive
def test_a_page_written_elsewhere_finds_the_pairs_of_the_training(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    shutil.copytree(trained, tmp_path / "work")
    shutil.copytree(locate(None).folder, tmp_path / "work" / "start")
    monkeypatch.chdir(tmp_path / "work")
    given = ["--text", HOSTILE, "--encoder", "start", "--max-tokens", 16, "--batch-size", 8, "--limit", 16]
    assert train("mirror", *given, "--out", "runs/text") == 0
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert report("work/runs/text") == 0
    assert capsys.readouterr().err == ""
    assert "two sentences" in Path("work/runs/text/report.html").read_text(encoding="utf-8")


def test_only_pages_are_replaced(trained: Path, page: str, capsys: Capsys) -> None:
    assert report(trained / "run-1") == 0
    assert (trained / "run-1/report.html").read_text(encoding="utf-8") == page
    mine = trained / "mine.html"
    mine.write_text("<html>precious</html>")
    assert report(trained / "run-1", "--out", mine) == 2
    assert mine.read_text() == "<html>precious</html>"
    assert report(trained / "nothing") == 2
    for impossible in (trained / "mine.html" / "page.html", Path("/proc/page.html")):
        assert report(trained / "run-1", "--sample", 0, "--out", impossible) == 2
    assert capsys.readouterr().err.count("error:") == 4


DAMAGED = [
    *(
        (name, content)
        for name in ("recipe.json", "log.jsonl", "time.jsonl")
        for content in ("[]", "{", "null", "3", "[" * 100_000, "\xff")
    ),
]


@pytest.mark.parametrize(("name", "content"), DAMAGED)
def test_a_damaged_recipe_log_or_time_is_one_line(
    tmp_path: Path, name: str, content: str, capsys: Capsys
) -> None:
    for file in ("recipe.json", "log.jsonl"):
        (tmp_path / file).write_text('{"loss": 1, "step": 1}\n')
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    assert report(tmp_path) == 2
    assert "is damaged (" in error_line(capsys)


def test_encoder_that_was_not_moved_is_the_same_before_and_after(
    tiny_bert: Path, text_file: Path, tmp_path: Path
) -> None:
    """With another pooling before the Dense layer, and fewer tokens than the encoder can take."""
    modules = [Transformer(str(tiny_bert)), Pooling(16, "mean"), Dense(16, 6), Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(tmp_path / "start"))
    start = load_for_training(locate(str(tmp_path / "start")), "cls", 6)
    save_encoder(start, tmp_path / "run", "# card")
    recipe = {"encoder": str(tmp_path / "start"), "pooling": "cls", "max_tokens": 6, "seed": 1}
    recipe["twinviews"] = {"data_xxh64": from_text(text_file).digest()}
    found = change_of(tmp_path / "run", {**recipe, "text": str(text_file)}, 100)
    assert set(found["means"]) == {"two sentences"}
    for before, after in found["means"].values():
        assert before == pytest.approx(after, abs=1e-6)


def test_values_that_are_not_finite_are_left_out_of_a_chart() -> None:
    log = [{"step": 1, "loss": float("nan")}, {"step": 2, "loss": 3.0}, {"step": 4, "loss": 1.0}]
    (chart,) = charts([{"log": log, "last": log[-1]}])
    assert chart["curves"] == [[(2, 3.0), (4, 1.0)]]


def test_colours_have_the_contrast_of_wcag_aa(page: str) -> None:
    def contrast(*colours: str) -> float:
        parts = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        dark, light = sorted(linear @ [0.2126, 0.7152, 0.0722])
        return float((light + 0.05) / (dark + 0.05))

    schemes = [
        dict(re.findall(r"--([\w-]+): (#\w{6})", block))
        for block in re.findall(r":root \{(.*?)\}", page, re.S)
    ]
    assert len(schemes) == 2
    for colours in schemes:
        texts = [("ink", "paper"), ("quiet", "paper"), ("ink", "ours")]
        assert min(contrast(colours[one], colours[two]) for one, two in texts) >= 4.5
        assert min(contrast(colours[f"c{line}"], colours["paper"]) for line in range(6)) >= 3


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_no_page_scrolls_sideways_on_a_phone(trained: Path, page: str, tmp_path: Path) -> None:
    """In a frame of 400 pixels: the window of a headless Chromium may not be that narrow."""
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    script = "onload = () => document.title = frames[0].document.documentElement.scrollWidth"
    frame = f"<iframe src=page.html width=400 height=900 style='border:0'></iframe><script>{script}</script>"
    (tmp_path / "frame.html").write_text(frame, encoding="utf-8")
    options = [
        "--headless",
        "--no-sandbox",
        "--hide-scrollbars",
        "--allow-file-access-from-files",
        "--dump-dom",
    ]
    command = [str(CHROMIUM), *options, (tmp_path / "frame.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert re.search(r"<title>(\d+)</title>", done.stdout)[1] == "400"  # type: ignore[index]


def test_a_judged_figure_that_is_undefined_is_left_out(trained: Path, tmp_path: Path) -> None:
    """Two equal texts have the cosine 1 whatever the encoder."""
    run = shutil.copytree(trained / "run-1", tmp_path / "run")
    shutil.rmtree(run / "evaluation", ignore_errors=True)
    lines = [f"a dog {row}\ta dog {row}\t{row % 3}\n" for row in range(9)]
    Path("same.tsv").write_text("text1\ttext2\tgrade\n" + "".join(lines), encoding="utf-8")
    assert train("evaluate", run, "--judge", "same.tsv") == 0
    assert report(run) == 0
    assert "same" in (run / "report.html").read_text(encoding="utf-8")
