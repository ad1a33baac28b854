"""Calls from Python give the bytes of the commands, and their errors as exceptions."""

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import datasets
import pytest
from standin_llm import write_chat_model

import pipelines
from augment import InputError, TwinviewsError, ViewResult, ViewSpec, make_views
from augment.lexicon import wordnet
from augment.view import MAX_LOADED, VIEWS, kept_view, loaded_view

SAMPLE = Path(pipelines.__file__).parent / "sample" / "sentences.txt"
SENTENCES = SAMPLE.read_text(encoding="utf-8").splitlines()[:8]
SLOW = pytest.mark.exhaustive
CALLS = [
    pytest.param("backtranslate", {"pivot": "de", "models": "starter"}, marks=SLOW),
    pytest.param("contradiction", {}, marks=SLOW),
    ("identity", {}),
    ("import-views", {"file": "views.jsonl", "by": "llm"}),
    pytest.param("mlm-fill", {"fraction": 0.3}, marks=SLOW),
    pytest.param("nlpaug", {"augmenter": "KeyboardAug"}, marks=SLOW),
    ("repeat", {"rate": 0.5}),
    pytest.param("rewrite", {"model": "chat", "temperature": 1.5}, marks=SLOW),
    ("span-mask", {"length": 4}),
    ("synonym", {"fraction": 0.3}),
    pytest.param("translate", {"to": "de", "models": "starter"}, marks=SLOW),
]


