"""`train push`: publish a trained encoder on the Hugging Face Hub."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from huggingface_hub import CommitOperationAdd, HfApi, ModelCard, get_token
from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]
from yaml import YAMLError

from pipelines.base.console import ConfigOption, InputError, TwinviewsError, show
from pipelines.base.files import SUMS, check_sums, read_json
from pipelines.base.options import Options, with_options
from trainers.encoders.location import RECIPE, first_line
from trainers.training.directory import DONE, ENCODER, without_paths

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
            f"{card_file}: its header is not valid YAML ({first_line(error)}): correct it"
        ) from None
    card.data.license = options.license or card.data.license
    if options.public and not card.data.license:
        raise InputError(f"{card_file} names no licence: --public needs one, as --license apache-2.0")
    contents[CARD] = str(card).encode()
    if options.dry_run:
        show("\n".join(sorted(contents)))
        return
    if get_token() is None:
        raise InputError("no token for the Hub: run `hf auth login`, or set HF_TOKEN")
    url = _send(name, contents, public=options.public)
    show(f"{url}: {len(contents)} files, {'public' if options.public else 'private'}")


def _send(name: str, contents: Mapping[str, Path | bytes], *, public: bool) -> str:
    """Commit files to a repository of the Hub, made if there is none, and return its URL."""
    api = HfApi(library_name="twinviews")
    try:
        url = api.create_repo(name, private=not public, exist_ok=True)
        if api.repo_info(name).private is public:
            state, advice = ("private", "leave --public out") if public else ("public", "give --public")
            raise InputError(f"{url} exists and is {state}: {advice}, or another name")
        additions = [CommitOperationAdd(path, content) for path, content in contents.items()]
        api.create_commit(name, additions, commit_message="Upload an encoder with Twinviews")
    # The client raises ValueError for impossible names, RuntimeError for a large file that cannot be sent.
    except (HTTPError, OSError, ValueError, RuntimeError) as error:
        raise TwinviewsError(f"cannot push to hf:{name} ({first_line(error)})") from error
    return str(url)


def published(directory: Path) -> dict[str, Path | bytes]:
    """Return what is published of a run, by name: files, and its recipe without paths; raises InputError for others."""
    recipe = read_json(directory / RECIPE)
    for name in (RECIPE, DONE, CARD, "*.safetensors"):
        if not any(directory.glob(name)) or not isinstance(recipe, dict):
            raise InputError(f"{directory} is not a finished run, it has no {name}: give a run's directory")
    check_sums(directory)
    matches = {
        path for pattern in ENCODER for path in (*directory.glob(pattern), *directory.glob(f"{pattern}/**/*"))
    }
    files = (path for path in matches if path.is_file() and not path.is_symlink())
    text = json.dumps(without_paths(recipe), indent=2, ensure_ascii=False) + "\n"
    contents: dict[str, Path | bytes] = {path.relative_to(directory).as_posix(): path for path in files}
    if SUMS in contents:
        lines = (directory / SUMS).read_bytes().splitlines(keepends=True)
        contents[SUMS] = b"".join(line for line in lines if line[66:-1].decode() in contents.keys() - {CARD})
    return {**contents, RECIPE: text.encode()}
