"""One change that contradicts the sentence: negation, antonym, number or name."""

import re
from pathlib import Path

import pytest
from samples import built, refused

from augment.lexicon.antonyms import contradicts
from augment.lexicon.synonyms import tags_of
from augment.text.edits import apply_edits, tokens
from augment.text.negation import negations
from augment.view import View, ViewSpec, labelled_view, make_view, view_label

pytestmark = pytest.mark.usefixtures("real_wordnet")

NEGATED = [
    ("The file was saved.", "The file was not saved."),
    ("She plays chess every day.", "She does not play chess every day."),
    ("He did pushups in the park.", "He did not do pushups in the park."),
    ("You can open the door.", "You cannot open the door."),
    ("They have finished the work.", "They have not finished the work."),
    ("They have always really wanted it.", "They have not always really wanted it."),
    ("They had said it was late.", "They had not said it was late."),
    ("We have a large garden.", "We do not have a large garden."),
    ("You have to pay the fee.", "You do not have to pay the fee."),
    ("She quickly closed the window.", "She did not quickly close the window."),
    ("He's running in the park.", "He's not running in the park."),
    ("A woman is slicing some onions.", "A woman is not slicing any onions."),
    ("There is a dog on the sofa.", "There is no dog on the sofa."),
    ("Some men are sleeping.", "No men are sleeping."),
    ("Click the button.", "Do not click the button."),
    ("Returns the name of the file.", "Does not return the name of the file."),
    ("The floor is still wet.", "The floor is not wet."),
    ("They also published a book.", "They did not publish a book."),
    ("It has already been sold.", "It has not been sold."),
    ("A mutation of the gene causes this disease.", "A mutation of the gene does not cause this disease."),
    ("My card was stolen. What should I do?", "My card was not stolen. What should I do?"),
    # the main clause's verb, not that of a clause inside or before it
    ("The man who wears a hat sings loudly.", "The man who wears a hat does not sing loudly."),
    ("When the game ends, the team leaves.", "When the game ends, the team does not leave."),
    ("He said that she lives in Rome.", "He did not say that she lives in Rome."),
    ("A man dressed in black is sitting on a bench.", "A man dressed in black is not sitting on a bench."),
    # taken out where there is one
    ("The file was not saved.", "The file was saved."),
    ("The file wasn't saved.", "The file was saved."),
    ("She doesn't play chess.", "She plays chess."),
    ("They did not buy any bread.", "They bought some bread."),
    ("You can't enter.", "You can enter."),
    ("I can't log in. Can you help?", "I can log in. Can you help?"),
    ("He has never been there.", "He has been there."),
    ("No one is dancing.", "Someone is dancing."),
    ("Nobody is dancing.", "Somebody is dancing."),
    ("There is no man in the room.", "There is a man in the room."),
    ("There is no evidence of it.", "There is some evidence of it."),
    ("A dog without a collar barks.", "A dog with a collar barks."),
]
UNSURE = [
    "There were issues that nobody could not explain.",  # two
    "The bank that did not pay its debts was closed.",  # in a subordinate clause
    "It may rain tomorrow.",
    "Many people like tea.",
    "He is only a boy.",
    "Is the door open?",
    "Hello there. Can you help me?",
    "When the card was stolen, what should I do?",
    "Do come in.",
    "Anyone can join.",
    "Man shot by police",
    "Blue water in the bay",
]


def denials(text: str) -> list[str]:
    words = tokens(text)
    return [apply_edits(text, edits) for edits in negations(text, words, tags_of([words])[0])]


@pytest.mark.parametrize(("text", "denial"), NEGATED)
def test_the_main_clause_is_denied(text: str, denial: str) -> None:
    assert denials(text)[0] == denial


@pytest.mark.parametrize("text", UNSURE)
def test_what_no_rule_denies_for_sure_is_left(text: str) -> None:
    assert denials(text) == []


def test_a_sentence_about_a_man_is_also_denied_by_no_man() -> None:
    assert denials("A man is running.") == ["A man is not running.", "No man is running."]


