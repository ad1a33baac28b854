"""Where sentences end: known sentences, joined with numbers, brackets and abbreviations, split back into them."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wordfreq import top_n_list

from augment.text.sentences import sentences

ABBREVIATIONS = {
    "им",
    "см",
    "col",
    "ce",
    "san",
    "kl",
    "bzw",
    "kr",
    "ed",
    "dr",
    "mr",
    "ca",
    "st",
    "nr",
    "bl",
    "hl",
    "pp",
    "art",
}
"""What is more often an abbreviation than a word."""
SENTENCES = {
    "en": [
        "The seller delivers the goods.",
        "See p. 5 of the manual.",
        "Dr. Smith pays at once.",
        "Who bears the risk?",
    ],
    "de": [
        "Der Verkäufer liefert die Ware.",
        "Art. 5 Abs. 2 gilt hier.",
        "Am 3. Mai kam Dr. Klein.",
        "Wer zahlt?",
    ],
    "fr": [
        "Le vendeur livre les biens.",
        "Voir l'art. L. 121-1 du code.",
        "Le n. 12 est libre.",
        "Mme. Petit paie.",
    ],
    "es": [
        "El vendedor entrega los bienes.",
        "Véase pág. 5 del anexo.",
        "La Sra. López paga hoy.",
        "¿Quién paga?",
    ],
    "it": [
        "Il venditore consegna i beni.",
        "Vedi pag. 5 del contratto.",
        "L'on. Neri parla oggi.",
        "Chi paga?",
    ],
    "nl": [
        "De verkoper levert de goederen.",
        "Mevr. de Vries komt o.a. met de trein.",
        "Zie blz. 5 hier.",
        "Wie betaalt?",
    ],
    "pt": ["O vendedor entrega os bens.", "Ver pág. 5 do anexo.", "O n. 12 está livre.", "A Dra. Sousa paga."],
    "ru": ["Продавец поставляет товар.", "Это т.е. пример.", "См. рис. 5 ниже.", "Улица им. Ленина длинная."],
}
MARKERS = ["", "(1) ", "(a) ", "(ii) ", "2. ", "3) ", "b) ", "[4] ", "IV. ", "• ", "1.2) "]


@pytest.mark.parametrize(
    ("language", "first", "second"),
    [
        ("fr", "C'était en janv. 2020 à Paris.", "Le bd. Victor est long."),
        ("fr", "Voir Cass. civ. 1re, 5 mai 2010.", "Il part."),
        ("nl", "Het was in jan. 2020 koud.", "Hij kwam."),
        ("ru", "Он родился в янв. 2020 года.", "В абз. 2 закона сказано."),
        ("de", "Die max. Last ist 5 kg.", "Die Fa. Meier baut Häuser."),
        ("de", "Das ist Max.", "Er geht."),
        ("en", "See § 5 para. 2 of it.", "He left."),
        ("en", "2.1 It opens Mon. to Fri. only.", "We go."),
        ("en", "2.1 (It had rained.)", "Nobody was at home."),
        ("es", "2.1 Cf. las notas del libro.", "El art. 5 es breve."),
    ],
)
def test_months_references_and_numbers_of_sections_end_no_sentence(
    language: str, first: str, second: str
) -> None:
    assert sentences(f"{first} {second}", language) == [f"{first} ", second]


@settings(max_examples=200, deadline=None)
@given(st.data(), st.sampled_from([*SENTENCES]))
def test_paragraphs_split_back_into_their_sentences(data: st.DataObject, language: str) -> None:
    chosen = data.draw(st.lists(st.sampled_from(SENTENCES[language]), min_size=1, max_size=5))
    brackets = data.draw(st.lists(st.booleans(), min_size=len(chosen), max_size=len(chosen)))
    bracketed = [f"({text})" if is_inside else text for text, is_inside in zip(chosen, brackets, strict=True)]
    expected = [data.draw(st.sampled_from(MARKERS)) + bracketed[0], *bracketed[1:]]
    assert [sentence.strip() for sentence in sentences(" ".join(expected), language)] == expected


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="aB .!?()[]12é“”\"'ЖЩ中。\n\t…:-"), st.sampled_from([*SENTENCES, "zh", "xx"]))
def test_nothing_is_lost_between_sentences(text: str, language: str) -> None:
    assert "".join(sentences(text, language)) == (text if text.strip() else "")


@pytest.mark.parametrize(
    ("text", "language", "number"),
    [
        ("it rained. we stayed in. it was late.", "en", 3),
        ("We left. 12 people stayed. iPhones rang.", "en", 3),
        ("We met at 5 p.m. 12 people came.", "en", 2),
        ("Version 2. is out. He asked “Why?” and left.", "en", 2),
        ("Pane, latte, ecc. Poi esce.", "it", 2),
        ("Pommes, poires, etc. Il part.", "fr", 2),
        ("Яблоки и т. д. Конец.", "ru", 2),
        ("It has rules. 1. The seller pays. 2. The buyer signs. (a) All wait.", "en", 4),
        ("Es gibt Regeln. 1. Der Käufer zahlt. 2. Alle warten.", "de", 3),
        ("Apples etc. are sold. Pears, etc. too.", "en", 2),
        ("Il part. 12 personnes viennent.", "fr", 2),
        ("He left (see p. 5). Then he came [6]. Nobody (Was he late?) knows.", "en", 3),
    ],
)
def test_a_capital_or_a_number_begins_a_sentence(text: str, language: str, number: int) -> None:
    assert len(sentences(text, language)) == number


@pytest.mark.parametrize(
    "expected",
    [
        ['"Good morning?" Harry asked.', '"Good morning!" Harry exclaimed.', "Then he left."],
        ["“Where are you going?” Tom asked.", "“Home!” said Mary."],
        ["“No!” The old man shouted.", "‘Go!’ Mr. Smith quietly replied.", "We left."],
        ['"Wait! Who is there?" I whispered.', '"Nobody!" she said.'],
        ['He said "Stop!"', "Nobody moved."],
        ['He said "Stop!"', "Harry asked why."],
        ['"Is it late?"', "The clock stood still.", '"Yes!"', "Mary left."],
    ],
)
def test_a_speech_and_who_speaks_are_one_sentence(expected: list[str]) -> None:
    assert [*map(str.strip, sentences(" ".join(expected), "en"))] == expected


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("es", ["—¿Dónde estás? —preguntó Ana.", "Luego salió."]),
        ("pt", ["— Onde estás? — perguntou Ana.", "Depois saiu."]),
        ("fr", ["— Où es-tu ? — demanda Anne.", "Elle partit."]),
        ("ru", ["«Стой!» — крикнул он.", "Никто не двигался."]),
        ("pl", ["— Gdzie jesteś? — zapytał Tom.", "Nikt nie odpowiedział."]),
    ],
)
def test_who_speaks_stands_behind_a_dash(language: str, expected: list[str]) -> None:
    assert [*map(str.strip, sentences(" ".join(expected), language))] == expected


def spoken(rng: random.Random) -> list[str]:
    """What somebody says, who says it in one of the orders of English, and perhaps a sentence before and behind."""
    opening, closing = rng.choice(['""', "“”", "‘’", "''"])
    words = rng.choice(["Good morning", "Where are you going", "Come here, please", "What is it, dear"])
    speech = f"{opening}{words}{rng.choice('?!…')}{closing}"
    who = rng.choice(
        ["Harry", "Mrs. Smith", "Aunt May", "O'Brien", "I", "Anna-Lena", "Tom and Ann", "The old man"]
    )
    said = rng.choice(
        ["asked", "whispered", "begged", "snapped", "protested", "agreed", "groaned", "explained"]
    )
    how = rng.choice(["", " quietly", " with a smile", " again"])
    tag = rng.choice(
        [f"{who} {said}{how}.", f"{who} suddenly {said}{how}.", f"{said} the guide{how}.", f"he {said}."]
    )
    other = rng.choice(["The door was open.", "He left.", f"{opening}It is late.{closing}"])
    return rng.choice(
        [[f"{speech} {tag}"], [f"{speech} {tag}", other], ["Nobody moved.", f"{speech} {tag}", other]]
    )


def check_speech(count: int) -> None:
    rng = random.Random(count)
    rows = [spoken(rng) for _ in range(count)]
    wrong = [row for row in rows if [*map(str.strip, sentences(" ".join(row), "en"))] != row]
    assert wrong == []


def test_a_speech_ends_with_who_says_it_in_whatever_words() -> None:
    check_speech(400)


@pytest.mark.exhaustive
def test_thousands_of_speeches_end_with_who_says_them() -> None:
    check_speech(20_000)


@pytest.mark.parametrize(
    ("language", "sentence", "following"),
    [
        ("en", "We saw {}.", "Then it rained."),
        ("de", "Wir sahen {}.", "Dann regnete es."),
        ("fr", "Nous avons vu {}.", "Puis il a plu."),
        ("es", "Vimos {}.", "Luego llovió."),
        ("it", "Abbiamo visto {}.", "Poi è piovuto."),
        ("nl", "We zagen {}.", "Toen ging het regenen."),
        ("pt", "Vimos {}.", "Depois choveu."),
        ("ru", "Мы видели {}.", "Потом пошёл дождь."),
        ("sv", "Vi såg {}.", "Sedan regnade det."),
        ("da", "Vi så {}.", "Så regnede det."),
        ("cs", "Viděli jsme {}.", "Pak pršelo."),
        ("tr", "Biz {}.", "Sonra yağdı."),
    ],
)
def test_a_sentence_ends_with_any_of_the_most_frequent_words(
    language: str, sentence: str, following: str
) -> None:
    words = [word for word in top_n_list(language, 400) if word.isalpha() and len(word) > 1]
    texts = [f"{sentence.format(word)} {following}" for word in words if word not in ABBREVIATIONS]
    assert [text for text in texts if len(sentences(text, language)) != 2] == []
