"""Encoders on disk and on the Hub: found, loaded in float32, and written for sentence-transformers."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

import torch
import xxhash
from safetensors import SafetensorError

from pipelines.console import InputError, note
from trainers.encoders.encoder import Encoder, Pooling
from trainers.encoders.layout import WEIGHTS, Layout, load_after, load_convolutions, read_layout
from trainers.encoders.modules import all_layers, modules_of
from trainers.processes import is_first

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

STARTER = "starter"
PICKLE = "pytorch_model.bin"
UNREADABLE = (OSError, ValueError, RuntimeError, LookupError, TypeError, EOFError, UnpicklingError, SafetensorError)
"""What the libraries raise over files of a model that are damaged or of another kind."""
SAVING = ".saving-"
"""How the folder of an unfinished save begins."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where an encoder's weights are: what `from_pretrained` takes, and how a directory's parts are laid out."""

    name: str
    path: str
    layout: Layout = field(default_factory=Layout)

    @property
    def subfolder(self) -> str:
        """The folder of the transformer inside `path`."""
        return self.layout.transformer

    @property
    def folder(self) -> Path | None:
        """The local folder of the transformer, or None for a name on the Hub."""
        folder = Path(self.path, self.subfolder)
        return folder if folder.is_dir() else None

    @property
    def pickled(self) -> bool:
        """Whether the transformer is in a local folder that has its weights in a pickle alone."""
        return self.folder is not None and pickled(self.folder)

    def digest(self) -> str | None:
        """Return what pins the weights: a hash of local ones, 16 hex digits, or the commit of a Hub name.

        None where a Hub name is not in the cache and the Hub does not answer.
        """
        if self.folder is None:
            snapshot = hub_snapshot(self.path)
            return None if snapshot is None else f"commit:{snapshot.name}"
        # Either the file or its parts and their index.
        files = sorted(self.folder.glob("model.safetensors")) or sorted(self.folder.glob("model*.safetensors*"))
        files = files or [self.folder / PICKLE]
        files += [Path(self.path, folder, WEIGHTS) for folder in self.layout.weights()]
        state = xxhash.xxh64()
        for weights in filter(Path.is_file, files):
            with weights.open("rb") as stream:
                while block := stream.read(1 << 20):
                    state.update(block)
        return state.hexdigest() if files else None


def pickled(folder: Path) -> bool:
    """Whether a model's folder has its weights in a pickle alone, which is read as weights or not at all."""
    return (folder / PICKLE).is_file() and not any(folder.glob("model*.safetensors"))


def hub_snapshot(name: str) -> Path | None:
    """Return the cached folder of the Hub's newest revision of a model, named by its commit; None if there is none.

    What it holds is what was asked for so far, the configuration at the least.
    """
    from transformers.utils import cached_file

    try:
        with quiet():
            config = cached_file(name, "config.json")
    except (OSError, ValueError):
        return None
    # A symbolic link into the cache's blobs: its own place tells the commit.
    return None if config is None else Path(config).parent


def starter_folder() -> Path:
    """The folder of the bundled starter encoder; raises InputError if this installation has none."""
    starter = Path(str(resources.files("augment").joinpath("starter", "encoder")))
    if not (starter / "config.json").is_file():
        raise InputError("this installation has no starter encoder: name one, such as --encoder bert-base-uncased")
    return starter


def locate(name: str | None) -> Source:
    """Find an encoder: a directory (transformers or sentence-transformers), a Hub name, or the starter.

    None is the starter, and so is "starter" unless a directory of that name is here.

    Raises:
        InputError: No such directory, no model in it, or no starter in this installation.
    """
    if name is None or (name == STARTER and not Path(name).is_dir()):
        return Source(STARTER, str(starter_folder()))
    path = Path(name).expanduser()
    if not path.is_dir():
        if path.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1:
            raise InputError(f"no encoder directory {name!r}: give a model's directory, or a Hub name")
        return Source(name, name)
    layout = read_layout(path)
    if not (path / layout.transformer / "config.json").is_file():
        raise InputError(f"{name!r} holds no model (no config.json): give the directory of one, or a Hub name")
    return Source(name, str(path), layout)


def load_encoder(source: Source, *, pooling: Pooling, max_tokens: int) -> Encoder:
    """Load an encoder in float32 (whatever type its weights are stored in), from safetensors.

    A directory that has a pickle alone is read from that, as weights and nothing else: no code in it is run.

    A CNN before the pooling and layers after it come along; the pooling is the one asked for, and a line says so if
    the directory's own is another.

    Raises:
        InputError: It cannot be loaded, or has fewer positions than `max_tokens`.
    """
    from transformers import AutoModel

    path, layout = _parts(source)
    model = _pretrained(AutoModel, replace(source, layout=layout))
    tokenizer = load_tokenizer(replace(source, layout=layout), model)
    after = load_after(path, layout)
    encoder = Encoder(model, tokenizer, pooling, max_tokens, load_convolutions(path, layout), after)
    width = encoder.token_dimension
    for module in after:
        if getattr(module, "in_features", width) != width:
            raise InputError(
                f"the {type(module).__name__} layer of {source.name!r} takes {module.in_features} dimensions and gets "
                f"{width}: such a pooling ({layout.pooled}) cannot be trained here"
            )
        width = int(getattr(module, "out_features", width))
    if layout.pooled not in (None, pooling) and is_first():
        note(f"{source.name} was made for {layout.pooled} pooling and is trained with {pooling} (--pooling)")
    return encoder


