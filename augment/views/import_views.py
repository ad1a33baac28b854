"""Take views made elsewhere, such as a large language model's paraphrases, from a JSON Lines file."""

import hashlib
from array import array
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from pydantic import BaseModel, Field, ValidationError
from xxhash import xxh64_intdigest

from augment.errors import InputError
from augment.files import check_end
from augment.models.weights import check_revision
from augment.text.words import STRAIGHT_QUOTES, special_tokens
from augment.view import Runtime, View, ViewResult, normalise, row_id

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _Line(BaseModel):
    view: str | None
    text: str | None = None
    id: object = None

    @property
    def owner(self) -> object:
        return self.id if self.text is None else _folded(self.text)


class ImportViews(View):
    """The view: lines of `{"text": sentence, "view": its view}`, or with the sentence's `id` instead of its text.

    Texts match in NFC, whatever their white space and the shape of their quotation marks. Additional lines for
    a sentence are its alternatives. A sentence without a line is "failed" with the reason "missing", a blank
    or null view "failed" with "empty", and a view with a special token that the sentence lacks "rejected" with
    "special-token".
    """

    name = "import-views"
    folder_option = "by"
    uses_seed = False
    equal_alternatives = True

    file: str = Field(examples=["llm.jsonl"])
    """JSON Lines: objects with text (or id) and view"""
    by: str = Field(pattern=r"^[\w.-]+$", examples=["MODEL"])
    """what made the views; in their folder's name"""
    revision: str | None = None
    """hold the file to this revision"""

    _file: BinaryIO
    # The hash of each line's text or id, in order, and where the line begins: 16 bytes a line in every worker.
    _index: "tuple[NDArray[Any], NDArray[Any]]"

    def build(self, runtime: Runtime) -> Self:
        """The view with its file indexed.

        Raises InputError for a missing or malformed file or another revision.
        """
        import numpy as np

        try:
            check_end(Path(self.file))
            file = Path(self.file).open("rb")  # noqa: SIM115 - each call reads a few of its lines
            revision = hashlib.file_digest(file, "sha256").hexdigest()[:12]
        except OSError as error:
            raise InputError(
                f"import-views: cannot read {self.file} ({error.strerror}): check --file"
            ) from None
        check_revision(f"import-views: {self.file} has revision", revision, self.revision, "get that one")
        hashes, starts, end = array("Q"), array("Q"), file.seek(0)
        for number, content in enumerate(file, start=1):
            start, end = end, end + len(content)
            line = _parsed(content)
            if line is not None:
                hashes.append(_hash(line.owner))
                starts.append(start)
            elif content.strip(BOM_UTF8 + b" \t\r\n"):
                raise InputError(
                    f'import-views: {self.file} line {number} is not {{"text": "...", "view": "..."}} '
                    f"(or id for text): {content[:60].decode(errors='replace')!r}"
                )
        if not starts:
            raise InputError(
                f'import-views: {self.file} is empty: write {{"text": "...", "view": "..."}} on each line'
            )
        order = np.argsort(hashes, kind="stable")
        view = self.model_copy(update={"revision": revision})
        view._file, view._index = file, (np.asarray(hashes)[order], np.asarray(starts)[order])
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """Look every text up."""
        return [self._view(text) for text in texts]

    def _places(self, text: str) -> list[int]:
        hashes = [_hash(_folded(text)), _hash(row_id(normalise(text)))]
        firsts, ends = (self._index[0].searchsorted(hashes, side) for side in ("left", "right"))
        return [*range(firsts[0], ends[0]), *range(firsts[1], ends[1])]

    def _lines(self, starts: Sequence[int]) -> Iterator[_Line]:
        for start in sorted(starts):
            self._file.seek(start)
            yield _parsed(self._file.readline()) or _Line(view=None)

    def _view(self, text: str) -> ViewResult:
        places = self._places(text)
        if not places:
            return ViewResult(None, "failed", "missing")
        texts = dict.fromkeys(
            normalise(line.view or "") for line in self._lines(self._index[1][places].tolist())
        )
        if not any(texts):
            return ViewResult(None, "failed", "empty")
        views = [view for view in texts if view and not special_tokens(view) - special_tokens(text)]
        if not views:
            return ViewResult(None, "rejected", "special-token")
        paraphrases = [view for view in views if _folded(view) != _folded(text)]
        if not paraphrases:
            return ViewResult(text, "unchanged")
        return ViewResult(paraphrases[0], alternatives=tuple(paraphrases[1:]))


def _parsed(content: bytes) -> _Line | None:
    """A line of the file; None if it is not an object with a view and a text or an id."""
    try:
        line = _Line.model_validate_json(content.removeprefix(BOM_UTF8))
    except ValidationError:
        return None
    return line if isinstance(line.owner, str) else None


def _hash(owner: object) -> int:
    return xxh64_intdigest(str(owner).encode())


def _folded(text: str) -> str:
    return " ".join(normalise(text).split()).translate(STRAIGHT_QUOTES)
