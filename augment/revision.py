"""Revisions of what a view or a score depends on: twelve hex digits of its content, or a version."""

import hashlib

from augment.errors import InputError


def revision_of(content: bytes) -> str:
    """Twelve hex digits that identify a content: the beginning of its sha256."""
    return hashlib.sha256(content).hexdigest()[:12]


def check_revision(what: str, revision: str | None, wanted: str | None, advice: str = "give what was used") -> None:
    """Raise InputError unless a revision is the one that a user wants, if any; `what` is its name and a verb."""
    if wanted not in (None, revision):
        raise InputError(f"{what} {revision}, not {wanted}; {advice}")
