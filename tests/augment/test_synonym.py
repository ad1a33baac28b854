from __future__ import annotations

from importlib.metadata import version
from statistics import mean

import pytest
from realtext import real_sentences
from wordfreq import zipf_frequency

from augment import wordnet
from augment.edits import apply_edits
from augment.errors import InputError, TwinviewsError
from augment.synonyms import Thesaurus, thesaurus
from augment.view import View, Viewed, ViewSpec, make_view
from augment.words import FUNCTION_WORDS

SENTENCES = [
    "The old woman bought a big car in Paris for $3,500 yesterday.",
    "Three boys were quickly running  through the forest, weren't they?",
    "NASA says it is a difficult question.",
    "He begins to look for an enormous house; Her biggest fear was huge.",
    "Children like ice cream, of course.",
]


def synonym(**params: object) -> View:
    """The view, or a skip where WordNet is not installed."""
    try:
        return make_view(ViewSpec("synonym", params))  # type: ignore[arg-type]
    except InputError as error:
        if "not found" in str(error):
            pytest.skip(str(error))
        raise


@pytest.fixture(scope="module")
def words() -> Thesaurus:
    try:
        return thesaurus()
    except TwinviewsError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def view() -> View:
    return synonym(at_least=1)


@pytest.fixture(scope="module")
def drawing() -> View:
    return synonym()


def replaced(viewed: Viewed) -> list[tuple[str, str]]:
    """What became what, articles left out."""
    return [(edit.old, edit.new) for edit in viewed.edits if edit.old.lower() not in ("a", "an")]


def check(text: str, viewed: Viewed) -> None:
    """What holds for every row."""
    assert apply_edits(text, viewed.edits) == viewed.text
    assert (viewed.status == "unchanged") == (viewed.text == text) == (not viewed.edits)
    assert (viewed.reason is None) == (viewed.status == "ok")
    for old, new in replaced(viewed):
        assert old.lower() not in FUNCTION_WORDS
        assert old.isalpha()
        assert new.isalpha()
        assert new.lower() != old.lower()
        assert new[0].isupper() == old[0].isupper()


def test_real_sentences_keep_every_byte_beside_the_changed_words(drawing: View) -> None:
    texts = real_sentences(600)
    for text, viewed in zip(texts, drawing(texts, range(len(texts))), strict=True):
        check(text, viewed)


def test_every_new_word_is_one_that_people_write() -> None:
    texts = real_sentences(3000)
    news = {new.lower() for viewed in synonym(fraction=1.0)(texts, range(len(texts))) for _, new in replaced(viewed)}
    assert len(news) > 1000
    assert sorted(new for new in news if zipf_frequency(new, "en") == 0) == []


@pytest.mark.parametrize(
    ("word", "tag", "synonym_of_it"),
    [("headed", "VBD", "led"), ("missed", "VBD", "lost"), ("calls", "NNS", "cries"), ("sovereigns", "NNS", "monarchs")],
)
def test_synonyms_are_inflected_as_english_has_it(words: Thesaurus, word: str, tag: str, synonym_of_it: str) -> None:
    assert synonym_of_it in dict(words.synonyms(word, tag)[-1])


def test_names_numbers_acronyms_and_set_phrases_stay(view: View) -> None:
    for seed in range(40):
        first, second, third, _, fifth = (viewed.text or "" for viewed in view(SENTENCES, [seed] * 5))
        assert "Paris" in first
        assert "$3,500" in first
        assert "  through" in second
        assert "weren't they?" in second
        assert third.startswith("NASA")
        assert "ice cream, of course" in fifth


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Bush says the large car is big.", "Bush"),
        ("A #big @large car at http://car.example/car", "http"),
        ("The U.S.-led car.", "led"),
        ("We ca n't buy a car.", "ca"),
    ],
)
def test_names_at_the_beginning_and_parts_of_longer_things_stay(text: str, kept: str) -> None:
    for viewed in synonym(fraction=1.0)([text] * 20, range(20)):
        assert kept not in [old for old, _ in replaced(viewed)]
        assert "#big @large" in (viewed.text or "") or "#" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He has a car.", "He has an automobile."),
        ('He has a "car" here.', 'He has an "automobile" here.'),
        ("HE HAS A BIG CAR.", "HE HAS A BIG CAR."),
        ("A car.", "An automobile."),
    ],
)
def test_the_article_before_a_changed_word_follows_its_sound(text: str, expected: str) -> None:
    everything = synonym(fraction=1.0)
    assert expected in {viewed.text for viewed in everything([text] * 60, range(60))}


