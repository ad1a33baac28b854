"""MarianMT on CTranslate2: greedy and beam search on a CPU, with a converted model from the user's cache."""

from collections.abc import Sequence
from pathlib import Path

import ctranslate2

from augment.errors import InputError
from augment.models.device import COMPUTE_TYPES, padded, usable_cores
from augment.models.loading import loading
from augment.models.weights import cached_copy, local_weights
from augment.translate.decoding import Decoding, Vocabulary

LARGE_MODEL_BYTES = 100_000_000
"""Float32 weights of so many bytes do not fit into the caches of a CPU; Opus-MT's have three times as many."""


class CTranslate2Engine:
    """A model on as many threads as this process may use; raises InputError if CTranslate2 cannot load it."""

    length_step = 4  # sources are padded to a multiple of this many tokens
    beam_tokens = 4_096  # source tokens of a batch times beams, if there are several; else `batch_tokens`

    def __init__(self, path: Path, vocabulary: Vocabulary, precision: str, revision: str | None) -> None:
        self.threads = usable_cores()
        self._vocabulary = vocabulary
        self._ids = {token: number for number, token in enumerate(vocabulary.target)}
        self._suppressed = [[vocabulary.target[number]] for number in vocabulary.suppress_tokens]
        folder = converted(path, vocabulary, revision or local_weights(path, "--models").revision)
        # Batches that stay in the caches are faster than large ones, unless it is the weights that do not fit
        # there.
        self.batch_tokens = 1_024 if (folder / "model.bin").stat().st_size < LARGE_MODEL_BYTES else 2_048
        with loading(f"CTranslate2's copy of the model, {folder}", folder):
            self._translator = ctranslate2.Translator(
                str(folder), compute_type=COMPUTE_TYPES[precision], inter_threads=self.threads, intra_threads=1
            )

    def search(
        self, sources: Sequence[Sequence[int]], decoding: Decoding, seeds: Sequence[int]
    ) -> list[list[list[int]]]:
        """The hypotheses of every source, the best first; several threads may search at once.

        Sources are token ids of one padded length, and so are hypotheses, with the end token if they reached
        it.
        """
        limit = self._vocabulary.limit
        width = padded(len(sources[0]), limit, self.length_step)
        # CTranslate2 pads to the longest source of a batch, and the width changes the rounding. Where no
        # source is that long, a row of end tokens keeps the width the same.
        fillers = [] if any(len(source) == width for source in sources) else [[self._vocabulary.end] * width]
        results = self._translator.translate_batch(
            [[self._vocabulary.source[token] for token in source] for source in (*sources, *fillers)],
            beam_size=decoding.num_beams,
            num_hypotheses=decoding.hypotheses,
            repetition_penalty=decoding.repetition_penalty,
            suppress_sequences=self._suppressed,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=self._vocabulary.max_length(padded(width, limit), decoding.length),
            return_end_token=True,
        )
        return [
            [[self._ids[token] for token in tokens] for tokens in result.hypotheses]
            for result in results[: len(sources)]
        ]


def converted(path: Path, vocabulary: Vocabulary, revision: str) -> Path:
    """A model in the user's cache in CTranslate2's format, float32.

    Raises InputError if it cannot be made there.
    """
    return cached_copy(revision, lambda draft: _convert(path, vocabulary, draft))


def _convert(path: Path, vocabulary: Vocabulary, draft: Path) -> None:
    """Write a model as CTranslate2 describes it.

    CTranslate2's own converter for MarianMT drops the padding token, which has to be the last one, and starts
    from a zero embedding instead. This one does not, because a model trained by transformers has learnt
    another start.
    """
    import torch
    from ctranslate2.converters.transformers import BartLoader

    from augment.translate.pytorch import load_marian

    model = load_marian(path)
    model.config.normalize_before = model.config.normalize_embedding = False
    try:
        with torch.no_grad():
            spec = BartLoader().get_model_spec(model)
        spec.config.unk_token = vocabulary.unknown
        spec.config.eos_token = vocabulary.source[vocabulary.end]
        spec.config.decoder_start_token = vocabulary.target[model.config.decoder_start_token_id]
        spec.register_source_vocabulary(vocabulary.source)
        spec.register_target_vocabulary(vocabulary.target)
        spec.validate()
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        problem = f"CTranslate2 cannot convert it ({error})"
        raise InputError(f"--models {path}: {problem}; use --translator transformers") from None
    spec.optimize()
    spec.save(str(draft))