def texts_of(view: View, text: str, rows: int = 40) -> set[str]:
    results = view([text] * rows, range(rows))
    assert all(apply_edits(text, result.edits) == result.text for result in results)
    return {str(result.text) for result in results if result.status == "ok"}


ANTONYMS = [
    ("The tallest tower is old.", {"The shortest tower is old.", "The tallest tower is new."}),
    ("It was an easy test.", {"It was a difficult test."}),
    ("She opened the box.", {"She closed the box."}),
    ("The foreign ministry replied.", set()),
    ("The Rich Kids Club met here.", set()),
    ("It is not easy.", set()),  # the negation would stay
    ("The permanent mark stayed there.", set()),  # not "impermanent"
]


@pytest.mark.parametrize(("text", "views"), ANTONYMS)
def test_antonyms_have_the_words_form_and_article(text: str, views: set[str]) -> None:
    assert texts_of(built("contradiction", kinds="antonym"), text) == views


NUMBERS = [
    ("Two dogs bark.", r"(?!Two)[A-Z][a-z]+ dogs bark\."),
    ("It costs $1,500 now.", r"It costs \$1,[1-46-9]00 now\."),
    ("It began at 10:30 today.", r"It began at 10:(?!30)[0-5]\d today\."),
    ("It was built in 1987.", r"It was built in (?!1987)(19[789]\d|200[012])\."),
    ("It fell by 4.5% there.", r"It fell by (?!4)[2-9]\.5% there\."),
    ("He left on May 21 alone.", r"He left on May (?!21)([2-9]|1\d|2[0-8]) alone\."),
    ("She came 22nd then.", r"She came (?!22)\d\d(st|nd|rd|th) then\."),
    ("It was her third win.", r"It was her (?!third)\w+ win\."),
    (
        "It was a quarter to eight.",
        r"It was a quarter to (?!eight)(two|three|four|five|six|seven|nine|ten|eleven|twelve)\.",
    ),
    ("Millions of dollars went.", r"(?!Millions)\w+ of dollars went\."),
]


@pytest.mark.parametrize(("text", "pattern"), NUMBERS)
def test_a_number_becomes_another_of_its_shape(text: str, pattern: str) -> None:
    views = texts_of(built("contradiction", kinds="number"), text)
    assert len(views) > 2
    assert all(re.fullmatch(pattern, view) for view in views), views


def test_a_time_becomes_a_time() -> None:
    for minutes in range(0, 24 * 60, 5):
        time = f"{minutes // 60}:{minutes % 60:02}"
        for view in texts_of(built("contradiction", kinds="number"), f"The train left at {time}."):
            assert re.fullmatch(r"The train left at ([01]?\d|2[0-3]):[0-5]\d\.", view), (time, view)
            assert f" {time}." not in view


@pytest.mark.parametrize(
    "text",
    [
        "One man has 1 dog.",
        "The F-16 flew over the U-2.",
        "It is in v2.1/x.",
        "At first, he won.",
        "See 1" + "7" * 5000 + ".",
    ],
)
def test_a_number_that_cannot_change_alone_stays(text: str) -> None:
    assert texts_of(built("contradiction", kinds="number"), text) == set()


NAMES = [
    (
        "He flew to Paris on Monday.",
        r"He flew to (?!Paris)[A-Z][\w ]+ on Monday\.|He flew to Paris on (?!Mon)[A-Z]\w+day\.",
    ),
    ("An Austrian team won.", r"An? (?!Austrian)[A-Z]\w+ team won\."),
    ("Mr. Napolitano left.", r"Mr\. (?!Napolitano)[A-Z]\w+ left\."),
    ("He flew to North Korea.", r"He flew to (?!North Korea)[A-Z][\w ]+\."),
]


@pytest.mark.parametrize(("text", "pattern"), NAMES)
def test_a_name_becomes_another_of_its_kind(text: str, pattern: str) -> None:
    views = texts_of(built("contradiction", kinds="name"), text)
    assert len(views) > 2
    assert all(re.fullmatch(pattern, view) for view in views), views


