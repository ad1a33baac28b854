"""A changed gender is told from another wording: a small grammar in three languages knows the right answers."""

import random

import pytest

from augment.meaning.figures import fault
from augment.view import make_views

PLACES = {
    "en": ["at home", "in town", "by the sea"],
    "de": ["hier", "dort", "heute"],
    "fr": ["ici", "là", "demain"],
}
WOMEN = {
    "en": [
        "woman",
        "girl",
        "mother",
        "sister",
        "wife",
        "waitress",
        "actress",
        "policewoman",
        "queen",
        "aunt",
        "businesswoman",
    ],
    "de": [
        "Frau",
        "Mutter",
        "Schwester",
        "Lehrerin",
        "Ärztin",
        "Köchin",
        "Kundin",
        "Fußballspielerin",
        "Tante",
        "Anwältin",
        "Studentin",
    ],
    "fr": [
        "femme",
        "fille",
        "mère",
        "sœur",
        "actrice",
        "policière",
        "infirmière",
        "serveuse",
        "reine",
        "tante",
        "musicienne",
    ],
}
"""Women by words of a sentence, in the order of `MEN`."""
MEN = {
    "en": [
        "man",
        "boy",
        "father",
        "brother",
        "husband",
        "waiter",
        "actor",
        "policeman",
        "king",
        "uncle",
        "businessman",
    ],
    "de": [
        "Mann",
        "Vater",
        "Bruder",
        "Lehrer",
        "Arzt",
        "Koch",
        "Kunde",
        "Fußballspieler",
        "Onkel",
        "Anwalt",
        "Student",
    ],
    "fr": [
        "homme",
        "garçon",
        "père",
        "frère",
        "acteur",
        "policier",
        "infirmier",
        "serveur",
        "roi",
        "oncle",
        "musicien",
    ],
}
NAMES = ["Robin", "Sascha", "Kim", "Dominique"]
NEUTRAL = {"en": "the visitor", "de": "die Person", "fr": "la personne"}
FORMS = {
    "en": {
        "woman": {"the": "the", "subject": "she", "object": "her", "own": "her", "self": "herself"},
        "man": {"the": "the", "subject": "he", "object": "him", "own": "his", "self": "himself"},
    },
    "de": {
        "woman": {"the": "die", "subject": "sie", "object": "sie", "own": "ihr", "self": "sich"},
        "man": {"the": "der", "subject": "er", "object": "ihn", "own": "sein", "self": "sich"},
    },
    "fr": {
        "woman": {"the": "la", "subject": "elle", "object": "la", "own": "son", "self": "elle-même"},
        "man": {"the": "le", "subject": "il", "object": "le", "own": "son", "self": "lui-même"},
    },
}
SENTENCES = {
    "en": [
        "{The} {person} is {place}.",
        "{Subject} likes the house {place}.",
        "Everybody saw {object} {place}.",
        "{Subject} opens {own} book {place}.",
        "{Name} says that {subject} was there {self} {place}.",
        "The guests talk to {the} {person} {place}, and {subject} laughs.",
    ],
    "de": [
        "{The} {person} ist {place}.",
        "{Subject} mag das Haus {place}.",
        "Jeder sah {object} {place}.",
        "{Subject} öffnet {own} Buch {place}.",
        "{Name} sagt, dass {subject} {place} war.",
        "{The} {person} lacht {place}, und {subject} singt.",
    ],
    "fr": [
        "{The} {person} est {place}.",
        "{Subject} aime la maison {place}.",
        "On {object} voit {place}.",
        "{Subject} ouvre {own} livre {self} {place}.",
        "{Name} dit que {subject} chante {place}.",
        "{The} {person} rit {place}, et {subject} chante.",
    ],
}


def said(pattern: str, gender: str, number: int, language: str, name: str, place: str) -> str:
    """A sentence about one of the persons of a gender."""
    forms = dict(FORMS[language][gender])
    forms["person"] = (WOMEN if gender == "woman" else MEN)[language][number]
    if language == "fr" and forms["person"][0] in "aeiouh":
        forms["the"] = "l'"
    capitals = {key.capitalize(): form.capitalize() for key, form in forms.items()}
    return pattern.format(**forms, **capitals, Name=name, place=place).replace("' ", "'")


def neutral(pattern: str, language: str, name: str, place: str) -> str:
    """The sentence with a name or a word without a gender in place of what has one."""
    forms = dict.fromkeys(["subject", "object", "Subject", "person"], name) | {"own": "the", "self": ""}
    text = pattern.format(**forms, the="", The="", Name=NEUTRAL[language], place=place)
    return " ".join(text.split())


