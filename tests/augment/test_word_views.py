"""What holds for every view that changes words or characters: edits, kept terms, labelled spans."""

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import TEXTS, built, refused

from augment.protected_terms import touches
from augment.text.edits import apply_edits
from augment.view import Runtime, View, ViewSpec, make_view
from augment.views.repeat import Repeat

ODD = [
    "👩‍👩‍👧 cars",
    "שלום big",
    "“a” car’s",
    "e\u0301te\u0301",
    "NASA",
    "\r\n",
    " ",
    "the old woman",
    "[MASK]",
    "1️⃣",
]
VIEWS: dict[str, tuple[str, dict[str, Any]]] = {
    "repeat": ("repeat", {}),
    "span-mask": ("span-mask", {}),
    "span-mask by words": ("span-mask", {"length": 2, "unit": "word"}),
    "synonym": ("synonym", {"fraction": 0.6}),
    "mlm-fill": ("mlm-fill", {"fraction": 0.4}),
    "contradiction": ("contradiction", {}),
    "KeyboardAug": ("nlpaug", {"augmenter": "KeyboardAug"}),
    "SpellingAug": ("nlpaug", {"augmenter": "SpellingAug"}),
}


def make(name: str, encoder: Path) -> View:
    kind, params = VIEWS[name]
    return built(kind, **params, **({"encoder": str(encoder)} if kind == "mlm-fill" else {}))


@pytest.mark.parametrize("name", VIEWS)
def test_a_row_depends_on_its_text_and_seed_alone(name: str, encoder_folder: Path) -> None:
    view = make(name, encoder_folder)
    narrow = make_view(view.spec, device="cpu", batch_tokens=None if view.spec.name == "nlpaug" else 32)
    assert narrow.spec == view.spec, "a resolved recipe builds the same view"
    texts = TEXTS * 5
    together = view(texts, range(30))
    assert len({viewed.text for viewed in together}) > len(TEXTS)
    assert [view([text], [seed])[0] for seed, text in enumerate(texts)] == together
    order = random.Random(1).sample(range(30), 30)
    assert narrow([texts[row] for row in order], order) == [together[row] for row in order]


@pytest.mark.exhaustive_after(1)
@pytest.mark.parametrize("name", VIEWS)
def test_the_recorded_edits_turn_any_text_into_its_view(name: str, encoder_folder: Path) -> None:
    view = make(name, encoder_folder)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.one_of(st.text(max_size=60), st.lists(st.sampled_from(ODD)).map(" ".join)),
        st.integers(0, 2**63 - 1),
    )
    def check(text: str, seed: int) -> None:
        (viewed,) = view([text], [seed])
        if viewed.text is None:
            assert viewed.status == "failed"
            assert viewed.reason in ("no-text", "IndexError", "meaning")
        else:
            assert apply_edits(text, viewed.edits) == viewed.text
            assert (viewed.status == "unchanged") == (viewed.text == text)

    check()


TERMS = ["New York", "york city", "C++", "the old man", "Müller", "dog"]
PATTERN = r"[A-Z]{2,}-\d+"
PLAIN = [
    "a",
    "big",
    "dogs",
    "run",
    "quickly",
    "near",
    "houses",
    "Paris",
    "river",
    "!",
    ",",
    "🙂",
    "New",
    "city",
]
KEEPING: dict[str, tuple[int, dict[str, Any]]] = {
    "repeat": (4000, {"rate": 1}),
    "span-mask": (4000, {"length": 3}),
    "synonym": (1500, {"fraction": 1, "candidates": 1}),
    "mlm-fill": (250, {"fraction": 1, "words": "any"}),
    "nlpaug": (250, {"augmenter": "KeyboardAug", "arguments": {"aug_word_p": 1.0}}),
}
"""10,000 cases in all; the model and nlpaug are slower."""