@pytest.mark.parametrize(
    "text",
    [
        "Paris Hilton sang.",
        "Ron Paul spoke.",
        "You may march there.",
        "The China Daily wrote.",
        "Africa, Asia, Europe.",
    ],
)
def test_a_part_of_a_longer_name_stays(text: str) -> None:
    assert texts_of(built("contradiction", kinds="name"), text) == set()


def test_an_article_follows_its_new_word() -> None:
    views = texts_of(built("contradiction", kinds="name"), "An Austrian team won.")
    assert {view[:3] for view in views} >= {"A B", "An "}
    assert not any(re.match(r"A [AEIO]|An [BCDFGHJKLMNPRSTV]", view) for view in views)


def test_the_reason_is_the_kind_drawn_among_those_that_apply() -> None:
    view, text = built("contradiction"), "Two tall men are sitting in Paris."
    reasons = [result.reason for result in view([text] * 200, range(200))]
    assert {*reasons} == {"negation", "antonym", "number", "name"}
    assert min(map(reasons.count, {*reasons})) > 30
    assert {result.reason for result in view(["Two cows moo."] * 50, range(50))} <= {"negation", "number"}
    assert view(["Blue water in it"], [1])[0][:3] == ("Blue water in it", "unchanged", "no-rule-applies")


def test_some_kinds_have_a_folder_of_their_own() -> None:
    assert view_label(ViewSpec("contradiction", {"kinds": None})) == "contradiction"
    assert labelled_view("contradiction-name") == ViewSpec("contradiction", {"kinds": "name"})
    assert built("contradiction", kinds="number, negation, name, antonym").spec == built("contradiction").spec


def test_kept_terms_are_not_changed(tmp_path: Path) -> None:
    terms = tmp_path / "terms.txt"
    terms.write_text("is\nParis\n", encoding="utf-8")
    view = make_view(ViewSpec("contradiction", {"keep": str(terms), "kinds": "negation,name"}))
    assert view(["It is in Paris."], [1])[0][1:3] == ("unchanged", "all-kept")


def test_other_languages_and_kinds_are_refused() -> None:
    with refused("language=de: it has rules for en (English) only"):
        built("contradiction", language="de")
    with refused("kinds='negation,double': write some of negation, antonym, number, name"):
        built("contradiction", kinds="negation,double")


@pytest.mark.parametrize(
    ("sentence", "text", "expected"),
    [
        ("The soup is hot.", "The soup has grown cold.", True),
        ("They bought a house.", "A house was sold by them.", True),
        ("Two men are waiting.", "Two women wait.", True),
        ("She left quickly.", "She slowly left.", True),
        ("The man and the woman left.", "The woman and the man left.", False),
        ("It was cold.", "It was cold and not hot.", False),
        ("The boy is tall.", "The tall boy is standing.", False),
        ("He bought a big car.", "He purchased a large car.", False),
    ],
)
def test_a_rewritten_sentence_with_an_antonym_for_a_lost_word_contradicts(
    sentence: str, text: str, expected: bool
) -> None:
    assert contradicts(sentence, text) is expected


@pytest.mark.parametrize(
    ("sentence", "shape"),
    [
        ("The phone costs $999.", r"\$[1-9]\d\d"),
        ("The ticket was 199 euros.", r"[1-9]\d\d"),
        ("The car costs €21.", r"€[1-9]\d"),
        ("The house costs $25,000.", r"\$[1-9]\d,000"),
    ],
)
def test_a_number_begins_with_no_zero_where_the_sentence_has_none(sentence: str, shape: str) -> None:
    (place,) = [token.start for token in tokens(sentence) if token.kind == "number"]
    texts = built("contradiction", kinds="number")([sentence] * 100, range(100))
    numbers = [text.text[place:].split()[0].removesuffix(".") for text in texts if text.text]
    assert len(numbers) == 100
    assert all(re.fullmatch(shape, number) for number in numbers), numbers
