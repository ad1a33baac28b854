"""Where an encoder is: a directory, the bundled starter, or a name on the Hub.

And which pooling it was made for.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augment.errors import one_line
from augment.models.weights import find_encoder
from pipelines.base.console import InputError
from trainers.settings import Pooling

STARTER = "starter"
RECIPE, LOG, TIME = "recipe.json", "log.jsonl", "time.jsonl"
"""What a run's directory holds beside its encoder."""
COMMIT = 40  # hex digits
OLDER = re.compile("^pooling_mode_|(?<=cls|ean|max)_tokens?$")


@dataclass(frozen=True, slots=True)
class Source:
    """An encoder by the name that a user gave it: its folder, and its revision: a Hub commit, or a content hash."""

    name: str
    folder: Path
    revision: str

    @property
    def is_of_hub(self) -> bool:
        """Whether the folder is in the cache of the Hub."""
        return len(self.revision) == COMMIT

    def modules(self) -> list[tuple[str, str]]:
        """Return class and folder of each module, none for a bare transformer.

        Raises InputError if damaged.
        """
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

    @property
    def transformer(self) -> Path:
        """The folder of the transformer."""
        return self.folder.joinpath(*(folder for _, folder in self.modules()[:1]))

    def _json(self, name: str) -> Any:  # noqa: ANN401 - whatever the file holds
        file = self.folder / name
        try:
            return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{file} is damaged ({one_line(error, 200)}): download it again") from None


def locate(name: str | None) -> Source:
    """Find a directory, an installed model (None: the starter) or a Hub name.

    InputError for none that is safe.
    """
    folder = Path(name or STARTER).expanduser()
    # A mistyped run is not looked up on the Hub.
    if name and not folder.is_dir() and (folder.exists() or name.startswith((".", "/", "~", "runs/"))):
        raise InputError(f"no model directory {name!r}: give a directory that holds one, or a Hub name")
    outer = folder.resolve().parent
    if (
        name
        and folder.is_dir()
        and folder.resolve().name in (path for _, path in Source(name, outer, "").modules())
    ):
        advice = "give that, or for the transformer alone a copy of it elsewhere"
        raise InputError(f"{name} is a part of the encoder {outer}: {advice}")
    for place in (folder, *folder.glob("*[0-9]_*")) if name else ():
        if (place / "adapter_config.json").is_file():
            advice = "merge it into its encoder with peft, and save that"
            raise InputError(f"{name} is an adapter, not an encoder: {advice}")
    return Source(name or STARTER, *find_encoder(name or STARTER, flag=""))
