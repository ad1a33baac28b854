"""A dataset of ours on the Hugging Face Hub: one commit of Parquet and a card."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from augment.errors import InputError, TwinviewsError
from pipelines.export import write_rows
from pipelines.files import beside
from pipelines.folder import CARD_FILE
from pipelines.look.opened import Opened, open_path

HUB = "hf:"
MADE_BY_THE_HUB = ".gitattributes"
SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M", 10_000_000: "1M<n<10M"}


def push(
    path: Path,
    to: str,
    *,
    public: bool = False,
    license: str = "unknown",
    limit: int | None = None,
    overwrite: bool = False,
) -> str:
    """Put sentences, a view dataset or pairs on the Hub, as `hf:OWNER/NAME` or `hf:NAME` says.

    Args:
        path: The dataset.
        to: The repository; it is made if it is not there.
        public: Let everybody see it; one that is there must be so already, or private where this is False.
        license: The Hub's name of the licence of the texts, such as cc-by-sa-4.0.
        limit: Only the first rows.
        overwrite: Write into a repository that holds files.

    Returns:
        The address of the repository.

    Raises:
        InputError: Nothing of ours at `path`, no name, no right to write there, or a repository that is not to be
            overwritten or that others see, or do not see.
        TwinviewsError: The Hub did not take it.
    """
    from huggingface_hub import HfApi

    opened = open_path(path)
    rows = opened.rows if limit is None else min(limit, opened.rows)
    api, kind = HfApi(), "dataset"
    with TemporaryDirectory() as folder:
        with Path(folder, "train.parquet").open("wb") as stream:
            write_rows(stream, opened, rows, "parquet")
        Path(folder, "README.md").write_text(hub_card(opened, rows, license), encoding="utf-8")
        with _told(to):
            repository = api.create_repo(to.removeprefix(HUB), repo_type=kind, private=not public, exist_ok=True)
            there = api.dataset_info(repository.repo_id)
            if there.private is public:
                found, instead = ("private", "leave --public out") if public else ("public", "give --public")
                raise InputError(f"{repository} is there and {found}: {instead}, or another name")
            if not overwrite and any(file.rfilename != MADE_BY_THE_HUB for file in there.siblings or ()):
                raise InputError(f"{repository} holds files: choose another name, or --overwrite it")
            said = f"Add {rows:,} rows"
            api.upload_folder(repo_id=repository.repo_id, repo_type=kind, folder_path=folder, commit_message=said)
    return str(repository)


def hub_card(opened: Opened, rows: int, license: str) -> str:
    """A dataset's card with what the Hub reads in front: licence, size, and where the rows are."""
    import yaml

    path = opened.path
    card = path / CARD_FILE if (path / CARD_FILE).is_file() else beside(path, CARD_FILE)
    size = next((name for most, name in SIZES.items() if rows < most), "n>10M")
    front = {
        "license": license,
        "size_categories": [size],
        "tags": ["twinviews", opened.kind],
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "train.parquet"}]}],
    }
    text = card.read_text(encoding="utf-8") if card.is_file() else f"# {path.stem}\n"
    return f"---\n{yaml.safe_dump(front, sort_keys=False)}---\n\n{text}"


@contextmanager
def _told(to: str) -> Iterator[None]:
    """Turn what the Hub's client raises into one line."""
    from huggingface_hub import get_token
    from huggingface_hub.errors import HFValidationError, HTTPError, OfflineModeIsEnabled  # type: ignore[attr-defined]

    try:
        yield
    except HFValidationError as error:
        raise InputError(f"--to {to}: {str(error).splitlines()[0]}: write hf:OWNER/NAME") from None
    except OfflineModeIsEnabled:
        raise InputError(f"--to {to}: HF_HUB_OFFLINE is set: unset it to reach the Hub") from None
    except (HTTPError, OSError, RuntimeError, ValueError) as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        said = " ".join(str(error).split())[:200] or type(error).__name__
        if status in (401, 403):
            how = "has no right to write there" if get_token() else "is missing: `hf auth login`, or set HF_TOKEN"
            raise InputError(f"--to {to}: the token {how} (status {status})") from None
        raise TwinviewsError(f"--to {to}: the Hub did not take it ({said})") from None
