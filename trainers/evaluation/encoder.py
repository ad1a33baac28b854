"""Sentence vectors for evaluation: any sentence-transformers or plain transformers model, each distinct text once."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pipelines.console import InputError, TwinviewsError, note
from trainers.evaluation.graded import file_sha256
from trainers.evaluation.hub import first_line
from trainers.pretrained import STARTER, starter_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer

Precision = Literal["fp32", "bf16"]
PoolingMode = Literal["mean", "cls"]


@dataclass(frozen=True, slots=True)
class Encoder:
    """A loaded model, and what a reader of its scores must know about it."""

    model: SentenceTransformer
    name: str
    pooling: str
    precision: Precision
    directory: Path | None
    weights: dict[str, str]

    def encode(
        self,
        texts: Iterable[str],
        *,
        batch_size: int = 256,
        batch_tokens: int = 8192,
        advance: Callable[[int], None] = lambda count: None,
    ) -> dict[str, NDArray[np.float32]]:
        """Map every distinct text to its vector (float32, not normalised).

        Texts are sorted by length and packed into batches of at most `batch_size` texts and `batch_tokens` tokens,
        padding included. `advance` is called with the number of texts done.

        Raises:
            TwinviewsError: The model gives vectors that are not finite.
        """
        import torch

        device = self.model.device
        distinct = list(dict.fromkeys(texts))
        vectors: dict[str, NDArray[np.float32]] = {}
        # Autocast off still is a context of its own: a model's own dtype then decides.
        mixed = torch.autocast(device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16")
        prompt = self.model.prompts[self.model.default_prompt_name] if self.model.default_prompt_name else None
        self.model.eval()
        with torch.inference_mode(), mixed:
            for batch in pack(distinct, self._lengths(distinct), batch_size, batch_tokens):
                features = self.model.preprocess(batch, prompt=prompt)
                features = {
                    key: value.to(device) if torch.is_tensor(value) else value for key, value in features.items()
                }
                output = self.model(features)["sentence_embedding"].float().cpu().numpy()
                if not np.isfinite(output).all():
                    raise TwinviewsError(f"{self.name} gives NaN or infinity, for one: {batch[0][:60]!r}")
                vectors.update(zip(batch, output[:, : self.model.truncate_dim], strict=True))
                advance(len(batch))
        return vectors

    def _lengths(self, texts: Sequence[str]) -> list[int]:
        tokenizer = self.model.tokenizer
        if not callable(tokenizer):  # static word vectors: nothing is padded
            return [1 + len(text.split()) for text in texts]
        limit = self.model.max_seq_length
        with _quiet():
            ids = tokenizer(list(texts), add_special_tokens=True, return_attention_mask=False)["input_ids"]
        return [min(len(row), limit) if limit else len(row) for row in ids]


def pack(texts: Sequence[str], lengths: Sequence[int], batch_size: int, batch_tokens: int) -> Iterator[list[str]]:
    """Yield batches, longest texts first, of at most `batch_size` texts and `batch_tokens` padded tokens.

    A text longer than `batch_tokens` makes a batch of its own.
    """
    batch: list[str] = []
    width = 0
    # Longest first: a batch too large for the memory shows at once, not after an hour.
    for index in sorted(range(len(texts)), key=lambda position: -lengths[position]):
        if batch and (len(batch) == batch_size or width * (len(batch) + 1) > batch_tokens):
            yield batch
            batch = []
        width = width if batch else lengths[index]
        batch.append(texts[index])
    if batch:
        yield batch


def cosines(
    vectors: Mapping[str, NDArray[np.float32]], first: Sequence[str], second: Sequence[str]
) -> NDArray[np.float64]:
    """Return the cosine of each pair of texts; exactly 1 for two equal texts, 0 where a vector is zero."""
    one = np.stack([vectors[text] for text in first]).astype(np.float64)
    two = np.stack([vectors[text] for text in second]).astype(np.float64)
    dots, squares = np.einsum("ij,ij->i", one, two), np.einsum("ij,ij->i", one, one) * np.einsum("ij,ij->i", two, two)
    return np.asarray(np.divide(dots, np.sqrt(squares), out=np.zeros_like(dots), where=squares > 0))


def load_encoder(
    name: str, *, pooling: PoolingMode | None = None, precision: Precision = "fp32", device: str = "auto"
) -> Encoder:
    """Load a sentence-transformers directory or Hub name, or a plain transformers one (mean pooling by default).

    Weights come from safetensors only and are held in float32; no code that came with a model is run. Padding never
    enters a mean. `starter` names the bundled encoder unless a folder of that name is here.

    Args:
        name: Directory, Hub name or `starter`.
        pooling: Pool like this instead of what the model says; whatever stood after the pooling is left out.
        precision: `bf16` runs the forward passes under bfloat16 autocast.
        device: `auto`, `cpu`, `cuda`, `cuda:1`, `mps`.

    Raises:
        InputError: No such model, or it cannot be loaded.
    """
    directory, path = _locate(name)
    if directory is not None:
        _check_directory(directory)
        if pooling is None and not (directory / "modules.json").exists():
            note(f"{name} is a plain transformers model: its vectors are masked means (--pooling mean|cls)")
    from safetensors import SafetensorError
    from sentence_transformers import SentenceTransformer

    try:
        with _quiet():
            model = SentenceTransformer(
                path,
                device=None if device == "auto" else device,
                trust_remote_code=False,
                local_files_only=directory is not None,
                model_kwargs={"use_safetensors": True},
            )
    except (OSError, ValueError, RuntimeError, ImportError, SafetensorError) as error:
        raise InputError(
            f"cannot load the model {name!r} ({first_line(error)}): give a directory or a Hub name with safetensors"
        ) from error
    if pooling is not None:
        model = _repooled(model, pooling)
    model.float()
    weights = _revision(model) if directory is None else _checksums(directory)
    return Encoder(model, name, _pooling_name(model), precision, directory, weights)


def _locate(name: str) -> tuple[Path | None, str]:
    """Return the model's directory, if it is one, and what to load."""
    path = Path(name).expanduser()
    if path.is_dir():
        return path, str(path)
    if name == STARTER:
        bundled = starter_folder()
        return bundled, str(bundled)
    # What cannot be a Hub name, or is a mistyped run of ours, is not looked up there.
    if path.is_file() or name.startswith(("/", ".", "~", "runs/")) or name.count("/") > 1:
        raise InputError(f"no model directory {name!r}: give a directory that holds one, or a Hub name")
    return None, name


