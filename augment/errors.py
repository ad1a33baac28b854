"""What can go wrong, as a tree.

TwinviewsError            something failed; exit code 1
└── InputError            a user's mistake: one line with what, the value seen, what to do; exit code 2
    └── MissingExtraError an optional dependency is not installed; the line ends with how to install it
"""

from __future__ import annotations


class TwinviewsError(Exception):
    """Root of every error that Twinviews raises on purpose."""

    exit_code = 1


class InputError(TwinviewsError):
    """A user's mistake; its message is one line: what, the value seen, what to do."""

    exit_code = 2


class MissingExtraError(InputError):
    """An optional dependency is missing.

    Args:
        feature: What needs it, as the user knows it: "--backend ctranslate2".
        extra: The extra that brings it: "fast".
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra that is not installed: pip install 'twinviews[{extra}]'")
        self.feature = feature
        self.extra = extra

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        """Another process gets the same error."""
        return type(self), (self.feature, self.extra)
