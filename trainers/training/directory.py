"""A run's directory: its recipe, its checkpoints, and whether it may be made, resumed, replaced or left alone."""

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from safetensors import SafetensorError, safe_open

from pipelines.console import InputError, TwinviewsError, note
from pipelines.lock import LOCK
from trainers.processes import is_first, of_first

RECIPE, DRAFT, DONE, CHECKPOINTS = "recipe.json", "recipe.json.tmp", "modules.json", "checkpoints"
WEIGHTS, STATE = "model.safetensors", "trainer_state.json"
LEFTOVERS = (CHECKPOINTS, ".saving-*", DRAFT)
"""What a killed run leaves behind and a finished one does not need."""
MADE = (
    *LEFTOVERS, "log.jsonl", "tensorboard", "evaluation", "report.html", "README.md", "config.json",
    "config_sentence_transformers.json", "generation_config.json", "modules.json", "sentence_bert_config.json",
    "model.safetensors", "model-*-of-*.safetensors", "model.safetensors.index.json", "tokenizer.json",
    "tokenizer_config.json", "tokenizer.model", "special_tokens_map.json", "added_tokens.json", "vocab.txt",
    "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model", "chat_template.jinja", "[1-9]_CNN",
    "[1-9]_Dense", "[1-9]_Dropout", "[1-9]_LayerNorm", "[1-9]_Normalize", "[1-9]_Pooling",
    "[1-9]_WeightedLayerPooling", "[1-9]_WordWeights",
)  # fmt: skip
"""All that a training and `train evaluate` write into a run's directory; `--overwrite` removes nothing else."""
FREE = frozenset({
    "views", "text", "words", "graded", "dev", "dev_data", "save_every", "report_to", "gradient_checkpointing",
    "stop_on_collapse",
})  # fmt: skip
"""Settings that may change when a run is resumed: paths (the data itself is compared), and what changes no result."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
UNWRITTEN = ("inline_container", "PytorchStreamWriter", "Error while serializing")
"""Parts of the messages with which torch and safetensors report a failed write, in errors other than OSError."""


def is_finished(out: Path, recipe: Mapping[str, Any], *, overwrite: bool, resume: bool) -> bool:
    """Check that a run's directory may be used, and return whether this very run is there, finished.

    Raises InputError where it holds something else or a run of another recipe, or is empty and `resume` is set.
    """
    standing = standing_recipe(out, ("preset", "pooling", "twinviews"))
    if standing is None and resume:
        raise InputError(f"nothing to resume in {str(out)!r}: leave --resume out, or give the run's --out")
    if standing is None or overwrite:
        return False
    check_same(out, _flat(standing), _flat(recipe))
    return (out / DONE).is_file()


def standing_recipe(out: Path, keys: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the recipe of the run in a directory, None where the directory is missing, empty or has a draft alone.

    A recipe of this kind of run has all of `keys`: other commands write a `recipe.json` too. Raises InputError where
    the directory holds anything else.
    """
    try:
        if not out.exists() or not {path.name for path in out.iterdir()} - {LOCK, DRAFT}:
            return None
    except OSError as error:
        raise InputError(f"cannot read {str(out)[:200]!r} ({error.strerror}): give another --out") from None
    try:
        recipe = json.loads((out / RECIPE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        recipe = None
    if not isinstance(recipe, dict) or not recipe.keys() >= {*keys}:
        raise InputError(f"{out} is not empty and no training run of this kind (by its {RECIPE}): give another --out")
    return recipe


def check_same(out: Path, old: Mapping[str, Any], new: Mapping[str, Any], *, what: str = "another recipe") -> None:
    """Raise InputError, naming a setting that differs, for a directory that was made with other settings.

    `old` are the settings as they were read back, `new` those asked for; `what` is what the directory would belong to.
    """
    # As it would be read back: a tuple is a list there.
    new = json.loads(json.dumps(new))
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            raise InputError(
                f"{out} belongs to {what} ({key} was {old.get(key)!r}, is now {new.get(key)!r}): "
                "use --overwrite, give it as it was, or give another --out"
            )


def _flat(recipe: Mapping[str, Any]) -> dict[str, Any]:
    notes = {f"{key} of this run": value for key, value in recipe["twinviews"].items() if key != "version"}
    return {**{key: value for key, value in recipe.items() if key not in FREE | {"twinviews"}}, **notes}


def begin(out: Path, recipe: Mapping[str, Any], made: Sequence[str] = MADE) -> None:
    """Remove what an earlier run made in the directory, and write the new one's recipe, whole or not at all."""
    remove(out, made)
    with (out / DRAFT).open("w", encoding="utf-8") as file:
        file.write(json.dumps(recipe, indent=2, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(out / DRAFT, out / RECIPE)


def remove(out: Path, made: Sequence[str]) -> None:
    """Remove what a run made, by patterns of names, from its directory; symbolic links are not followed."""
    found = {path for pattern in made for path in out.glob(pattern)}
    # First the file that marks a run as finished, in case the removal is interrupted.
    for path in sorted(found, key=lambda path: path.name != DONE):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Turn what the libraries raise over a full disk into one line, a TwinviewsError."""
    try:
        yield
    except Exception as error:
        text = str(error)
        if getattr(error, "errno", None) not in FULL and not any(said in text for said in UNWRITTEN):
            raise
        why = getattr(error, "strerror", None) or text.splitlines()[0]
        said = f"cannot write all of {out} ({why}): free space on its disk, then give the same command again"
        raise TwinviewsError(said) from error


def newest_checkpoint(out: Path) -> Path | None:
    """Return the newest whole checkpoint under a run's directory, in all processes.

    Unfinished ones, left by a crash, are removed; damaged ones are renamed, with a warning.
    """
    return of_first(_newest(out / CHECKPOINTS) if is_first() else None)  # type: ignore[no-any-return]


def _newest(folder: Path) -> Path | None:
    newest = None
    # All of them: whoever lists the folder later reads every one.
    for path in checkpoints(folder):
        # Trainer writes its state last.
        if not (path / STATE).exists():
            shutil.rmtree(path)
        elif (broken := _damaged_file(path)) is None:
            newest = newest or path
        else:
            aside = path.with_name(path.name.replace("checkpoint", "damaged"))
            shutil.rmtree(aside, ignore_errors=True)
            path.rename(aside)
            note(f"warning: {path} is damaged ({broken} cannot be read): renamed to {aside.name}")
    return newest


def _damaged_file(checkpoint: Path) -> str | None:
    """Return the name of a file that is missing, empty or cut short, None where all are whole."""
    generators = sorted(path.name for path in checkpoint.glob("rng_state*.pth")) or ["rng_state.pth"]
    for name in (STATE, WEIGHTS, "optimizer.pt", "scheduler.pt", *generators):
        try:
            if name == STATE:
                history_of(checkpoint)
            elif name == WEIGHTS:
                with safe_open(checkpoint / name, "pt"):
                    pass
            else:
                ZipFile(checkpoint / name).close()
        except (OSError, ValueError, LookupError, TypeError, SafetensorError, BadZipFile):
            return name
    return None


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints of a folder, the newest first, whatever state they are in."""
    steps = {path: path.name.removeprefix("checkpoint-") for path in folder.glob("checkpoint-*")}
    return sorted((path for path in steps if steps[path].isdigit()), key=lambda path: -int(steps[path]))


def history_of(checkpoint: Path) -> list[dict[str, float]]:
    """Return what had been logged when a checkpoint was written; its last entry is of the checkpoint's step."""
    history: list[dict[str, float]] = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))["log_history"]
    return history