def check(count: int, language: str) -> None:
    rng = random.Random(language)
    for _ in range(count):
        pattern, number = rng.choice(SENTENCES[language]), rng.randrange(len(MEN[language]))
        name, (place, other_place) = rng.choice(NAMES), rng.sample(PLACES[language], 2)
        gender, other = rng.sample(["woman", "man"], 2)
        sentence = said(pattern, gender, number, language, name, place)
        changed = said(pattern, other, number, language, name, rng.choice([place, other_place]))
        same = said(pattern, gender, number, language, rng.choice(NAMES), other_place)
        without = neutral(pattern, language, name, place)
        assert fault(sentence, changed, language, language) == "gender", (sentence, changed)
        assert fault(sentence, same, language, language) != "gender", (sentence, same)
        assert fault(sentence, without, language, language) != "gender", (sentence, without)
        assert fault(without, sentence, language, language) != "gender", (without, sentence)


@pytest.mark.parametrize("language", SENTENCES)
def test_another_gender_is_a_fault_and_another_wording_is_not(language: str) -> None:
    check(100, language)


@pytest.mark.exhaustive
@pytest.mark.parametrize("language", SENTENCES)
def test_another_gender_is_a_fault_in_many_sentences(language: str) -> None:
    check(1_000, language)


CHANGED = {
    "en": [
        ("She is a football player.", "He is a football player."),
        ("They gave her the book.", "They gave him the book."),
        ("His wife is a pilot.", "Her husband is a pilot."),
        ("The actress is reading her book.", "The actress is reading his book."),
        ("A female soldier is waiting.", "A male soldier is waiting."),
        ("The book is hers.", "The book is his."),
        ("She's here.", "He's here."),
        ("The girl is playing with her brother.", "He is playing with her brother."),
        ("I met Miss Gray.", "I met Mr Gray."),
        ("He is her father.", "She is his father."),
        ("He helped her.", "She helped him."),
        ("He told her about his mother.", "She told him to his mother."),
    ],
    "de": [
        ("Frau Doktor Meier ist da.", "Herr Doktor Meier ist da."),
        ("Lena verkauft ihr Haus.", "Lena verkauft sein Haus."),
        ("Die Ärztin zieht ihren Mantel aus.", "Der Arzt zieht seinen Mantel aus."),
        ("Die Studentinnen lernen.", "Die Studenten lernen."),
    ],
    "fr": [
        ("Son frère est là.", "Sa sœur est là."),
        ("Elles partent.", "Ils partent."),
        ("Une élève lit.", "Un élève lit."),
        ("Madame Dupont est là.", "Monsieur Dupont est là."),
    ],
}
SAME = {
    "en": [
        ("She left her keys.", "They left their keys."),
        ("He gave her the book.", "She got the book from him."),
        ("The policewoman left.", "The police officer left."),
        ("A woman and a man sit.", "A man and a woman sit."),
        ("He helped her.", "She was helped by him."),
        ("It lost its tail.", "Its tail is lost."),
        ("I miss him.", "I miss that man."),
    ],
    "de": [
        ("Sie gehen nach Hause.", "Er geht nach Hause."),
        ("Sie verkaufen ihr Haus.", "Er verkauft sein Haus."),
        ("Haben Sie Zeit?", "Hat er Zeit?"),
        ("Ihr habt Zeit.", "Er hat Zeit."),
        ("Die Firma verkauft ihr Haus.", "Das Unternehmen verkauft sein Haus."),
        ("Das Mädchen spielt mit seinem Bruder.", "Das Mädchen spielt mit ihrem Bruder."),
        ("Die Doktorin ist da.", "Frau Doktor ist da."),
    ],
    "fr": [
        ("Elle a perdu sa clé.", "Elle a perdu son trousseau."),
        ("La voiture est neuve et elle roule.", "Le véhicule est neuf et il roule."),
        ("Il faut qu'elle parte.", "Elle doit partir."),
        ("Il y a une femme ici.", "Une femme est ici."),
        ("Elle mange.", "On mange."),
    ],
}


@pytest.mark.parametrize("language", CHANGED)
def test_whom_a_text_is_about_is_the_same_in_both_directions(language: str) -> None:
    rows = [(*pair, "gender") for pair in CHANGED[language]] + [(*pair, None) for pair in SAME[language]]
    rows += [(text, sentence, reason) for sentence, text, reason in rows]
    wrong = [row for row in rows if fault(row[0], row[1], language, language) != row[2]]
    assert wrong == []


def test_a_view_that_must_be_close_in_meaning_keeps_the_gender() -> None:
    arguments = {"reserved_tokens": [["she", "he"]], "case_sensitive": False}
    options = {"augmenter": "ReservedAug", "arguments": arguments, "min_meaning": 0.1}
    (view,) = make_views(["I think that she is a football player."], "nlpaug", **options)
    assert (view.status, view.reason) == ("failed", "gender")


def test_a_language_without_a_list_has_no_gender() -> None:
    assert fault("Lei legge un libro.", "Lui legge un libro.", "it", "it") is None
