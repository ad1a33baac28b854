from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from augment import wordnet
from augment.edits import apply_edits, find_edits
from augment.errors import InputError
from augment.view import View, ViewSpec, make_view
from augment.views.nlpaug import Nlpaug

TEXTS = [
    "A man is playing the guitar on stage.",
    "Two dogs run through “green” grass, isn't it?",
    "The  U.S. bought 3.5% unbelievable things for their children because of the happy weather.",
    "A woman is slicing an onion because she believes her friends will receive it.",
]
SEEDS = [2**40 + 7, 1, 2, 3]
BY_RULE = ("RandomWordAug", "KeyboardAug", "OcrAug", "SpellingAug", "SplitAug", "RandomCharAug")
BY_WORDNET = ("SynonymAug", "AntonymAug")
DIRECT = """
import json, random, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import nlpaug.augmenter.char, nlpaug.augmenter.word, nltk.data
from augment import wordnet
names, texts, seeds = map(json.loads, sys.argv[1:])
made = {}
for name in names:
    if name in ("SynonymAug", "AntonymAug"):
        nltk.data.path.insert(0, str(wordnet.find().parent.parent))
    kind = getattr(nlpaug.augmenter.word, name, None) or getattr(nlpaug.augmenter.char, name)
    augmenter = kind()
    if name == "SpellingAug":
        augmenter.model.dict = {word: sorted(others) for word, others in augmenter.model.dict.items()}
    made[name] = []
    for text, seed in zip(texts, seeds):
        random.seed(seed)
        np.random.seed(seed % 2**32)
        made[name].append(augmenter.augment(text)[0])
print(json.dumps(made))
"""


def nlpaug_view(augmenter: str, **arguments: object) -> View:
    return make_view(ViewSpec("nlpaug", {"augmenter": augmenter, "arguments": arguments}))


def installed(augmenter: str) -> bool:
    """Whether an augmenter's data are there."""
    import nltk.data

    try:
        wordnet.find()
        nltk.data.find("taggers/averaged_perceptron_tagger_eng/")
    except (InputError, LookupError):
        return augmenter not in BY_WORDNET
    return True


def needs(augmenter: str) -> None:
    """Skip where an augmenter's data are not installed."""
    if not installed(augmenter):
        pytest.skip("WordNet or NLTK's tagger is not installed")


@pytest.fixture(scope="module")
def direct() -> list[dict[str, list[str]]]:
    """What nlpaug itself makes of the texts in two fresh processes, whose sets are in different orders."""
    names = [name for name in (*BY_RULE, *BY_WORDNET) if installed(name)]
    command = [sys.executable, "-c", DIRECT, *map(json.dumps, (names, TEXTS, SEEDS))]
    environments = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2")]
    return [
        json.loads(subprocess.run(command, env=one, capture_output=True, text=True, check=True).stdout)
        for one in environments
    ]


