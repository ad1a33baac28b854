"""The view `mlm-fill` and its masked language models."""

import shutil
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from samples import ENGLISH_LINES, FRENCH_LINES, KINDS, RUSSIAN_LINES, TEXTS, built, refused
from tokenizers import Tokenizer
from tokenizers.models import BPE
from transformers import AutoModelForMaskedLM, BertModel, PreTrainedTokenizerFast

from augment.lexicon import wordnet
from augment.lexicon.synonyms import english
from augment.meaning.best import BestOf
from augment.models.masked_lm import FillModel, Place, Row, WholeWords, folded, script_of, token_span
from augment.text.edits import apply_edits, words
from augment.text.english import wants_an
from augment.text.words import NEGATIONS
from augment.view import Runtime, ViewSpec, make_view
from augment.views.mlm_fill import MlmFill, is_fixed


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model of each kind."""
    return KINDS[request.param](tmp_path_factory.mktemp(request.param))


def fill(folder: Path, **params: float) -> MlmFill:
    best = make_view(ViewSpec("mlm-fill", {"encoder": str(folder), **params}))
    assert isinstance(best, BestOf)
    assert isinstance(best._view, MlmFill)
    return best._view


def test_names_digits_abbreviations_and_negations_are_left_alone(encoder_folder: Path) -> None:
    view = fill(encoder_folder, fraction=0.4)
    for seed in range(30):
        texts = [*TEXTS, "A man is not a river for $3.50 today."]
        for text, viewed in zip(texts, view(texts, [seed] * 7), strict=True):
            for kept in ("U.S.", "$3.50", "isn't", "NASA", "not"):
                if kept in text.split():
                    assert kept in (viewed.text or "").split()
    short = view(["NASA", "", "Мальчик читает книгу", "他在公园里看书", "สวัสดีครับ"], range(5))
    assert [(viewed.status, viewed.reason) for viewed in short] == [("unchanged", "no-eligible-word")] * 5


def test_the_share_of_all_words_is_met_over_sentences_and_over_words(folder: Path) -> None:
    texts = ENGLISH_LINES[:300]
    made = fill(folder)(texts, range(len(texts)))
    counts = [len(words(text)) for text in texts]
    assert sum(viewed.achieved_fraction for viewed in made) / len(made) == pytest.approx(0.2, abs=0.02)
    assert sum(len(viewed.edits) for viewed in made) / sum(counts) == pytest.approx(0.2, abs=0.02)
    for text, viewed, count in zip(texts, made, counts, strict=True):
        assert len(viewed.edits) <= 0.2 * count + 1
        assert (viewed.status, viewed.reason) in {("ok", None), ("unchanged", "none-drawn")}
        assert (viewed.text == text) == (viewed.status == "unchanged")


def test_minimum_number_of_words_and_temperature(encoder_folder: Path) -> None:
    few = fill(encoder_folder, fraction=0.01, at_least=2)
    assert {len(viewed.edits) for viewed in few([TEXTS[0]] * 20, range(20))} <= {2, 3}
    likeliest = ({"temperature": 1e-6}, {"top_k": 1}, {})
    low, first, usual = (fill(encoder_folder, fraction=0.5, **more)(TEXTS, range(6)) for more in likeliest)
    assert low == first != usual


def test_filled_words_are_whole_and_in_the_script_of_the_old_ones(folder: Path) -> None:
    texts = [text for lines in (ENGLISH_LINES, RUSSIAN_LINES, FRENCH_LINES) for text in lines[:30]]
    texts.append("He said (quietly) “welcome” — and left/went.")
    view = fill(folder, fraction=0.5, top_k=50)
    made = view(texts, range(len(texts)))
    tokenizer = view._model.tokenizer
    spelt = {folded(tokenizer.decode([number]).strip()) for number in tokenizer.get_vocab().values()}
    seen = set()
    for text, viewed in zip(texts, made, strict=True):
        assert apply_edits(text, viewed.edits) == viewed.text
        for edit in viewed.edits:
            assert script_of(edit.new) == script_of(edit.old)
            assert edit.new.isalpha()
            assert len(edit.new) > 1
            assert folded(edit.new) in spelt - {folded(edit.old)}
            assert edit.new[0].isupper() == edit.old[0].isupper()
            assert edit.new.lower() not in NEGATIONS
            seen.add(script_of(edit.new))
        for mark in ("##", "Ġ", "▁", "[MASK]", "[UNK]", "<mask>", "<unk>"):
            assert mark not in (viewed.text or "")
    assert seen == {"LATIN", "CYRILLIC"}


def test_words_agree_with_the_articles_before_them(folder: Path) -> None:
    texts = [text for text in ENGLISH_LINES if " a " in text or " an " in text][:100]
    checked = 0
    for text, viewed in zip(texts, fill(folder, fraction=0.4, top_k=200)(texts, range(100)), strict=True):
        before, after = ([word.text for word in words(one)] for one in (text, viewed.text or ""))
        changed = [place for place in range(1, len(after)) if before[place] != after[place]]
        assert len(before) == len(after)
        assert len(changed) <= len(viewed.edits)
        after_article = [place for place in changed if after[place - 1] in ("a", "an")]
        assert all((after[place - 1] == "an") == wants_an(after[place]) for place in after_article)
        checked += len(after_article)
    assert checked > 20


def test_neighbours_are_masked_only_if_nothing_else_is_left(encoder_folder: Path) -> None:
    text = "the dogs run through green grass on stage"
    assert len(fill(encoder_folder, fraction=1)([text], [3])[0].edits) == len(text.split())
    for viewed in fill(encoder_folder, fraction=0.25)([text] * 50, range(50)):
        assert all(second.start > first.end + 1 for first, second in pairwise(viewed.edits))


def test_a_vocabulary_that_marks_words_in_another_way_is_one_line() -> None:
    letters = {letter: number for number, letter in enumerate("abcdefgh")}
    ends = Tokenizer(BPE(letters | {"he</w>": 8}, [], end_of_word_suffix="</w>"))
    with refused("marks words in an unknown way"):
        WholeWords(PreTrainedTokenizerFast(tokenizer_object=ends))


def test_an_encoder_without_its_head_or_its_tokenizer_is_one_line(
    encoder_folder: Path, tmp_path: Path
) -> None:
    headless = shutil.copytree(encoder_folder, tmp_path / "headless")
    BertModel.from_pretrained(encoder_folder).save_pretrained(headless)
    with refused("without a masked-language head"):
        fill(headless)(["A man runs"], [0])
    state = AutoModelForMaskedLM.from_pretrained(encoder_folder).state_dict()
    kept = {name: tensor.clone() for name, tensor in state.items() if "encoder.layer.0" not in name}
    folder = shutil.copytree(encoder_folder, tmp_path / "lacking")
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with refused("its files lack ", "tensors of its configuration, the first is bert.encoder.layer.0."):
        fill(folder)(["A man runs"], [0])
    folder = shutil.copytree(
        encoder_folder, tmp_path / "bare", ignore=shutil.ignore_patterns("*token*", "vocab*")
    )
    (folder / "config.json").write_text("{}", encoding="utf-8")
    with refused(f"--encoder {folder} cannot be loaded ("):
        fill(folder)(["A man runs"], [0])


def test_proposals_are_the_likeliest_words_of_the_model_without_batching(folder: Path) -> None:
    """Of two rows of different lengths in one batch, each compared with a pass of its own, without padding."""
    fill = FillModel(folder, Runtime("cpu"))
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(folder).eval(), fill.tokenizer
    rows = []
    for text in (
        "The dog runs near the river.",
        "A man and the dog are in the park near the river, with a big ball.",
    ):
        ids, offsets = fill.encoded(text)
        start = text.index("dog")
        span = token_span(offsets, start, start + 3)
        assert span is not None
        slot = fill.words.slot("dog", tokenizer.convert_ids_to_tokens(ids[span[0]]))
        place = Place(1, *span, ids[span[0]], slot, "dog")
        rows.append(Row([*ids[: span[0]], tokenizer.mask_token_id, *ids[span[1] + 1 :]], [place]))
    for row, proposals in zip(rows, fill.propose(rows, 5), strict=True):
        (place,) = row.places
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([row.ids])).logits[0, place.first]
        words = {
            word: float(logits[number]) for word, number in fill.words.ids(place.slot).items() if word != "dog"
        }
        best = sorted(words, key=lambda word: -words[word])[:5]
        assert dict(proposals[place]) == pytest.approx({word: words[word] for word in best}, abs=1e-3)


EXPRESSIONS = {("rides", "is riding"), ("is sleeping", "sleeps")}


def test_the_starter_model_fills_in_synonyms_as_often_as_asked_for() -> None:
    texts = ["A man rides his bicycle to the store.", "The big dog is sleeping in the garden.", "Hm."] * 20
    view = built("mlm-fill")
    views = view(texts, range(60))
    synonyms = english(wordnet.find()).synonyms
    edits = [edit for view in views for edit in view.edits]
    assert {("bicycle", "bike"), ("store", "shop")} <= {(edit.old, edit.new) for edit in edits}
    words = [edit for edit in edits if (edit.old, edit.new) not in EXPRESSIONS]
    assert {(edit.old, edit.new) for edit in edits} >= EXPRESSIONS
    assert all(edit.new in dict(synonyms(edit.old, "NN") + synonyms(edit.old, "JJ")) for edit in words)
    assert views == [view([text], [seed])[0] for seed, text in enumerate(texts)]
    assert {view.reason for view in views[2::3]} == {"no-eligible-word"}
    assert len({view.text for view in views}) > 3


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Rose bought a red car.", "Rose"),
        ("(Google announced a new phone.)", "Google"),
        ("my friend tom likes london.", "tom london"),
        ("They cannot come and are unable to call.", "cannot unable"),
        ("He dont know the twenty men.", "dont twenty"),
    ],
)
def test_names_numbers_and_negations_are_neither_replaced_nor_filled_in(text: str, kept: str) -> None:
    views = built("mlm-fill", fraction=1.0, candidates=1, top_k=100, words="any")([text] * 8, range(8))
    for edit in (edit for view in views for edit in view.edits):
        assert edit.old not in kept.split()
        assert not is_fixed(edit.new.lower())
    assert any(view.edits for view in views)
