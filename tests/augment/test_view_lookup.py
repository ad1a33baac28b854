"""Views by name with their options, right and wrong, devices and batches, and views made elsewhere."""

import json
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from samples import refused

from augment.models.device import pack, resolve_device
from augment.view import View, ViewResult, ViewSpec, check_params, make_view, row_id, row_seed, view_class


def spec_of(name: str, **params: float) -> ViewSpec:
    return make_view(ViewSpec(name, params)).spec


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (ViewSpec("identity"), "view:identity|v:0.1.0"),
        (spec_of("repeat"), "view:repeat|candidates:1|diverse:false|min_meaning:0.0|rate:0.32|v:0.1.0"),
        (
            spec_of("span-mask", length=3),
            "view:span-mask|candidates:1|diverse:false|length:3|min_meaning:0.0|unit:character|v:0.1.0",
        ),
        (ViewSpec("x", {"b": 2, "a": "beam:4", "c": None, "d": True}), "view:x|a:beam:4|b:2|d:true|v:0.1.0"),
        (ViewSpec("x", {"models": "/here", "revision": "9f3"}), "view:x|rev:9f3|v:0.1.0"),
        (ViewSpec("x", {"models": "starter"}), "view:x|models:starter|v:0.1.0"),
        (ViewSpec("x", {"a": "1|b:2"}), "view:x|a:1%7Cb:2|v:0.1.0"),
    ],
)
def test_signature(spec: ViewSpec, expected: str) -> None:
    assert spec.signature() == expected


@pytest.mark.parametrize(
    ("name", "params", "libraries"),
    [
        ("mlm-fill", {"candidates": 1}, ["inflect", "tokenizers"]),
        ("mlm-fill", {"candidates": 2}, ["ctranslate2", "inflect", "tokenizers", "wordfreq"]),
        (
            "translate",
            {"to": "de", "models": "starter"},
            ["ctranslate2", "sentencepiece", "sentencex", "wordfreq"],
        ),
        (
            "backtranslate",
            {"pivot": "de", "models": "starter"},
            ["ctranslate2", "lemminflect", "sentencepiece", "sentencex", "tokenizers", "wordfreq"],
        ),
        (
            "translate",
            {"to": "de", "models": "starter", "candidates": 1},
            ["ctranslate2", "sentencepiece", "sentencex"],
        ),
        (
            "backtranslate",
            {"pivot": "de", "models": "starter", "decode": "sample"},
            ["sentencepiece", "transformers"],
        ),
    ],
)
def test_a_signature_names_the_versions_of_what_changes_texts(
    name: str, params: dict[str, Any], libraries: list[str]
) -> None:
    signature = make_view(ViewSpec(name, params), device="cpu").spec.signature()
    for library in libraries:
        assert f"|{library}:{version(library)}|" in signature


def test_seeds_depend_on_options_and_on_no_version_or_place_of_files() -> None:
    params = {
        "fraction": 0.5,
        "models": "/here",
        "revision": "9f3",
        "keep": "/there",
        "judge_encoder": "/anywhere",
        "a": None,
    }
    key = ViewSpec("x", params, {"inflect": "7.6.0"}).seed_key()
    assert key == "view:x|fraction:0.5"
    moved = {**params, "models": "starter", "revision": "a02", "keep": "/here"}
    assert ViewSpec("x", moved, {"inflect": "8.0.0"}).seed_key() == key
    assert ViewSpec("x", {**params, "fraction": 0.4}).seed_key() != key
    assert ViewSpec("y", params).seed_key() != key


def test_row_seeds_never_change() -> None:
    # xxh64 of "1 0x1f row 0x1f view", its top bit cleared; another value would change every published data set.
    assert row_seed(1, "row", "view") == 5394043815414186910
    seeds = {row_seed(run, row, view) for run in (0, 1) for row in "ab" for view in "xy"}
    assert len(seeds) == 8
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize(
    ("name", "params", "folder_option", "language_option", "uses_seed"),
    [
        ("span-mask", {}, None, None, True),
        ("nlpaug", {"augmenter": "KeyboardAug"}, "KeyboardAug", None, True),
        ("translate", {"to": "de+fr"}, "de+fr", "de+fr", False),
        ("backtranslate", {"pivot": "de", "decode": "sample"}, "de", "en", True),
    ],
)
def test_a_view_says_what_follows_from_its_options(
    name: str,
    params: dict[str, object],
    folder_option: str | None,
    language_option: str | None,
    uses_seed: bool,
) -> None:
    view = check_params(name, params)
    assert isinstance(view, View)
    options = (view.params.get(getattr(view_class(name), f"{kind}_option")) for kind in ("folder", "language"))
    assert (*options, view.uses_seed) == (folder_option, language_option, uses_seed)


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("import-views", {"file": "views.jsonl", "by": "gpt"}, False),
        ("identity", {}, False),
        ("span-mask", {"unit": "word"}, False),
        ("synonym", {}, False),
        ("synonym", {"judge_encoder": "x"}, True),
        ("mlm-fill", {}, True),
        ("translate", {"to": "de"}, True),
        ("nlpaug", {"augmenter": "KeyboardAug"}, False),
        ("nlpaug", {"augmenter": "ContextualWordEmbsAug"}, True),
    ],
)
def test_a_view_says_whether_it_can_use_a_gpu(name: str, params: dict[str, object], expected: bool) -> None:
    assert check_params(name, params).runs_model is expected


