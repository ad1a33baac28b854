from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augment.edits import apply_edits
from augment.errors import InputError
from augment.keep import WordView, touches
from augment.view import Runtime, ViewSpec, make_view
from augment.views.repeat import Repeat

TERMS = ["New York", "york city", "C++", "the old man", "Müller", "dog"]
PATTERN = r"[A-Z]{2,}-\d+"
PLAIN = ["a", "big", "dogs", "run", "quickly", "near", "houses", "Paris", "river", "!", ",", "🙂", "New", "city"]
VIEWS: dict[str, dict[str, Any]] = {
    "repeat": {"rate": 1},
    "span-mask": {"length": 3},
    "synonym": {"fraction": 1},
    "mlm-fill": {"fraction": 1},
    "nlpaug": {"augmenter": "KeyboardAug", "arguments": {"aug_word_p": 1.0}},
}
# 10,000 cases in all; the model and nlpaug are slower.
CASES = {"repeat": 4000, "span-mask": 4000, "synonym": 1500, "mlm-fill": 250, "nlpaug": 250}


@pytest.fixture(scope="module")
def terms(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("keep") / "terms.txt"
    file.write_text("\n".join([*TERMS, "", "  "]), encoding="utf-8")
    return str(file)


sentences = st.lists(st.sampled_from([*TERMS, *PLAIN, "NEW YORK", "AB-12", "DogS", "dog's"]), min_size=1, max_size=9)


@pytest.mark.parametrize("name", VIEWS)
def test_nothing_that_is_kept_changes(name: str, terms: str) -> None:
    view = make_view(ViewSpec(name, {**VIEWS[name], "keep": terms, "keep_pattern": PATTERN}))
    assert isinstance(view, WordView)
    changed = 0

    @settings(max_examples=CASES[name], deadline=None)
    @given(sentences.map(" ".join), st.integers(0, 2**63 - 1))
    def check(text: str, seed: int) -> None:
        nonlocal changed
        (made,) = view([text], [seed])
        kept = view.kept(text)
        assert not any(touches(kept, edit.start, edit.end) for edit in made.edits)
        assert made.text == apply_edits(text, made.edits)
        changed += made.text != text

    check()
    assert changed > CASES[name] / 20


def spans(text: str, **options: str) -> list[str]:
    return [text[start:end] for start, end in Repeat(**options).build(Runtime()).kept(text)]


def test_terms_are_whole_words_in_any_case_and_may_overlap(terms: str) -> None:
    text = "The dogma of NEW\tYork City's dog, in c++-like müller terms: the old  man."
    assert spans(text, keep=terms) == ["NEW\tYork", "York City", "dog", "c++", "müller", "the old  man"]
    assert spans("ab-12 AB-12 XAB-123", keep_pattern=PATTERN) == ["AB-12", "XAB-123", "AB-123"]
    assert spans("nothing", keep_pattern="x*") == []


def test_the_signature_names_the_terms_and_not_their_file(tmp_path: Path) -> None:
    def signature(file: str, lines: str) -> str:
        (tmp_path / file).write_text(lines, encoding="utf-8")
        return make_view(ViewSpec("repeat", {"keep": str(tmp_path / file)})).spec.signature()

    first = signature("a.txt", "New York\ndog\n")
    assert first == signature("b.txt", "DOG\nnew  york")
    assert first != signature("b.txt", "dog")
    assert "keep_revision:" in first
    assert str(tmp_path) not in first
    assert make_view(ViewSpec("repeat")).spec.signature() == "view:repeat|rate:0.32|v:0.1.0"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "No such file"),
        (b"\n \n", "has no terms"),
        (b"caf\xe9", "can't decode byte 0xe9 in position 3"),
        (b"dog", "have revision"),
    ],
)
def test_terms_that_cannot_be_used_are_one_line(tmp_path: Path, content: bytes | None, line: str) -> None:
    path = tmp_path / "terms.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"keep=.*terms\.txt") as caught:
        Repeat(keep=str(path), keep_revision="0" * 12 if content == b"dog" else None).build(Runtime())
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
