"""An encoder for another language: its vocabulary, its input vectors in closed form, and what teaches it."""

from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pytest
import torch
from samples import KINDS
from scipy.sparse import csr_array
from sentence_transformers import SentenceTransformer
from small_trainings import Capsys, build, pairs, rows_of, train, train_killed, write_pairs
from torch.nn.functional import cosine_similarity
from transformers import AutoTokenizer, BertTokenizer

from pipelines.base.console import InputError, call
from pipelines.cli.app import build_app
from trainers.encoders.input_vectors import RIDGE, SPELT, spelt_alike, transferred, used_alike
from trainers.encoders.model import load_model
from trainers.encoders.vocabulary import learn_tokenizer, piece_counts, share_unread

LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "éäöüßзийклмнопрстуфхцчшщыэ")


@pytest.fixture(scope="session")
def translations(sentences: list[str]) -> list[str]:
    """The sentences in a language of other letters, its words the other way round."""
    return [" ".join(word.translate(LETTERS) for word in reversed(text.split())) for text in sentences]


@pytest.fixture(scope="session")
def parallel(sentences: list[str], translations: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = list(zip(sentences, sentences, translations, strict=True))
    return write_pairs(tmp_path_factory.mktemp("parallel") / "pairs.arrow", rows)


def test_input_vectors_are_those_of_a_ridge_regression() -> None:
    random = np.random.default_rng(0)
    new, old = (
        random.poisson(0.4, (60, 12)).astype(np.float32),
        random.poisson(0.4, (60, 15)).astype(np.float32),
    )
    new[:, 3:5] = old[:, 5] = 0
    alike = random.dirichlet(np.ones(15), 12)
    shared = random.poisson(0.5, (12, 6)).astype(np.float32)
    alike[3] = shared[3] = 0
    vectors = random.normal(size=(15, 70)).astype(np.float32)
    weights = np.diag(1 / (1 + old.sum(1, dtype=float)))
    mean = vectors[old.sum(0) > 0].mean(0, dtype=float)
    spelt = SPELT * alike @ (vectors - mean)
    parts = np.hstack([np.eye(12), shared])
    ridge = parts.T @ new.T @ weights @ new @ parts + RIDGE * np.eye(18)
    missing = old @ (vectors - mean) - new @ spelt
    expected = spelt + parts @ np.linalg.solve(ridge, parts.T @ new.T @ weights @ missing) + mean
    moved = transferred(csr_array(new), csr_array(old), vectors, csr_array(alike), csr_array(shared))
    np.testing.assert_allclose(moved, expected, atol=1e-4)
    np.testing.assert_allclose(moved[3], mean, atol=1e-6)  # a piece of no translation, spelt like none


def syllables(count: int, seed: int) -> list[str]:
    """Return distinct words of four syllables."""
    random = np.random.default_rng(seed)
    parts = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    return sorted({"".join(random.choice(parts, 4)) for _ in range(2 * count)})[:count]


def word_tokenizer(words: list[str]) -> BertTokenizer:
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*marks, *ascii_lowercase, *(f"##{letter}" for letter in ascii_lowercase), *words]
    return BertTokenizer(vocab={piece: number for number, piece in enumerate(pieces)})


def test_a_piece_is_spelt_like_the_one_that_is_written_so_not_like_one_that_sounds_so() -> None:
    old, new = word_tokenizer(["no", "の", "да"]), word_tokenizer(["no", "da"])
    alike, _ = spelt_alike(new, old)
    for piece, same in (("no", "no"), ("da", "да")):
        row = alike[[new.convert_tokens_to_ids(piece)]].toarray()[0]
        assert old.convert_ids_to_tokens(np.flatnonzero(row).tolist()) == [same]


