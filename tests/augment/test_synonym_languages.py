from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nltk.data
import pytest

from augment import omw, wordnet
from augment.edits import apply_edits
from augment.errors import InputError, TwinviewsError
from augment.view import ViewSpec, make_view

SENSES = ["car.n.01", "buy.v.01", "large.a.01", "frankfurter.n.01", "house.n.01"]
FRENCH = {
    "car.n.01": ["voiture", "auto", "véhicule automobile"],
    "buy.v.01": ["acheter", "acquérir"],
    "large.a.01": ["grand", "gros", "Grand"],
    "frankfurter.n.01": ["saucisse", "voiture"],
    "house.n.01": ["maison"],
}


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A tiny French table of the Open Multilingual WordNet, and a stop-word list, where NLTK looks for them."""
    try:
        reader = wordnet.reader()
    except TwinviewsError as error:
        pytest.skip(str(error))
    synsets = {name: reader.synset(name) for name in SENSES}
    lines = ["# OMW French test"]
    for name, words in FRENCH.items():
        key = f"{synsets[name].offset():08d}-{synsets[name].pos().replace('s', 'a')}"
        lines += [f"{key}\tlemma\t{word}" for word in words]
    folder = tmp_path / "corpora" / omw.OMW / "fra"
    folder.mkdir(parents=True)
    (folder / "wn-data-fra.tab").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "corpora" / "stopwords").mkdir()
    (tmp_path / "corpora" / "stopwords" / "french").write_text("une\ngrand\n", encoding="utf-8")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path), *nltk.data.path])
    omw.open_tables.cache_clear()
    yield tmp_path
    omw.open_tables.cache_clear()


@pytest.mark.parametrize("language", ["fr", "fra"])
def test_dictionary_forms_become_single_words_of_their_senses(tables: Path, language: str) -> None:
    (tables / "corpora" / "stopwords" / "french").write_text("une\n", encoding="utf-8")
    view = make_view(ViewSpec("synonym", {"language": language, "fraction": 1.0}))
    text = "Acheter  une voiture, le gros véhicule; des voitures et la maison de Paris."
    seen = set()
    for viewed in view([text] * 40, range(40)):
        assert apply_edits(text, viewed.edits) == viewed.text
        assert viewed.achieved_fraction == 1.0
        seen |= {(edit.old, edit.new) for edit in viewed.edits}
    assert seen == {("Acheter", "Acquérir"), ("voiture", "auto"), ("gros", "grand")}


def test_stop_words_are_left_alone(tables: Path) -> None:
    view = make_view(ViewSpec("synonym", {"language": "fr", "fraction": 1.0}))
    (viewed,) = view(["une grand voiture"], [1])
    assert viewed.text == "une grand auto"


def test_the_revision_holds_the_table_and_the_stop_words(tables: Path) -> None:
    spec = make_view(ViewSpec("synonym", {"language": "fr"})).spec
    revision = str(spec.params["revision"])
    assert revision.startswith(wordnet.revision(wordnet.find()) + "+")
    assert make_view(spec).spec == spec
    (tables / "corpora" / "stopwords" / "french").write_text("une\n", encoding="utf-8")
    with pytest.raises(InputError, match="has revision"):
        make_view(spec)


def test_a_language_that_is_not_there_is_one_line(tables: Path) -> None:
    with pytest.raises(InputError, match=r"language 'de': .* does not have it; it has: fr"):
        make_view(ViewSpec("synonym", {"language": "de"}))


def test_missing_tables_are_one_line_that_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    try:
        root = wordnet.find().parent.parent
    except TwinviewsError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(nltk.data, "path", [str(root), str(tmp_path)])
    with pytest.raises(InputError, match=r"python -m nltk.downloader omw-1.4") as caught:
        make_view(ViewSpec("synonym", {"language": "fr"}))
    assert "\n" not in str(caught.value)
