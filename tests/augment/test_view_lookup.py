from __future__ import annotations

import subprocess
import sys

import pytest

from augment.errors import InputError, MissingExtraError, TwinviewsError
from augment.view import View, ViewSpec, check_params, row_seed, view_class, view_names, view_options


def test_every_file_of_the_views_folder_is_a_view() -> None:
    expected = {"backtranslate", "identity", "mlm-fill", "nlpaug", "repeat", "span-mask", "synonym", "translate"}
    assert expected <= set(view_names())
    for name in expected:
        assert issubclass(view_class(name), View)
        assert view_class(name).name == name  # type: ignore[attr-defined]


def test_a_views_own_options_come_before_those_that_it_shares() -> None:
    assert list(view_options("repeat")) == ["rate", "keep", "keep_pattern", "keep_revision"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (ViewSpec("identity"), "view:identity|v:0.1.0"),
        (ViewSpec("x", {"b": 2, "a": "beam:4", "c": None, "d": True}), "view:x|a:beam:4|b:2|d:true|v:0.1.0"),
        (ViewSpec("x", {"models": "/here", "revision": "9f3"}), "view:x|rev:9f3|v:0.1.0"),
        (ViewSpec("x", {"models": "starter"}), "view:x|models:starter|v:0.1.0"),
        (ViewSpec("x", {"a": "1|b:2"}), "view:x|a:1%7Cb:2|v:0.1.0"),
    ],
)
def test_signature(spec: ViewSpec, expected: str) -> None:
    assert spec.signature() == expected


def test_equal_parameters_have_equal_signatures_in_any_order() -> None:
    assert ViewSpec("x", {"a": 1, "b": 2}).signature() == ViewSpec("x", {"b": 2, "a": 1}).signature()


def test_row_seeds_are_fixed_for_good() -> None:
    # xxh64 of "1 0x1f row 0x1f view", its top bit cleared; a changed value would change every published data set.
    assert row_seed(1, "row", "view") == 5394043815414186910
    assert len({row_seed(run, row, view) for run in (0, 1) for row in "ab" for view in "xy"}) == 8
    assert all(0 <= row_seed(0, str(row), "view") < 2**63 for row in range(200))


@pytest.mark.parametrize(
    ("name", "params", "named_by", "ends_in", "draws"),
    [
        ("identity", {}, None, None, True),
        ("synonym", {"language": "fr"}, None, None, True),
        ("nlpaug", {"augmenter": "KeyboardAug"}, "KeyboardAug", None, True),
        ("translate", {"to": "de+fr"}, "de+fr", "de+fr", False),
        ("translate", {"to": "de", "decode": "beam:4"}, "de", "de", False),
        ("backtranslate", {"pivot": "de", "return_decode": "sample"}, "de", "en", True),
    ],
)
def test_a_view_says_what_follows_from_its_options(
    name: str, params: dict[str, object], named_by: str | None, ends_in: str | None, draws: bool
) -> None:
    view = check_params(name, params)
    assert isinstance(view, View)
    assert (view.named_by and getattr(view, view.named_by)) == named_by
    assert (getattr(view, view.ends_in, None), view.draws) == (ends_in, draws)
    assert not view.keeps_masks
    assert view_class("span-mask").keeps_masks  # type: ignore[attr-defined]


def test_errors_carry_their_exit_codes() -> None:
    assert (TwinviewsError.exit_code, InputError.exit_code) == (1, 2)
    assert "pip install 'twinviews[fast]'" in str(MissingExtraError("--backend ctranslate2", "fast"))


def test_parameters_of_all_views_need_no_heavy_import() -> None:
    code = (
        "import sys\nfrom augment.view import view_class, view_names\n"
        "[view_class(name).model_fields for name in view_names()]\n"
        "heavy = {'torch', 'transformers', 'nltk', 'datasets', 'huggingface_hub'} & set(sys.modules)\n"
        "print(*sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")
