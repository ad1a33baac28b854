"""`train push`: publish a trained encoder on the Hugging Face Hub."""

import json
from pathlib import Path
from typing import Annotated

import typer
from huggingface_hub import ModelCard
from yaml import YAMLError

from augment.errors import one_line
from augment.record import Record, check_folder_files
from pipelines.base.console import ConfigOption, InputError, show
from pipelines.base.files import RECORD, read_json
from pipelines.base.options import Options, with_options
from pipelines.base.publish import publish
from pipelines.base.record import output_record
from trainers.encoders.location import LOG, RECIPE, TIME
from trainers.training.directory import DONE, without_paths

CARD = "README.md"


class PushOptions(Options):
    """What is published, and where."""

    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY")]
    """Directory of a finished run."""
    repository: Annotated[str, typer.Argument(metavar="hf:NAME")]
    """Where to: hf:USER/MODEL."""
    public: bool = False
    """Let everybody see it; it is private otherwise."""
    license: Annotated[str | None, typer.Option(metavar="apache-2.0|...")] = None
    """Licence for the model card, by the Hub's name."""
    dry_run: bool = False
    """List the files; send nothing."""
    config: ConfigOption = None


@with_options
def push(options: PushOptions) -> None:
    """Publish a run's encoder with its model card on the Hugging Face Hub, private unless --public is given.

    Only what a training writes is sent: the encoder, its card, and its recipe, in which paths become names of
    files. The token is that of `hf auth login`, or HF_TOKEN.

    Example: train push runs/bsl hf:USER/my-encoder
    """
    name, card_file = options.repository.removeprefix("hf:"), options.directory / CARD
    if name in (options.repository, ""):
        raise InputError(f"cannot push to {options.repository!r}: give hf:USER/MODEL")
    contents = published(options.directory)
    try:
        card = ModelCard.load(card_file)
    except (ValueError, YAMLError) as error:
        raise InputError(
            f"{card_file}: its header is not valid YAML ({one_line(error, 200)}): correct it"
        ) from None
    card.data.license = options.license or card.data.license
    if options.public and not card.data.license:
        raise InputError(f"{card_file} names no licence: --public needs one, as --license apache-2.0")
    contents[CARD] = str(card).encode()
    if options.dry_run:
        show("\n".join(sorted(contents)))
        return
    message = "Upload an encoder with Twinviews"
    url = publish(name, contents, message, kind="model", public=options.public)
    show(f"{url}: {len(contents)} files, {'public' if options.public else 'private'}")


def published(directory: Path) -> dict[str, Path | bytes]:
    """Return what is published of a run, by name: files, and its recipe without paths.

    Raises InputError for others.
    """
    recipe = read_json(directory / RECIPE)
    for name in (RECIPE, DONE, CARD, RECORD, "*.safetensors"):
        if not any(directory.glob(name)) or not isinstance(recipe, dict):
            raise InputError(f"{directory} is not a finished run, it has no {name}: give a run's directory")
    check_folder_files(directory)
    record = output_record(directory) or Record()
    sent = {name: file for name, file in record.files.items() if name not in (LOG, TIME)}
    checked = {name: file for name, file in sent.items() if name not in (CARD, RECIPE)}
    recipe_text = json.dumps(without_paths(recipe), indent=2, ensure_ascii=False) + "\n"
    return {
        **{name: directory / name for name in sent},
        RECORD: Record(files=checked).to_json().encode(),
        RECIPE: recipe_text.encode(),
    }
