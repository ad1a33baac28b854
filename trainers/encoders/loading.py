"""Encoders loaded as sentence-transformers' models in float32, repooled, and saved for its plain loader."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from augment.files import RECORD
from augment.models.device import quiet_transformers
from augment.models.encoder import load_encoder, positions
from augment.models.loading import load_model
from augment.record import Record, file_records
from pipelines.base.console import InputError, TwinviewsError, note
from pipelines.base.record import output_record
from trainers.encoders.location import LOG, RECIPE, TIME, Source
from trainers.encoders.modules import Encoder, assemble, is_padded, parts_of, pooling_of, set_max_tokens
from trainers.processes import is_first
from trainers.settings import Pooling

PROBES, PROBE_TOKENS = 8, 12  # texts, and twice as many with capitals, by which what was saved is compared
SAVED_TOLERANCE = 1e-3  # of their vectors' length: float32 and another order of sums move them by 1e-6
PADDED = 64  # tokens that `padded-mean` pads and cuts every text to by default, as in Mirror-BERT's evaluation


def load_for_training(source: Source, pooling: Pooling, max_tokens: int) -> Encoder:
    """Load an encoder to be trained, on the CPU; raises InputError if it cannot be."""
    encoder = load_encoder(source.folder, "cpu")
    parts, own_pooling = parts_of(encoder, source.name), pooling_of(encoder)
    if own_pooling != pooling and is_first() and source.modules():
        note(f"{source.name} was made for {own_pooling} pooling and is trained with {pooling} (--pooling)")
    return _for_training(assemble(encoder, pooling, **parts), max_tokens)


def _for_training(encoder: Encoder, max_tokens: int) -> Encoder:
    """Set the length at which a saved encoder cuts texts: its own, at least `max_tokens`, unless padding counts."""
    own_length = min(position_limit(encoder, max_tokens), encoder.max_seq_length or max_tokens)
    set_max_tokens(encoder, max_tokens if is_padded(encoder) else max(max_tokens, own_length))
    if (pooler := getattr(encoder[0].model, "pooler", None)) is not None:
        pooler.requires_grad_(False)  # unused here, and saved so that others load the files without a warning
    return encoder


def position_limit(encoder: Encoder, max_tokens: int | None = None) -> int:
    """Return how many tokens an encoder has positions for.

    Raises InputError if it has none, or under `max_tokens`.
    """
    model: Any = getattr(encoder[0], "model", None)
    if not hasattr(model, "config"):
        raise InputError(
            f"--max-tokens {max_tokens}: {type(encoder[0]).__name__} has no positions: leave it out"
        )
    limit = positions(model)
    if max_tokens is not None and max_tokens > limit:
        raise InputError(f"--max-tokens {max_tokens} is more than the encoder's {limit} positions: give fewer")
    return limit


def repooled(encoder: Encoder, pooling: Pooling) -> Encoder:
    """Return a model of another's transformer and a pooling; raises InputError if it has no token vectors."""
    first = encoder[0]
    if getattr(first, "module_output_name", None) != "token_embeddings":
        raise InputError(f"{type(first).__name__} gives no token vectors to pool: leave --pooling out")
    dropped = [type(module).__name__ for module in list(encoder)[1:] if type(module).__name__ != "Pooling"]
    if dropped and is_first():
        note(f"--pooling {pooling} leaves out the model's own {', '.join(dropped)}")
    return assemble(encoder, pooling)


def _check_saved(encoder: Encoder, folder: Path) -> None:
    """Raise TwinviewsError if a folder's encoder encodes texts of its own vocabulary otherwise than the one saved."""
    from sentence_transformers import SentenceTransformer

    tokenizer = encoder.tokenizer
    ids = list(range(0, len(tokenizer), max(1, len(tokenizer) // (PROBES * PROBE_TOKENS))))
    starts = range(0, len(ids), PROBE_TOKENS)
    texts = [tokenizer.decode(ids[start : start + PROBE_TOKENS], skip_special_tokens=True) for start in starts]
    texts += [text.upper() for text in texts]
    saved = SentenceTransformer(str(folder), device=str(encoder.device))
    vectors, saved_vectors = (
        model.encode(texts, convert_to_tensor=True).float() for model in (encoder, saved)
    )
    distances = (
        (vectors - saved_vectors).norm(dim=1) if vectors.shape == saved_vectors.shape else vectors.new_ones(1)
    )
    if not (distances <= SAVED_TOLERANCE * vectors.norm(dim=1)).all():
        raise TwinviewsError(
            "sentence-transformers does not save all of this encoder: its files give other vectors "
            f"(for example of {texts[int(distances.argmax())][:60]!r}); nothing is saved"
        )


def load_masked_lm(source: Source, pooling: Pooling, max_tokens: int) -> tuple[Encoder, Any]:
    """Load the encoder below a masked-LM head, new if it has none, and the whole model.

    InputError if impossible.
    """
    from transformers import AutoModelForMaskedLM

    encoder = load_encoder(source.folder, "cpu")
    model, _ = load_model(AutoModelForMaskedLM, source.transformer, f"the masked LM {source.name!r}")
    encoder[0].model = model.base_model
    return _for_training(repooled(encoder, pooling), max_tokens), model


def save_encoder(encoder: Encoder, path: Path, card: str, masked_lm: Any = None) -> None:  # noqa: ANN401
    """Write a sentence-transformers directory, `modules.json` last to mark completion; `masked_lm` has a head.

    Raises TwinviewsError, and writes nothing, if the files would give other vectors than the encoder in
    memory.
    """
    path.mkdir(parents=True, exist_ok=True)
    if getattr(encoder[0], "do_lower_case", False):  # sentence-transformers 6.2 reads it and does not write it
        encoder[0].config_keys = [*dict.fromkeys([*encoder[0].config_keys, "do_lower_case"])]
    with tempfile.TemporaryDirectory(dir=path, prefix=".saving-") as folder, quiet_transformers():
        draft = Path(folder, "whole")
        encoder.save_pretrained(str(draft), create_model_card=False)
        if masked_lm is not None:
            masked_lm.save_pretrained(draft)
        _check_saved(encoder, draft)
        (draft / "README.md").write_text(card, encoding="utf-8")
        files = file_records(draft, *(path / name for name in (RECIPE, LOG, TIME)))
        record = output_record(path) or Record()
        (draft / RECORD).write_text(record.model_copy(update={"files": files}).to_json(), encoding="utf-8")
        for weights in draft.glob("*.safetensors"):
            weights.chmod((draft / "README.md").stat().st_mode)  # safetensors lets only the owner read
        # The record first: what it names is ours to remove, and the run is finished when all is there.
        for item in sorted(
            draft.iterdir(), key=lambda item: (item.name == "modules.json", item.name != RECORD)
        ):
            if item.is_dir():
                shutil.rmtree(path / item.name, ignore_errors=True)
            os.replace(item, path / item.name)
