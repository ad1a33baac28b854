"""Take views that were made elsewhere, such as paraphrases by a large language model, from a JSON Lines file."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import xxhash
from pydantic import Field, PrivateAttr

from augment.errors import InputError
from augment.view import Runtime, View, Viewed
from augment.words import special_tokens


class ImportViews(View):
    """The view: `{"text": sentence, "view": its view}` a line, or with the sentence's `id` in place of its text.

    Several lines of one sentence are its first view and the alternatives. A sentence without a line is "failed" with
    the reason "missing", a blank view "failed" with "empty", and one with a special token that the sentence does not
    hold "rejected" with "special-token".
    """

    name = "import-views"
    named_by = "by"

    file: str = Field(
        examples=["llm.jsonl"], description="JSON Lines: objects with text (or id, the sentence's) and view"
    )
    by: str = Field(
        pattern=r"^[\w.-]+$", examples=["MODEL"], description="what made the views; their folder is named by it"
    )
    revision: str | None = Field(default=None, description="hold the file to this revision")

    _views: Mapping[str, Sequence[str]] = PrivateAttr()

    def build(self, runtime: Runtime) -> ImportViews:
        """The view with the file read; raises InputError where that is missing, broken or of another revision."""
        try:
            content = Path(self.file).read_bytes()
        except OSError as error:
            raise InputError(f"import-views: cannot read {self.file} ({error.strerror}): check --file") from None
        revision = hashlib.sha256(content).hexdigest()[:12]
        if self.revision not in (None, revision):
            raise InputError(f"import-views: {self.file} has revision {revision}, not {self.revision}; get that one")
        view = self.model_copy(update={"revision": revision})
        views: dict[str, dict[str, None]] = {}
        for key, text in _lines(self.file, content):
            views.setdefault(key, {})[text] = None
        if not views:
            raise InputError(f'import-views: {self.file} is empty: write {{"text": "...", "view": "..."}} a line')
        view._views = {key: list(texts) for key, texts in views.items()}
        return view

    @property
    def draws(self) -> bool:
        """Seeds change nothing."""
        return False

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """Look every text up."""
        return [self._view(text) for text in texts]

    def _view(self, text: str) -> Viewed:
        found = self._views.get(_id_of(text))
        if found is None:
            return Viewed(None, "failed", "missing")
        written = [view for view in found if view.strip()]
        if not written:
            return Viewed(None, "failed", "empty")
        usable = [view for view in written if not special_tokens(view) - special_tokens(text)]
        if not usable:
            return Viewed(None, "rejected", "special-token")
        changed = [view for view in usable if view != text]
        if not changed:
            return Viewed(text, "unchanged")
        return Viewed(changed[0], alternatives=tuple(changed[1:]))


def _lines(name: str, content: bytes) -> Iterator[tuple[str, str]]:
    """The id of each line's sentence, and the view."""
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            text, key, view = row.get("text"), row.get("id"), row["view"]
            if not isinstance(view, str) or not isinstance(key if text is None else text, str):
                raise TypeError
            view.encode()
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise InputError(
                f'import-views: {name} line {number} is not {{"text": "...", "view": "..."}} '
                f"(or id for text): {line[:60]!r}"
            ) from None
        yield (str(key) if text is None else _id_of(text)), " ".join(view.split())


def _id_of(text: str) -> str:
    """The id that an ingested sentence has: xxh64 of its NFC form without outer white space."""
    return xxhash.xxh64_hexdigest(unicodedata.normalize("NFC", text).strip().encode())