def _check_directory(directory: Path) -> None:
    if not (directory / "modules.json").exists() and not (directory / "config.json").exists():
        raise InputError(f"{directory} holds no model (no modules.json, no config.json): give the directory of one")
    if not any(directory.rglob("*.safetensors")):
        raise InputError(f"{directory} has no *.safetensors: weights are read from safetensors only")


def _repooled(model: SentenceTransformer, pooling: PoolingMode) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    first = model[0]
    width = getattr(first, "get_embedding_dimension", lambda: None)()
    if width is None or getattr(first, "module_output_name", None) != "token_embeddings":
        raise InputError(f"{type(first).__name__} gives no token vectors to pool: leave --pooling out")
    dropped = [
        type(module).__name__ for module in list(model)[1:] if type(module).__name__ not in ("Pooling", "Normalize")
    ]
    if dropped:
        note(f"--pooling {pooling} leaves out the model's own {', '.join(dropped)}")
    return SentenceTransformer(modules=[first, Pooling(width, pooling)], device=str(model.device))


def _pooling_name(model: SentenceTransformer) -> str:
    modes = [module.pooling_mode for module in model if type(module).__name__ == "Pooling"]
    return "+".join(mode if isinstance(mode, str) else "+".join(mode) for mode in modes) or "none"


def _revision(model: Any) -> dict[str, str]:  # noqa: ANN401 - a model of another library, possibly without a config
    commit = getattr(getattr(model[0], "config", None), "_commit_hash", None)
    return {"revision": str(commit)} if commit else {}


def _checksums(directory: Path) -> dict[str, str]:
    """Return the sha256 of each weights file of a model; a run's intermediate checkpoints are not the model."""
    names = [path.relative_to(directory) for path in sorted(directory.rglob("*.safetensors"))]
    return {str(name): file_sha256(directory / name) for name in names if "checkpoint" not in str(name)}


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence what the libraries say of unused heads, default pooling and long texts: all of it is expected here."""
    from transformers.utils import logging as transformers_logging

    level, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    log = logging.getLogger("sentence_transformers")
    before = log.level
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()
        log.setLevel(before)
