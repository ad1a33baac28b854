"""`train push`: publish a trained encoder on the Hugging Face Hub."""

from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated

import typer

from pipelines.terminal.console import ConfigOption, InputError, TwinviewsError, show
from trainers.encoders.location import first_line

LICENSE = "Licence for the model card, by the Hub's name."
LEFT_OUT = ["checkpoint*", "tensorboard/*", ".*", "*.tmp", "*.html"]
"""What only a training needs, and reports, which show training text; `*` matches slashes too."""


def push(
    directory: Annotated[Path, typer.Argument(help="Directory of a finished run.", metavar="DIRECTORY")],
    repository: Annotated[str, typer.Argument(help="Where to: hf:USER/MODEL.", metavar="hf:NAME")],
    public: Annotated[bool, typer.Option("--public", help="Let everybody see it; it is private otherwise.")] = False,
    license: Annotated[str | None, typer.Option(help=LICENSE, metavar="apache-2.0|...")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the files; send nothing.")] = False,
    config: ConfigOption = None,
) -> None:
    """Publish a run's encoder with its model card on the Hugging Face Hub, private unless --public is given.

    Checkpoints, optimiser states and reports stay here. The token is that of `hf auth login`, or HF_TOKEN.

    Example: train push runs/bsl hf:USER/my-encoder
    """
    from huggingface_hub import HfApi, get_token, metadata_load, metadata_save
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]
    from yaml import YAMLError

    name, card = repository.removeprefix("hf:"), directory / "README.md"
    if name == repository or not name:
        raise InputError(f"cannot push to {repository!r}: give hf:USER/MODEL")
    files = _files(directory, card)
    try:
        metadata = metadata_load(card) or {}
    except (ValueError, YAMLError) as error:
        raise InputError(f"{card}: its header is not valid YAML ({first_line(error)}): correct it") from None
    if public and not (license or metadata.get("license")):
        raise InputError(f"{card} names no licence: --public needs one, as --license apache-2.0")
    if dry_run:
        show("\n".join(files))
        return
    if get_token() is None:
        raise InputError("no token for the Hub: run `hf auth login`, or set HF_TOKEN")
    api = HfApi(library_name="twinviews")
    try:
        url = api.create_repo(name, private=not public, exist_ok=True)
        if api.repo_info(name).private is public:
            state, advice = ("private", "leave --public out") if public else ("public", "give --public")
            raise InputError(f"{url} exists and is {state}: {advice}, or another name")
        if license is not None:
            metadata_save(card, {**metadata, "license": license})
        api.upload_folder(repo_id=name, folder_path=directory, ignore_patterns=LEFT_OUT)
    # The client raises ValueError for impossible names, RuntimeError for a large file that cannot be sent.
    except (HTTPError, OSError, ValueError, RuntimeError) as error:
        raise TwinviewsError(f"cannot push to hf:{name} ({first_line(error)})") from error
    show(f"{url}: {len(files)} files, {'public' if public else 'private'}")


def _files(directory: Path, card: Path) -> list[str]:
    """Return what is published of a run, relative to its directory; raises InputError if it is not finished."""
    from huggingface_hub.utils import filter_repo_objects  # type: ignore[attr-defined]

    paths = sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
    files = list(filter_repo_objects(paths, ignore_patterns=LEFT_OUT))
    for pattern in ("modules.json", card.name, "*.safetensors"):
        if not any(fnmatch(path, pattern) for path in files):
            raise InputError(f"{directory} is not a finished run, it has no {pattern}: give a run's directory")
    return files
