"""Against nlpaug itself, run in a process of its own with both global generators seeded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from realtext import DATA, real_sentences

from augment import wordnet
from augment.edits import apply_edits
from augment.errors import InputError
from augment.view import View, ViewSpec, make_view

DIRECTLY = """
import json, random, sys
import nltk.data
nltk.data.path[:0] = sys.argv[1], sys.argv[3]
import numpy as np
import nlpaug.augmenter.word as naw
augmenter = naw.SynonymAug(aug_src="wordnet", aug_p=float(sys.argv[2]))
made = []
for text, seed in json.load(sys.stdin):
    random.seed(seed)
    np.random.seed(seed % 2**32)
    made.append(augmenter.augment(text)[0])
json.dump(made, sys.stdout)
"""
SENTENCES = [
    "I realize she had written a new will.",
    "It's a commitment to general education—a sequence of courses intended to develop critical thinking.",
    "The earliest human remains found on Crete date back to the seventh millennium b.c.",
    "A  man in a “red” shirt (30 C) isn't here…",
    "WHO are People?",
]


@pytest.fixture(scope="module")
def compat() -> View:
    try:
        return make_view(ViewSpec("synonym", {"compat": True}))
    except InputError as error:
        pytest.skip(str(error))


def directly(rows: list[tuple[str, int]], share: float, root: Path) -> list[str]:
    """What nlpaug makes of the rows in a fresh process that sees WordNet as NLTK lays it out."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", DIRECTLY, str(root), str(share), str(DATA / "nltk_data")]
    done = subprocess.run(
        command, input=json.dumps(rows), capture_output=True, text=True, env=environment, timeout=300, check=True
    )
    made: list[str] = json.loads(done.stdout)
    return made


def test_the_text_is_nlpaugs_for_the_same_seed(compat: View) -> None:
    folder = wordnet.find()
    if folder.parts[-2:] != ("corpora", "wordnet"):
        pytest.skip("nlpaug finds WordNet in NLTK's layout only")
    texts = [*SENTENCES, *(text for text in real_sentences(300) if text.strip())]
    rows = [(text, 2**40 * row + 7) for row, text in enumerate(texts)]
    for share in (0.3, 0.7):
        view = make_view(ViewSpec("synonym", {"compat": True, "fraction": share}))
        viewed = view(texts, [seed for _, seed in rows])
        assert [one.text for one in viewed] == directly(rows, share, folder.parent.parent)


def test_edits_give_the_view_and_the_share_is_of_nlpaugs_tokens(compat: View) -> None:
    for text, viewed in zip(SENTENCES, compat(SENTENCES, range(5)), strict=True):
        assert apply_edits(text, viewed.edits) == viewed.text
        assert viewed.status == ("unchanged" if viewed.text == text else "ok")
        assert viewed.achieved_fraction is not None
        assert 0 <= viewed.achieved_fraction <= 0.5
    (blank,) = compat([" "], [0])
    assert (blank.text, blank.status, blank.achieved_fraction) == (" ", "unchanged", None)


def test_spaces_that_nlpaug_moves_without_replacing_a_word_are_named(compat: View) -> None:
    (viewed,) = compat(["Xyzzy—xyzzy"], [0])
    assert (viewed.text, viewed.status, viewed.reason) == ("Xyzzy — xyzzy", "ok", "spacing-only")
