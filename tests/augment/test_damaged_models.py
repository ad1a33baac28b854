"""Models whose files are damaged or do not fit together: one line that names the cause, whatever a library raises."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from samples import refused

from augment.errors import InputError
from augment.meaning.judge import sentence_encoder
from augment.view import ViewSpec, make_view

TEXTS = ["A man runs", "A dog eats"]


def fill(folder: Path) -> None:
    make_view(ViewSpec("mlm-fill", {"encoder": str(folder)}), device="cpu")(TEXTS, [0, 1])


def encode(folder: Path) -> None:
    sentence_encoder.__wrapped__(folder, "cpu").encode(TEXTS)


def translate(folder: Path, engine: str = "transformers") -> None:
    options = {"to": "de", "models": str(folder), "translator": engine, "precision": "fp32"}
    make_view(ViewSpec("translate", options), device="cpu")(TEXTS, [0, 1])


def ctranslate(folder: Path) -> None:
    translate(folder, "ctranslate2")


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content) and None


def setting(**values: object) -> Callable[[Path], None]:
    return lambda path: path.write_text(json.dumps({**json.loads(path.read_text()), **values})) and None


def not_a_number(path: Path) -> None:
    tensors = load_file(path)
    name = max(tensors, key=lambda name: tensors[name].numel())
    tensors[name][3] = float("nan")
    save_file(tensors, path, metadata={"format": "pt"})


JSON = {"not JSON": "{", "empty": "", "a list": "[]", "null": "null", "a number": "3", "deep": "[" * 100_000}
DAMAGED: list[tuple[str, str, Callable[[Path], None], str]] = [
    *(
        (name, kind, text(content), "")
        for name in ("config.json", "tokenizer_config.json")
        for kind, content in JSON.items()
    ),
    ("config.json", "a negative size", setting(vocab_size=-5), "cannot be loaded ("),
    ("config.json", "a wrong type", setting(num_hidden_layers="x"), "cannot be loaded ("),
    ("config.json", "another size", setting(vocab_size=2_000), "other sizes than its config.json says"),
    ("tokenizer_config.json", "a negative length", setting(model_max_length=-5), "reads at most -5 tokens"),
    ("tokenizer_config.json", "a length of a wrong type", setting(model_max_length="x"), "'"),
    ("model.safetensors", "NaN", not_a_number, "its weights are NaN or infinite"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "kind", "damage", "cause"), DAMAGED, ids=[f"{row[0]}-{row[1]}" for row in DAMAGED]
)
@pytest.mark.parametrize("use", [fill, encode, translate, ctranslate])
def test_the_cause_is_named(
    name: str,
    kind: str,
    damage: Callable[[Path], None],
    cause: str,
    use: Callable[[Path], None],
    tmp_path: Path,
    encoder_folder: Path,
    translation_models: Path,
    user_cache: Path,
) -> None:
    is_encoder = use in (fill, encode)
    folder = shutil.copytree(encoder_folder if is_encoder else translation_models, tmp_path / "model")
    damage(folder / ("." if is_encoder else "en-xx") / name)
    with pytest.raises(InputError) as caught:
        use(folder)
    message = str(caught.value)
    assert cause in message
    assert "\n" not in message
    assert len(message) < 400 + 2 * len(str(folder))


@pytest.mark.parametrize("content", ["{", "", "null", "3"])
def test_a_damaged_vocabulary_is_named(
    content: str, tmp_path: Path, translation_models: Path, user_cache: Path
) -> None:
    folder = shutil.copytree(translation_models, tmp_path / "model")
    (folder / "en-xx" / "vocab.json").write_text(content)
    with refused("cannot be loaded ("):
        translate(folder)


@pytest.mark.parametrize("use", [fill, encode, translate, ctranslate])
def test_whole_models_are_read(
    use: Callable[[Path], None], encoder_folder: Path, translation_models: Path, user_cache: Path
) -> None:
    use(encoder_folder if use in (fill, encode) else translation_models)
