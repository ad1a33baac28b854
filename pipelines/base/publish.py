"""Files put into a repository of the Hugging Face Hub, in one commit."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from augment.errors import InputError, TwinviewsError


def publish(
    name: str,
    contents: Mapping[str, Path | bytes],
    message: str,
    *,
    kind: Literal["model", "dataset"],
    public: bool,
    overwrite: bool = True,
) -> str:
    """Commit files, by their names, to the repository `OWNER/NAME` or `NAME`, made if missing.

    Returns its address.

    An existing one must be as public as asked for, and hold no files unless it is to `overwrite`. Raises
    InputError for that, a wrong name, no token or no permission, TwinviewsError if the Hub failed.
    """
    from huggingface_hub import CommitOperationAdd, HfApi, get_token
    from huggingface_hub.errors import HFValidationError, HTTPError, OfflineModeIsEnabled  # type: ignore[attr-defined]

    if get_token() is None:
        raise InputError("no token for the Hub: run `hf auth login`, or set HF_TOKEN")
    api = HfApi(library_name="twinviews")
    try:
        repository = api.create_repo(name, repo_type=kind, private=not public, exist_ok=True)
        info: Any = api.repo_info(repository.repo_id, repo_type=kind)
        if info.private is public:
            state = "private: leave --public out" if public else "public: give --public"
            raise InputError(f"{repository} exists and is {state}, or another name")
        if not overwrite and any(file.rfilename != ".gitattributes" for file in info.siblings or ()):
            raise InputError(f"{repository} holds files: choose another name, or --overwrite it")
        additions = [CommitOperationAdd(path, content) for path, content in contents.items()]
        api.create_commit(repository.repo_id, additions, commit_message=message, repo_type=kind)
    # The client raises ValueError for impossible names, RuntimeError for a large file that cannot be sent.
    except (HTTPError, OSError, RuntimeError, ValueError) as error:
        problem = " ".join(str(error).split())[:200] or type(error).__name__
        status = getattr(getattr(error, "response", None), "status_code", None)
        is_mistake = isinstance(error, HFValidationError | OfflineModeIsEnabled) or status in (401, 403)
        advice = "check the name (hf:OWNER/NAME), your token (`hf auth login`, or HF_TOKEN) and the network"
        raise (InputError if is_mistake else TwinviewsError)(
            f"cannot push to hf:{name} ({problem}): {advice}"
        ) from None
    return str(repository)
