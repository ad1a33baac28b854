"""Take views that were made elsewhere, such as paraphrases by a large language model, from a JSON Lines file."""

from __future__ import annotations

import hashlib
import unicodedata
from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path

import xxhash
from pydantic import BaseModel, Field, PrivateAttr, ValidationError

from augment.errors import InputError
from augment.view import Runtime, View, Viewed
from augment.words import special_tokens


class _Line(BaseModel):
    view: str
    text: str | None = None
    id: object = None


class ImportViews(View):
    """The view: `{"text": sentence, "view": its view}` a line, or with the sentence's `id` in place of its text.

    Several lines of one sentence are its first view and the alternatives. A sentence without a line is "failed" with
    the reason "missing", a blank view "failed" with "empty", and one with a special token that the sentence does not
    hold "rejected" with "special-token".
    """

    name = "import-views"
    named_by = "by"
    draws = False

    file: str = Field(examples=["llm.jsonl"], description="JSON Lines: objects with text (or id) and view")
    by: str = Field(pattern=r"^[\w.-]+$", examples=["MODEL"], description="what made the views; names their folder")
    revision: str | None = Field(default=None, description="hold the file to this revision")

    _views: dict[str, dict[str, None]] = PrivateAttr(default_factory=dict)  # by the sentence's id, each once

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
        view._views = {}
        for number, line in enumerate(content.removeprefix(BOM_UTF8).splitlines(), start=1):
            if not line.strip():
                continue
            try:
                row = _Line.model_validate_json(line)
            except ValidationError:
                row = _Line(view="")
            key = row.id if row.text is None else _id_of(row.text)
            if not isinstance(key, str):
                shape = '{"text": "...", "view": "..."} (or id for text)'
                raise InputError(f"import-views: {self.file} line {number} is not {shape}: {line[:60]!r}")
            view._views.setdefault(key, {})[" ".join(row.view.split())] = None
        if not view._views:
            raise InputError(f'import-views: {self.file} is empty: write {{"text": "...", "view": "..."}} a line')
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """Look every text up."""
        return [self._view(text) for text in texts]

    def _view(self, text: str) -> Viewed:
        found = self._views.get(_id_of(text))
        if found is None:
            return Viewed(None, "failed", "missing")
        written = [view for view in found if view]
        usable = [view for view in written if not special_tokens(view) - special_tokens(text)]
        if not usable:
            return Viewed(None, "rejected", "special-token") if written else Viewed(None, "failed", "empty")
        changed = [view for view in usable if view != text]
        return Viewed(changed[0], alternatives=tuple(changed[1:])) if changed else Viewed(text, "unchanged")


def _id_of(text: str) -> str:
    """The id that an ingested sentence has: xxh64 of its NFC form without outer white space."""
    return xxhash.xxh64_hexdigest(unicodedata.normalize("NFC", text).strip().encode())
