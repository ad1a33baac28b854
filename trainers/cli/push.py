"""`train push`: publish a trained encoder on the Hugging Face Hub."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.terminal.console import ConfigOption, InputError, TwinviewsError, note, show
from trainers.encoders.location import first_line

LICENSE = "Licence for the model card, by the Hub's name."
LEFT_OUT = ["checkpoint*", "tensorboard/*", ".*", "*.tmp", "*.html", "time.jsonl"]
"""What only a training needs, its command, and reports, which show training text; `*` matches slashes too."""
TEXT = {".json", ".jsonl", ".md", ".txt", ".yaml", ".yml"}
PATH = re.compile(r"""(?<![\w./~])~?/(?!/)[^\s,;:'"|`<>()]+""")
"""An absolute path inside a longer text; those with spaces are found where they are a whole value."""


def push(
    directory: Annotated[Path, typer.Argument(help="Directory of a finished run.", metavar="DIRECTORY")],
    repository: Annotated[str, typer.Argument(help="Where to: hf:USER/MODEL.", metavar="hf:NAME")],
    public: Annotated[bool, typer.Option("--public", help="Let everybody see it; it is private otherwise.")] = False,
    license: Annotated[str | None, typer.Option(help=LICENSE, metavar="apache-2.0|...")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the files; send nothing.")] = False,
    config: ConfigOption = None,
) -> None:
    """Publish a run's encoder with its model card on the Hugging Face Hub, private unless --public is given.

    Checkpoints, optimiser states and reports stay here, and so do paths of this machine, of which the last name is
    published; --dry-run lists all this. The token is that of `hf auth login`, or HF_TOKEN.

    Example: train push runs/bsl hf:USER/my-encoder
    """
    from huggingface_hub import CommitOperationAdd, HfApi, get_token, metadata_save
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]

    name, card = repository.removeprefix("hf:"), directory / "README.md"
    if name == repository or not name:
        raise InputError(f"cannot push to {repository!r}: give hf:USER/MODEL")
    if missing := [needed for needed in ("modules.json", card.name) if not (directory / needed).is_file()]:
        raise InputError(f"{directory} is not a finished run, it has no {missing[0]}: give a run's directory")
    metadata = _header(card)
    if public and not (license or metadata.get("license")):
        raise InputError(f"{card} names no licence: --public needs one, as --license apache-2.0")
    files, left_out = _files(directory)
    named = published_texts(directory, files)
    if dry_run:
        show("\n".join(files))
        note(f"left out: {', '.join(left_out) or 'nothing'}")
        note(f"paths of this machine become names: {', '.join(named) or 'there are none'}")
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
            named = published_texts(directory, files)
        added = [CommitOperationAdd(path, named.get(path, str(directory / path))) for path in files]
        api.create_commit(name, added, commit_message="Upload an encoder with Twinviews")
    # The client raises ValueError for impossible names, RuntimeError for a large file that cannot be sent.
    except (HTTPError, OSError, ValueError, RuntimeError) as error:
        raise TwinviewsError(f"cannot push to hf:{name} ({first_line(error)})") from error
    show(f"{url}: {len(files)} files, {'public' if public else 'private'}")


def _header(card: Path) -> dict[str, Any]:
    from huggingface_hub import metadata_load
    from yaml import YAMLError

    try:
        return metadata_load(card) or {}
    except (ValueError, YAMLError) as error:
        raise InputError(f"{card}: its header is not valid YAML ({first_line(error)}): correct it") from None


def _files(directory: Path) -> tuple[list[str], list[str]]:
    """Return the files of a run that are published, and those that are not."""
    from huggingface_hub.utils import filter_repo_objects  # type: ignore[attr-defined]

    paths = sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
    files = list(filter_repo_objects(paths, ignore_patterns=LEFT_OUT))
    if not any(path.endswith(".safetensors") for path in files):
        raise InputError(f"{directory} is not a finished run, it has no *.safetensors: give a run's directory")
    return files, sorted({*paths} - {*files})


def published_texts(directory: Path, files: Sequence[str]) -> dict[str, bytes]:
    """Return the new content of those text files of a run in which the paths of its recipe and results become names.

    One inside the run becomes relative to it, any other its last name, and what is left of the home directory `~`.
    Raises InputError for a recipe or results that are no JSON.
    """
    texts = {path: (directory / path).read_bytes() for path in files if Path(path).suffix in TEXT}
    run = directory.resolve()
    paths = {str(run), str(directory.absolute())}
    for path in texts:
        if path == "recipe.json" or (path.startswith("evaluation/") and path.endswith(".json")):
            try:
                values = _strings(json.loads(texts[path]))
            except ValueError:
                raise InputError(f"{directory / path} is damaged: make it again, or remove it") from None
            for value in values:
                whole = Path(value).expanduser().is_absolute() and "\n" not in value
                paths |= {value} if whole else {*PATH.findall(value)}
    # The longest first: one path may begin with another.
    names = {path: _name(path, run) for path in sorted(paths, key=len, reverse=True)} | {str(Path.home()): "~"}
    by_bytes = {path.encode(): name.encode() for path, name in names.items() if len(Path(path).parts) > 1}
    pattern = re.compile(rb"(?<![\w./~-])(?:%s)(?![\w-])" % b"|".join(map(re.escape, by_bytes)))
    rewritten = {path: pattern.sub(lambda match: by_bytes[match.group()], text) for path, text in texts.items()}
    return {path: text for path, text in rewritten.items() if text != texts[path]}


def _strings(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


def _name(path: str, run: Path) -> str:
    place = Path(path).expanduser()
    return place.relative_to(run).as_posix() if run in place.parents else place.name
