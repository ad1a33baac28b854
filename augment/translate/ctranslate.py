"""MarianMT on CTranslate2: greedy and beam search on a CPU, with a converted model from the user's cache."""

from __future__ import annotations

import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import ctranslate2

from augment.device import quiet_transformers, usable_cores
from augment.errors import InputError
from augment.translate.decoding import Decoding
from augment.translate.vocabulary import Vocabulary
from augment.weights import local_weights
from augment.wordnet import cache_folder

COMPUTE_TYPES = {"int8": "int8_float32", "fp32": "float32", "bf16": "bfloat16"}
ABANDONED_SECONDS = 3_600
"""Age from which the scratch folder of a conversion is one that a killed process left."""


def supported_precisions() -> list[str]:
    """What this CPU can compute in, the fastest first."""
    there = ctranslate2.get_supported_compute_types("cpu")
    return [name for name, compute_type in COMPUTE_TYPES.items() if compute_type in there]


class CTranslate2Engine:
    """A model on as many threads as this process may use.

    Attributes:
        batch_tokens: Source tokens of a batch times beams or samples, where nobody asks for another number.
        ahead: Batches to ask for before the first answer is waited for.
    """

    batch_tokens = 8_192

    def __init__(self, path: Path, vocabulary: Vocabulary, precision: str, revision: str | None) -> None:
        cores = usable_cores()
        self.ahead = 2 * cores
        self._vocabulary = vocabulary
        self._ids = {token: number for number, token in enumerate(vocabulary.target)}
        self._suppressed = [[vocabulary.target[number]] for number in vocabulary.suppress_tokens]
        self._translator = ctranslate2.Translator(
            str(path),
            files=converted(path, vocabulary, revision or local_weights(path, "--models").revision),
            compute_type=COMPUTE_TYPES[precision],
            inter_threads=cores,
            intra_threads=1,
        )

    def search(
        self, sources: Sequence[Sequence[int]], decoding: Decoding, seeds: Sequence[int]
    ) -> Callable[[], list[list[list[int]]]]:
        """Begin to search; what comes back waits for the hypotheses of every source, the best first.

        Args:
            sources: Token ids, all of one padded length.
            decoding: How.
            seeds: For sampling, one for each hypothesis of each source, the first source's first.

        Returns:
            Token ids, with the end token where it was reached.
        """
        width = self._vocabulary.width(len(sources[0]))
        # CTranslate2 pads to the longest of a batch, and another length adds up in another order: one row fills it up,
        # of end tokens, which the model soon ends.
        filler = [self._vocabulary.end] * width
        results = self._translator.translate_batch(
            [[self._vocabulary.source[token] for token in source] for source in (*sources, filler)],
            asynchronous=True,
            beam_size=decoding.num_beams,
            patience=decoding.patience if decoding.num_beams > 1 else 1,
            num_hypotheses=decoding.hypotheses,
            repetition_penalty=decoding.repetition_penalty,
            suppress_sequences=self._suppressed,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=self._vocabulary.max_length(width),
            return_end_token=True,
        )
        return lambda: [
            [[self._ids[token] for token in tokens] for tokens in result.result().hypotheses] for result in results[:-1]
        ]


def converted(path: Path, vocabulary: Vocabulary, revision: str) -> dict[str, bytes]:
    """A model's files in CTranslate2's format, from the user's cache; made there where they are missing or damaged.

    They are kept as one archive, which is replaced as a whole and whose checksums tell whether it is intact. Weights
    are float32 whatever the precision, which CTranslate2 makes of them as it loads.

    Raises:
        InputError: The cache cannot be written, or CTranslate2 does not know this kind of model.
    """
    place = cache_folder() / "ctranslate2" / f"{revision}-{ctranslate2.__version__}.zip"
    if (found := _intact(place)) is not None:
        return found
    spec = _specification(path, vocabulary)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(place.parent)
        with tempfile.TemporaryDirectory(prefix=".", dir=place.parent) as scratch:
            spec.save(scratch)
            contents = {file.name: file.read_bytes() for file in sorted(Path(scratch).iterdir())}
            with zipfile.ZipFile(Path(scratch) / place.name, "w") as archive:
                for name, data in contents.items():
                    archive.writestr(name, data)
            (Path(scratch) / place.name).replace(place)
    except OSError as error:
        why = error.strerror or error
        raise InputError(
            f"{place.parent}: the converted model cannot be stored there ({why}); "
            "set XDG_CACHE_HOME, or use --translator transformers"
        ) from None
    return contents


def _intact(place: Path) -> dict[str, bytes] | None:
    """The files of an archive; None if there is none, or not a whole one."""
    try:
        with zipfile.ZipFile(place) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (OSError, EOFError, zipfile.BadZipFile):
        return None


def _remove_abandoned(cache: Path) -> None:
    for scratch in cache.glob(".*/"):
        with suppress(OSError):  # another process removes the same
            if time.time() - scratch.stat().st_mtime > ABANDONED_SECONDS:
                shutil.rmtree(scratch)


def _specification(path: Path, vocabulary: Vocabulary) -> ctranslate2.specs.ModelSpec:
    """A model as CTranslate2 describes it.

    CTranslate2's own converter for MarianMT leaves the padding token out, which has to be the last one, and starts
    from an embedding of zeros in its place. Here it stays: a model trained by transformers has learnt another one.
    """
    import torch
    from ctranslate2.converters.transformers import BartLoader

    from augment.translate.pytorch import load_model

    with quiet_transformers(), torch.no_grad():
        model = load_model(path)
        model.config.normalize_before = model.config.normalize_embedding = False
        try:
            spec = BartLoader().get_model_spec(model)
            spec.config.unk_token = vocabulary.unknown
            spec.config.eos_token = vocabulary.source[vocabulary.end]
            spec.config.decoder_start_token = vocabulary.target[model.config.decoder_start_token_id]
            spec.register_source_vocabulary(vocabulary.source)
            spec.register_target_vocabulary(vocabulary.target)
            spec.validate()
        except (KeyError, ValueError, IndexError, AttributeError) as error:
            raise InputError(
                f"--models: {path} is nothing that CTranslate2 can convert ({error}); use --translator transformers"
            ) from None
        spec.optimize()
        return spec