@pytest.fixture
def sentences(folder: Path) -> Path:
    """A file of sentences, one with white space around it, views of them by another program, and a chat model."""
    write_chat_model(folder / "chat")
    lines = [{"text": text, "view": text.upper()} for text in SENTENCES]
    Path("views.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    path = folder / "lines.txt"
    path.write_text("".join(f"{text}\n" for text in [f"  {SENTENCES[0]} ", *SENTENCES[1:]]), encoding="utf-8")
    return path


def need_wordnet(name: str) -> None:
    try:
        wordnet.find()
    except InputError as error:
        if name == "synonym":
            pytest.skip(str(error))


def test_every_view_is_compared() -> None:
    names = [getattr(call, "values", call)[0] for call in CALLS]
    assert {*names} == {name for name in VIEWS.usable_names() if VIEWS.entry_point(name) is None}


@pytest.mark.parametrize(("name", "options"), CALLS)
def test_a_call_gives_what_the_command_gives(
    name: str, options: dict[str, Any], augment: Callable[..., Any], sentences: Path
) -> None:
    """Wherever a text is in the list, however often, and whatever is beside it."""
    need_wordnet(name)
    uses_seed = getattr(VIEWS.module(name), "uses_seed", None) is not False and name not in (
        "identity",
        "import-views",
    )
    seed = 7 if uses_seed and name not in ("contradiction", "backtranslate", "translate") else 0
    flags = [part for key, value in options.items() for part in (f"--{key}", value)]
    assert augment(name, sentences, "--out", "made", *flags, "--seed", seed).code == 0
    rows = datasets.load_from_disk("made").to_list()
    texts = [f" {SENTENCES[0]}", *SENTENCES[:0:-1], "", SENTENCES[3]]
    views = make_views(texts, name, seed=seed, **options)
    assert views[-2] == ViewResult(None, "failed", "empty")
    assert views[-1] == views[texts.index(SENTENCES[3])]
    made = dict(zip((text.strip() for text in texts), views, strict=True))
    assert {row["text"] for row in rows} == {*SENTENCES}
    for row in rows:
        result = made[row["text"]]._asdict()
        result["edits"] = [edit._asdict() for edit in result["edits"]]
        result["view"], result["alternatives"] = result.pop("text"), [*result["alternatives"]]
        assert result == {key: row[key] for key in result}
    assert make_views(texts[:3], name, seed=seed, **options) == views[:3]


SHARED: dict[str, list[dict[str, Any]]] = {
    "nlpaug": [{"augmenter": "KeyboardAug"}, {"augmenter": "RandomWordAug"}],
    "synonym": [{"fraction": 0.3}],
}
"""Views that are also called beside another one with which they share a generator or an augmenter."""


@pytest.mark.parametrize(("name", "options"), CALLS)
def test_four_threads_get_what_one_gets(name: str, options: dict[str, Any], sentences: Path) -> None:
    need_wordnet(name)
    rounds = [options, *SHARED.get(name, [])] * 4
    expected = [make_views(SENTENCES, name, seed=0, **one) for one in rounds]
    with ThreadPoolExecutor(4) as threads:
        views = [*threads.map(lambda one: make_views(SENTENCES, name, seed=0, **one), rounds)]
    assert views == expected


def test_a_view_is_loaded_once_and_those_used_last_are_kept() -> None:
    kept_view.cache_clear()
    for _ in range(2):
        make_views(["a dog"], "repeat")
    assert kept_view.cache_info().currsize == 1
    kept = loaded_view(ViewSpec("repeat"))
    for number in range(2 * MAX_LOADED):
        make_views(["a dog"], "repeat", rate=number / 100)
        make_views(["a dog"], "repeat")
    assert kept_view.cache_info().currsize == MAX_LOADED
    assert loaded_view(ViewSpec("repeat")) is kept
    for number in range(MAX_LOADED):
        make_views(["a dog"], "repeat", rate=number / 100)
    assert loaded_view(ViewSpec("repeat")) is not kept


def test_a_kept_view_is_not_built_again(sentences: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_views(SENTENCES, "import-views", file="views.jsonl", by="llm")
    monkeypatch.setattr("augment.view.make_view", None)
    assert (
        make_views(SENTENCES[:1], "import-views", file="views.jsonl", by="llm")[0].text == SENTENCES[0].upper()
    )


def test_a_file_that_changed_is_read_again(sentences: Path) -> None:
    before = make_views(SENTENCES[:1], "import-views", file="views.jsonl", by="llm")
    Path("views.jsonl").write_text(json.dumps({"text": SENTENCES[0], "view": "Another."}), encoding="utf-8")
    after = make_views(SENTENCES[:1], "import-views", file="views.jsonl", by="llm")
    assert (before[0].text, after[0].text) == (SENTENCES[0].upper(), "Another.")


PAIR_CALLS: list[tuple[list[str], dict[str, Any], str]] = [
    (["repeat"], {}, "--pairs original --view repeat"),
    (
        ["repeat", "span-mask"],
        {"pairs": "bsl", "filter": ["length-ratio"]},
        "--pairs bsl --view repeat --view span-mask --filter length-ratio",
    ),
    ([], {"pairs": "self"}, "--pairs self"),
]


@pytest.mark.parametrize(("views", "options", "flags"), PAIR_CALLS)
def test_pairs_are_those_of_the_command(
    views: list[str], options: dict[str, Any], flags: str, augment: Callable[..., Any], sentences: Path
) -> None:
    assert augment("build-pairs", sentences, *flags.split()).code == 0
    pairs = pipelines.make_pairs([*SENTENCES, "", SENTENCES[0]], views, **options)
    assert isinstance(pairs, datasets.Dataset)
    pipelines.write_pairs(pairs, "new/pairs.arrow")
    assert Path("new/pairs.arrow").read_bytes() == Path("data/pairs.arrow").read_bytes()
    assert pipelines.read_pairs("new/pairs.arrow").to_list() == pairs.to_list()
    pipelines.write_pairs(pairs.select(range(3)), "new/pairs.arrow")
    assert pipelines.read_pairs("new/pairs.arrow").to_list() == pairs.to_list()[:3]
    with pytest.raises(InputError, match="is what a command made"):
        pipelines.write_pairs(pairs, "data/pairs.arrow")
    pipelines.write_pairs(pairs.remove_columns("id"), "new/pairs.arrow")
    assert (
        pipelines.read_pairs("new/pairs.arrow").remove_columns("id").to_list()
        == pairs.remove_columns("id").to_list()
    )


def test_views_of_pairs_take_options_and_a_seed() -> None:
    spec = ViewSpec("repeat", {"rate": 0.9})
    pairs = pipelines.make_pairs(SENTENCES, [spec], seed=3, default_filters=False)
    texts = [view.text for view in make_views(SENTENCES, "repeat", seed=3, rate=0.9)]
    assert pairs["view_b"][:] == texts
    negatives = pipelines.make_pairs(
        SENTENCES, [spec], seed=3, default_filters=False, negative_view="contradiction"
    )
    expected = [
        view.text if view.status == "ok" else None for view in make_views(SENTENCES, "contradiction", seed=3)
    ]
    assert negatives["negative"][:] == expected
    assert any(expected)


ERRORS: list[tuple[Callable[[], Any], str]] = [
    (lambda: make_views("one", "repeat"), "'one' is one text: give a list of them"),
    (lambda: make_views([3], "repeat"), "text 0 is 3: give a string"),  # type: ignore[list-item]
    (lambda: make_views(["a", "\ud800"], "repeat"), r"text 1 is '\\ud800': give a string of whole characters"),
    (lambda: make_views(["a"], "repeated"), "unknown view 'repeated'"),
    (lambda: make_views(["a"], "repeat", seed="x"), "^seed='x' is no whole number: give one$"),  # type: ignore[arg-type]
    (lambda: pipelines.make_pairs(["a"], "synonym"), "^views='synonym' is one of them: give a list$"),
    (lambda: make_views(["a"], "repeat", share=0.3), "repeat: share=0.3: unknown parameter"),
    (lambda: pipelines.make_pairs([" "], ["repeat"]), "there is no sentence to pair"),
    (lambda: pipelines.make_pairs(["a"], ["repeat"], pairs="bsl"), "^pairs bsl take 2 views, not 1"),
    (lambda: pipelines.make_pairs(["a"], pairs="labels"), "pairs='labels' needs more"),  # type: ignore[arg-type]
    (lambda: pipelines.make_pairs(["a"], ["repeat"], filter=["chrf:most=1"]), "unknown parameter"),
    (lambda: pipelines.make_pairs(["a"], ["import-views"]), "import-views: file"),
    (
        lambda: pipelines.make_pairs(["a"], ["repeat", "repeat"]),
        "^two views are named 'repeat': give each name once$",
    ),
    (
        lambda: pipelines.make_pairs(["a"], ["repeat"], negative_view="repeat"),
        "^negative view repeat is a view to pair too",
    ),
]


@pytest.mark.parametrize(("call", "problem"), ERRORS)
def test_errors_are_one_line(call: Callable[[], Any], problem: str) -> None:
    with pytest.raises(TwinviewsError, match=problem) as error:
        call()
    assert "\n" not in str(error.value)


def test_imports_load_what_is_asked_for() -> None:
    code = "import sys, augment, pipelines, trainers; assert not {'pydantic', 'numpy', 'torch'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="module 'pipelines' has no attribute 'make_pear'"):
        pipelines.make_pear  # type: ignore[attr-defined]  # noqa: B018
