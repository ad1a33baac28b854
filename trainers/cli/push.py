"""`train push`: publish a trained encoder on the Hugging Face Hub."""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from huggingface_hub import HfApi, get_token, metadata_load, metadata_save
from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]
from yaml import YAMLError

from pipelines.storage.files import check_sums, read_json
from pipelines.terminal.console import ConfigOption, InputError, TwinviewsError, show
from trainers.encoders.location import Source, first_line, locate
from trainers.training.directory import DONE, ENCODER, RECIPE, without_paths

LICENSE = "Licence for the model card, by the Hub's name."


def push(
    directory: Annotated[Path, typer.Argument(help="Directory of a finished run.", metavar="DIRECTORY")],
    repository: Annotated[str, typer.Argument(help="Where to: hf:USER/MODEL.", metavar="hf:NAME")],
    public: Annotated[bool, typer.Option("--public", help="Let everybody see it; it is private otherwise.")] = False,
    license: Annotated[str | None, typer.Option(help=LICENSE, metavar="apache-2.0|...")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the files; send nothing.")] = False,
    config: ConfigOption = None,
) -> None:
    """Publish a run's encoder with its model card on the Hugging Face Hub, private unless --public is given.

    Only what a training writes is sent: the encoder, its card, and its recipe, in which paths become names of files.
    The token is that of `hf auth login`, or HF_TOKEN.

    Example: train push runs/bsl hf:USER/my-encoder
    """
    name = repository.removeprefix("hf:")
    if name == repository or not name:
        raise InputError(f"cannot push to {repository!r}: give hf:USER/MODEL")
    with TemporaryDirectory() as folder:
        files = _copy_run(directory, Path(folder))
        card = Path(folder, "README.md")
        try:
            metadata = metadata_load(card) or {}
        except (ValueError, YAMLError) as error:
            problem = f"its header is not valid YAML ({first_line(error)}): correct it"
            raise InputError(f"{directory / card.name}: {problem}") from None
        if public and not (license or metadata.get("license")):
            raise InputError(f"{directory / card.name} names no licence: --public needs one, as --license apache-2.0")
        if license is not None:
            metadata_save(card, {**metadata, "license": license})
        if dry_run:
            show("\n".join(files))
            return
        url = _send(locate(str(directory)), folder, name, public=public)
    show(f"{url}: {len(files)} files, {'public' if public else 'private'}")


def _copy_run(directory: Path, folder: Path) -> list[str]:
    """Put what is published of a run into an empty folder, the weights as links; return the names of the files."""
    recipe = read_json(directory / RECIPE)
    for name in (RECIPE, DONE, "README.md", "*.safetensors"):
        if not any(directory.glob(name)) or not isinstance(recipe, dict):
            raise InputError(f"{directory} is not a finished run, it has no {name}: give a run's directory")
    check_sums(directory)
    matches = {path for pattern in ENCODER for path in (*directory.glob(pattern), *directory.glob(f"{pattern}/**/*"))}
    for path in (path for path in matches if path.is_file() and not path.is_symlink()):
        target = folder / path.relative_to(directory)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(path.resolve()) if path.suffix == ".safetensors" else shutil.copyfile(path, target)
    (folder / RECIPE).write_text(json.dumps(without_paths(recipe), indent=2, ensure_ascii=False) + "\n", "utf-8")
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _send(run: Source, folder: str, name: str, *, public: bool) -> str:
    """Create the repository, unless it is there and as public, and send what is in the folder; return its address."""
    if get_token() is None:
        raise InputError("no token for the Hub: run `hf auth login`, or set HF_TOKEN")
    from trainers.encoders.loading import load_encoder

    encoder, api = load_encoder(run, "cpu"), HfApi(library_name="twinviews")
    try:
        url = api.create_repo(name, private=not public, exist_ok=True)
        if api.repo_info(name).private is public:
            state, advice = ("private", "leave --public out") if public else ("public", "give --public")
            raise InputError(f"{url} exists and is {state}: {advice}, or another name")
        message = "Upload an encoder with Twinviews"
        encoder.push_to_hub(name, exist_ok=True, local_model_path=folder, commit_message=message)
    # The client raises ValueError for impossible names, RuntimeError for a large file that cannot be sent.
    except (HTTPError, OSError, ValueError, RuntimeError) as error:
        raise TwinviewsError(f"cannot push to hf:{name} ({first_line(error)})") from error
    return str(url)