@pytest.mark.parametrize("related", [True, False])
def test_words_of_no_translation_are_held_at_words_of_like_spelling(related: bool) -> None:
    """A language of the same words with another ending, and one of others, to which the spelling is no help."""
    sources = syllables(300, 0)
    others = [f"{word[:-1]}en" for word in sources] if related else syllables(300, 1)
    old, new = word_tokenizer(sources), word_tokenizer(others)
    rows = np.random.default_rng(2).integers(0, 200, (500, 6))  # the last 100 words are in no translation
    counts = [
        piece_counts(tokenizer, [" ".join(words[number] for number in row) for row in rows])
        for tokenizer, words in ((new, others), (old, sources))
    ]
    vectors = np.random.default_rng(3).normal(size=(len(old), 32)).astype(np.float32)
    spelt = spelt_alike(new, old)
    moved = transferred(*counts, vectors, *spelt)
    held = transferred(*counts, vectors, *(0 * part for part in spelt))
    expected = torch.from_numpy(vectors[-300:])
    cosines, before = (cosine_similarity(torch.from_numpy(part[-300:]), expected) for part in (moved, held))
    assert before[200:].mean().abs() < 0.2
    assert cosines[200:].mean() > 0.6 if related else cosines[200:].mean().abs() < 0.2
    assert cosines[:200].mean() > before[:200].mean() - 0.01


def test_words_of_no_translation_are_like_those_in_whose_company_they_are() -> None:
    """Each word has a topic of ten, texts have one, and the last 100 words are in no translation."""
    old, new = word_tokenizer(syllables(300, 0)), word_tokenizer(syllables(300, 1))
    sources, others = old.convert_ids_to_tokens(range(57, 357)), new.convert_ids_to_tokens(range(57, 357))
    random = np.random.default_rng(2)
    drawn = [10 * random.integers(0, 30, 8) + topic for topic in random.integers(0, 10, 3000)]
    texts = [" ".join(others[number] for number in row) for row in drawn]
    paired = [row for row in drawn if row.max() < 200]
    pairs = [[" ".join(words[number] for number in row) for row in paired] for words in (others, sources)]
    topics = random.normal(size=(10, 32))
    topics -= topics.mean(axis=0)
    vectors = random.normal(size=(len(old), 32)).astype(np.float32)
    vectors[-300:] += 2 * np.tile(topics, (30, 1))
    counts = piece_counts(new, pairs[0]), piece_counts(old, pairs[1])
    alike, shared = (0 * part for part in spelt_alike(new, old))
    expected = torch.from_numpy(vectors[-100:])
    cosines = []
    for columns in (shared, used_alike(new, texts)):
        moved = transferred(*counts, vectors, alike, columns)
        cosines.append(cosine_similarity(torch.from_numpy(moved[-100:]), expected).mean())
    assert cosines[0].abs() < 0.2
    assert cosines[1] > 0.6