@given(st.lists(st.integers(1, 50)), st.integers(1, 200))
def test_every_row_is_packed_once_with_rows_of_its_width_within_the_budget(
    widths: list[int], budget: int
) -> None:
    batches = list(pack(widths, budget))
    assert sorted(row for batch in batches for row in batch) == list(range(len(widths)))
    for batch in batches:
        (width,) = {widths[row] for row in batch}
        assert len(batch) == 1 or len(batch) * width <= budget
    assert len(batches) == sum(-(-widths.count(width) // max(1, budget // width)) for width in set(widths))


@pytest.mark.parametrize("name", ["tpu9", "cuda:99", "cuda:999", "", "mps"])
def test_a_missing_device_is_one_line(name: str) -> None:
    if name == "mps" and torch.backends.mps.is_available():
        pytest.skip("this machine has Metal")
    with refused(f"device {name!r}"):
        resolve_device(name)


def imported(tmp_path: Path, *rows: object, content: bytes | None = None, **params: str) -> View:
    path = tmp_path / "views.jsonl"
    path.write_bytes(content if content is not None else "\n".join(map(json.dumps, rows)).encode())
    return make_view(ViewSpec("import-views", {"file": str(path), "by": "gpt-oss", **params}))


def test_each_sentence_gets_its_own_views(tmp_path: Path) -> None:
    rows: list[tuple[str, str | None]] = [
        ("A dog runs.", " A dog is\nrunning. "),
        *[("A dog runs.", "Some dog runs.")] * 2,
    ]
    rows += [("Same.", "Same."), ("Blank.", " "), ("Masked.", "[MASK]."), ("Très bien.", "Tre\u0300s bien.")]
    rows += [("Null.", None), ('He said  "no".', "He refused."), ("It’s  O'Neil.", "It's  O’Neil.")]
    lines = [{"text": text, "view": view} for text, view in rows]
    view = imported(tmp_path, {"id": row_id("Café!"), "view": "Coffee!"}, *lines)
    texts = ["A dog runs.", "Cafe\u0301!", "Same.", "Blank.", "Masked.", "Unknown.", "Très bien."]
    texts += ["Null.", "He said “no”.", "It's O’Neil."]
    assert view(texts, [0] * len(texts)) == [
        ViewResult("A dog is\nrunning.", alternatives=("Some dog runs.",)),
        ViewResult("Coffee!"),
        ViewResult("Same.", "unchanged"),
        ViewResult(None, "failed", "empty"),
        ViewResult(None, "rejected", "special-token"),
        ViewResult(None, "failed", "missing"),
        ViewResult("Très bien.", "unchanged"),
        ViewResult(None, "failed", "empty"),
        ViewResult("He refused."),
        ViewResult("It's O’Neil.", "unchanged"),
    ]
    assert not view.uses_seed


def test_the_signature_names_the_content_and_not_the_file(tmp_path: Path) -> None:
    signature = imported(tmp_path, {"text": "a", "view": "b"}).spec.signature()
    assert signature.startswith("view:import-views|by:gpt-oss|rev:")
    assert signature != imported(tmp_path, {"text": "a", "view": "c"}).spec.signature()
    with refused("has revision"):
        imported(tmp_path, {"text": "a", "view": "b"}, revision="0" * 12)
    marked = b'\xef\xbb\xbf{"id": 7, "text": "A dog runs.", "view": "It runs."}'
    assert imported(tmp_path, content=marked)(["A dog runs."], [0]) == [ViewResult("It runs.")]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "is empty"),
        (b'{"text": "a"}', "line 1 is not"),
        (b'\n{"view": "a"}', "line 2 is not"),
        (b'{"text": "a", "view": 3}', "line 1 is not"),
        (b'"a"', "line 1 is not"),
        (b'{"id": 7, "view": "a"}', "line 1 is not"),
        (b'\n{"text": "a", "view": null}\r\n{"text": null, "view": null}', "line 3 is not"),
        (b"\xff", "line 1 is not"),
        (b'{"text": "a", "view": "\\ud800"}', "line 1 is not"),
        (b"[" * 100_000, "line 1 is not"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path: Path, content: bytes, line: str) -> None:
    with refused(f"views.jsonl {line}"):
        imported(tmp_path, content=content)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("nonsense", {}, "unknown view 'nonsense': choose one of"),
    ("span-mask", {"length": 0}, "span-mask: length=0: input should be greater than or equal to 1"),
    ("span-mask", {"lenght": 3}, "(it takes: length, unit, keep, keep_pattern"),
    ("span-mask", {"keep_pattern": "["}, "keep_pattern='[' is not a regular expression"),
    ("synonym", {"fraction": "much"}, "synonym: fraction='much'"),
    ("mlm-fill", {"temperature": inf}, "temperature=inf: input should be a finite number"),
    ("import-views", {"file": "/nowhere", "by": "x"}, "cannot read"),
    ("import-views", {"file": "x", "by": "a/b"}, "by="),
    (
        "nlpaug",
        {"augmenter": "SynonmAug"},
        "unknown augmenter for text 'SynonmAug': choose one of AbstSummAug",
    ),
    ("backtranslate", {}, "backtranslate: pivot is missing"),
    (
        "translate",
        {"to": "de", "min_meaning": 0.5},
        "nothing compares en with de; name a judge_encoder that does",
    ),
    *(
        ("nlpaug", {"augmenter": augmenter, "arguments": arguments}, expected)
        for augmenter, arguments, expected in [
            (
                "ContextualWordEmbsAug",
                {"device": "cuda"},
                "device='cuda' among the arguments of ContextualWordEmbsAug",
            ),
            ("SplitAug", {"aug_pp": 0.3}, "SplitAug cannot be used: TypeError"),
            ("TfIdfAug", {"model_path": "/nowhere/"}, "TfIdfAug cannot be used: FileNotFoundError"),
            ("RandomWordAug", {"action": "eat"}, "RandomWordAug cannot be used: ValueError"),
            (
                "BackTranslationAug",
                {"from_model_name": "/nowhere/at/all"},
                "BackTranslationAug cannot be used",
            ),
        ]
    ),
    *(
        ("backtranslate", {"pivot": "de", "models": "starter", **params}, expected)
        for params, expected in [
            ({"decode": "top-p:7"}, "decode 'top-p:7': not a way to decode"),
            ({"pivot": "de|x"}, "language 'de|x': not a language code"),
            ({"pivot": "de+fr"}, "no model from de to fr"),
            (
                {"pivot": "es"},
                "no model from en to es (there are en-de, en-fr, de-en, fr-en); opus-mt may have it",
            ),
            ({"pivot": "de+de"}, "language 'de': source and target are the same"),
            (
                {"pivot": "de", "models": str(Path(__file__).parent / "data")},
                "no model from en to de (there is none)",
            ),
            ({"models": "/nowhere"}, "--models /nowhere: no such folder"),
            ({"revision": "abc"}, "revision 'abc': en -> de -> en takes 2 models; join their revisions by +"),
            (
                {"translator": "transformers", "precision": "int8"},
                "'int8': transformers has none on this device",
            ),
            (
                {"decode": "sample", "precision": "fp16"},
                "precision 'fp16': transformers has none on this device",
            ),
            (
                {"translator": "ctranslate2", "precision": "fp64"},
                "'ctranslate2': greedy and beams in int8 or fp32 on",
            ),
            ({"translator": "ctranslate2", "decode": "sample"}, "with sampling; use auto"),
            (
                {"diverse": True, "candidates": 1},
                "diverse and judge_encoder choose between candidates",
            ),
            (
                {"diverse": True, "candidates": 1, "min_meaning": 0.5},
                "choose between candidates; give 2 or more",
            ),
            (
                {"judge_encoder": "/nowhere", "candidates": 2, "models": "starter"},
                "--judge-encoder /nowhere: no such",
            ),
            ({"min_meaning": 1.5}, "min_meaning=1.5"),
            *(
                ({"decode": decode}, "greedy, beam:N, sample, top-k:K or top-p:P")
                for decode in ("beam", "beam:0", "beam:100", "Greedy", "sample:3", "top-k:0", "top-p:0.0")
            ),
        ]
    ),
]


@pytest.mark.parametrize(("name", "params", "expected"), WRONG)
def test_a_wrong_option_is_one_line(name: str, params: dict[str, Any], expected: str) -> None:
    with refused(expected):
        make_view(ViewSpec(name, params), device="cpu")
