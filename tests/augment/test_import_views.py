from __future__ import annotations

import json
from pathlib import Path

import pytest

from augment.errors import InputError
from augment.view import View, Viewed, ViewSpec, make_view
from pipelines.ingest import row_id


def made(tmp_path: Path, *rows: object, content: bytes | None = None, **params: str) -> View:
    path = tmp_path / "views.jsonl"
    path.write_bytes(content if content is not None else "\n".join(map(json.dumps, rows)).encode())
    return make_view(ViewSpec("import-views", {"file": str(path), "by": "gpt-oss", **params}))


def test_each_sentence_gets_its_own_views(tmp_path: Path) -> None:
    view = made(
        tmp_path,
        {"text": "A dog runs.", "view": "A  dog is\nrunning."},
        {"id": row_id("Café!"), "view": "Coffee!"},
        {"text": "A dog runs.", "view": "Some dog runs."},
        {"text": "A dog runs.", "view": "Some dog runs."},
        {"text": "Same.", "view": "Same."},
        {"text": "Blank.", "view": " "},
        {"text": "Masked.", "view": "[MASK]."},
    )
    texts = ["A dog runs.", "Cafe\u0301!", "Same.", "Blank.", "Masked.", "Unknown."]
    assert view(texts, [0] * len(texts)) == [
        Viewed("A dog is running.", alternatives=("Some dog runs.",)),
        Viewed("Coffee!"),
        Viewed("Same.", "unchanged"),
        Viewed(None, "failed", "empty"),
        Viewed(None, "rejected", "special-token"),
        Viewed(None, "failed", "missing"),
    ]
    assert not view.draws


def test_the_signature_names_the_content_and_not_the_file(tmp_path: Path) -> None:
    signature = made(tmp_path, {"text": "a", "view": "b"}).spec.signature()
    assert signature.startswith("view:import-views|by:gpt-oss|rev:")
    assert signature != made(tmp_path, {"text": "a", "view": "c"}).spec.signature()


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "is empty"),
        (b'{"text": "a"}', "line 1 is not"),
        (b'\n{"view": "a"}', "line 2 is not"),
        (b'{"text": "a", "view": 3}', "line 1 is not"),
        (b'"a"', "line 1 is not"),
        (b"\xff", "line 1 is not"),
        (b'{"text": "a", "view": "\\ud800"}', "line 1 is not"),
        (b"[" * 100_000, "line 1 is not"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path: Path, content: bytes, line: str) -> None:
    with pytest.raises(InputError, match=r"views\.jsonl") as caught:
        made(tmp_path, content=content)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_revision_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has revision"):
        made(tmp_path, {"text": "a", "view": "b"}, revision="0" * 12)
