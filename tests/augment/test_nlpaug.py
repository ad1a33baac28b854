"""Against nlpaug itself, run in a process of its own with both global generators seeded."""

import json
import os
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any
from unittest.mock import Mock

import nltk.data
import pytest
import torch
from samples import DATA, TEXTS, refused

from augment.errors import InputError
from augment.lexicon import wordnet
from augment.text.edits import apply_edits
from augment.view import View, ViewSpec, make_view
from augment.views.nlpaug import Nlpaug

SEEDS = [2**40 + 7, 1, 2, 3, 4]
BY_RULE = ("RandomWordAug", "KeyboardAug", "OcrAug", "SpellingAug", "SplitAug", "RandomCharAug")
BY_WORDNET = ("SynonymAug", "AntonymAug")
Run = tuple[str, dict[str, Any], list[str], list[int]]
"""An augmenter, its arguments, texts, and their seeds."""
DIRECT = """
import json, random, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import nlpaug.augmenter.char, nlpaug.augmenter.word, nltk.data
nltk.data.path[:0] = sys.argv[1:]
made = []
for name, arguments, texts, seeds in json.load(sys.stdin):
    kind = getattr(nlpaug.augmenter.word, name, None) or getattr(nlpaug.augmenter.char, name)
    augmenter = kind(**arguments)
    if name == "SpellingAug":
        augmenter.model.dict = {word: sorted(others) for word, others in augmenter.model.dict.items()}
    made.append([])
    for text, seed in zip(texts, seeds):
        random.seed(seed)
        np.random.seed(seed % 2**32)
        made[-1].append(augmenter.augment(text)[0])
json.dump(made, sys.stdout)
"""


def nlpaug_view(augmenter: str, **arguments: object) -> View:
    return make_view(ViewSpec("nlpaug", {"augmenter": augmenter, "arguments": arguments}))


def nltk_folders() -> list[str]:
    """Where nlpaug finds WordNet and NLTK's tagger without our help; empty if they are not installed."""
    folders = [str(DATA / "nltk_data"), *nltk.data.path]
    try:
        folders.insert(0, str(wordnet.find().parent.parent))
        nltk.data.find("taggers/averaged_perceptron_tagger_eng/", folders)
        nltk.data.find("corpora/wordnet", folders)
    except (InputError, LookupError):
        return []
    return folders


@pytest.fixture(scope="module")
def published() -> list[list[list[str]]]:
    """What augmenters by rule and by WordNet make of texts in two fresh processes, whose sets have different orders."""
    names = (*BY_RULE, *(BY_WORDNET if nltk_folders() else ()))
    runs: list[Run] = [(name, {}, TEXTS[:5], SEEDS) for name in names]
    processes = []
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", DIRECT, *nltk_folders()]
        process = Popen(command, stdin=PIPE, stdout=PIPE, text=True, env=environment)
        processes.append((process, json.dumps(runs)))
    return [json.loads(process.communicate(rows)[0]) for process, rows in processes]


@pytest.mark.exhaustive
@pytest.mark.parametrize("augmenters", [BY_RULE, BY_WORDNET], ids=["by rule", "by WordNet"])
def test_rows_are_those_of_nlpaug_in_fresh_processes_whatever_the_order_of_sets(
    augmenters: tuple[str, ...], published: list[list[list[str]]]
) -> None:
    if augmenters == BY_WORDNET and not nltk_folders():
        pytest.skip("WordNet or NLTK's tagger is not installed")
    first = 0 if augmenters == BY_RULE else len(BY_RULE)
    for place, name in enumerate(augmenters, first):
        made = [viewed.text for viewed in nlpaug_view(name)(TEXTS[:5], SEEDS)]
        # nlpaug also puts and takes spaces around signs, which are put right again.
        rows = [
            ["".join((text or "").split()) for text in texts]
            for texts in (made, *(all_[place] for all_ in published))
        ]
        assert rows[0] == rows[1] == rows[2], name
        assert made != TEXTS[:5], name


def test_the_signature_has_the_augmenter_its_arguments_and_the_version_of_nlpaug() -> None:
    spec = nlpaug_view("SplitAug", aug_p=0.5, stopwords=["man"]).spec
    assert spec.signature() == (
        'view:nlpaug|arguments:{"aug_p": 0.5, "stopwords": ["man"]}|augmenter:SplitAug|candidates:1|diverse:false|'
        "max_length:10000|min_meaning:0.0|rev:1.1.11|v:0.1.0"
    )
    with refused("the installed version is 1.1.11, not 1.1.10; install that one"):
        make_view(ViewSpec("nlpaug", {"augmenter": "SplitAug", "revision": "1.1.10"}))


def test_arguments_reach_the_augmenter() -> None:
    (gone,) = nlpaug_view("RandomWordAug", action="delete", aug_p=0.9, aug_max=None)(TEXTS[:1], [1])
    assert len((gone.text or "").split()) < 4
    (kept,) = nlpaug_view("ReservedAug", reserved_tokens=[["cat", "kitten"]])(TEXTS[:1], [1])
    assert (kept.status, kept.text, kept.edits) == ("unchanged", TEXTS[0], ())


def test_missing_nltk_data_is_one_line_that_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nltk.data, "path", [])
    with refused("python -m nltk.downloader punkt_tab"):
        nlpaug_view("RandomSentAug")