def _parts(source: Source) -> tuple[Path, Layout]:
    """Return where the parts of an encoder are on this machine; those of a Hub's model are fetched."""
    if source.folder is not None:
        return Path(source.path), source.layout
    snapshot = hub_snapshot(source.path)
    if snapshot is None:
        return Path(source.path), source.layout
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        with quiet():
            # Everything but the transformer's own weights: these are fetched where they are loaded.
            wanted = ["modules.json", "*/*.json", "*/model.safetensors"]
            snapshot_download(
                source.path, revision=snapshot.name, allow_patterns=wanted, ignore_patterns=["onnx/*", "openvino/*"]
            )
    except (OSError, HfHubHTTPError, LocalEntryNotFoundError) as error:
        raise InputError(f"cannot fetch the encoder {source.name!r} ({_first_line(error)})") from None
    return snapshot, read_layout(snapshot)


def load_masked_lm(source: Source) -> PreTrainedModel:
    """Load a model with its masked-LM head; an encoder without one gets a new head over its tied word embeddings.

    Raises:
        InputError: It cannot be loaded, or its architecture has no such head.
    """
    from transformers import AutoModelForMaskedLM

    if (source.layout.cnn is not None or source.layout.after) and is_first():
        note(f"{source.name} has layers after its transformer: a masked LM leaves them out")
    return _pretrained(AutoModelForMaskedLM, source)


def _pretrained(auto: Any, source: Source) -> PreTrainedModel:  # noqa: ANN401 - one of transformers' Auto classes
    try:
        with quiet(), warnings.catch_warnings(action="ignore"):
            model: PreTrainedModel
            model, found = auto.from_pretrained(
                source.path,
                subfolder=source.subfolder,
                dtype=torch.float32,
                use_safetensors=not source.pickled,
                weights_only=True,
                trust_remote_code=False,
                local_files_only=source.folder is not None,
                output_loading_info=True,
            )
        if set(found["missing_keys"]).issuperset(name for name, _ in model.named_parameters()):
            raise ValueError("none of its weights are those of its configuration")
    except UNREADABLE as error:
        why = f"a damaged file, or a {PICKLE} of more than weights" if source.pickled else _first_line(error)
        raise InputError(
            f"cannot load the encoder {source.name!r} ({why}): give a directory or a Hub name that has safetensors"
        ) from None
    return model


def load_tokenizer(source: Source, model: PreTrainedModel) -> PreTrainedTokenizerBase:
    """Load the tokenizer that belongs to `model`.

    Raises:
        InputError: There is none, or its vocabulary does not fit the model's.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            source.path,
            subfolder=source.subfolder,
            trust_remote_code=False,
            local_files_only=source.folder is not None,
        )
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"the encoder {source.name!r} has no usable tokenizer ({_first_line(error)})") from None
    known = int(model.config.vocab_size)
    # A tokenizer whose files were not found comes with its special tokens alone.
    if len(tokenizer) > known or len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise InputError(
            f"the tokenizer of {source.name!r} has {len(tokenizer)} tokens, its model {known}: "
            "they do not belong together"
        )
    if tokenizer.pad_token_id is None:
        raise InputError(f"the tokenizer of {source.name!r} has no padding token: sentences cannot be batched")
    return tokenizer


def describe_starter(encoder: Encoder) -> None:
    """Say on stderr that the bundled starter is used, and the flag for a real one."""
    layers = getattr(encoder.model.config, "num_hidden_layers", "?")
    note(
        f"encoder: the bundled starter ({layers} layers, {encoder.model.config.hidden_size} dimensions); "
        "--encoder bert-base-uncased takes BERT"
    )


def save_encoder(encoder: Encoder, path: Path, card: str, masked_lm: PreTrainedModel | None = None) -> None:
    """Write a sentence-transformers directory with the pooling baked in; `SentenceTransformer(path)` alone loads it.

    Args:
        encoder: What to save; its weights are written in float32, as safetensors.
        path: The directory; files of the same names are replaced, `modules.json` last, so that it marks completion.
        card: The README.
        masked_lm: The model around the encoder, to be written with its head instead of the bare encoder.
    """
    from sentence_transformers import SentenceTransformer

    path.mkdir(parents=True, exist_ok=True)
    for killed in path.glob(f"{SAVING}*"):
        shutil.rmtree(killed, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=path, prefix=SAVING) as folder, quiet(), all_layers(encoder):
        plain, whole = Path(folder, "plain"), Path(folder, "whole")
        encoder.model.save_pretrained(plain)
        encoder.tokenizer.save_pretrained(plain)
        model = SentenceTransformer(modules=modules_of(encoder, plain), device="cpu")
        model.save_pretrained(str(whole), create_model_card=False)
        if masked_lm is not None:
            masked_lm.save_pretrained(whole)
        (whole / "README.md").write_text(card, encoding="utf-8")
        ordinary = (whole / "README.md").stat().st_mode
        for weights in whole.glob("*.safetensors"):
            # safetensors writes files that nobody but their owner may read.
            weights.chmod(ordinary)
        for item in sorted(whole.iterdir(), key=lambda item: item.name == "modules.json"):
            if item.is_dir():
                shutil.rmtree(path / item.name, ignore_errors=True)
            os.replace(item, path / item.name)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the libraries' reports of new and unused heads: a bare encoder has neither."""
    from transformers.utils import logging as transformers_logging

    level, log = transformers_logging.get_verbosity(), logging.getLogger("sentence_transformers")
    before, bars = log.level, transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        log.setLevel(before)
        if bars:
            transformers_logging.enable_progress_bar()


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:200]