def complaint(augmenter: str, **arguments: object) -> str:
    with pytest.raises(InputError) as caught:
        nlpaug_view(augmenter, **arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("augmenter", [*BY_RULE, *BY_WORDNET])
def test_a_row_is_what_nlpaug_gives_in_a_fresh_process(augmenter: str, direct: list[dict[str, list[str]]]) -> None:
    needs(augmenter)
    made = nlpaug_view(augmenter)(TEXTS, SEEDS)
    for one in direct:
        assert [viewed.text for viewed in made] == one[augmenter]
    assert any(viewed.status == "ok" for viewed in made)
    for text, viewed in zip(TEXTS, made, strict=True):
        assert viewed.status in ("ok", "unchanged")
        assert apply_edits(text, viewed.edits) == viewed.text


def test_random_state_and_warnings_of_the_process_are_left_alone(recwarn: pytest.WarningsRecorder) -> None:
    import torch

    random.seed(5)
    np.random.seed(5)  # noqa: NPY002 - nlpaug's generator
    torch.manual_seed(5)
    expected = random.Random(5).random(), np.random.RandomState(5).random(), torch.rand(1).item()
    torch.manual_seed(5)
    nlpaug_view("KeyboardAug")(TEXTS, range(4))
    assert (random.random(), np.random.random(), torch.rand(1).item()) == expected  # noqa: NPY002
    assert not recwarn.list


def test_the_signature_has_the_augmenter_its_arguments_and_the_version_of_nlpaug() -> None:
    spec = nlpaug_view("SplitAug", aug_p=0.5, stopwords=["man"]).spec
    assert spec.signature() == (
        'view:nlpaug|arguments:{"aug_p": 0.5, "stopwords": ["man"]}|augmenter:SplitAug|longest:10000|rev:1.1.11|v:0.1.0'
    )
    assert make_view(spec).spec == spec
    with pytest.raises(InputError, match=r"version 1\.1\.11 is installed, not 1\.1\.10"):
        make_view(ViewSpec("nlpaug", {"augmenter": "SplitAug", "revision": "1.1.10"}))


def test_arguments_reach_the_augmenter() -> None:
    (gone,) = nlpaug_view("RandomWordAug", action="delete", aug_p=0.9, aug_max=None)(TEXTS[:1], [1])
    assert len((gone.text or "").split()) < 4
    (kept,) = nlpaug_view("ReservedAug", reserved_tokens=[["cat", "kitten"]])(TEXTS[:1], [1])
    assert (kept.status, kept.text, kept.edits) == ("unchanged", TEXTS[0], ())


def test_flows_are_built_from_their_parts() -> None:
    flow = [{"augmenter": "SplitAug"}, {"augmenter": "KeyboardAug", "arguments": {"aug_word_p": 1.0}}]
    for viewed in nlpaug_view("Sequential", flow=flow)(TEXTS, range(4)):
        assert viewed.status == "ok"
        assert viewed.text is not None
    some = nlpaug_view("Sometimes", flow=flow[:1], aug_p=0.5)(TEXTS[:1] * 40, range(40))
    assert {viewed.status for viewed in some} == {"ok", "unchanged"}
    assert "list of augmenters" in complaint("Sequential")
    assert "'x' is no augmenter" in complaint("Sequential", flow=["x"])
    assert "unknown augmenter for text 'NoAug'" in complaint("Sequential", flow=[{"augmenter": "NoAug"}])


@pytest.mark.parametrize(
    ("augmenter", "arguments", "expected"),
    [
        ("SynonmAug", {}, "unknown augmenter for text 'SynonmAug': choose one of AbstSummAug, AntonymAug"),
        ("NoiseAug", {}, "unknown augmenter for text 'NoiseAug'"),
        ("SynonymAug", {"lang": "fra"}, "NLTK's Open Multilingual WordNet was not found"),
        ("SplitAug", {"aug_pp": 0.3}, "SplitAug takes no argument 'aug_pp' here (it takes: name, aug_min, aug_max"),
        ("SplitAug", {"aug_p": "much"}, "SplitAug fails on a plain sentence: TypeError"),
        ("SplitAug", {"tokenizer": "str.split"}, "takes no argument 'tokenizer'"),
        ("BackTranslationAug", {"device": "cpu"}, "takes no argument 'device'"),
        ("WordEmbsAug", {}, "WordEmbsAug cannot be built: TypeError"),
        ("TfIdfAug", {"model_path": "/nowhere/"}, "TfIdfAug cannot be built: FileNotFoundError"),
        ("RandomWordAug", {"action": "eat"}, "RandomWordAug cannot be built: ValueError"),
        ("BackTranslationAug", {"from_model_name": "/nowhere/at/all"}, "BackTranslationAug cannot be built"),
    ],
)
def test_a_users_mistake_is_one_line(augmenter: str, arguments: dict[str, Any], expected: str) -> None:
    assert expected in complaint(augmenter, **arguments)


@pytest.mark.parametrize(("augmenter", "data"), [("RandomSentAug", "punkt_tab")])
def test_missing_nltk_data_is_one_line_with_the_remedy(augmenter: str, data: str, tmp_path: Path) -> None:
    code = (
        "import nltk.data\nfrom augment.errors import InputError\nfrom augment.view import ViewSpec, make_view\n"
        "from augment import wordnet\n"
        "if nltk.data.path is None or not wordnet.find(): raise SystemExit\n"
        "nltk.data.path[:] = []\n"
        f"try:\n    make_view(ViewSpec('nlpaug', {{'augmenter': {augmenter!r}}}))\n"
        "except InputError as error:\n    print(error)"
    )
    needs(augmenter)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"python -m nltk.downloader {data}" in done.stdout
    assert done.stdout.count("\n") == 1


class Stub:
    """An augmenter that gives what it is told to."""

    def __init__(self, result: object) -> None:
        self.result = result

    def augment(self, text: str) -> object:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@pytest.mark.parametrize(
    ("result", "status", "reason"),
    [
        (IndexError("no"), "failed", "IndexError"),
        (KeyError("x"), "failed", "KeyError"),
        ([], "failed", "no-text"),
        ("", "failed", "no-text"),
        (["  "], "failed", "no-text"),
        ([None], "failed", "no-text"),
        (["A [UNK] is here."], "rejected", "special-token"),
        (["A <mask> is here."], "rejected", "special-token"),
        (["A [MASK] [MASK] dog."], "rejected", "special-token"),
        (["A [MASK] cat."], "ok", None),
        (["A [MASK] dog."], "unchanged", None),
    ],
)
def test_what_is_no_view_has_a_status_and_a_reason(result: object, status: str, reason: str | None) -> None:
    stubbed = Nlpaug()
    stubbed._augmenter = Stub(result)
    (viewed,) = stubbed(["A [MASK] dog."], [1])
    assert (viewed.status, viewed.reason) == (status, reason)
    assert (viewed.text is None) == (status in ("failed", "rejected"))


def test_a_model_based_augmenter_runs_on_the_device_of_the_run(encoder_folder: Path) -> None:
    arguments = {"model_path": str(encoder_folder), "model_type": "bert", "use_custom_api": False, "top_k": 5}
    spec = ViewSpec("nlpaug", {"augmenter": "ContextualWordEmbsAug", "arguments": arguments})
    view = make_view(spec, device="cpu")
    assert "device" not in view.spec.signature()
    made = view(TEXTS[:2] * 3, [1, 2] * 3)
    assert made[:2] == made[2:4] == made[4:]
    with pytest.raises(InputError, match="device 'cuda:99'"):
        make_view(spec, device="cuda:99")


@pytest.mark.parametrize(
    ("text", "view", "expected"),
    [
        ("A man sings.", "A human sings.", [("man", "human")]),
        ("It is a big dog.", "It is a dog.", [(" big", "")]),
        ("The U.S. bought 3.5% gold.", "The U. S. sold 3. 5% gold.", [("U.S. bought 3.5%", "U. S. sold 3. 5%")]),
        ("One, two.", "One, three.", [("two", "three")]),
    ],
)
def test_word_edits_are_of_whole_words(text: str, view: str, expected: list[tuple[str, str]]) -> None:
    assert [(edit.old.strip(" ") or edit.old, edit.new) for edit in find_edits(text, view)] == [
        (old.strip(" ") or old, new) for old, new in expected
    ]


def test_a_text_that_is_too_long_fails_alone() -> None:
    view = make_view(ViewSpec("nlpaug", {"augmenter": "RandomWordAug"}))
    made = view(["A big dog runs.", "word " * 200_000, "x" * 10_001, "The end is near."], range(4))
    assert [(one.status, one.reason) for one in made[1:3]] == [("failed", "too-long")] * 2
    assert made[0].text
    assert made[3].text


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="ab .,'é\t-1", max_size=30), st.text(alphabet="ab .,'é\t-1", max_size=30))
def test_word_edits_turn_one_text_into_the_other(text: str, view: str) -> None:
    edits = find_edits(text, view)
    assert apply_edits(text, edits) == view
    assert (not edits) == (text == view)