@pytest.mark.parametrize(
    ("result", "status", "reason"),
    [
        (IndexError("no"), "failed", "IndexError"),
        ([], "failed", "no-text"),
        ("", "failed", "no-text"),
        ([None], "failed", "no-text"),
        (["A [UNK] is here."], "rejected", "special-token"),
        (["A [MASK] dog."], "rejected", "special-token"),
        (["A small cat."], "ok", None),
        (["A small dog."], "unchanged", None),
    ],
)
def test_every_result_has_a_status_and_a_reason(result: object, status: str, reason: str | None) -> None:
    stubbed = Nlpaug()
    stubbed._augmenter = Mock(augment=Mock(side_effect=[result]))  # which raises an exception
    (viewed,) = stubbed(["A small dog."], [1])
    assert (viewed.status, viewed.reason) == (status, reason)
    assert (viewed.text is None) == (status in ("failed", "rejected"))


OUT_OF_MEMORY = [
    MemoryError(),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] . DefaultCPUAllocator: can't allocate memory"),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=["python", "cuda", "cpu"])
def test_lack_of_memory_is_no_failed_row(error: Exception) -> None:
    stubbed = Nlpaug()
    stubbed._augmenter = Mock(augment=Mock(side_effect=error))
    with pytest.raises(type(error)):
        stubbed(["A big dog runs."], [1])


@pytest.mark.exhaustive
def test_a_model_based_augmenter_runs_on_the_device_of_the_run(encoder_folder: Path) -> None:
    arguments = {"model_path": str(encoder_folder), "model_type": "bert", "use_custom_api": False, "top_k": 5}
    spec = ViewSpec("nlpaug", {"augmenter": "ContextualWordEmbsAug", "arguments": arguments})
    view = make_view(spec, device="cpu")
    assert "device" not in view.spec.signature()
    made = view(TEXTS[:2] * 3, [1, 2] * 3)
    assert made[:2] == made[2:4] == made[4:]
    with refused("device 'cuda:99'"):
        make_view(spec, device="cuda:99")


def test_a_text_that_is_too_long_fails_alone() -> None:
    made = nlpaug_view("RandomWordAug")(["A big dog runs.", "word " * 200_000, "x" * 10_001], range(3))
    assert [(one.text is None, one.reason) for one in made] == [(False, None), *[(True, "too-long")] * 2]


SPACED = [
    "192.168.1.1",
    "My IP address is 192.168.1.1. Ping it.",
    "un espace avant le point d'interrogation\u00a0?",
    'He said "hello" (loudly), didn\'t he?',
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    "I am 😀👩\u200d👩\u200d👧 happy",
    "Two  blanks, a\ttab.",
]


def test_what_changes_white_space_alone_is_undone() -> None:
    arguments = {"aug_word_p": 0.0, "aug_word_min": 0, "aug_word_max": 0}
    view = nlpaug_view("KeyboardAug", **arguments)
    assert [(row.text, row.status) for row in view(SPACED, [1] * len(SPACED))] == [
        (text, "unchanged") for text in SPACED
    ]
    for name in ("RandomWordAug", "KeyboardAug", "SpellingAug"):
        for text, row in zip(SPACED[1:], nlpaug_view(name)(SPACED[1:], SEEDS * 2), strict=False):
            assert row.text is not None
            assert apply_edits(text, row.edits) == row.text
            assert all("".join(edit.old.split()) != "".join(edit.new.split()) for edit in row.edits), name
    halves = nlpaug_view("SplitAug")(["A particularly remarkable example"], [3])
    assert halves[0].status == "ok"


KEPT = [
    ("Call {name} at once please", ["{name}"]),
    ("See https://happy.example.com/big-dog now", ["https://happy.example.com/big-dog"]),
    ("my friend @little_john says hello", ["@little_john"]),
    ("Run `git push --force` again tomorrow", ["`git push --force`"]),
    ("Please write to bob_smith@mail.example.org before Monday", ["bob_smith@mail.example.org"]),
    ("Open [NAME] or %(author)s first", ["[NAME]", "%(author)s"]),
    ("Say hello to $photo and <b>you</b>", ["$photo", "<b>", "</b>"]),
]
"""Texts, and what is kept of them."""


@pytest.mark.parametrize(
    ("augmenter", "arguments"),
    [
        ("RandomWordAug", {"action": "swap"}),
        ("OcrAug", {}),
        ("RandomWordAug", {"action": "delete"}),
        ("SplitAug", {}),
        ("SpellingAug", {}),
        ("KeyboardAug", {}),
    ],
)
def test_what_is_kept_stands_once_and_nothing_moves_out_of_it_or_into_it(
    augmenter: str, arguments: dict[str, str]
) -> None:
    view, texts = nlpaug_view(augmenter, **arguments), [text for text, _ in KEPT]
    changed = 0
    for seed in range(20):
        for (text, kept), made in zip(KEPT, view(texts, [seed] * len(texts)), strict=True):
            changed += made.status == "ok"
            assert made.text is not None
            assert apply_edits(text, made.edits) == made.text
            rests = [text.casefold(), made.text.casefold()]
            for term in kept:
                assert made.text.count(term) == 1, (text, made.text)
                around = [f" {side} ".partition(term) for side in (text, made.text)]
                assert len({(before[-1], behind[0]) for before, _, behind in around}) == 1, (text, made.text)
                rests = [rest.replace(term.casefold(), " ", 1) for rest in rests]
            if arguments.get("action") == "swap":
                assert sorted(rests[1].split()) == sorted(rests[0].split()), (text, made.text)
            if augmenter not in ("KeyboardAug", "SpellingAug"):  # which type signs
                assert all("".join(made.text.split()).count(sign) == text.count(sign) for sign in "{}`$<>[]")
    assert changed
