"""Where an encoder is: a directory, the bundled starter, or a name on the Hub."""

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xxhash

from augment.models.device import quiet_transformers
from augment.models.weights import HUB_NAMES, cached_snapshot, hub_offer, installed_encoder
from pipelines.base.console import InputError
from trainers.settings import Pooling

STARTER = "starter"
PICKLE = "pytorch_model.bin"
RECIPE, LOG, TIME = "recipe.json", "log.jsonl", "time.jsonl"
"""What a run's directory holds beside its encoder; when a training ended is no .json, which a fingerprint
counts."""
DECIDING = (
    "*config*.json",
    "modules.json",
    "*token*.json",
    "vocab*",
    "merges.txt",
    "spiece.model",
    "*.bpe.model",
    "*.spm",
    "tokenizer.model",
    "*.safetensors",
    "*.safetensors.index.json",
    PICKLE,
)
"""The files beside `modules.json` that decide a vector; of the folders below it that are modules, all do."""
WEIGHTS = (".safetensors", ".bin")
OLDER = re.compile("^pooling_mode_|(?<=cls|ean|max)_tokens?$")


@dataclass(frozen=True, slots=True)
class Source:
    """An encoder's place: `path` is what `from_pretrained` takes, `folder` the same for a local directory."""

    name: str
    path: str
    folder: Path | None = None

    def file(self, name: str) -> Path | None:
        """Return a file of the model, from the cache for a Hub name; None if it is missing or out of reach."""
        from transformers.utils import cached_file

        with quiet_transformers(), suppress(OSError, ValueError):
            path = cached_file(self.path, name)
            return None if path is None else Path(path)
        return None

    def check(self) -> None:
        """Raise InputError for a Hub name that neither the cache nor the Hub has, Unreachable if it cannot be asked."""
        if self.folder is None and cached_snapshot(self.path) is None:
            hub_offer(self.path)

    def modules(self) -> list[tuple[str, str]]:
        """Return class and folder of each module, none for a bare transformer; raises InputError if damaged."""
        try:
            return [
                (entry["type"].rpartition(".")[2], entry["path"]) for entry in self._json("modules.json") or []
            ]
        except (LookupError, TypeError, AttributeError):
            raise InputError(
                f"{self.name}: its modules.json is not a list of modules: download it again"
            ) from None

    def pooling(self) -> Pooling:
        """Return the pooling that a model was made for, trainable or not; [CLS] for a bare transformer."""
        for kind, folder in self.modules():
            config = self._json(f"{folder}/config.json") if folder else {}
            settings = config if isinstance(config, dict) else {}
            if kind == "WeightedLayerPooling":
                return "first-last"
            if settings.get("module_output_name") == "attention_mask":
                return "padded-mean"
            if kind == "Pooling":
                if config is None:
                    raise InputError(f"{self.name} has no {folder}/config.json: download it again")
                # Before version 5.4 of sentence-transformers, such as `pooling_mode_cls_token`.
                older = [
                    OLDER.sub("", name) for name, is_used in settings.items() if is_used and OLDER.search(name)
                ]
                modes = settings.get("pooling_mode") or older or "mean"
                return modes if isinstance(modes, str) else "+".join(modes)  # type: ignore[return-value]
        return "cls"

    def _json(self, name: str) -> Any:  # noqa: ANN401 - whatever the file holds
        file = self.file(name)
        try:
            return None if file is None else json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{file} is damaged ({first_line(error)}): download it again") from None

    @property
    def transformer(self) -> Path | None:
        """The local folder of the transformer."""
        return (
            None if self.folder is None else Path(self.folder, *(folder for _, folder in self.modules()[:1]))
        )

    def files(self) -> dict[str, Path]:
        """Return all local files that decide a vector, by name: weights, settings, prompts and tokenizers."""
        if self.folder is None:
            return {}
        paths = {path for pattern in DECIDING for path in self.folder.glob(pattern)}
        paths.update(*((self.folder / folder).rglob("*") for _, folder in self.modules() if folder))
        # A pickle beside safetensors is not read.
        files = (
            path
            for path in sorted(paths)
            if path.is_file() and not (path.suffix == ".bin" and any(path.parent.glob("*.safetensors")))
        )
        return {path.relative_to(self.folder).as_posix(): path for path in files}

    def digest(self) -> str | None:
        """Return a hash of the local `files`, 16 hex digits, or a Hub name's commit; None if that is out of reach."""
        if self.folder is None:
            config = self.file("config.json")
            return None if config is None else f"commit:{config.parent.name}"
        state = xxhash.xxh64()
        for name, path in self.files().items():
            state.update(f"{name}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as stream:
                while block := stream.read(1 << 20):
                    state.update(block)
        return state.hexdigest()


def pickled(folder: Path | None) -> bool:
    """Whether a transformer's weights are in a local folder, and only in a pickle."""
    return folder is not None and (folder / PICKLE).is_file() and not any(folder.glob("model*.safetensors"))


def locate(name: str | None) -> Source:
    """Find a directory, an installed model (None: the starter) or a Hub name; InputError for none that is safe."""
    installed = installed_encoder(name or STARTER)
    if name is None or (installed is not None and not Path(name).is_dir()):
        return Source(name or STARTER, str(installed), installed)
    path = Path(name).expanduser()
    if not path.is_dir():
        # A name that cannot be on the Hub, or is a mistyped run, is not looked up.
        if path.exists() or name.startswith((".", "/", "~", "runs/")) or name.count("/") > 1:
            raise InputError(f"no model directory {name!r}: give a directory that holds one, or a Hub name")
        return Source(name, HUB_NAMES.get(name, name))
    source = Source(name, str(path), path)
    if (path / "adapter_config.json").is_file() or Path(
        source.transformer or path, "adapter_config.json"
    ).is_file():
        raise InputError(
            f"{name} is an adapter, not an encoder: merge it into its encoder with peft, and save that"
        )
    configured = source.modules() or (path / "config.json").is_file()
    if not configured or not any(any(path.rglob(name)) for name in ("*.safetensors", PICKLE)):
        needed = f"modules.json or config.json, and with *.safetensors or {PICKLE}"
        raise InputError(f"{str(path)!r} holds no model: give a directory with {needed}")
    for _, folder in source.modules()[1:]:
        if any((path / folder).glob("*.bin")) and not any((path / folder).glob("*.safetensors")):
            raise InputError(f"{path / folder} has no safetensors file: no other weights are read there")
    return source


def first_line(error: Exception) -> str:
    """Return the first non-empty line of an error's message, cut to 200 characters."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:200]