@pytest.fixture(scope="module")
def terms(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("keep") / "terms.txt"
    file.write_text("\n".join([*TERMS, "", "  "]), encoding="utf-8")
    return str(file)


sentences = st.lists(
    st.sampled_from([*TERMS, *PLAIN, "NEW YORK", "AB-12", "DogS", "dog's"]), min_size=1, max_size=9
)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", KEEPING)
def test_nothing_that_is_kept_changes(name: str, terms: str) -> None:
    (cases, params), changed = KEEPING[name], 0
    view = make_view(ViewSpec(name, {**params, "keep": terms, "keep_pattern": PATTERN}))
    keeping = Repeat(keep=terms, keep_pattern=PATTERN).build(Runtime())

    @settings(max_examples=cases, deadline=None)
    @given(sentences.map(" ".join), st.integers(0, 2**63 - 1))
    def check(text: str, seed: int) -> None:
        nonlocal changed
        (made,) = view([text], [seed])
        kept = keeping.protected_spans(text)
        assert not any(touches(kept, edit.start, edit.end) for edit in made.edits)
        assert made.text == apply_edits(text, made.edits)
        changed += made.text != text

    check()
    assert changed > cases / 20


def kept_parts(text: str, **options: str) -> list[str]:
    return [text[start:end] for start, end in Repeat(**options).build(Runtime()).protected_spans(text)]


SLOTS = (Path(__file__).parent / "data" / "slots.txt").read_text(encoding="utf-8").splitlines()
AROUND = [
    "{}",
    "Use {} now",
    "{}, big",
    "A big {}.",
    "({})",
    '"{}"',
    "“{}”",
    "The dog {}!",
    "See {}; run",
    "{}?",
    "to {}: run",
]


@pytest.mark.parametrize("slot", SLOTS)
def test_a_slot_is_kept_wherever_it_stands(slot: str) -> None:
    for around in AROUND:
        start, text = around.index("{}"), around.replace("{}", slot)
        spans = Repeat().build(Runtime()).protected_spans(text)
        letters = {start + place for place, letter in enumerate(slot) if letter.isalpha()}
        assert letters <= {place for first, end in spans for place in range(first, end)}, around


def test_terms_are_whole_words_in_any_case_and_may_overlap(terms: str) -> None:
    text = "The dogma of NEW\tYork City's dog, in c++-like müller terms: the old  man."
    assert kept_parts(text, keep=terms) == ["NEW\tYork City", "dog", "c++", "müller", "the old  man"]
    assert kept_parts("ab-12 AB-12 XAB-123", keep_pattern=PATTERN) == ["AB-12", "XAB-123"]
    assert kept_parts("nothing", keep_pattern="x*") == []


@pytest.mark.parametrize("term", ["don't", "don’t", "O‘Neil's “best”", 'o’neil‘s "BEST"'])
def test_a_term_is_kept_whatever_the_shape_of_its_apostrophes(tmp_path: Path, term: str) -> None:
    (tmp_path / "terms.txt").write_text(term, encoding="utf-8")
    for shape in ("don't", "don’t") if "d" in term else ("O'Neil’s “best”",):
        assert kept_parts(f"We {shape} know.", keep=str(tmp_path / "terms.txt")) == [shape]


def test_a_term_whose_accents_are_characters_of_their_own_is_kept(tmp_path: Path) -> None:
    (tmp_path / "terms.txt").write_text("cafe\u0301\n", encoding="utf-8")
    assert kept_parts("the Café", keep=str(tmp_path / "terms.txt")) == ["Café"]


def test_the_signature_names_the_terms_and_not_their_file(tmp_path: Path) -> None:
    def signature(file: str, lines: str) -> str:
        (tmp_path / file).write_text(lines, encoding="utf-8")
        return make_view(ViewSpec("repeat", {"keep": str(tmp_path / file)})).spec.signature()

    first = signature("a.txt", "New York\ndog\n")
    assert first == signature("b.txt", "DOG\nnew  york")
    assert first != signature("b.txt", "dog")
    assert "|keep:" in first
    assert str(tmp_path) not in first


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "No such file"),
        (b"\n \n", "has no terms"),
        (b"caf\xe9", "can't decode byte 0xe9 in position 3"),
    ],
)
def test_terms_that_cannot_be_used_are_one_line(tmp_path: Path, content: bytes | None, line: str) -> None:
    path = tmp_path / "terms.txt"
    if content is not None:
        path.write_bytes(content)
    with refused(line):
        Repeat(keep=str(path)).build(Runtime())


SLOTS = [
    ("Start at {start}, end at {{ finish }}.", ["{start}", "{{ finish }}"]),
    (
        "Dear %(author)s, ${child} and $photo, %s or %movie%.",
        ["%(author)s", "${child}", "$photo", "%s", "%movie%"],
    ),
    ("Run `git push origin main` with --start-date.", ["`git push origin main`", "--start-date"]),
    ("Open report.pdf, then src/big/car.py.", ["report.pdf", "src/big/car.py"]),
    ("if (price > begin) { buy(car); } ends.", ["(price > begin)", "{ buy(car); }"]),
    ("Dear [NAME], see https://big.car/buy now.", ["[NAME]", "https://big.car/buy"]),
    ("In LaTeX, \\begin{answer} marks <b>it</b> &amp; more.", ["\\begin{answer}", "<b>", "</b>", "&amp;"]),
    ("The dog(s) won 50% of it; half a mother-in-law, and/or $5.", []),
]


@pytest.mark.parametrize(("text", "kept"), SLOTS)
def test_slots_and_code_are_kept_by_every_view(text: str, kept: list[str]) -> None:
    assert kept_parts(text) == kept
