"""`train auto` on several encoders, tables and sources of training, which end in one table and one verdict."""

import csv
import json
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from small_trainings import Capsys, train, write_bert

import trainers.cli.auto as auto
from augment.view import kept_view
from trainers.data.contradictions import contradictions, is_english


def write_table(path: Path, names: tuple[str, ...], rows: list[tuple[object, ...]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([names, *rows])
    return path


@pytest.fixture
def desk(sentences: list[str]) -> list[str]:
    """Sentences, labelled texts, graded pairs, a plain encoder and one made for sentences; options that name them."""
    words = ["a", "the", *sorted({word for text in sentences for word in text.split()})]
    write_bert(Path("tiny"), list(dict.fromkeys(words)), max_position_embeddings=64)
    parts = [Transformer("tiny"), Pooling(16, "mean")]
    SentenceTransformer(modules=parts, device="cpu").save_pretrained("made", create_model_card=False)
    Path("text.txt").write_text("\n".join(sentences), encoding="utf-8")
    labelled = [(f"{word} {text}", word) for text in sentences[:30] for word in ("dog", "red", "quickly")]
    write_table(Path("own.csv"), ("text", "label"), labelled)
    pairs = [(text, sentences[row - 1], row % 5) for row, text in enumerate(sentences)]
    write_table(Path("pairs.csv"), ("text1", "text2", "grade"), pairs)
    return ["--text", "text.txt", "--judge", "pairs.csv", "--judge", "own.csv"]


@pytest.mark.exhaustive
def test_encoders_and_tables_end_in_one_verdict(
    desk: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.setattr(auto, "is_english", lambda texts: False)
    options = [*desk, "--encoder", "tiny", "--encoder", "made", "--batch-size", 8, "--epochs", 1]
    assert train("auto", *options) == 0
    shown = capsys.readouterr()
    stored = json.loads(Path("runs/auto/auto.json").read_text())
    folders = ["whitened", "contrastive-tuned", "made-whitened", "made-distil-adapt"]
    expected = ["tiny, untouched", *(f"runs/auto/{name}" for name in folders[:2]), "made"]
    expected += [f"runs/auto/{name}" for name in folders[2:]]
    assert {*expected} <= {candidate["candidate"] for candidate in stored["candidates"]}
    assert shown.out.count(stored["verdict"]) == 1


def test_english_is_told_by_its_frequent_words() -> None:
    assert is_english(["How do I reset my card?", "Card declined", "The app is slow"])
    assert not is_english(["Wie setze ich die Karte zurück?", "La carte est refusée", "Il conto non funziona"])


@pytest.mark.exhaustive
def test_contradictions_are_paired_with_the_sentence_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    sentences = ["The man is walking with 3 dogs.", "Oh!", "She has not seen the red house."]
    monkeypatch.setenv("TWINVIEWS_WORDNET", "nowhere")
    kept_view.cache_clear()  # what other tests have loaded stays usable
    assert contradictions(sentences) is None
    assert "no training on contradictions: " in capsys.readouterr().err
    monkeypatch.delenv("TWINVIEWS_WORDNET")
    monkeypatch.delenv("XDG_CACHE_HOME")  # it is where WordNet may be
    if (rows := contradictions(sentences)) is None:
        pytest.skip("WordNet is not installed")
    assert len(rows) == 2
    assert rows["view_a"][:] == rows["view_b"][:] == rows["text"][:]
    assert all(first != second for first, second in zip(rows["negative"], rows["text"], strict=True))