def test_forms_are_kept(view: View) -> None:
    texts = ["The boys purchased cars."] * 60
    edits = {(edit.old, edit.new) for viewed in view(texts, range(60)) for edit in viewed.edits}
    assert ("purchased", "bought") in edits
    assert ("cars", "automobiles") in edits or ("cars", "autos") in edits
    assert all(new.endswith(("s", "men")) for old, new in edits if old in ("boys", "cars"))


@pytest.mark.parametrize(
    ("word", "tag", "lemma"),
    [
        ("arms", "NNS", "arm"),
        ("swinging", "VBG", "swing"),
        ("stopped", "VBD", "stop"),
        ("hoped", "VBD", "hope"),
        ("men", "NNS", "man"),
        ("lay", "VBD", "lie"),
        ("clothes", "NNS", "clothes"),
    ],
)
def test_an_inflected_word_is_traced_to_its_commonest_lemma(words: Thesaurus, word: str, tag: str, lemma: str) -> None:
    assert words.lemma(word, tag) == lemma


@pytest.mark.parametrize(
    ("word", "tag", "never"),
    [
        ("people", "NNS", "great unwashed"),
        ("black", "NN", "blackamoor"),
        ("creature", "NN", "wight"),
        ("dogs", "NNS", "frankfurters"),
        ("hands", "NNS", "custodies"),
        ("older", "JJR", "elderer"),
        ("feet", "NNS", "fts"),
        ("years", "NNS", "yrs"),
        ("sisters", "NNS", "ses"),
        ("slit", "NN", "cunt"),
    ],
)
def test_odd_and_unwanted_words_are_never_synonyms(words: Thesaurus, word: str, tag: str, never: str) -> None:
    assert never not in {form for tier in words.synonyms(word, tag) for form, _ in tier}


def test_rarer_senses_are_opened_only_when_dominant_ones_do_not_suffice(words: Thesaurus) -> None:
    text = "The big car and the man."  # man: only a serviceman in a rarer sense
    assert words.synonyms("big", "JJ")[0]
    assert words.synonyms("car", "NN")[1]
    assert not any(words.synonyms("man", "NN")[:3])
    assert words.synonyms("man", "NN")[-1]
    some, all_of_it = synonym(fraction=2 / 3), synonym(fraction=1.0)
    olds = [{old for old, _ in replaced(viewed)} for viewed in some([text] * 40, range(40))]
    assert all(old <= {"big", "car"} for old in olds)
    (viewed,) = all_of_it([text], [0])
    assert {old for old, _ in replaced(viewed)} == {"big", "car", "man"}


def test_the_mean_fraction_is_what_was_asked_for_however_it_is_averaged() -> None:
    texts = real_sentences(3000)
    viewed = synonym()(texts, range(len(texts)))
    shares = [one.achieved_fraction for one in viewed if one.achieved_fraction is not None]
    assert mean(shares) == pytest.approx(0.3, abs=0.02)
    eligible = synonym(fraction=1.0)(texts, range(len(texts)))
    changed, possible = (sum(len(replaced(one)) for one in rows) for rows in (viewed, eligible))
    assert changed / possible == pytest.approx(0.3, abs=0.02)


def test_a_row_says_why_it_is_unchanged() -> None:
    few = synonym(fraction=0.05)
    reasons = {viewed.reason for viewed in few(["The big car."] * 50, range(50))}
    assert reasons == {None, "none-drawn"}
    (nothing,) = few(["Of course it is."], [0])
    assert (nothing.status, nothing.reason, nothing.achieved_fraction) == ("unchanged", "no-eligible-word", None)


def test_at_least_so_many_words_are_changed_where_there_are_so_many() -> None:
    many = synonym(fraction=0.01, at_least=2)
    for viewed in many(["The big car and the little boat.", "Of course."] * 20, range(40)):
        assert len(replaced(viewed)) == (0 if viewed.text == "Of course." else 2)


def test_the_resolved_parameters_build_the_same_view(view: View) -> None:
    assert make_view(view.spec).spec == view.spec
    assert view.spec.params["revision"] == f"{wordnet.revision(wordnet.find())}+lemminflect-{version('lemminflect')}"


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"revision": "0123456789ab"}, "has revision"),
        ({"encoder": "somewhere"}, "is for choose=mlm"),
        ({"compat": True, "choose": "mlm"}, "compat with choose=mlm"),
        ({"compat": True, "at_least": 1}, "compat with at_least=1"),
        ({"tagger": "senses"}, "tagger='senses': input should be 'auto' or 'perceptron'"),
        ({"language": "fr", "tagger": "perceptron"}, "is for language=en"),
        ({"language": "fr", "choose": "mlm"}, "knows English only"),
    ],
)
def test_parameters_that_would_be_ignored_are_refused(
    words: Thesaurus, params: dict[str, object], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        make_view(ViewSpec("synonym", params))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