def test_pieces_are_counted_without_special_tokens(tiny_bert: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    texts = ["the dog the dog", "☃ cat", "[MASK] [SEP]"]
    counts = piece_counts(tokenizer, texts).toarray()
    assert counts.sum(axis=1).tolist() == [4, 1, 0]
    assert counts[0, tokenizer.convert_tokens_to_ids("dog")] == 2


def test_learnt_pieces_are_always_the_same_and_keep_accents(tiny_bert: Path) -> None:
    old = AutoTokenizer.from_pretrained(tiny_bert)
    texts = ["Schöne Grüße aus der Stadt", "Die Stadt ist schön", "schon gegrüßt"] * 3
    first, second = (learn_tokenizer(old, texts, 60) for _ in range(2))
    assert first.backend_tokenizer.to_str() == second.backend_tokenizer.to_str()
    assert len(first) <= 60
    assert first.special_tokens_map == old.special_tokens_map
    assert first.tokenize("SCHÖN") == ["schön"] != first.tokenize("schon")
    ids = first("stadt")["input_ids"]
    assert [ids[0], ids[-1]] == [first.cls_token_id, first.sep_token_id]


def test_a_script_without_spaces_gets_pieces_of_several_characters(tiny_bert: Path) -> None:
    texts = [
        "子供たちは毎日学校で本を読んでいます。",
        "子供たちは学校で猫を見ています。",
        "猫は毎日寝ています。",
    ] * 9
    tokenizer = learn_tokenizer(AutoTokenizer.from_pretrained(tiny_bert), texts, 60)
    pieces = tokenizer.tokenize(texts[0])
    assert tokenizer.unk_token not in pieces
    assert len(pieces) < len(texts[0])
    assert max(map(len, pieces)) > 1


def test_words_that_a_tokenizer_cannot_read(tiny_bert: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    assert share_unread(tokenizer, ["the dog eats", "a cat"]) == 0
    assert share_unread(tokenizer, ["the dogs ☃ big"]) == pytest.approx(0.5)
    assert share_unread(tokenizer, [""]) == 0


@pytest.mark.parametrize("languages", ["new", "both"])
def test_loss_and_gradient_are_those_of_the_distance_to_the_teacher(
    languages: str, tiny_bert: Path, sentences: list[str], translations: list[str], tmp_path: Path
) -> None:
    given = {"teacher": str(tiny_bert), "languages": languages, "vocabulary": 120, "steps": 3, "batch_size": 8}
    objective = build("distil", tiny_bert, "language", **given)
    rows = rows_of(objective, pairs(sentences, translations), folder=tmp_path)
    assert len(rows) == 24  # of 48: no more are seen
    batch = objective.collate(rows.batch(range(8)))
    vectors = objective.embed(batch["input_ids"], batch["attention_mask"])
    targets = batch["taught"].repeat(2 if languages == "both" else 1, 1)
    expected = (2 - 2 * cosine_similarity(vectors, targets, dim=-1)).mean()
    weight = objective.encoder[0].model.get_input_embeddings().weight
    (gradient,) = torch.autograd.grad(expected, weight)
    loss = objective(**batch)["loss"]
    loss.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    np.testing.assert_allclose(weight.grad, gradient, atol=1e-6)
    rates = {name: objective.rate_of(name) for name, _ in objective.named_parameters()}
    changed = [name for name, rate in rates.items() if rate != 1]
    assert len(changed) == 1
    assert changed[0].endswith("word_embeddings.weight")
    assert rates[changed[0]] == 5.0


def test_views_the_wrong_way_round_are_noticed(
    tiny_bert: Path, sentences: list[str], translations: list[str]
) -> None:
    objective = build("distil", tiny_bert, "language", teacher=str(tiny_bert), vocabulary=120)
    with pytest.raises(InputError, match="99% of the words of the first views, 0% of those of the second"):
        objective.columns(pairs(translations, sentences))


def options(parallel: Path, teacher: Path) -> list[object]:
    words = ["distil", "--preset", "language", "--teacher", teacher, "--views", parallel, "--vocabulary", 120]
    return [*words, "--batch-size", 8, "--max-tokens", 24, "--save-every", 2, "--precision", "fp32"]


def test_the_closed_form_alone_is_an_encoder(
    tiny_bert: Path, parallel: Path, translations: list[str], capsys: Capsys
) -> None:
    assert train(*options(parallel, tiny_bert), "--epochs", 0, "--out", "start") == 0
    printed = capsys.readouterr()
    assert "16 dimensions after 0 steps" in printed.out
    assert "of 2,000 pairs, German had 71.36" in printed.err
    assert "--text, would help" in printed.err
    encoder = SentenceTransformer("start", device="cpu")
    assert encoder.tokenizer.unk_token not in encoder.tokenizer.tokenize(translations[0])
    assert np.isfinite(encoder.encode(translations)).all()
    card = Path("start", "README.md").read_text()
    assert "second views" in card
    assert str(tiny_bert) not in card


def test_several_languages_in_one(
    tiny_bert: Path, parallel: Path, sentences: list[str], translations: list[str], tmp_path: Path
) -> None:
    others = [text[::-1] for text in sentences]
    rows = list(zip(sentences, sentences, others, strict=True))
    views = write_pairs(tmp_path / "others.arrow", rows)
    assert train(*options(parallel, tiny_bert), "--views", views, "--epochs", 0, "--out", "several") == 0
    tokenizer = SentenceTransformer("several", device="cpu").tokenizer
    for text in (translations[0], others[0]):
        assert tokenizer.unk_token not in tokenizer.tokenize(text)


def test_text_beside_the_pairs_is_read_for_a_vocabulary_alone(
    tiny_bert: Path, parallel: Path, translations: list[str], capsys: Capsys
) -> None:
    Path("plain.txt").write_text("\n".join(["ж ☃☃", *translations]) + "\n")
    assert train(*options(parallel, tiny_bert), "--text", "plain.txt", "--epochs", 0, "--out", "more") == 0
    printed = capsys.readouterr().err
    assert f"and {len(translations) + 1} other texts; of 2,000 pairs, German had 72.84" in printed
    assert "would help" not in printed
    tokenizer = SentenceTransformer("more", device="cpu").tokenizer
    assert tokenizer.unk_token not in tokenizer.tokenize("ж ☃☃")
    assert train("contrastive", "--views", parallel, "--text", "plain.txt") == 2
    assert "--views and --text: give one of them" in capsys.readouterr().err


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("script", ["spaced", "unspaced"])
def test_teachers_of_every_kind_of_tokenizer(
    kind: str, script: str, sentences: list[str], translations: list[str], tmp_path: Path
) -> None:
    """Both tokenizers' ends of a sentence, no unknown piece, and vectors that the plain loader gives too."""
    teacher = KINDS[kind](tmp_path)
    texts = translations if script == "spaced" else [text.replace(" ", "") for text in translations]
    views = write_pairs(tmp_path / "pairs.arrow", list(zip(sentences, sentences, texts, strict=True)))
    more = ["--vocabulary", 400, "--steps", 2, "--pooling", "mean", "--out", "run"]  # 256 are bytes
    assert train(*options(views, teacher), *more) == 0
    encoder, old = SentenceTransformer("run", device="cpu"), AutoTokenizer.from_pretrained(teacher)
    new = encoder.tokenizer
    assert new.special_tokens_map == old.special_tokens_map
    ids = new(texts[0])["input_ids"]
    assert [ids[0], ids[-1]] == [new.cls_token_id, new.sep_token_id]
    assert new.unk_token_id not in ids
    assert len(ids) < len(texts[0]) + 2
    np.testing.assert_allclose(load_model("run").encode(texts), encoder.encode(texts), atol=1e-5)


@pytest.mark.parametrize("languages", ["new", pytest.param("both", marks=pytest.mark.exhaustive)])
def test_a_killed_training_ends_with_the_same_bytes(languages: str, tiny_bert: Path, parallel: Path) -> None:
    command = [*options(parallel, tiny_bert), "--languages", languages, "--steps", 60]
    assert train(*command, "--out", "whole") == 0
    train_killed(
        lambda: list(Path("killed").glob("checkpoints/checkpoint-*/record.json")), *command, "--out", "killed"
    )
    assert not Path("killed", "modules.json").exists()
    assert train(*command, "--out", "killed") == 0
    for name in ("model.safetensors", "tokenizer.json", "log.jsonl"):
        assert Path("whole", name).read_bytes() == Path("killed", name).read_bytes()


def test_auto_names_the_way_for_text_that_the_encoder_cannot_read(
    tiny_bert: Path, sentences: list[str], translations: list[str], capsys: Capsys
) -> None:
    for name, texts in {"known": sentences, "foreign": translations}.items():
        Path(f"{name}.txt").write_text("\n".join(texts), encoding="utf-8")
        assert train("auto", "--text", f"{name}.txt", "--encoder", tiny_bert) == 0
        assert ("distil --preset language" in capsys.readouterr().err) is (name == "foreign")


def test_translations_of_the_bundled_models_are_not_enough(tiny_bert: Path, capsys: Capsys) -> None:
    Path("text.txt").write_text("A dog runs.\nA man plays the guitar.\nTwo children eat.\n")
    for command in (
        "ingest text.txt",
        "translate --to de --models starter",
        "build-pairs --pairs multilingual --view translate-de",
    ):
        assert call(build_app(), command.split()) == 0
    assert train(*options(Path("data/pairs.arrow"), tiny_bert), "--epochs", 0) == 0
    assert "too poor to learn a language from" in capsys.readouterr().err
